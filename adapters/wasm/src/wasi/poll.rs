//! poll_oneoff: waits for clocks and descriptors.

use std::os::fd::RawFd;

use super::clocks;
use super::descriptors::Kind;
use super::errno::{Done, Errno};
use super::memory::Guest;
use super::{checked, ending, State};

const SUBSCRIPTION: u32 = 48;
const EVENT: u32 = 32;
/// More are no program's wish.
const SUBSCRIPTIONS_MAX: u32 = 4096;

const CLOCK: u8 = 0;
const READ: u8 = 1;
const WRITE: u8 = 2;
const ABSOLUTE: u16 = 1;

struct Subscription {
    user_data: u64,
    kind: u8,
    wait: Done<Wait>,
}

enum Wait {
    /// Until that many nanoseconds have passed.
    Time(u64),
    /// For a descriptor and an event of poll(2).
    Event(RawFd, i16),
    /// A file is always ready.
    Nothing,
}

pub fn poll_oneoff(
    guest: &mut Guest,
    state: &mut State,
    subscriptions: u32,
    events: u32,
    count: u32,
    to: u32,
) -> Done<()> {
    if count == 0 || count > SUBSCRIPTIONS_MAX {
        return Err(Errno::INVAL);
    }
    let wanted: Vec<Subscription> = (0..count)
        .map(|n| subscription(guest, state, Guest::end(subscriptions, n * SUBSCRIPTION)?))
        .collect::<Done<_>>()?;
    let mut polled: Vec<libc::pollfd> = Vec::new();
    for subscription in &wanted {
        if let Ok(Wait::Event(fd, events)) = subscription.wait {
            polled.push(libc::pollfd { fd, events, revents: 0 });
        }
    }
    let (shortest, is_ready) = shortest_wait(&wanted);
    let ready = wait(&mut polled, if is_ready { Some(0) } else { shortest })?;
    let is_late = !is_ready && ready == 0;
    let mut told = 0;
    let mut results = polled.iter();
    for subscription in &wanted {
        let event = match subscription.wait {
            Err(errno) => Some((errno.code(), 0)),
            Ok(Wait::Time(time)) => (is_late && Some(time) == shortest).then_some((0, 0)),
            Ok(Wait::Nothing) => Some((0, 0)),
            Ok(Wait::Event(..)) => results.next().and_then(of_descriptor),
        };
        if let Some((errno, flags)) = event {
            put_event(guest, Guest::end(events, told * EVENT)?, subscription, errno, flags)?;
            told += 1;
        }
    }
    guest.put_u32(to, told)
}

/// Whether a read or a write would not wait.
pub fn is_ready(fd: RawFd, event: i16) -> Done<bool> {
    let mut one = [libc::pollfd { fd, events: event, revents: 0 }];
    Ok(wait(&mut one, Some(0))? > 0)
}

pub fn wait_for(fd: RawFd, event: i16) -> Done<()> {
    let mut one = [libc::pollfd { fd, events: event, revents: 0 }];
    wait(&mut one, None).map(drop)
}

fn subscription(guest: &Guest, state: &mut State, at: u32) -> Done<Subscription> {
    guest.read(at, SUBSCRIPTION)?;
    let user_data = guest.u64(at)?;
    let kind = guest.u8(at + 8)?;
    let wait = match kind {
        CLOCK => time(guest, state, at + 16),
        READ => event(state, guest.u32(at + 16)?, libc::POLLIN),
        WRITE => event(state, guest.u32(at + 16)?, libc::POLLOUT),
        _ => return Err(Errno::INVAL),
    };
    Ok(Subscription { user_data, kind, wait })
}

fn time(guest: &Guest, state: &State, at: u32) -> Done<Wait> {
    let (clock, timeout, flags) = (guest.u32(at)?, guest.u64(at + 8)?, guest.u16(at + 24)?);
    let now = clocks::time_of(state, clock)?; // or INVAL
    Ok(Wait::Time(if flags & ABSOLUTE != 0 { timeout.saturating_sub(now) } else { timeout }))
}

fn event(state: &mut State, fd: u32, event: i16) -> Done<Wait> {
    let descriptor = state.descriptors.get(fd)?;
    match descriptor.kind {
        Kind::Stream(raw) => Ok(Wait::Event(raw, event)),
        Kind::File(_) => Ok(Wait::Nothing),
        Kind::Folder { .. } => Err(Errno::BADF),
    }
}

/// The shortest of the times, and whether something need not be waited for.
fn shortest_wait(wanted: &[Subscription]) -> (Option<u64>, bool) {
    let mut shortest = None;
    let mut is_ready = false;
    for subscription in wanted {
        match subscription.wait {
            Ok(Wait::Time(time)) => {
                shortest = Some(shortest.map_or(time, |least: u64| least.min(time)))
            }
            Ok(Wait::Event(..)) => {}
            Ok(Wait::Nothing) | Err(_) => is_ready = true,
        }
    }
    (shortest, is_ready)
}

/// The number of descriptors that are ready; 0: the time, in nanoseconds, has passed.
fn wait(polled: &mut [libc::pollfd], time: Option<u64>) -> Done<i64> {
    let until = time
        .map(|time| std::time::Instant::now().checked_add(std::time::Duration::from_nanos(time)));
    loop {
        let left = match until {
            None => None,       // no time was named
            Some(None) => None, // for ever, as good as
            Some(Some(until)) => Some(until.saturating_duration_since(std::time::Instant::now())),
        };
        let time = left.map(|left| libc::timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: left.subsec_nanos().into(),
        });
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let (first, number) = (polled.as_mut_ptr(), polled.len() as libc::nfds_t);
        match checked(unsafe { libc::ppoll(first, number, time, std::ptr::null()) }) {
            Err(errno) if errno == Errno::of(libc::EINTR) && !ending::was_asked() => {}
            Err(errno) if errno == Errno::of(libc::EINTR) => return Ok(0),
            result => return result,
        }
    }
}

/// Errno and flags (1: the other end is closed) for a descriptor that is ready.
fn of_descriptor(result: &libc::pollfd) -> Option<(i32, u16)> {
    match result.revents {
        0 => None,
        events if events & libc::POLLNVAL != 0 => Some((Errno::BADF.code(), 0)),
        events => Some((0, u16::from(events & libc::POLLHUP != 0))),
    }
}

fn put_event(
    guest: &mut Guest,
    at: u32,
    subscription: &Subscription,
    errno: i32,
    flags: u16,
) -> Done<()> {
    let mut bytes = [0; EVENT as usize];
    bytes[..8].copy_from_slice(&subscription.user_data.to_le_bytes());
    bytes[8..10].copy_from_slice(&(errno as u16).to_le_bytes());
    bytes[10] = subscription.kind;
    if subscription.kind != CLOCK && errno == 0 {
        bytes[16..24].copy_from_slice(&1u64.to_le_bytes()); // at least
        bytes[24..26].copy_from_slice(&flags.to_le_bytes());
    }
    guest.put(at, &bytes)
}
