//! Functions on descriptors: fd_*.

use std::os::fd::RawFd;

use super::descriptors::{flag, Descriptor, Kind, Rights};
use super::errno::{Done, Errno};
use super::memory::Guest;
use super::{checked, ending, folder, poll, status, State};

// ---- reading and writing ----

pub fn fd_read(
    guest: &mut Guest,
    state: &mut State,
    fd: u32,
    list: u32,
    count: u32,
    to: u32,
) -> Done<()> {
    let descriptor = state.descriptors.get(fd)?;
    let raw = descriptor.not_folder(Errno::ISDIR)?;
    descriptor.check_right(Rights::FD_READ)?;
    let pieces = guest.pieces(list, count)?;
    let done = transfer(descriptor, libc::POLLIN, || unsafe {
        libc::readv(raw, pieces.as_ptr(), pieces.len() as i32)
    })?;
    guest.put_u32(to, done)
}

pub fn fd_write(
    guest: &mut Guest,
    state: &mut State,
    fd: u32,
    list: u32,
    count: u32,
    to: u32,
) -> Done<()> {
    let descriptor = state.descriptors.get(fd)?;
    let raw = descriptor.not_folder(Errno::BADF)?;
    descriptor.check_right(Rights::FD_WRITE)?;
    let pieces = guest.pieces(list, count)?;
    let done = transfer(descriptor, libc::POLLOUT, || unsafe {
        libc::writev(raw, pieces.as_ptr(), pieces.len() as i32)
    });
    let done = match done {
        Err(Errno::PIPE) => {
            state.unheard += 1;
            pieces.iter().map(|piece| piece.iov_len as u32).fold(0, u32::saturating_add)
        }
        done => done?,
    };
    guest.put_u32(to, done)
}

pub fn fd_pread(
    guest: &mut Guest,
    state: &mut State,
    fd: u32,
    list: u32,
    count: u32,
    offset: u64,
    to: u32,
) -> Done<()> {
    let raw = file_for(state, fd, Rights::FD_READ)?;
    let done = transfer_at(libc::preadv, raw, guest.pieces(list, count)?, offset)?;
    guest.put_u32(to, done)
}

pub fn fd_pwrite(
    guest: &mut Guest,
    state: &mut State,
    fd: u32,
    list: u32,
    count: u32,
    offset: u64,
    to: u32,
) -> Done<()> {
    let raw = file_for(state, fd, Rights::FD_WRITE)?;
    let done = transfer_at(libc::pwritev, raw, guest.pieces(list, count)?, offset)?;
    guest.put_u32(to, done)
}

fn file_for(state: &mut State, fd: u32, right: u64) -> Done<RawFd> {
    let descriptor = state.descriptors.get(fd)?;
    let raw = descriptor.file()?;
    descriptor.check_right(right)?;
    Ok(raw)
}

type CallAt = unsafe extern "C" fn(RawFd, *const libc::iovec, i32, i64) -> isize;

fn transfer_at(call: CallAt, raw: RawFd, pieces: Vec<libc::iovec>, offset: u64) -> Done<u32> {
    let (first, number) = (pieces.as_ptr(), pieces.len() as i32);
    let done = checked(unsafe { call(raw, first, number, place(offset)?) } as i64)?;
    Ok(done as u32)
}

/// A stream may not block although the module waits for it: whoever shares it can have said so.
fn transfer(descriptor: &Descriptor, event: i16, call: impl Fn() -> isize) -> Done<u32> {
    loop {
        if ending::was_asked() && matches!(descriptor.kind, Kind::Stream(_)) {
            return if event == libc::POLLIN { Ok(0) } else { Err(Errno::PIPE) };
        }
        if descriptor.nonblocking && !poll::is_ready(descriptor.raw(), event)? {
            return Err(Errno::AGAIN);
        }
        match checked(call() as i64) {
            Ok(done) => return Ok(done as u32),
            Err(errno) if errno == Errno::of(libc::EINTR) => {}
            Err(Errno::AGAIN) => poll::wait_for(descriptor.raw(), event)?,
            Err(errno) => return Err(errno),
        }
    }
}

fn place(offset: u64) -> Done<i64> {
    i64::try_from(offset).map_err(|_| Errno::INVAL)
}

// ---- the place in a file ----

pub fn fd_seek(
    guest: &mut Guest,
    state: &mut State,
    fd: u32,
    offset: i64,
    whence: u32,
    to: u32,
) -> Done<()> {
    let raw = state.descriptors.get(fd)?.file()?;
    let whence = match whence {
        0 => libc::SEEK_SET,
        1 => libc::SEEK_CUR,
        2 => libc::SEEK_END,
        _ => return Err(Errno::INVAL),
    };
    let place = checked(unsafe { libc::lseek(raw, offset, whence) })?;
    guest.put_u64(to, place as u64)
}

pub fn fd_tell(guest: &mut Guest, state: &mut State, fd: u32, to: u32) -> Done<()> {
    fd_seek(guest, state, fd, 0, 1, to)
}

// ---- what a descriptor is ----

pub fn fd_fdstat_get(guest: &mut Guest, state: &mut State, fd: u32, to: u32) -> Done<()> {
    let descriptor = state.descriptors.get(fd)?;
    let mode = status::status_of(descriptor.raw())?.st_mode;
    let mut bytes = [0; 24];
    bytes[0] = status::file_type(mode);
    bytes[2..4].copy_from_slice(&flags_of(descriptor)?.to_le_bytes());
    bytes[8..16].copy_from_slice(&rights_of(descriptor, mode).to_le_bytes());
    bytes[16..24].copy_from_slice(&descriptor.rights.inheriting.to_le_bytes());
    guest.put(to, &bytes)
}

/// A C library takes what cannot seek, and is a character device, for a terminal, and writes each
/// line by itself.
fn rights_of(descriptor: &Descriptor, mode: u32) -> u64 {
    let is_device = mode & libc::S_IFMT == libc::S_IFCHR;
    let is_terminal = is_device && unsafe { libc::isatty(descriptor.raw()) } == 1;
    descriptor.rights.base & if is_terminal { !Rights::SEEKS } else { Rights::ALL }
}

fn flags_of(descriptor: &Descriptor) -> Done<u16> {
    let mut flags = if descriptor.nonblocking { flag::NONBLOCK } else { 0 };
    if let Kind::File(_) = descriptor.kind {
        let set = checked(unsafe { libc::fcntl(descriptor.raw(), libc::F_GETFL) })? as i32;
        for (linux, wasi) in [
            (libc::O_APPEND, flag::APPEND),
            (libc::O_DSYNC, flag::DSYNC),
            (libc::O_SYNC, flag::SYNC),
        ] {
            if set & linux == linux {
                flags |= wasi;
            }
        }
    }
    Ok(flags as u16)
}

pub fn fd_fdstat_set_flags(_guest: &mut Guest, state: &mut State, fd: u32, flags: u32) -> Done<()> {
    let descriptor = state.descriptors.get(fd)?;
    if flags & !(flag::APPEND | flag::NONBLOCK) != 0 {
        return Err(Errno::INVAL); // the kernel sets the others only as a file is opened
    }
    descriptor.nonblocking = flags & flag::NONBLOCK != 0;
    if let Kind::File(_) = descriptor.kind {
        let append = if flags & flag::APPEND != 0 { libc::O_APPEND } else { 0 };
        let raw = descriptor.raw();
        let now = checked(unsafe { libc::fcntl(raw, libc::F_GETFL) })? as i32;
        checked(unsafe { libc::fcntl(raw, libc::F_SETFL, now & !libc::O_APPEND | append) })?;
    }
    Ok(())
}

/// Rights can only be given up.
pub fn fd_fdstat_set_rights(
    _guest: &mut Guest,
    state: &mut State,
    fd: u32,
    base: u64,
    inheriting: u64,
) -> Done<()> {
    let rights = &mut state.descriptors.get(fd)?.rights;
    if base & !rights.base != 0 || inheriting & !rights.inheriting != 0 {
        return Err(Errno::NOTCAPABLE);
    }
    (rights.base, rights.inheriting) = (base, inheriting);
    Ok(())
}

pub fn fd_filestat_get(guest: &mut Guest, state: &mut State, fd: u32, to: u32) -> Done<()> {
    let descriptor = state.descriptors.get(fd)?;
    let found = status::status_of(descriptor.raw())?;
    match descriptor.kind {
        Kind::Stream(_) => status::put_stream(guest, to, &found),
        _ => status::put(guest, to, &found),
    }
}

pub fn fd_prestat_get(guest: &mut Guest, state: &mut State, fd: u32, to: u32) -> Done<()> {
    let length = given_name(state, fd)?.len() as u32;
    guest.put_u32(to, 0)?; // a folder
    guest.put_u32(Guest::end(to, 4)?, length)
}

pub fn fd_prestat_dir_name(
    guest: &mut Guest,
    state: &mut State,
    fd: u32,
    at: u32,
    length: u32,
) -> Done<()> {
    let name = given_name(state, fd)?;
    if (length as usize) < name.len() {
        return Err(Errno::NAMETOOLONG);
    }
    guest.put(at, name)
}

fn given_name(state: &mut State, fd: u32) -> Done<&[u8]> {
    match &state.descriptors.get(fd)?.kind {
        Kind::Folder { name: Some(name), .. } => Ok(name),
        _ => Err(Errno::BADF),
    }
}

// ---- changing a file ----

pub fn fd_advise(
    _guest: &mut Guest,
    state: &mut State,
    fd: u32,
    offset: u64,
    length: u64,
    advice: u32,
) -> Done<()> {
    let raw = state.descriptors.get(fd)?.file()?;
    const ADVICES: [i32; 6] = [
        libc::POSIX_FADV_NORMAL,
        libc::POSIX_FADV_SEQUENTIAL,
        libc::POSIX_FADV_RANDOM,
        libc::POSIX_FADV_WILLNEED,
        libc::POSIX_FADV_DONTNEED,
        libc::POSIX_FADV_NOREUSE,
    ];
    let advice = *ADVICES.get(advice as usize).ok_or(Errno::INVAL)?;
    match unsafe { libc::posix_fadvise(raw, place(offset)?, place(length)?, advice) } {
        0 => Ok(()),
        number => Err(Errno::of(number)),
    }
}

pub fn fd_allocate(
    _guest: &mut Guest,
    state: &mut State,
    fd: u32,
    offset: u64,
    length: u64,
) -> Done<()> {
    let descriptor = state.descriptors.get(fd)?;
    let raw = descriptor.file()?;
    descriptor.check_writable()?;
    checked(unsafe { libc::fallocate(raw, 0, place(offset)?, place(length)?) })?;
    Ok(())
}

pub fn fd_filestat_set_size(_guest: &mut Guest, state: &mut State, fd: u32, size: u64) -> Done<()> {
    let descriptor = state.descriptors.get(fd)?;
    let raw = descriptor.file()?;
    descriptor.check_writable()?;
    checked(unsafe { libc::ftruncate(raw, place(size)?) })?;
    Ok(())
}

pub fn fd_filestat_set_times(
    _guest: &mut Guest,
    state: &mut State,
    fd: u32,
    accessed: u64,
    modified: u64,
    which: u32,
) -> Done<()> {
    let descriptor = state.descriptors.get(fd)?;
    descriptor.check_writable()?;
    let times = status::times(accessed, modified, which)?;
    match descriptor.kind {
        Kind::Stream(_) => Err(Errno::SPIPE),
        Kind::File(_) => {
            checked(unsafe { libc::futimens(descriptor.raw(), times.as_ptr()) }).map(drop)
        }
        Kind::Folder { .. } => status::set_times_of(descriptor.raw(), &times),
    }
}

pub fn fd_datasync(_guest: &mut Guest, state: &mut State, fd: u32) -> Done<()> {
    sync(state, fd, |raw| unsafe { libc::fdatasync(raw) })
}

pub fn fd_sync(_guest: &mut Guest, state: &mut State, fd: u32) -> Done<()> {
    sync(state, fd, |raw| unsafe { libc::fsync(raw) })
}

fn sync(state: &mut State, fd: u32, call: impl Fn(RawFd) -> i32) -> Done<()> {
    let descriptor = state.descriptors.get(fd)?;
    match descriptor.kind {
        Kind::Stream(_) => Err(Errno::INVAL),
        Kind::Folder { .. } => Ok(()), // opened only as a place
        Kind::File(_) => checked(call(descriptor.raw())).map(drop),
    }
}

// ---- the table of descriptors ----

pub fn fd_close(_guest: &mut Guest, state: &mut State, fd: u32) -> Done<()> {
    state.descriptors.close(fd)
}

pub fn fd_renumber(_guest: &mut Guest, state: &mut State, from: u32, to: u32) -> Done<()> {
    state.descriptors.renumber(from, to)
}

// ---- folders ----

/// The last entry is cut if the buffer is full.
pub fn fd_readdir(
    guest: &mut Guest,
    state: &mut State,
    fd: u32,
    at: u32,
    length: u32,
    cookie: u64,
    to: u32,
) -> Done<()> {
    let descriptor = state.descriptors.get(fd)?;
    let raw = descriptor.folder()?;
    let Kind::Folder { listing, .. } = &mut descriptor.kind else { return Err(Errno::NOTDIR) };
    if cookie == 0 || listing.is_none() {
        *listing = Some(folder::list(raw)?);
    }
    let mut buffer = guest.at(at, length)?;
    let first = usize::try_from(cookie).unwrap_or(usize::MAX);
    for (n, entry) in listing.iter().flatten().enumerate().skip(first) {
        let bytes = entry.bytes(n as u64 + 1);
        let fits = bytes.len().min(buffer.len());
        let (now, rest) = buffer.split_at_mut(fits);
        now.copy_from_slice(&bytes[..fits]);
        buffer = rest;
        if buffer.is_empty() {
            break;
        }
    }
    let used = length - buffer.len() as u32;
    guest.put_u32(to, used)
}
