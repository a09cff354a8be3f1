//! A few threads for work that may be done in any order.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

type Job = Box<dyn FnOnce() + Send>;

/// Which work is done first: what lets memory go before what takes more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    First,
    Then,
}

/// Work that waits, in two queues.
pub(super) struct Pool {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    first: VecDeque<Job>,
    then: VecDeque<Job>,
    closed: bool,
}

/// A result to come.
#[derive(Debug)]
pub(super) struct Pending<T>(Receiver<T>);

impl<T> Pending<T> {
    /// Waits for the result.
    pub(super) fn wait(self) -> T {
        self.0.recv().expect("a worker sends its result, or panics, and then so do we")
    }
}

impl Pool {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), changed: Condvar::new() }
    }

    /// Starts so many threads; they end when the pool is closed.
    pub(super) fn start<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, threads: usize) {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some(job) = self.next() {
                    job();
                }
            });
        }
    }

    /// Leaves the work to whichever thread is free.
    pub(super) fn submit<T: Send + 'static>(
        &self,
        urgency: Urgency,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Pending<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        // Nobody waits for the result any more where an error came first.
        let job = Box::new(move || _ = sender.send(work()));
        let mut state = self.lock();
        match urgency {
            Urgency::First => state.first.push_back(job),
            Urgency::Then => state.then.push_back(job),
        }
        drop(state);
        self.changed.notify_one();
        Pending(receiver)
    }

    /// A guard that closes the pool when it is dropped.
    pub(super) fn closer(&self) -> Closer<'_> {
        Closer(self)
    }

    /// Drops the work that waits, and lets the threads end.
    fn close(&self) {
        let mut state = self.lock();
        *state = State { closed: true, ..State::default() };
        drop(state);
        self.changed.notify_all();
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(job) = state.first.pop_front().or_else(|| state.then.pop_front()) {
                return Some(job);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes a pool when it is dropped, however that comes about.
pub(super) struct Closer<'a>(&'a Pool);

impl Drop for Closer<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}
