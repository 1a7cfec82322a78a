//! WASI's error numbers.

pub type Done<T> = Result<T, Errno>;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errno(u16);

impl Errno {
    pub const ACCES: Errno = Errno(2);
    pub const AGAIN: Errno = Errno(6);
    pub const BADF: Errno = Errno(8);
    pub const BUSY: Errno = Errno(10);
    pub const EXIST: Errno = Errno(20);
    pub const FAULT: Errno = Errno(21);
    pub const ILSEQ: Errno = Errno(25);
    pub const INVAL: Errno = Errno(28);
    pub const IO: Errno = Errno(29);
    pub const ISDIR: Errno = Errno(31);
    pub const MFILE: Errno = Errno(33);
    pub const NAMETOOLONG: Errno = Errno(37);
    pub const NOENT: Errno = Errno(44);
    pub const NOTCAPABLE: Errno = Errno(76);
    pub const NOTDIR: Errno = Errno(54);
    pub const NOTEMPTY: Errno = Errno(55);
    pub const NOTSOCK: Errno = Errno(57);
    pub const NOTSUP: Errno = Errno(58);
    pub const OVERFLOW: Errno = Errno(61);
    pub const PERM: Errno = Errno(63);
    pub const PIPE: Errno = Errno(64);
    pub const ROFS: Errno = Errno(69);
    pub const SPIPE: Errno = Errno(70);

    pub fn code(self) -> i32 {
        self.0.into()
    }

    /// errno of this thread.
    pub fn last() -> Errno {
        Errno::of(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
    }

    /// Only what files, folders, pipes and clocks can fail with has a number of its own.
    pub fn of(linux: i32) -> Errno {
        match TABLE.iter().find(|(number, _)| *number == linux) {
            Some((_, errno)) => Errno(*errno),
            None => Errno::IO,
        }
    }
}

/// Linux's number, WASI's.
const TABLE: [(i32, u16); 42] = [
    (libc::E2BIG, 1),
    (libc::EACCES, 2),
    (libc::EAGAIN, 6),
    (libc::EBADF, 8),
    (libc::EBUSY, 10),
    (libc::ECONNRESET, 15),
    (libc::EDEADLK, 16),
    (libc::EDQUOT, 19),
    (libc::EEXIST, 20),
    (libc::EFAULT, 21),
    (libc::EFBIG, 22),
    (libc::EILSEQ, 25),
    (libc::EINTR, 27),
    (libc::EINVAL, 28),
    (libc::EIO, 29),
    (libc::EISDIR, 31),
    (libc::ELOOP, 32),
    (libc::EMFILE, 33),
    (libc::EMLINK, 34),
    (libc::ENAMETOOLONG, 37),
    (libc::ENFILE, 41),
    (libc::ENODEV, 43),
    (libc::ENOENT, 44),
    (libc::ENOLCK, 46),
    (libc::ENOMEM, 48),
    (libc::ENOSPC, 51),
    (libc::ENOSYS, 58), // a kernel without a call: not supported
    (libc::ENOTDIR, 54),
    (libc::ENOTEMPTY, 55),
    (libc::ENOTSUP, 58),
    (libc::ENOTTY, 59),
    (libc::ENXIO, 60),
    (libc::EOVERFLOW, 61),
    (libc::EPERM, 63),
    (libc::EPIPE, 64),
    (libc::ERANGE, 68),
    (libc::EROFS, 69),
    (libc::ESPIPE, 70),
    (libc::ESTALE, 72),
    (libc::ETIMEDOUT, 73),
    (libc::ETXTBSY, 74),
    // A path that leads out of its folder (openat2(2)), or to another file system.
    (libc::EXDEV, 63),
];
