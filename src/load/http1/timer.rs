//! Waiting for sockets and for a time at once, to the microsecond.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::load::record::Nanos;

/// Events that are taken at once.
const EVENTS: usize = 256;
/// The token of the timer: no connection has it.
const TIMER: u64 = u64::MAX;

/// An epoll instance with a timer. `epoll_wait` itself counts in milliseconds.
pub struct Poll {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// When the timer is set to go off; 0 if it is not.
    set_for: Nanos,
    events: Vec<Event>,
}

impl Poll {
    /// A new one.
    ///
    /// # Errors
    /// If the system has no more descriptors.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // Edge-triggered: setting it anew is all that it needs, it is never read.
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        Ok(Self { epoll, timer, set_for: 0, events: Vec::with_capacity(EVENTS) })
    }

    /// Watches a socket.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn add(&self, socket: impl AsFd, token: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(token), flags)?)
    }

    /// Watches a socket for something else.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn change(&self, socket: impl AsFd, token: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, socket, EventData::new_u64(token), flags)?)
    }

    /// Waits for events, at most until a time: roughly, which costs nothing, or
    /// `exactly`, by the timer.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn wait(&mut self, now: Nanos, until: Nanos, exactly: bool) -> io::Result<()> {
        self.events.clear();
        let left = until.saturating_sub(now);
        let timeout = if exactly && left > 0 {
            if self.set_for != until {
                self.set(left)?;
                self.set_for = until;
            }
            None
        } else {
            let left = left.min(1_000_000_000);
            // Milliseconds, rounded up.
            let nanos = left.div_ceil(1_000_000) * 1_000_000;
            Some(Timespec {
                tv_sec: (nanos / 1_000_000_000) as i64,
                tv_nsec: (nanos % 1_000_000_000) as _,
            })
        };
        match epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(&mut self.events),
            timeout.as_ref(),
        ) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn set(&self, left: Nanos) -> io::Result<()> {
        let value = Timespec {
            tv_sec: (left / 1_000_000_000) as i64,
            tv_nsec: (left % 1_000_000_000) as _,
        };
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let time = Itimerspec { it_interval: zero, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &time)?;
        Ok(())
    }

    /// How many events came.
    #[inline]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// An event: token and flags; none for the timer.
    #[inline]
    pub fn event(&mut self, at: usize) -> Option<(u64, EventFlags)> {
        let Event { flags, data, .. } = self.events[at];
        let token = data.u64();
        if token == TIMER {
            self.set_for = 0;
            return None;
        }
        Some((token, flags))
    }
}
