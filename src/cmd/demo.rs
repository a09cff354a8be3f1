//! `tapstat demo`: what ships with the project, from run directory to verdicts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::args::{CellFilter, Global};
use super::{Answer, ingest, output, session, verdicts};
use crate::store::Store;
use crate::store::ingest::IngestOptions;

/// The store of the demonstration, so that nobody's own is touched.
const STORE: &str = "demo-store";

const EXAMPLES: &str = "\
Examples:
  tapstat demo
  tapstat demo --runs my-runs --store /tmp/demo-store";

/// Ingest the runs that ship with the project, and show their verdicts
///
/// The store is `./demo-store` unless `--store` names another: neither
/// TAPSTAT_STORE nor the store of other commands is touched.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The folder of run directories [default: ./runs, else that of the sources]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let runs = args.runs.clone().unwrap_or_else(shipped);
    let directories = directories(&runs)?;
    let store = global.store.store.clone().unwrap_or_else(|| STORE.into());
    for directory in &directories {
        ingest::ingest_one(&store, directory, &IngestOptions::default())?;
    }
    let session = session::open(global, Store::open(&store)?, None)?;
    verdicts::Shown::read(&session, &CellFilter::default())?.show(global, &session)?;
    output::say(next_steps(&store));
    Ok(Answer::Yes)
}

/// The runs beside which the command is called, else those of the sources that
/// it was built from.
fn shipped() -> PathBuf {
    let here = PathBuf::from("runs");
    if here.is_dir() { here } else { Path::new(env!("CARGO_MANIFEST_DIR")).join("runs") }
}

/// The run directories in a folder, by name.
fn directories(runs: &Path) -> Result<Vec<PathBuf>> {
    let context = || format!("{}: no folder of run directories", runs.display());
    let mut directories = Vec::new();
    for entry in std::fs::read_dir(runs).with_context(context)? {
        let entry = entry.with_context(context)?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !is_hidden && entry.path().is_dir() {
            directories.push(entry.path());
        }
    }
    if directories.is_empty() {
        bail!("{}: no run directory in it", runs.display());
    }
    directories.sort();
    Ok(directories)
}

/// What to try next, with the store that the demonstration made.
fn next_steps(store: &Path) -> String {
    let store = store.display();
    format!(
        "
What to try next:
  tapstat --store {store} verdicts --tie-floor 0.5
  tapstat --store {store} tiers
  tapstat --store {store} resources --class mix
  tapstat --store {store} hypotheses --run scaling
  tapstat --store {store} scaling
  tapstat --store {store} cells --tier 8 --format csv
  tapstat --store {store} sql \"SELECT verdict, count(*) AS cells FROM verdicts GROUP BY verdict ORDER BY cells DESC\"
  tapstat --store {store} sql --show verdicts"
    )
}
