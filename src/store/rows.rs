//! What run directories say, as rows of the store.

use super::schema::{
    AgreementRow, EventRow, GateRow, PinRow, PublishedBurstRow, PublishedCellRow,
    PublishedInstanceScalingRow, PublishedResourceCellRow, PublishedRungResourceRow,
    PublishedSweepRow, ResourceRow, RunRow, RungRow,
};
use crate::raw::{
    Agreement, Burst, Cell, Event, Gate, InstanceScaling, Layout, Pin, ResourceCell,
    ResourceSample, Resumed, Run, RunId, RungRecord, RungResources, Sweep, Warning,
};

/// The kind of the events that ingest's warnings become.
pub const WARNING: &str = "warning";

/// The kind of the events that the environment's `resumed` entries become.
pub const RESUMED: &str = "resumed";

/// Records as rows, in their order.
pub(super) fn all<R: From<T>, T>(records: Vec<T>) -> Vec<R> {
    records.into_iter().map(R::from).collect()
}

impl RunRow {
    /// The row of a run.
    pub fn new(id: &RunId, layout: Layout, run: &Run) -> Self {
        let environment = run.environment.clone();
        let times = |time: fn(&RungRecord) -> Option<f64>| run.rungs.iter().filter_map(time);
        Self {
            label: id.label().to_owned(),
            started_at: times(|rung| rung.started_at).reduce(f64::min).or(environment.recorded_at),
            ended_at: times(|rung| rung.ended_at).reduce(f64::max),
            git_sha: environment.git_sha.or_else(|| id.short_sha().map(str::to_owned)),
            git_branch: environment.git_branch,
            git_describe: environment.git_describe,
            git_dirty: environment.git_dirty,
            corpus_sha256: environment.corpus_sha256,
            dataset_sha256: environment.dataset_sha256,
            seed: environment.seed,
            scenario: environment.scenario,
            measure_seconds: environment.measure_seconds,
            host_cpus: environment.host_cpus,
            host_platform: environment.host_platform,
            layout: layout.name().to_owned(),
            rungs: run.rungs.len() as i64,
            requests: requests(run),
        }
    }
}

/// Requests of all rungs; of a published table, what its cells say.
fn requests(run: &Run) -> i64 {
    let rungs: i64 = run.rungs.iter().map(|rung| rung.requests).sum();
    let cells: i64 = run.published.cells.iter().filter_map(|cell| cell.requests).sum();
    if run.rungs.is_empty() { cells } else { rungs }
}

impl From<RungRecord> for RungRow {
    fn from(rung: RungRecord) -> Self {
        Self {
            rung: rung.key.name(),
            tier: rung.key.tier,
            target: rung.key.target,
            server: rung.server,
            query_class: rung.key.query_class,
            response_format: rung.key.response_format,
            concurrency: rung.key.concurrency,
            repetition: rung.key.repetition,
            mode: rung.key.mode,
            r#loop: rung.key.r#loop,
            offered_rps: rung.key.offered_rps,
            instances: rung.key.instances,
            loops: rung.key.loops,
            requests: rung.requests,
            errors: rung.errors,
            error_fraction: rung.error_fraction,
            elapsed_s: rung.elapsed_s,
            window_s: rung.window_s,
            rps: rung.rps,
            latency_mean_s: rung.latency_mean_s,
            latency_p50_s: rung.latency_p50_s,
            latency_p90_s: rung.latency_p90_s,
            latency_p95_s: rung.latency_p95_s,
            latency_p99_s: rung.latency_p99_s,
            latency_p999_s: rung.latency_p999_s,
            latency_max_s: rung.latency_max_s,
            ttfb_p95_s: rung.ttfb_p95_s,
            mean_response_bytes: rung.mean_response_bytes,
            generator_workers: rung.generator_workers,
            generator_cpu_peak: rung.generator_cpu_peak,
            generator_cpu_s: rung.generator_cpu_s,
            generator_guard_ok: rung.generator_guard_ok,
            started_at: rung.started_at,
            ended_at: rung.ended_at,
            position: rung.position,
        }
    }
}

impl From<ResourceSample> for ResourceRow {
    fn from(sample: ResourceSample) -> Self {
        let ResourceSample { t, container, cpu_usec, mem_bytes, python_procs } = sample;
        Self { t, container, cpu_usec, mem_bytes, python_procs }
    }
}

impl From<Gate> for GateRow {
    fn from(gate: Gate) -> Self {
        Self {
            tier: gate.tier,
            target: gate.target,
            tap_versions: gate.tap_versions,
            taplint_passed: gate.taplint_passed,
            taplint_errors: gate.taplint_errors,
            taplint_errors_blocking: gate.taplint_errors_blocking,
            maxrec_default: gate.maxrec_default,
        }
    }
}

impl From<Agreement> for AgreementRow {
    fn from(agreement: Agreement) -> Self {
        let Agreement { tier, query_class, agrees, probes } = agreement;
        Self { tier, query_class, agrees, probes }
    }
}

impl From<Pin> for PinRow {
    fn from(pin: Pin) -> Self {
        let Pin { tier, target, container, key, value } = pin;
        Self { tier, target, container, key, value }
    }
}

impl From<Event> for EventRow {
    fn from(event: Event) -> Self {
        let Event { t, kind, rung, detail } = event;
        Self { t, kind, rung, detail }
    }
}

impl From<&Warning> for EventRow {
    fn from(warning: &Warning) -> Self {
        Self { kind: WARNING.to_owned(), detail: Some(warning.to_string()), ..Self::default() }
    }
}

impl EventRow {
    /// A `resumed` entry of the environment.
    pub fn resumed(entry: Resumed) -> Self {
        let Resumed { t, entry } = entry;
        Self { t, kind: RESUMED.to_owned(), detail: Some(entry), ..Self::default() }
    }
}

impl From<Cell> for PublishedCellRow {
    fn from(cell: Cell) -> Self {
        Self {
            tier: cell.key.tier,
            response_format: cell.key.response_format,
            query_class: cell.key.query_class,
            concurrency: cell.key.concurrency,
            target: cell.key.target,
            server: cell.server,
            n: cell.n,
            rps_mean: cell.rps_mean,
            rps_half_width: cell.rps_half_width,
            rps_median: cell.rps_median,
            rps_min: cell.rps_min,
            rps_max: cell.rps_max,
            latency_p95_s_mean: cell.latency_p95_s_mean,
            latency_p95_s_half_width: cell.latency_p95_s_half_width,
            latency_p95_s_median: cell.latency_p95_s_median,
            error_fraction_max: cell.error_fraction_max,
            guard_ok: cell.guard_ok,
            voided_rungs: cell.voided_rungs,
            lower_bound: cell.lower_bound,
            requests: cell.requests,
        }
    }
}

impl From<ResourceCell> for PublishedResourceCellRow {
    fn from(cell: ResourceCell) -> Self {
        Self {
            tier: cell.key.tier,
            response_format: cell.key.response_format,
            query_class: cell.key.query_class,
            concurrency: cell.key.concurrency,
            target: cell.key.target,
            n: cell.n,
            rps: cell.rps,
            cpu_cores: cell.cpu_cores,
            rps_per_core: cell.rps_per_core,
            cpu_s_per_request: cell.cpu_s_per_request,
            mem_mean_bytes: cell.mem_mean_bytes,
            mem_peak_bytes: cell.mem_peak_bytes,
            api_workers: cell.api_workers,
        }
    }
}

impl From<RungResources> for PublishedRungResourceRow {
    fn from(rung: RungResources) -> Self {
        Self {
            rung: rung.rung,
            window_s: rung.window_s,
            coverage: rung.coverage,
            cpu_s: rung.cpu_s,
            cpu_cores: rung.cpu_cores,
            cpu_s_per_request: rung.cpu_s_per_request,
            mem_mean_bytes: rung.mem_mean_bytes,
            mem_peak_bytes: rung.mem_peak_bytes,
            api_workers: rung.api_workers,
        }
    }
}

impl From<InstanceScaling> for PublishedInstanceScalingRow {
    fn from(row: InstanceScaling) -> Self {
        Self {
            query_class: row.query_class,
            concurrency: row.concurrency,
            instances: row.instances,
            loops: row.loops,
            rps_median: row.rps_median,
            efficiency: row.efficiency,
            vs_loops: row.vs_loops,
            target: row.target,
        }
    }
}

impl From<Sweep> for PublishedSweepRow {
    fn from(step: Sweep) -> Self {
        Self {
            query_class: step.query_class,
            concurrency: step.concurrency,
            target: step.target,
            rps: step.rps,
            latency_p99_s: step.latency_p99_s,
            errors: step.errors,
            instances: step.instances,
            mem_peak_bytes: step.mem_peak_bytes,
        }
    }
}

impl From<Burst> for PublishedBurstRow {
    fn from(burst: Burst) -> Self {
        Self {
            burst: burst.burst,
            concurrency: burst.concurrency,
            duration_s: burst.duration_s,
            gap_s: burst.gap_s,
            rps: burst.rps,
            latency_p99_s: burst.latency_p99_s,
            errors: burst.errors,
            instances_at_end: burst.instances_at_end,
        }
    }
}
