//! A timer that is as precise as the system's: the runtime's own counts whole
//! milliseconds.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::net::unix::pipe::Receiver;

use crate::load::record::{NEVER, Nanos};

/// One timer of a runtime.
#[derive(Debug)]
pub struct Timer {
    fd: OwnedFd,
    /// What becomes readable when its time comes is as good as a pipe here.
    readable: Receiver,
    /// When it rings; [`NEVER`] where it is not set.
    at: Cell<Nanos>,
}

impl Timer {
    /// A timer of the runtime that this is called in.
    ///
    /// # Errors
    /// If the system gives none.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let readable = Receiver::from_owned_fd_unchecked(fd.try_clone()?)?;
        Ok(Self { fd, readable, at: Cell::new(NEVER) })
    }

    /// Rings at a time of a clock that shows `now`, unless it rings before.
    pub fn set(&self, now: Nanos, at: Nanos) {
        if at >= self.at.get() {
            return;
        }
        self.at.set(at);
        // Zero would stop it.
        let wait = at.saturating_sub(now).max(1);
        let value = Timespec {
            tv_sec: (wait / 1_000_000_000) as i64,
            tv_nsec: (wait % 1_000_000_000) as i64,
        };
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let time = Itimerspec { it_interval: zero, it_value: value };
        let set = timerfd_settime(self.fd.as_fd(), TimerfdTimerFlags::empty(), &time);
        debug_assert!(set.is_ok(), "a timer takes every time");
    }

    /// Waits until it rings.
    pub async fn rings(&self) {
        loop {
            // Without a runtime there is nobody who waits.
            if self.readable.readable().await.is_err() {
                return;
            }
            if self.readable.try_read(&mut [0; 8]).is_ok() {
                self.at.set(NEVER);
                return;
            }
        }
    }
}
