//! The loop of HTTP/1.1: a thread with its own epoll and connections.
//!
//! The first thread takes connections and deals them out in turn, so that few
//! connections lie evenly on the threads.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, sockopt};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use rustls::{ServerConfig, ServerConnection};

use super::connection::{Connection, Kitchen, Turn};
use super::prepared::Shared;

/// What the threads are told.
pub const RUN: u8 = 0;
pub const DRAIN: u8 = 1;
pub const STOP: u8 = 2;

/// Events taken by one wait.
const EVENTS: usize = 256;

/// So long before a time that is waited for the target stops to sleep: a core that idles takes
/// up to that to wake, and a delay is to be what it says.
pub const EARLY: Duration = Duration::from_micros(200);
const LISTENER: u64 = u64::MAX;
const WAKER: u64 = u64::MAX - 1;
const TIMER: u64 = u64::MAX - 2;

/// How a thread is reached from the others.
#[derive(Debug)]
pub struct Inbox {
    waker: OwnedFd,
    sockets: Mutex<Vec<OwnedFd>>,
}

impl Inbox {
    fn new() -> io::Result<Self> {
        let waker = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { waker, sockets: Mutex::default() })
    }

    pub fn wake(&self) {
        // A full counter wakes as well.
        let _ = rustix::io::write(&self.waker, &1_u64.to_ne_bytes());
    }
}

/// Threads, and how each is reached.
type Started = (Vec<JoinHandle<()>>, Vec<Arc<Inbox>>);

/// What a loop is started with.
pub struct Start {
    pub listener: OwnedFd,
    pub threads: usize,
    pub delay: Duration,
    pub tls: Option<Arc<ServerConfig>>,
    pub order: Arc<AtomicU8>,
    pub shared: Arc<Shared>,
    pub cores: Vec<usize>,
}

impl Start {
    /// What a thread does first: goes to its core, if it has one.
    pub fn pin(&self, number: usize) -> impl FnOnce() + Send + 'static {
        let core = (!self.cores.is_empty()).then(|| self.cores[number % self.cores.len()]);
        move || {
            if let Some(core) = core.filter(|core| *core < CpuSet::MAX_CPU) {
                let mut cores = CpuSet::new();
                cores.set(core);
                // A core that is not there is no reason not to serve.
                let _ = sched_setaffinity(None, &cores);
            }
        }
    }
}

/// Starts the threads.
///
/// # Errors
/// If the system refuses what they need.
pub fn start(start: &Start) -> io::Result<Started> {
    let inboxes = (0..start.threads.max(1))
        .map(|_| Inbox::new().map(Arc::new))
        .collect::<io::Result<Vec<_>>>()?;
    let mut listener = Some(start.listener.try_clone()?);
    let mut threads = Vec::new();
    for number in 0..inboxes.len() {
        let mut worker = Worker {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            timer: timerfd_create(
                TimerfdClockId::Monotonic,
                TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
            )?,
            listener: listener.take(),
            number,
            inboxes: inboxes.clone(),
            next: 0,
            kitchen: Kitchen::new(Arc::clone(&start.shared), start.delay),
            tls: start.tls.clone(),
            order: Arc::clone(&start.order),
            slots: Vec::new(),
            free: Vec::new(),
            timers: BinaryHeap::new(),
            armed: None,
            is_draining: false,
        };
        worker.register()?;
        let (name, pin) = (format!("null-{number}"), start.pin(number));
        threads.push(std::thread::Builder::new().name(name).spawn(move || {
            pin();
            worker.run();
        })?);
    }
    Ok((threads, inboxes))
}

struct Slot {
    connection: Option<Connection>,
    /// Counts the connections of the slot, so that a late timer finds nobody.
    generation: u32,
    wants_write: bool,
}

struct Worker {
    epoll: OwnedFd,
    timer: OwnedFd,
    listener: Option<OwnedFd>,
    number: usize,
    inboxes: Vec<Arc<Inbox>>,
    /// Who gets the next connection.
    next: usize,
    kitchen: Kitchen,
    tls: Option<Arc<ServerConfig>>,
    order: Arc<AtomicU8>,
    slots: Vec<Slot>,
    free: Vec<usize>,
    timers: BinaryHeap<Reverse<(Instant, usize, u32)>>,
    armed: Option<Instant>,
    is_draining: bool,
}

impl Worker {
    fn register(&self) -> io::Result<()> {
        let flags = epoll::EventFlags::IN;
        let add = |fd: &OwnedFd, data| {
            epoll::add(&self.epoll, fd, epoll::EventData::new_u64(data), flags)
        };
        add(&self.inboxes[self.number].waker, WAKER)?;
        add(&self.timer, TIMER)?;
        if let Some(listener) = &self.listener {
            add(listener, LISTENER)?;
        }
        Ok(())
    }

    fn run(&mut self) {
        // A delay is to be what it says, not up to 50 µs more.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            events.clear();
            let is_near = self.is_near();
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            let most = is_near.then_some(&at_once);
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), most) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept(),
                    WAKER => {
                        if self.woken() {
                            return;
                        }
                    }
                    TIMER => {
                        let _ = rustix::io::read(&self.timer, &mut [0; 8]);
                        self.armed = None;
                    }
                    slot => self.ready(slot as usize, event.flags),
                }
            }
            if is_near {
                self.expire();
            }
            if self.is_draining && self.slots.len() == self.free.len() {
                return;
            }
            if !self.is_near() {
                self.arm();
            }
        }
    }

    /// Takes all connections that wait, and deals them out.
    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        let mut mine = Vec::new();
        loop {
            match accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(socket) => {
                    self.kitchen.shared.connections.fetch_add(1, Ordering::Relaxed);
                    let to = self.next;
                    self.next = (to + 1) % self.inboxes.len();
                    if to == self.number {
                        mine.push(socket);
                    } else {
                        let inbox = &self.inboxes[to];
                        inbox.sockets.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
                        inbox.wake();
                    }
                }
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(_) => break,
            }
        }
        mine.into_iter().for_each(|socket| self.take(socket));
    }

    fn take(&mut self, socket: OwnedFd) {
        // Not for Unix sockets, which need it not.
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        let tls = match &self.tls {
            None => None,
            Some(config) => match ServerConnection::new(Arc::clone(config)) {
                Ok(tls) => Some(tls),
                Err(_) => return,
            },
        };
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { connection: None, generation: 0, wants_write: false });
            self.slots.len() - 1
        });
        let data = epoll::EventData::new_u64(index as u64);
        if epoll::add(&self.epoll, &socket, data, epoll::EventFlags::IN).is_err() {
            self.free.push(index);
            return;
        }
        let slot = &mut self.slots[index];
        slot.wants_write = false;
        let connection = slot.connection.insert(Connection::new(socket, tls));
        if self.is_draining {
            connection.finish();
        }
    }

    /// Does what it is told; whether to end.
    fn woken(&mut self) -> bool {
        let inbox = Arc::clone(&self.inboxes[self.number]);
        let _ = rustix::io::read(&inbox.waker, &mut [0; 8]);
        let sockets =
            std::mem::take(&mut *inbox.sockets.lock().unwrap_or_else(PoisonError::into_inner));
        sockets.into_iter().for_each(|socket| self.take(socket));
        match self.order.load(Ordering::Acquire) {
            STOP => return true,
            DRAIN if !self.is_draining => self.drain(),
            _ => {}
        }
        false
    }

    /// Takes no more connections, closes those that are idle, and lets the
    /// others end with the answer they owe.
    fn drain(&mut self) {
        // Who has been queued by the kernel is served.
        self.accept();
        self.is_draining = true;
        self.listener = None;
        for index in 0..self.slots.len() {
            let Some(connection) = &mut self.slots[index].connection else { continue };
            connection.finish();
            let turn = match connection.is_idle() {
                // A request that has come already is answered.
                true => match connection.readable(&mut self.kitchen) {
                    Turn::Read if self.is_idle(index) => Turn::Gone,
                    turn => turn,
                },
                false => continue,
            };
            self.settle(index, turn);
        }
    }

    fn is_idle(&self, index: usize) -> bool {
        self.slots[index].connection.as_ref().is_some_and(Connection::is_idle)
    }

    fn ready(&mut self, index: usize, flags: epoll::EventFlags) {
        let Some(connection) = self.slots.get_mut(index).and_then(|slot| slot.connection.as_mut())
        else {
            return;
        };
        let turn = if flags.contains(epoll::EventFlags::IN) {
            connection.readable(&mut self.kitchen)
        } else if flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR) {
            Turn::Gone
        } else {
            connection.advance(&mut self.kitchen)
        };
        self.settle(index, turn);
    }

    /// Waits for what a connection waits for.
    fn settle(&mut self, index: usize, turn: Turn) {
        let slot = &mut self.slots[index];
        let Some(connection) = &slot.connection else { return };
        match turn {
            Turn::Gone => {
                slot.connection = None;
                slot.generation = slot.generation.wrapping_add(1);
                self.free.push(index);
                return;
            }
            Turn::Until(until) => self.timers.push(Reverse((until, index, slot.generation))),
            Turn::Read | Turn::Write => {}
        }
        let wants_write = turn == Turn::Write;
        if wants_write != slot.wants_write {
            slot.wants_write = wants_write;
            let flags = epoll::EventFlags::IN;
            let flags = if wants_write { flags | epoll::EventFlags::OUT } else { flags };
            let data = epoll::EventData::new_u64(index as u64);
            let _ = epoll::modify(&self.epoll, connection.socket(), data, flags);
        }
    }

    /// Goes on with those whose time has come.
    fn expire(&mut self) {
        let now = Instant::now();
        while let Some(&Reverse((until, index, generation))) = self.timers.peek() {
            if until > now {
                break;
            }
            self.timers.pop();
            let slot = &mut self.slots[index];
            if slot.generation != generation {
                continue;
            }
            let Some(connection) = &mut slot.connection else { continue };
            let turn = connection.advance(&mut self.kitchen);
            self.settle(index, turn);
        }
    }

    /// Whether the first time that is waited for is so near that it is not slept for.
    fn is_near(&self) -> bool {
        let first = self.timers.peek();
        first.is_some_and(|Reverse((until, ..))| *until <= Instant::now() + EARLY)
    }

    /// Sets the timer to shortly before the first time that is waited for: epoll's own
    /// time-out counts whole milliseconds.
    fn arm(&mut self) {
        let Some(&Reverse((until, _, _))) = self.timers.peek() else { return };
        if self.armed.is_some_and(|armed| armed <= until) {
            return;
        }
        self.armed = Some(until);
        // Zero would disarm it.
        let wait = until.saturating_duration_since(Instant::now() + EARLY);
        let wait = wait.max(Duration::from_nanos(1));
        let value = Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(wait.subsec_nanos()),
        };
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let time = Itimerspec { it_interval: zero, it_value: value };
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &time);
    }
}
