//! The calls of an adapter (adapters/README.md): readlink() of paths that exist for the checkpoint
//! library only.

use std::ffi::CString;

/// The longest answer; a longer text comes in pieces. All that is written to here is put back after
/// each request, so it is not more than most environments need.
const ANSWER_MAX: usize = 4096;

pub struct Bridge {
    /// "/.cgibridge/SECRET/"
    prefix: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Reset {
    /// The next request gets the process as it is.
    None,
    /// It gets a process at its checkpoint: by `fork` or `rewind`.
    Whole,
}

impl Bridge {
    /// None: the library is not there, or this is not a start of the bridge's.
    pub fn open() -> Option<Bridge> {
        Some(Bridge { prefix: ask(b"/.cgibridge/open")? })
    }

    pub fn note_file(&self, path: &[u8]) {
        self.ask("note/file/", path);
    }

    /// A folder whose files the runner keeps for itself: what becomes of them changes nothing.
    pub fn own_files(&self, path: &[u8]) {
        self.ask("own-files/", path);
    }

    pub fn reset(&self) -> Reset {
        match self.ask("reset", b"").as_deref() {
            Some(b"none") => Reset::None,
            _ => Reset::Whole,
        }
    }

    /// Returns in each worker, when a request has come.
    pub fn checkpoint(&self) -> Result<(), String> {
        match self.ask("checkpoint/compiled", b"") {
            Some(answer) if answer == b"request" => Ok(()),
            _ => Err("the checkpoint was refused".into()),
        }
    }

    /// "K=V" each.
    pub fn environment(&self) -> Vec<Vec<u8>> {
        self.strings("env")
    }

    pub fn arguments(&self) -> Vec<Vec<u8>> {
        self.strings("argv")
    }

    /// From here on the program runs: no call is answered but those at its end.
    pub fn script(&self) {
        self.ask("script", b"");
    }

    /// Ends the request, and waits for another. False: there is none.
    pub fn next(&self, code: i32) -> bool {
        self.ask("next/", code.to_string().as_bytes()).is_some()
    }

    fn strings(&self, what: &str) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(piece) = self.ask(what, b"").filter(|piece| !piece.is_empty()) {
            all.extend_from_slice(&piece);
        }
        let mut strings: Vec<Vec<u8>> = all.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        strings.pop(); // what follows the last NUL
        strings
    }

    fn ask(&self, what: &str, more: &[u8]) -> Option<Vec<u8>> {
        ask(&[&self.prefix, what.as_bytes(), more].concat())
    }
}

fn ask(path: &[u8]) -> Option<Vec<u8>> {
    let path = CString::new(path).ok()?;
    let mut answer = [0u8; ANSWER_MAX];
    let length = unsafe { libc::readlink(path.as_ptr(), answer.as_mut_ptr().cast(), answer.len()) };
    let length = usize::try_from(length).ok()?;
    Some(answer[..length].to_vec())
}
