//! Functions on sockets: sock_*. A module has none.

use super::errno::{Done, Errno};
use super::memory::Guest;
use super::State;

pub fn sock_accept(_: &mut Guest, state: &mut State, fd: u32, _flags: u32, _to: u32) -> Done<()> {
    no_socket(state, fd)
}

pub fn sock_recv(
    _guest: &mut Guest,
    state: &mut State,
    fd: u32,
    _list: u32,
    _count: u32,
    _flags: u32,
    _to: u32,
    _more: u32,
) -> Done<()> {
    no_socket(state, fd)
}

pub fn sock_send(
    _guest: &mut Guest,
    state: &mut State,
    fd: u32,
    _list: u32,
    _count: u32,
    _flags: u32,
    _to: u32,
) -> Done<()> {
    no_socket(state, fd)
}

pub fn sock_shutdown(_guest: &mut Guest, state: &mut State, fd: u32, _how: u32) -> Done<()> {
    no_socket(state, fd)
}

fn no_socket(state: &mut State, fd: u32) -> Done<()> {
    state.descriptors.get(fd)?;
    Err(Errno::NOTSOCK)
}
