//! What a rung's line says against what its requests give.

use super::SampleFile;
use super::tally::Recomputed;
use crate::raw::error::RawError;
use crate::raw::rung::RungRecord;

/// A figure that a line may give and that requests give too.
struct Compared {
    field: &'static str,
    recorded: fn(&RungRecord) -> Option<f64>,
    recomputed: fn(&Recomputed) -> Option<f64>,
}

macro_rules! compared {
    ($($field:ident),+) => {
        [$(Compared {
            field: stringify!($field),
            recorded: |rung| rung.$field,
            recomputed: |figures| figures.$field,
        },)+]
    };
}

const COMPARED: [Compared; 10] = compared![
    error_fraction,
    latency_mean_s,
    latency_p50_s,
    latency_p90_s,
    latency_p95_s,
    latency_p99_s,
    latency_p999_s,
    latency_max_s,
    ttfb_p95_s,
    mean_response_bytes
];

impl Compared {
    /// Decimals that the figure is taken to be printed with, if not with more:
    /// none for bytes, three for seconds and fractions.
    fn fewest_decimals(&self) -> u32 {
        if self.field == "mean_response_bytes" { 0 } else { 3 }
    }
}

/// How exactly the lines of a run give each figure. A line that gives 0.5 where
/// others give 0.4871 means 0.5000, so it is the run that says, not the line.
#[derive(Debug, Clone)]
pub struct Precision {
    /// Decimals of each of [`COMPARED`].
    decimals: [u32; COMPARED.len()],
}

impl Precision {
    /// The most decimals that a line uses, for each figure.
    pub fn of(rungs: &[RungRecord]) -> Self {
        let most = |compared: &Compared| {
            let used = rungs.iter().filter_map(compared.recorded).map(decimals).max();
            used.unwrap_or(0).max(compared.fewest_decimals())
        };
        Self { decimals: std::array::from_fn(|at| most(&COMPARED[at])) }
    }

    /// Compares a rung's line with its requests, and puts into the record what
    /// the requests give.
    ///
    /// # Errors
    ///
    /// [`RawError::SamplesDiffer`] for a count that differs at all, or a figure
    /// that differs by more than rounding.
    pub fn settle(
        &self,
        rung: &mut RungRecord,
        file: &SampleFile,
        figures: Recomputed,
    ) -> Result<(), RawError> {
        let differs = |field, recorded: String, recomputed: String| RawError::SamplesDiffer {
            place: rung.place.clone(),
            rung: rung.key.name(),
            field,
            recorded,
            samples: file.place.clone(),
            recomputed,
        };
        for (field, recorded, recomputed) in
            [("requests", rung.requests, figures.requests), ("errors", rung.errors, figures.errors)]
        {
            if recorded != recomputed {
                return Err(differs(field, recorded.to_string(), recomputed.to_string()));
            }
        }
        for (compared, decimals) in COMPARED.iter().zip(self.decimals) {
            let Some(recorded) = (compared.recorded)(rung) else { continue };
            let recomputed = (compared.recomputed)(&figures);
            if !recomputed.is_some_and(|recomputed| agree(recorded, recomputed, decimals)) {
                let recomputed = recomputed.map_or("none".to_owned(), |value| value.to_string());
                return Err(differs(compared.field, recorded.to_string(), recomputed));
            }
        }
        let is_open = rung.key.r#loop.as_deref() == Some("open");
        store(rung, if is_open { figures.of_open_loop() } else { figures });
        Ok(())
    }
}

/// Whether a figure is another, rounded to so many decimals.
fn agree(recorded: f64, recomputed: f64, decimals: u32) -> bool {
    let half_a_unit = 0.5 * 10_f64.powi(-decimals.cast_signed());
    (recorded - recomputed).abs() <= half_a_unit + 1e-9 * recomputed.abs()
}

/// The decimals of a float's shortest form.
fn decimals(value: f64) -> u32 {
    let text = value.to_string();
    text.split_once('.').map_or(0, |(_, decimals)| decimals.len() as u32)
}

fn store(rung: &mut RungRecord, figures: Recomputed) {
    rung.requests = figures.requests;
    rung.errors = figures.errors;
    rung.error_fraction = figures.error_fraction;
    rung.latency_mean_s = figures.latency_mean_s;
    rung.latency_p50_s = figures.latency_p50_s;
    rung.latency_p90_s = figures.latency_p90_s;
    rung.latency_p95_s = figures.latency_p95_s;
    rung.latency_p99_s = figures.latency_p99_s;
    rung.latency_p999_s = figures.latency_p999_s;
    rung.latency_max_s = figures.latency_max_s;
    rung.ttfb_p95_s = figures.ttfb_p95_s;
    rung.mean_response_bytes = figures.mean_response_bytes;
    rung.started_at = figures.started_at;
    rung.ended_at = figures.ended_at;
    rung.window_s = figures.window_s;
}
