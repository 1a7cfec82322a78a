//! The life of an instance: each request gets its own, made of nothing but the file.

use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::bridge::{Bridge, Reset};
use crate::compiler::{self, Code, Compiled};
use crate::component::Component;
use crate::module::Module;
use crate::module_file::Source;
use crate::options::Options;
use crate::{module_file, Outcome};

/// What can be made into instances.
pub trait Program {
    type Instance;

    /// An instance that no request has touched; None: it already asks for something of the request.
    fn ahead(&self) -> Result<Option<Self::Instance>, String>;

    /// Answers with such an instance, or with one that is made for it; the exit code.
    fn answer(&self, ahead: Option<Self::Instance>, request: Request, then: Then) -> Outcome;
}

/// Variables as "K=V", or words.
pub type Strings = Vec<Vec<u8>>;

pub struct Request {
    pub environment: Strings,
    /// The file's path first.
    pub arguments: Strings,
}

/// What follows an answer.
#[derive(Clone, Copy, PartialEq)]
pub enum Then {
    /// The end of the process: an instance may end it at any time, and is not taken apart.
    End,
    Another,
}

/// One request, as any CGI program.
pub fn once(options: &Options) -> Outcome {
    let source = module_file::read(&options.module)?;
    let compiled = compiler::at_once(options, &source)?;
    let variables =
        std::env::vars_os().map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat());
    let request = Request {
        environment: variables.collect(),
        arguments: arguments(options, options.words.clone()),
    };
    match compiled.code {
        Code::Module(code) => {
            Module::new(options, compiled.engine, &code)?.answer(None, request, Then::End)
        }
        Code::Component(code) => {
            Component::new(options, compiled.engine, &code)?.answer(None, request, Then::End)
        }
    }
}

/// Request after request, at the checkpoint.
pub fn warm(options: &Options, bridge: &Bridge) -> Outcome {
    let source = module_file::read(&options.module)?;
    let compiled = compile(options, bridge, source)?;
    match compiled.code {
        Code::Module(code) => serve(options, bridge, Module::new(options, compiled.engine, &code)?),
        Code::Component(code) => {
            serve(options, bridge, Component::new(options, compiled.engine, &code)?)
        }
    }
}

fn compile(options: &Options, bridge: &Bridge, source: Source) -> Result<Compiled, String> {
    bridge.note_file(options.module.as_os_str().as_bytes());
    let compiled = compiler::optimized(options, &source)?;
    if let Some(folder) = compiler::cache_folder(options) {
        bridge.own_files(folder.as_os_str().as_bytes());
    }
    Ok(compiled)
}

fn serve(options: &Options, bridge: &Bridge, program: impl Program) -> Outcome {
    match bridge.reset() {
        Reset::Whole => answer_from_checkpoint(options, bridge, program),
        Reset::None => answer_again_and_again(options, bridge, program),
    }
}

/// The instance is there before the request is, if it can be.
fn answer_from_checkpoint(options: &Options, bridge: &Bridge, program: impl Program) -> Outcome {
    let ahead = program.ahead()?;
    bridge.checkpoint()?;
    let request = request(options, bridge);
    bridge.script();
    program.answer(ahead, request, Then::End)
}

fn answer_again_and_again(options: &Options, bridge: &Bridge, program: impl Program) -> Outcome {
    bridge.checkpoint()?;
    loop {
        let request = request(options, bridge);
        bridge.script();
        // All that the instance had ends here.
        let code = program.answer(None, request, Then::Another).unwrap_or_else(|why| {
            crate::say(&format!("{}: {why}\n", options.shown_module()));
            1
        });
        if !bridge.next(code) {
            return Ok(code);
        }
    }
}

/// The words are those after the module's path, in the whole command line or by themselves.
fn request(options: &Options, bridge: &Bridge) -> Request {
    let environment = bridge.environment();
    let mut words = bridge.arguments();
    let module = options.module.as_os_str().as_bytes();
    if let Some(place) = words.iter().position(|word| word == module) {
        words.drain(..=place);
    }
    Request { environment, arguments: arguments(options, words) }
}

fn arguments(options: &Options, words: Strings) -> Strings {
    let module = options.module.clone().into_os_string().into_vec();
    std::iter::once(module).chain(words).collect()
}

/// Why an instance cannot begin. was_limit: it was refused memory.
pub fn not_started(options: &Options, error: &wasmtime::Error, was_limit: bool) -> String {
    let limit = if was_limit {
        format!(" (its limit of memory is {} bytes)", options.memory)
    } else {
        String::new()
    };
    format!("it cannot be started: {}{limit}", compiler::one_line(error))
}
