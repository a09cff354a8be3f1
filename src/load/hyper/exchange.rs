//! One logical request: sent, redirects followed, its body thrown away or
//! checked; a job of UWS from its making to its result.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::{Method, Response, Uri};

use super::Worker;
use super::link::{Lost, Open, add};
use super::message::{Outgoing, Template, UNNUMBERED};
use super::sniff::End;
use crate::load::check::{self, LARGEST};
use crate::load::desk::Ticket;
use crate::load::record::{Ending, Fault};
use crate::load::spec::{Kind, Polling};

/// How often a request that never left is sent again.
const TRIES: u32 = 3;

/// The largest text of a job that is read: a phase is a word.
const JOB_TEXT: usize = 64 << 10;

/// What a request is at, as its slot shows it.
#[derive(Debug, Default)]
pub struct Progress {
    pub ticket: Cell<Option<Ticket>>,
    /// Whether its time is over.
    pub is_expired: Cell<bool>,
    pub waker: RefCell<Option<Waker>>,
    /// Of the last response; 0 before its head.
    pub status: Cell<u16>,
    pub bytes: Cell<u64>,
    pub is_fresh: Cell<bool>,
    pub is_retried: Cell<bool>,
    pub is_connecting: Cell<bool>,
    pub is_checked: Cell<bool>,
    stream: Rc<Cell<u32>>,
}

impl Progress {
    pub fn begin(&self) {
        self.status.set(0);
        self.bytes.set(0);
        self.is_fresh.set(false);
        self.is_retried.set(false);
        self.is_connecting.set(false);
        self.is_checked.set(false);
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

/// Whether the bytes of a body are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Nothing,
    /// All, up to so many.
    UpTo(usize),
}

/// A response that came whole.
struct Whole {
    status: u16,
    location: Option<String>,
    content_type: String,
    body: Vec<u8>,
}

impl Worker {
    /// Sends what a ticket asks for: the fault that came of it.
    pub async fn exchange(&self, ticket: &Ticket) -> Fault {
        let template = &self.templates[usize::from(ticket.query)];
        let ended = match self.kind {
            Kind::Http | Kind::TapSync => self.redirected(ticket, template.clone(), true).await,
            Kind::TapAsync(polling) => self.job(ticket, template, polling).await,
        };
        ended.err().unwrap_or_default()
    }

    /// A request and the redirects from it.
    async fn redirected(
        &self,
        ticket: &Ticket,
        mut template: Template,
        is_last: bool,
    ) -> Result<Whole, Fault> {
        let progress = &self.slots[ticket.slot];
        let mut hops = 0;
        loop {
            let keep =
                if ticket.check && is_last { Keep::UpTo(LARGEST as usize) } else { Keep::Nothing };
            let whole = self.once(ticket.slot, &template, keep).await?;
            if !matches!(whole.status, 301 | 302 | 303 | 307 | 308) || self.max_redirects == 0 {
                if ticket.check && is_last && whole.body.len() as u64 == progress.bytes.get() {
                    progress.is_checked.set(true);
                    self.check(ticket, &whole)?;
                }
                return Ok(whole);
            }
            if hops == self.max_redirects {
                return Err(Fault::Redirects);
            }
            hops += 1;
            let location = whole.location.as_deref().ok_or(Fault::RedirectTarget)?;
            let uri =
                self.authority.follow(&template.uri, location).ok_or(Fault::RedirectTarget)?;
            template = template.redirected(whole.status, uri);
        }
    }

    fn check(&self, ticket: &Ticket, whole: &Whole) -> Result<(), Fault> {
        let mut desk = self.desk.borrow_mut();
        let expect = &desk.request(ticket.query).expect;
        let failure = check::check(expect, whole.status, &whole.content_type, &whole.body);
        match desk.checked(ticket.query, failure) {
            Fault::None => Ok(()),
            fault => Err(fault),
        }
    }

    /// One request and its response, on a connection that may have to be made. A
    /// kept connection that turns out to be closed is no fault of the request: it
    /// is sent again, once.
    async fn once(&self, slot: usize, template: &Template, keep: Keep) -> Result<Whole, Fault> {
        let progress = &self.slots[slot];
        let mut tries = 0;
        loop {
            tries += 1;
            progress.is_connecting.set(true);
            let link = self.link(slot);
            let (open, is_fresh) = link.open(&self.place, &self.clock).await?;
            progress.is_connecting.set(false);
            progress.is_fresh.set(progress.is_fresh.get() | is_fresh);
            progress.status.set(0);
            progress.bytes.set(0);
            progress.stream.set(UNNUMBERED);
            let body = Outgoing::new(template.body.clone(), &progress.stream, &open.track);
            let response = match open.send(template.request(body)).await {
                Ok(response) => response,
                Err(lost) => {
                    let was_kept = open.is_used.get() && !self.place.is_http2;
                    let fault = self.lost(&open, slot, &lost);
                    // Over HTTP/2, a stream's end need not be the connection's.
                    if !self.place.is_http2 || lost.is_unsent || open.track.end().is_some() {
                        link.retire(&open);
                    }
                    let is_closed = matches!(fault, Fault::ClosedHead | Fault::ResetHead);
                    let is_again =
                        lost.is_unsent && tries <= TRIES || was_kept && is_closed && tries == 1;
                    if is_again {
                        progress.is_retried.set(true);
                        continue;
                    }
                    return Err(fault);
                }
            };
            progress.status.set(response.status().as_u16());
            self.desk.borrow_mut().first_byte(slot, self.clock.now());
            let whole = self.body(&open, slot, response, keep).await;
            match &whole {
                Ok(_) => open.is_used.set(true),
                Err(_) if !self.place.is_http2 => link.retire(&open),
                Err(_) => {}
            }
            return whole;
        }
    }

    /// Reads a body to its end.
    async fn body(
        &self,
        open: &Open,
        slot: usize,
        response: Response<Incoming>,
        keep: Keep,
    ) -> Result<Whole, Fault> {
        let progress = &self.slots[slot];
        let (head, mut body) = response.into_parts();
        let text = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
        let mut whole = Whole {
            status: head.status.as_u16(),
            location: text("location").map(str::to_owned),
            content_type: text("content-type").unwrap_or_default().to_owned(),
            body: Vec::new(),
        };
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let frame = frame.map_err(|error| self.broken(open, slot, &error))?;
            let Some(data) = frame.data_ref() else { continue };
            add(&progress.bytes, data.len() as u64);
            if let Keep::UpTo(most) = keep
                && whole.body.len() + data.len() <= most
            {
                whole.body.extend_from_slice(data);
            }
            if let Some(rate) = self.read_rate {
                let pause = Duration::from_secs_f64(data.len() as f64 / rate as f64);
                tokio::time::sleep(pause).await;
            }
        }
        Ok(whole)
    }

    /// Why no head came.
    fn lost(&self, open: &Open, slot: usize, lost: &Lost) -> Fault {
        if self.place.is_http2 {
            return self.stream_fault(
                open,
                slot,
                Fault::ResetHead,
                Fault::ClosedHead,
                Fault::Http2,
            );
        }
        match open.track.end() {
            Some(End::Reset) => Fault::ResetHead,
            _ if lost.error.is_parse() => Fault::BadHead,
            Some(End::Closed) => Fault::ClosedHead,
            None if lost.error.is_incomplete_message() || lost.is_unsent => Fault::ClosedHead,
            None => Fault::BadHead,
        }
    }

    /// Why a body broke off.
    fn broken(&self, open: &Open, slot: usize, error: &hyper::Error) -> Fault {
        if self.place.is_http2 {
            // What hyper itself resets is a body that is not as long as announced.
            return self.stream_fault(
                open,
                slot,
                Fault::ResetBody,
                Fault::ClosedBody,
                Fault::BadBody,
            );
        }
        match open.track.end() {
            Some(End::Reset) => Fault::ResetBody,
            Some(End::Closed) => Fault::ClosedBody,
            None if is_eof(error) => Fault::ClosedBody,
            None => Fault::BadBody,
        }
    }

    /// Why a stream ended before its time.
    fn stream_fault(
        &self,
        open: &Open,
        slot: usize,
        reset: Fault,
        closed: Fault,
        own: Fault,
    ) -> Fault {
        let stream = self.slots[slot].stream.get();
        if stream == UNNUMBERED || open.track.is_unprocessed(stream) {
            add(&self.net.unprocessed, 1);
            return Fault::Unprocessed;
        }
        if open.track.is_reset(stream) {
            return Fault::StreamReset;
        }
        match open.track.end() {
            Some(End::Reset) => reset,
            Some(End::Closed) => closed,
            None => own,
        }
    }

    /// A job of UWS: made, run, polled until it has ended, its result fetched.
    async fn job(
        &self,
        ticket: &Ticket,
        template: &Template,
        polling: Polling,
    ) -> Result<Whole, Fault> {
        let slot = ticket.slot;
        let made = self.once(slot, template, Keep::Nothing).await?;
        if made.status >= 400 {
            return Ok(made);
        }
        let location = made.location.as_deref().ok_or(Fault::JobProtocol)?;
        let job = self.authority.follow(&template.uri, location).ok_or(Fault::JobProtocol)?;
        let path = job.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        *self.jobs[slot].borrow_mut() = Some(path.clone());
        let below = |rest: &str| -> Result<Uri, Fault> {
            self.authority.uri(&format!("{path}/{rest}")).ok_or(Fault::JobProtocol)
        };
        let get = |uri| Template {
            method: Method::GET,
            uri,
            fields: self.authority.fields(),
            body: None,
        };
        if !polling.run_at_once {
            let mut run = get(below("phase")?);
            run.method = Method::POST;
            let form = hyper::header::HeaderValue::from_static("application/x-www-form-urlencoded");
            run.fields.insert("content-type", form);
            run.body = Some(Bytes::from_static(b"PHASE=RUN"));
            if self.once(slot, &run, Keep::Nothing).await?.status >= 400 {
                return Err(Fault::JobProtocol);
            }
        }
        let phase = get(below("phase")?);
        let mut wait = polling.first;
        loop {
            tokio::time::sleep(wait).await;
            wait = (wait * polling.factor_percent / 100).min(polling.longest);
            let polled = self.once(slot, &phase, Keep::UpTo(JOB_TEXT)).await?;
            if polled.status >= 400 {
                return Err(Fault::JobProtocol);
            }
            match String::from_utf8_lossy(&polled.body).trim() {
                "COMPLETED" => break,
                "PENDING" | "QUEUED" | "EXECUTING" | "SUSPENDED" => {}
                "ERROR" => return Err(Fault::JobError),
                "ABORTED" | "HELD" | "ARCHIVED" => return Err(Fault::JobAborted),
                _ => return Err(Fault::JobProtocol),
            }
        }
        self.redirected(ticket, get(below("results/result")?), true).await
    }

    /// Deletes the job of a slot, if it has one: its time is not the request's.
    pub async fn clean(&self, slot: usize) {
        let Some(path) = self.jobs[slot].borrow_mut().take() else { return };
        let Some(uri) = self.authority.uri(&path) else { return };
        let fields = self.authority.fields();
        let delete = Template { method: Method::DELETE, uri, fields, body: None };
        let _ = tokio::time::timeout(self.place.timeout, async {
            let (open, _) = self.link(slot).open(&self.place, &self.clock).await.ok()?;
            let stream = Rc::default();
            let response =
                open.send(delete.request(Outgoing::new(None, &stream, &open.track))).await;
            let mut body = response.ok()?.into_body();
            while poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await.is_some() {}
            Some(())
        })
        .await;
    }
}

/// Whether a body ended before it was as long as announced.
fn is_eof(error: &hyper::Error) -> bool {
    let source =
        std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    error.is_incomplete_message()
        || source.is_some_and(|source| source.kind() == io::ErrorKind::UnexpectedEof)
}
