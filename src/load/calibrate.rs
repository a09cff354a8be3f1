//! What the generator itself costs and can: a + b × MiB of CPU for each request,
//! its ceilings, and its timing error, measured against the null target.
//!
//! The target's threads and the generator's are pinned apart where there are cores
//! for both. CPU is that of the generator's threads alone, by their own clocks: the
//! target's, though in the same process, has no part in it.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::thread::{CpuSet, sched_getaffinity};
use serde::Serialize;

use super::error::LoadError;
use super::outcome::{Percentiles, RungOutcome, Unwatched};
use super::spec::{Endpoint, HttpVersion, Kind, Pacing, RungSpec};
use super::workload::{Ask, Expect, Query, TapOptions, Workload};
use crate::stats::{StatsError, fit};
use crate::target::null::{NullTarget, Options};

/// Bytes of the bodies that are asked for: from none to the widest class of the
/// published campaign.
pub const SIZES: [u64; 7] = [0, 1 << 10, 4 << 10, 16 << 10, 256 << 10, 1 << 20, 3_386_900];

/// Delays of the target that the generator's clock is set against, in milliseconds.
pub const DELAYS_MS: [u32; 3] = [1, 5, 50];

/// Bytes that are asked for at once, if one request on each connection allows it.
const UNDER_WAY: u64 = 16 << 20;

const MIB: f64 = (1 << 20) as f64;

/// How a calibration is made.
#[derive(Debug, Clone)]
pub struct Calibrate {
    /// Threads that send.
    pub workers: usize,
    /// Connections over all workers.
    pub connections: usize,
    /// Requests at once on each connection, over HTTP/2.
    pub streams: usize,
    pub tls: bool,
    pub http2: bool,
    /// How long each size is measured, and each delay if twenty of it are no longer.
    pub window: Duration,
    /// How often each size is measured.
    pub repetitions: usize,
}

impl Default for Calibrate {
    fn default() -> Self {
        Self {
            workers: 1,
            connections: 8,
            streams: 1,
            tls: false,
            http2: false,
            window: Duration::from_secs(1),
            repetitions: 3,
        }
    }
}

impl Calibrate {
    /// Requests at once on each connection for bodies of this size: so few that what is
    /// under way at once is soon received, or none would end in a window.
    fn streams_for(&self, bytes: u64) -> usize {
        let each = UNDER_WAY / (bytes.max(1) * self.connections as u64);
        self.streams.min(usize::try_from(each).unwrap_or(usize::MAX)).max(1)
    }
}

/// What a calibration gave. Times in seconds, sizes in bytes and MiB.
#[derive(Debug, Clone, Serialize)]
pub struct Calibration {
    /// CPU of the generator's threads for a request without a body, and for each MiB
    /// received: the line through `points`, with its 95% intervals.
    pub a_s_per_request: f64,
    pub a_low: f64,
    pub a_high: f64,
    pub b_s_per_mib: f64,
    pub b_low: f64,
    pub b_high: f64,
    pub r_squared: Option<f64>,
    /// Requests and MiB that a worker takes in a second of its CPU: requests of the
    /// smallest bodies, MiB of the widest.
    pub ceiling_rps_per_worker: f64,
    pub ceiling_mib_per_s_per_worker: f64,
    pub protocol: &'static str,
    pub workers: usize,
    pub connections: usize,
    pub streams: usize,
    /// Cores that the generator and the target were pinned to; empty: not pinned.
    pub generator_cores: Vec<usize>,
    pub target_cores: Vec<usize>,
    pub points: Vec<Point>,
    pub timing: Vec<Timing>,
    /// Unix seconds.
    pub recorded_at: f64,
    pub tapstat: &'static str,
    pub revision: &'static str,
}

/// One window at one size of body.
#[derive(Debug, Clone, Serialize)]
pub struct Point {
    pub bytes: u64,
    pub repetition: usize,
    pub requests: u64,
    pub elapsed_s: f64,
    pub rps: f64,
    pub mib_per_s: f64,
    /// Of all the generator's threads.
    pub cpu_s: f64,
    pub cpu_s_per_request: f64,
    /// Of the busiest worker, in cores.
    pub cpu_peak: f64,
}

/// One window at one delay of the target: what was measured, less what is true.
#[derive(Debug, Clone, Serialize)]
pub struct Timing {
    pub delay_s: f64,
    pub requests: u64,
    pub p50_s: f64,
    pub p95_s: f64,
    pub p99_s: f64,
    pub p50_error_s: f64,
    pub p95_error_s: f64,
    pub p99_error_s: f64,
}

/// What keeps a calibration from being made.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    #[error("the null target cannot be started: {0}")]
    Target(#[from] io::Error),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("{what}: {failed} of {requests} requests failed ({faults}): expected none")]
    Failed { what: String, failed: u64, requests: u64, faults: String },
    #[error("no line through the points: {0}")]
    Fit(#[from] StatsError),
    #[error("no line through {0} points")]
    Points(usize),
}

/// How often a window that nothing came of is made four times as long: on a busy machine
/// a short one is over before the generator has had its core.
const LONGER: usize = 6;

/// Measures what the generator costs.
///
/// # Errors
/// If the target cannot be started, the settings make no sense, or a request fails.
pub fn calibrate(how: &Calibrate) -> Result<Calibration, CalibrateError> {
    let (generator_cores, target_cores) = cores(how.workers);
    let target = NullTarget::start(&Options {
        threads: target_cores.len().max(1),
        tls: how.tls,
        http2: how.http2,
        cores: target_cores.clone(),
        ..Options::default()
    })?;
    let measure = |path: &str, connections: usize, streams: usize, window: Duration| {
        let mut spec = spec(how, &target, path)?;
        spec.connections = connections;
        spec.workers = how.workers.min(connections);
        spec.streams = streams;
        (spec.warmup, spec.measure) = (window / 5, window);
        spec.pins.clone_from(&generator_cores);
        let mut outcome = super::run(&spec, &mut Unwatched)?;
        for _ in 0..LONGER {
            if outcome.counts.completed > 0 || outcome.figures.errors > 0 {
                break;
            }
            spec.measure *= 4;
            outcome = super::run(&spec, &mut Unwatched)?;
        }
        whole(path, outcome)
    };
    let mut points = Vec::new();
    for repetition in 1..=how.repetitions {
        for bytes in SIZES {
            let outcome = measure(
                &format!("/bytes/{bytes}"),
                how.connections,
                how.streams_for(bytes),
                how.window,
            )?;
            points.push(Point::new(bytes, repetition, &outcome));
        }
    }
    let mut timing = Vec::new();
    for delay in DELAYS_MS {
        let path = format!("/delay/{delay}ms/bytes/1024");
        // So few that none of them waits for another.
        let window = how.window.max(Duration::from_millis(20) * delay);
        let outcome = measure(&path, how.workers, 1, window)?;
        timing.extend(Timing::new(f64::from(delay) / 1e3, &outcome));
    }
    let coordinates: Vec<_> =
        points.iter().map(|point| (point.bytes as f64 / MIB, point.cpu_s_per_request)).collect();
    let line = fit::line(&coordinates, 0.95)?.ok_or(CalibrateError::Points(points.len()))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let [small, wide] = [1 << 10, SIZES[SIZES.len() - 1]].map(|bytes| {
        let of_size = || points.iter().filter(|point| point.bytes == bytes);
        let cpu_s: f64 = of_size().map(|point| point.cpu_s).sum();
        of_size().map(|point| point.requests).sum::<u64>() as f64 / cpu_s
    });
    Ok(Calibration {
        a_s_per_request: line.intercept,
        a_low: line.intercept - line.intercept_half_width,
        a_high: line.intercept + line.intercept_half_width,
        b_s_per_mib: line.slope,
        b_low: line.slope - line.slope_half_width,
        b_high: line.slope + line.slope_half_width,
        r_squared: line.r_squared,
        ceiling_rps_per_worker: small,
        ceiling_mib_per_s_per_worker: wide * SIZES[SIZES.len() - 1] as f64 / MIB,
        protocol: match (how.tls, how.http2) {
            (false, false) => "HTTP/1.1",
            (true, false) => "HTTP/1.1 over TLS",
            (false, true) => "HTTP/2",
            (true, true) => "HTTP/2 over TLS",
        },
        workers: how.workers,
        connections: how.connections,
        streams: how.streams,
        generator_cores,
        target_cores,
        points,
        timing,
        recorded_at: now.as_secs_f64(),
        tapstat: crate::VERSION,
        revision: crate::REVISION,
    })
}

/// Cores for the generator's workers, and for the target: apart, or none where
/// there are not enough.
fn cores(workers: usize) -> (Vec<usize>, Vec<usize>) {
    let Ok(set) = sched_getaffinity(None) else { return Default::default() };
    let mut all: Vec<_> = (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect();
    if all.len() <= workers {
        return Default::default();
    }
    // The first core is where others' interrupts often land.
    let generator = all.split_off(all.len() - workers);
    all.truncate(workers);
    (generator, all)
}

fn spec(how: &Calibrate, target: &NullTarget, path: &str) -> Result<RungSpec, LoadError> {
    let mut endpoint = Endpoint::parse(&target.url())?;
    endpoint.http = if how.http2 { HttpVersion::Http2 } else { HttpVersion::Http1 };
    // Whom it speaks to is known: it is in this process.
    endpoint.tls.insecure = true;
    let query = Query {
        query_id: path.to_owned(),
        query_class: "calibration".to_owned(),
        ask: Ask::Http {
            method: "GET".to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        },
        expect: Expect::default(),
    };
    Ok(RungSpec {
        endpoint,
        kind: Kind::Http,
        workload: Arc::new(Workload::uniform(vec![query.prepare(&TapOptions::default())])?),
        pacing: Pacing::Closed,
        connections: how.connections,
        streams: how.streams,
        workers: how.workers,
        keep_alive: true,
        pins: Vec::new(),
        warmup: Duration::ZERO,
        measure: how.window,
        drain: Duration::from_secs(10),
        request_timeout: Duration::from_secs(10),
        connect_timeout: Duration::from_secs(5),
        check_every: 0,
        read_rate: None,
        seed: 0,
        // It is meant to be at its limit.
        guard_max: 1e3,
        max_redirects: 0,
    })
}

/// Refuses a window with a failure in it: its cost is not that of requests.
fn whole(path: &str, outcome: RungOutcome) -> Result<RungOutcome, CalibrateError> {
    let figures = &outcome.figures;
    if figures.errors == 0 && outcome.counts.completed > 0 {
        return Ok(outcome);
    }
    let faults = figures.faults.iter().map(|(name, count)| format!("{name} {count}"));
    Err(CalibrateError::Failed {
        what: path.to_owned(),
        failed: figures.errors,
        requests: figures.requests,
        faults: faults.collect::<Vec<_>>().join(", "),
    })
}

impl Point {
    fn new(bytes: u64, repetition: usize, outcome: &RungOutcome) -> Self {
        let (requests, cpu_s) = (outcome.counts.completed, outcome.guard.cpu_s);
        let elapsed_s = outcome.window.elapsed_s;
        Self {
            bytes,
            repetition,
            requests,
            elapsed_s,
            rps: requests as f64 / elapsed_s,
            mib_per_s: requests as f64 * bytes as f64 / MIB / elapsed_s,
            cpu_s,
            cpu_s_per_request: cpu_s / requests as f64,
            cpu_peak: outcome.guard.cpu_peak,
        }
    }
}

impl Timing {
    fn new(delay_s: f64, outcome: &RungOutcome) -> Option<Self> {
        let Percentiles { p50_s, p95_s, p99_s, .. } = outcome.figures.service?;
        Some(Self {
            delay_s,
            requests: outcome.counts.completed,
            p50_s,
            p95_s,
            p99_s,
            p50_error_s: p50_s - delay_s,
            p95_error_s: p95_s - delay_s,
            p99_error_s: p99_s - delay_s,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_has_a_point_of_each_size_and_adds_up() {
        for (tls, http2) in [(false, false), (true, true)] {
            let how = Calibrate {
                tls,
                http2,
                connections: 2,
                streams: if http2 { 4 } else { 1 },
                window: Duration::from_millis(40),
                repetitions: 1,
                ..Calibrate::default()
            };
            let found = calibrate(&how).unwrap();
            let sizes: Vec<_> = found.points.iter().map(|point| point.bytes).collect();
            assert_eq!(sizes, SIZES);
            assert!(found.points.iter().all(|point| point.cpu_s > 0.0 && point.requests > 0));
            assert!(found.b_s_per_mib > 0.0 && found.a_low <= found.a_high, "{found:?}");
            assert_eq!(found.timing.len(), DELAYS_MS.len());
            for timing in &found.timing {
                assert!(timing.p50_error_s >= 0.0, "{timing:?}");
            }
            let text = serde_json::to_string(&found).unwrap();
            assert!(text.contains("\"a_s_per_request\":") && text.contains("\"b_s_per_mib\":"));
        }
    }

    #[test]
    fn windows_in_which_nothing_comes_are_made_longer() {
        let window = Duration::from_micros(100);
        let how = Calibrate { connections: 1, window, repetitions: 2, ..Calibrate::default() };
        let found = calibrate(&how).unwrap();
        assert!(found.points.iter().all(|point| point.requests > 0));
    }

    #[test]
    fn the_generator_and_its_target_never_share_a_core() {
        for workers in 1..5 {
            let (generator, target) = cores(workers);
            assert!(generator.iter().all(|core| !target.contains(core)));
            assert_eq!(generator.is_empty(), target.is_empty());
        }
    }
}
