//! What carries requests: one for plain HTTP/1.1, one for TLS and HTTP/2.

use std::sync::Arc;

use super::address::Address;
use super::clock::Clock;
use super::desk::Desk;
use super::error::LoadError;
use super::outcome::Connections;
use super::record::Nanos;
use super::spec::RungSpec;

/// What a worker needs to know before it runs.
#[derive(Debug, Clone)]
pub struct Post {
    pub spec: Arc<RungSpec>,
    pub address: Address,
    /// Worker, from 0.
    pub worker: usize,
    /// Its share of the connections.
    pub connections: usize,
}

/// Carries the requests of one worker. Everything happens on that worker's thread.
pub trait Carrier: Sized {
    /// Makes what is needed before the clock is started: requests as bytes, and the
    /// connections if they are kept. A connection that cannot be made is no error
    /// here: the request that needs it will fail.
    ///
    /// # Errors
    /// If the system refuses what a worker needs.
    fn prepare(post: &Post) -> Result<Self, LoadError>;

    /// Drives the desk until it is done.
    ///
    /// # Errors
    /// If the system refuses what a worker needs.
    fn drive(&mut self, desk: &mut Desk, clock: &Clock) -> Result<(), LoadError>;

    /// What became of its connections.
    fn connections(&self) -> ConnectionTally;
}

/// Connections of one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectionTally {
    pub opened: u64,
    pub failed: u64,
    pub closed_by_server: u64,
    /// Sum and largest of the times to connect.
    pub connect_sum: Nanos,
    pub connect_max: Nanos,
    pub goaways: u64,
    pub unprocessed: u64,
}

impl ConnectionTally {
    /// A connection was made, in this time.
    pub fn opened(&mut self, took: Nanos) {
        self.opened += 1;
        self.connect_sum += took;
        self.connect_max = self.connect_max.max(took);
    }

    /// Those of all workers.
    pub fn total(all: &[Self]) -> Connections {
        let sum = |of: fn(&Self) -> u64| all.iter().map(of).sum::<u64>();
        let opened = sum(|tally| tally.opened);
        let connect_s = sum(|tally| tally.connect_sum) as f64 / 1e9;
        let longest = all.iter().map(|tally| tally.connect_max).max().unwrap_or(0);
        Connections {
            opened,
            failed: sum(|tally| tally.failed),
            closed_by_server: sum(|tally| tally.closed_by_server),
            connect_mean_s: if opened > 0 { connect_s / opened as f64 } else { 0.0 },
            connect_max_s: longest as f64 / 1e9,
            goaways: sum(|tally| tally.goaways),
            unprocessed: sum(|tally| tally.unprocessed),
        }
    }
}
