//! `tapstat ingest`: run directories into the store.

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressStyle};

use super::args::Global;
use super::{Answer, output, session};
use crate::load::campaign::shard_of;
use crate::protocol::Protocol;
use crate::report::figure::counted;
use crate::sql::{Options, Session};
use crate::store::ingest::{IngestOptions, Outcome, Progress, ingest};
use crate::store::{Manifest, Store};

const EXAMPLES: &str = "\
Examples:
  tapstat ingest runs/*/
  tapstat ingest --store /data/store 20260912T225808Z-d43b538d-tap-compare-scaling
  tapstat ingest --replace 20260912T225808Z-d43b538d-tap-compare-scaling";

/// Bring run directories into the store
///
/// A run directory is never changed. The same files give the same store, byte
/// for byte; a run that the store has from the same files is left as it is.
/// What was read past is printed as a warning, and stored in the table `events`.
///
/// Directories are ingested one after the other: the first that cannot be ends
/// the command, and those before it are in the store.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Run directories; the name of each is its run's id
    #[arg(value_name = "DIR", required = true)]
    pub directories: Vec<PathBuf>,

    /// Rebuild runs that the store has, also from other files
    #[arg(long)]
    pub replace: bool,

    /// Threads that parse and encode samples [default: one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    output::refuse(&global.output, "ingest")?;
    let mut options = IngestOptions { replace: args.replace, ..IngestOptions::default() };
    if let Some(threads) = args.threads {
        options.threads = threads.get();
    }
    let path = global.store.path();
    for directory in &args.directories {
        ingest_one(&path, directory, &options)?;
    }
    Ok(Answer::Yes)
}

/// Ingests one run directory, and says what came of it.
pub(super) fn ingest_one(store: &Path, directory: &Path, options: &IngestOptions) -> Result<()> {
    check_protocol(directory)?;
    if let Some(shard) = shard_of(directory) {
        bail!(
            "{}: what host {} of {} sent alone is no run: `tapstat merge` makes one of all of them",
            directory.display(),
            shard.k,
            shard.n
        );
    }
    let store = Store::create(store)?;
    store.when_waiting(say_waiting);
    let bar = Bar::new();
    let result = ingest(&store, directory, options, &bar);
    bar.finish();
    let (outcome, warnings) = result?;
    for warning in warnings {
        output::say(format_args!("tapstat: warning: {}: {warning}", outcome.manifest().run));
    }
    let word = match outcome {
        Outcome::Ingested(_) => "ingested",
        Outcome::Replaced(_) => "replaced",
        Outcome::Unchanged(_) => "unchanged",
    };
    let root = store.root().to_owned();
    drop(store);
    output::say(format_args!("{word} {}", contents(&root, outcome.manifest())?));
    Ok(())
}

/// Refuses a run whose protocol cannot be used: once in the store, it would
/// keep every question about the run from being answered.
fn check_protocol(directory: &Path) -> Result<()> {
    let path = directory.join("protocol.toml");
    if path.is_file() {
        Protocol::read(&path)?;
    }
    Ok(())
}

/// A run in a line, `RUN: 540 rungs, 4,407,102 requests (layout summary.csv)`.
fn contents(root: &Path, manifest: &Manifest) -> Result<String> {
    let rungs = usize::try_from(manifest.rows("rungs"))?;
    let cells = usize::try_from(manifest.rows("published_cells"))?;
    let published = manifest.outputs.iter().filter(|output| output.table.starts_with("published_"));
    let published = usize::try_from(published.map(|output| output.rows).sum::<u64>())?;
    let mut parts = match (rungs, cells) {
        (0, 0) => vec![counted(published, "published row")],
        (0, _) => vec![counted(cells, "published cell")],
        (_, _) => vec![counted(rungs, "rung")],
    };
    if rungs > 0 {
        let runs = Some(vec![manifest.run.clone()]);
        let options = Options { runs, ..Options::default() };
        let session = Session::open(Store::open(root)?, options)?;
        let view = session::view(&session, "runs", "SELECT requests FROM runs")?;
        let requests: i64 = view.ints("requests")?.into_iter().flatten().sum();
        parts.push(counted(usize::try_from(requests)?, "request"));
    }
    Ok(format!("{}: {} (layout {})", manifest.run, parts.join(", "), manifest.layout))
}

/// Says that others read the store, for whose end a commit waits.
pub(super) fn say_waiting() {
    output::say("tapstat: waiting for those who read the store to be done");
}

/// A progress bar on standard error, where somebody looks.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template(
            "{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        );
        let bar = ProgressBar::no_length();
        Self(match style {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        })
    }
}

impl Progress for Bar {
    fn start(&self, bytes: u64) {
        self.0.set_length(bytes);
        self.0.set_position(0);
    }

    fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }
}
