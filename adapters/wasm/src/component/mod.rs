//! Components: of the world wasi:cli/command, which read the request and print the answer as a CGI
//! program does, or of wasi:http/proxy, for which http.rs translates both.
//!
//! WASI is that of wasmtime-wasi and wasmtime-wasi-http, without a runtime and without threads: what
//! would need them is replaced (clocks.rs, files.rs, http.rs, sockets.rs, streams.rs), and wait.rs waits.

mod clocks;
mod files;
mod http;
mod random;
mod request;
mod response;
mod sockets;
mod state;
mod streams;
mod wait;

use wasmtime::component::Linker;
use wasmtime::{Engine, Store};
use wasmtime_wasi::p2::bindings::{Command, CommandPre};
use wasmtime_wasi_http::p2::bindings::{Proxy, ProxyPre};

use crate::options::Options;
use crate::run::{not_started, Program, Request, Then};
use crate::{compiler, failure, Outcome};
use state::State;

/// What a component is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum World {
    /// wasi:cli/command
    Command,
    /// wasi:http/proxy
    Proxy,
}

/// A component with all of its imports found.
pub struct Component<'a> {
    options: &'a Options,
    engine: Engine,
    linked: Linked,
}

enum Linked {
    Command(CommandPre<State>),
    Proxy(ProxyPre<State>),
}

pub enum Instance {
    Command(Command),
    Proxy(Proxy),
}

impl Component<'_> {
    pub fn new<'a>(
        options: &'a Options,
        engine: Engine,
        code: &wasmtime::component::Component,
    ) -> Result<Component<'a>, String> {
        let exports = code.component_type();
        let world = world_of(exports.exports(&engine).map(|(name, _)| name))?;
        let link = || {
            let linked = linker(&engine)?.instantiate_pre(code)?;
            Ok(match world {
                World::Command => Linked::Command(CommandPre::new(linked)?),
                World::Proxy => Linked::Proxy(ProxyPre::new(linked)?),
            })
        };
        let linked = link().map_err(|error: wasmtime::Error| {
            format!("it cannot be linked: {}", compiler::one_line(&error))
        })?;
        Engine::tls_eager_initialize();
        Ok(Component { options, engine, linked })
    }

    fn world(&self) -> World {
        match self.linked {
            Linked::Command(_) => World::Command,
            Linked::Proxy(_) => World::Proxy,
        }
    }

    fn store(&self) -> Store<State> {
        let mut store = Store::new(&self.engine, State::new(self.options));
        store.limiter(|state| &mut state.limits);
        store
    }

    fn instance(&self, store: &mut Store<State>) -> Result<Instance, String> {
        let made = wait::block_on(async {
            Ok(match &self.linked {
                Linked::Command(linked) => {
                    Instance::Command(linked.instantiate_async(&mut *store).await?)
                }
                Linked::Proxy(linked) => {
                    Instance::Proxy(linked.instantiate_async(&mut *store).await?)
                }
            })
        });
        made.map_err(|error| not_started(self.options, &error, store.data().limits.was_reached()))
    }

    fn run(&self, store: &mut Store<State>, instance: Instance, request: Request) -> Outcome {
        match instance {
            Instance::Command(command) => {
                let run = command.wasi_cli_run();
                let ended = wait::block_on(run.call_run(store));
                let refused = matches!(ended, Ok(Err(())));
                let code = failure::exit_code(&self.options.shown_module(), ended.map(drop));
                Ok(if refused { 1 } else { code })
            }
            Instance::Proxy(proxy) => http::answer(self.options, store, &proxy, &request),
        }
    }
}

impl Program for Component<'_> {
    type Instance = (Store<State>, Instance);

    fn ahead(&self) -> Result<Option<Self::Instance>, String> {
        let mut store = self.store();
        match self.instance(&mut store) {
            _ if store.data().has_asked() => Ok(None),
            made => Ok(Some((store, made?))),
        }
    }

    fn answer(&self, ahead: Option<Self::Instance>, request: Request, then: Then) -> Outcome {
        let (mut store, instance) = match ahead {
            Some((store, instance)) => (store, Some(instance)),
            None => (self.store(), None),
        };
        store.data_mut().begin(self.options, self.world(), &request)?;
        let instance = match instance {
            Some(instance) => instance,
            None => self.instance(&mut store)?,
        };
        let code = self.run(&mut store, instance, request)?;
        if then == Then::End {
            crate::leave(code);
        }
        Ok(code)
    }
}

/// All of WASI 0.2 for each component, whatever its world: a compiler's library asks for more than
/// the program uses.
fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    linker.allow_shadowing(true);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    clocks::add_to(&mut linker)?;
    files::add_to(&mut linker)?;
    http::add_to(&mut linker)?;
    sockets::add_to(&mut linker)?;
    Ok(linker)
}

/// By what it exports; of both, the one that needs no CGI.
fn world_of<'a>(exports: impl Iterator<Item = &'a str>) -> Result<World, String> {
    let mut found = None;
    let mut is_newer = false;
    for name in exports {
        match name.split_once('@') {
            Some(("wasi:http/incoming-handler", version)) if version.starts_with("0.2.") => {
                found = Some(World::Proxy);
            }
            Some(("wasi:cli/run", version)) if version.starts_with("0.2.") => {
                found = found.or(Some(World::Command));
            }
            Some(("wasi:cli/run" | "wasi:http/handler", version)) => {
                is_newer |= version.starts_with("0.3.");
            }
            _ => {}
        }
    }
    let why = if is_newer {
        "it is made for WASI 0.3, which is not known here: build it for 0.2 (wasm32-wasip2)"
    } else {
        "it exports neither wasi:cli/run nor wasi:http/incoming-handler of WASI 0.2: it is no \
         program; build it for one of these worlds"
    };
    found.ok_or_else(|| why.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_a_program_by_its_exports() {
        let world = |names: &[&str]| world_of(names.iter().copied());
        assert_eq!(world(&["x", "wasi:cli/run@0.2.6"]), Ok(World::Command));
        let both = ["wasi:http/incoming-handler@0.2.0", "wasi:cli/run@0.2.6"];
        assert_eq!(world(&both), Ok(World::Proxy));
        assert!(world(&["wasi:cli/run@0.3.0"]).unwrap_err().contains("0.3"));
        assert!(world(&["wasi:cli/run"]).unwrap_err().contains("no program"));
    }
}
