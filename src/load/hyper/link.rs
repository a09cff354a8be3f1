//! Connections: made when a request wants one, shared by the streams of HTTP/2.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio_rustls::TlsConnector;

use super::message::Outgoing;
use super::sniff::{Sniff, Track};
use crate::load::address::Address;
use crate::load::carrier::ConnectionTally;
use crate::load::clock::Clock;
use crate::load::record::Fault;

/// Flow control that never holds a server back: what is read is thrown away.
const WINDOW: u32 = 1 << 30;
/// Flow control of a slow reader: the server is to feel it.
const NARROW: u32 = 64 << 10;
/// The largest frame that is taken.
const FRAME: u32 = 64 << 10;
/// The buffer of a slow reader over HTTP/1.1: the smallest that hyper takes.
const SMALL: usize = 8 << 10;

/// Where connections go, and what they speak.
#[derive(Debug, Clone)]
pub struct Place {
    pub address: Address,
    pub tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    pub is_http2: bool,
    pub is_slow: bool,
    pub timeout: Duration,
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
    sender: RefCell<Sender>,
    pub track: Rc<Track>,
    /// Whether a request was answered on it.
    pub is_used: Cell<bool>,
    task: AbortHandle,
    tally: Tally,
}

#[derive(Debug)]
enum Sender {
    Http1(http1::SendRequest<Outgoing>),
    Http2(http2::SendRequest<Outgoing>),
}

/// Why a request has no answer, as hyper says it.
#[derive(Debug)]
pub struct Lost {
    pub error: hyper::Error,
    /// Whether it never left.
    pub is_unsent: bool,
}

impl Open {
    /// Whether no more requests can be sent on it.
    pub fn is_over(&self) -> bool {
        self.track.end().is_some()
            || match &*self.sender.borrow() {
                Sender::Http1(sender) => sender.is_closed(),
                Sender::Http2(sender) => sender.is_closed() || self.track.is_going_away(),
            }
    }

    fn poll_ready(&self, context: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        match &mut *self.sender.borrow_mut() {
            Sender::Http1(sender) => sender.poll_ready(context),
            Sender::Http2(sender) => sender.poll_ready(context),
        }
    }

    /// Sends a request, and waits for the head of its answer.
    pub async fn send(&self, request: Request<Outgoing>) -> Result<Response<Incoming>, Lost> {
        poll_fn(|context| self.poll_ready(context))
            .await
            .map_err(|error| Lost { error, is_unsent: true })?;
        let mut http1 = None;
        let mut http2 = None;
        match &mut *self.sender.borrow_mut() {
            Sender::Http1(sender) => http1 = Some(sender.try_send_request(request)),
            Sender::Http2(sender) => http2 = Some(sender.try_send_request(request)),
        }
        let sent = match (http1, http2) {
            (Some(sent), _) => sent.await,
            (_, Some(sent)) => sent.await,
            (None, None) => unreachable!("a sender is one of the two"),
        };
        sent.map_err(|mut lost| Lost {
            is_unsent: lost.take_message().is_some(),
            error: lost.into_error(),
        })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.task.abort();
        self.tally.borrow_mut().goaways += self.track.goaways();
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
    pub async fn open(&self, clock: &Clock) -> Result<(Rc<Open>, bool), Fault> {
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
            let start = clock.now();
            let making = connect(&self.place, &self.tally);
            let made = tokio::time::timeout(self.place.timeout, making).await;
            let made = made.unwrap_or(Err(Fault::ConnectTimeout));
            let state = match &made {
                Ok(open) => {
                    self.tally.borrow_mut().opened(clock.now() - start);
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
    let Some((config, name)) = &place.tls else { return greet(socket, place, tally).await };
    let connector = TlsConnector::from(Arc::clone(config));
    let tls = connector.connect(name.clone(), socket).await.map_err(|error| tls_fault(&error))?;
    // A server that was not asked may not know of ALPN: HTTP/1.1 then.
    if place.is_http2 && tls.get_ref().1.alpn_protocol() != Some(b"h2") {
        return Err(Fault::Tls);
    }
    greet(tls, place, tally).await
}

/// A connection that ended is no matter of TLS.
fn tls_fault(error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof => Fault::Connect,
        _ => Fault::Tls,
    }
}

async fn greet<S>(stream: S, place: &Place, tally: &Tally) -> Result<Rc<Open>, Fault>
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let track = Rc::new(Track::default());
    let stream = TokioIo::new(Sniff::new(stream, Rc::clone(&track), place.is_http2));
    let (sender, task) = if place.is_http2 {
        let window = if place.is_slow { NARROW } else { WINDOW };
        let (sender, connection) = http2::Builder::new(Local)
            .timer(TokioTimer::new())
            .initial_stream_window_size(window)
            .initial_connection_window_size(window)
            .max_frame_size(FRAME)
            .handshake(stream)
            .await
            .map_err(|_| Fault::Http2)?;
        (Sender::Http2(sender), tokio::task::spawn_local(connection).abort_handle())
    } else {
        let mut builder = http1::Builder::new();
        if place.is_slow {
            builder.max_buf_size(SMALL);
        }
        let (sender, connection) = builder.handshake(stream).await.map_err(|_| Fault::Connect)?;
        (Sender::Http1(sender), tokio::task::spawn_local(connection).abort_handle())
    };
    let (sender, is_used) = (RefCell::new(sender), Cell::new(false));
    Ok(Rc::new(Open { sender, track, is_used, task, tally: Rc::clone(tally) }))
}

/// Tasks that stay on their thread.
#[derive(Debug, Clone, Copy)]
struct Local;

impl<F: Future<Output: 'static> + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}
