//! What came of a rung.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde::Serialize;

use super::record::Records;
use super::workload::Workload;

/// Everything that was measured.
#[derive(Debug)]
pub struct RungOutcome {
    pub samples: Samples,
    pub counts: Counts,
    pub window: Window,
    pub figures: Figures,
    pub guard: Guard,
    /// Why the rung is void; empty where it is not.
    pub voids: Vec<Void>,
    pub checks: Checks,
    pub connections: Connections,
    /// Whether [`Watch`] ended it before its time.
    pub stopped: bool,
}

impl RungOutcome {
    /// Whether the guard has nothing against it.
    pub fn guard_ok(&self) -> bool {
        self.voids.is_empty()
    }
}

/// The requests of a rung, one list for each worker.
#[derive(Debug)]
pub struct Samples {
    pub workload: Arc<Workload>,
    /// Of each worker.
    pub records: Vec<Records>,
    /// Unix seconds of the clock's nanosecond 0.
    pub zero_unix_s: f64,
    /// Whether requests were meant to start at a time of their own.
    pub open: bool,
    /// `sync` or `async` where TAP was asked.
    pub mode: Option<&'static str>,
    /// Connections of each worker but the last, for numbering them through.
    pub connections_before: Vec<usize>,
}

/// Requests whose intended start lies in the window. They add up:
/// `offered = sent + never_sent`, `sent = completed + failed + aborted`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// That should have been sent.
    pub offered: u64,
    /// That were.
    pub sent: u64,
    /// That succeeded.
    pub completed: u64,
    /// That failed by themselves, statuses of 400 and more included.
    pub failed: u64,
    /// That were under way when the drain time was over or the rung was stopped.
    pub aborted: u64,
    /// That no connection was free for before the drain time was over.
    pub never_sent: u64,
    /// Of those sent: sent a second time, a kept connection having been closed.
    pub retried: u64,
    /// Of those offered: not sent yet when the window ended.
    pub behind: u64,
    /// Requests of the warm-up, not recorded.
    pub warmup: u64,
}

/// The window as it was. Unix times by the one wall-clock anchor.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Window {
    /// Unix seconds.
    pub started_at: f64,
    /// Unix seconds: the last response, or the planned end where none came later.
    pub ended_at: f64,
    /// From the window's start to the last response: what rates divide by.
    pub elapsed_s: f64,
    /// As planned.
    pub measure_s: f64,
    /// Requests that ended after the planned end, and by how much the last of them.
    pub overruns: u64,
    pub overrun_s: f64,
}

/// Figures over all records. Latencies and first bytes are of requests that
/// succeeded, in seconds; none where no request did.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Figures {
    /// All requests, failed and aborted ones too.
    pub requests: u64,
    /// Failed and aborted ones.
    pub errors: u64,
    /// `requests / elapsed_s`.
    pub rps: f64,
    /// From the intended start: what `latency_s` is. In a closed loop the same as
    /// `service`.
    pub response: Option<Percentiles>,
    /// From the start.
    pub service: Option<Percentiles>,
    /// 95th percentile of the first byte, from the intended start.
    pub ttfb_p95_s: Option<f64>,
    pub mean_response_bytes: Option<f64>,
    /// Bytes of all bodies.
    pub total_bytes: u64,
    /// How often each fault and each status from 400 occurred, by name (`status_503`).
    pub faults: Vec<(String, u64)>,
}

/// Of durations, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Percentiles {
    pub mean_s: f64,
    pub p50_s: f64,
    pub p90_s: f64,
    pub p95_s: f64,
    pub p99_s: f64,
    pub p999_s: f64,
    pub max_s: f64,
}

/// The generator's watch over itself, in the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Guard {
    /// Largest CPU of each worker over one second, in cores.
    pub worker_peaks: Vec<f64>,
    /// The largest of them.
    pub cpu_peak: f64,
    /// CPU seconds of the whole program in the window, all threads.
    pub cpu_s: f64,
    /// How late the loop sent by its own fault: a connection was free and the time
    /// had come. Of open loops.
    pub late: Option<Lateness>,
    /// Host figures over the window, none where the system does not say.
    pub host: Option<Host>,
    /// Memory of this program at the window's end, and how much it grew in it.
    pub rss_bytes: Option<u64>,
    pub rss_growth_bytes: Option<i64>,
}

/// How late requests were sent by the generator's own fault, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Lateness {
    pub mean_s: f64,
    pub p99_s: f64,
    pub max_s: f64,
    /// Requests later than 5 ms.
    pub over_5ms: u64,
}

/// Of the host, over the window.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Host {
    /// Shares of all cores' time, 0 to 1.
    pub busy: f64,
    pub steal: f64,
    pub softirq: f64,
    /// TCP segments sent again.
    pub retransmits: u64,
}

/// Why a rung is void, and what would help.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Void {
    /// A word: `guard_cpu`, `late`, `behind`, `steal`.
    pub kind: &'static str,
    pub reason: String,
    pub advice: String,
}

/// What the checks of whole bodies gave.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Checks {
    pub made: u64,
    pub failed: u64,
    /// Not made, since the bodies that were held already took all the room there is.
    pub left_out: u64,
    /// The first failures: query and what was wrong.
    pub failures: Vec<(String, String)>,
}

/// Connections of the whole rung, warm-up included.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Connections {
    pub opened: u64,
    pub failed: u64,
    /// Closed by the server while a request could have been sent on them.
    pub closed_by_server: u64,
    /// Time to connect, TLS included.
    pub connect_mean_s: f64,
    pub connect_max_s: f64,
    /// HTTP/2: GOAWAYs seen, and streams that they left unprocessed.
    pub goaways: u64,
    pub unprocessed: u64,
}

/// How far a rung is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Live {
    /// Since the warm-up's start.
    pub elapsed_s: f64,
    /// Warm-up and window, as planned.
    pub planned_s: f64,
    /// Whether the warm-up is over.
    pub measuring: bool,
    /// Requests that ended, warm-up included.
    pub ended: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Ended per second since the last call.
    pub rps: f64,
    /// 95th percentile of the response time since the last call, within 7%.
    pub p95_s: Option<f64>,
    /// CPU of the busiest worker over the last second, in cores.
    pub cpu: f64,
}

/// Who looks on while a rung runs.
pub trait Watch {
    /// Is called about five times a second, on the thread that called
    /// [`run`](super::run). `Break` ends the rung: what is under way is aborted.
    fn tick(&mut self, live: &Live) -> ControlFlow<()>;
}

/// Nobody looks on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn tick(&mut self, _: &Live) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
