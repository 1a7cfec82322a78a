//! Runs a WebAssembly module or component as a CGI program: README.md.

mod bridge;
mod cache;
mod compiler;
mod component;
mod engine;
mod failure;
mod limits;
mod module;
mod module_file;
mod options;
mod run;
mod wasi;

use std::io::Write;

use options::{Options, Task};

const VERSION: &str = concat!("cgibridge-wasm, wasmtime ", "48.0.8");

/// What a task that ends well answers: the code to exit with. Otherwise: why not.
type Outcome = Result<i32, String>;

fn main() {
    abort_at_panic();
    let words = std::env::args_os().skip(1).collect();
    let code = match Options::parse(words) {
        Err(why) => {
            say(&format!("cgibridge-wasm: {why}\n"));
            2
        }
        Ok(options) => act(&options).unwrap_or_else(|why| {
            say(&format!("{}: {why}\n", options.shown_module()));
            1
        }),
    };
    leave(code)
}

/// After the message. The profile does not say so, because tests cannot be built that way: all crates
/// would be built twice.
fn abort_at_panic() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::abort();
    }));
}

/// The end of the process. Nothing is buffered, and nothing has to be taken apart: that would be
/// system calls and changed memory, which a reset then has to look for and put back.
fn leave(code: i32) -> ! {
    unsafe { libc::_exit(code) }
}

/// To standard error; who has closed that does not want to know.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn act(options: &Options) -> Outcome {
    match options.task {
        Task::Version => {
            println!("{VERSION}");
            Ok(0)
        }
        Task::Compile => compiler::into_cache(options),
        Task::CompileHere { input, output } => compiler::here(options, input, output),
        Task::Run => match bridge::Bridge::open() {
            Some(bridge) => run::warm(options, &bridge),
            None => run::once(options),
        },
    }
}
