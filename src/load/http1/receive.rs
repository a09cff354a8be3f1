//! What a server sends: heads, and bodies that are counted, kept or thrown away.

use std::cmp::Reverse;

use rustix::event::epoll::EventFlags;

use super::exchange::{Body, Phase};
use super::head::{self, Framing, Head};
use super::socket::{DISCARD, Got};
use super::{Http1, LARGE, READ, chunked};
use crate::load::clock::Clock;
use crate::load::course;
use crate::load::desk::Desk;
use crate::load::low_water;
use crate::load::record::{Fault, Nanos};

impl Http1 {
    /// Reads what is there.
    #[inline]
    pub(super) fn read(&mut self, desk: &mut Desk, clock: &Clock, slot: usize) {
        if self.exchanges[slot].phase == Phase::Head {
            self.read_head(desk, clock, slot);
        } else {
            self.read_body(desk, clock, slot);
        }
    }

    #[inline]
    pub(super) fn read_head(&mut self, desk: &mut Desk, clock: &Clock, slot: usize) {
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
    pub(super) fn take_head(
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
    pub(super) fn keep_head(&mut self, slot: usize, head: &Head<'_>) {
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
    pub(super) fn take_body(
        &mut self,
        desk: &mut Desk,
        clock: &Clock,
        slot: usize,
        data: &[u8],
        now: Nanos,
    ) {
        match self.exchanges[slot].take(data) {
            Ok(true) => self.complete(desk, clock, slot, now),
            Ok(false) => self.expect_more(slot, data.len(), now),
            Err(fault) => self.fail(desk, clock, slot, fault),
        }
    }

    /// Reads a body on: what is looked at, or framing, into the buffer; all else is
    /// thrown away.
    pub(super) fn read_body(&mut self, desk: &mut Desk, clock: &Clock, slot: usize) {
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
    pub(super) fn expect_more(&mut self, slot: usize, bytes: usize, now: Nanos) {
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
        let low = wake_at(thrown);
        if let Some(wire) = &mut exchange.wire {
            wire.wake_at(low);
        }
    }
}

/// Bytes that must have come before the kernel wakes us, of a body of which so many are
/// to be thrown away. All of a rest is not waited for: what is not read is not
/// acknowledged either, and a server that waits for that is slowed down, by the kernel's
/// timer of 40 ms at worst.
fn wake_at(left: u64) -> usize {
    if left >= low_water::MOST as u64 { low_water::MOST } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_body_is_read_as_it_comes() {
        for (left, low) in [(0, 1), (49_395, 1), ((256 << 10) - 1, 1), (256 << 10, 256 << 10)] {
            assert_eq!(wake_at(left), low, "{left}");
        }
        assert_eq!(wake_at(3_386_900), 256 << 10);
    }
}
