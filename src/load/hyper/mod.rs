//! TLS and HTTP/2, by hyper and rustls: a runtime for each worker, driven by the
//! same desk as the plain transport.
//!
//! A task for each slot sends what the desk gives it; when a request has ended, its
//! task asks the desk for more at once, and hands on what is for other slots. The
//! worker's own task does what has to be done at a time: arrivals, time-outs, the
//! end.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use tokio::task::LocalSet;

use super::clock::Clock;
use super::desk::{Closed, Desk, Step, Ticket};
use super::error::LoadError;
use super::record::Fault;
use super::spec::{HttpVersion, Kind};

mod exchange;
mod link;
mod message;
mod sniff;
mod timer;
pub mod tls;

pub use link::{Address, Net, Place};

use exchange::Progress;
use link::Link;
use message::{Authority, Template};
use timer::Timer;

/// How long a slot is kept from trying again where no connection could be made.
const PAUSE: Duration = Duration::from_millis(50);

struct Worker {
    desk: RefCell<Desk>,
    clock: Clock,
    timer: Timer,
    slots: Vec<Rc<Progress>>,
    links: Vec<Link>,
    /// The job of each slot that is to be deleted.
    jobs: Vec<RefCell<Option<String>>>,
    place: Place,
    net: Rc<Net>,
    authority: Authority,
    templates: Vec<Template>,
    kind: Kind,
    max_redirects: u32,
    read_rate: Option<u64>,
}

/// Runs one worker to its end, on this thread.
///
/// # Errors
/// If a request cannot be built, or the system refuses a runtime.
pub fn work(desk: Desk, clock: Clock, place: Place) -> Result<(Closed, Rc<Net>), LoadError> {
    let system = LoadError::system("the runtime of a worker could not be started");
    // Lateness is the generator's fault, whoever rounds.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(&system)?;
    let entered = runtime.enter();
    let timer = Timer::new().map_err(&system)?;
    drop(entered);
    let spec = desk.spec().clone();
    let authority = Authority::new(&spec);
    let templates = spec.workload.requests().iter().map(|request| authority.template(request));
    let templates = templates.collect::<Result<Vec<_>, _>>()?;
    let net = Rc::new(Net::default());
    let count = desk.slots();
    let worker = Rc::new(Worker {
        desk: RefCell::new(desk),
        clock,
        timer,
        slots: (0..count).map(|_| Rc::default()).collect(),
        links: (0..count / spec.streams).map(|_| Link::new(Rc::clone(&net))).collect(),
        jobs: (0..count).map(|_| RefCell::default()).collect(),
        place,
        net: Rc::clone(&net),
        authority,
        templates,
        kind: spec.kind,
        max_redirects: spec.max_redirects,
        read_rate: spec.read_rate,
    });
    let local = LocalSet::new();
    for slot in 0..count {
        local.spawn_local(Rc::clone(&worker).serve(slot));
    }
    local.block_on(&runtime, Rc::clone(&worker).watch());
    // Tasks hold the worker; what is under way ends with them.
    drop(local);
    drop(runtime);
    let worker = Rc::into_inner(worker).ok_or(LoadError::Worker)?;
    let now = clock.now();
    Ok((worker.desk.into_inner().close(now), net))
}

/// Whether a rung is for this transport.
pub fn is_for(http: HttpVersion, is_tls: bool) -> bool {
    is_tls || http == HttpVersion::Http2
}

impl Worker {
    fn link(&self, slot: usize) -> &Link {
        &self.links[slot % self.links.len()]
    }

    fn connection(&self, slot: usize) -> u16 {
        (slot % self.links.len()) as u16
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
        progress.begin();
        progress.ticket.set(Some(ticket));
        if let Some(waker) = &*progress.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Does what has to be done at a time, until the rung is over.
    async fn watch(self: Rc<Self>) {
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

    fn expired(&self, now: u64) -> Option<usize> {
        self.desk.borrow_mut().expired(now)
    }

    /// The task of a slot.
    async fn serve(self: Rc<Self>, slot: usize) {
        let progress = Rc::clone(&self.slots[slot]);
        // The waker of a task stays the same.
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
            let fault = self.timed(slot, &ticket).await;
            let now = self.clock.now();
            let ending = progress.ending(fault, self.connection(slot));
            let keeps = self.desk.borrow_mut().finish(slot, now, ending);
            if matches!(self.kind, Kind::TapAsync(_)) {
                self.clean(slot).await;
            }
            if !keeps && let Some(open) = self.link(slot).current() {
                self.link(slot).retire(&open);
            }
            if matches!(fault, Fault::Connect | Fault::ConnectTimeout | Fault::Tls) {
                tokio::time::sleep(PAUSE).await;
            }
            self.desk.borrow_mut().release(slot, self.clock.now());
            self.hand_out();
        }
    }

    /// Sends a request, unless its time is over before its end.
    async fn timed(&self, slot: usize, ticket: &Ticket) -> Fault {
        let progress = &self.slots[slot];
        progress.is_expired.set(false);
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
        ended.unwrap_or_else(|| {
            // A stream can be given up alone, a connection of HTTP/1.1 not.
            if !self.place.is_http2
                && let Some(open) = self.link(slot).current()
            {
                self.link(slot).retire(&open);
            }
            progress.timeout()
        })
    }
}

#[cfg(test)]
mod tests;
