//! The command line:
//!
//!     cgibridge-wasm [SWITCH...] MODULE [WORD...]
//!
//! Each switch is one word, and the first word that is none is the module. The bridge writes this
//! line (bridge/worker/wasm_words.cc).

use std::ffi::OsString;
use std::os::fd::RawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

#[derive(Debug, PartialEq)]
pub enum Task {
    Run,
    /// Into the cache, and no more.
    Compile,
    /// The process that compiles: the module comes from a descriptor, the code goes to another.
    CompileHere {
        input: RawFd,
        output: RawFd,
    },
    Version,
}

/// A folder that the module sees.
#[derive(Clone, Debug, PartialEq)]
pub struct Folder {
    pub name: Vec<u8>,
    pub path: PathBuf,
    pub read_only: bool,
}

#[derive(Debug)]
pub struct Options {
    pub task: Task,
    pub folders: Vec<Folder>,
    /// Bytes of all linear memories of an instance.
    pub memory: u64,
    /// Bytes of the stack of WebAssembly's own calls.
    pub stack: usize,
    pub cache: Option<PathBuf>,
    /// Whose entries are trusted besides root's and our own.
    pub cache_owner: Option<u32>,
    /// The processor time, in seconds, and the address space that a compilation may take.
    pub compile_time: u64,
    pub compile_memory: u64,
    pub module: PathBuf,
    /// What follows the module.
    pub words: Vec<Vec<u8>>,
}

const MIB: u64 = 1 << 20;
/// Half of the stack that a process usually has, so that the functions that it calls have room.
const STACK_MAX: u64 = 4 * MIB;

impl Options {
    fn default() -> Self {
        Options {
            task: Task::Run,
            folders: Vec::new(),
            memory: 256 * MIB,
            stack: MIB as usize,
            cache: None,
            cache_owner: None,
            compile_time: 60,
            compile_memory: 4096 * MIB,
            module: PathBuf::new(),
            words: Vec::new(),
        }
    }

    pub fn parse(words: Vec<OsString>) -> Result<Options, String> {
        let mut options = Options::default();
        let mut read_only: Vec<Vec<u8>> = Vec::new();
        let mut rest = words.into_iter();
        for word in rest.by_ref() {
            if !word.as_bytes().starts_with(b"--") {
                options.module = word.into();
                break;
            }
            options.take(word.as_bytes(), &mut read_only)?;
        }
        options.words = rest.map(OsString::into_vec).collect();
        for name in read_only {
            match options.folders.iter_mut().find(|folder| folder.name == name) {
                Some(folder) => folder.read_only = true,
                None => return Err(format!("--read-only={}: no --dir has that name", text(&name))),
            }
        }
        let wants_module = matches!(options.task, Task::Run | Task::Compile);
        if wants_module && options.module.as_os_str().is_empty() {
            return Err("no module is named: cgibridge-wasm [SWITCH...] MODULE [WORD...]".into());
        }
        Ok(options)
    }

    pub fn shown_module(&self) -> String {
        text(self.module.as_os_str().as_bytes())
    }

    fn take(&mut self, word: &[u8], read_only: &mut Vec<Vec<u8>>) -> Result<(), String> {
        let (name, value) = split(word, b'=').unwrap_or((word, b""));
        let number = || number_in(value).ok_or_else(|| format!("{}: no number", text(word)));
        match name {
            b"--version" => self.task = Task::Version,
            b"--compile" => self.task = Task::Compile,
            b"--compile-here" => {
                let (input, output) = split(value, b',').ok_or("--compile-here=INPUT,OUTPUT")?;
                let descriptor = |text| number_in(text).map(|n| n as RawFd).ok_or("no descriptor");
                let (input, output) = (descriptor(input)?, descriptor(output)?);
                self.task = Task::CompileHere { input, output };
            }
            b"--dir" => self.folders.push(folder_in(value)?),
            b"--read-only" => read_only.push(value.to_vec()),
            b"--memory" => self.memory = number()?,
            b"--stack" => self.stack = number()?.clamp(64 << 10, STACK_MAX) as usize,
            b"--cache" => self.cache = Some(OsString::from_vec(value.to_vec()).into()),
            b"--cache-owner" => self.cache_owner = Some(number()? as u32),
            b"--compile-time" => self.compile_time = number()?.max(1),
            b"--compile-memory" => self.compile_memory = number()?,
            _ => return Err(format!("{}: no such switch", text(word))),
        }
        Ok(())
    }
}

fn folder_in(value: &[u8]) -> Result<Folder, String> {
    let (name, path) = split(value, b'=').unwrap_or((value, b""));
    if !name.starts_with(b"/") || !path.starts_with(b"/") {
        return Err(format!("--dir={}: --dir=/NAME=/PATH is wanted", text(value)));
    }
    let path = OsString::from_vec(path.to_vec()).into();
    Ok(Folder { name: name.to_vec(), path, read_only: false })
}

fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = text.iter().position(|byte| *byte == at)?;
    Some((&text[..place], &text[place + 1..]))
}

fn number_in(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// For a message.
pub fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(OsString::from).collect())
    }

    #[test]
    fn takes_what_follows_the_module_as_its_words() {
        let line = "--dir=/data=/srv/a=b --read-only=/data --memory=65536 /m.wasm --dir=x y";
        let options = parse(line).unwrap();
        let wanted = Folder { name: b"/data".into(), path: "/srv/a=b".into(), read_only: true };
        assert_eq!(options.folders, [wanted]);
        assert_eq!(options.memory, 65536);
        assert_eq!(options.module, PathBuf::from("/m.wasm"));
        assert_eq!(options.words, [b"--dir=x".to_vec(), b"y".to_vec()]);
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        for line in [
            "",
            "--dir=/data m",
            "--dir=data=/x m",
            "--memory=much m",
            "--other m",
            "--read-only=/data m",
            "--compile-here=1 m",
            "--compile",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn holds_the_stack_within_that_of_the_process() {
        assert_eq!(parse("--stack=1 m").unwrap().stack, 64 << 10);
        assert_eq!(parse("--stack=99999999999 m").unwrap().stack, 4 << 20);
    }
}
