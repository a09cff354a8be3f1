//! Plain HTTP/1.1 on epoll: one thread, its own connections, nothing shared.
//!
//! A small response costs one `recv` and one `send`, and a share of an
//! `epoll_wait`. Of a large one, the head and at most 16 KiB are copied; the rest
//! is thrown away in the kernel, a quarter of a MiB and more at a time.

mod chunked;
mod exchange;
mod head;
mod socket;
mod timer;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rustix::event::epoll::EventFlags;

use self::exchange::{Body, Exchange, Phase};
use self::head::{Framing, Head};
use self::socket::{DISCARD, Discard, Got, Wire};
use self::timer::Poll;
use super::address::Address;
use super::carrier::{Carrier, ConnectionTally, Post};
use super::check;
use super::clock::{Clock, nanos};
use super::course::{self, Course, Follow, Reply, Then};
use super::desk::{Desk, Step, Ticket};
use super::error::LoadError;
use super::record::{Ending, Fault, Nanos};
use super::spec::{Endpoint, Kind, Pacing, RungSpec};

/// What is read at once while a head, or a body that is looked at, is under way.
const READ: usize = 16 << 10;
/// From this much of a body on, bytes are thrown away in the kernel.
const LARGE: u64 = 32 << 10;
/// Bytes of a large body that must have come before the kernel wakes us.
const LOW_WATER: u64 = 256 << 10;
/// How long a slot rests after a connection that could not be made.
const REST: Nanos = 10_000_000;
/// How long cleaning up after a job may take.
const CLEANING: Nanos = 5_000_000_000;

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
                    Step::Done => return Ok(()),
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
                    // after the other answers.
                    while let Step::Send(ticket) = desk.step(clock.now()) {
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

    /// Reads what is there.
    #[inline]
    fn read(&mut self, desk: &mut Desk, clock: &Clock, slot: usize) {
        if self.exchanges[slot].phase == Phase::Head {
            self.read_head(desk, clock, slot);
        } else {
            self.read_body(desk, clock, slot);
        }
    }

    #[inline]
    fn read_head(&mut self, desk: &mut Desk, clock: &Clock, slot: usize) {
        let exchange = &mut self.exchanges[slot];
        let Some(wire) = &exchange.wire else { return };
        let most = READ.min(self.sip);
        let bytes = match wire.read(&mut self.buffer[..most]) {
            Got::Bytes(bytes) => bytes,
            Got::Later => return,
            Got::End => return self.broken(desk, clock, slot, Fault::ClosedHead),
            Got::Broken => return self.broken(desk, clock, slot, Fault::ResetHead),
        };
        let now = clock.now();
        desk.first_byte(slot, now);
        // The buffer is taken along, so that the slot can be changed meanwhile.
        let buffer = std::mem::take(&mut self.buffer);
        if exchange.head.is_empty() {
            self.take_head(desk, clock, slot, &buffer[..bytes], now);
        } else {
            let mut head = std::mem::take(&mut exchange.head);
            head.extend_from_slice(&buffer[..bytes]);
            self.take_head(desk, clock, slot, &head, now);
        }
        self.buffer = buffer;
    }

    /// Looks at all that came of a response so far: a head, if it is whole, and
    /// what came of the body with it.
    #[inline]
    fn take_head(
        &mut self,
        desk: &mut Desk,
        clock: &Clock,
        slot: usize,
        mut data: &[u8],
        now: Nanos,
    ) {
        loop {
            let exchange = &mut self.exchanges[slot];
            match head::parse(data, exchange.is_head) {
                Ok(Some(head)) if head.status < 200 => {
                    if head.status == 101 {
                        return self.fail(desk, clock, slot, Fault::BadHead);
                    }
                    // An interim response: the real one follows.
                    data = &data[head.length..];
                    if data.is_empty() {
                        return;
                    }
                }
                Ok(Some(head)) => {
                    let rest = &data[head.length..];
                    self.keep_head(slot, &head);
                    return self.take_body(desk, clock, slot, rest, now);
                }
                Ok(None) => {
                    exchange.head.extend_from_slice(data);
                    return;
                }
                Err(_) => return self.fail(desk, clock, slot, Fault::BadHead),
            }
        }
    }

    /// Keeps of a head what is needed.
    #[inline]
    fn keep_head(&mut self, slot: usize, head: &Head<'_>) {
        let exchange = &mut self.exchanges[slot];
        exchange.status = head.status;
        exchange.keep &= head.keep && self.spec.keep_alive;
        exchange.bytes = 0;
        exchange.body = match head.framing {
            Framing::Length(left) => Body::Length(left),
            Framing::Chunked => Body::Chunked(chunked::Chunked::default()),
            Framing::Close => Body::Close,
        };
        exchange.phase = Phase::Body;
        exchange.location = None;
        if course::is_redirect(head.status) || head.status == 201 {
            exchange.location =
                head.location.map(|location| String::from_utf8_lossy(location).into_owned());
        }
        if exchange.collect {
            exchange.content_type.clear();
            let content_type = head.content_type.unwrap_or_default();
            exchange.content_type.push_str(&String::from_utf8_lossy(content_type));
        }
    }

    /// Takes bytes of a body that were read.
    #[inline]
    fn take_body(&mut self, desk: &mut Desk, clock: &Clock, slot: usize, data: &[u8], now: Nanos) {
        match self.exchanges[slot].take(data) {
            Ok(true) => self.complete(desk, clock, slot, now),
            Ok(false) => self.expect_more(slot, data.len(), now),
            Err(fault) => self.fail(desk, clock, slot, fault),
        }
    }

    /// Reads a body on: what is looked at, or framing, into the buffer; all else is
    /// thrown away.
    fn read_body(&mut self, desk: &mut Desk, clock: &Clock, slot: usize) {
        loop {
            let exchange = &mut self.exchanges[slot];
            let thrown = exchange.can_be_thrown_away(LARGE);
            let Some(wire) = &mut exchange.wire else { return };
            let most = if thrown > 0 { thrown.min(DISCARD) } else { READ * 4 }.min(self.sip);
            let buffer = &mut self.buffer[..most];
            let got =
                if thrown > 0 { wire.discard(buffer, self.discard) } else { wire.read(buffer) };
            let bytes = match got {
                Got::Bytes(bytes) => bytes,
                Got::Later => return,
                Got::End if exchange.ends_by_close() => {
                    return self.complete(desk, clock, slot, clock.now());
                }
                Got::End => return self.fail(desk, clock, slot, Fault::ClosedBody),
                Got::Broken => return self.fail(desk, clock, slot, Fault::ResetBody),
            };
            if thrown > 0 {
                if exchange.thrown_away(bytes) {
                    return self.complete(desk, clock, slot, clock.now());
                }
                self.expect_more(slot, bytes, if self.sip == usize::MAX { 0 } else { clock.now() });
            } else {
                let buffer = std::mem::take(&mut self.buffer);
                self.take_body(desk, clock, slot, &buffer[..bytes], clock.now());
                self.buffer = buffer;
            }
            // Less than was asked for: there is no more yet.
            if bytes < most || self.exchanges[slot].phase != Phase::Body {
                return;
            }
        }
    }

    /// More of a body is to come: when to look again.
    #[inline]
    fn expect_more(&mut self, slot: usize, bytes: usize, now: Nanos) {
        let exchange = &mut self.exchanges[slot];
        if let Some(rate) = self.spec.read_rate {
            // A slow reader takes its time over what it has read.
            let pause = (bytes as u64).saturating_mul(1_000_000_000) / rate;
            exchange.phase = Phase::Sip;
            exchange.due = now + pause;
            self.alarms.push(Reverse((now + pause, slot)));
            self.watch(slot, EventFlags::empty());
            return;
        }
        let thrown = exchange.can_be_thrown_away(LARGE) as u64;
        let low = if thrown >= LARGE { thrown.min(LOW_WATER) as usize } else { 1 };
        if let Some(wire) = &mut exchange.wire {
            wire.wake_at(low);
        }
    }

    /// A response has come whole.
    #[inline]
    fn complete(&mut self, desk: &mut Desk, clock: &Clock, slot: usize, now: Nanos) {
        let exchange = &mut self.exchanges[slot];
        exchange.served += 1;
        if let Some(wire) = &mut exchange.wire {
            wire.wake_at(1);
        }
        if exchange.cleaning {
            return self.release(desk, slot, now);
        }
        if course::goes_on(&self.spec, exchange.status) {
            return self.go_on(desk, clock, slot, now);
        }
        self.conclude(desk, slot, now, Fault::None);
    }

    /// The logical request may take another response: asks its course.
    #[cold]
    fn go_on(&mut self, desk: &mut Desk, clock: &Clock, slot: usize, now: Nanos) {
        let exchange = &mut self.exchanges[slot];
        let course = exchange
            .course
            .get_or_insert_with(|| Box::new(Course::new(&self.spec, desk.request(exchange.query))));
        let then = course.after(Reply {
            status: exchange.status,
            location: exchange.location.as_deref(),
            body: &exchange.collected,
        });
        match then {
            Then::Finish(fault) => self.conclude(desk, slot, now, fault),
            Then::Follow(follow) => {
                desk.follow(slot);
                self.follow(desk, clock, slot, &follow, now);
            }
        }
    }

    /// Sends the next request of a logical one, now or after a pause.
    fn follow(&mut self, desk: &mut Desk, clock: &Clock, slot: usize, next: &Follow, now: Nanos) {
        let endpoint = Endpoint { port: next.port, ..self.spec.endpoint.clone() };
        let (authority, target) = (endpoint.authority(), &next.request.target);
        let bytes = head::request(&authority, target, &next.request, self.spec.keep_alive);
        let exchange = &mut self.exchanges[slot];
        if !exchange.keep {
            exchange.close();
        }
        exchange.turn(bytes, next);
        if next.wait > 0 {
            exchange.phase = Phase::Pause;
            exchange.due = now + next.wait;
            self.alarms.push(Reverse((exchange.due, slot)));
        } else {
            self.send_to(desk, clock, slot, next.port);
        }
    }

    /// A request that was answered has ended: checks it where it is to be, records
    /// it, and frees its slot.
    #[inline]
    fn conclude(&mut self, desk: &mut Desk, slot: usize, now: Nanos, mut fault: Fault) {
        let exchange = &mut self.exchanges[slot];
        let checked = exchange.check && exchange.collect && fault == Fault::None;
        if checked {
            let expect = &desk.request(exchange.query).expect;
            let failure =
                check::check(expect, exchange.status, &exchange.content_type, &exchange.collected);
            fault = desk.checked(exchange.query, failure);
        }
        let ending = exchange.ending(slot, fault, checked);
        self.record(desk, slot, now, ending);
    }

    /// Records how a request ended. A job is deleted before the slot is free.
    #[inline]
    fn record(&mut self, desk: &mut Desk, slot: usize, now: Nanos, ending: Ending) {
        let keep = desk.finish(slot, now, ending);
        let exchange = &mut self.exchanges[slot];
        exchange.keep &= keep;
        if exchange.course.is_some() && self.clean_up(slot, now) {
            return;
        }
        self.release(desk, slot, now);
    }

    /// Starts to delete a slot's job, if it has one.
    #[cold]
    fn clean_up(&mut self, slot: usize, now: Nanos) -> bool {
        let exchange = &mut self.exchanges[slot];
        let Some(follow) = exchange.course.as_mut().and_then(|course| course.clean_up()) else {
            return false;
        };
        exchange.cleaning = true;
        let endpoint = Endpoint { port: follow.port, ..self.spec.endpoint.clone() };
        let target = &follow.request.target;
        let bytes = head::request(&endpoint.authority(), target, &follow.request, false);
        if !exchange.keep {
            exchange.close();
        }
        exchange.turn(bytes, &follow);
        exchange.keep = false;
        // It is sent when the alarm rings, which is at once.
        exchange.phase = Phase::Pause;
        exchange.due = now;
        self.alarms.push(Reverse((now, slot)));
        self.alarms.push(Reverse((now + CLEANING, slot)));
        true
    }

    /// Frees a slot.
    #[inline]
    fn release(&mut self, desk: &mut Desk, slot: usize, now: Nanos) {
        let home = self.spec.endpoint.port;
        let exchange = &mut self.exchanges[slot];
        exchange.phase = Phase::Free;
        if !exchange.keep {
            exchange.close();
        }
        if exchange.port != home {
            exchange.swap(home);
        }
        exchange.course = None;
        exchange.cleaning = false;
        desk.release(slot, now);
    }

    /// A connection broke before the head was whole. On a connection that was kept,
    /// before any byte of the response, that is no fault of the request: the server
    /// closed it while it was idle. It is sent once more, if it may be.
    #[cold]
    fn broken(&mut self, desk: &mut Desk, clock: &Clock, slot: usize, fault: Fault) {
        let exchange = &mut self.exchanges[slot];
        let again = match &exchange.follow {
            Some(_) => exchange.is_idempotent,
            None => self.requests[usize::from(exchange.query)].is_idempotent,
        };
        let idle = exchange.served > 0 && exchange.head.is_empty();
        if idle && again && !exchange.retried && !exchange.cleaning {
            self.tally.closed_by_server += 1;
            exchange.retried = true;
            exchange.written = 0;
            exchange.close();
            let port = exchange.port;
            return self.send_to(desk, clock, slot, port);
        }
        self.fail(desk, clock, slot, fault);
    }

    /// A request failed, and its connection with it.
    #[cold]
    fn fail(&mut self, desk: &mut Desk, clock: &Clock, slot: usize, fault: Fault) {
        let now = clock.now();
        let exchange = &mut self.exchanges[slot];
        exchange.close();
        exchange.keep = false;
        if exchange.cleaning {
            return self.release(desk, slot, now);
        }
        let ending = exchange.ending(slot, fault, false);
        if matches!(fault, Fault::Connect | Fault::ConnectTimeout) {
            // A server that refuses is not asked a hundred thousand times a second.
            desk.finish(slot, now, ending);
            exchange.phase = Phase::Rest;
            exchange.due = now + REST;
            self.alarms.push(Reverse((exchange.due, slot)));
            return;
        }
        self.record(desk, slot, now, ending);
    }

    /// Slots whose time has come.
    #[inline]
    fn ring(&mut self, desk: &mut Desk, clock: &Clock, now: Nanos) {
        while let Some(Reverse((at, slot))) = self.alarms.peek().copied()
            && at <= now
        {
            self.alarms.pop();
            let exchange = &mut self.exchanges[slot];
            let is_due = exchange.due <= now;
            match exchange.phase {
                Phase::Pause if is_due => {
                    let port = exchange.next_port;
                    exchange.phase = Phase::Free;
                    self.send_to(desk, clock, slot, port);
                }
                Phase::Rest if is_due => self.release(desk, slot, now),
                Phase::Sip if is_due => {
                    exchange.phase = Phase::Body;
                    self.watch(slot, EventFlags::IN);
                }
                // Cleaning up took too long.
                Phase::Connect | Phase::Write | Phase::Head | Phase::Body
                    if exchange.cleaning && now >= exchange.due + CLEANING =>
                {
                    self.fail(desk, clock, slot, Fault::TimeoutHead);
                }
                _ => {}
            }
        }
    }

    /// Requests and connections that take too long.
    #[inline]
    fn look(&mut self, desk: &mut Desk, clock: &Clock, now: Nanos) {
        while let Some(slot) = desk.expired(now) {
            let exchange = &mut self.exchanges[slot];
            let fault = match exchange.phase {
                Phase::Connect => Fault::ConnectTimeout,
                Phase::Body | Phase::Sip => Fault::TimeoutBody,
                _ => Fault::TimeoutHead,
            };
            self.tally.failed += u64::from(fault == Fault::ConnectTimeout);
            self.fail(desk, clock, slot, fault);
        }
        if now < self.next_look {
            return;
        }
        self.next_look = now + (self.connect_timeout / 20).clamp(1_000_000, 100_000_000);
        for slot in 0..self.exchanges.len() {
            let exchange = &mut self.exchanges[slot];
            let Some(since) = exchange.connecting_since else { continue };
            if now.saturating_sub(since) >= self.connect_timeout {
                self.tally.failed += 1;
                if exchange.phase == Phase::Connect {
                    self.fail(desk, clock, slot, Fault::ConnectTimeout);
                } else {
                    exchange.close();
                }
            }
        }
    }
}
