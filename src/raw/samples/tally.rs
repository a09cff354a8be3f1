//! The figures of a rung, recomputed from its requests.

use std::io;
use std::path::Path;

use super::columns::{Columns, NO_COUNT};
use super::distribution::Distribution;
use crate::stats::percentile::Mean;

/// The figures of a rung while its requests are read, in the file's order.
#[derive(Debug)]
pub struct Tally {
    requests: i64,
    errors: i64,
    latency: Distribution,
    latency_mean: Mean,
    ttfb: Distribution,
    response_bytes: i128,
    with_bytes: i64,
    start: f64,
    end: f64,
    end_of_due: f64,
}

/// What the requests of a rung say about it. Latencies are of successful
/// requests, the window is of all; units are those of the table `rungs`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recomputed {
    pub requests: i64,
    pub errors: i64,
    pub error_fraction: Option<f64>,
    pub latency_mean_s: Option<f64>,
    pub latency_p50_s: Option<f64>,
    pub latency_p90_s: Option<f64>,
    pub latency_p95_s: Option<f64>,
    pub latency_p99_s: Option<f64>,
    pub latency_p999_s: Option<f64>,
    pub latency_max_s: Option<f64>,
    pub ttfb_p95_s: Option<f64>,
    pub mean_response_bytes: Option<f64>,
    pub started_at: Option<f64>,
    pub ended_at: Option<f64>,
    pub window_s: Option<f64>,
    /// `ended_at` where latencies count from when a request was due: see
    /// [`Recomputed::of_open_loop`].
    ended_of_due_at: Option<f64>,
}

impl Recomputed {
    /// The figures of an open loop, whose latencies count from `t_offered`: a
    /// request that was sent late ended no later for that.
    pub fn of_open_loop(self) -> Self {
        let ended_at = self.ended_of_due_at;
        let window_s = ended_at.zip(self.started_at).map(|(end, start)| end - start);
        Self { ended_at, window_s, ..self }
    }
}

impl Tally {
    /// No request yet. Of latencies beyond `held`, a file in `folder` takes care.
    pub fn new(folder: &Path, held: usize) -> Self {
        Self {
            requests: 0,
            errors: 0,
            latency: Distribution::new(folder, held),
            latency_mean: Mean::default(),
            ttfb: Distribution::new(folder, held),
            response_bytes: 0,
            with_bytes: 0,
            start: f64::INFINITY,
            end: f64::NEG_INFINITY,
            end_of_due: f64::NEG_INFINITY,
        }
    }

    /// Takes requests in.
    ///
    /// # Errors
    ///
    /// Where the file for what is not held cannot be written.
    pub fn add(&mut self, columns: &Columns) -> io::Result<()> {
        self.requests += columns.len() as i64;
        for row in 0..columns.len() {
            let (start, latency) = (columns.t_start[row], columns.latency_s[row]);
            self.start = self.start.min(start);
            self.end = self.end.max(start + latency);
            // Nothing is less than a null, and nothing ends before it starts.
            let due = columns.t_offered[row].min(start);
            self.end_of_due = self.end_of_due.max((due + latency).max(start));
            if !columns.succeeded(row) {
                self.errors += 1;
                continue;
            }
            self.latency.add(latency)?;
            self.latency_mean.add(latency);
            let ttfb = columns.ttfb_s[row];
            if !ttfb.is_nan() {
                self.ttfb.add(ttfb)?;
            }
            let bytes = columns.response_bytes[row];
            if bytes != NO_COUNT {
                self.response_bytes += i128::from(bytes);
                self.with_bytes += 1;
            }
        }
        Ok(())
    }

    /// The figures of all the requests.
    ///
    /// # Errors
    ///
    /// Where the file of what was not held cannot be read.
    pub fn finish(self) -> io::Result<Recomputed> {
        let ratio = |part: f64, whole: i64| (whole > 0).then(|| part / whole as f64);
        let some = self.requests > 0;
        let latency_max_s = self.latency.max();
        let [p50, p90, p95, p99, p999] = self.latency.percentiles([0.5, 0.9, 0.95, 0.99, 0.999])?;
        let [ttfb_p95_s] = self.ttfb.percentiles([0.95])?;
        Ok(Recomputed {
            requests: self.requests,
            errors: self.errors,
            error_fraction: ratio(self.errors as f64, self.requests),
            latency_mean_s: self.latency_mean.get(),
            latency_p50_s: p50,
            latency_p90_s: p90,
            latency_p95_s: p95,
            latency_p99_s: p99,
            latency_p999_s: p999,
            latency_max_s,
            ttfb_p95_s,
            mean_response_bytes: ratio(self.response_bytes as f64, self.with_bytes),
            started_at: some.then_some(self.start),
            ended_at: some.then_some(self.end),
            window_s: some.then_some(self.end - self.start),
            ended_of_due_at: some.then_some(self.end_of_due),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::{Codes, Figures};
    use super::*;

    #[test]
    fn what_was_sent_late_in_an_open_loop_ends_no_later_for_it() {
        let mut columns = Columns::with_capacity(2);
        let request = |t_offered, t_start, latency_s| Figures {
            t_start,
            t_offered,
            latency_s,
            status: 200,
            ..Figures::default()
        };
        columns.push(&request(10.0, 10.0, 1.0), &Codes::default(), None);
        // Due at 11, sent at 13, answered at 13.5.
        columns.push(&request(11.0, 13.0, 2.5), &Codes::default(), None);
        columns.finish();
        let mut tally = Tally::new(Path::new("."), 10);
        tally.add(&columns).unwrap();
        let figures = tally.finish().unwrap();
        assert_eq!((figures.ended_at, figures.window_s), (Some(15.5), Some(5.5)));
        let open = figures.of_open_loop();
        assert_eq!((open.ended_at, open.window_s), (Some(13.5), Some(3.5)));
        assert_eq!(open.latency_max_s, Some(2.5));
    }
}
