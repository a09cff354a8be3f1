//! What a server says of an HTTP/2 connection as a whole, read on its way to
//! hyper, which tells of a stream's end but not of its number.
//!
//! Frame heads alone are looked at: GOAWAY names the last stream that the server
//! took, RST_STREAM the streams that it gave up. Streams get their numbers in the
//! order in which hyper takes them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const HEAD: usize = 9;
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;
const REFUSED_STREAM: u32 = 7;

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Closed,
    Reset,
}

/// What is known of a connection.
#[derive(Debug, Default)]
pub struct Track {
    /// The last stream that the server will answer, once it said so.
    goaway: Cell<Option<u32>>,
    goaways: Cell<u64>,
    /// Streams that the server reset, and why.
    resets: RefCell<HashMap<u32, u32>>,
    end: Cell<Option<End>>,
    /// Streams so far.
    streams: Cell<u32>,
}

impl Track {
    /// The number of the next stream. They are odd, from 1.
    pub fn next_stream(&self) -> u32 {
        let number = self.streams.get() * 2 + 1;
        self.streams.set(self.streams.get() + 1);
        number
    }

    /// Whether the server never began with a stream: it lies behind the last of a
    /// GOAWAY, or was refused.
    pub fn is_unprocessed(&self, stream: u32) -> bool {
        self.goaway.get().is_some_and(|last| stream > last)
            || self.resets.borrow().get(&stream) == Some(&REFUSED_STREAM)
    }

    /// Whether the server reset a stream.
    pub fn is_reset(&self, stream: u32) -> bool {
        self.resets.borrow().contains_key(&stream)
    }

    /// The end of the connection, if it was the server's.
    pub fn end(&self) -> Option<End> {
        self.end.get()
    }

    /// Whether the server has said that it takes no more streams.
    pub fn is_going_away(&self) -> bool {
        self.goaway.get().is_some()
    }

    /// GOAWAYs so far.
    pub fn goaways(&self) -> u64 {
        self.goaways.get()
    }

    fn frame(&self, kind: u8, stream: u32, payload: &[u8]) {
        let word = |at: usize| {
            let bytes = payload.get(at..at + 4)?;
            Some(bytes.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)))
        };
        match kind {
            GOAWAY => {
                // A first one may name the largest number there is, to be lowered.
                self.goaway.set(word(0).map(|last| last & 0x7fff_ffff));
                self.goaways.set(self.goaways.get() + 1);
            }
            RST_STREAM => {
                if let Some(code) = word(0) {
                    self.resets.borrow_mut().insert(stream, code);
                }
            }
            _ => {}
        }
    }
}

/// Cuts what comes into frames.
#[derive(Debug, Default)]
struct Cutter {
    head: [u8; HEAD],
    head_len: usize,
    /// Bytes left of the payload.
    left: usize,
    /// The payload's first bytes, of the frames that are looked into.
    payload: Vec<u8>,
}

impl Cutter {
    fn take(&mut self, mut bytes: &[u8], track: &Track) {
        while !bytes.is_empty() {
            if self.left > 0 {
                let taken = self.left.min(bytes.len());
                if matches!(self.head[3], GOAWAY | RST_STREAM) && self.payload.len() < 8 {
                    self.payload.extend_from_slice(&bytes[..taken.min(8)]);
                }
                self.left -= taken;
                bytes = &bytes[taken..];
            } else {
                let taken = (HEAD - self.head_len).min(bytes.len());
                self.head[self.head_len..][..taken].copy_from_slice(&bytes[..taken]);
                self.head_len += taken;
                bytes = &bytes[taken..];
                if self.head_len < HEAD {
                    return;
                }
                let [a, b, c, ..] = self.head.map(usize::from);
                self.left = a << 16 | b << 8 | c;
            }
            if self.left == 0 {
                let [.., a, b, c, d] = self.head.map(u32::from);
                let stream = (a << 24 | b << 16 | c << 8 | d) & 0x7fff_ffff;
                track.frame(self.head[3], stream, &self.payload);
                self.head_len = 0;
                self.payload.clear();
            }
        }
    }
}

/// A connection that is listened to on its way to hyper.
#[derive(Debug)]
pub struct Sniff<S> {
    inner: S,
    track: Rc<Track>,
    /// Of HTTP/2 alone.
    cutter: Option<Cutter>,
}

impl<S> Sniff<S> {
    pub fn new(inner: S, track: Rc<Track>, is_http2: bool) -> Self {
        Self { inner, track, cutter: is_http2.then(Cutter::default) }
    }

    fn failed(&self, error: &io::Error) {
        let end = match error.kind() {
            // TLS that ends without a farewell.
            io::ErrorKind::UnexpectedEof => End::Closed,
            _ => End::Reset,
        };
        self.track.end.set(self.track.end.get().or(Some(end)));
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Sniff<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut this.inner).poll_read(context, buffer));
        match &read {
            Err(error) => this.failed(error),
            Ok(()) if buffer.filled().len() == before => {
                this.track.end.set(this.track.end.get().or(Some(End::Closed)));
            }
            Ok(()) => {
                if let Some(cutter) = &mut this.cutter {
                    cutter.take(&buffer.filled()[before..], &this.track);
                }
            }
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Sniff<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.inner).poll_write(context, bytes));
        Poll::Ready(written.inspect_err(|error| this.failed(error)))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.inner).poll_write_vectored(context, slices));
        Poll::Ready(written.inspect_err(|error| this.failed(error)))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, payload.len() as u8, kind, 0];
        bytes.extend(stream.to_be_bytes());
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn frames_are_found_however_they_are_cut() {
        let goaway = [0x80, 0, 0, 5, 0, 0, 0, 0, b'b', b'y', b'e'];
        let bytes = [
            frame(4, 0, &[]),
            frame(0, 1, &[7; 200]),
            frame(RST_STREAM, 3, &[0, 0, 0, 7]),
            frame(RST_STREAM, 5, &[0, 0, 0, 2]),
            frame(GOAWAY, 0, &goaway),
            frame(0, 5, &[GOAWAY; 30]),
        ]
        .concat();
        for size in 1..40 {
            let (track, mut cutter) = (Track::default(), Cutter::default());
            bytes.chunks(size).for_each(|part| cutter.take(part, &track));
            let told =
                [1, 3, 5, 7].map(|stream| (track.is_unprocessed(stream), track.is_reset(stream)));
            assert_eq!(
                told,
                [(false, false), (true, true), (false, true), (true, false)],
                "{size}"
            );
            assert_eq!(track.goaways(), 1);
        }
    }

    #[test]
    fn streams_are_numbered_by_the_odd_numbers() {
        let track = Track::default();
        assert_eq!([(); 3].map(|()| track.next_stream()), [1, 3, 5]);
    }
}
