//! `tapstat sample`: what containers and processes use, without a measurement.

use std::fs::{File, OpenOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::args::Global;
use super::{Answer, output};
use crate::load::sampler::{Containers, Named, Sampler};

const EXAMPLES: &str = "\
Examples:
  tapstat sample --containers egernia-db-1,egernia-tap-api-1 --output resources.jsonl
  tapstat sample --containers db=cgroup:system.slice/postgresql*.service --every 1
  tapstat sample --containers web=process:nginx,self=pid:4711 --seconds 60";

/// Sample the CPU, memory and processes of containers, as lines of resources.jsonl
///
/// Reads control groups (version 2) or /proc; CPU time is cumulative and never
/// falls. Runs until Ctrl-C, or as long as it is told. With `--output`, lines are
/// appended as they come.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Containers: NAME of Docker, or NAME=KIND:VALUE with the kinds docker, cgroup,
    /// process, pid, pid-file
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', required = true)]
    pub containers: Vec<Named>,

    /// Seconds between two samples
    #[arg(long, value_name = "SECONDS", default_value_t = crate::load::sampler::EVERY)]
    pub every: f64,

    /// How long to sample, in seconds [default: until Ctrl-C]
    #[arg(long, value_name = "SECONDS")]
    pub seconds: Option<f64>,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    output::refuse_format(&global.output, "sample")?;
    let positive = |seconds: &f64| seconds.is_finite() && *seconds > 0.0;
    if !positive(&args.every) || !args.seconds.as_ref().is_none_or(positive) {
        bail!("--every and --seconds take more than 0 seconds");
    }
    let containers = args.containers.iter();
    let sources: std::collections::BTreeMap<&str, _> =
        containers.map(|named| (named.name.as_str(), &named.source)).collect();
    if sources.len() < args.containers.len() {
        bail!("--containers has a name twice");
    }
    let mut containers = Containers::new(sources);
    let found = containers.read();
    for named in args.containers.iter().filter(|named| !found.contains_key(&named.name)) {
        output::say(format_args!("tapstat: warning: {} is not there yet", named.name));
    }
    let file = match &global.output.output {
        Some(path) => OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .with_context(|| path.display().to_string())?,
        None => standard_output()?,
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let sampler = Sampler::start(containers, Duration::from_secs_f64(args.every), file)?;
    while !stop.load(Ordering::Relaxed)
        && !sampler.is_finished()
        && end.is_none_or(|end| Instant::now() < end)
    {
        std::thread::sleep(Duration::from_millis(20));
    }
    sampler.stop()?;
    Ok(Answer::Yes)
}

/// Standard output as a file, to which lines go as they come.
#[cfg(unix)]
fn standard_output() -> Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(std::io::stdout().as_fd().try_clone_to_owned()?))
}

#[cfg(not(unix))]
fn standard_output() -> Result<File> {
    bail!("--output is needed here");
}
