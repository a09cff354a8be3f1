//! How requests end: answered, failed, too late; and what follows.

use std::cmp::Reverse;

use rustix::event::epoll::EventFlags;

use super::exchange::Phase;
use super::{CLEANING, Http1, REST, SWEEPING, head};
use crate::load::check::Sampled;
use crate::load::clock::Clock;
use crate::load::course::{self, Course, Follow, Reply, Then};
use crate::load::desk::Desk;
use crate::load::error::LoadError;
use crate::load::record::{Ending, Fault, Nanos};
use crate::load::spec::Endpoint;

impl Http1 {
    /// A response has come whole.
    #[inline]
    pub(super) fn complete(&mut self, desk: &mut Desk, clock: &Clock, slot: usize, now: Nanos) {
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
    pub(super) fn go_on(&mut self, desk: &mut Desk, clock: &Clock, slot: usize, now: Nanos) {
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
    pub(super) fn follow(
        &mut self,
        desk: &mut Desk,
        clock: &Clock,
        slot: usize,
        next: &Follow,
        now: Nanos,
    ) {
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

    /// A request that was answered has ended: keeps its body where that is to be
    /// checked, records it, and frees its slot.
    #[inline]
    pub(super) fn conclude(&mut self, desk: &mut Desk, slot: usize, now: Nanos, fault: Fault) {
        let exchange = &mut self.exchanges[slot];
        let checked = exchange.check && exchange.collect && fault == Fault::None;
        if checked {
            let response = Sampled {
                status: exchange.status,
                content_type: std::mem::take(&mut exchange.content_type),
                body: std::mem::take(&mut exchange.collected),
            };
            desk.hold(slot, response);
        }
        let ending = exchange.ending(slot, fault, checked);
        self.record(desk, slot, now, ending);
    }

    /// Records how a request ended. A job is deleted before the slot is free.
    #[inline]
    pub(super) fn record(&mut self, desk: &mut Desk, slot: usize, now: Nanos, ending: Ending) {
        let keep = desk.finish(slot, now, ending);
        let exchange = &mut self.exchanges[slot];
        exchange.keep &= keep;
        if exchange.course.is_some() && self.clean_up(slot, now) {
            return;
        }
        self.release(desk, slot, now);
    }

    /// The rung is over: deletes the jobs that still run, for a server that goes on
    /// with them is not at rest for the next rung. Their requests were aborted.
    #[cold]
    pub(super) fn sweep(&mut self, desk: &mut Desk, clock: &Clock) -> Result<(), LoadError> {
        let begun = clock.now();
        for slot in 0..self.exchanges.len() {
            let exchange = &mut self.exchanges[slot];
            if exchange.course.is_none() || exchange.cleaning {
                continue;
            }
            // An answer to something else may be under way on its connection.
            exchange.close();
            exchange.keep = false;
            // One that rests after a failed connection was recorded already.
            if self.clean_up(slot, begun) && desk.is_busy(slot) {
                desk.finish(slot, begun, Ending { fault: Fault::Aborted, ..Ending::default() });
            }
        }
        let mut now = begun;
        while now < begun + SWEEPING && self.exchanges.iter().any(|exchange| exchange.cleaning) {
            self.ring(desk, clock, now);
            let alarm = self.alarms.peek().map_or(Nanos::MAX, |Reverse((at, _))| *at);
            self.poll
                .wait(now, alarm.min(begun + SWEEPING), false)
                .map_err(LoadError::system("epoll_wait"))?;
            for at in 0..self.poll.len() {
                if let Some((token, flags)) = self.poll.event(at) {
                    self.event(desk, clock, token, flags);
                }
            }
            now = clock.now();
        }
        Ok(())
    }

    /// Starts to delete a slot's job, if it has one.
    #[cold]
    pub(super) fn clean_up(&mut self, slot: usize, now: Nanos) -> bool {
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
    pub(super) fn release(&mut self, desk: &mut Desk, slot: usize, now: Nanos) {
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
        self.freed = Some(now);
    }

    /// A connection broke before the head was whole. On a connection that was kept,
    /// before any byte of the response, that is no fault of the request: the server
    /// closed it while it was idle. It is sent once more, if it may be.
    #[cold]
    pub(super) fn broken(&mut self, desk: &mut Desk, clock: &Clock, slot: usize, fault: Fault) {
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
    pub(super) fn fail(&mut self, desk: &mut Desk, clock: &Clock, slot: usize, fault: Fault) {
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
    pub(super) fn ring(&mut self, desk: &mut Desk, clock: &Clock, now: Nanos) {
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
    pub(super) fn look(&mut self, desk: &mut Desk, clock: &Clock, now: Nanos) {
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
