//! A module knows no signals: it could not take back what it has begun. So one that is to end (SIGTERM,
//! which the bridge sends when the client has gone or time is up) is cut off from its client at once,
//! but may come to its own end, for half a second: a transaction becomes whole, a lock is given
//! back. Then it ends by that signal.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Half a second: more than a program needs that does not wait for anybody. It comes in pieces, as
/// each of them ends a call that waits, also one that had not quite begun when the signal came.
const GRACE_PIECES: u32 = 50;
const PIECE_US: i64 = 10_000;

static IS_RUNNING: AtomicBool = AtomicBool::new(false);
static WAS_ASKED: AtomicBool = AtomicBool::new(false);
static PIECES: AtomicU32 = AtomicU32::new(0);

/// Before the checkpoint, so that no request changes what the kernel knows of signals.
pub fn watch() {
    handle(libc::SIGTERM, asked as *const () as usize);
    handle(libc::SIGALRM, piece_is_over as *const () as usize);
}

/// A module begins or ends; between modules, the signal ends the process at once.
pub fn set_running(is_running: bool) {
    IS_RUNNING.store(is_running, Relaxed);
    if !is_running && was_asked() {
        die();
    }
}

/// Whether what the module prints is for nobody, and nothing comes any more.
pub fn was_asked() -> bool {
    WAS_ASKED.load(Relaxed)
}

extern "C" fn asked(_signal: i32) {
    if !IS_RUNNING.load(Relaxed) {
        die();
    }
    if !WAS_ASKED.swap(true, Relaxed) {
        let piece = libc::timeval { tv_sec: 0, tv_usec: PIECE_US };
        let timer = libc::itimerval { it_interval: piece, it_value: piece };
        unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) };
    }
}

extern "C" fn piece_is_over(_signal: i32) {
    if PIECES.fetch_add(1, Relaxed) + 1 >= GRACE_PIECES {
        die();
    }
}

/// Also called by handlers, where the signal may be blocked until they return.
fn die() {
    handle(libc::SIGTERM, libc::SIG_DFL);
    unsafe { libc::raise(libc::SIGTERM) };
}

/// Calls that wait are not begun again, so that they see that somebody has asked.
fn handle(signal: i32, handler: libc::sighandler_t) {
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
}
