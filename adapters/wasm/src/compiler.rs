//! Compiles modules and components. It happens in a process of its own, under limits: a compilation
//! has threads, which a process at a checkpoint must not have, and a file can make it long and large.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use wasmtime::component::Component;
use wasmtime::{Engine, Module};

use crate::cache::{Cache, Key, Patience};
use crate::engine::{self, Compiler, Threads};
use crate::module_file::{self, Kind, Source};
use crate::options::Options;
use crate::Outcome;

pub struct Compiled {
    pub engine: Engine,
    pub code: Code,
}

pub enum Code {
    Module(Module),
    Component(Component),
}

impl Compiled {
    fn of_code(engine: Engine, kind: Kind, code: &[u8]) -> Result<Compiled, String> {
        // Sound if the bytes are what precompile() made: they come from our own child, or from an
        // entry that only trusted users can have written, and that is whole (cache.rs). Code of the
        // other kind is refused.
        let loaded = unsafe {
            match kind {
                Kind::Module => Module::deserialize(&engine, code).map(Code::Module),
                Kind::Component => Component::deserialize(&engine, code).map(Code::Component),
            }
        };
        let code = loaded.map_err(|error| one_line(&error))?;
        Ok(Compiled { engine, code })
    }

    fn of_source(engine: Engine, source: &Source) -> wasmtime::Result<Compiled> {
        let code = match source.kind {
            Kind::Module => Code::Module(Module::from_binary(&engine, &source.bytes)?),
            Kind::Component => Code::Component(Component::from_binary(&engine, &source.bytes)?),
        };
        Ok(Compiled { engine, code })
    }
}

/// The module as good code, for as long as that takes: for a process that answers many requests.
pub fn optimized(options: &Options, source: &Source) -> Result<Compiled, String> {
    let engine = optimizing(options)?;
    let Some(cache) = open_cache(options) else {
        return Compiled::of_code(engine, source.kind, &compile(options, source)?);
    };
    let (code, _) = code_by(&cache, &Key::of(&engine, source), options, source)?;
    Compiled::of_code(engine, source.kind, &code)
}

/// The module as soon as possible: for a process that answers one request.
pub fn at_once(options: &Options, source: &Source) -> Result<Compiled, String> {
    let cache = open_cache(options);
    if let Some(cache) = &cache {
        let engine = optimizing(options)?;
        if let Some(code) = entry_of(cache, &Key::of(&engine, source)) {
            return Compiled::of_code(engine, source.kind, &code);
        }
        // So that the next request is faster.
        if cache.may_write() && cache.lock(Patience::DoesNot).is_some() {
            compile_meanwhile(options);
        }
    }
    let baseline = engine::new(Compiler::Baseline, options.stack, Threads::One)?;
    if let Ok(compiled) = Compiled::of_source(baseline, source) {
        return Ok(compiled);
    }
    // It does not know all that the other knows; that one's error is the one to tell.
    let engine = optimizing(options)?;
    let code = match &cache {
        // By the process that has just been started, most likely.
        Some(cache) => code_by(cache, &Key::of(&engine, source), options, source)?.0,
        None => compile(options, source)?,
    };
    Compiled::of_code(engine, source.kind, &code)
}

fn optimizing(options: &Options) -> Result<Engine, String> {
    engine::new(Compiler::Optimizing, options.stack, Threads::One)
}

/// --compile
pub fn into_cache(options: &Options) -> Outcome {
    let began = Instant::now();
    let source = module_file::read(&options.module)?;
    let Some(cache) = open_cache(options) else {
        return Err("there is no cache that it could be compiled into".into());
    };
    let engine = optimizing(options)?;
    let (code, is_kept) = code_by(&cache, &Key::of(&engine, &source), options, &source)?;
    if !is_kept {
        return Err("its code cannot be written to the cache".into());
    }
    let (size, time) = (code.len(), began.elapsed().as_millis());
    println!("{}: {size} bytes of code, {time} ms", options.shown_module());
    Ok(0)
}

/// The exit code of a compilation that has left words instead of code, and the most that is taken.
const FAILED: i32 = 3;
const SAID_MAX: usize = 2000;

/// The priority of a compilation.
const NICE: i32 = 10;

/// --compile-here: what the process does that compile() starts.
pub fn here(options: &Options, input: RawFd, output: RawFd) -> Outcome {
    set_limit(libc::RLIMIT_CPU, options.compile_time);
    set_limit(libc::RLIMIT_AS, options.compile_memory);
    set_limit(libc::RLIMIT_CORE, 0);
    // Requests are answered meanwhile, the first one by code that is being made as well.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
    let source = module_file::read_all(unsafe { File::from_raw_fd(input) })?;
    let engine = engine::new(Compiler::Optimizing, options.stack, Threads::AsManyAsCores)?;
    let code = match source.kind {
        Kind::Module => engine.precompile_module(&source.bytes),
        Kind::Component => engine.precompile_component(&source.bytes),
    };
    let mut file = unsafe { File::from_raw_fd(output) };
    let (given, ended) = match code {
        Ok(code) => (code, 0),
        Err(error) => (one_line(&error).into_bytes(), FAILED),
    };
    file.write_all(&given).map_err(|error| error.to_string())?;
    Ok(ended)
}

/// Where the compiled code of this user's programs is kept, if it is. The bridge of root makes a
/// folder in the cache for each other user.
pub fn cache_folder(options: &Options) -> Option<PathBuf> {
    let cache = options.cache.as_deref()?;
    let user = unsafe { libc::geteuid() };
    let own = cache.join(user.to_string());
    let is_other = options.cache_owner.is_some_and(|owner| owner != user);
    Some(if is_other && own.is_dir() { own } else { cache.to_path_buf() })
}

fn open_cache(options: &Options) -> Option<Cache> {
    let path = &cache_folder(options)?;
    match Cache::open(path, options.cache_owner) {
        Ok(cache) => Some(cache),
        Err(why) if path.exists() => {
            crate::say(&format!("cgibridge-wasm: {why}\n"));
            None
        }
        Err(_) => None, // we may not make it: an ordinary user's bridge
    }
}

/// A bad entry is told, and is as good as none.
fn entry_of(cache: &Cache, key: &Key) -> Option<Vec<u8>> {
    cache.load(key).unwrap_or_else(|why| {
        crate::say(&format!("cgibridge-wasm: {why}\n"));
        None
    })
}

/// The code, and whether it is in the cache now. Several that want it at once wait for the first.
fn code_by(
    cache: &Cache,
    key: &Key,
    options: &Options,
    source: &Source,
) -> Result<(Vec<u8>, bool), String> {
    if let Ok(Some(code)) = cache.load(key) {
        return Ok((code, true));
    }
    let _lock = cache.lock(Patience::Waits);
    if let Some(code) = entry_of(cache, key) {
        return Ok((code, true));
    }
    let code = compile(options, source)?;
    let is_kept = cache.store(key, &code);
    Ok((code, is_kept))
}

fn compile(options: &Options, source: &Source) -> Result<Vec<u8>, String> {
    let (mut input, output) = (memory_file(c"module")?, memory_file(c"code")?);
    input
        .write_all(&source.bytes)
        .and_then(|()| input.rewind())
        .map_err(|error| error.to_string())?;
    let ended = Command::new(own_path()?)
        .args(compiler_words(options, &input, &output))
        .arg(&options.module)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| format!("its compiler cannot be started: {error}"))?;
    let given = content_of(output)?;
    if ended.success() {
        return Ok(given);
    }
    Err(why_not(options, source, ended, &given))
}

fn compiler_words(options: &Options, input: &File, output: &File) -> Vec<OsString> {
    [
        format!("--compile-here={},{}", input.as_raw_fd(), output.as_raw_fd()),
        format!("--stack={}", options.stack),
        format!("--compile-time={}", options.compile_time),
        format!("--compile-memory={}", options.compile_memory),
    ]
    .map(OsString::from)
    .into()
}

fn content_of(mut output: File) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    output.rewind().map_err(|error| error.to_string())?;
    std::io::Read::read_to_end(&mut output, &mut content).map_err(|error| error.to_string())?;
    Ok(content)
}

/// said: what the process that compiled has left instead of code.
fn why_not(options: &Options, source: &Source, ended: ExitStatus, said: &[u8]) -> String {
    if ended.signal() == Some(libc::SIGXCPU) || ended.signal() == Some(libc::SIGKILL) {
        return format!(
            "its compilation took more than {} s of processor time, or was killed",
            options.compile_time
        );
    }
    let checked = match source.kind {
        Kind::Module => optimizing(options).and_then(|engine| {
            Module::validate(&engine, &source.bytes).map_err(|error| one_line(&error))
        }),
        // Only a compilation validates a component; it may have failed for other reasons.
        Kind::Component if ended.code() == Some(FAILED) => {
            let said = String::from_utf8_lossy(&said[..said.len().min(SAID_MAX)]).into_owned();
            return format!("it cannot be compiled: {}", plain(&said));
        }
        Kind::Component => Ok(()),
    };
    match checked {
        Err(why) => format!("it is not valid: {why}"),
        Ok(()) => {
            format!("it cannot be compiled within {} MiB ({ended})", options.compile_memory >> 20)
        }
    }
}

/// By a process that nobody waits for.
fn compile_meanwhile(options: &Options) {
    let Ok(path) = own_path() else { return };
    let mut command = Command::new(path);
    command.arg("--compile").arg(format!("--stack={}", options.stack));
    command.arg(format!("--compile-time={}", options.compile_time));
    command.arg(format!("--compile-memory={}", options.compile_memory));
    if let Some(cache) = &options.cache {
        command.arg([OsStr::new("--cache="), cache.as_os_str()].join(OsStr::new("")));
    }
    if let Some(owner) = options.cache_owner {
        command.arg(format!("--cache-owner={owner}"));
    }
    command.arg(&options.module).env_clear().stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.spawn();
}

fn own_path() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("the runner's own path: {error}"))
}

/// Passed to the child.
fn memory_file(name: &std::ffi::CStr) -> Result<File, String> {
    let fd = unsafe { libc::memfd_create(name.as_ptr(), 0) };
    if fd < 0 {
        return Err(format!("no memory file: {}", std::io::Error::last_os_error()));
    }
    Ok(unsafe { File::from_raw_fd(fd) })
}

fn set_limit(which: libc::__rlimit_resource_t, most: u64) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    unsafe { libc::getrlimit(which, &mut limit) };
    limit.rlim_cur = most.min(limit.rlim_max);
    limit.rlim_max = limit.rlim_cur;
    unsafe { libc::setrlimit(which, &limit) };
}

/// "caused by" in one line, which may contain names that the file has chosen.
pub fn one_line(error: &wasmtime::Error) -> String {
    plain(&format!("{error:#}"))
}

fn plain(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}
