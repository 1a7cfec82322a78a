//! The module's descriptors: small numbers, which stand for descriptors of this process that it
//! never sees. They begin with 0, 1 and 2, then the folders, in the same order in each request.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use super::errno::{Done, Errno};
use super::folder::Listing;
use crate::options::{text, Folder};

/// At once; the lowest free number is given.
const OPEN_MAX: usize = 512;

pub enum Kind {
    /// 0, 1 and 2, which are the process's.
    Stream(RawFd),
    File(File),
    Folder {
        file: File,
        /// Of one that was given; other folders have been opened by the module.
        name: Option<Vec<u8>>,
        /// Read at the first look, and from then on for all cookies.
        listing: Option<Listing>,
    },
}

pub struct Descriptor {
    pub kind: Kind,
    /// It, and all below it, may not be changed.
    pub read_only: bool,
    /// Reads and writes do not wait. Not set in the kernel, where whoever shares a pipe would have it.
    pub nonblocking: bool,
    /// What the module asked for as it opened it.
    pub rights: Rights,
}

/// Bits of WASI's fdflags.
pub mod flag {
    pub const APPEND: u32 = 1;
    pub const DSYNC: u32 = 2;
    pub const NONBLOCK: u32 = 4;
    pub const RSYNC: u32 = 8;
    pub const SYNC: u32 = 16;
}

/// Bits that WASI calls rights: what a descriptor is good for.
#[derive(Clone, Copy)]
pub struct Rights {
    pub base: u64,
    pub inheriting: u64,
}

impl Rights {
    pub const FD_READ: u64 = 1 << 1;
    pub const FD_SEEK: u64 = 1 << 2;
    pub const FD_TELL: u64 = 1 << 5;
    pub const FD_WRITE: u64 = 1 << 6;
    pub const PATH_FILESTAT_SET_SIZE: u64 = 1 << 19;
    const FD_FILESTAT_SET_SIZE: u64 = 1 << 22;
    pub const ALL: u64 = (1 << 30) - 1;
    /// What only files are good for.
    const OF_FILES: u64 =
        Self::FD_READ | Self::FD_WRITE | Self::FD_SEEK | Self::FD_TELL | Self::FD_FILESTAT_SET_SIZE;
    const STREAM: Rights = Rights { base: Self::ALL, inheriting: 0 };
    /// What a terminal is not good for.
    pub const SEEKS: u64 = Self::FD_SEEK | Self::FD_TELL;
    pub const WHOLE: Rights = Rights { base: Self::ALL, inheriting: Self::ALL };
}

#[derive(Default)]
pub struct Descriptors {
    table: Vec<Option<Descriptor>>,
}

impl Descriptors {
    pub fn new(folders: &[Folder]) -> Result<Descriptors, String> {
        let mut descriptors = Descriptors::default();
        for fd in 0..=2 {
            descriptors.table.push(Some(Descriptor::of(Kind::Stream(fd), Rights::STREAM)));
        }
        for folder in folders {
            let file = std::fs::OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_DIRECTORY | libc::O_PATH)
                .open(&folder.path)
                .map_err(|error| {
                    format!(
                        "wasm.dirs: {} = {}: {error}",
                        text(&folder.name),
                        folder.path.display()
                    )
                })?;
            let kind = Kind::Folder { file, name: Some(folder.name.clone()), listing: None };
            let mut descriptor = Descriptor::of(kind, Rights::WHOLE);
            descriptor.read_only = folder.read_only;
            descriptors.table.push(Some(descriptor));
        }
        Ok(descriptors)
    }

    pub fn get(&mut self, fd: u32) -> Done<&mut Descriptor> {
        self.table.get_mut(fd as usize).and_then(Option::as_mut).ok_or(Errno::BADF)
    }

    pub fn add(&mut self, descriptor: Descriptor) -> Done<u32> {
        let free = self.table.iter().position(Option::is_none).unwrap_or(self.table.len());
        if free >= OPEN_MAX {
            return Err(Errno::MFILE);
        }
        if free == self.table.len() {
            self.table.push(None);
        }
        self.table[free] = Some(descriptor);
        Ok(free as u32)
    }

    pub fn close(&mut self, fd: u32) -> Done<()> {
        self.get(fd)?;
        let closed = self.table[fd as usize].take();
        if let Some(Descriptor { kind: Kind::Stream(stream), .. }) = closed {
            // Its reader sees the end, as of any program's.
            unsafe { libc::close(stream) };
        }
        Ok(())
    }

    /// `to` becomes `from`, which is then closed.
    pub fn renumber(&mut self, from: u32, to: u32) -> Done<()> {
        self.get(from)?;
        self.get(to)?;
        if from != to {
            self.close(to)?;
            self.table[to as usize] = self.table[from as usize].take();
        }
        Ok(())
    }
}

impl Descriptor {
    pub fn of(kind: Kind, mut rights: Rights) -> Descriptor {
        if let Kind::Folder { .. } = kind {
            rights.base &= !Rights::OF_FILES;
        }
        Descriptor { kind, read_only: false, nonblocking: false, rights }
    }

    pub fn raw(&self) -> RawFd {
        match &self.kind {
            Kind::Stream(fd) => *fd,
            Kind::File(file) | Kind::Folder { file, .. } => file.as_raw_fd(),
        }
    }

    /// For what only files and streams can do.
    pub fn not_folder(&self, otherwise: Errno) -> Done<RawFd> {
        match self.kind {
            Kind::Folder { .. } => Err(otherwise),
            _ => Ok(self.raw()),
        }
    }

    pub fn file(&self) -> Done<RawFd> {
        match self.kind {
            Kind::File(_) => Ok(self.raw()),
            Kind::Stream(_) => Err(Errno::SPIPE),
            Kind::Folder { .. } => Err(Errno::BADF),
        }
    }

    pub fn folder(&self) -> Done<RawFd> {
        match self.kind {
            Kind::Folder { .. } => Ok(self.raw()),
            _ => Err(Errno::NOTDIR),
        }
    }

    /// For what the module has not asked for, or has given up since.
    pub fn check_right(&self, right: u64) -> Done<()> {
        if self.rights.base & right == 0 {
            return Err(Errno::NOTCAPABLE);
        }
        Ok(())
    }

    /// ROFS for who wants to change something where only reading is allowed.
    pub fn check_writable(&self) -> Done<()> {
        if self.read_only {
            return Err(Errno::ROFS);
        }
        Ok(())
    }
}
