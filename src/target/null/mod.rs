//! The null target: a loopback server made to answer faster than any client,
//! and to go wrong on request.
//!
//! What it answers is chosen by the path (`docs/null-target.md`): bodies of any
//! size, delays, stalls, redirects, chunks and trailers, errors, resets, and a
//! TAP service that is no more than a shape. HTTP/1.1, in the clear and over
//! TLS, is served by threads with an epoll each from answers built beforehand;
//! HTTP/2 by hyper.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::{Domain, SockAddr, Socket, Type};

mod body;
mod certificate;
mod connection;
mod http2;
mod plain;
mod prepared;
mod route;
mod script;
mod tap;

pub use route::duration;

use plain::{DRAIN, Inbox, RUN, STOP};
use prepared::Shared;

/// Connections that the kernel queues.
const BACKLOG: i32 = 4096;

/// Where a target listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// An address; port 0 takes a free one.
    Tcp(SocketAddr),
    /// A Unix socket, made anew.
    Unix(PathBuf),
}

/// How a target is started.
#[derive(Debug, Clone)]
pub struct Options {
    pub listen: Listen,
    pub threads: usize,
    /// How long every answer is held back, beside what its path says.
    pub delay: Duration,
    pub tls: bool,
    /// HTTP/2 alone: by ALPN over TLS, by prior knowledge in the clear.
    pub http2: bool,
    /// Others may listen on the same port; the kernel deals connections out.
    pub reuse_port: bool,
    /// Cores that the threads are pinned to, one after the other; none: not pinned.
    pub cores: Vec<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: Listen::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
            threads: 1,
            delay: Duration::ZERO,
            tls: false,
            http2: false,
            reuse_port: false,
            cores: Vec::new(),
        }
    }
}

/// What a target has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Connections taken.
    pub connections: u64,
    /// Requests read whole.
    pub requests: u64,
    /// Answers that were handed over whole.
    pub answers: u64,
}

/// Tells what a target has done, also after its end.
#[derive(Debug, Clone)]
pub struct Counter(Arc<Shared>);

impl Counter {
    pub fn counts(&self) -> Counts {
        let Shared { connections, requests, answers, .. } = &*self.0;
        Counts {
            connections: connections.load(Ordering::Relaxed),
            requests: requests.load(Ordering::Relaxed),
            answers: answers.load(Ordering::Relaxed),
        }
    }
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct NullTarget {
    listen: Listen,
    tls: bool,
    ca_pem: Option<String>,
    order: Arc<AtomicU8>,
    shared: Arc<Shared>,
    wakers: Vec<Waker>,
    threads: Vec<JoinHandle<()>>,
}

/// How a thread learns of an order.
#[derive(Debug)]
enum Waker {
    Plain(Arc<Inbox>),
    Http2(Arc<tokio::sync::Notify>),
}

impl NullTarget {
    /// Starts a target; it listens when this returns.
    ///
    /// # Errors
    /// If it cannot listen there, or the system refuses threads.
    pub fn start(options: &Options) -> io::Result<Self> {
        let (listener, listen) = listen(options)?;
        let protocol: &[u8] = if options.http2 { b"h2" } else { b"http/1.1" };
        let secure = options.tls.then(|| certificate::server(protocol)).transpose()?;
        let (tls, ca_pem) = secure.unzip();
        let order = Arc::new(AtomicU8::new(RUN));
        let shared = Arc::new(Shared::default());
        let start = plain::Start {
            listener,
            threads: options.threads.max(1),
            delay: options.delay,
            tls,
            order: Arc::clone(&order),
            shared: Arc::clone(&shared),
            cores: options.cores.clone(),
        };
        let (threads, wakers) = if options.http2 {
            let (threads, notify) = http2::start(&start)?;
            (threads, vec![Waker::Http2(notify)])
        } else {
            let (threads, inboxes) = plain::start(&start)?;
            (threads, inboxes.into_iter().map(Waker::Plain).collect())
        };
        Ok(Self { listen, tls: options.tls, ca_pem, order, shared, wakers, threads })
    }

    /// Where it listens; None for a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match self.listen {
            Listen::Tcp(address) => Some(address),
            Listen::Unix(_) => None,
        }
    }

    /// Its URL without a path, such as `http://127.0.0.1:40123`; a Unix socket
    /// is `unix:` and its path.
    pub fn url(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        match &self.listen {
            Listen::Tcp(address) => format!("{scheme}://{address}"),
            Listen::Unix(path) => format!("unix:{}", path.display()),
        }
    }

    /// The certificate that its clients have to trust, in PEM, where it speaks TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// What it has done so far.
    pub fn counts(&self) -> Counts {
        self.counter().counts()
    }

    /// Counts on when the target is gone.
    pub fn counter(&self) -> Counter {
        Counter(Arc::clone(&self.shared))
    }

    /// Takes no more connections and ends those it has: HTTP/1.1 with the
    /// answer under way, HTTP/2 by GOAWAY and after the streams under way.
    /// Returns at once; [`Self::wait`] waits for the end.
    pub fn drain(&self) {
        self.tell(DRAIN);
    }

    /// Waits for the end of a target that drains.
    pub fn wait(mut self) {
        self.join();
    }

    fn tell(&self, order: u8) {
        self.order.fetch_max(order, Ordering::AcqRel);
        for waker in &self.wakers {
            match waker {
                Waker::Plain(inbox) => inbox.wake(),
                Waker::Http2(notify) => notify.notify_waiters(),
            }
        }
    }

    fn join(&mut self) {
        for thread in self.threads.drain(..) {
            // A panic has said what it has to say.
            let _ = thread.join();
        }
    }
}

impl Drop for NullTarget {
    fn drop(&mut self) {
        self.tell(STOP);
        self.join();
        if let Listen::Unix(path) = &self.listen {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The listening socket, and where it really listens.
fn listen(options: &Options) -> io::Result<(OwnedFd, Listen)> {
    let (socket, address) = match &options.listen {
        Listen::Tcp(address) => {
            let socket = Socket::new(Domain::for_address(*address), Type::STREAM, None)?;
            socket.set_reuse_address(true)?;
            if options.reuse_port {
                socket.set_reuse_port(true)?;
            }
            (socket, SockAddr::from(*address))
        }
        Listen::Unix(path) => {
            (Socket::new(Domain::UNIX, Type::STREAM, None)?, SockAddr::unix(path)?)
        }
    };
    socket.set_nonblocking(true)?;
    socket.bind(&address)?;
    socket.listen(BACKLOG)?;
    let listen = match &options.listen {
        Listen::Tcp(_) => socket.local_addr()?.as_socket().map(Listen::Tcp),
        Listen::Unix(path) => Some(Listen::Unix(path.clone())),
    };
    let listen = listen.ok_or_else(|| io::Error::other("the socket has no address"))?;
    Ok((socket.into(), listen))
}

#[cfg(test)]
mod tests;
