//! What a desk says, and what it has at the end.

use crate::load::check::{self, Sampled};
use crate::load::clock::nanos;
use crate::load::outcome::Checks;
use crate::load::pulse::Histogram;
use crate::load::record::{Nanos, Records};
use crate::load::spec::RungSpec;
use crate::load::workload::Workload;

/// Failures of checks that are kept in words.
const FAILURES: usize = 10;

/// The parts of a rung, on its clock. The warm-up starts at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    pub window_start: Nanos,
    pub window_end: Nanos,
    /// When what is still under way is aborted.
    pub drain_end: Nanos,
}

impl Plan {
    /// The parts of a rung whose warm-up starts at 0.
    pub fn new(spec: &RungSpec) -> Self {
        let window_start = nanos(spec.warmup);
        let window_end = window_start + nanos(spec.measure);
        Self { window_start, window_end, drain_end: window_end + nanos(spec.drain) }
    }
}

/// What a worker does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Send a request. Its time runs.
    Send(Ticket),
    /// Nothing to send before this time, unless a slot is released before.
    Wait(Nanos),
    /// The rung is over for this worker.
    Done,
}

/// A request to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    pub slot: usize,
    /// Its number in the workload.
    pub query: u16,
    /// Whether its body is read whole and checked.
    pub check: bool,
}

/// Requests of a worker, as the rung adds them up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    pub warmup: u64,
    pub completed: u64,
    pub failed: u64,
    pub aborted: u64,
    pub never_sent: u64,
    pub retried: u64,
}

/// What a worker has at the end.
#[derive(Debug, Default)]
pub struct Closed {
    pub records: Records,
    pub tally: Tally,
    /// CPU seconds of its thread from the window's start to its end.
    pub cpu_s: f64,
    pub late: Histogram,
    pub late_sum: Nanos,
    pub late_max: Nanos,
    pub late_over: u64,
    /// What is still to be checked.
    pub held: Vec<Held>,
    pub checks: Checks,
}

/// A body that was read whole, until it is checked.
#[derive(Debug)]
pub struct Held {
    pub slot: usize,
    /// Its number in the workload.
    pub query: u16,
    /// The number of its record; none in the warm-up.
    pub record: Option<usize>,
    pub response: Sampled,
}

impl Closed {
    /// Checks the bodies that were held. What fails is a failed request from then on.
    pub fn check(&mut self, workload: &Workload) {
        for held in std::mem::take(&mut self.held) {
            self.checks.made += 1;
            let request = &workload.requests()[usize::from(held.query)];
            let Some(failure) = check::check(&request.expect, &held.response) else { continue };
            self.checks.failed += 1;
            if self.checks.failures.len() < FAILURES {
                self.checks.failures.push((request.query_id.clone(), failure.text));
            }
            let Some(record) = held.record.and_then(|number| self.records.get_mut(number)) else {
                continue;
            };
            if record.succeeded() {
                self.tally.completed -= 1;
                self.tally.failed += 1;
            }
            record.refuse(failure.fault);
        }
    }
}
