//! Compiled code, kept between starts. Code is trusted: who could change an entry could run
//! anything. So an entry counts only if nobody but root, the owner that the bridge named and our
//! own user can change it or its folder, if it is for this module, runtime and processor, and if it
//! is whole.

use std::ffi::{CString, OsStr};
use std::fs::{File, OpenOptions, Permissions};
use std::hash::{Hash, Hasher};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wasmtime::Engine;

use crate::module_file::Source;

/// Changed with the form of an entry.
const HEAD: &[u8] = b"cgibridge-wasm code 1\n";
const DIGEST: usize = 32;
const ENTRY_MAX: u64 = 2 << 30;
/// Of all entries together; the oldest go first.
const CACHE_MAX: u64 = 1 << 30;

/// Which module or component, compiled by which runtime, how, for which processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key([u8; DIGEST]);

struct HashInto(Sha256);

impl Hasher for HashInto {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    fn finish(&self) -> u64 {
        0 // the whole digest is taken instead
    }
}

impl Key {
    pub fn of(engine: &Engine, source: &Source) -> Key {
        let mut hash = HashInto(Sha256::new());
        hash.write(HEAD);
        hash.write(crate::VERSION.as_bytes());
        engine.precompile_compatibility_hash().hash(&mut hash);
        hash.write(format!("{:?}\n", source.kind).as_bytes());
        hash.write(&source.bytes);
        Key(hash.0.finalize().into())
    }

    fn file_name(&self) -> String {
        let digits: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        digits + ".cwasm"
    }
}

pub struct Cache {
    folder: File,
    path: PathBuf,
    trusted: Vec<u32>,
}

impl Cache {
    /// Makes the folder if need be. An error: it cannot be used, and why.
    pub fn open(path: &Path, owner: Option<u32>) -> Result<Cache, String> {
        let failed = |error: std::io::Error| format!("the cache {}: {error}", path.display());
        let _ = std::fs::DirBuilder::new().mode(0o755).create(path);
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let folder =
            OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
        let mut trusted = vec![0, unsafe { libc::geteuid() }];
        trusted.extend(owner);
        let cache = Cache { folder, path: path.to_path_buf(), trusted };
        match cache.why_not_trusted(&cache.folder) {
            Some(why) => Err(format!("the cache {} is not used: {why}", path.display())),
            None => Ok(cache),
        }
    }

    /// The code for that key. An error: there is an entry, but not a good one, and why.
    pub fn load(&self, key: &Key) -> Result<Option<Vec<u8>>, String> {
        let name = key.file_name();
        let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let mut file = match self.open_at(&name, flags) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.entry(&name, &error.to_string())),
        };
        let bytes = self.read(&mut file).map_err(|why| self.entry(&name, &why))?;
        let code = code_in(&bytes, key).ok_or_else(|| self.entry(&name, "it is damaged"))?;
        Ok(Some(code.to_vec()))
    }

    /// Keeps code; false: we may not write there.
    pub fn store(&self, key: &Key, code: &[u8]) -> bool {
        let name = key.file_name();
        let fresh = format!(".{}.{}", name, std::process::id());
        self.make_room(code.len() as u64);
        let written = self.write(&fresh, key, code) && self.rename(&fresh, &name);
        if !written {
            let _ = std::fs::remove_file(self.path.join(&fresh));
        }
        written
    }

    /// Waits until nobody else compiles into this cache; None: somebody does, and we do not wait.
    /// The lock ends with the file.
    pub fn lock(&self, patience: Patience) -> Option<File> {
        let file = self.open_at(".", libc::O_RDONLY | libc::O_DIRECTORY).ok()?;
        let wait = if patience == Patience::Waits { 0 } else { libc::LOCK_NB };
        let locked = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | wait) };
        (locked == 0).then_some(file)
    }

    pub fn may_write(&self) -> bool {
        let here = c".".as_ptr();
        let flags = libc::AT_EACCESS;
        unsafe { libc::faccessat(self.folder.as_raw_fd(), here, libc::W_OK, flags) == 0 }
    }

    fn entry(&self, name: &str, why: &str) -> String {
        format!("{}/{name} is not loaded: {why}", self.path.display())
    }

    fn why_not_trusted(&self, file: &File) -> Option<String> {
        let status = match file.metadata() {
            Ok(status) => status,
            Err(error) => return Some(error.to_string()),
        };
        if !self.trusted.contains(&status.uid()) {
            return Some(format!("user {} owns it", status.uid()));
        }
        (status.mode() & 0o022 != 0)
            .then(|| format!("others may write to it (its mode is {:o})", status.mode() & 0o7777))
    }

    fn read(&self, file: &mut File) -> Result<Vec<u8>, String> {
        let status = file.metadata().map_err(|error| error.to_string())?;
        if !status.is_file() {
            return Err("it is not a regular file".into());
        }
        if let Some(why) = self.why_not_trusted(file) {
            return Err(why);
        }
        if status.len() > ENTRY_MAX {
            return Err("it is too large".into());
        }
        let mut bytes = Vec::with_capacity(status.len() as usize);
        file.take(ENTRY_MAX).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    fn write(&self, name: &str, key: &Key, code: &[u8]) -> bool {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
        let Ok(mut file) = self.open_at(name, flags) else { return false };
        let _ = file.set_permissions(Permissions::from_mode(0o644)); // whatever the umask is
        file.write_all(&head_of(key, code)).is_ok() && file.write_all(code).is_ok()
    }

    fn rename(&self, from: &str, to: &str) -> bool {
        let (from, to) = (CString::new(from).unwrap(), CString::new(to).unwrap());
        let folder = self.folder.as_raw_fd();
        unsafe { libc::renameat(folder, from.as_ptr(), folder, to.as_ptr()) == 0 }
    }

    fn open_at(&self, name: &str, flags: i32) -> std::io::Result<File> {
        let name = CString::new(name)?;
        let flags = flags | libc::O_CLOEXEC;
        let fd = unsafe { libc::openat(self.folder.as_raw_fd(), name.as_ptr(), flags, 0o644) };
        if fd < 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(unsafe { File::from_raw_fd(fd) })
    }

    fn make_room(&self, bytes: u64) {
        let Ok(list) = std::fs::read_dir(&self.path) else { return };
        let is_entry = |name: &OsStr| name.as_bytes().ends_with(b".cwasm");
        let mut entries: Vec<_> = list
            .flatten()
            .filter(|entry| is_entry(&entry.file_name()))
            .filter_map(|entry| Some((entry.metadata().ok()?, entry.path())))
            .collect();
        entries.sort_by_key(|(status, _)| status.mtime());
        let mut all = bytes + entries.iter().map(|(status, _)| status.len()).sum::<u64>();
        for (status, path) in entries {
            if all <= CACHE_MAX {
                break;
            }
            if std::fs::remove_file(path).is_ok() {
                all -= status.len();
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Patience {
    Waits,
    DoesNot,
}

fn head_of(key: &Key, code: &[u8]) -> Vec<u8> {
    let digest: [u8; DIGEST] = Sha256::digest(code).into();
    [HEAD, &key.0, &(code.len() as u64).to_le_bytes(), &digest].concat()
}

fn code_in<'a>(entry: &'a [u8], key: &Key) -> Option<&'a [u8]> {
    let code = entry.get(HEAD.len() + DIGEST + 8 + DIGEST..)?;
    entry.starts_with(&head_of(key, code)).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, symlink};

    struct Place {
        path: PathBuf,
    }

    impl Place {
        fn new(name: &str) -> Place {
            let name = format!("cgibridge-wasm-{name}-{}", std::process::id());
            Place { path: std::env::temp_dir().join(name) }
        }
        fn cache(&self) -> Cache {
            Cache::open(&self.path, None).unwrap()
        }
        fn entry(&self, key: &Key) -> PathBuf {
            self.path.join(key.file_name())
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }

    const KEY: Key = Key([7; DIGEST]);
    const CODE: &[u8] = &[3; 1000];

    #[test]
    fn gives_back_what_was_stored() {
        let place = Place::new("stored");
        let cache = place.cache();
        assert_eq!(cache.load(&KEY), Ok(None));
        assert!(cache.store(&KEY, CODE));
        assert_eq!(cache.load(&KEY), Ok(Some(CODE.to_vec())));
        assert_eq!(cache.load(&Key([8; DIGEST])), Ok(None));
        assert_eq!(std::fs::read_dir(&place.path).unwrap().count(), 1);
    }

    #[test]
    fn loads_no_entry_that_is_cut_or_changed() {
        let place = Place::new("changed");
        let cache = place.cache();
        cache.store(&KEY, CODE);
        let path = place.entry(&KEY);
        let good = std::fs::read(&path).unwrap();
        for end in (0..good.len()).step_by(13) {
            std::fs::write(&path, &good[..end]).unwrap();
            assert!(cache.load(&KEY).is_err(), "cut at {end}");
        }
        for at in (0..good.len()).step_by(7) {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            std::fs::write(&path, &bad).unwrap();
            assert!(cache.load(&KEY).is_err(), "changed at {at}");
        }
        std::fs::write(&path, [&good[..], b"more"].concat()).unwrap();
        assert!(cache.load(&KEY).is_err());
    }

    #[test]
    fn loads_no_entry_of_another_key() {
        let place = Place::new("other");
        let cache = place.cache();
        cache.store(&Key([8; DIGEST]), CODE);
        std::fs::rename(place.entry(&Key([8; DIGEST])), place.entry(&KEY)).unwrap();
        assert!(cache.load(&KEY).unwrap_err().contains("damaged"));
    }

    #[test]
    fn loads_nothing_that_others_can_change() {
        let place = Place::new("others");
        let cache = place.cache();
        cache.store(&KEY, CODE);
        let path = place.entry(&KEY);
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };
        mode(&path, 0o664);
        assert!(cache.load(&KEY).unwrap_err().contains("others may write"));
        mode(&path, 0o644);
        assert!(cache.load(&KEY).is_ok());
        mode(&place.path, 0o777);
        assert!(Cache::open(&place.path, None).is_err());
        mode(&place.path, 0o755);
        let aside = place.path.join("aside");
        std::fs::rename(&path, &aside).unwrap();
        symlink(&aside, &path).unwrap();
        assert!(cache.load(&KEY).is_err());
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(cache.load(&KEY).is_err());
    }

    #[test]
    fn trusts_the_owner_whom_the_bridge_names() {
        let place = Place::new("owner");
        let cache = place.cache();
        cache.store(&KEY, CODE);
        if chown(place.entry(&KEY), Some(12345), None).is_err() {
            return; // only root can give a file away
        }
        assert!(cache.load(&KEY).unwrap_err().contains("12345"));
        assert!(Cache::open(&place.path, Some(12345)).unwrap().load(&KEY).is_ok());
    }

    #[test]
    fn keeps_two_from_compiling_at_once() {
        let place = Place::new("lock");
        let (one, two) = (place.cache(), place.cache());
        let lock = one.lock(Patience::Waits);
        assert!(lock.is_some() && two.lock(Patience::DoesNot).is_none());
        drop(lock);
        assert!(two.lock(Patience::DoesNot).is_some());
    }
}
