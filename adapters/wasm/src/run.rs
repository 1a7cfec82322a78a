//! The life of an instance: each request gets its own, made of nothing but the module.

use std::os::unix::ffi::{OsStrExt, OsStringExt};

use wasmtime::{Engine, ExternType, Instance, InstancePre, Linker, Module, Store};

use crate::bridge::{Bridge, Reset};
use crate::compiler::{self, Compiled};
use crate::options::Options;
use crate::wasi::{self, State};
use crate::{failure, module_file, Outcome};

/// One request, as any CGI program.
pub fn once(options: &Options) -> Outcome {
    let bytes = module_file::read(&options.module)?;
    let program = Program::new(options, compiler::at_once(options, &bytes)?)?;
    let variables =
        std::env::vars_os().map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat());
    program.answer_and_leave(variables.collect(), options.words.clone())
}

/// Request after request, at the checkpoint.
pub fn warm(options: &Options, bridge: &Bridge) -> Outcome {
    let bytes = module_file::read(&options.module)?;
    bridge.note_file(options.module.as_os_str().as_bytes());
    if let Some(cache) = &options.cache {
        bridge.own_folder(cache.as_os_str().as_bytes());
    }
    let compiled = compiler::optimized(options, &bytes)?;
    if let Some(entry) = &compiled.entry {
        bridge.note_file(entry.as_os_str().as_bytes());
    }
    drop(bytes);
    let program = Program::new(options, compiled)?;
    match bridge.reset() {
        Reset::Whole => program.answer_from_checkpoint(bridge),
        Reset::None => program.answer_again_and_again(bridge),
    }
}

/// Variables as "K=V", or words.
type Strings = Vec<Vec<u8>>;

struct Program<'a> {
    options: &'a Options,
    engine: Engine,
    /// With all imports found.
    module: InstancePre<State>,
}

impl Program<'_> {
    fn new(options: &Options, compiled: Compiled) -> Result<Program<'_>, String> {
        check_exports(&compiled.module)?;
        let mut linker = Linker::new(&compiled.engine);
        wasi::add_to(&mut linker).map_err(|error| compiler::one_line(&error))?;
        let module = linker
            .instantiate_pre(&compiled.module)
            .map_err(|error| format!("it cannot be linked: {}", compiler::one_line(&error)))?;
        // What a thread needs for traps is made now, and not in a request.
        Engine::tls_eager_initialize();
        Ok(Program { options, engine: compiled.engine, module })
    }

    fn answer(&self, environment: Strings, words: Strings) -> Outcome {
        let (mut store, instance) = self.begin(environment, words)?;
        Ok(self.run(&mut store, &instance))
    }

    /// The same, as the last that the process does.
    fn answer_and_leave(&self, environment: Strings, words: Strings) -> Outcome {
        let (mut store, instance) = self.begin(environment, words)?;
        self.run_and_leave(&mut store, &instance)
    }

    fn begin(
        &self,
        environment: Strings,
        words: Strings,
    ) -> Result<(Store<State>, Instance), String> {
        let mut store = self.store();
        store.data_mut().begin(environment, self.arguments(words))?;
        let instance = self.instance(&mut store)?;
        Ok((store, instance))
    }

    /// The instance is there before the request is, unless its start function already asks for
    /// something of the request.
    fn answer_from_checkpoint(&self, bridge: &Bridge) -> Outcome {
        let mut store = self.store();
        let ahead = self.instance(&mut store);
        let asked = store.data().has_asked();
        if let (Err(why), false) = (&ahead, asked) {
            return Err(why.clone());
        }
        bridge.checkpoint()?;
        let (environment, words) = self.request(bridge);
        bridge.script();
        match ahead {
            Ok(instance) => {
                store.data_mut().begin(environment, self.arguments(words))?;
                self.run_and_leave(&mut store, &instance)
            }
            Err(_) => self.answer_and_leave(environment, words),
        }
    }

    fn answer_again_and_again(&self, bridge: &Bridge) -> Outcome {
        bridge.checkpoint()?;
        loop {
            let (environment, words) = self.request(bridge);
            bridge.script();
            // The store, and with it all that the module had, ends here.
            let code = self.answer(environment, words).unwrap_or_else(|why| {
                crate::say(&format!("{}: {why}\n", self.options.shown_module()));
                1
            });
            if !bridge.next(code) {
                return Ok(code);
            }
        }
    }

    /// The words are those after the module's path, in the whole command line or by themselves.
    fn request(&self, bridge: &Bridge) -> (Strings, Strings) {
        let environment = bridge.environment();
        let mut words = bridge.arguments();
        let module = self.options.module.as_os_str().as_bytes();
        if let Some(place) = words.iter().position(|word| word == module) {
            words.drain(..=place);
        }
        (environment, words)
    }

    fn arguments(&self, words: Strings) -> Strings {
        let module = self.options.module.clone().into_os_string().into_vec();
        std::iter::once(module).chain(words).collect()
    }

    fn store(&self) -> Store<State> {
        let state = State::new(&self.options.folders, self.options.memory);
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.limits);
        store
    }

    fn instance(&self, store: &mut Store<State>) -> Result<Instance, String> {
        let instance = self.module.instantiate(&mut *store).map_err(|error| {
            let limit = self.options.memory;
            let more = if store.data().limits.was_reached() {
                format!(" (its limit of memory is {limit} bytes)")
            } else {
                String::new()
            };
            format!("it cannot be started: {}{more}", compiler::one_line(&error))
        })?;
        let memory = instance.get_memory(&mut *store, "memory");
        store.data_mut().memory = memory;
        Ok(instance)
    }

    fn run_and_leave(&self, store: &mut Store<State>, instance: &Instance) -> ! {
        store.data_mut().ends_process = true;
        crate::leave(self.run(store, instance))
    }

    fn run(&self, store: &mut Store<State>, instance: &Instance) -> i32 {
        let start = instance.get_typed_func::<(), ()>(&mut *store, "_start");
        let ended = start.and_then(|start| start.call(&mut *store, ()));
        failure::exit_code(&self.options.shown_module(), ended)
    }
}

/// What a command has (WASI's "command" ABI): _start, which takes and returns nothing, and memory.
fn check_exports(module: &Module) -> Result<(), String> {
    match module.get_export("_start") {
        Some(ExternType::Func(start)) if start.params().len() + start.results().len() == 0 => {}
        Some(_) => return Err("its _start is no function without parameters and results".into()),
        None => {
            let is_library = module.get_export("_initialize").is_some();
            let more = if is_library { ", but a library (\"reactor\")" } else { "" };
            return Err(format!(
                "it has no function _start: it is no program{more}; build it as a command"
            ));
        }
    }
    match module.get_export("memory") {
        Some(ExternType::Memory(_)) => Ok(()),
        _ => Err("it exports no memory, without which it can read nothing of a request".into()),
    }
}
