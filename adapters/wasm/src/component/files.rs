//! Streams of files. Those of wasmtime-wasi start a thread for each read or write that the program
//! does not wait for; here the thread that runs the program does it, as a file does not let it wait.

use async_trait::async_trait;
use bytes::Bytes;
use wasmtime::component::{Linker, Resource};
use wasmtime::StoreContextMut;
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemCtxView, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, HostDescriptor};
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, FsResult, InputStream, OutputStream, Pollable, StreamError,
};

use super::{wait, State};

/// The name under which wasmtime-wasi offers the functions that are replaced here.
const TYPES: &str = "wasi:filesystem/types@0.2.12";
/// The most that one call writes.
const PIECE_MAX: usize = 64 << 10;

type Answer<T> = wasmtime::Result<(Result<Resource<T>, ErrorCode>,)>;

/// Replaces the functions that make streams; the linker allows it.
pub fn add_to(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut types = linker.instance(TYPES)?;
    types.func_wrap(
        "[method]descriptor.read-via-stream",
        |mut store: StoreContextMut<State>, (file, at): (Resource<Descriptor>, u64)| {
            let mut view = store.data_mut().filesystem();
            let made = view.read_via_stream(file, at);
            replaced(view, made, |stream: DynInputStream| Box::new(Input(stream)) as _)
        },
    )?;
    types.func_wrap(
        "[method]descriptor.write-via-stream",
        |mut store: StoreContextMut<State>, (file, at): (Resource<Descriptor>, u64)| {
            let mut view = store.data_mut().filesystem();
            let made = view.write_via_stream(file, at);
            replaced(view, made, |stream: DynOutputStream| Box::new(Output(stream)) as _)
        },
    )?;
    types.func_wrap(
        "[method]descriptor.append-via-stream",
        |mut store: StoreContextMut<State>, (file,): (Resource<Descriptor>,)| {
            let mut view = store.data_mut().filesystem();
            let made = view.append_via_stream(file);
            replaced(view, made, |stream: DynOutputStream| Box::new(Output(stream)) as _)
        },
    )?;
    Ok(())
}

fn replaced<T: Send + 'static>(
    view: WasiFilesystemCtxView,
    made: FsResult<Resource<T>>,
    by: impl FnOnce(T) -> T,
) -> Answer<T> {
    match made {
        Ok(stream) => {
            let stream = view.table.delete(stream)?;
            Ok((Ok(view.table.push(by(stream))?),))
        }
        Err(error) => Ok((Err(error.downcast()?),)),
    }
}

struct Input(DynInputStream);

#[async_trait]
impl Pollable for Input {
    async fn ready(&mut self) {}
}

#[async_trait]
impl InputStream for Input {
    fn read(&mut self, size: usize) -> Result<Bytes, StreamError> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        now(self.0.blocking_read(size))
    }
    async fn blocking_read(&mut self, size: usize) -> Result<Bytes, StreamError> {
        self.read(size)
    }
}

struct Output(DynOutputStream);

#[async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for Output {
    fn write(&mut self, bytes: Bytes) -> Result<(), StreamError> {
        now(self.0.blocking_write_and_flush(bytes))
    }
    fn flush(&mut self) -> Result<(), StreamError> {
        self.0.flush()
    }
    fn check_write(&mut self) -> Result<usize, StreamError> {
        Ok(self.0.check_write()?.min(PIECE_MAX))
    }
}

/// The blocking functions of wasmtime-wasi's streams do their work in this thread
/// (`allow_blocking_current_thread`), and so never wait for another.
fn now<T>(
    done: impl std::future::Future<Output = Result<T, StreamError>>,
) -> Result<T, StreamError> {
    wait::at_once(done).unwrap_or_else(|| Err(StreamError::trap("a file let its reader wait")))
}
