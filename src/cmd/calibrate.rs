//! `tapstat calibrate`: what the generator itself costs, and what it can.

use std::time::Duration;

use anyhow::Result;

use super::Answer;
use super::args::Global;
use super::output::Output;
use crate::load::calibrate::{Calibrate, calibrate};
use crate::report::calibration_page;

const EXAMPLES: &str = "\
Examples:
  tapstat calibrate
  tapstat calibrate --tls --http2 --streams 32
  tapstat calibrate --format json --output calibration.json";

/// Measure what the generator itself costs, against a null target in this program
///
/// CPU for each request and each MiB of its body (a + b × MiB), the requests and
/// MiB a second at which a worker is at its limit, and how far the times that it
/// measures are from known delays. `docs/calibrate.md` says how.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Threads that send
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: u16,
    /// Connections of each worker
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub connections: u16,
    /// Over TLS
    #[arg(long)]
    pub tls: bool,
    /// Over HTTP/2
    #[arg(long)]
    pub http2: bool,
    /// Requests at once on each connection
    #[arg(long, value_name = "N", default_value_t = 1, requires = "http2", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub streams: u16,
    /// Seconds of each window
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    pub seconds: f64,
    /// Windows of each size
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub repetitions: u16,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let output = Output::open(&global.output)?;
    let found = calibrate(&Calibrate {
        workers: args.workers.into(),
        connections: usize::from(args.workers) * usize::from(args.connections),
        streams: args.streams.into(),
        tls: args.tls,
        http2: args.http2,
        window: Duration::from_secs_f64(args.seconds),
        repetitions: args.repetitions.into(),
    })?;
    output.document(&calibration_page(&found), &found)?;
    Ok(Answer::Yes)
}

/// The length of a window.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|seconds| (0.01..=600.0).contains(seconds))
        .ok_or_else(|| "expected a number from 0.01 to 600".to_owned())
}
