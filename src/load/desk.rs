//! One worker's desk: what is sent when, and what is kept of it. It knows nothing
//! of sockets: HTTP/1.1 on epoll and HTTP/2 on hyper are driven by the same desk.
//!
//! A worker has *slots*, one for each request that it can have under way:
//! `connections × streams`. Its loop is
//!
//! 1. [`Desk::step`] until it says something else than [`Step::Send`];
//! 2. wait for the network, at most until the time that [`Step::Wait`] names;
//! 3. for what came: [`Desk::first_byte`], [`Desk::finish`], [`Desk::release`];
//!    and [`Desk::expired`] until it gives none;
//!
//! until [`Step::Done`], after which [`Desk::close`] gives the records, and the bodies
//! that are to be checked: within the window nothing is parsed. Every time
//! that is passed in is read from the rung's clock just before.

mod parts;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use self::parts::{Closed, Plan, Step, Tally, Ticket};

use self::parts::Held;
use super::check::Sampled;
use super::clock::{nanos, thread_cpu_s};
use super::pulse::Pulse;
use super::record::{Ending, Fault, NEVER, Nanos, Record, Times};
use super::spec::{Pacing, RungSpec, Spacing};
use super::workload::{Arrivals, Draws, Part, Prepared};

/// How often requests are looked through for those that took too long: a
/// hundredth of the time-out, within these bounds.
const LOOK: (Nanos, Nanos) = (1_000_000, 100_000_000);
/// The longest that a worker waits before it looks whether it is to stop.
const NAP: Nanos = 100_000_000;
/// Lateness of the generator's own that is counted apart.
const LATE: Nanos = 5_000_000;
/// Bytes of bodies that a rung holds for its checks; once they are full, no further
/// body is read whole.
const ROOM: usize = 512 << 20;

#[derive(Debug, Clone, Copy)]
struct Slot {
    intended: Nanos,
    start: Nanos,
    first_byte: Nanos,
    /// When it was released.
    free_since: Nanos,
    query: u16,
    /// Whether its request is under way.
    busy: bool,
    /// Whether its request counts: it was meant to start in the window.
    measured: bool,
}

/// See the module.
#[derive(Debug)]
pub struct Desk {
    spec: Arc<RungSpec>,
    plan: Plan,
    pulse: Arc<Pulse>,
    stop: Arc<AtomicBool>,
    worker: usize,
    slots: Vec<Slot>,
    /// Slots that are free, the one that was released first in front, so that all
    /// connections carry the same load.
    free: VecDeque<u32>,
    /// Requests under way that count.
    measured_busy: usize,
    part: Part,
    draws: Draws,
    /// Of an open loop: its arrivals in this part, and the next of them.
    arrivals: Option<Arrivals>,
    next_arrival: Nanos,
    look_every: Nanos,
    next_look: Nanos,
    look_at: usize,
    /// Queries that were checked once.
    seen: Vec<bool>,
    since_check: u32,
    /// Bytes that can still be held for checks.
    room: usize,
    cpu_at_start: Option<f64>,
    closed: Closed,
}

impl Desk {
    /// The desk of `worker` (from 0), with so many connections.
    pub fn new(
        spec: Arc<RungSpec>,
        worker: usize,
        connections: usize,
        pulse: Arc<Pulse>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        let plan = Plan::new(&spec);
        let count = connections * spec.streams;
        let slot = Slot {
            intended: 0,
            start: 0,
            first_byte: NEVER,
            free_since: 0,
            query: 0,
            busy: false,
            measured: false,
        };
        let part = if plan.window_start > 0 { Part::Warmup } else { Part::Window };
        let mut desk = Self {
            draws: Draws::new(spec.seed, part, worker, spec.workers),
            plan,
            pulse,
            stop,
            worker,
            slots: vec![slot; count],
            free: (0..count as u32).collect(),
            measured_busy: 0,
            part,
            arrivals: None,
            next_arrival: NEVER,
            look_every: (nanos(spec.request_timeout) / 100).clamp(LOOK.0, LOOK.1),
            next_look: 0,
            look_at: 0,
            seen: vec![false; spec.workload.len()],
            since_check: 0,
            room: ROOM / spec.workers,
            cpu_at_start: None,
            closed: Closed::default(),
            spec,
        };
        desk.arrive();
        desk
    }

    /// Requests that can be under way at once.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Worker, from 0.
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// The rung.
    pub fn spec(&self) -> &Arc<RungSpec> {
        &self.spec
    }

    /// A request of the workload.
    #[inline]
    pub fn request(&self, query: u16) -> &Prepared {
        &self.spec.workload.requests()[usize::from(query)]
    }

    /// When the request under way in a slot was started.
    #[inline]
    pub fn started(&self, slot: usize) -> Nanos {
        self.slots[slot].start
    }

    /// Whether a slot's request is under way.
    pub fn is_busy(&self, slot: usize) -> bool {
        self.slots[slot].busy
    }

    /// Begins a part's arrivals, if the loop is open.
    fn arrive(&mut self) {
        let Pacing::Open { rate, spacing } = self.spec.pacing else { return };
        let (worker, workers) = (self.worker, self.spec.workers);
        self.arrivals = Some(match spacing {
            Spacing::Constant => Arrivals::constant(rate, worker, workers),
            Spacing::Poisson => Arrivals::poisson(rate, self.spec.seed, self.part, worker, workers),
        });
        self.advance();
    }

    /// Takes the next arrival of the part; after the last of the warm-up the first
    /// of the window.
    #[inline]
    fn advance(&mut self) {
        let Some(arrivals) = &mut self.arrivals else { return };
        let (start, end) = match self.part {
            Part::Warmup => (0, self.plan.window_start),
            Part::Window => (self.plan.window_start, self.plan.window_end),
        };
        let at = start + arrivals.draw();
        self.next_arrival = if at < end { at } else { NEVER };
        if self.next_arrival == NEVER && self.part == Part::Warmup {
            self.turn();
        }
    }

    /// Turns from the warm-up to the window.
    #[cold]
    fn turn(&mut self) {
        self.part = Part::Window;
        self.draws = Draws::new(self.spec.seed, self.part, self.worker, self.spec.workers);
        self.arrive();
    }

    /// What to do at this time.
    #[inline]
    pub fn step(&mut self, now: Nanos) -> Step {
        if now >= self.plan.window_start && self.cpu_at_start.is_none() {
            self.cpu_at_start = Some(thread_cpu_s());
            if self.part == Part::Warmup && self.arrivals.is_none() {
                self.turn();
            }
        }
        if now >= self.plan.window_end {
            return self.step_after(now);
        }
        let due = match self.spec.pacing {
            Pacing::Closed => now,
            Pacing::Open { .. } => self.next_arrival,
            Pacing::Burst { idle, on } => {
                let (idle, cycle) = (nanos(idle), nanos(idle) + nanos(on));
                let begin = now - now % cycle + idle;
                if now >= begin { now } else { begin }
            }
        };
        self.due(now, due)
    }

    /// Sends what is due at a time, if it is and a slot is free.
    #[inline]
    fn due(&mut self, now: Nanos, due: Nanos) -> Step {
        if due > now {
            return self.wait(now, due);
        }
        match self.free.pop_front() {
            Some(slot) => Step::Send(self.send(slot as usize, now, due)),
            None => self.wait(now, NEVER),
        }
    }

    fn wait(&self, now: Nanos, until: Nanos) -> Step {
        if self.stop.load(Ordering::Relaxed) {
            return Step::Done;
        }
        // The window's start and end are times at which something changes.
        let change = [self.plan.window_start, self.plan.window_end, self.plan.drain_end];
        let change = change.into_iter().find(|change| *change > now).unwrap_or(now);
        let look = self.next_look.max(now + LOOK.0);
        Step::Wait(until.min(change).min(now + NAP).min(look))
    }

    /// After the window: what was to be sent in it, until the drain time is over.
    #[cold]
    fn step_after(&mut self, now: Nanos) -> Step {
        let over = now >= self.plan.drain_end || self.stop.load(Ordering::Relaxed);
        let occupied = self.free.len() < self.slots.len();
        let waiting = self.next_arrival != NEVER;
        if over || !waiting && (!occupied || self.measured_busy == 0 && !self.is_releasing()) {
            return Step::Done;
        }
        self.due(now, self.next_arrival)
    }

    /// Whether a slot is neither free nor busy: something is cleaned up after it.
    fn is_releasing(&self) -> bool {
        let busy = self.slots.iter().filter(|slot| slot.busy).count();
        busy + self.free.len() < self.slots.len()
    }

    #[inline]
    fn send(&mut self, slot: usize, now: Nanos, intended: Nanos) -> Ticket {
        let query = self.draws.draw(&self.spec.workload);
        let measured = intended >= self.plan.window_start;
        if self.arrivals.is_some() {
            if measured {
                self.was_late(now - intended.max(self.slots[slot].free_since).min(now));
            }
            self.advance();
        }
        self.measured_busy += usize::from(measured);
        let slot_state = &mut self.slots[slot];
        *slot_state = Slot {
            intended,
            start: now,
            first_byte: NEVER,
            query,
            busy: true,
            measured,
            ..*slot_state
        };
        Ticket { slot, query, check: self.is_checked(query) }
    }

    /// Notes by how much the generator itself was late: the time had come, and a
    /// slot was free.
    #[inline]
    fn was_late(&mut self, late: Nanos) {
        let closed = &mut self.closed;
        closed.late.add(late);
        closed.late_sum += late;
        closed.late_max = closed.late_max.max(late);
        closed.late_over += u64::from(late > LATE);
    }

    #[inline]
    fn is_checked(&mut self, query: u16) -> bool {
        if self.spec.check_every == 0 {
            return false;
        }
        self.since_check += 1;
        let seen = &mut self.seen[usize::from(query)];
        if *seen && self.since_check < self.spec.check_every {
            return false;
        }
        self.since_check = 0;
        if self.room == 0 {
            self.closed.checks.left_out += 1;
            return false;
        }
        *seen = true;
        true
    }

    /// The first byte of a response came; later ones are not noted.
    #[inline]
    pub fn first_byte(&mut self, slot: usize, now: Nanos) {
        let slot = &mut self.slots[slot];
        if slot.first_byte == NEVER {
            slot.first_byte = now;
        }
    }

    /// A response of several was not the last: the first byte of the next one counts.
    pub fn follow(&mut self, slot: usize) {
        self.slots[slot].first_byte = NEVER;
    }

    /// Keeps the body of a slot's request for its check. Its end is still to come,
    /// with [`Ending::checked`].
    #[cold]
    pub fn hold(&mut self, slot: usize, response: Sampled) {
        self.room = self.room.saturating_sub(response.body.len());
        let query = self.slots[slot].query;
        self.closed.held.push(Held { slot, query, record: None, response });
    }

    /// A request ended, at this time. Says whether its connection is to be kept.
    /// The slot stays taken until [`Desk::release`].
    #[inline]
    pub fn finish(&mut self, slot: usize, now: Nanos, ending: Ending) -> bool {
        let state = &mut self.slots[slot];
        debug_assert!(state.busy, "a request ends once");
        state.busy = false;
        let Slot { intended, start, first_byte, query, measured, .. } = *state;
        let record = Record::new(query, Times { intended, start, first_byte, end: now }, ending);
        self.pulse.ended(record.succeeded(), now - intended.min(now));
        if measured {
            self.measured_busy -= 1;
            let tally = &mut self.closed.tally;
            if ending.fault == Fault::Aborted {
                tally.aborted += 1;
            } else if record.succeeded() {
                tally.completed += 1;
            } else {
                tally.failed += 1;
            }
            tally.retried += u64::from(ending.retried);
            if ending.checked {
                self.note_held(slot);
            }
            self.closed.records.push(record);
        } else {
            self.closed.tally.warmup += 1;
        }
        self.keeps(now)
    }

    /// Notes which record is of the body that a slot gave last.
    #[cold]
    fn note_held(&mut self, slot: usize) {
        let number = self.closed.records.len();
        if let Some(held) = self.closed.held.iter_mut().rfind(|held| held.slot == slot) {
            held.record = Some(number);
        }
    }

    /// Whether a connection is kept after a request that ended at this time.
    #[inline]
    fn keeps(&self, now: Nanos) -> bool {
        if !self.spec.keep_alive {
            return false;
        }
        match self.spec.pacing {
            Pacing::Burst { idle, on } => now % (nanos(idle) + nanos(on)) >= nanos(idle),
            _ => true,
        }
    }

    /// The slot can take another request.
    #[inline]
    pub fn release(&mut self, slot: usize, now: Nanos) {
        debug_assert!(!self.slots[slot].busy, "a slot is released after its request");
        self.slots[slot].free_since = now;
        self.free.push_back(slot as u32);
    }

    /// A slot whose request takes longer than the time-out, looked for from time to
    /// time. The transport ends it.
    #[inline]
    pub fn expired(&mut self, now: Nanos) -> Option<usize> {
        if now < self.next_look { None } else { self.look(now) }
    }

    fn look(&mut self, now: Nanos) -> Option<usize> {
        let timeout = nanos(self.spec.request_timeout);
        while self.look_at < self.slots.len() {
            let at = self.look_at;
            self.look_at += 1;
            let slot = &self.slots[at];
            if slot.busy && now.saturating_sub(slot.start) >= timeout {
                return Some(at);
            }
        }
        self.look_at = 0;
        self.next_look = now + self.look_every;
        None
    }

    /// Aborts what is still under way, counts what was never sent, and gives what
    /// was recorded.
    pub fn close(mut self, now: Nanos) -> Closed {
        for slot in 0..self.slots.len() {
            if self.slots[slot].busy {
                self.finish(slot, now, Ending { fault: Fault::Aborted, ..Ending::default() });
            }
        }
        if now < self.plan.window_end {
            // Stopped: what was not due yet was not offered.
            self.plan.window_end = now;
        }
        if self.part == Part::Warmup && now >= self.plan.window_start && self.arrivals.is_some() {
            self.turn();
        }
        while self.part == Part::Window && self.next_arrival < self.plan.window_end {
            self.closed.tally.never_sent += 1;
            self.advance();
        }
        self.closed.cpu_s = self.cpu_at_start.map_or(0.0, |start| thread_cpu_s() - start);
        self.closed
    }
}

#[cfg(test)]
pub(super) mod tests;
