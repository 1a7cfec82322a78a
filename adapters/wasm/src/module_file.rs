//! The module's file, and what is wrong with it.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// No more than this is compiled.
const BYTES_MAX: u64 = 256 << 20;

const MAGIC: &[u8] = b"\0asm";
const COMPONENT: u8 = 1; // the "layer" of a file's version

/// All of a file that is a core module, or why it is none.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("it cannot be read: {error}");
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
    let bytes = read_all(file)?;
    check_kind(&bytes)?;
    Ok(bytes)
}

/// All of an open regular file.
pub fn read_all(mut file: File) -> Result<Vec<u8>, String> {
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
    Ok(bytes)
}

/// What it is, if it is something else than a core module; whether it is a good one shows when it is
/// compiled.
fn check_kind(bytes: &[u8]) -> Result<(), String> {
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        let is_text = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'(');
        let what = if is_text {
            "it is WebAssembly as text: translate it with wat2wasm"
        } else {
            "it is no WebAssembly module: it does not begin with \\0asm"
        };
        return Err(what.into());
    };
    match rest {
        [1, 0, 0, 0, ..] => Ok(()),
        [_, _, COMPONENT, 0, ..] => {
            Err("it is a WebAssembly component: build it as a module, for wasm32-wasip1".into())
        }
        [_, _, _, _, ..] => Err("it has a version of WebAssembly that is not known here".into()),
        _ => Err("it is cut off: copy it anew".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_is_no_module() {
        let said = |bytes: &[u8]| check_kind(bytes).unwrap_err();
        assert!(check_kind(b"\0asm\x01\0\0\0").is_ok());
        assert!(said(b"\0asm\x0d\0\x01\0").contains("component"));
        assert!(said(b"\0asm\x02\0\0\0").contains("version"));
        assert!(said(b"\0asm\x01").contains("cut off"));
        assert!(said(b"\n (module)").contains("wat2wasm"));
        assert!(said(b"").contains("no WebAssembly"));
    }

    #[test]
    fn reads_regular_files_only() {
        assert!(read(Path::new("/dev/zero")).unwrap_err().contains("regular"));
        assert!(read(Path::new("/tmp")).is_err());
        assert!(read(Path::new("/nowhere")).unwrap_err().contains("cannot be read"));
    }
}
