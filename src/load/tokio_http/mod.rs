//! TLS and HTTP/2: a runtime for each worker, driven by the same desk as the plain
//! transport. TLS is rustls, HTTP/1.1 over it hyper. HTTP/2 has a codec of its own
//! ([`mux`]): hyper's took twice the CPU of h2load for each request.
//!
//! Each slot is a future that sends what the desk gives it; when a request has
//! ended, it asks the desk for more at once, and hands on what is for other slots.
//! What has to be done at a time (arrivals, time-outs, the end) a timer calls for.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use tokio::runtime::Runtime;
use tokio::task::LocalSet;

use super::carrier::{Carrier, ConnectionTally, Post};
use super::clock::Clock;
use super::desk::{Desk, Step, Ticket};
use super::error::LoadError;
use super::record::{Fault, Nanos};
use super::spec::{HttpVersion, Pacing, RungSpec, Scheme};

mod exchange;
mod frame;
mod hpack;
mod link;
mod message;
mod mux;
mod secure;
mod sniff;
mod timer;
mod wire;

use exchange::Progress;
use link::{Link, Place};
use message::Template;
use timer::Timer;

/// How long a slot rests after a connection that could not be made.
const REST: Duration = Duration::from_millis(10);
/// How long cleaning up after a job may take.
const CLEANING: Duration = Duration::from_secs(5);
/// How long it may take for all that are left at the rung's end.
const SWEEPING: Duration = Duration::from_secs(2);

/// See the module.
pub struct TokioHttp {
    spec: Arc<RungSpec>,
    place: Place,
    templates: Vec<Template>,
    links: Vec<Link>,
    tally: Rc<RefCell<ConnectionTally>>,
    // Tasks of connections end before their runtime.
    local: LocalSet,
    runtime: Runtime,
}

impl Carrier for TokioHttp {
    fn prepare(post: &Post) -> Result<Self, LoadError> {
        let spec = Arc::clone(&post.spec);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(LoadError::system("the runtime of a worker"))?;
        let tls = match spec.endpoint.scheme {
            Scheme::Https => Some(super::tls::client(&spec.endpoint)?),
            Scheme::Http => None,
        };
        let place = Place {
            address: post.address.clone(),
            tls,
            is_http2: spec.endpoint.http == HttpVersion::Http2,
            read_rate: spec.read_rate,
            timeout: spec.connect_timeout,
            scratch: secure::Scratch::default(),
            clock: Rc::new(Cell::new(Clock::start())),
        };
        let template = |request: &super::workload::Prepared| {
            let target = format!("{}{}", spec.endpoint.base_path, request.target);
            Template::new(&spec, &spec.endpoint, &target, request)
        };
        let templates = spec.workload.requests().iter().map(template).collect::<Result<_, _>>()?;
        let tally = Rc::new(RefCell::new(ConnectionTally::default()));
        let link = || Link::new(place.clone(), Rc::clone(&tally));
        let links: Vec<Link> = (0..post.connections).map(|_| link()).collect();
        let local = LocalSet::new();
        if spec.keep_alive && !matches!(spec.pacing, Pacing::Burst { .. }) {
            // One that cannot be made is tried again by the request that needs it.
            local.block_on(&runtime, async {
                futures::future::join_all(links.iter().map(|link| link.open())).await;
            });
        }
        Ok(Self { spec, place, templates, links, tally, local, runtime })
    }

    fn drive(&mut self, desk: &mut Desk, clock: &Clock) -> Result<(), LoadError> {
        self.place.clock.set(*clock);
        // Lateness is the generator's fault, whoever rounds.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let timer = {
            let _entered = self.runtime.enter();
            Timer::new().map_err(LoadError::system("a timer"))?
        };
        let worker = Worker {
            spec: &self.spec,
            clock,
            timer,
            slots: (0..desk.slots()).map(|_| Progress::default()).collect(),
            desk: RefCell::new(desk),
            links: &self.links,
            place: &self.place,
            tally: &self.tally,
            templates: &self.templates,
        };
        self.local.block_on(&self.runtime, tokio::task::unconstrained(worker.run()));
        Ok(())
    }

    fn connections(&self) -> ConnectionTally {
        // Those that are still open have their GOAWAYs to tell.
        self.links.iter().for_each(Link::close);
        *self.tally.borrow()
    }
}

struct Worker<'a> {
    spec: &'a Arc<RungSpec>,
    desk: RefCell<&'a mut Desk>,
    clock: &'a Clock,
    timer: Timer,
    slots: Vec<Progress>,
    links: &'a [Link],
    place: &'a Place,
    tally: &'a Rc<RefCell<ConnectionTally>>,
    templates: &'a [Template],
}

impl Worker<'_> {
    fn link(&self, slot: usize) -> &Link {
        &self.links[slot % self.links.len()]
    }

    /// Runs until the rung is over for this worker; what is still under way then is
    /// dropped.
    async fn run(&self) {
        let mut slots: FuturesUnordered<_> =
            (0..self.slots.len()).map(|slot| self.serve(slot)).collect();
        let mut watch = pin!(self.watch());
        poll_fn(|context| {
            // Slots never end.
            let _ = slots.poll_next_unpin(context);
            watch.as_mut().poll(context)
        })
        .await;
        drop(slots);
        if !self.place.is_http2 {
            // Answers to what was aborted may be under way on them.
            self.links.iter().for_each(Link::close);
        }
        // A server that goes on with jobs is not at rest for the next rung.
        let sweep =
            futures::future::join_all((0..self.slots.len()).map(|slot| self.clean_up(slot)));
        let _ = tokio::time::timeout(SWEEPING, sweep).await;
    }

    /// Hands out what is to be sent now, and sets the timer for what comes later.
    /// Says whether the rung is over.
    fn hand_out(&self) -> bool {
        let mut desk = self.desk.borrow_mut();
        loop {
            let now = self.clock.now();
            match desk.step(now) {
                Step::Send(ticket) => self.post(ticket),
                Step::Wait(until) => {
                    self.timer.set(now, until);
                    return false;
                }
                Step::Done => {
                    self.timer.set(now, now);
                    return true;
                }
            }
        }
    }

    fn post(&self, ticket: Ticket) {
        let progress = &self.slots[ticket.slot];
        progress.ticket.set(Some(ticket));
        if let Some(waker) = &*progress.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Does what has to be done at a time, until the rung is over.
    async fn watch(&self) {
        while !self.hand_out() {
            self.timer.rings().await;
            let now = self.clock.now();
            while let Some(slot) = self.expired(now) {
                let progress = &self.slots[slot];
                progress.is_expired.set(true);
                if let Some(waker) = &*progress.waker.borrow() {
                    waker.wake_by_ref();
                }
            }
        }
    }

    fn expired(&self, now: Nanos) -> Option<usize> {
        self.desk.borrow_mut().expired(now)
    }

    /// Serves a slot for ever.
    async fn serve(&self, slot: usize) {
        let progress = &self.slots[slot];
        // The waker of a slot stays the same.
        poll_fn(|context| {
            *progress.waker.borrow_mut() = Some(context.waker().clone());
            Poll::Ready(())
        })
        .await;
        loop {
            let ticket = poll_fn(|_| match progress.ticket.take() {
                Some(ticket) => Poll::Ready(ticket),
                None => Poll::Pending,
            })
            .await;
            progress.begin();
            let fault = self.timed(slot, &ticket).await;
            let link = self.link(slot);
            let connection = (slot % self.links.len()) as u16;
            let ending = progress.ending(fault, connection);
            // A stream's end was noted when it came, not when its slot had its turn.
            let end = progress.ended.get().unwrap_or_else(|| self.clock.now());
            let keeps = self.desk.borrow_mut().finish(slot, end, ending);
            if progress.course.borrow().is_some() {
                self.clean_up(slot).await;
            }
            if !keeps {
                link.close();
            }
            if matches!(fault, Fault::Connect | Fault::ConnectTimeout | Fault::Tls) {
                // A server that refuses is not asked a hundred thousand times a second.
                tokio::time::sleep(REST).await;
            }
            self.desk.borrow_mut().release(slot, self.clock.now());
            self.hand_out();
        }
    }

    /// Sends a request, unless its time is over before its end.
    async fn timed(&self, slot: usize, ticket: &Ticket) -> Fault {
        let progress = &self.slots[slot];
        let ended = {
            let mut exchange = pin!(self.exchange(ticket));
            poll_fn(|context| {
                if progress.is_expired.take() {
                    return Poll::Ready(None);
                }
                exchange.as_mut().poll(context).map(Some)
            })
            .await
        };
        match ended {
            Some(ended) => ended.err().unwrap_or_default(),
            None => {
                // A stream can be given up alone, a connection of HTTP/1.1 not.
                if !self.place.is_http2 {
                    self.link(slot).close();
                }
                progress.timeout()
            }
        }
    }
}

#[cfg(test)]
mod tests;
