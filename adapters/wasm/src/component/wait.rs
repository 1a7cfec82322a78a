//! Runs futures in the only thread that there is, and waits in it: for descriptors and for the time,
//! by one call of ppoll(2). A runtime would bring threads, which a process at a checkpoint must not
//! have, and descriptors of its own.
//!
//! A future that is not ready says what it waits for (readiness(), sleep()); what one future does
//! for another wakes the waker, and both are then polled again.

use std::cell::RefCell;
use std::future::{poll_fn, Future};
use std::os::fd::RawFd;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

/// What the futures of this turn wait for.
#[derive(Default)]
struct Waits {
    events: Vec<libc::pollfd>,
    /// The earliest of the times.
    until: Option<Instant>,
}

thread_local! {
    static WAITS: RefCell<Waits> = RefCell::default();
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The result of a future, which may wait for nothing but what is named here.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let flag = Arc::new(Flag::default());
    let waker = Waker::from(flag.clone());
    loop {
        WAITS.take();
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return result;
        }
        if !flag.0.swap(false, Ordering::Relaxed) {
            WAITS.with_borrow_mut(wait);
        }
    }
}

/// The result, if the future has it without waiting.
pub fn at_once<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// Until a read (POLLIN) or a write (POLLOUT) of the descriptor would not wait.
pub async fn readiness(fd: RawFd, event: i16) {
    poll_fn(|_| poll_readiness(fd, event)).await;
}

/// The same, for who implements a future by hand.
pub fn poll_readiness(fd: RawFd, event: i16) -> Poll<()> {
    if is_ready(fd, event) {
        return Poll::Ready(());
    }
    WAITS.with_borrow_mut(|waits| {
        waits.events.push(libc::pollfd { fd, events: event, revents: 0 });
    });
    Poll::Pending
}

/// Until that time; None: for ever.
pub async fn sleep(until: Option<Instant>) {
    poll_fn(|_| {
        let Some(until) = until else { return Poll::Pending };
        if Instant::now() >= until {
            return Poll::Ready(());
        }
        WAITS.with_borrow_mut(|waits| {
            waits.until = Some(waits.until.map_or(until, |earliest| earliest.min(until)));
        });
        Poll::Pending
    })
    .await;
}

/// An error counts as ready: the read or write then reports it.
pub fn is_ready(fd: RawFd, event: i16) -> bool {
    let mut one = libc::pollfd { fd, events: event, revents: 0 };
    unsafe { libc::poll(&mut one, 1, 0) != 0 }
}

/// An interrupted wait is over: all futures look again.
fn wait(waits: &mut Waits) {
    let left = waits.until.map(|until| until.saturating_duration_since(Instant::now()));
    let time = left.map(|left| libc::timespec {
        tv_sec: left.as_secs() as i64,
        tv_nsec: left.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let (first, number) = (waits.events.as_mut_ptr(), waits.events.len() as libc::nfds_t);
    unsafe { libc::ppoll(first, number, time, std::ptr::null()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    #[test]
    fn waits_for_the_time() {
        let began = Instant::now();
        block_on(sleep(Some(began + Duration::from_millis(20))));
        assert!(began.elapsed() >= Duration::from_millis(20));
        assert!(at_once(sleep(None)).is_none());
    }

    #[test]
    fn waits_for_what_comes_first() {
        let (reading, mut writing) = std::io::pipe().unwrap();
        let fd = reading.as_raw_fd();
        let first = || async {
            let (mut bytes, mut time) = (pin!(readiness(fd, libc::POLLIN)), pin!(soon()));
            poll_fn(|context| match bytes.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready("bytes"),
                Poll::Pending => time.as_mut().poll(context).map(|()| "time"),
            })
            .await
        };
        assert_eq!(block_on(first()), "time");
        writing.write_all(b"x").unwrap();
        assert_eq!(block_on(first()), "bytes");
    }

    async fn soon() {
        sleep(Some(Instant::now() + Duration::from_millis(10))).await;
    }

    #[test]
    fn polls_again_what_was_woken() {
        let mut turns = 0;
        block_on(poll_fn(|context| {
            turns += 1;
            context.waker().wake_by_ref();
            if turns == 3 {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        }));
        assert_eq!(turns, 3);
    }
}
