//! One slot: its connection, and the request under way on it.

use super::chunked::Chunked;
use super::socket::Wire;
use crate::load::check;
use crate::load::course::{self, Course, Follow};
use crate::load::record::{Ending, Fault, Nanos};

/// Where the slot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// No request is under way.
    #[default]
    Free,
    /// The connection is being made.
    Connect,
    /// The request is being written.
    Write,
    /// The response's head is waited for.
    Head,
    /// The body is.
    Body,
    /// A slow reader does not read just now.
    Sip,
    /// The next request of a logical one is not due yet.
    Pause,
    /// After a connection that could not be made.
    Rest,
}

/// What is left of a body.
#[derive(Debug, Clone, Copy)]
pub enum Body {
    /// So many bytes.
    Length(u64),
    Chunked(Chunked),
    /// To the connection's end.
    Close,
}

/// A connection that a redirect to another port left aside.
#[derive(Debug)]
pub struct Aside {
    wire: Option<Wire>,
    port: u16,
    pub generation: u32,
    served: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Exchange {
    pub phase: Phase,
    pub wire: Option<Wire>,
    /// Port that the connection leads to.
    pub port: u16,
    /// Which of the slot's connections this is, and the last that there was.
    pub generation: u32,
    pub last_generation: u32,
    /// Since when it is being made.
    pub connecting_since: Option<Nanos>,
    /// Responses that came over it.
    pub served: u64,
    /// The connection to another port.
    pub aside: Option<Box<Aside>>,

    /// The request under way.
    pub query: u16,
    pub check: bool,
    pub is_head: bool,
    /// Whether what is under way may be sent twice; of what follows a first request.
    pub is_idempotent: bool,
    /// Whether the body is kept.
    pub collect: bool,
    pub retried: bool,
    pub fresh: bool,
    pub written: usize,
    /// What is sent in place of the workload's request: a redirect, a step of a job.
    pub follow: Option<Vec<u8>>,
    pub next_port: u16,
    pub course: Option<Box<Course>>,
    /// Whether the request has ended, and what it left is being removed.
    pub cleaning: bool,
    /// When the slot wants to be woken.
    pub due: Nanos,

    /// The response: what came of a head that is not whole.
    pub head: Vec<u8>,
    pub status: u16,
    pub keep: bool,
    pub body: Body,
    pub bytes: u64,
    pub location: Option<String>,
    pub content_type: String,
    pub collected: Vec<u8>,
    /// The most that is collected.
    most: usize,
}

impl Default for Body {
    fn default() -> Self {
        Self::Length(0)
    }
}

impl Exchange {
    /// Begins a request of the workload.
    #[inline]
    pub fn begin(&mut self, query: u16, is_head: bool, check: bool, collect: bool) {
        self.query = query;
        self.check = check;
        self.follow = None;
        self.course = None;
        self.cleaning = false;
        self.retried = false;
        self.fresh = false;
        self.expect(is_head, collect, check::LARGEST as usize);
    }

    /// Turns to the next request of a logical one.
    pub fn turn(&mut self, bytes: Vec<u8>, next: &Follow) {
        self.follow = Some(bytes);
        self.next_port = next.port;
        let method = next.request.method.as_str();
        self.is_idempotent = method != "POST";
        let most = if next.keep_body { course::LONGEST } else { check::LARGEST as usize };
        self.expect(method == "HEAD", next.keep_body || next.is_result && self.check, most);
    }

    /// Awaits a response.
    #[inline]
    fn expect(&mut self, is_head: bool, collect: bool, most: usize) {
        self.is_head = is_head;
        self.collect = collect;
        self.most = most;
        self.written = 0;
        self.head.clear();
        self.collected.clear();
        self.status = 0;
        self.bytes = 0;
        self.keep = true;
    }

    /// How the request ended.
    #[inline]
    pub fn ending(&self, slot: usize, fault: Fault, checked: bool) -> Ending {
        Ending {
            status: self.status,
            fault,
            bytes: self.bytes,
            connection: slot as u16,
            checked,
            fresh: self.fresh,
            retried: self.retried,
        }
    }

    /// Takes bytes of the body. Says whether that was its end.
    ///
    /// # Errors
    /// If they are no part of it.
    #[inline]
    pub fn take(&mut self, data: &[u8]) -> Result<bool, Fault> {
        match &mut self.body {
            Body::Length(left) => {
                let length = data.len() as u64;
                if length > *left {
                    return Err(Fault::BadBody);
                }
                *left -= length;
                let is_end = *left == 0;
                self.collect(data);
                Ok(is_end)
            }
            Body::Chunked(chunked) => {
                let (mut chunked, mut total) = (*chunked, 0);
                let collect = self.collect;
                let collected = &mut self.collected;
                let taken = chunked.feed(data, |data| {
                    total += data.len();
                    if collect {
                        collected.extend_from_slice(data);
                    }
                });
                self.body = Body::Chunked(chunked);
                self.bytes += total as u64;
                self.bound();
                match taken {
                    Ok(taken) if taken == data.len() => Ok(chunked.is_done()),
                    _ => Err(Fault::BadBody),
                }
            }
            Body::Close => {
                self.collect(data);
                Ok(false)
            }
        }
    }

    #[inline]
    fn collect(&mut self, data: &[u8]) {
        self.bytes += data.len() as u64;
        if self.collect {
            self.collected.extend_from_slice(data);
            self.bound();
        }
    }

    /// What is too long to be looked at is not kept.
    #[inline]
    fn bound(&mut self) {
        if self.collected.len() > self.most {
            self.collect = false;
            self.collected = Vec::new();
        }
    }

    /// Bytes that can be thrown away before anything must be looked at.
    #[inline]
    pub fn can_be_thrown_away(&self, large: u64) -> usize {
        if self.collect {
            return 0;
        }
        match self.body {
            Body::Length(left) => usize::try_from(left).unwrap_or(usize::MAX),
            Body::Chunked(chunked) if chunked.left() >= large => {
                usize::try_from(chunked.left()).unwrap_or(usize::MAX)
            }
            Body::Chunked(_) => 0,
            Body::Close => usize::MAX,
        }
    }

    /// Bytes of the body were thrown away. Says whether that was its end.
    #[inline]
    pub fn thrown_away(&mut self, bytes: usize) -> bool {
        self.bytes += bytes as u64;
        match &mut self.body {
            Body::Length(left) => {
                *left = left.saturating_sub(bytes as u64);
                *left == 0
            }
            Body::Chunked(chunked) => {
                chunked.discarded(bytes as u64);
                false
            }
            Body::Close => false,
        }
    }

    /// Whether the body ends with the connection.
    pub fn ends_by_close(&self) -> bool {
        matches!(self.body, Body::Close)
    }

    /// Whether its connection is being made.
    #[inline]
    pub fn is_connecting(&self) -> bool {
        self.connecting_since.is_some()
    }

    /// Closes the connection.
    pub fn close(&mut self) {
        self.wire = None;
        self.connecting_since = None;
    }

    /// Puts the connection aside, for the one that leads to another port.
    pub fn swap(&mut self, port: u16) {
        if self.is_connecting() {
            self.close();
        }
        let own = Aside {
            wire: self.wire.take(),
            port: self.port,
            generation: self.generation,
            served: self.served,
        };
        let other = self.aside.take().map(|aside| *aside).filter(|aside| aside.port == port);
        if let Some(other) = other {
            self.wire = other.wire;
            self.generation = other.generation;
            self.served = other.served;
        }
        self.port = port;
        self.aside = own.wire.is_some().then(|| Box::new(own));
    }
}
