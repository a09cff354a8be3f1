//! A connection of HTTP/2 with its streams, made for load: requests are the same
//! bytes each time, responses are counted and thrown away, and a stream is woken
//! once, at its end.
//!
//! hyper's own spends most of its time on what a generator has no use for (a task
//! and three channels for each stream, header maps, bodies as streams of buffers),
//! and does not say which streams a GOAWAY left unprocessed.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::frame::{self, Cutter, Head, Piece};
use crate::load::record::{Fault, NEVER, Nanos};

mod stream;
mod upload;

pub use stream::Answer;
use stream::{Broken, Stream};

/// Flow control that never holds a server back: what is read is thrown away.
const WIDE: u32 = (1 << 31) - 1;
/// Flow control of a slow reader: the server is to feel it. What every connection
/// and stream begins with.
const NARROW: u32 = 65_535;
/// Streams that a server allows before it has said how many.
const STREAMS: usize = 100;

const CANCEL: u32 = 8;
const REFUSED_STREAM: u32 = 7;

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Closed,
    Reset,
    /// The server broke the protocol.
    Broken,
}

/// A request as it goes onto a stream.
#[derive(Debug)]
pub struct Sent<'a> {
    pub block: &'a [u8],
    pub body: Option<&'a Bytes>,
    pub is_head: bool,
    /// Bytes of the response's body to be kept.
    pub most: usize,
}

/// See the module.
#[derive(Debug)]
pub struct Mux {
    out: Vec<u8>,
    written: usize,
    cutter: Cutter,
    /// Streams from number `base` on: 1, 3, 5, … An entry is none once its owner has
    /// taken it.
    streams: VecDeque<Option<Stream>>,
    base: u32,
    /// Streams that have not ended.
    active: usize,
    /// As the server allows.
    most_streams: usize,
    most_frame: usize,
    stream_window: i64,
    window: i64,
    /// What we allow, on the connection and on each stream.
    allowed: u32,
    received: u32,
    /// A header block that came in parts: its stream, whether it ends it, its bytes.
    block: Option<(u32, bool, Vec<u8>)>,
    last: Option<u32>,
    pub goaways: u64,
    end: Option<End>,
    /// Who writes.
    writer: Option<Waker>,
    /// Who waits for a stream to be free.
    waiting: VecDeque<Waker>,
}

impl Mux {
    /// A connection that begins: the preface is the first that is to be written.
    pub fn new(is_slow: bool) -> Self {
        let allowed = if is_slow { NARROW } else { WIDE };
        let mut out = frame::PREFACE.to_vec();
        // No table, no pushes, and windows as wide as they are.
        let settings = [(1_u16, 0_u32), (2, 0), (4, allowed)];
        frame::put_head(&mut out, settings.len() * 6, frame::SETTINGS, 0, 0);
        for (name, value) in settings {
            out.extend_from_slice(&name.to_be_bytes());
            out.extend_from_slice(&value.to_be_bytes());
        }
        if allowed > NARROW {
            frame::put_number(&mut out, frame::WINDOW_UPDATE, 0, allowed - NARROW);
        }
        Self {
            out,
            written: 0,
            cutter: Cutter::default(),
            streams: VecDeque::new(),
            base: 1,
            active: 0,
            most_streams: STREAMS,
            most_frame: 16 << 10,
            stream_window: i64::from(NARROW),
            window: i64::from(NARROW),
            allowed,
            received: 0,
            block: None,
            last: None,
            goaways: 0,
            end: None,
            writer: None,
            waiting: VecDeque::new(),
        }
    }

    /// Whether no more requests can be sent on it.
    pub fn is_over(&self) -> bool {
        self.end.is_some() || self.last.is_some() || self.base > 1 << 30
    }

    /// Sends a request once the server allows one more stream: the stream's number,
    /// or none where the connection is over.
    pub fn poll_send(&mut self, context: &mut Context<'_>, sent: &Sent<'_>) -> Poll<Option<u32>> {
        if self.is_over() {
            return Poll::Ready(None);
        }
        if self.active >= self.most_streams {
            self.waiting.push_back(context.waker().clone());
            return Poll::Pending;
        }
        let number = self.base + 2 * self.streams.len() as u32;
        let has_body = sent.body.is_some_and(|body| !body.is_empty());
        let mut flags = if has_body { 0 } else { frame::END_STREAM };
        let mut kind = frame::HEADERS;
        let mut rest = sent.block;
        loop {
            let (part, after) = rest.split_at(rest.len().min(self.most_frame));
            flags |= if after.is_empty() { frame::END_HEADERS } else { 0 };
            frame::put_head(&mut self.out, part.len(), kind, flags, number);
            self.out.extend_from_slice(part);
            if after.is_empty() {
                break;
            }
            (rest, kind, flags) = (after, frame::CONTINUATION, 0);
        }
        self.streams.push_back(Some(Stream {
            answer: Answer { first_byte: NEVER, is_whole: sent.most > 0, ..Answer::default() },
            most: sent.most,
            announced: None,
            is_head: sent.is_head,
            ended: None,
            at: 0,
            waker: Some(context.waker().clone()),
            body: sent.body.filter(|_| has_body).cloned(),
            window: self.stream_window,
            received: 0,
        }));
        self.active += 1;
        if has_body {
            self.send_body(number);
        }
        self.wake_writer();
        Poll::Ready(Some(number))
    }

    /// The end of a stream: its response, or as much of it as came before the fault.
    pub fn poll_end(
        &mut self,
        context: &mut Context<'_>,
        number: u32,
    ) -> Poll<(Answer, Nanos, Fault)> {
        let Some(stream) = self.stream(number) else {
            return Poll::Ready((Answer::default(), 0, Fault::Http2));
        };
        if stream.ended.is_none() {
            let is_same = stream.waker.as_ref().is_some_and(|own| own.will_wake(context.waker()));
            if !is_same {
                stream.waker = Some(context.waker().clone());
            }
            return Poll::Pending;
        }
        let fault = stream.ended.and_then(Result::err).unwrap_or_default();
        let (answer, at) = (std::mem::take(&mut stream.answer), stream.at);
        self.forget(number);
        Poll::Ready((answer, at, fault))
    }

    /// Gives a stream up: what came of it so far.
    pub fn cancel(&mut self, number: u32) -> Option<Answer> {
        let stream = self.stream(number)?;
        let answer = std::mem::take(&mut stream.answer);
        if stream.ended.is_none() {
            frame::put_number(&mut self.out, frame::RST_STREAM, number, CANCEL);
            self.one_less();
            self.wake_writer();
        }
        self.forget(number);
        Some(answer)
    }

    /// What is to be written, and who is woken when there is more.
    pub fn unwritten(&mut self, context: &mut Context<'_>) -> &[u8] {
        if !self.writer.as_ref().is_some_and(|own| own.will_wake(context.waker())) {
            self.writer = Some(context.waker().clone());
        }
        &self.out[self.written..]
    }

    /// So many bytes are written.
    pub fn wrote(&mut self, bytes: usize) {
        self.written += bytes;
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
        }
    }

    /// Takes what has come.
    ///
    /// # Errors
    /// If it is no HTTP/2.
    pub fn take(&mut self, bytes: &[u8], now: Nanos) -> Result<(), Broken> {
        let mut cutter = std::mem::take(&mut self.cutter);
        let taken = cutter.cut(bytes, |piece| match piece {
            Piece::Data(head, part, is_last) => self.data(head, part, is_last, now),
            Piece::Frame(head, payload) => self.frame(head, payload, now),
        });
        self.cutter = cutter;
        taken
    }

    /// The connection has ended, and with it its streams.
    pub fn finish(&mut self, end: End, now: Nanos) {
        self.end = self.end.or(Some(end));
        for index in 0..self.streams.len() {
            let number = self.base + 2 * index as u32;
            let Some(stream) = self.stream(number) else { continue };
            let in_body = stream.answer.status > 0;
            let fault = match end {
                End::Closed if in_body => Fault::ClosedBody,
                End::Closed => Fault::ClosedHead,
                End::Reset if in_body => Fault::ResetBody,
                End::Reset => Fault::ResetHead,
                End::Broken => Fault::Http2,
            };
            self.over(number, Err(fault), now);
        }
        self.waiting.drain(..).for_each(Waker::wake);
    }

    fn stream(&mut self, number: u32) -> Option<&mut Stream> {
        let index = number.checked_sub(self.base)? as usize / 2;
        self.streams.get_mut(index)?.as_mut()
    }

    fn forget(&mut self, number: u32) {
        let Some(index) = number.checked_sub(self.base) else { return };
        if let Some(entry) = self.streams.get_mut(index as usize / 2) {
            *entry = None;
        }
        while matches!(self.streams.front(), Some(None)) {
            self.streams.pop_front();
            self.base += 2;
        }
    }

    fn one_less(&mut self) {
        self.active -= 1;
        if let Some(waiting) = self.waiting.pop_front() {
            waiting.wake();
        }
    }

    fn wake_writer(&self) {
        if let Some(writer) = &self.writer {
            writer.wake_by_ref();
        }
    }

    /// A stream has ended.
    fn over(&mut self, number: u32, ended: Result<(), Fault>, now: Nanos) {
        let Some(stream) = self.stream(number) else { return };
        if stream.ended.is_some() {
            return;
        }
        stream.ended = Some(ended);
        stream.at = now;
        if let Some(waker) = stream.waker.take() {
            waker.wake();
        }
        self.one_less();
    }

    /// A response has come to its end.
    fn complete(&mut self, number: u32, now: Nanos) {
        let Some(stream) = self.stream(number) else { return };
        let Answer { status, bytes, .. } = stream.answer;
        let has_no_body = stream.is_head || matches!(status, 204 | 304);
        let is_short = stream.announced.is_some_and(|length| length != bytes && !has_no_body);
        let has_unsent = stream.body.is_some();
        let ended = match status {
            0 => Err(Fault::BadHead),
            _ if is_short => Err(Fault::BadBody),
            _ => Ok(()),
        };
        if has_unsent {
            // The server wants no more of the request.
            frame::put_number(&mut self.out, frame::RST_STREAM, number, CANCEL);
        }
        self.over(number, ended, now);
    }

    fn data(&mut self, head: Head, part: &[u8], is_last: bool, now: Nanos) -> Result<(), Broken> {
        if head.stream == 0 {
            return Err(Broken);
        }
        let allowed = self.allowed;
        self.received += part.len() as u32;
        if self.received >= allowed / 2 {
            frame::put_number(&mut self.out, frame::WINDOW_UPDATE, 0, self.received);
            self.received = 0;
        }
        let Some(stream) = self.stream(head.stream) else { return Ok(()) };
        stream.received += part.len() as u32;
        let opened = (stream.received >= allowed / 2).then(|| std::mem::take(&mut stream.received));
        let content = if head.has(frame::PADDED) { unpad(part)? } else { part };
        let answer = &mut stream.answer;
        answer.bytes += content.len() as u64;
        if stream.most > 0 && stream.ended.is_none() {
            answer.is_whole &= answer.body.len() + content.len() <= stream.most;
            if answer.is_whole {
                answer.body.extend_from_slice(content);
            }
        }
        let is_more = stream.announced.is_some_and(|length| answer.bytes > length);
        if is_more && stream.ended.is_none() {
            frame::put_number(&mut self.out, frame::RST_STREAM, head.stream, 1);
            self.over(head.stream, Err(Fault::BadBody), now);
        } else if is_last && head.has(frame::END_STREAM) {
            self.complete(head.stream, now);
        } else if let Some(bytes) = opened {
            frame::put_number(&mut self.out, frame::WINDOW_UPDATE, head.stream, bytes);
        }
        Ok(())
    }

    fn frame(&mut self, head: Head, payload: &[u8], now: Nanos) -> Result<(), Broken> {
        if let Some((stream, ..)) = self.block
            && (head.kind, head.stream) != (frame::CONTINUATION, stream)
        {
            return Err(Broken);
        }
        match head.kind {
            // Only with padding: all other comes in parts.
            frame::DATA => self.data(head, payload, true, now),
            frame::HEADERS => self.headers(head, payload, now),
            frame::CONTINUATION => {
                let (stream, ends, mut block) = self.block.take().ok_or(Broken)?;
                block.extend_from_slice(payload);
                if head.has(frame::END_HEADERS) {
                    return self.fields(stream, ends, &block, now);
                }
                self.block = Some((stream, ends, block));
                Ok(())
            }
            frame::RST_STREAM => {
                let code = number(payload, 0)?;
                let fault =
                    if code == REFUSED_STREAM { Fault::Unprocessed } else { Fault::StreamReset };
                self.over(head.stream, Err(fault), now);
                Ok(())
            }
            frame::SETTINGS if head.has(frame::ACK) => Ok(()),
            frame::SETTINGS => self.settings(payload),
            frame::PING if !head.has(frame::ACK) => {
                frame::put_head(&mut self.out, payload.len(), frame::PING, frame::ACK, 0);
                self.out.extend_from_slice(payload);
                Ok(())
            }
            frame::GOAWAY => self.goaway(number(payload, 0)? & 0x7fff_ffff, now),
            frame::WINDOW_UPDATE => self.open(head.stream, i64::from(number(payload, 0)?)),
            // We allow none.
            frame::PUSH_PROMISE => Err(Broken),
            // PING's answer, PRIORITY, and whatever will be invented.
            _ => Ok(()),
        }
    }

    fn headers(&mut self, head: Head, payload: &[u8], now: Nanos) -> Result<(), Broken> {
        if head.stream == 0 {
            return Err(Broken);
        }
        let mut block = payload;
        if head.has(frame::PADDED) {
            block = unpad(block)?;
        }
        if head.has(frame::PRIORITY) {
            block = block.get(5..).ok_or(Broken)?;
        }
        let ends = head.has(frame::END_STREAM);
        if head.has(frame::END_HEADERS) {
            return self.fields(head.stream, ends, block, now);
        }
        self.block = Some((head.stream, ends, block.to_vec()));
        Ok(())
    }

    /// A whole header block: of a response, of an interim one, or trailers.
    fn fields(&mut self, number: u32, ends: bool, block: &[u8], now: Nanos) -> Result<(), Broken> {
        let Some(stream) = self.stream(number) else { return Ok(()) };
        if stream.answer.status == 0 {
            stream.read(block, now)?;
        }
        if ends {
            self.complete(number, now);
        }
        Ok(())
    }

    fn settings(&mut self, payload: &[u8]) -> Result<(), Broken> {
        for setting in payload.chunks(6) {
            let value = number(setting, 2)?;
            match setting[1] {
                3 if setting[0] == 0 => self.most_streams = value as usize,
                4 if setting[0] == 0 => {
                    let more = i64::from(value) - self.stream_window;
                    self.stream_window = i64::from(value);
                    let streams = self.streams.iter_mut().flatten();
                    streams.for_each(|stream| stream.window += more);
                }
                5 if setting[0] == 0 => self.most_frame = (value as usize).max(1),
                _ => {}
            }
        }
        frame::put_head(&mut self.out, 0, frame::SETTINGS, frame::ACK, 0);
        self.waiting.drain(..).for_each(Waker::wake);
        self.send_bodies();
        Ok(())
    }

    /// The server takes no streams behind the last.
    fn goaway(&mut self, last: u32, now: Nanos) -> Result<(), Broken> {
        self.goaways += 1;
        self.last = Some(self.last.map_or(last, |before| before.min(last)));
        for index in 0..self.streams.len() {
            let number = self.base + 2 * index as u32;
            if number > last {
                self.over(number, Err(Fault::Unprocessed), now);
            }
        }
        self.waiting.drain(..).for_each(Waker::wake);
        Ok(())
    }
}

/// A payload without its padding.
fn unpad(payload: &[u8]) -> Result<&[u8], Broken> {
    let (padding, rest) = payload.split_first().ok_or(Broken)?;
    let length = rest.len().checked_sub(usize::from(*padding)).ok_or(Broken)?;
    Ok(&rest[..length])
}

fn number(payload: &[u8], at: usize) -> Result<u32, Broken> {
    let bytes = payload.get(at..at + 4).ok_or(Broken)?;
    Ok(bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_itself_carries_no_response() {
        for kind in [frame::DATA, frame::HEADERS] {
            for (stream, is_taken) in [(1, true), (0, false)] {
                let mut bytes = Vec::new();
                frame::put_head(&mut bytes, 1, kind, frame::END_HEADERS, stream);
                // `:status 200`, or a byte.
                bytes.push(0x88);
                assert_eq!(Mux::new(false).take(&bytes, 1).is_ok(), is_taken, "{kind} {stream}");
            }
        }
    }
}
