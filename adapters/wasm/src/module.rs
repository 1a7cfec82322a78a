//! Core modules: WASI preview 1, `_start`.

use wasmtime::{Engine, ExternType, InstancePre, Linker, Store, TypedFunc};

use crate::options::Options;
use crate::run::{not_started, Program, Request, Then};
use crate::wasi::{self, ending, State};
use crate::{compiler, failure, Outcome};

type Start = TypedFunc<(), ()>;

/// A module with all of its imports found.
pub struct Module<'a> {
    options: &'a Options,
    engine: Engine,
    linked: InstancePre<State>,
}

impl Module<'_> {
    pub fn new<'a>(
        options: &'a Options,
        engine: Engine,
        code: &wasmtime::Module,
    ) -> Result<Module<'a>, String> {
        check_exports(code)?;
        let mut linker = Linker::new(&engine);
        wasi::add_to(&mut linker).map_err(|error| compiler::one_line(&error))?;
        let linked = linker
            .instantiate_pre(code)
            .map_err(|error| format!("it cannot be linked: {}", compiler::one_line(&error)))?;
        // What a thread needs for traps is made now, and not in a request.
        Engine::tls_eager_initialize();
        ending::watch();
        Ok(Module { options, engine, linked })
    }

    fn store(&self) -> Store<State> {
        let state = State::new(&self.options.folders, self.options.memory);
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.limits);
        store
    }

    /// A new instance's _start.
    fn instance(&self, store: &mut Store<State>) -> Result<Start, String> {
        let instance = self.linked.instantiate(&mut *store).map_err(|error| {
            not_started(self.options, &error, store.data().limits.was_reached())
        })?;
        let memory = instance.get_memory(&mut *store, "memory");
        store.data_mut().memory = memory;
        instance.get_typed_func(store, "_start").map_err(|error| compiler::one_line(&error))
    }

    fn run(&self, store: &mut Store<State>, start: &Start) -> i32 {
        let ended = start.call(&mut *store, ());
        store.data().code(failure::exit_code(&self.options.shown_module(), ended))
    }
}

impl Program for Module<'_> {
    type Instance = (Store<State>, Start);

    fn ahead(&self) -> Result<Option<Self::Instance>, String> {
        let mut store = self.store();
        match self.instance(&mut store) {
            Ok(start) => Ok(Some((store, start))),
            Err(_) if store.data().has_asked() => Ok(None),
            Err(why) => Err(why),
        }
    }

    fn answer(&self, ahead: Option<Self::Instance>, request: Request, then: Then) -> Outcome {
        let (mut store, start) = match ahead {
            Some((store, start)) => (store, Some(start)),
            None => (self.store(), None),
        };
        store.data_mut().begin(request.environment, request.arguments)?;
        ending::set_running(true);
        let start = match start {
            Some(start) => start,
            None => self.instance(&mut store).inspect_err(|_| ending::set_running(false))?,
        };
        store.data_mut().ends_process = then == Then::End;
        let code = self.run(&mut store, &start);
        ending::set_running(false);
        if then == Then::End {
            crate::leave(code);
        }
        Ok(code)
    }
}

/// What a command has (WASI's "command" ABI): _start, which takes and returns nothing, and memory.
fn check_exports(module: &wasmtime::Module) -> Result<(), String> {
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
