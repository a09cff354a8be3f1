//! What a desk says, and what it has at the end.

use crate::load::clock::nanos;
use crate::load::pulse::Histogram;
use crate::load::record::{Nanos, Records};
use crate::load::spec::RungSpec;

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
    pub checks_made: u64,
    pub checks_failed: u64,
    pub failures: Vec<(String, String)>,
}
