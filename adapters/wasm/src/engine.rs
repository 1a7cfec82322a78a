//! How modules are compiled and run. Code that one engine compiled runs in another one only if it
//! has the same settings, so all processes take them from here.

use wasmtime::{Config, Engine, OptLevel, RegallocAlgorithm, Strategy};

#[derive(Clone, Copy, PartialEq)]
pub enum Compiler {
    /// Cranelift: good code, slowly. Only this one's code is kept.
    Optimizing,
    /// Winch: in one pass, for the first requests, until the other has finished.
    Baseline,
}

/// Threads of the compiler would be threads of the process.
#[derive(Clone, Copy, PartialEq)]
pub enum Threads {
    One,
    AsManyAsCores,
}

/// What the functions that a component calls have of its stack (modules run on that of the process).
const STACK_OF_CALLS: usize = 1 << 20;

pub fn new(compiler: Compiler, stack: usize, threads: Threads) -> Result<Engine, String> {
    let mut config = Config::new();
    config
        .strategy(match compiler {
            Compiler::Optimizing => Strategy::Cranelift,
            Compiler::Baseline => Strategy::Winch,
        })
        .parallel_compilation(threads == Threads::AsManyAsCores)
        .max_wasm_stack(stack)
        .async_stack_size(stack + STACK_OF_CALLS)
        // A memory is plain pages, which the checkpoint library can put back.
        .memory_init_cow(false);
    if compiler == Compiler::Baseline {
        // What is around its functions is the other compiler's work, one piece for each that is in a
        // table: in a program in Go, all of them.
        config
            .cranelift_opt_level(OptLevel::None)
            .cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    }
    Engine::new(&config).map_err(|error| format!("WebAssembly cannot be run here: {error:#}"))
}
