//! One logical request: its requests sent, their bodies thrown away or checked.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;

use hyper::Response;
use hyper::body::{Body, Incoming};

use super::Worker;
use super::link::{Carries, Http1, Link, Lost, Open};
use super::message::Template;
use super::mux::{Answer, End, Mux, Sent};
use crate::load::check::{LARGEST, Sampled};
use crate::load::course::{self, Course, Follow, LONGEST, Reply, Then};
use crate::load::desk::Ticket;
use crate::load::record::{Ending, Fault, NEVER, Nanos};
use crate::load::spec::{Endpoint, Kind};

/// How often a request that never left is sent again.
const TRIES: u32 = 3;

/// What a request is at, as its slot shows it.
#[derive(Debug, Default)]
pub struct Progress {
    pub ticket: Cell<Option<Ticket>>,
    /// Whether its time is over.
    pub is_expired: Cell<bool>,
    pub waker: RefCell<Option<Waker>>,
    /// Of the last response; 0 before its head.
    status: Cell<u16>,
    bytes: Cell<u64>,
    is_fresh: Cell<bool>,
    is_retried: Cell<bool>,
    is_connecting: Cell<bool>,
    is_checked: Cell<bool>,
    /// When its last stream ended.
    pub ended: Cell<Option<Nanos>>,
    /// The job that is to be deleted.
    pub course: RefCell<Option<Box<Course>>>,
}

impl Progress {
    pub fn begin(&self) {
        self.is_expired.set(false);
        self.status.set(0);
        self.bytes.set(0);
        self.is_fresh.set(false);
        self.is_retried.set(false);
        self.is_connecting.set(false);
        self.is_checked.set(false);
        self.ended.set(None);
    }

    /// What is known at the end.
    pub fn ending(&self, fault: Fault, connection: u16) -> Ending {
        Ending {
            status: self.status.get(),
            fault,
            bytes: self.bytes.get(),
            connection,
            checked: self.is_checked.get(),
            fresh: self.is_fresh.get(),
            retried: self.is_retried.get(),
        }
    }

    /// The fault of a request whose time is over.
    pub fn timeout(&self) -> Fault {
        match self.status.get() {
            _ if self.is_connecting.get() => Fault::ConnectTimeout,
            0 => Fault::TimeoutHead,
            _ => Fault::TimeoutBody,
        }
    }
}

/// A response that came whole.
#[derive(Debug)]
struct Whole {
    status: u16,
    location: Option<String>,
    content_type: String,
    /// As many bytes as were asked for.
    body: Vec<u8>,
    is_whole: bool,
}

impl Worker<'_> {
    /// Sends what a ticket asks for: the fault that came of it.
    pub async fn exchange(&self, ticket: &Ticket) -> Result<(), Fault> {
        let slot = ticket.slot;
        let template = &self.templates[usize::from(ticket.query)];
        let is_async = matches!(self.spec.kind, Kind::TapAsync(_));
        let keep = |is_result: bool| if ticket.check && is_result { LARGEST as usize } else { 0 };
        let mut whole = self.once(slot, self.link(slot), template, keep(!is_async)).await?;
        let mut is_result = !is_async;
        if course::goes_on(self.spec, whole.status) {
            let course = Box::new(Course::new(self.spec, self.desk.borrow().request(ticket.query)));
            *self.slots[slot].course.borrow_mut() = Some(course);
            while let Some(follow) = self.next(slot, &whole)? {
                self.desk.borrow_mut().follow(slot);
                let most = if follow.keep_body { LONGEST } else { keep(follow.is_result) };
                is_result = follow.is_result;
                whole = self.follow(slot, &follow, most).await?;
            }
        }
        if ticket.check && is_result && whole.is_whole {
            self.slots[slot].is_checked.set(true);
            let Whole { status, content_type, body, .. } = whole;
            self.desk.borrow_mut().hold(slot, Sampled { status, content_type, body });
        }
        Ok(())
    }

    /// What follows a response, if anything does.
    fn next(&self, slot: usize, whole: &Whole) -> Result<Option<Follow>, Fault> {
        let mut course = self.slots[slot].course.borrow_mut();
        let Some(course) = course.as_mut() else { return Ok(None) };
        let location = whole.location.as_deref();
        match course.after(Reply { status: whole.status, location, body: &whole.body }) {
            Then::Finish(Fault::None) => Ok(None),
            Then::Finish(fault) => Err(fault),
            Then::Follow(follow) => Ok(Some(*follow)),
        }
    }

    async fn follow(&self, slot: usize, follow: &Follow, most: usize) -> Result<Whole, Fault> {
        if follow.wait > 0 {
            tokio::time::sleep(Duration::from_nanos(follow.wait)).await;
        }
        let endpoint = Endpoint { port: follow.port, ..self.spec.endpoint.clone() };
        let template = Template::new(self.spec, &endpoint, &follow.request.target, &follow.request)
            .map_err(|_| Fault::RedirectTarget)?;
        if follow.port == self.spec.endpoint.port {
            return self.once(slot, self.link(slot), &template, most).await;
        }
        // Another server of the same host, for this one request.
        let elsewhere = Link::new(self.place.with_port(follow.port), Rc::clone(self.tally));
        self.once(slot, &elsewhere, &template, most).await
    }

    /// Removes the job that a request has made, if it did: its time is not the
    /// request's.
    pub async fn clean_up(&self, slot: usize) {
        let course = self.slots[slot].course.borrow_mut().take();
        let Some(follow) = course.and_then(|mut course| course.clean_up()) else { return };
        // Nobody waits for what comes of it.
        let _ = tokio::time::timeout(super::CLEANING, self.follow(slot, &follow, 0)).await;
    }

    /// One request and its response, of which at most `most` bytes are kept. A kept
    /// connection that turns out to be closed is no fault of the request: it is sent
    /// again, once.
    async fn once(
        &self,
        slot: usize,
        link: &Link,
        template: &Template,
        most: usize,
    ) -> Result<Whole, Fault> {
        let progress = &self.slots[slot];
        let mut tries = 0;
        loop {
            tries += 1;
            progress.status.set(0);
            progress.bytes.set(0);
            progress.is_connecting.set(true);
            let (open, is_fresh) = link.open().await?;
            progress.is_connecting.set(false);
            progress.is_fresh.set(progress.is_fresh.get() | is_fresh);
            let (fault, is_unsent) = match &open.carries {
                Carries::Http2(mux) => match self.stream(mux, slot, template, most).await {
                    Ok((whole, Fault::None)) => {
                        open.is_used.set(true);
                        return Ok(whole);
                    }
                    Ok((_, fault)) => (fault, false),
                    Err(Unsent) => (Fault::Unprocessed, true),
                },
                Carries::Http1(http1) => match http1.send(template.request()).await {
                    Ok(response) => {
                        progress.status.set(response.status().as_u16());
                        self.desk.borrow_mut().first_byte(slot, self.clock.now());
                        let whole = self.body(http1, slot, response, most).await;
                        open.is_used.set(true);
                        if whole.is_err() {
                            self.give_up(link, &open);
                        }
                        return whole;
                    }
                    Err(lost) => (lost_fault(http1, &lost), lost.is_unsent),
                },
            };
            self.give_up(link, &open);
            let was_kept = open.is_used.get() && !self.place.is_http2;
            let is_closed = matches!(fault, Fault::ClosedHead | Fault::ResetHead);
            let is_again = template.is_idempotent && was_kept && is_closed && tries == 1;
            if !(is_again || is_unsent && tries <= TRIES) {
                if fault == Fault::Unprocessed {
                    self.tally.borrow_mut().unprocessed += 1;
                }
                return Err(fault);
            }
            progress.is_retried.set(true);
        }
    }

    /// One request on a stream of HTTP/2, to its end.
    async fn stream(
        &self,
        mux: &RefCell<Mux>,
        slot: usize,
        template: &Template,
        most: usize,
    ) -> Result<(Whole, Fault), Unsent> {
        let progress = &self.slots[slot];
        let (body, is_head) = (template.body.as_ref(), template.is_head());
        let sent = Sent { block: &template.block, body, is_head, most };
        let sending = poll_fn(|context| mux.borrow_mut().poll_send(context, &sent));
        let number = sending.await.ok_or(Unsent)?;
        let mut guard = Guard { mux, number: Some(number), progress };
        let (answer, at, fault) =
            poll_fn(|context| mux.borrow_mut().poll_end(context, number)).await;
        guard.number = None;
        progress.ended.set(Some(at));
        progress.status.set(answer.status);
        progress.bytes.set(answer.bytes);
        if answer.first_byte != NEVER {
            self.desk.borrow_mut().first_byte(slot, answer.first_byte);
        }
        let Answer { status, location, content_type, body, is_whole, .. } = answer;
        Ok((Whole { status, location, content_type, body, is_whole }, fault))
    }

    /// A connection on which something went wrong is not used again; one of HTTP/2
    /// is, if the fault was a stream's alone.
    pub fn give_up(&self, link: &Link, open: &Rc<Open>) {
        if !self.place.is_http2 || open.is_over() {
            link.retire(open);
        }
    }

    /// Reads a body to its end.
    async fn body(
        &self,
        http1: &Http1,
        slot: usize,
        response: Response<Incoming>,
        most: usize,
    ) -> Result<Whole, Fault> {
        let progress = &self.slots[slot];
        let (head, mut body) = response.into_parts();
        let text = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
        let mut whole = Whole {
            status: head.status.as_u16(),
            location: text("location").map(str::to_owned),
            content_type: String::new(),
            body: Vec::new(),
            is_whole: most > 0,
        };
        if most > 0 {
            text("content-type").unwrap_or_default().clone_into(&mut whole.content_type);
        }
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let frame = frame.map_err(|error| broken_fault(http1, &error))?;
            let Some(data) = frame.data_ref() else { continue };
            progress.bytes.set(progress.bytes.get() + data.len() as u64);
            if most > 0 {
                whole.is_whole &= whole.body.len() + data.len() <= most;
                if whole.is_whole {
                    whole.body.extend_from_slice(data);
                }
            }
            if let Some(rate) = self.spec.read_rate {
                let pause = Duration::from_secs_f64(data.len() as f64 / rate as f64);
                tokio::time::sleep(pause).await;
            }
        }
        Ok(whole)
    }
}

/// A request that never left.
struct Unsent;

/// Gives a stream up where its request is dropped.
struct Guard<'a> {
    mux: &'a RefCell<Mux>,
    number: Option<u32>,
    progress: &'a Progress,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        if let Some(answer) = self.mux.borrow_mut().cancel(number) {
            self.progress.status.set(answer.status);
            self.progress.bytes.set(answer.bytes);
        }
    }
}

/// Why no head came.
fn lost_fault(http1: &Http1, lost: &Lost) -> Fault {
    match http1.end() {
        Some(End::Reset) => Fault::ResetHead,
        _ if lost.error.is_parse() => Fault::BadHead,
        Some(End::Closed) => Fault::ClosedHead,
        None if lost.error.is_incomplete_message() || lost.is_unsent => Fault::ClosedHead,
        Some(End::Broken) | None => Fault::BadHead,
    }
}

/// Why a body broke off.
fn broken_fault(http1: &Http1, error: &hyper::Error) -> Fault {
    match http1.end() {
        Some(End::Reset) => Fault::ResetBody,
        Some(End::Closed) => Fault::ClosedBody,
        None if is_eof(error) => Fault::ClosedBody,
        Some(End::Broken) | None => Fault::BadBody,
    }
}

/// Whether a body ended before it was as long as announced.
fn is_eof(error: &hyper::Error) -> bool {
    let source =
        std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    error.is_incomplete_message()
        || source.is_some_and(|source| source.kind() == io::ErrorKind::UnexpectedEof)
}
