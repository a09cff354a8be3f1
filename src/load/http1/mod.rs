//! Plain HTTP/1.1 on epoll: one thread, its own connections, nothing shared.
//!
//! A small response costs one `recv` and one `send`, and a share of an
//! `epoll_wait`. Of a large one, the head and at most 16 KiB are copied; the rest
//! is thrown away in the kernel, a quarter of a MiB and more at a time.

mod chunked;
mod conclude;
mod exchange;
mod head;
mod receive;
mod socket;
mod timer;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rustix::event::epoll::EventFlags;

use self::exchange::{Exchange, Phase};
use self::socket::{DISCARD, Discard, Wire};
use self::timer::Poll;
use super::address::Address;
use super::carrier::{Carrier, ConnectionTally, Post};
use super::clock::{Clock, nanos};
use super::desk::{Desk, Step, Ticket};
use super::error::LoadError;
use super::record::{Fault, Nanos};
use super::spec::{Kind, Pacing, RungSpec};

/// What is read at once while a head, or a body that is looked at, is under way.
const READ: usize = 16 << 10;
/// From this much of a body on, bytes are thrown away in the kernel.
const LARGE: u64 = 32 << 10;
/// How long a slot rests after a connection that could not be made.
const REST: Nanos = 10_000_000;
/// How long cleaning up after a job may take.
const CLEANING: Nanos = 5_000_000_000;
/// How long it may take for all that are left at the rung's end.
const SWEEPING: Nanos = 2_000_000_000;

/// A request of the workload, ready to be sent.
struct Ready {
    bytes: Vec<u8>,
    is_head: bool,
    /// Whether it may be sent twice.
    is_idempotent: bool,
}

/// See the module.
pub struct Http1 {
    spec: Arc<RungSpec>,
    address: Address,
    poll: Poll,
    requests: Vec<Ready>,
    exchanges: Vec<Exchange>,
    /// What is read is looked at here, or thrown away.
    buffer: Vec<u8>,
    discard: Discard,
    /// Slots that wait for a time of their own.
    alarms: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// Whether waiting must be exact.
    exact: bool,
    /// When a slot was freed by what is being handled.
    freed: Option<Nanos>,
    connect_timeout: Nanos,
    next_look: Nanos,
    /// Bytes that a slow reader takes at once.
    sip: usize,
    tally: ConnectionTally,
}

impl Carrier for Http1 {
    fn prepare(post: &Post) -> Result<Self, LoadError> {
        let spec = Arc::clone(&post.spec);
        let authority = spec.endpoint.authority();
        let requests = spec
            .workload
            .requests()
            .iter()
            .map(|request| {
                let target = format!("{}{}", spec.endpoint.base_path, request.target);
                let bytes = head::request(&authority, &target, request, spec.keep_alive);
                let idempotent = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"];
                let twice = idempotent.contains(&request.method.as_str());
                let is_idempotent = twice || spec.kind == Kind::TapSync;
                Ready { bytes, is_head: request.method == "HEAD", is_idempotent }
            })
            .collect();
        let mut own = Self {
            address: post.address.clone(),
            poll: Poll::new().map_err(LoadError::system("epoll"))?,
            requests,
            exchanges: (0..post.connections).map(|_| Exchange::default()).collect(),
            buffer: vec![0; DISCARD],
            discard: Discard::BEST,
            alarms: BinaryHeap::new(),
            exact: !matches!(spec.pacing, Pacing::Closed),
            freed: None,
            connect_timeout: nanos(spec.connect_timeout),
            next_look: 0,
            sip: spec
                .read_rate
                .map_or(usize::MAX, |rate| (rate / 20).clamp(1, READ as u64) as usize),
            tally: ConnectionTally::default(),
            spec,
        };
        if own.spec.keep_alive && !matches!(own.spec.pacing, Pacing::Burst { .. }) {
            own.connect_all()?;
        }
        Ok(own)
    }

    fn drive(&mut self, desk: &mut Desk, clock: &Clock) -> Result<(), LoadError> {
        let mut now = clock.now();
        loop {
            let until = loop {
                match desk.step(now) {
                    Step::Send(ticket) => {
                        self.begin(desk, clock, ticket);
                        now = clock.now();
                    }
                    Step::Wait(until) => break until,
                    Step::Done => return self.sweep(desk, clock),
                }
            };
            let alarm = self.alarms.peek().map_or(Nanos::MAX, |Reverse((at, _))| *at);
            let exact = self.exact || alarm < until;
            self.poll
                .wait(now, until.min(alarm), exact)
                .map_err(LoadError::system("epoll_wait"))?;
            for at in 0..self.poll.len() {
                if let Some((token, flags)) = self.poll.event(at) {
                    self.event(desk, clock, token, flags);
                    // What was answered is followed by the next request at once, not
                    // after the other answers; it starts when the answer had come.
                    if let Some(freed) = self.freed.take()
                        && let Step::Send(ticket) = desk.step(freed)
                    {
                        self.begin(desk, clock, ticket);
                    }
                }
            }
            now = clock.now();
            self.ring(desk, clock, now);
            self.look(desk, clock, now);
        }
    }

    fn connections(&self) -> ConnectionTally {
        self.tally
    }
}

#[cfg(test)]
impl Http1 {
    /// Reads what would be thrown away, as on other systems.
    pub fn reading(self) -> Self {
        Self { discard: Discard::Read, ..self }
    }
}

/// The token of a slot's connection; the generation tells a socket from the one
/// that was there before.
#[inline]
fn token(slot: usize, generation: u32) -> u64 {
    u64::from(generation) << 32 | slot as u64
}

impl Http1 {
    /// Makes all connections before the clock is started.
    fn connect_all(&mut self) -> Result<(), LoadError> {
        let clock = Clock::start();
        for slot in 0..self.exchanges.len() {
            self.connect(slot, 0, self.spec.endpoint.port);
        }
        loop {
            let pending = self.exchanges.iter().filter(|exchange| exchange.is_connecting()).count();
            let now = clock.now();
            if pending == 0 || now > self.connect_timeout {
                break;
            }
            self.poll
                .wait(now, now + 10_000_000, false)
                .map_err(LoadError::system("epoll_wait"))?;
            for at in 0..self.poll.len() {
                if let Some((token, _)) = self.poll.event(at) {
                    self.connected(token as u32 as usize, clock.now());
                }
            }
        }
        for slot in 0..self.exchanges.len() {
            if self.exchanges[slot].is_connecting() {
                self.tally.failed += 1;
                self.exchanges[slot].close();
            }
        }
        Ok(())
    }

    /// Starts to connect a slot to a port of the host. Says whether that can be.
    fn connect(&mut self, slot: usize, now: Nanos, port: u16) -> bool {
        let address = self.address.with_port(port);
        let receive_buffer = self.spec.read_rate.map(|_| self.sip.max(2048));
        let exchange = &mut self.exchanges[slot];
        exchange.close();
        exchange.last_generation = exchange.last_generation.wrapping_add(1) & 0x7fff_ffff;
        exchange.generation = exchange.last_generation;
        exchange.port = port;
        let Ok((wire, done)) = Wire::connect(&address, receive_buffer) else {
            self.tally.failed += 1;
            return false;
        };
        let flags = if done { EventFlags::IN } else { EventFlags::OUT };
        if self.poll.add(&wire, token(slot, exchange.generation), flags).is_err() {
            self.tally.failed += 1;
            return false;
        }
        exchange.wire = Some(wire);
        exchange.served = 0;
        if done {
            self.tally.opened(0);
        } else {
            exchange.connecting_since = Some(now);
        }
        true
    }

    /// A connection that was being made is, or is not. Says which.
    fn connected(&mut self, slot: usize, now: Nanos) -> bool {
        let exchange = &mut self.exchanges[slot];
        let (Some(wire), Some(since)) = (&exchange.wire, exchange.connecting_since) else {
            return false;
        };
        let failed = wire.connect_error().is_some()
            || self.poll.change(wire, token(slot, exchange.generation), EventFlags::IN).is_err();
        exchange.connecting_since = None;
        if failed {
            self.tally.failed += 1;
            exchange.close();
            return false;
        }
        self.tally.opened(now.saturating_sub(since));
        true
    }

    /// Begins a request of the workload.
    #[inline]
    fn begin(&mut self, desk: &mut Desk, clock: &Clock, ticket: Ticket) {
        let home = self.spec.endpoint.port;
        let exchange = &mut self.exchanges[ticket.slot];
        let is_head = self.requests[usize::from(ticket.query)].is_head;
        let is_async = matches!(self.spec.kind, Kind::TapAsync(_));
        exchange.begin(ticket.query, is_head, ticket.check, ticket.check && !is_async);
        self.send_to(desk, clock, ticket.slot, home);
    }

    /// Sends what a slot has to send, to a port of the host: over the connection
    /// that is there, or over a new one.
    #[inline]
    fn send_to(&mut self, desk: &mut Desk, clock: &Clock, slot: usize, port: u16) {
        let exchange = &mut self.exchanges[slot];
        if exchange.port != port {
            exchange.swap(port);
        }
        if exchange.is_connecting() {
            exchange.phase = Phase::Connect;
        } else if exchange.wire.is_some() {
            self.write(desk, clock, slot);
        } else {
            let now = clock.now();
            exchange.fresh = true;
            exchange.phase = Phase::Connect;
            if !self.connect(slot, now, port) {
                self.fail(desk, clock, slot, Fault::Connect);
            } else if !self.exchanges[slot].is_connecting() {
                self.write(desk, clock, slot);
            }
        }
    }

    /// Writes what is left of the request.
    #[inline]
    fn write(&mut self, desk: &mut Desk, clock: &Clock, slot: usize) {
        let exchange = &mut self.exchanges[slot];
        let Some(wire) = &exchange.wire else { return };
        let bytes: &[u8] = match &exchange.follow {
            Some(bytes) => bytes,
            None => &self.requests[usize::from(exchange.query)].bytes,
        };
        match wire.send(&bytes[exchange.written..]) {
            Ok(sent) if exchange.written + sent == bytes.len() => {
                if exchange.phase == Phase::Write {
                    // It was watched for room.
                    let token = token(slot, exchange.generation);
                    let _ = self.poll.change(wire, token, EventFlags::IN);
                }
                exchange.phase = Phase::Head;
            }
            Ok(sent) => {
                exchange.written += sent;
                if exchange.phase != Phase::Write {
                    exchange.phase = Phase::Write;
                    let token = token(slot, exchange.generation);
                    let _ = self.poll.change(wire, token, EventFlags::IN | EventFlags::OUT);
                }
            }
            Err(_) => self.broken(desk, clock, slot, Fault::Send),
        }
    }

    /// Something happened on a slot's connection.
    #[inline]
    fn event(&mut self, desk: &mut Desk, clock: &Clock, token: u64, flags: EventFlags) {
        let slot = token as u32 as usize;
        let exchange = &mut self.exchanges[slot];
        if exchange.generation != (token >> 32) as u32 {
            self.aside(slot, (token >> 32) as u32);
            return;
        }
        match exchange.phase {
            Phase::Head | Phase::Body => self.read(desk, clock, slot),
            Phase::Connect => {
                if self.connected(slot, clock.now()) {
                    self.write(desk, clock, slot);
                } else if self.exchanges[slot].wire.is_none() {
                    self.fail(desk, clock, slot, Fault::Connect);
                }
            }
            Phase::Write => {
                if flags.contains(EventFlags::OUT) {
                    self.write(desk, clock, slot);
                }
                let exchange = &mut self.exchanges[slot];
                if exchange.phase == Phase::Write && flags.contains(EventFlags::IN) {
                    // An answer before the request was whole: no other can follow it.
                    exchange.phase = Phase::Head;
                    exchange.keep = false;
                    self.read(desk, clock, slot);
                }
            }
            Phase::Free | Phase::Pause | Phase::Rest => {
                if exchange.is_connecting() {
                    self.connected(slot, clock.now());
                } else {
                    // Closed, or bytes that nobody asked for.
                    self.tally.closed_by_server += u64::from(exchange.wire.is_some());
                    exchange.close();
                }
            }
            Phase::Sip => self.watch(slot, EventFlags::empty()),
        }
    }

    /// An event of the connection that a redirect left aside: it is of no more use.
    #[cold]
    fn aside(&mut self, slot: usize, generation: u32) {
        let exchange = &mut self.exchanges[slot];
        if exchange.aside.as_ref().is_some_and(|aside| aside.generation == generation) {
            self.tally.closed_by_server += 1;
            exchange.aside = None;
        }
    }

    fn watch(&self, slot: usize, flags: EventFlags) {
        let exchange = &self.exchanges[slot];
        if let Some(wire) = &exchange.wire {
            let _ = self.poll.change(wire, token(slot, exchange.generation), flags);
        }
    }
}
