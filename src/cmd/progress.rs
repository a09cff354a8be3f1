//! How far a measurement is, on standard error: one line that changes on a
//! terminal, a line for each rung elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::output;
use crate::load::Live;
use crate::load::campaign::Progress;
use crate::load::outcome::Void;
use crate::raw::RungRecord;
use crate::report::figure::milliseconds;

/// The progress of a measurement.
pub struct RungProgress {
    /// None where there is no terminal.
    bar: Option<ProgressBar>,
    rungs: usize,
    number: usize,
    name: String,
    left_s: f64,
}

impl RungProgress {
    /// On standard error.
    pub fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            let style = ProgressStyle::with_template("{spinner} {wide_msg}");
            match style {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        Self { bar, rungs: 0, number: 0, name: String::new(), left_s: 0.0 }
    }

    /// Ends the line that changes.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// A line that stays.
    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::say(text)),
            None => output::say(text),
        }
    }
}

impl Progress for RungProgress {
    fn begin(&mut self, rungs: usize, done: usize) {
        self.rungs = rungs;
        if done > 0 {
            self.line(&format!("{done} of {rungs} rungs are measured already"));
        }
        if let Some(bar) = &self.bar {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
    }

    fn say(&mut self, message: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(message.to_owned()),
            None => output::say(message),
        }
    }

    fn rung(&mut self, number: usize, name: &str, left_s: f64) {
        (self.number, self.left_s) = (number, left_s);
        name.clone_into(&mut self.name);
        if let Some(bar) = &self.bar {
            bar.set_message(format!("rung {number}/{} {name}", self.rungs));
        }
    }

    fn live(&mut self, live: &Live) {
        let Some(bar) = &self.bar else { return };
        let part = if live.measuring { "window" } else { "warm-up" };
        let left = (self.left_s - live.elapsed_s).max(0.0);
        bar.set_message(format!(
            "rung {}/{} {}: {part} {:.1}/{:.1} s, {:.0}/s, p95 {}, {} failed, guard {:.2}, {} left",
            self.number,
            self.rungs,
            self.name,
            live.elapsed_s,
            live.planned_s,
            live.rps,
            shown(live.p95_s),
            live.failed,
            live.cpu,
            duration(left),
        ));
    }

    fn measured(&mut self, record: &RungRecord, voids: &[Void]) {
        let planned = record.elapsed_s.unwrap_or(0.0);
        self.line(&format!(
            "rung {}/{} {}: {:.1}/s, p95 {}, {} of {} failed, guard {:.2}, {} left",
            self.number,
            self.rungs,
            record.key.name(),
            record.rps,
            shown(record.latency_p95_s),
            record.errors,
            record.requests,
            record.generator_cpu_peak.unwrap_or(0.0),
            duration((self.left_s - planned).max(0.0)),
        ));
        for void in voids {
            self.line(&format!("  void: {}; {}", void.reason, void.advice));
        }
    }
}

fn shown(seconds: Option<f64>) -> String {
    match seconds {
        Some(_) => milliseconds(seconds),
        None => "unknown".to_owned(),
    }
}

/// Seconds as people say them.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_in_words() {
        assert_eq!(duration(0.4), "0 s");
        assert_eq!(duration(59.6), "1 min 0 s");
        assert_eq!(duration(3_725.0), "1 h 2 min");
    }
}
