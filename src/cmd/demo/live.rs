//! The live part of the demonstration: two servers, the gates, a measurement.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::files;
use super::servers::Server;
use crate::cmd::gates::stilts;
use crate::cmd::output::say;
use crate::cmd::progress::{RungProgress, duration};
use crate::corpus;
use crate::gate::Stilts;
use crate::load::campaign::{self, Campaign, CampaignError, Ending, Gating, HostLock, Inputs};
use crate::report::figure::counted;

/// Rows of the table that is served.
const ROWS: u64 = 2_000;

/// The targets, and what every query to them waits: long enough that the servers
/// wait more than they work, also where two cores are all that there is.
const TARGETS: [(&str, &str); 2] = [("fast", "5ms"), ("slow", "20ms")];

/// Measures two servers into a run directory below `folder`, with windows of so
/// many seconds, and gives its path; none where the user stopped it.
///
/// # Errors
/// If another measurement runs on this host, a server does not start, the gates
/// do not hold, or something cannot be written or measured.
pub fn measure(folder: &Path, window_s: f64) -> Result<Option<PathBuf>> {
    let lock = HostLock::take("tapstat demo");
    let _lock = lock.map_err(|error| match error {
        CampaignError::Busy { .. } => anyhow::Error::from(error)
            .context("nothing can be measured now (`--no-live` shows what ships)"),
        other => other.into(),
    })?;
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    if !cfg!(target_os = "linux") {
        say(
            "tapstat: note: the generator's guard and the servers' resources are read from /proc: without Linux they are unknown",
        );
    }
    let data = folder.join(files::CORPUS);
    let about = corpus::write(&data, ROWS, corpus::SEED, |_| {})?;
    let mut servers = Vec::new();
    for (name, delay) in TARGETS {
        let server = Server::start(&data, delay).with_context(|| format!("the server `{name}`"))?;
        say(format_args!("{name}: {}, {delay} in every query", server.base_url));
        servers.push((name, server));
    }
    files::targets(folder, &mut servers)?;
    let protocol = files::protocol(folder, window_s, &about.files.csv)?;
    let inputs = Inputs { protocol, gating: gating()?, ..Inputs::default() };
    let campaign = Campaign::read(&inputs)?;
    let journal = campaign::create(&campaign, &folder.join("runs"))?;
    // The first signal asks to stop; the next ends the program.
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    say(format_args!(
        "measuring into {}: {}, about {}",
        journal.path().display(),
        counted(campaign.plan.len(), "rung"),
        duration(campaign.expected_seconds())
    ));
    let mut progress = RungProgress::new();
    let ending = campaign::measure(&campaign, journal, &stop, &mut progress);
    progress.finish();
    // From here on, one signal is enough.
    stop.store(true, Ordering::Relaxed);
    Ok(conclude(ending?))
}

/// The gates: all of them, but for taplint where there is none, which is then said
/// and does not keep anything from being measured.
fn gating() -> Result<Gating> {
    let stilts = stilts(None, false)?;
    let allow_failures = matches!(stilts, Stilts::NotRun(_));
    Ok(Gating { stilts, allow_failures, ..Gating::default() })
}

/// Says how the measurement ended; gives the run directory of a whole one.
fn conclude(ending: Ending) -> Option<PathBuf> {
    let path = ending.path.display();
    if ending.interrupted {
        say(format_args!(
            "stopped: {} of {} measured, and nothing of it is in the store",
            ending.measured,
            counted(ending.measured + ending.left, "rung")
        ));
        return None;
    }
    if ending.left_out > 0 {
        let count = counted(ending.left_out, "rung");
        say(format_args!(
            "{count} left out, as the answers differ; {path}/gates.json says in what"
        ));
    }
    for (rungs, what) in [
        (
            &ending.voided,
            "void, as the generator was too busy to be trusted: verdicts on them are `invalid`. An idle machine would help",
        ),
        (&ending.failing, "above the rule's error ceiling"),
    ] {
        if !rungs.is_empty() {
            let count = counted(rungs.len(), "rung");
            say(format_args!("{count} {what}; {path}/events.jsonl has the reasons"));
        }
    }
    Some(ending.path)
}
