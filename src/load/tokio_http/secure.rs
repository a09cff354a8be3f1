//! TLS over a socket, by rustls, for reading much: a client that wants bytes only to
//! count them should not pay for more copies of them than rustls makes itself.
//!
//! tokio-rustls reads 4 KiB at a time and hands records on through a queue of copies.
//! Here as much as there is, is read at once into a buffer that all connections of a
//! worker share; records are decrypted where they lie and shown to whoever takes them.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::future::poll_fn;
use rustls::ClientConfig;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError,
    UnbufferedStatus,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::wire::Wire;

/// Room before what is read, for a record that had not come whole: the largest, and more.
const BEFORE: usize = 20 << 10;
/// From so many bytes on that wait to be sent, no more are taken.
const FULL: usize = 64 << 10;

/// What connections of a worker read into, one after the other.
pub type Scratch = Rc<RefCell<Vec<u8>>>;

/// See the module.
pub struct Tls<S> {
    socket: S,
    session: UnbufferedClientConnection,
    scratch: Scratch,
    /// The most that is read at once.
    most: usize,
    /// What came of a record, or of a message in several, that is not whole.
    partial: Vec<u8>,
    /// Decrypted before anybody could take it, and how much of it was taken.
    plain: Vec<u8>,
    taken: usize,
    /// Records to be sent, and how much of them was.
    out: Vec<u8>,
    sent: usize,
    /// Whether the server has said farewell, and whether we have.
    is_closed: bool,
    is_parting: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Tls<S> {
    /// Shakes hands with a server that goes by a name.
    ///
    /// # Errors
    /// What the system says, or what rustls has against the server (`InvalidData`).
    pub async fn connect(
        socket: S,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        scratch: Scratch,
        most: usize,
    ) -> io::Result<Self> {
        let session = UnbufferedClientConnection::new(config, name).map_err(bad)?;
        let mut own = Self {
            socket,
            session,
            scratch,
            most,
            partial: Vec::new(),
            plain: Vec::new(),
            taken: 0,
            out: Vec::new(),
            sent: 0,
            is_closed: false,
            is_parting: false,
        };
        let mut bytes = Vec::new();
        loop {
            let mut plain = std::mem::take(&mut own.plain);
            let done = own.process(&mut bytes, &mut |part| plain.extend_from_slice(part));
            own.plain = plain;
            let (used, can_write) = match done {
                Ok(done) => done,
                Err(error) => {
                    // The server is told, if it listens.
                    let _ = poll_fn(|context| own.poll_out(context)).await;
                    return Err(error);
                }
            };
            bytes.drain(..used);
            if can_write {
                poll_fn(|context| own.poll_out(context)).await?;
                own.partial = bytes;
                return Ok(own);
            }
            let before = bytes.len();
            bytes.resize(before + BEFORE, 0);
            let mut room = ReadBuf::new(&mut bytes[before..]);
            poll_fn(|context| {
                // A server that is still speaking may not listen yet.
                if let Poll::Ready(Err(error)) = own.poll_out(context) {
                    return Poll::Ready(Err(error));
                }
                Pin::new(&mut own.socket).poll_read(context, &mut room)
            })
            .await?;
            let got = room.filled().len();
            bytes.truncate(before + got);
            if got == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// What both have agreed to speak.
    pub fn protocol(&self) -> Option<&[u8]> {
        self.session.alpn_protocol()
    }

    /// Takes what lies in `bytes`, and shows what was in it: how many bytes are used
    /// up, and whether one can write.
    fn process(
        &mut self,
        bytes: &mut [u8],
        show: &mut impl FnMut(&[u8]),
    ) -> io::Result<(usize, bool)> {
        let mut at = 0;
        loop {
            let UnbufferedStatus { mut discard, state } =
                self.session.process_tls_records(&mut bytes[at..]);
            let is_over = match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(bad)?;
                        discard += record.discard;
                        show(record.payload);
                    }
                    None
                }
                Ok(ConnectionState::EncodeTlsData(data)) => {
                    encode(data, &mut self.out)?;
                    None
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    // It is in `out`, and nothing is sent before it.
                    data.done();
                    None
                }
                Ok(ConnectionState::PeerClosed) => {
                    self.is_closed = true;
                    None
                }
                Ok(ConnectionState::WriteTraffic(_)) => Some(true),
                Ok(_) => Some(false),
                Err(error) => {
                    // What it says of that to the server.
                    let rest = &mut bytes[at + discard..];
                    if let Ok(ConnectionState::EncodeTlsData(data)) =
                        self.session.process_tls_records(rest).state
                    {
                        encode(data, &mut self.out)?;
                    }
                    return Err(bad(error));
                }
            };
            at += discard;
            if let Some(can_write) = is_over {
                return Ok((at, can_write));
            }
        }
    }

    /// Puts bytes, or the farewell, into records to be sent.
    fn seal(&mut self, bytes: Option<&[u8]>) -> io::Result<()> {
        loop {
            // A message that is not whole is to be shown each time.
            let UnbufferedStatus { discard, state } =
                self.session.process_tls_records(&mut self.partial);
            let is_sealed = match state.map_err(bad)? {
                ConnectionState::WriteTraffic(mut traffic) => {
                    put(&mut self.out, |room| {
                        match bytes {
                            Some(bytes) => traffic.encrypt(bytes, room),
                            None => traffic.queue_close_notify(room),
                        }
                        .map_err(|error| match error {
                            EncryptError::InsufficientSize(size) => Ok(size),
                            EncryptError::EncryptExhausted => Err(io::Error::other(error)),
                        })
                    })?;
                    true
                }
                ConnectionState::EncodeTlsData(data) => {
                    encode(data, &mut self.out)?;
                    false
                }
                ConnectionState::TransmitTlsData(data) => {
                    data.done();
                    false
                }
                ConnectionState::PeerClosed => {
                    self.is_closed = true;
                    false
                }
                _ => return Err(io::ErrorKind::BrokenPipe.into()),
            };
            self.partial.drain(..discard);
            if is_sealed {
                return Ok(());
            }
        }
    }

    /// Sends what is to be sent.
    fn poll_out(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.out.len() {
            let rest = &self.out[self.sent..];
            match ready!(Pin::new(&mut self.socket).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                sent => self.sent += sent,
            }
        }
        self.out.clear();
        self.sent = 0;
        Poll::Ready(Ok(()))
    }

    /// Reads once, or until a record is whole, and shows what was in it.
    fn poll_records(
        &mut self,
        context: &mut Context<'_>,
        mut show: impl FnMut(&[u8]),
    ) -> Poll<io::Result<usize>> {
        let scratch = Rc::clone(&self.scratch);
        let mut scratch = scratch.borrow_mut();
        let most = self.most;
        let before = self.partial.len().max(BEFORE);
        if scratch.len() < before + most {
            scratch.resize(before + most, 0);
        }
        let mut shown = 0;
        while shown == 0 && !self.is_closed {
            let mut room = ReadBuf::new(&mut scratch[before..before + most]);
            ready!(Pin::new(&mut self.socket).poll_read(context, &mut room))?;
            let got = room.filled().len();
            if got == 0 {
                // An end without a farewell: it may not be the server's.
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            let start = before - self.partial.len();
            scratch[start..before].copy_from_slice(&self.partial);
            let bytes = &mut scratch[start..before + got];
            let processed = self.process(bytes, &mut |part| {
                shown += part.len();
                show(part);
            });
            // An answer to what came (a new key), or what is wrong with it.
            // Where that can't be said, writing or reading on will tell.
            let _ = self.poll_out(context);
            let (used, _) = processed?;
            self.partial.clear();
            self.partial.extend_from_slice(&bytes[used..]);
        }
        Poll::Ready(Ok(shown))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire for Tls<S> {
    fn poll_take(
        &mut self,
        context: &mut Context<'_>,
        mut show: impl FnMut(&[u8]),
    ) -> Poll<io::Result<usize>> {
        let (early, taken) = (std::mem::take(&mut self.plain), std::mem::take(&mut self.taken));
        if taken < early.len() {
            let early = &early[taken..];
            show(early);
            return Poll::Ready(Ok(early.len()));
        }
        self.poll_records(context, show)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Tls<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.taken == this.plain.len() {
            let mut plain = std::mem::take(&mut this.plain);
            plain.clear();
            this.taken = 0;
            let read = this.poll_records(context, |part| {
                let (now, later) = part.split_at(part.len().min(buffer.remaining()));
                buffer.put_slice(now);
                plain.extend_from_slice(later);
            });
            this.plain = plain;
            return read.map_ok(|_| ());
        }
        let rest = &this.plain[this.taken..];
        let now = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..now]);
        this.taken += now;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Tls<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.out.len() >= FULL {
            ready!(this.poll_out(context))?;
        }
        let taken = bytes.len().min(FULL);
        this.seal(Some(&bytes[..taken]))?;
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().poll_out(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.is_parting {
            this.is_parting = true;
            this.seal(None)?;
        }
        ready!(this.poll_out(context))?;
        Pin::new(&mut this.socket).poll_shutdown(context)
    }
}

/// Puts a record of the handshake into those that are to be sent.
fn encode<D>(mut data: EncodeTlsData<'_, D>, out: &mut Vec<u8>) -> io::Result<()> {
    put(out, |room| {
        data.encode(room).map_err(|error| match error {
            EncodeError::InsufficientSize(size) => Ok(size),
            EncodeError::AlreadyEncoded => Err(io::Error::other(error)),
        })
    })
}

/// Appends what `fill` writes, once it has the room that it asks for.
fn put(
    out: &mut Vec<u8>,
    mut fill: impl FnMut(&mut [u8]) -> Result<usize, Result<InsufficientSizeError, io::Error>>,
) -> io::Result<()> {
    let before = out.len();
    let mut room = 0;
    loop {
        out.resize(before + room, 0);
        match fill(&mut out[before..]) {
            Ok(written) => {
                out.truncate(before + written);
                return Ok(());
            }
            Err(Ok(InsufficientSizeError { required_size })) if required_size > room => {
                room = required_size;
            }
            Err(Ok(size)) => return Err(io::Error::other(EncodeError::InsufficientSize(size))),
            Err(Err(error)) => return Err(error),
        }
    }
}

fn bad(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests;
