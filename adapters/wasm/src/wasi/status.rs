//! What a file is, in WASI's form (filestat, filetype), and times that it is given.

use super::errno::{Done, Errno};
use super::memory::Guest;

pub const UNKNOWN: u8 = 0;
pub const CHARACTER_DEVICE: u8 = 2;
pub const FOLDER: u8 = 3;

/// Of st_mode.
pub fn file_type(mode: u32) -> u8 {
    match mode & libc::S_IFMT {
        libc::S_IFBLK => 1,
        libc::S_IFCHR => CHARACTER_DEVICE,
        libc::S_IFDIR => FOLDER,
        libc::S_IFREG => 4,
        libc::S_IFSOCK => 6,
        libc::S_IFLNK => 7,
        _ => UNKNOWN,
    }
}

pub fn status_of(fd: i32) -> Done<libc::stat> {
    let mut status = std::mem::MaybeUninit::uninit();
    super::checked(unsafe { libc::fstat(fd, status.as_mut_ptr()) })?;
    Ok(unsafe { status.assume_init() })
}

pub fn put(guest: &mut Guest, to: u32, status: &libc::stat) -> Done<()> {
    let nanoseconds = |seconds: i64, more: i64| {
        (seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(more as u64)
    };
    let mut bytes = [0; 64];
    let mut set = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    set(0, status.st_dev);
    set(8, status.st_ino);
    set(16, file_type(status.st_mode).into());
    set(24, status.st_nlink);
    set(32, status.st_size as u64);
    set(40, nanoseconds(status.st_atime, status.st_atime_nsec));
    set(48, nanoseconds(status.st_mtime, status.st_mtime_nsec));
    set(56, nanoseconds(status.st_ctime, status.st_ctime_nsec));
    guest.put(to, &bytes)
}

/// Of a stream only its kind is told: pipes have numbers, which differ between processes.
pub fn put_stream(guest: &mut Guest, to: u32, status: &libc::stat) -> Done<()> {
    let mut bytes = [0; 64];
    bytes[16] = file_type(status.st_mode);
    guest.put(to, &bytes)
}

/// fst_flags: which of the times are set, and which of them to the present.
pub fn times(accessed: u64, modified: u64, which: u32) -> Done<[libc::timespec; 2]> {
    const BOTH: [u32; 2] = [0b0011, 0b1100];
    if BOTH.iter().any(|both| which & both == *both) || which >= 16 {
        return Err(Errno::INVAL);
    }
    let time = |value: u64, set: u32, now: u32| libc::timespec {
        tv_sec: (value / 1_000_000_000) as i64,
        tv_nsec: match which {
            _ if which & now != 0 => libc::UTIME_NOW,
            _ if which & set != 0 => (value % 1_000_000_000) as i64,
            _ => libc::UTIME_OMIT,
        },
    };
    Ok([time(accessed, 1, 2), time(modified, 4, 8)])
}

/// Of what was found by a path, not opened.
pub fn set_times_of(fd: i32, times: &[libc::timespec; 2]) -> Done<()> {
    let flags = libc::AT_EMPTY_PATH;
    super::checked(unsafe { libc::utimensat(fd, c"".as_ptr(), times.as_ptr(), flags) }).map(drop)
}
