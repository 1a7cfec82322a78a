//! The time of day, the monotonic clock, and the processor time since the request began: that of
//! the process would tell how many requests it has answered.

use super::errno::{Done, Errno};
use super::memory::Guest;
use super::{checked, State};

/// When the request began, by the clock of processor time.
pub struct Clocks {
    began: u64,
}

const PROCESS: u32 = 2;
const THREAD: u32 = 3;

impl Clocks {
    pub fn now() -> Clocks {
        Clocks { began: now(PROCESS).unwrap_or(0) }
    }
}

pub fn clock_res_get(guest: &mut Guest, _state: &mut State, clock: u32, to: u32) -> Done<()> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    checked(unsafe { libc::clock_getres(number(clock)?, &mut time) })?;
    guest.put_u64(to, nanoseconds(&time))
}

pub fn clock_time_get(
    guest: &mut Guest,
    state: &mut State,
    clock: u32,
    _precision: u64,
    to: u32,
) -> Done<()> {
    guest.put_u64(to, time_of(state, clock)?)
}

/// In nanoseconds.
pub fn time_of(state: &State, clock: u32) -> Done<u64> {
    let began = if clock == PROCESS || clock == THREAD { state.request().clocks.began } else { 0 };
    Ok(now(clock)?.saturating_sub(began))
}

fn now(clock: u32) -> Done<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    checked(unsafe { libc::clock_gettime(number(clock)?, &mut time) })?;
    Ok(nanoseconds(&time))
}

fn number(clock: u32) -> Done<libc::clockid_t> {
    match clock {
        0 => Ok(libc::CLOCK_REALTIME),
        1 => Ok(libc::CLOCK_MONOTONIC),
        // There is no other thread whose time could differ.
        PROCESS | THREAD => Ok(libc::CLOCK_PROCESS_CPUTIME_ID),
        _ => Err(Errno::INVAL),
    }
}

fn nanoseconds(time: &libc::timespec) -> u64 {
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
