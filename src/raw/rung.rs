//! One rung as a run directory states it, whatever the layout.

use super::error::Place;

/// What tells one rung from another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RungKey {
    pub tier: Option<String>,
    pub target: String,
    /// `csv`, `votable`, or `-`.
    pub response_format: String,
    pub query_class: String,
    /// Connections held.
    pub concurrency: i64,
    /// From 1.
    pub repetition: i64,
    pub instances: Option<i64>,
    /// Event loops of each instance.
    pub loops: Option<i64>,
    /// `sync` or `async`.
    pub mode: Option<String>,
    /// `closed` or `open`.
    pub r#loop: Option<String>,
    /// Requests per second that an open loop offers.
    pub offered_rps: Option<f64>,
}

impl RungKey {
    /// The rung's name in files and tables:
    /// `t<tier>-<target>-<format>-<class>-c<n>[-i<n>x<loops>][-async][-q<rate>]-r<n>`,
    /// without `t…-` in a run without tiers. Characters that a file name
    /// cannot hold become `_`.
    pub fn name(&self) -> String {
        let mut name = String::new();
        if let Some(tier) = &self.tier {
            name.push_str(&format!("t{tier}-"));
        }
        name.push_str(&format!(
            "{}-{}-{}-c{}",
            self.target, self.response_format, self.query_class, self.concurrency
        ));
        if let Some(instances) = self.instances {
            name.push_str(&format!("-i{instances}x{}", self.loops.unwrap_or(1)));
        }
        if self.mode.as_deref() == Some("async") {
            name.push_str("-async");
        }
        if let Some(rate) = self.offered_rps {
            name.push_str(&format!("-q{rate}"));
        }
        name.push_str(&format!("-r{}", self.repetition));
        name.replace(['/', '\\', '\0'], "_")
    }
}

/// One rung's line. Figures that the layout does not give are `None`; units
/// are those of the `rungs` table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RungRecord {
    pub key: RungKey,
    pub server: String,
    /// Requests, failed ones too.
    pub requests: i64,
    pub errors: i64,
    /// `None` where nothing was requested.
    pub error_fraction: Option<f64>,
    pub elapsed_s: Option<f64>,
    pub window_s: Option<f64>,
    pub rps: f64,
    pub latency_mean_s: Option<f64>,
    pub latency_p50_s: Option<f64>,
    pub latency_p90_s: Option<f64>,
    pub latency_p95_s: Option<f64>,
    pub latency_p99_s: Option<f64>,
    pub latency_p999_s: Option<f64>,
    pub latency_max_s: Option<f64>,
    pub ttfb_p95_s: Option<f64>,
    pub mean_response_bytes: Option<f64>,
    pub generator_workers: Option<i64>,
    pub generator_cpu_peak: Option<f64>,
    pub generator_cpu_s: Option<f64>,
    pub generator_guard_ok: Option<bool>,
    pub started_at: Option<f64>,
    pub ended_at: Option<f64>,
    /// Place in the order of measuring, where recorded.
    pub position: Option<i64>,
    /// Where the line stands.
    pub place: Place,
}
