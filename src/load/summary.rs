//! A rung's outcome, of what its workers have.

use std::collections::BTreeMap;

use super::carrier::ConnectionTally;
use super::clock::{Clock, latency, seconds};
use super::desk::{Closed, Plan};
use super::outcome::{
    Checks, Counts, Figures, Guard, Lateness, Percentiles, RungOutcome, Samples, Void, Window,
};
use super::pulse::Histogram;
use super::record::{Fault, Nanos, Record};
use super::rung::share;
use super::spec::{Kind, Pacing, RungSpec};
use crate::stats::percentile;

/// Share of the offered requests that may be unsent when the window ends, and
/// share that may be late by the generator's own fault.
const MOST_BEHIND: f64 = 0.05;
const MOST_LATE: f64 = 0.01;

/// What was seen beside the workers' own records.
#[derive(Debug)]
pub struct Observed {
    pub guard: Guard,
    pub clock: Clock,
    pub connections: Vec<ConnectionTally>,
    pub stopped: bool,
}

/// Adds it all up.
pub fn outcome(spec: &RungSpec, closed: Vec<Closed>, observed: Observed) -> RungOutcome {
    let plan = Plan::new(spec);
    let counts = count(&closed, plan);
    let open = matches!(spec.pacing, Pacing::Open { .. });
    let checks = checks(&closed);
    let guard = guard(&closed, observed.guard, open, spec);
    let samples = Samples {
        workload: std::sync::Arc::clone(&spec.workload),
        records: closed.into_iter().map(|closed| closed.records).collect(),
        zero_unix_s: observed.clock.zero_unix_s(),
        open,
        mode: match spec.kind {
            Kind::Http => None,
            Kind::TapSync => Some("sync"),
            Kind::TapAsync(_) => Some("async"),
        },
        connections_before: (0..spec.workers)
            .map(|worker| {
                (0..worker).map(|before| share(spec.connections, before, spec.workers)).sum()
            })
            .collect(),
    };
    let window = window(&samples, plan, observed.stopped.then(|| observed.clock.now()));
    let figures = figures(&samples, window.elapsed_s);
    let voids = voids(spec, &counts, &guard, &window);
    RungOutcome {
        counts,
        window,
        figures,
        guard,
        voids,
        checks,
        connections: ConnectionTally::total(&observed.connections),
        stopped: observed.stopped,
        samples,
    }
}

fn count(closed: &[Closed], plan: Plan) -> Counts {
    let mut counts = Counts::default();
    for Closed { tally, records, .. } in closed {
        counts.completed += tally.completed;
        counts.failed += tally.failed;
        counts.aborted += tally.aborted;
        counts.never_sent += tally.never_sent;
        counts.retried += tally.retried;
        counts.warmup += tally.warmup;
        let late = records.iter().filter(|record| record.start() >= plan.window_end).count();
        counts.behind += late as u64 + tally.never_sent;
    }
    counts.sent = counts.completed + counts.failed + counts.aborted;
    counts.offered = counts.sent + counts.never_sent;
    counts
}

fn checks(closed: &[Closed]) -> Checks {
    let mut checks = Checks::default();
    for closed in closed {
        checks.made += closed.checks.made;
        checks.failed += closed.checks.failed;
        checks.left_out += closed.checks.left_out;
        checks.failures.extend(closed.checks.failures.iter().cloned());
    }
    checks
}

/// The window: from its planned start to the last response, or to its planned end
/// where that is later. One that was stopped ends when it was.
fn window(samples: &Samples, plan: Plan, stopped: Option<Nanos>) -> Window {
    let planned_end = stopped.unwrap_or(plan.window_end).min(plan.window_end);
    let planned_end = planned_end.max(plan.window_start);
    let ends = || samples.records.iter().flat_map(|records| records.iter()).map(Record::end);
    let last = ends().max().unwrap_or(0);
    // A closed loop that ends early was stopped, or its last connection was.
    let end = last.max(planned_end);
    let elapsed_s = seconds(end - plan.window_start);
    let overruns = ends().filter(|end| *end > planned_end).count() as u64;
    Window {
        started_at: samples.zero_unix_s + seconds(plan.window_start),
        ended_at: samples.zero_unix_s + seconds(end),
        elapsed_s,
        measure_s: seconds(plan.window_end - plan.window_start),
        overruns,
        overrun_s: seconds(last.saturating_sub(planned_end)),
    }
}

/// The figures of all requests.
pub fn figures(samples: &Samples, elapsed_s: f64) -> Figures {
    let records = || samples.records.iter().flat_map(|records| records.iter());
    let requests = records().count() as u64;
    let good = || records().filter(|record| record.succeeded());
    let succeeded = good().count() as u64;
    let mut first: Vec<f64> = good()
        .filter_map(|record| record.first_byte().map(|first| latency(record.late() + first)))
        .collect();
    let bytes: u64 = good().map(Record::bytes).sum();
    let mut faults = BTreeMap::new();
    for record in records().filter(|record| !record.succeeded()) {
        let name = match (record.fault(), record.status()) {
            (Fault::None, Some(status)) => format!("status_{status}"),
            (fault, _) => fault.name().to_owned(),
        };
        *faults.entry(name).or_insert(0) += 1;
    }
    Figures {
        requests,
        errors: requests - succeeded,
        rps: if elapsed_s > 0.0 { requests as f64 / elapsed_s } else { 0.0 },
        response: percentiles(good().map(|record| latency(record.response()))),
        service: percentiles(good().map(|record| latency(record.service()))),
        ttfb_p95_s: percentile::select(&mut first, [0.95]).ok().flatten().map(|[p95]| p95),
        mean_response_bytes: (succeeded > 0).then(|| bytes as f64 / succeeded as f64),
        total_bytes: records().map(Record::bytes).sum(),
        faults: faults.into_iter().collect(),
    }
}

fn percentiles(values: impl Iterator<Item = f64>) -> Option<Percentiles> {
    let mut values: Vec<f64> = values.collect();
    let mean_s = percentile::mean(&values)?;
    let ps = [0.5, 0.9, 0.95, 0.99, 0.999, 1.0];
    let [p50_s, p90_s, p95_s, p99_s, p999_s, max_s] =
        percentile::select(&mut values, ps).ok().flatten()?;
    Some(Percentiles { mean_s, p50_s, p90_s, p95_s, p99_s, p999_s, max_s })
}

/// The guard's figures: what it saw, and what the workers say of themselves.
fn guard(closed: &[Closed], seen: Guard, open: bool, spec: &RungSpec) -> Guard {
    let measure_s = spec.measure.as_secs_f64();
    // A window too short for a slice has the mean of each worker.
    let peaks = seen.worker_peaks.iter().zip(closed);
    let worker_peaks: Vec<f64> = peaks
        .map(|(peak, closed)| if *peak > 0.0 { *peak } else { closed.cpu_s / measure_s })
        .collect();
    let mut late = Histogram::default();
    let (mut sum, mut max, mut over, mut sent) = (0, 0, 0, 0);
    for closed in closed {
        late.merge(&closed.late);
        sum += closed.late_sum;
        max = max.max(closed.late_max);
        over += closed.late_over;
        sent += closed.records.len();
    }
    let lateness = open.then(|| Lateness {
        mean_s: seconds(sum) / sent.max(1) as f64,
        p99_s: late.percentile(0.99).map_or(0.0, seconds),
        max_s: seconds(max),
        over_5ms: over,
    });
    Guard {
        cpu_peak: worker_peaks.iter().copied().fold(0.0, f64::max),
        worker_peaks,
        cpu_s: seen.cpu_s + closed.iter().map(|closed| closed.cpu_s).sum::<f64>(),
        late: lateness,
        ..seen
    }
}

/// Why the rung is not to be believed.
fn voids(spec: &RungSpec, counts: &Counts, guard: &Guard, window: &Window) -> Vec<Void> {
    let mut voids = Vec::new();
    if guard.cpu_peak >= spec.guard_max {
        let busiest =
            guard.worker_peaks.iter().position(|peak| *peak == guard.cpu_peak).unwrap_or(0);
        voids.push(Void {
            kind: "guard_cpu",
            reason: format!(
                "worker {} of {} used {:.2} of a core in one second: guard_max is {}",
                busiest + 1,
                spec.workers,
                guard.cpu_peak,
                spec.guard_max
            ),
            advice: more_workers(spec),
        });
    }
    if counts.offered == 0 {
        voids.push(Void {
            kind: "empty",
            reason: format!(
                "no request began within the window of {} s: all connections waited for what was \
                 sent before it",
                window.measure_s
            ),
            advice: "a longer window, or fewer connections".to_owned(),
        });
    }
    let Some(late) = &guard.late else { return voids };
    let share = |part: u64| part as f64 / counts.offered.max(1) as f64;
    if share(late.over_5ms) > MOST_LATE {
        voids.push(Void {
            kind: "late",
            reason: format!(
                "{:.1}% of the requests were sent more than 5 ms late though a connection was \
                 free: the generator did not keep its schedule",
                100.0 * share(late.over_5ms)
            ),
            advice: more_workers(spec),
        });
    }
    if share(counts.behind) > MOST_BEHIND || counts.never_sent > 0 {
        let offered = counts.offered as f64 / window.measure_s;
        voids.push(Void {
            kind: "behind",
            reason: format!(
                "when the window ended, {:.1}% of the offered requests were not sent, {} never: \
                 {} connections do not carry {offered:.1} requests/s to this target",
                100.0 * share(counts.behind),
                counts.never_sent,
                spec.connections,
            ),
            advice: "offer a lower rate, or hold more connections if the target can take more \
                     requests at once"
                .to_owned(),
        });
    }
    voids
}

fn more_workers(spec: &RungSpec) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if spec.workers < cores && spec.workers < spec.connections {
        format!("use more workers ({} now, {cores} cores here), or a lower rate", spec.workers)
    } else {
        "use a host with more cores, several hosts (--shard), or a lower rate".to_owned()
    }
}
