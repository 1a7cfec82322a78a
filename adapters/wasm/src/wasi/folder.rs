//! The entries of a folder, as fd_readdir tells them.

use std::ffi::{CStr, CString};
use std::os::fd::RawFd;

use super::errno::{Done, Errno};
use super::status;

pub struct Entry {
    pub name: Vec<u8>,
    pub inode: u64,
    pub file_type: u8,
}

impl Entry {
    /// WASI's dirent, and the name. next: the cookie of the entry after it.
    pub fn bytes(&self, next: u64) -> Vec<u8> {
        let mut bytes = vec![0; 24];
        bytes[..8].copy_from_slice(&next.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.inode.to_le_bytes());
        bytes[16..20].copy_from_slice(&(self.name.len() as u32).to_le_bytes());
        bytes[20] = self.file_type;
        bytes.extend_from_slice(&self.name);
        bytes
    }
}

pub type Listing = Vec<Entry>;

/// A folder with more is not listed.
const ENTRIES_MAX: usize = 1 << 20;

/// "." and "..", then the others as the kernel has them.
pub fn list(folder: RawFd) -> Done<Listing> {
    let own = status::status_of(folder)?.st_ino;
    // What is above a folder is none of the module's business.
    let of = |name: &[u8]| Entry { name: name.to_vec(), inode: own, file_type: status::FOLDER };
    let mut listing = vec![of(b"."), of(b"..")];
    let stream = open(folder)?;
    let read = read_into(stream, &mut listing);
    unsafe { libc::closedir(stream) };
    read.map(|()| listing)
}

fn open(folder: RawFd) -> Done<*mut libc::DIR> {
    let here = CString::from(c".");
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    let fd = super::checked(unsafe { libc::openat(folder, here.as_ptr(), flags) })? as RawFd;
    let stream = unsafe { libc::fdopendir(fd) };
    if stream.is_null() {
        let errno = Errno::last();
        unsafe { libc::close(fd) };
        return Err(errno);
    }
    Ok(stream)
}

fn read_into(stream: *mut libc::DIR, listing: &mut Listing) -> Done<()> {
    loop {
        let entry = unsafe { libc::readdir(stream) };
        if entry.is_null() {
            return Ok(());
        }
        let (entry, name) =
            unsafe { (&*entry, CStr::from_ptr((*entry).d_name.as_ptr()).to_bytes()) };
        if name == b"." || name == b".." {
            continue;
        }
        if listing.len() == ENTRIES_MAX {
            return Err(Errno::OVERFLOW);
        }
        let file_type = status::file_type(u32::from(entry.d_type) << 12);
        listing.push(Entry { name: name.to_vec(), inode: entry.d_ino, file_type });
    }
}
