//! The program's standard streams: the descriptors 0, 1 and 2 of this process, without a buffer and
//! without a thread between them and the program.

use std::os::fd::RawFd;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use wasmtime_wasi::cli::{IsTerminal, StdinStream, StdoutStream};
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError};

use super::wait;
use crate::failure::Exit;

/// The most that one call reads or writes.
const PIECE_MAX: usize = 64 << 10;

/// A stream of this process; each stream that the program makes of it is the same one.
#[derive(Clone, Copy)]
pub struct Descriptor(pub RawFd);

impl IsTerminal for Descriptor {
    fn is_terminal(&self) -> bool {
        unsafe { libc::isatty(self.0) == 1 }
    }
}

impl StdinStream for Descriptor {
    fn async_stream(&self) -> Box<dyn AsyncRead + Send + Sync> {
        unreachable!("only WASI 0.3 asks for it")
    }
    fn p2_stream(&self) -> Box<dyn InputStream> {
        Box::new(*self)
    }
}

impl StdoutStream for Descriptor {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        unreachable!("only WASI 0.3 asks for it")
    }
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(Output(self.0))
    }
}

#[async_trait]
impl Pollable for Descriptor {
    async fn ready(&mut self) {
        wait::readiness(self.0, libc::POLLIN).await;
    }
}

#[async_trait]
impl InputStream for Descriptor {
    fn read(&mut self, size: usize) -> Result<Bytes, StreamError> {
        if size == 0 || !wait::is_ready(self.0, libc::POLLIN) {
            return Ok(Bytes::new());
        }
        read(self.0, size)
    }

    /// Nothing else can run meanwhile, so it waits in the read itself.
    async fn blocking_read(&mut self, size: usize) -> Result<Bytes, StreamError> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        read(self.0, size)
    }
}

struct Output(RawFd);

#[async_trait]
impl Pollable for Output {
    /// A write waits by itself: for the program it is as if there were always room.
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for Output {
    fn write(&mut self, bytes: Bytes) -> Result<(), StreamError> {
        write_all(self.0, &bytes).map_err(|error| match error.raw_os_error() {
            // Where signals are, SIGPIPE ends a program that prints for nobody.
            Some(libc::EPIPE) => StreamError::Trap(Exit(128 + libc::SIGPIPE).into()),
            _ => StreamError::LastOperationFailed(error.into()),
        })
    }

    fn flush(&mut self) -> Result<(), StreamError> {
        Ok(())
    }

    fn check_write(&mut self) -> Result<usize, StreamError> {
        Ok(PIECE_MAX)
    }
}

fn read(fd: RawFd, size: usize) -> Result<Bytes, StreamError> {
    match read_some(fd, size) {
        Ok(bytes) if bytes.is_empty() => Err(StreamError::Closed),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(StreamError::LastOperationFailed(error.into())),
    }
}

/// Up to so many bytes; none: the end. Waits for the first.
pub fn read_some(fd: RawFd, size: usize) -> std::io::Result<Bytes> {
    let mut buffer = vec![0; size.min(PIECE_MAX)];
    let got = again(fd, libc::POLLIN, || unsafe {
        libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len())
    })?;
    buffer.truncate(got);
    Ok(buffer.into())
}

/// All of the bytes, however long that takes.
pub fn write_all(fd: RawFd, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let done = again(fd, libc::POLLOUT, || unsafe {
            libc::write(fd, bytes.as_ptr().cast(), bytes.len())
        })?;
        bytes = &bytes[done..];
    }
    Ok(())
}

/// Whoever shares a pipe can have said that nobody waits at it: then the waiting is done here.
fn again(fd: RawFd, event: i16, call: impl FnMut() -> isize) -> std::io::Result<usize> {
    let mut call = call;
    loop {
        if let Ok(done) = usize::try_from(call()) {
            return Ok(done);
        }
        let error = std::io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EAGAIN) => {
                let mut one = libc::pollfd { fd, events: event, revents: 0 };
                unsafe { libc::poll(&mut one, 1, -1) };
            }
            _ => return Err(error),
        }
    }
}
