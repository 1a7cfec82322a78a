//! The file of a module or component, and what is wrong with it.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// No more than this is compiled.
const BYTES_MAX: u64 = 256 << 20;

const MAGIC: &[u8] = b"\0asm";
/// What follows: the version, and the layer.
const MODULE: [u8; 4] = [1, 0, 0, 0];
const COMPONENT: [u8; 4] = [13, 0, 1, 0];

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A core module.
    Module,
    Component,
}

/// A file that says it is of that kind.
pub struct Source {
    pub kind: Kind,
    pub bytes: Vec<u8>,
}

/// All of a file, or why it is no WebAssembly.
pub fn read(path: &Path) -> Result<Source, String> {
    let failed = |error: std::io::Error| format!("it cannot be read: {error}");
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
    read_all(file)
}

/// All of an open regular file.
pub fn read_all(mut file: File) -> Result<Source, String> {
    let failed = |error: std::io::Error| format!("it cannot be read: {error}");
    let status = file.metadata().map_err(failed)?;
    if !status.is_file() {
        return Err("it is not a regular file".into());
    }
    if status.len() > BYTES_MAX {
        return Err(format!("it has {} bytes; {BYTES_MAX} are the most", status.len()));
    }
    let mut bytes = Vec::with_capacity(status.len() as usize);
    file.by_ref().take(BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Source { kind: kind_of(&bytes)?, bytes })
}

/// What it says it is; whether it is a good one shows when it is compiled.
fn kind_of(bytes: &[u8]) -> Result<Kind, String> {
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        let is_text = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'(');
        let what = if is_text {
            "it is WebAssembly as text: translate it with wat2wasm"
        } else {
            "it is no WebAssembly module: it does not begin with \\0asm"
        };
        return Err(what.into());
    };
    match rest.first_chunk() {
        Some(&MODULE) => Ok(Kind::Module),
        Some(&COMPONENT) => Ok(Kind::Component),
        Some(_) => Err("it has a version of WebAssembly that is not known here".into()),
        None => Err("it is cut off: copy it anew".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_is_no_module() {
        let said = |bytes: &[u8]| kind_of(bytes).unwrap_err();
        assert_eq!(kind_of(b"\0asm\x01\0\0\0"), Ok(Kind::Module));
        assert_eq!(kind_of(b"\0asm\x0d\0\x01\0"), Ok(Kind::Component));
        assert!(said(b"\0asm\x02\0\0\0").contains("version"));
        assert!(said(b"\0asm\x0c\0\x01\0").contains("version"));
        assert!(said(b"\0asm\x01").contains("cut off"));
        assert!(said(b"\n (module)").contains("wat2wasm"));
        assert!(said(b"").contains("no WebAssembly"));
    }

    #[test]
    fn reads_regular_files_only() {
        let said = |path: &str| read(Path::new(path)).err().unwrap();
        assert!(said("/dev/zero").contains("regular"));
        assert!(said("/tmp").contains("regular"));
        assert!(said("/nowhere").contains("cannot be read"));
    }
}
