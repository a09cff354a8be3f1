//! Routes made ready: answers are built once for each path, and what depends on
//! when and how often a path was asked is kept in one place for all threads.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::route::{Reply, Route};

/// What is known of a path over all its requests.
#[derive(Debug, Default)]
pub struct Past {
    first: OnceLock<Instant>,
    requests: AtomicU64,
}

/// What all threads of a server share.
#[derive(Debug)]
pub struct Shared {
    pub began: Instant,
    pasts: Mutex<HashMap<String, Arc<Past>>>,
    /// Connections taken.
    pub connections: AtomicU64,
    /// Requests that were read whole.
    pub requests: AtomicU64,
    /// Answers that were handed to the kernel whole; those with a fault are not.
    pub answers: AtomicU64,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            pasts: Mutex::default(),
            connections: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            answers: AtomicU64::new(0),
        }
    }
}

impl Shared {
    /// Milliseconds since the server began.
    pub fn now_ms(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    fn past(&self, target: &str) -> Arc<Past> {
        let mut pasts = self.pasts.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(pasts.entry(target.to_owned()).or_default())
    }
}

/// A route with its answers in the form `T` of a protocol.
#[derive(Debug)]
pub enum Prepared<T> {
    Fixed(T),
    Stall { past: Arc<Past>, at: Duration, length: Duration, then: T },
    Burst { past: Arc<Past>, burst: u64, every: u64, first: T, then: T },
}

impl<T: Clone> Prepared<T> {
    /// A route made ready by `build`.
    pub fn new(route: &Route, target: &str, shared: &Shared, build: impl Fn(&Reply) -> T) -> Self {
        match route {
            Route::Fixed(reply) => Self::Fixed(build(reply)),
            Route::Stall { at, length, then } => Self::Stall {
                past: shared.past(target),
                at: *at,
                length: *length,
                then: build(then),
            },
            Route::Burst { burst, every, first, then } => Self::Burst {
                past: shared.past(target),
                burst: *burst,
                every: *every,
                first: build(first),
                then: build(then),
            },
        }
    }

    /// The answer to one more request, and how long it is held back first.
    pub fn next(&self) -> (Duration, T) {
        match self {
            Self::Fixed(answer) => (Duration::ZERO, answer.clone()),
            Self::Stall { past, at, length, then } => {
                let since = past.first.get_or_init(Instant::now).elapsed();
                let end = *at + *length;
                let hold = if since >= *at { end.saturating_sub(since) } else { Duration::ZERO };
                (hold, then.clone())
            }
            Self::Burst { past, burst, every, first, then } => {
                let number = past.requests.fetch_add(1, Ordering::Relaxed) % every;
                (Duration::ZERO, if number < *burst { first.clone() } else { then.clone() })
            }
        }
    }
}
