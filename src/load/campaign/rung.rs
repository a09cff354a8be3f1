//! One rung of a campaign: what the generator is told, and what is kept of
//! what it says.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::shard::Shard;
use super::targets::{self, Target};
use crate::load::Workload;
use crate::load::outcome::{Percentiles, RungOutcome};
use crate::load::spec::{Endpoint, Kind, Pacing, Polling, RungSpec, Spacing};
use crate::protocol::{Connections, Loop, Mode, Poll, Protocol, Spacing as Spaced};
use crate::raw::{RungKey, RungRecord};

/// How long a request is waited for, if nothing is said.
const REQUEST_TIMEOUT: f64 = 60.0;

/// How long stragglers are waited for, if nothing is said.
const DRAIN: f64 = 10.0;

/// Of how many responses one is checked, if nothing is said.
const CHECK_EVERY: i64 = 100;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

const MAX_REDIRECTS: u32 = 10;

/// The times of a rung, in seconds, as the protocol has them or as is usual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// Load before the window; before a burst there is none.
    pub warmup: f64,
    /// The window; 0 if the protocol does not say.
    pub measure: f64,
    /// How long stragglers are waited for at most.
    pub drain: f64,
}

impl Times {
    /// The times of a protocol.
    pub fn of(protocol: &Protocol) -> Self {
        let window = &protocol.window;
        let drain = window.drain_seconds.unwrap_or(DRAIN);
        // The generator idles before a burst, where it would warm up otherwise.
        match protocol.measure.burst {
            Some(burst) => Self { warmup: burst.idle_seconds, measure: burst.seconds, drain },
            None => Self {
                warmup: window.warmup_seconds.unwrap_or(0.0),
                measure: window.measure_seconds.unwrap_or(0.0),
                drain,
            },
        }
    }

    /// What a rung takes without stragglers.
    pub fn planned(self) -> f64 {
        self.warmup + self.measure
    }
}

/// How long a request is waited for, in seconds.
pub fn request_timeout(protocol: &Protocol) -> f64 {
    protocol.measure.request_timeout_seconds.unwrap_or(REQUEST_TIMEOUT)
}

/// Workers of the generator for so many connections.
fn workers(protocol: &Protocol, connections: usize) -> usize {
    let wanted = protocol.workload.generator_workers;
    let wanted = wanted.and_then(|workers| usize::try_from(workers).ok());
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    wanted.unwrap_or_else(cores).clamp(1, connections.max(1))
}

/// What the generator is told of a rung; `seed` is that of the query stream.
pub fn spec(
    protocol: &Protocol,
    target: &Target,
    endpoint: Endpoint,
    key: &RungKey,
    workload: Arc<Workload>,
    seed: u64,
    shard: Option<&Shard>,
) -> RungSpec {
    let measure = &protocol.measure;
    let times = Times::of(protocol);
    let seconds = Duration::from_secs_f64;
    let count = |value: i64| usize::try_from(value).unwrap_or(1).max(1);
    let all = count(key.concurrency);
    let connections = shard.map_or(all, |shard| shard.connections(all));
    let kind = match (target.kind, measure.mode) {
        (targets::Kind::Http, _) => Kind::Http,
        (targets::Kind::Tap, Mode::Sync) => Kind::TapSync,
        (targets::Kind::Tap, Mode::Async) => Kind::TapAsync(polling(measure.poll)),
    };
    let is_burst = key.r#loop.as_deref() == Some(Loop::Burst.name());
    let pacing = match key.offered_rps {
        None if is_burst => {
            Pacing::Burst { idle: seconds(times.warmup), on: seconds(times.measure) }
        }
        None => Pacing::Closed,
        Some(rate) => Pacing::Open {
            rate: shard.map_or(rate, |shard| shard.rate(rate, all)),
            spacing: match measure.spacing {
                Spaced::Constant => Spacing::Constant,
                Spaced::Poisson => Spacing::Poisson,
            },
        },
    };
    RungSpec {
        endpoint,
        kind,
        workload,
        pacing,
        connections,
        streams: count(measure.streams.unwrap_or(1)),
        workers: workers(protocol, connections),
        keep_alive: measure.connections == Connections::KeepAlive,
        pins: measure.cpus.iter().filter_map(|cpu| usize::try_from(*cpu).ok()).collect(),
        warmup: seconds(times.warmup),
        measure: seconds(times.measure),
        drain: seconds(times.drain),
        request_timeout: seconds(request_timeout(protocol)),
        connect_timeout: CONNECT_TIMEOUT,
        check_every: u32::try_from(measure.check_every.unwrap_or(CHECK_EVERY)).unwrap_or(u32::MAX),
        read_rate: measure.read_bytes_per_second.and_then(|rate| u64::try_from(rate).ok()),
        seed,
        guard_max: protocol.rule.guard_max,
        max_redirects: MAX_REDIRECTS,
    }
}

/// How jobs are polled.
fn polling(poll: Option<Poll>) -> Polling {
    let Some(poll) = poll else { return Polling::default() };
    Polling {
        first: Duration::from_secs_f64(poll.first_seconds),
        // From 100 to 10,000: the protocol has a factor from 1 to 100.
        factor_percent: (poll.factor * 100.0).round() as u32,
        longest: Duration::from_secs_f64(poll.longest_seconds),
        ..Polling::default()
    }
}

/// The line of a rung.
pub fn record(
    key: RungKey,
    server: &str,
    position: usize,
    outcome: &RungOutcome,
    is_void: bool,
) -> RungRecord {
    let (figures, window, guard) = (&outcome.figures, &outcome.window, &outcome.guard);
    let latency = |figure: fn(&Percentiles) -> f64| figures.response.as_ref().map(figure);
    let (requests, errors) = (figures.requests, figures.errors);
    RungRecord {
        key,
        server: server.to_owned(),
        requests: requests as i64,
        errors: errors as i64,
        error_fraction: (requests > 0).then(|| errors as f64 / requests as f64),
        elapsed_s: Some(window.elapsed_s),
        rps: figures.rps,
        latency_mean_s: latency(|p| p.mean_s),
        latency_p50_s: latency(|p| p.p50_s),
        latency_p90_s: latency(|p| p.p90_s),
        latency_p95_s: latency(|p| p.p95_s),
        latency_p99_s: latency(|p| p.p99_s),
        latency_p999_s: latency(|p| p.p999_s),
        latency_max_s: latency(|p| p.max_s),
        ttfb_p95_s: figures.ttfb_p95_s,
        mean_response_bytes: figures.mean_response_bytes,
        generator_workers: Some(guard.worker_peaks.len() as i64),
        generator_cpu_peak: Some(guard.cpu_peak),
        generator_cpu_s: Some(guard.cpu_s),
        generator_guard_ok: Some(!is_void),
        started_at: Some(window.started_at),
        ended_at: Some(window.ended_at),
        position: Some(position as i64),
        ..RungRecord::default()
    }
}

/// What the generator counted, for the rung's event: what `rungs.jsonl` has no
/// field for.
pub fn detail(outcome: &RungOutcome) -> Value {
    let percentiles = |p: &Percentiles| {
        json!({"mean_s": p.mean_s, "p50_s": p.p50_s, "p90_s": p.p90_s, "p95_s": p.p95_s,
               "p99_s": p.p99_s, "p999_s": p.p999_s, "max_s": p.max_s})
    };
    let (counts, window, guard) = (&outcome.counts, &outcome.window, &outcome.guard);
    let (checks, connections) = (&outcome.checks, &outcome.connections);
    let per_second = |count: u64| count as f64 / window.measure_s;
    json!({
        "counts": {
            "offered": counts.offered, "sent": counts.sent, "completed": counts.completed,
            "failed": counts.failed, "aborted": counts.aborted, "never_sent": counts.never_sent,
            "retried": counts.retried, "behind": counts.behind, "warmup": counts.warmup,
        },
        // Over the window as planned, so that they add up as the counts do.
        "rates": {
            "offered": per_second(counts.offered), "sent": per_second(counts.sent),
            "completed": per_second(counts.completed), "failed": per_second(counts.failed),
            "aborted": per_second(counts.aborted), "never_sent": per_second(counts.never_sent),
        },
        "service": outcome.figures.service.as_ref().map(percentiles),
        "response": outcome.figures.response.as_ref().map(percentiles),
        "total_bytes": outcome.figures.total_bytes,
        "faults": outcome.figures.faults.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "window": {"measure_s": window.measure_s, "elapsed_s": window.elapsed_s,
                   "overruns": window.overruns, "overrun_s": window.overrun_s},
        "guard": {
            "worker_peaks": guard.worker_peaks, "cpu_s": guard.cpu_s,
            "late": guard.late.map(|late| json!({"mean_s": late.mean_s, "p99_s": late.p99_s,
                "max_s": late.max_s, "over_5ms": late.over_5ms})),
            "host": guard.host.map(|host| json!({"busy": host.busy, "steal": host.steal,
                "softirq": host.softirq, "retransmits": host.retransmits})),
            "rss_bytes": guard.rss_bytes, "rss_growth_bytes": guard.rss_growth_bytes,
        },
        "checks": {"made": checks.made, "failed": checks.failed, "left_out": checks.left_out},
        "connections": {
            "opened": connections.opened, "failed": connections.failed,
            "closed_by_server": connections.closed_by_server,
            "connect_mean_s": connections.connect_mean_s,
            "connect_max_s": connections.connect_max_s, "goaways": connections.goaways,
            "unprocessed": connections.unprocessed,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::targets::Targets;
    use super::*;

    /// What the generator is told of a rung of 2 connections.
    fn told(measure: &str, r#loop: Loop) -> RungSpec {
        let protocol = Protocol::parse(&format!("[measure]\n{measure}\n"), "p").unwrap();
        let text = "[target.t]\nbase_url = \"http://localhost/tap\"\n".to_owned();
        let targets = Targets::parse(text, "t", std::path::Path::new(".")).unwrap();
        let target = &targets.target["t"];
        let endpoint = Endpoint::parse(&target.base_url).unwrap();
        let r#loop = Some(r#loop.name().to_owned());
        let key = RungKey { concurrency: 2, r#loop, ..RungKey::default() };
        let workload = Arc::new(Workload::uniform(Vec::new()).unwrap());
        spec(&protocol, target, endpoint, &key, workload, 0, None)
    }

    #[test]
    fn the_generator_is_told_what_the_protocol_says() {
        let plain = told("", Loop::Closed);
        assert_eq!(
            (plain.pacing, plain.read_rate, plain.kind),
            (Pacing::Closed, None, Kind::TapSync)
        );
        assert_eq!(told("read_bytes_per_second = 5000", Loop::Closed).read_rate, Some(5000));
        let jobs = told("mode = \"async\"\npoll = { longest_seconds = 9 }", Loop::Closed);
        let longest = Duration::from_secs(9);
        assert_eq!(jobs.kind, Kind::TapAsync(Polling { longest, ..Polling::default() }));
        let burst = "loop = \"burst\"\nburst = { idle_seconds = 4, seconds = 2, count = 3 }";
        let (idle, on) = (Duration::from_secs(4), Duration::from_secs(2));
        let told = told(burst, Loop::Burst);
        assert_eq!(told.pacing, Pacing::Burst { idle, on });
        assert_eq!((told.warmup, told.measure), (idle, on));
    }

    #[test]
    fn polling_is_the_generators_own_unless_said() {
        assert_eq!(polling(Some(Poll::default())), Polling::default());
        let poll = Poll { first_seconds: 0.5, factor: 2.0, longest_seconds: 3.0 };
        let polling = polling(Some(poll));
        assert_eq!((polling.first, polling.factor_percent), (Duration::from_millis(500), 200));
        assert_eq!(polling.longest, Duration::from_secs(3));
    }

    #[test]
    fn idle_comes_before_a_burst() {
        let text = "[measure]\nburst = { idle_seconds = 4, seconds = 2, count = 3 }";
        let times = Times::of(&Protocol::parse(text, "p").unwrap());
        assert_eq!((times.warmup, times.measure, times.planned()), (4.0, 2.0, 6.0));
    }
}
