//! HTTP/2, by hyper: the same routes, a runtime for each thread.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Method, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::Notify;
use tokio::task::LocalSet;
use tokio_rustls::TlsAcceptor;

use super::body::Pieces;
use super::plain::{DRAIN, EARLY, STOP, Start};
use super::prepared::{Prepared, Shared};
use super::route::{Fault, Framing, Reply, Request, route};
use super::script::length;

/// The bytes of a DATA frame, unless the pace says otherwise: the largest that
/// a peer has to take.
const FRAME: usize = 16 << 10;

/// Starts the threads.
///
/// # Errors
/// If the system refuses what they need.
pub fn start(start: &Start) -> io::Result<(Vec<JoinHandle<()>>, Arc<Notify>)> {
    let notify = Arc::new(Notify::new());
    let mut threads = Vec::new();
    for number in 0..start.threads {
        let listener: OwnedFd = start.listener.try_clone()?;
        let server = Server {
            delay: start.delay,
            tls: start.tls.clone().map(TlsAcceptor::from),
            order: Arc::clone(&start.order),
            shared: Arc::clone(&start.shared),
            notify: Arc::clone(&notify),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (name, pin) = (format!("null-h2-{number}"), start.pin(number));
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            pin();
            LocalSet::new().block_on(&runtime, Rc::new(server).serve(listener));
        })?;
        threads.push(thread);
    }
    Ok((threads, notify))
}

struct Server {
    delay: Duration,
    tls: Option<TlsAcceptor>,
    order: Arc<AtomicU8>,
    shared: Arc<Shared>,
    notify: Arc<Notify>,
}

impl Server {
    /// Waits until the order is at least this.
    async fn ordered(&self, order: u8) {
        loop {
            let mut notified = pin!(self.notify.notified());
            notified.as_mut().enable();
            if self.order.load(Ordering::Acquire) >= order {
                return;
            }
            notified.await;
        }
    }

    async fn serve(self: Rc<Self>, listener: OwnedFd) {
        // The count of connections that are open.
        let open = Rc::new(Cell::new(0_usize));
        let closed = Rc::new(Notify::new());
        let Ok(listener) = tokio::net::TcpListener::from_std(listener.into()) else { return };
        let mut drained = pin!(self.ordered(DRAIN));
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut drained => break,
            };
            let Ok((socket, _)) = accepted else { continue };
            let _ = socket.set_nodelay(true);
            self.shared.connections.fetch_add(1, Ordering::Relaxed);
            open.set(open.get() + 1);
            let (server, open, closed) = (Rc::clone(&self), Rc::clone(&open), Rc::clone(&closed));
            tokio::task::spawn_local(async move {
                // What goes wrong with a connection is the client's to tell.
                let _ = match &server.tls {
                    None => server.connection(socket).await,
                    Some(tls) => match tls.accept(socket).await {
                        Ok(socket) => server.connection(socket).await,
                        Err(_) => Ok(()),
                    },
                };
                open.set(open.get() - 1);
                closed.notify_one();
            });
        }
        drop(listener);
        let all_closed = async {
            while open.get() > 0 {
                closed.notified().await;
            }
        };
        tokio::select! {
            () = all_closed => {}
            () = self.ordered(STOP) => {}
        }
    }

    async fn connection(
        self: &Rc<Self>,
        socket: impl AsyncRead + AsyncWrite + Unpin + 'static,
    ) -> hyper::Result<()> {
        let cut = Rc::new(Notify::new());
        let service = {
            let (server, cut) = (Rc::clone(self), Rc::clone(&cut));
            service_fn(move |request| Rc::clone(&server).answer(request, Rc::clone(&cut)))
        };
        let mut builder = http2::Builder::new(Local);
        builder
            .timer(TokioTimer::new())
            .max_concurrent_streams(1 << 16)
            .initial_stream_window_size(1 << 20)
            .initial_connection_window_size(1 << 24)
            .max_send_buf_size(1 << 20);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(socket), service));
        tokio::select! {
            done = connection.as_mut() => return done,
            () = cut.notified() => return Ok(()),
            () = self.ordered(DRAIN) => connection.as_mut().graceful_shutdown(),
        }
        tokio::select! {
            done = connection => done,
            () = cut.notified() => Ok(()),
            () = self.ordered(STOP) => Ok(()),
        }
    }

    async fn answer(
        self: Rc<Self>,
        request: hyper::Request<Incoming>,
        cut: Rc<Notify>,
    ) -> Result<Response<Answer>, Refused> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(|_| Refused)?.to_bytes();
        self.shared.requests.fetch_add(1, Ordering::Relaxed);
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
        let request = Request {
            target,
            body: &body,
            is_post: head.method == Method::POST,
            now_ms: self.shared.now_ms(),
        };
        let prepared =
            Prepared::new(&route(&request), target, &self.shared, |reply| Rc::new(reply.clone()));
        let (hold, reply) = prepared.next();
        sleep(hold + reply.wait + self.delay).await;
        match reply.fault {
            Some(Fault::ResetNow | Fault::ResetHead) => return Err(Refused),
            Some(Fault::NoHead) => std::future::pending().await,
            Some(Fault::CloseBefore | Fault::Garbage) => {
                cut.notify_one();
                std::future::pending().await
            }
            _ => {}
        }
        let is_head = head.method == Method::HEAD;
        let mut response = Response::new(Answer::new(&reply, is_head, &self.shared, cut));
        *response.status_mut() =
            hyper::StatusCode::from_u16(reply.status).expect("routes give statuses of 200 to 599");
        let fields = response.headers_mut();
        for (name, value) in &reply.fields {
            let value = HeaderValue::from_str(value).map_err(|_| Refused)?;
            fields.insert(HeaderName::from_static(name), value);
        }
        if reply.framing == Framing::Length && !reply.is_endless && reply.status != 204 {
            fields.insert("content-length", HeaderValue::from(length(&reply)));
        }
        Ok(response)
    }
}

/// A stream that is to be reset.
#[derive(Debug, thiserror::Error)]
#[error("reset by the path that was asked for")]
struct Refused;

/// Tasks that stay on their thread.
#[derive(Debug, Clone, Copy)]
struct Local;

impl<F: Future<Output: 'static> + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}

/// The body of an answer, with its pauses and its end.
struct Answer {
    pieces: Pieces,
    again: Option<super::body::Body>,
    most: usize,
    pause: Duration,
    sleep: Option<Pin<Box<dyn Future<Output = ()>>>>,
    fault: Option<Fault>,
    has_trailers: bool,
    is_over: bool,
    shared: Arc<Shared>,
    cut: Rc<Notify>,
}

impl Answer {
    fn new(reply: &Reply, is_head: bool, shared: &Arc<Shared>, cut: Rc<Notify>) -> Self {
        let body = match reply.fault {
            Some(Fault::ResetBody | Fault::CloseHalf) => reply.body.truncated(reply.body.len() / 2),
            _ if is_head => super::body::Body::default(),
            _ => reply.body.clone(),
        };
        let (pause, most) = reply.pace.unwrap_or((Duration::ZERO, FRAME));
        Self {
            pieces: body.pieces(most),
            again: reply.is_endless.then_some(body),
            most,
            pause,
            sleep: None,
            fault: reply.fault,
            has_trailers: reply.framing == Framing::Trailers && !is_head,
            is_over: false,
            shared: Arc::clone(shared),
            cut,
        }
    }

    /// What comes after the last piece.
    fn end(&mut self) -> Poll<Option<Result<Frame<Bytes>, Refused>>> {
        self.is_over = true;
        match self.fault {
            Some(Fault::ResetBody) => return Poll::Ready(Some(Err(Refused))),
            Some(Fault::CloseHalf) => {
                // The stream is not ended: the connection is.
                self.cut.notify_one();
                return Poll::Pending;
            }
            _ => {}
        }
        self.shared.answers.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(self.has_trailers.then(|| {
            let mut fields = HeaderMap::new();
            fields.insert("x-null", HeaderValue::from_static("end"));
            Ok(Frame::trailers(fields))
        }))
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = Refused;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Refused>>> {
        let this = self.get_mut();
        if let Some(sleep) = &mut this.sleep {
            std::task::ready!(sleep.as_mut().poll(context));
            this.sleep = None;
        }
        if this.is_over {
            return Poll::Ready(None);
        }
        let piece = this.pieces.next().or_else(|| {
            this.pieces = this.again.as_ref()?.pieces(this.most);
            this.pieces.next()
        });
        let Some(piece) = piece else { return this.end() };
        if !this.pause.is_zero() {
            this.sleep = Some(Box::pin(sleep(this.pause)));
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }
}

/// Sleeps as long as it says: the runtime's own timers count whole milliseconds.
async fn sleep(time: Duration) {
    let until = Instant::now() + time;
    let most = time.saturating_sub(EARLY);
    if !most.is_zero() && precise(most).await.is_err() {
        tokio::time::sleep_until((until - EARLY).into()).await;
    }
    while Instant::now() < until {
        tokio::task::yield_now().await;
    }
}

async fn precise(time: Duration) -> io::Result<()> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
    let value = Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    };
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    let time = Itimerspec { it_interval: zero, it_value: value };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &time)?;
    // What becomes readable when its time comes is as good as a pipe here.
    Receiver::from_owned_fd_unchecked(timer)?.readable().await?;
    Ok(())
}
