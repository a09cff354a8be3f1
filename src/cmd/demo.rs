//! `tapstat demo`: a comparison measured live, and what ships with the project,
//! from run directory to verdicts.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::args::{CellFilter, Global, OneRun};
use super::{Answer, figure, ingest, output, report, session, verdicts};
use crate::figure::{Drawn, Filter, Name, Request, Width, draw};
use crate::store::ingest::IngestOptions;

mod files;
mod live;
mod servers;

/// The store of the demonstration, so that nobody's own is touched.
const STORE: &str = "demo-store";

/// The folder of what is measured, beside the store.
const LIVE: &str = "demo-live";

const EXAMPLES: &str = "\
Examples:
  tapstat demo
  tapstat demo --no-live
  tapstat demo --store /tmp/demo-store --into /tmp/demo-live";

/// Measure two small servers, and show their verdicts and those that ship
///
/// Makes a corpus, serves it twice (queries wait 5 ms in the one server, 20 ms in
/// the other), passes the gates (taplint only where `stilts` is installed),
/// measures both in less than a minute, ingests that run and those that ship with
/// the project, prints the verdicts, and writes a report and a figure. The servers
/// are processes of their own, and end with the demonstration.
///
/// The store is `./demo-store` unless `--store` names another: neither
/// TAPSTAT_STORE nor the store of other commands is touched.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The folder of run directories [default: ./runs, else that of the sources]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,

    /// Measure nothing: ingest what ships, and show its verdicts
    #[arg(long, conflicts_with = "into")]
    pub no_live: bool,

    /// The folder of corpus, protocol, run and report [default: demo-live beside the store]
    #[arg(long, value_name = "DIR")]
    pub into: Option<PathBuf>,

    /// Seconds of each window
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = window, hide = true)]
    pub window: f64,
}

fn window(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.1..=60.0).contains(&value) => Ok(value),
        _ => Err("expected a number of seconds from 0.1 to 60".to_owned()),
    }
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let runs = args.runs.clone().unwrap_or_else(shipped);
    let directories = directories(&runs)?;
    let store = global.store.store.clone().unwrap_or_else(|| STORE.into());
    let beside = || store.parent().unwrap_or(Path::new("")).join(LIVE);
    let folder = args.into.clone().unwrap_or_else(beside);
    let mut measured = None;
    if !args.no_live {
        match live::measure(&folder, args.window) {
            Ok(Some(directory)) => measured = Some(directory),
            Ok(None) => return Ok(Answer::No),
            // What ships can be shown anywhere.
            Err(error) if !cfg!(target_os = "linux") => {
                output::say(format_args!("tapstat: note: nothing was measured: {error:#}"));
            }
            Err(error) => return Err(error),
        }
    }
    for directory in measured.iter().chain(&directories) {
        ingest::ingest_one(&store, directory, &IngestOptions::default())?;
    }
    let shipped: Vec<String> = directories.iter().filter_map(|path| run_id(path)).collect();
    let global = &at(global, &store);
    let live = measured.as_deref().and_then(run_id);
    show(global, live.as_deref(), &shipped)?;
    if let Some(live) = &live {
        write(global, &folder, live, &shipped)?;
    }
    output::say(next_steps(&store, live.is_some().then_some(&*folder)));
    Ok(Answer::Yes)
}

/// The id of the run in a directory.
fn run_id(directory: &Path) -> Option<String> {
    directory.file_name().and_then(OsStr::to_str).map(str::to_owned)
}

/// The options with this store.
fn at(global: &Global, store: &Path) -> Global {
    let mut global = global.clone();
    global.store.store = Some(store.to_owned());
    global
}

/// Shows the verdicts: for people first those of the live run, then the others;
/// as rows all at once.
fn show(global: &Global, live: Option<&str>, shipped: &[String]) -> Result<()> {
    let show = |runs: Vec<String>| {
        let session = session::open(global, session::open_store(global)?, Some(runs))?;
        verdicts::Shown::read(&session, &CellFilter::default())?.show(global, &session)
    };
    let form = &global.output;
    let is_page = form.output.is_none() && form.format.is_none_or(|format| format.is_page());
    match live {
        Some(live) if is_page => {
            show(vec![live.to_owned()])?;
            output::Output::open_text(form)?.text("\n")?;
            show(shipped.to_vec())
        }
        _ => show(live.map(str::to_owned).into_iter().chain(shipped.iter().cloned()).collect()),
    }
}

/// Writes the report of the live run, and the figure of what ships, into a folder.
fn write(global: &Global, folder: &Path, live: &str, shipped: &[String]) -> Result<()> {
    let mut to_report = global.clone();
    let report = folder.join("report");
    to_report.output.output = Some(report.clone());
    to_report.output.format = None;
    let args = report::Args {
        run: OneRun { run: Some(live.to_owned()) },
        against: Vec::new(),
        shift: Vec::new(),
        repo: None,
        tag: None,
        check: None,
    };
    report::run(&args, &to_report)?;
    let session = session::open(global, session::open_store(global)?, Some(shipped.to_vec()))?;
    let mut written = vec![report.join("index.html"), report.join("figures/verdicts.svg")];
    for run in shipped {
        let request = Request {
            session: &session,
            run,
            against: None,
            filter: Filter::default(),
            width: Width::Page,
        };
        if let Drawn::Figure(drawn) = draw(Name::VerticalScaling, &request)? {
            let path = folder.join(format!("{}.svg", Name::VerticalScaling));
            figure::write(&path, drawn.svg().as_bytes())?;
            written.push(path);
            break;
        }
    }
    output::say("\nWritten:");
    for (path, what) in written.iter().zip([
        "the report of what was measured just now",
        "its verdicts as a figure",
        "the figure of the run that ships",
    ]) {
        output::say(format_args!("  {}  {what}", path.display()));
    }
    Ok(())
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
fn next_steps(store: &Path, live: Option<&Path>) -> String {
    let store = store.display();
    let again = live.map_or_else(String::new, |folder| {
        let folder = folder.display();
        format!("\n  tapstat measure {folder}/protocol.toml --into {folder}/runs")
    });
    format!(
        "
What to try next:{again}
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
