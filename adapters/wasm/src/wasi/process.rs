//! Arguments, environment, random numbers.

use super::errno::{Done, Errno};
use super::memory::Guest;
use super::State;

pub fn args_get(guest: &mut Guest, state: &mut State, list: u32, bytes: u32) -> Done<()> {
    put_strings(guest, &state.request().arguments, list, bytes)
}

pub fn args_sizes_get(guest: &mut Guest, state: &mut State, count: u32, bytes: u32) -> Done<()> {
    put_sizes(guest, &state.request().arguments, count, bytes)
}

pub fn environ_get(guest: &mut Guest, state: &mut State, list: u32, bytes: u32) -> Done<()> {
    put_strings(guest, &state.request().environment, list, bytes)
}

pub fn environ_sizes_get(guest: &mut Guest, state: &mut State, count: u32, bytes: u32) -> Done<()> {
    put_sizes(guest, &state.request().environment, count, bytes)
}

pub fn proc_raise(_guest: &mut Guest, _state: &mut State, _signal: u32) -> Done<()> {
    Err(Errno::NOTSUP)
}

pub fn sched_yield(_guest: &mut Guest, _state: &mut State) -> Done<()> {
    Ok(())
}

/// From the kernel at each call: nothing is drawn ahead, which two requests could share.
pub fn random_get(guest: &mut Guest, _state: &mut State, at: u32, length: u32) -> Done<()> {
    let mut rest = guest.at(at, length)?;
    while !rest.is_empty() {
        let drawn = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        if drawn < 0 && Errno::last() != Errno::of(libc::EINTR) {
            return Err(Errno::last());
        }
        rest = &mut rest[drawn.max(0) as usize..];
    }
    Ok(())
}

/// A table of addresses, and the strings that they point to, each with its NUL.
fn put_strings(guest: &mut Guest, strings: &[Vec<u8>], list: u32, bytes: u32) -> Done<()> {
    let (mut entry, mut place) = (list, bytes);
    for string in strings {
        guest.put_u32(entry, place)?;
        guest.put(place, string)?;
        place = Guest::end(place, string.len() as u32)?;
        guest.put(place, &[0])?;
        (entry, place) = (Guest::end(entry, 4)?, Guest::end(place, 1)?);
    }
    Ok(())
}

fn put_sizes(guest: &mut Guest, strings: &[Vec<u8>], count: u32, bytes: u32) -> Done<()> {
    let all: usize = strings.iter().map(|string| string.len() + 1).sum();
    guest.put_u32(count, u32::try_from(strings.len()).map_err(|_| Errno::OVERFLOW)?)?;
    guest.put_u32(bytes, u32::try_from(all).map_err(|_| Errno::OVERFLOW)?)
}
