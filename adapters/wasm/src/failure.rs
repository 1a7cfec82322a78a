//! How a module ended, as an exit code and as words for the log.

use wasmtime::{Error, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

/// What a shell reports of a process that abort() ended.
const TRAPPED: i32 = 128 + libc::SIGABRT;

/// proc_exit(), or the end of whom nobody hears: passes through the module's frames as an error.
#[derive(Debug)]
pub struct Exit(pub i32);

impl std::fmt::Display for Exit {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(to, "exit with {}", self.0)
    }
}

impl std::error::Error for Exit {}

/// The exit code of a call of a program; a trap is told on standard error, after the functions that led
/// to it, by their names if the module has them: the outermost first, and the reason as the last
/// word, as the bridge repeats that one.
pub fn exit_code(module: &str, ended: Result<(), Error>) -> i32 {
    let Err(error) = ended else { return 0 };
    if let Some(Exit(code)) = error.downcast_ref() {
        return code & 0xff;
    }
    if let Some(I32Exit(code)) = error.downcast_ref() {
        return code & 0xff;
    }
    let what = match error.downcast_ref::<Trap>() {
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string(),
    };
    let what = if what.starts_with("wasm trap") { what } else { format!("wasm trap: {what}") };
    let mut told = String::new();
    if let Some(trace) = error.downcast_ref::<WasmBacktrace>() {
        for frame in trace.frames().iter().rev() {
            told += &format!("{module}:   in {}\n", shown(frame));
        }
    }
    told += &format!("{module}: {what}\n");
    crate::say(&told);
    TRAPPED
}

fn shown(frame: &wasmtime::FrameInfo) -> String {
    let name = match frame.func_name() {
        Some(name) => plain_name(name),
        None => format!("function {}", frame.func_index()),
    };
    match frame.module_offset() {
        Some(offset) => format!("{name} (at {offset:#x})"),
        None => name,
    }
}

/// A name comes from the module: it must not be more than a word in a line of the log.
fn plain_name(name: &str) -> String {
    let name = match rustc_demangle::try_demangle(name) {
        Ok(readable) => format!("{readable:#}"), // without the hash
        Err(_) => name.to_owned(),
    };
    name.chars().take(200).map(|c| if c.is_control() { '?' } else { c }).collect()
}
