//! One rung: starts the workers, watches them, and adds up what they have.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_setaffinity};

use super::address::Address;
use super::carrier::{Carrier, ConnectionTally, Post};
use super::clock::{Clock, nanos, seconds, thread_cpu_s};
use super::desk::{Closed, Desk, Plan};
use super::error::LoadError;
use super::guard::{self, HostCounters, Slices};
use super::outcome::{Guard, Live, RungOutcome, Watch};
use super::pulse::{Histogram, Pulse};
use super::record::Nanos;
use super::spec::RungSpec;
use super::summary::{self, Observed};

/// How often who looks on is told.
const TICK: Duration = Duration::from_millis(200);
/// How long a slice of the guard is.
const SLICE: Nanos = 1_000_000_000;

/// What a worker gives back.
type Worked = Result<(Closed, ConnectionTally), LoadError>;

/// What a worker's thread starts with.
struct Start {
    post: Post,
    pulse: Arc<Pulse>,
    stop: Arc<AtomicBool>,
    /// Dropped when the worker is ready, or cannot be.
    ready: mpsc::Sender<()>,
    /// Gives the clock when all are, or nothing where one could not be started.
    clock: mpsc::Receiver<Clock>,
}

/// Measures a rung with a kind of carrier.
pub fn run<C: Carrier>(spec: &RungSpec, watch: &mut dyn Watch) -> Result<RungOutcome, LoadError> {
    let address = Address::resolve(&spec.endpoint)?;
    let spec = Arc::new(spec.clone());
    let pulses: Vec<Arc<Pulse>> = (0..spec.workers).map(|_| Arc::default()).collect();
    let stop = Arc::new(AtomicBool::new(false));
    let (ready, all_ready) = mpsc::channel();
    let (mut workers, mut clocks) = (Vec::new(), Vec::new());
    for (worker, pulse) in pulses.iter().enumerate() {
        let (sender, clock) = mpsc::channel();
        let start = Start {
            post: Post {
                spec: Arc::clone(&spec),
                address: address.clone(),
                worker,
                connections: share(spec.connections, worker, spec.workers),
            },
            pulse: Arc::clone(pulse),
            stop: Arc::clone(&stop),
            ready: ready.clone(),
            clock,
        };
        let handle = std::thread::Builder::new()
            .name(format!("load-{worker}"))
            .spawn(move || work::<C>(start))
            .map_err(LoadError::system("starting a worker"))?;
        workers.push(handle);
        clocks.push(sender);
    }
    drop(ready);
    // Nobody sends: the channel ends when the last worker is ready.
    while all_ready.recv().is_ok() {}
    let clock = Clock::start();
    for sender in clocks {
        // A worker that failed already does not listen.
        let _ = sender.send(clock);
    }

    let mut sentry = Sentry::new(&spec, clock, &pulses);
    let stopped = sentry.keep(&workers, &stop, watch);
    let mut worked = Vec::with_capacity(workers.len());
    for worker in workers {
        worked.push(worker.join().map_err(|_| LoadError::Worker)??);
    }
    let (mut closed, connections): (Vec<_>, Vec<_>) = worked.into_iter().unzip();
    let observed = Observed { guard: sentry.finish(), clock, connections, stopped };
    // Only now, so that no check takes its time from the window.
    std::thread::scope(|scope| {
        for closed in &mut closed {
            scope.spawn(|| closed.check(&spec.workload));
        }
    });
    Ok(summary::outcome(&spec, closed, observed))
}

/// A worker's share of the connections.
pub fn share(connections: usize, worker: usize, workers: usize) -> usize {
    connections / workers + usize::from(worker < connections % workers)
}

/// A worker's thread.
fn work<C: Carrier>(start: Start) -> Worked {
    let Start { post, pulse, stop, ready, clock } = start;
    let prepared = pin(&post).and_then(|()| C::prepare(&post));
    pulse.begin();
    drop(ready);
    let drive = || {
        let mut carrier = prepared?;
        let clock = clock.recv().map_err(|_| LoadError::Worker)?;
        let spec = Arc::clone(&post.spec);
        let mut desk = Desk::new(spec, post.worker, post.connections, pulse, Arc::clone(&stop));
        carrier.drive(&mut desk, &clock)?;
        Ok((desk.close(clock.now()), carrier.connections()))
    };
    let worked = drive();
    if worked.is_err() {
        // The others need not go on.
        stop.store(true, Ordering::Relaxed);
    }
    worked
}

/// Pins the thread to its core, if cores were given.
fn pin(post: &Post) -> Result<(), LoadError> {
    let pins = &post.spec.pins;
    let Some(core) = pins.get(post.worker % pins.len().max(1)) else { return Ok(()) };
    if *core >= CpuSet::MAX_CPU {
        return Err(LoadError::Setting {
            field: "pin",
            value: core.to_string(),
            expected: "the number of a core",
        });
    }
    let mut cores = CpuSet::new();
    cores.set(*core);
    sched_setaffinity(None, &cores)
        .map_err(|error| LoadError::system("pinning a worker to its core")(error.into()))
}

/// Looks on while the workers run.
struct Sentry<'a> {
    spec: &'a RungSpec,
    plan: Plan,
    clock: Clock,
    pulses: &'a [Arc<Pulse>],
    slices: Slices,
    next_slice: Nanos,
    host: Option<HostCounters>,
    resident: Option<u64>,
    own_cpu: f64,
    guard: Guard,
    live: Live,
    histogram: Histogram,
}

impl<'a> Sentry<'a> {
    fn new(spec: &'a RungSpec, clock: Clock, pulses: &'a [Arc<Pulse>]) -> Self {
        let plan = Plan::new(spec);
        Self {
            spec,
            plan,
            clock,
            pulses,
            slices: Slices::new(pulses.len()),
            next_slice: plan.window_start,
            host: None,
            resident: None,
            own_cpu: 0.0,
            guard: Guard::default(),
            live: Live { planned_s: seconds(plan.window_end), ..Live::default() },
            histogram: Histogram::default(),
        }
    }

    /// Stands by until the workers are done. Says whether the rung was stopped.
    fn keep(
        &mut self,
        workers: &[JoinHandle<Worked>],
        stop: &AtomicBool,
        watch: &mut dyn Watch,
    ) -> bool {
        let mut next_tick = 0;
        let mut stopped = false;
        while !workers.iter().all(JoinHandle::is_finished) {
            let now = self.clock.now();
            if now >= self.next_slice && now < self.plan.window_end + SLICE / 2 {
                self.slice(now);
            }
            if now >= next_tick {
                next_tick = now + nanos(TICK);
                self.look(now);
                if watch.tick(&self.live) == ControlFlow::Break(()) && !stopped {
                    stopped = true;
                    stop.store(true, Ordering::Relaxed);
                }
            }
            let mut until = next_tick;
            if self.next_slice > now {
                until = until.min(self.next_slice);
            }
            let nap = until.saturating_sub(self.clock.now()).clamp(100_000, 20_000_000);
            std::thread::sleep(Duration::from_nanos(nap));
        }
        stopped
    }

    /// The CPU of the workers since the last slice.
    fn slice(&mut self, now: Nanos) {
        let used = self.pulses.iter().map(|pulse| pulse.thread().and_then(guard::thread_cpu_s));
        let used = used.collect();
        if now >= self.plan.window_start && self.host.is_none() {
            self.host = HostCounters::now();
            self.resident = guard::resident_bytes();
            self.own_cpu = thread_cpu_s();
        }
        if let Some(busiest) = self.slices.cut(seconds(now), used) {
            self.live.cpu = busiest;
        }
        let window_end = self.plan.window_end;
        let next = now + SLICE;
        // What is left at the end makes no slice of its own if it is short.
        self.next_slice = match window_end.checked_sub(next) {
            Some(left) if left < SLICE / 2 => window_end,
            Some(_) => next,
            None if now < window_end => window_end,
            None => Nanos::MAX,
        };
    }

    /// What who looks on is told.
    fn look(&mut self, now: Nanos) {
        let counts = self.pulses.iter().map(|pulse| pulse.counts());
        let (ended, failed) = counts.fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        let mut histogram = Histogram::default();
        for pulse in self.pulses {
            pulse.add_to(&mut histogram);
        }
        let elapsed_s = seconds(now);
        let since = elapsed_s - self.live.elapsed_s;
        self.live = Live {
            elapsed_s,
            measuring: now >= self.plan.window_start,
            rps: if since > 0.0 { (ended - self.live.ended) as f64 / since } else { 0.0 },
            ended,
            failed,
            p95_s: histogram.since(&self.histogram).percentile(0.95).map(seconds),
            ..self.live
        };
        self.histogram = histogram;
    }

    /// What the guard saw.
    fn finish(self) -> Guard {
        let _ = self.spec;
        let resident = guard::resident_bytes();
        let grown = resident.zip(self.resident);
        Guard {
            worker_peaks: self.slices.peaks,
            cpu_s: thread_cpu_s() - self.own_cpu,
            host: HostCounters::now().zip(self.host).and_then(|(now, then)| now.since(&then)),
            rss_bytes: resident,
            rss_growth_bytes: grown.map(|(now, then)| now as i64 - then as i64),
            ..self.guard
        }
    }
}
