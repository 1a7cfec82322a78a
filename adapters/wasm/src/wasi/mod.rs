//! WASI preview 1 (wasi_snapshot_preview1), on descriptors of this process. A module has what is
//! here, and nothing else.
//!
//! Each function is in the file that names its subject, and gets the guest's memory and the state
//! of the instance. Functions that block do so in the thread that runs the module: there is no other.

mod clocks;
mod descriptors;
pub mod ending;
mod errno;
mod files;
mod folder;
mod memory;
mod paths;
mod poll;
mod process;
mod sockets;
mod status;

use wasmtime::{Caller, Extern, Linker, Memory};

use crate::failure::Exit;
use crate::limits::Limits;
use crate::options::Folder;
use descriptors::Descriptors;
use errno::{Done, Errno};
use memory::Guest;

const MODULE: &str = "wasi_snapshot_preview1";

/// What an instance has of its own, besides its memory.
pub struct State {
    /// None until the request is there.
    request: Option<Request>,
    descriptors: Descriptors,
    folders: Vec<Folder>,
    pub limits: Limits,
    /// The module's, once it is instantiated.
    pub memory: Option<Memory>,
    has_asked: bool,
    /// Nothing follows this instance: proc_exit() need not pass through the module's frames.
    pub ends_process: bool,
    /// How often it has written although nobody reads it any more.
    unheard: u32,
}

/// Where signals are, SIGPIPE ends a program that prints for nobody, which may never ask. Here it may
/// come to its end, as one that ending.rs is about, if it does not go on for ever.
const UNHEARD_MAX: u32 = 16;

struct Request {
    environment: Vec<Vec<u8>>,
    arguments: Vec<Vec<u8>>,
    clocks: clocks::Clocks,
}

impl State {
    pub fn new(folders: &[Folder], memory_bytes: u64) -> State {
        State {
            request: None,
            descriptors: Descriptors::default(),
            folders: folders.to_vec(),
            limits: Limits::new(memory_bytes),
            memory: None,
            has_asked: false,
            ends_process: false,
            unheard: 0,
        }
    }

    /// The request has come: functions may be called. The folders are opened now, so that they are
    /// those that have the names now.
    pub fn begin(
        &mut self,
        environment: Vec<Vec<u8>>,
        arguments: Vec<Vec<u8>>,
    ) -> Result<(), String> {
        self.descriptors = Descriptors::new(&self.folders)?;
        let clocks = clocks::Clocks::now();
        self.request = Some(Request { environment, arguments, clocks });
        Ok(())
    }

    /// Whether the module called a function before its request was there; that call failed, and the
    /// instance is of no use.
    pub fn has_asked(&self) -> bool {
        self.has_asked
    }

    /// The exit code of a module that ended by itself, with this one.
    pub fn code(&self, own: i32) -> i32 {
        if self.unheard > 0 {
            128 + libc::SIGPIPE
        } else {
            own
        }
    }

    fn request(&self) -> &Request {
        self.request.as_ref().expect("no function runs before begin()")
    }
}

/// Calls a function for the guest; its errno is the answer.
fn enter(
    caller: &mut Caller<'_, State>,
    function: impl FnOnce(&mut Guest, &mut State) -> Result<(), Errno>,
) -> wasmtime::Result<i32> {
    if caller.data().request.is_none() {
        caller.data_mut().has_asked = true;
        return Err(wasmtime::Error::msg("it calls WASI before there is a request"));
    }
    let memory = match caller.data().memory {
        Some(memory) => memory,
        None => match caller.get_export("memory") {
            Some(Extern::Memory(memory)) => memory,
            _ => return Err(wasmtime::Error::msg("it exports no memory")),
        },
    };
    let (bytes, state) = memory.data_and_store_mut(caller);
    let result = function(&mut Guest::new(bytes), state);
    if state.unheard > UNHEARD_MAX {
        return Err(wasmtime::Error::from(Exit(128 + libc::SIGPIPE)));
    }
    Ok(result.map_or_else(Errno::code, |()| 0))
}

macro_rules! functions {
    ($linker:ident: $($file:ident::$name:ident($($argument:ident: $type:ty),*);)*) => {
        $($linker.func_wrap(
            MODULE,
            stringify!($name),
            |mut caller: Caller<'_, State>, $($argument: $type),*| -> wasmtime::Result<i32> {
                enter(&mut caller, |guest, state| $file::$name(guest, state, $($argument),*))
            },
        )?;)*
    };
}

/// All functions of wasi_snapshot_preview1.
pub fn add_to(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    functions! { linker:
        process::args_get(list: u32, bytes: u32);
        process::args_sizes_get(count: u32, bytes: u32);
        process::environ_get(list: u32, bytes: u32);
        process::environ_sizes_get(count: u32, bytes: u32);
        process::proc_raise(signal: u32);
        process::random_get(at: u32, length: u32);
        process::sched_yield();
        clocks::clock_res_get(clock: u32, to: u32);
        clocks::clock_time_get(clock: u32, precision: u64, to: u32);
        poll::poll_oneoff(subscriptions: u32, events: u32, count: u32, to: u32);
        files::fd_advise(fd: u32, offset: u64, length: u64, advice: u32);
        files::fd_allocate(fd: u32, offset: u64, length: u64);
        files::fd_close(fd: u32);
        files::fd_datasync(fd: u32);
        files::fd_fdstat_get(fd: u32, to: u32);
        files::fd_fdstat_set_flags(fd: u32, flags: u32);
        files::fd_fdstat_set_rights(fd: u32, base: u64, inheriting: u64);
        files::fd_filestat_get(fd: u32, to: u32);
        files::fd_filestat_set_size(fd: u32, size: u64);
        files::fd_filestat_set_times(fd: u32, accessed: u64, modified: u64, which: u32);
        files::fd_pread(fd: u32, list: u32, count: u32, offset: u64, to: u32);
        files::fd_prestat_get(fd: u32, to: u32);
        files::fd_prestat_dir_name(fd: u32, at: u32, length: u32);
        files::fd_pwrite(fd: u32, list: u32, count: u32, offset: u64, to: u32);
        files::fd_read(fd: u32, list: u32, count: u32, to: u32);
        files::fd_readdir(fd: u32, at: u32, length: u32, cookie: u64, to: u32);
        files::fd_renumber(from: u32, to: u32);
        files::fd_seek(fd: u32, offset: i64, whence: u32, to: u32);
        files::fd_sync(fd: u32);
        files::fd_tell(fd: u32, to: u32);
        files::fd_write(fd: u32, list: u32, count: u32, to: u32);
        sockets::sock_accept(fd: u32, flags: u32, to: u32);
        sockets::sock_recv(fd: u32, list: u32, count: u32, flags: u32, to: u32, more: u32);
        sockets::sock_send(fd: u32, list: u32, count: u32, flags: u32, to: u32);
        sockets::sock_shutdown(fd: u32, how: u32);
        paths::path_create_directory(fd: u32, at: u32, length: u32);
        paths::path_filestat_get(fd: u32, follow: u32, at: u32, length: u32, to: u32);
        paths::path_filestat_set_times(fd: u32, follow: u32, at: u32, length: u32, accessed: u64,
                                       modified: u64, which: u32);
        paths::path_link(fd: u32, follow: u32, at: u32, length: u32, new_fd: u32, new_at: u32,
                         new_length: u32);
        paths::path_open(fd: u32, follow: u32, at: u32, length: u32, how: u32, rights: u64,
                         inheriting: u64, flags: u32, to: u32);
        paths::path_readlink(fd: u32, at: u32, length: u32, to: u32, to_length: u32, used: u32);
        paths::path_remove_directory(fd: u32, at: u32, length: u32);
        paths::path_rename(fd: u32, at: u32, length: u32, new_fd: u32, new_at: u32,
                           new_length: u32);
        paths::path_symlink(target: u32, target_length: u32, fd: u32, at: u32, length: u32);
        paths::path_unlink_file(fd: u32, at: u32, length: u32);
    }
    linker.func_wrap(
        MODULE,
        "proc_exit",
        |caller: Caller<'_, State>, code: i32| -> wasmtime::Result<()> {
            if caller.data().ends_process {
                ending::set_running(false);
                crate::leave(caller.data().code(code));
            }
            Err(wasmtime::Error::from(Exit(code)))
        },
    )?;
    Ok(())
}

/// The result of a system call.
fn checked(result: impl Into<i64>) -> Done<i64> {
    let result = result.into();
    if result < 0 {
        return Err(Errno::last());
    }
    Ok(result)
}
