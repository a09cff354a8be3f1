//! Figures that were printed rather than measured.

use std::fmt;

/// What a published run or a published table printed, in file order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Published {
    /// `cells.csv`.
    pub cells: Vec<Cell>,
    /// `resource_cells.csv`.
    pub resource_cells: Vec<ResourceCell>,
    /// `resources.csv`, in the order of the rungs.
    pub rung_resources: Vec<RungResources>,
    /// `instance_scaling.csv`.
    pub instance_scaling: Vec<InstanceScaling>,
    /// `sweep.csv`.
    pub sweep: Vec<Sweep>,
    /// `bursts.csv`.
    pub bursts: Vec<Burst>,
}

/// What tells one printed cell from another.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CellKey {
    pub tier: Option<String>,
    /// `csv`, `votable`, or `-`.
    pub response_format: String,
    pub query_class: String,
    /// Connections held, from 1.
    pub concurrency: i64,
    pub target: String,
}

impl fmt::Display for CellKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(tier) = &self.tier {
            write!(f, "t{tier}-")?;
        }
        let Self { target, response_format, query_class, concurrency, .. } = self;
        write!(f, "{target}-{response_format}-{query_class}-c{concurrency}")
    }
}

/// One cell: the repetitions of one measurement together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    pub key: CellKey,
    pub server: String,
    /// Repetitions.
    pub n: Option<i64>,
    /// Requests per second, as are the five below.
    pub rps_mean: f64,
    pub rps_half_width: Option<f64>,
    pub rps_median: Option<f64>,
    pub rps_min: Option<f64>,
    pub rps_max: Option<f64>,
    /// Seconds, as are the two below.
    pub latency_p95_s_mean: Option<f64>,
    pub latency_p95_s_half_width: Option<f64>,
    pub latency_p95_s_median: Option<f64>,
    /// The largest of a repetition, 0 to 1.
    pub error_fraction_max: Option<f64>,
    pub guard_ok: Option<bool>,
    pub voided_rungs: Option<i64>,
    pub lower_bound: Option<bool>,
    /// Requests of all repetitions.
    pub requests: Option<i64>,
}

/// The resources of one cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResourceCell {
    pub key: CellKey,
    /// Repetitions with resources.
    pub n: Option<i64>,
    /// Requests per second.
    pub rps: Option<f64>,
    pub cpu_cores: Option<f64>,
    /// Requests per second and core.
    pub rps_per_core: Option<f64>,
    /// CPU seconds.
    pub cpu_s_per_request: Option<f64>,
    pub mem_mean_bytes: Option<f64>,
    pub mem_peak_bytes: Option<f64>,
    pub api_workers: Option<i64>,
}

/// The resources of one rung.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RungResources {
    /// Name of the rung.
    pub rung: String,
    /// Seconds.
    pub window_s: Option<f64>,
    /// Share of the window that was sampled, 0 to 1 but for rounding.
    pub coverage: Option<f64>,
    /// CPU seconds of the target in the window.
    pub cpu_s: Option<f64>,
    pub cpu_cores: Option<f64>,
    /// CPU seconds.
    pub cpu_s_per_request: Option<f64>,
    pub mem_mean_bytes: Option<f64>,
    pub mem_peak_bytes: Option<f64>,
    pub api_workers: Option<i64>,
}

/// Throughput with N instances.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InstanceScaling {
    pub query_class: String,
    /// Connections held, from 1.
    pub concurrency: i64,
    /// From 1.
    pub instances: i64,
    /// Event loops of each instance.
    pub loops: Option<i64>,
    /// Requests per second.
    pub rps_median: f64,
    /// rps(N) / (N × rps(1)).
    pub efficiency: Option<f64>,
    /// Against one instance with N event loops.
    pub vs_loops: Option<f64>,
    pub target: Option<String>,
}

/// One step of a sweep over connections.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sweep {
    pub query_class: String,
    /// Connections held, from 1.
    pub concurrency: i64,
    pub target: Option<String>,
    /// Requests per second.
    pub rps: f64,
    /// Seconds.
    pub latency_p99_s: Option<f64>,
    pub errors: Option<i64>,
    pub instances: Option<i64>,
    pub mem_peak_bytes: Option<f64>,
}

/// One burst from idle.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Burst {
    /// From 1.
    pub burst: i64,
    /// Connections held, from 1.
    pub concurrency: i64,
    /// Seconds.
    pub duration_s: Option<f64>,
    /// Seconds until the next.
    pub gap_s: Option<f64>,
    /// Requests per second.
    pub rps: f64,
    /// Seconds.
    pub latency_p99_s: Option<f64>,
    pub errors: Option<i64>,
    pub instances_at_end: Option<i64>,
}
