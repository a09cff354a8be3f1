//! Connections: made when a request wants one, shared by the streams of HTTP/2.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::mux::{End, Mux};
use super::secure::{Scratch, Tls};
use super::sniff::{Sniff, end_of};
use super::wire::{Bare, Wire};
use crate::load::address::Address;
use crate::load::carrier::ConnectionTally;
use crate::load::clock::Clock;
use crate::load::low_water;
use crate::load::record::Fault;

/// What is read at once of TLS and of HTTP/2.
const READ: usize = 64 << 10;
/// What a slow reader reads at once: the smallest buffer that hyper takes.
const SMALL: usize = 8 << 10;

/// Where connections go, and what they speak.
#[derive(Debug, Clone)]
pub struct Place {
    pub address: Address,
    pub tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    pub is_http2: bool,
    /// Of a slow reader: bytes per second that a connection takes.
    pub read_rate: Option<u64>,
    pub timeout: Duration,
    pub scratch: Scratch,
    /// The rung's, once it is started.
    pub clock: Rc<Cell<Clock>>,
}

impl Place {
    /// The same host, at another port.
    pub fn with_port(&self, port: u16) -> Self {
        Self { address: self.address.with_port(port), ..self.clone() }
    }
}

/// Connections of a worker, added up.
type Tally = Rc<RefCell<ConnectionTally>>;

/// An open connection.
#[derive(Debug)]
pub struct Open {
    pub carries: Carries,
    /// Whether a request was answered on it.
    pub is_used: Cell<bool>,
    task: AbortHandle,
    tally: Tally,
}

/// What a connection carries.
#[derive(Debug)]
pub enum Carries {
    Http1(Http1),
    Http2(Rc<RefCell<Mux>>),
}

/// A connection of HTTP/1.1, which is hyper's.
#[derive(Debug)]
pub struct Http1 {
    sender: RefCell<http1::SendRequest<Full<Bytes>>>,
    end: Rc<Cell<Option<End>>>,
}

/// Why a request has no answer, as hyper says it.
#[derive(Debug)]
pub struct Lost {
    pub error: hyper::Error,
    /// Whether it never left.
    pub is_unsent: bool,
}

impl Http1 {
    /// The end of the connection, if it was the server's.
    pub fn end(&self) -> Option<End> {
        self.end.get()
    }

    /// Sends a request, and waits for the head of its answer.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Lost> {
        poll_fn(|context| self.sender.borrow_mut().poll_ready(context))
            .await
            .map_err(|error| Lost { error, is_unsent: true })?;
        let sent = self.sender.borrow_mut().try_send_request(request);
        sent.await.map_err(|mut lost| Lost {
            is_unsent: lost.take_message().is_some(),
            error: lost.into_error(),
        })
    }
}

impl Open {
    fn new(carries: Carries, task: AbortHandle, tally: &Tally) -> Self {
        Self { carries, is_used: Cell::new(false), task, tally: Rc::clone(tally) }
    }

    /// Whether no more requests can be sent on it.
    pub fn is_over(&self) -> bool {
        match &self.carries {
            Carries::Http1(http1) => http1.end().is_some() || http1.sender.borrow().is_closed(),
            Carries::Http2(mux) => mux.borrow().is_over(),
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.task.abort();
        if let Carries::Http2(mux) = &self.carries {
            self.tally.borrow_mut().goaways += mux.borrow().goaways;
        }
    }
}

#[derive(Debug)]
enum State {
    Closed,
    Connecting,
    Failed(Fault),
    Open(Rc<Open>),
}

/// The place of one connection, whether it is open or not.
#[derive(Debug)]
pub struct Link {
    place: Place,
    state: RefCell<State>,
    changed: Notify,
    tally: Tally,
}

/// Puts a link back where connecting to it was broken off.
struct Connecting<'a>(&'a Link);

impl Drop for Connecting<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.borrow_mut();
        if matches!(*state, State::Connecting) {
            *state = State::Closed;
        }
        self.0.changed.notify_waiters();
    }
}

impl Link {
    pub fn new(place: Place, tally: Tally) -> Self {
        Self { place, state: RefCell::new(State::Closed), changed: Notify::new(), tally }
    }

    /// Gives up the connection that is open, if one is.
    pub fn close(&self) {
        if let Some(open) = self.current() {
            self.retire(&open);
        }
    }

    /// Gives the connection up. Streams that are under way on it go on.
    pub fn retire(&self, open: &Rc<Open>) {
        let mut state = self.state.borrow_mut();
        if matches!(&*state, State::Open(current) if Rc::ptr_eq(current, open)) {
            *state = State::Closed;
        }
    }

    /// The open connection, if there is one.
    fn current(&self) -> Option<Rc<Open>> {
        match &*self.state.borrow() {
            State::Open(open) => Some(Rc::clone(open)),
            _ => None,
        }
    }

    /// The connection, and whether it had to be made or waited for.
    pub async fn open(&self) -> Result<(Rc<Open>, bool), Fault> {
        let mut has_waited = false;
        loop {
            if let Some(open) = self.current() {
                if !open.is_over() {
                    return Ok((open, has_waited));
                }
                self.tally.borrow_mut().closed_by_server += 1;
                self.retire(&open);
            }
            let failed = match *self.state.borrow() {
                State::Failed(fault) if has_waited => Some(fault),
                _ => None,
            };
            if let Some(fault) = failed {
                return Err(fault);
            }
            if matches!(*self.state.borrow(), State::Connecting) {
                has_waited = true;
                self.changed.notified().await;
                continue;
            }
            *self.state.borrow_mut() = State::Connecting;
            let guard = Connecting(self);
            let start = self.place.clock.get().now();
            let making = connect(&self.place, &self.tally);
            let made = tokio::time::timeout(self.place.timeout, making).await;
            let made = made.unwrap_or(Err(Fault::ConnectTimeout));
            let state = match &made {
                Ok(open) => {
                    self.tally
                        .borrow_mut()
                        .opened(self.place.clock.get().now().saturating_sub(start));
                    State::Open(Rc::clone(open))
                }
                Err(fault) => {
                    self.tally.borrow_mut().failed += 1;
                    State::Failed(*fault)
                }
            };
            *self.state.borrow_mut() = state;
            drop(guard);
            return made.map(|open| (open, true));
        }
    }
}

async fn connect(place: &Place, tally: &Tally) -> Result<Rc<Open>, Fault> {
    match &place.address {
        Address::Inet(address) => {
            let socket = TcpStream::connect(address).await.map_err(|_| Fault::Connect)?;
            // Where it cannot be set, there is no delay to be feared.
            let _ = socket.set_nodelay(true);
            if place.read_rate.is_none() {
                low_water::make_room(socket.as_fd());
            }
            secure(socket, place, tally).await
        }
        Address::Unix(path) => {
            let socket = UnixStream::connect(path).await.map_err(|_| Fault::Connect)?;
            secure(socket, place, tally).await
        }
    }
}

async fn secure<S>(socket: S, place: &Place, tally: &Tally) -> Result<Rc<Open>, Fault>
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let scratch = Rc::clone(&place.scratch);
    let most = if place.read_rate.is_some() { SMALL } else { READ };
    let Some((config, name)) = &place.tls else {
        return if place.is_http2 {
            Ok(multiplex(Bare { socket, scratch, most }, place, tally))
        } else {
            greet(socket, place, tally).await
        };
    };
    let tls = Tls::connect(socket, Arc::clone(config), name.clone(), scratch, most)
        .await
        .map_err(|error| tls_fault(&error))?;
    if !place.is_http2 {
        return greet(tls, place, tally).await;
    }
    // A server that was not asked may not know of ALPN: HTTP/1.1 then.
    if tls.protocol() != Some(b"h2") {
        return Err(Fault::Tls);
    }
    Ok(multiplex(tls, place, tally))
}

/// A connection that ended is no matter of TLS.
fn tls_fault(error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof => Fault::Connect,
        _ => Fault::Tls,
    }
}

/// Begins HTTP/1.1.
async fn greet<S>(stream: S, place: &Place, tally: &Tally) -> Result<Rc<Open>, Fault>
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let end = Rc::new(Cell::new(None));
    let stream = TokioIo::new(Sniff::new(stream, Rc::clone(&end)));
    let mut builder = http1::Builder::new();
    if place.read_rate.is_some() {
        builder.max_buf_size(SMALL);
    }
    let (sender, connection) = builder.handshake(stream).await.map_err(|_| Fault::Connect)?;
    let http1 = Http1 { sender: RefCell::new(sender), end };
    let task = tokio::task::spawn_local(connection).abort_handle();
    Ok(Rc::new(Open::new(Carries::Http1(http1), task, tally)))
}

/// Begins HTTP/2.
fn multiplex(wire: impl Wire + 'static, place: &Place, tally: &Tally) -> Rc<Open> {
    let mux = Rc::new(RefCell::new(Mux::new(place.read_rate.is_some())));
    let carried = carry(wire, Rc::clone(&mux), Rc::clone(&place.clock), place.read_rate);
    let task = tokio::task::spawn_local(carried).abort_handle();
    Rc::new(Open::new(Carries::Http2(mux), task, tally))
}

/// Carries the bytes of an HTTP/2 connection until it ends.
async fn carry(
    mut wire: impl Wire,
    mux: Rc<RefCell<Mux>>,
    clock: Rc<Cell<Clock>>,
    rate: Option<u64>,
) {
    let end = loop {
        let mut is_broken = false;
        let got = poll_fn(|context| {
            loop {
                let mut mux = mux.borrow_mut();
                let out = mux.unwritten(context);
                if out.is_empty() {
                    break;
                }
                match Pin::new(&mut wire).poll_write(context, out) {
                    Poll::Ready(Ok(written)) => mux.wrote(written),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => break,
                }
            }
            // What TLS has taken is to go out as well.
            if let Poll::Ready(Err(error)) = Pin::new(&mut wire).poll_flush(context) {
                return Poll::Ready(Err(error));
            }
            wire.poll_take(context, |bytes| {
                is_broken = is_broken || mux.borrow_mut().take(bytes, clock.get().now()).is_err();
            })
        });
        let got = match got.await {
            _ if is_broken => break End::Broken,
            Ok(0) => break End::Closed,
            Ok(got) => got,
            Err(error) => break end_of(&error),
        };
        if let Some(rate) = rate {
            tokio::time::sleep(Duration::from_secs_f64(got as f64 / rate as f64)).await;
        }
    };
    mux.borrow_mut().finish(end, clock.get().now());
}
