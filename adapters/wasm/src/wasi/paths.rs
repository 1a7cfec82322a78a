//! Functions on paths: path_*. No path leads out of the folder that it is relative to, whatever
//! links there are and whoever changes them meanwhile: the kernel resolves it (openat2(2),
//! RESOLVE_BENEATH), up to the last part for what makes, moves and removes, which never follows a
//! link there. Where the kernel cannot, nothing is opened.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

use super::descriptors::{flag, Descriptor, Kind, Rights};
use super::errno::{Done, Errno};
use super::memory::Guest;
use super::{checked, status, State};

/// A bit of lookupflags.
const FOLLOW: u32 = 1;
/// The kernel's own limit.
const PATH_MAX: u32 = 4096;
/// A path is resolved again if a folder was moved meanwhile.
const TRIES_MAX: u32 = 32;

// Bits of oflags.
const CREATE: u32 = 1;
const FOLDER: u32 = 2;
const EXCLUSIVE: u32 = 4;
const TRUNCATE: u32 = 8;

// ---- opening ----

pub fn path_open(
    guest: &mut Guest,
    state: &mut State,
    fd: u32,
    follow: u32,
    at: u32,
    length: u32,
    how: u32,
    rights: u64,
    inheriting: u64,
    flags: u32,
    to: u32,
) -> Done<()> {
    let path = path(guest, at, length)?;
    guest.read(to, 4)?; // or the number of what was opened would be lost
    let parent = state.descriptors.get(fd)?;
    let folder = parent.folder()?;
    let writes = rights & Rights::FD_WRITE != 0;
    if writes || how & (CREATE | TRUNCATE) != 0 {
        parent.check_writable()?;
    }
    if how & TRUNCATE != 0 {
        parent.check_right(Rights::PATH_FILESTAT_SET_SIZE)?;
    }
    if how & CREATE != 0 && how & FOLDER != 0 {
        return Err(Errno::INVAL);
    }
    let read_only = parent.read_only;
    let granted = Rights {
        base: rights & (parent.rights.base | parent.rights.inheriting),
        inheriting: inheriting & parent.rights.inheriting,
    };
    let flags_wanted = open_flags(how, writes, reads(rights, writes), flags)
        | if follow & FOLLOW == 0 { libc::O_NOFOLLOW } else { 0 };
    let mode = if how & CREATE != 0 { 0o666 } else { 0 };
    let file = open(folder, &path, flags_wanted, mode)?;
    let kind = match status::file_type(status::status_of(file.as_raw_fd())?.st_mode) {
        status::FOLDER => Kind::Folder { file, name: None, listing: None },
        4 => Kind::File(file),
        _ => return Err(Errno::ACCES), // devices and pipes are not for modules
    };
    let mut descriptor = Descriptor::of(kind, granted);
    descriptor.read_only = read_only;
    descriptor.nonblocking = flags & flag::NONBLOCK != 0;
    let number = state.descriptors.add(descriptor)?;
    guest.put_u32(to, number)
}

/// Whoever asks for neither can at least read, as open(2) has it.
fn reads(rights: u64, writes: bool) -> bool {
    rights & Rights::FD_READ != 0 || !writes
}

fn open_flags(how: u32, writes: bool, reads: bool, flags: u32) -> i32 {
    let mut linux = match (reads, writes) {
        (_, false) => libc::O_RDONLY,
        (false, true) => libc::O_WRONLY,
        (true, true) => libc::O_RDWR,
    };
    let mut set = |is_set: bool, flag: i32| linux |= if is_set { flag } else { 0 };
    set(how & CREATE != 0, libc::O_CREAT);
    set(how & FOLDER != 0, libc::O_DIRECTORY);
    set(how & EXCLUSIVE != 0, libc::O_EXCL);
    set(how & TRUNCATE != 0, libc::O_TRUNC);
    set(flags & flag::APPEND != 0, libc::O_APPEND);
    set(flags & flag::DSYNC != 0, libc::O_DSYNC);
    set(flags & (flag::SYNC | flag::RSYNC) != 0, libc::O_SYNC);
    linux | libc::O_NONBLOCK | libc::O_NOCTTY
}

#[repr(C)]
struct How {
    flags: u64,
    mode: u64,
    resolve: u64,
}

const RESOLVE_NO_MAGICLINKS: u64 = 0x02;
const RESOLVE_BENEATH: u64 = 0x08;

/// EXDEV, from a path that leads out, is PERM.
fn open(folder: RawFd, path: &CStr, flags: i32, mode: u64) -> Done<File> {
    let how = How {
        flags: (flags | libc::O_CLOEXEC) as u64,
        mode,
        resolve: RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    for _ in 0..TRIES_MAX {
        let size = std::mem::size_of::<How>();
        let opened = unsafe {
            libc::syscall(libc::SYS_openat2, folder, path.as_ptr(), &raw const how, size)
        };
        match checked(opened) {
            Ok(fd) => return Ok(unsafe { File::from_raw_fd(fd as RawFd) }),
            Err(Errno::AGAIN) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::AGAIN)
}

/// A thing itself, without opening it.
fn find(folder: RawFd, path: &CStr, follow: u32) -> Done<File> {
    let nofollow = if follow & FOLLOW == 0 { libc::O_NOFOLLOW } else { 0 };
    open(folder, path, libc::O_PATH | nofollow, 0)
}

// ---- paths ----

fn path(guest: &Guest, at: u32, length: u32) -> Done<CString> {
    let bytes = guest.read(at, length)?;
    if length >= PATH_MAX {
        return Err(Errno::NAMETOOLONG);
    }
    if bytes.is_empty() {
        return Err(Errno::NOENT);
    }
    if std::str::from_utf8(bytes).is_err() {
        return Err(Errno::ILSEQ);
    }
    CString::new(bytes).map_err(|_| Errno::INVAL)
}

/// The folder of a path's last part, and that part. `at_itself`: what a path that ends in "." or
/// ".." fails with, as it is never followed there.
struct Place {
    folder: RawFd,
    name: CString,
    /// Keeps the folder open, unless it is the one that the path is relative to.
    _opened: Option<File>,
}

fn place(folder: RawFd, path: &CStr, at_itself: Errno) -> Done<Place> {
    let bytes = path.to_bytes();
    let trimmed = bytes.trim_ascii_end_of(b'/');
    let start = trimmed.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    if matches!(&trimmed[start..], b"" | b"." | b"..") {
        return Err(if bytes.starts_with(b"/") { Errno::PERM } else { at_itself });
    }
    if start == 0 {
        return Ok(Place { folder, name: own(bytes), _opened: None });
    }
    let flags = libc::O_PATH | libc::O_DIRECTORY;
    let opened = open(folder, &own(&bytes[..start]), flags, 0)?;
    Ok(Place { folder: opened.as_raw_fd(), name: own(&bytes[start..]), _opened: Some(opened) })
}

fn own(bytes: &[u8]) -> CString {
    CString::new(bytes).expect("it is part of a C string")
}

trait TrimEnd {
    fn trim_ascii_end_of(&self, byte: u8) -> &[u8];
}

impl TrimEnd for [u8] {
    fn trim_ascii_end_of(&self, byte: u8) -> &[u8] {
        let end = self.iter().rposition(|other| *other != byte).map_or(0, |last| last + 1);
        &self[..end]
    }
}

/// A folder in which something may be changed.
fn changed_folder(state: &mut State, fd: u32) -> Done<RawFd> {
    let descriptor = state.descriptors.get(fd)?;
    let folder = descriptor.folder()?;
    descriptor.check_writable()?;
    Ok(folder)
}

// ---- looking ----

pub fn path_filestat_get(
    guest: &mut Guest,
    state: &mut State,
    fd: u32,
    follow: u32,
    at: u32,
    length: u32,
    to: u32,
) -> Done<()> {
    let path = path(guest, at, length)?;
    let folder = state.descriptors.get(fd)?.folder()?;
    if let Some(status) = status_of_entry(folder, &path, follow)? {
        return status::put(guest, to, &status);
    }
    let found = find(folder, &path, follow)?;
    status::put(guest, to, &status::status_of(found.as_raw_fd())?)
}

/// By one call, of a name that leads nowhere else: one of the folder itself, and no link that is to be
/// followed. None: it has to be resolved.
fn status_of_entry(folder: RawFd, path: &CStr, follow: u32) -> Done<Option<libc::stat>> {
    let name = path.to_bytes();
    if name == b"." || name == b".." || name.contains(&b'/') {
        return Ok(None);
    }
    let mut status = std::mem::MaybeUninit::uninit();
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    checked(unsafe { libc::fstatat(folder, path.as_ptr(), status.as_mut_ptr(), flags) })?;
    let status = unsafe { status.assume_init() };
    let is_link = status.st_mode & libc::S_IFMT == libc::S_IFLNK;
    Ok((follow & FOLLOW == 0 || !is_link).then_some(status))
}

/// What a link says, cut to the buffer.
pub fn path_readlink(
    guest: &mut Guest,
    state: &mut State,
    fd: u32,
    at: u32,
    length: u32,
    to: u32,
    to_length: u32,
    used: u32,
) -> Done<()> {
    let path = path(guest, at, length)?;
    let link = find(state.descriptors.get(fd)?.folder()?, &path, 0)?;
    let buffer = guest.at(to, to_length)?;
    if buffer.is_empty() {
        return guest.put_u32(used, 0);
    }
    let (first, most) = (buffer.as_mut_ptr().cast(), buffer.len());
    let read = unsafe { libc::readlinkat(link.as_raw_fd(), c"".as_ptr(), first, most) };
    let read = match checked(read as i64) {
        // What is no link says so with this one if it was found by a descriptor.
        Err(Errno::NOENT) => Err(Errno::INVAL),
        other => other,
    }?;
    guest.put_u32(used, read as u32)
}

// ---- changing ----

pub fn path_filestat_set_times(
    guest: &mut Guest,
    state: &mut State,
    fd: u32,
    follow: u32,
    at: u32,
    length: u32,
    accessed: u64,
    modified: u64,
    which: u32,
) -> Done<()> {
    let path = path(guest, at, length)?;
    let times = status::times(accessed, modified, which)?;
    let found = find(changed_folder(state, fd)?, &path, follow)?;
    status::set_times_of(found.as_raw_fd(), &times)
}

pub fn path_create_directory(
    guest: &mut Guest,
    state: &mut State,
    fd: u32,
    at: u32,
    length: u32,
) -> Done<()> {
    let path = path(guest, at, length)?;
    let place = place(changed_folder(state, fd)?, &path, Errno::EXIST)?;
    checked(unsafe { libc::mkdirat(place.folder, place.name.as_ptr(), 0o777) }).map(drop)
}

pub fn path_remove_directory(
    guest: &mut Guest,
    state: &mut State,
    fd: u32,
    at: u32,
    length: u32,
) -> Done<()> {
    let path = path(guest, at, length)?;
    remove(changed_folder(state, fd)?, &path, libc::AT_REMOVEDIR, Errno::NOTEMPTY)
}

pub fn path_unlink_file(
    guest: &mut Guest,
    state: &mut State,
    fd: u32,
    at: u32,
    length: u32,
) -> Done<()> {
    let path = path(guest, at, length)?;
    remove(changed_folder(state, fd)?, &path, 0, Errno::ISDIR)
}

fn remove(folder: RawFd, path: &CStr, flags: i32, at_itself: Errno) -> Done<()> {
    let place = place(folder, path, at_itself)?;
    checked(unsafe { libc::unlinkat(place.folder, place.name.as_ptr(), flags) }).map(drop)
}

pub fn path_rename(
    guest: &mut Guest,
    state: &mut State,
    fd: u32,
    at: u32,
    length: u32,
    new_fd: u32,
    new_at: u32,
    new_length: u32,
) -> Done<()> {
    let (from, to) = (path(guest, at, length)?, path(guest, new_at, new_length)?);
    let from = place(changed_folder(state, fd)?, &from, Errno::BUSY)?;
    let to = place(changed_folder(state, new_fd)?, &to, Errno::BUSY)?;
    let (old, new) = (from.folder, to.folder);
    checked(unsafe { libc::renameat(old, from.name.as_ptr(), new, to.name.as_ptr()) }).map(drop)
}

pub fn path_link(
    guest: &mut Guest,
    state: &mut State,
    fd: u32,
    follow: u32,
    at: u32,
    length: u32,
    new_fd: u32,
    new_at: u32,
    new_length: u32,
) -> Done<()> {
    let (from, to) = (path(guest, at, length)?, path(guest, new_at, new_length)?);
    if follow & FOLLOW != 0 {
        return Err(Errno::INVAL);
    }
    // Through the other name, what may only be read could be written.
    let from = place(changed_folder(state, fd)?, &from, Errno::PERM)?;
    let to = place(changed_folder(state, new_fd)?, &to, Errno::EXIST)?;
    if from.name.to_bytes().ends_with(b"/") {
        return Err(Errno::NOTDIR); // the kernel would follow a link there
    }
    let (old, new) = (from.folder, to.folder);
    checked(unsafe { libc::linkat(old, from.name.as_ptr(), new, to.name.as_ptr(), 0) }).map(drop)
}

/// A link may say what it likes: it is never followed out of its folder from here. One that is
/// absolute could only lead others there.
pub fn path_symlink(
    guest: &mut Guest,
    state: &mut State,
    target: u32,
    target_length: u32,
    fd: u32,
    at: u32,
    length: u32,
) -> Done<()> {
    let (target, link) = (path(guest, target, target_length)?, path(guest, at, length)?);
    if target.to_bytes().starts_with(b"/") {
        return Err(Errno::PERM);
    }
    let link = place(changed_folder(state, fd)?, &link, Errno::EXIST)?;
    checked(unsafe { libc::symlinkat(target.as_ptr(), link.folder, link.name.as_ptr()) }).map(drop)
}
