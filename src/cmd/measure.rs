//! `tapstat measure`: a protocol's rungs, into a run directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Result, bail};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::Answer;
use super::args::Global;
use super::gates::stilts;
use super::output::{self, Output};
use super::progress::{RungProgress, duration};
use crate::load::campaign::{
    self, Campaign, CampaignError, Ending, Gating, HostLock, Inputs, Planned, Selection, Shard,
    Share, Times,
};
use crate::report::figure::counted;
use crate::report::{Align, Grid, MISSING, Page};

const EXAMPLES: &str = "\
Examples:
  tapstat measure protocol.toml --dry-run
  tapstat measure protocol.toml --into runs
  tapstat measure protocol.toml --resume runs/20260912T225808Z-d43b538d-scaling
  tapstat measure protocol.toml --tier 8 --only one,two --classes Q01";

/// Measure what a protocol promises, into a new run directory
///
/// Starts the targets by their hooks, verifies them, passes them through the
/// gates (as `tapstat gates` does), sends the load, and writes every request of
/// every rung. A rung is on the disk when the next begins: a
/// measurement that is killed loses the rung in flight, and `--resume` goes on.
/// Ctrl-C drops the rung under way, stops the targets, and says how to go on;
/// a second Ctrl-C ends it at once. One measurement at a time on a host.
///
/// Exit with 1 if a rung of the run was voided or has more errors than the rule
/// allows, if the gates refuse the measurement, or if it was stopped before its
/// end.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The protocol file
    #[arg(value_name = "PROTOCOL")]
    pub file: PathBuf,

    /// The targets file, in place of the one that the protocol names
    #[arg(long, value_name = "FILE")]
    pub targets: Option<PathBuf>,

    /// The corpus, in place of the one that the protocol names
    #[arg(long, value_name = "FILE")]
    pub corpus: Option<PathBuf>,

    /// Last part of the run's id, in place of the protocol's
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,

    /// The folder that the run directory is made in
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub into: PathBuf,

    /// Go on with a run directory: what it has is not measured again
    #[arg(long, value_name = "DIR", conflicts_with_all = ["into", "label", "dry_run"])]
    pub resume: Option<PathBuf>,

    /// Print the plan, and measure nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Only these tiers
    #[arg(long = "tier", value_name = "TIER,…", value_delimiter = ',', help_heading = PART)]
    pub tiers: Vec<String>,

    /// Only these targets
    #[arg(long = "only", value_name = "TARGET,…", value_delimiter = ',', help_heading = PART)]
    pub only: Vec<String>,

    /// Only these query classes
    #[arg(long, value_name = "CLASS,…", value_delimiter = ',', help_heading = PART)]
    pub classes: Vec<String>,

    /// The program of taplint [default: `stilts` on PATH]
    #[arg(long, value_name = "FILE", help_heading = GATES)]
    pub stilts: Option<PathBuf>,

    /// Queries of each class that are compared before it is timed
    #[arg(long, value_name = "N", default_value_t = Gating::default().probes, help_heading = GATES)]
    pub probes: usize,

    /// Measure targets that fail the gates; every report says so
    #[arg(long, help_heading = GATES)]
    pub allow_gate_failures: bool,

    /// Measure the generator itself first, in windows of so many seconds [default: 1]
    ///
    /// As `tapstat calibrate` does, which takes half a minute; kept in
    /// calibration.json, so that a report can say how far each rung was from the
    /// generator's limit.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1", value_parser = super::calibrate::seconds)]
    pub calibrate: Option<f64>,

    /// Send share K of N of each rung's load, beside other hosts
    #[arg(long, value_name = "K/N", requires = "start_at", help_heading = HOSTS)]
    pub shard: Option<Share>,

    /// When the first rung starts on every host, in unix seconds
    #[arg(long, value_name = "TIME", requires = "shard", help_heading = HOSTS)]
    pub start_at: Option<f64>,

    /// From the start of a rung to that of the next, in seconds [default: warm-up, window, drain and 5]
    #[arg(long, value_name = "SECONDS", requires = "shard", help_heading = HOSTS)]
    pub slot: Option<f64>,
}

const PART: &str = "Part of the plan";
const GATES: &str = "Gates";
const HOSTS: &str = "Several hosts";

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    if global.rule.protocol.is_some() {
        bail!("--protocol has no effect on `tapstat measure`, which measures PROTOCOL");
    }
    if !args.dry_run {
        output::refuse(&global.output, "measure")?;
    }
    let inputs = Inputs {
        protocol: args.file.clone(),
        targets: args.targets.clone(),
        corpus: args.corpus.clone(),
        label: args.label.clone(),
        selection: Selection {
            tiers: args.tiers.clone(),
            targets: args.only.clone(),
            classes: args.classes.clone(),
        },
        shard: shard(args)?,
        gating: Gating {
            stilts: stilts(args.stilts.as_deref(), false)?,
            probes: args.probes,
            allow_failures: args.allow_gate_failures,
        },
    };
    let campaign = Campaign::read(&inputs)?;
    for note in &campaign.notes {
        output::say(format_args!("tapstat: note: {note}"));
    }
    if args.dry_run {
        return dry_run(&campaign, global);
    }
    let what = args.resume.as_ref().unwrap_or(&args.file).display().to_string();
    let lock = HostLock::take(&what)?;
    // The first signal asks to stop; the next ends the program.
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let journal = match &args.resume {
        Some(path) => campaign::resume(&campaign, path)?,
        None => campaign::create(&campaign, &args.into)?,
    };
    let path = journal.path().to_owned();
    output::say(format_args!(
        "measuring into {}: {}, about {}",
        path.display(),
        counted(campaign.plan.len(), "rung"),
        duration(campaign.expected_seconds())
    ));
    if let Some(seconds) = args.calibrate {
        let window = Duration::from_secs_f64(seconds);
        output::say("calibrating the generator");
        if campaign::calibrate(&campaign, &journal, window)?.is_none() {
            output::say("the run directory has a calibration already");
        }
    }
    let mut progress = RungProgress::new();
    let ending = campaign::measure(&campaign, journal, &stop, &mut progress);
    progress.finish();
    drop(lock);
    match ending {
        Ok(ending) => Ok(conclude(args, &ending)),
        Err(CampaignError::Gates { path: file, failures, allowable }) => {
            for failure in &failures {
                output::say(format_args!("gate failed: {failure}"));
            }
            let how = if allowable {
                "; to measure all the same, and say so in every report: --allow-gate-failures"
            } else {
                ": no class is left to compare"
            };
            output::say(format_args!("{} has the whole of it{how}", file.display()));
            output::say(format_args!(
                "refused by the gates; to try again:\n  {}",
                resume_command(args, &path)
            ));
            Ok(Answer::No)
        }
        Err(error) => {
            let how = resume_command(args, &path);
            output::say(format_args!("what was measured is kept; to go on with it:\n  {how}"));
            Err(error.into())
        }
    }
}

/// The share of the load that is sent from here.
fn shard(args: &Args) -> Result<Option<Shard>> {
    let (Some(share), Some(start_at)) = (args.shard, args.start_at) else { return Ok(None) };
    let slot = match args.slot {
        Some(slot) if slot.is_finite() && slot > 0.0 => slot,
        Some(slot) => bail!("--slot is {slot}: expected more than 0 seconds"),
        None => {
            let times = Times::of(&crate::protocol::Protocol::read(&args.file)?);
            times.planned() + times.drain + 5.0
        }
    };
    if !start_at.is_finite() {
        bail!("--start-at is {start_at}: expected a time in unix seconds");
    }
    Ok(Some(Shard { k: share.k, n: share.n, start_at, slot_seconds: slot }))
}

/// Says how it ended.
fn conclude(args: &Args, ending: &Ending) -> Answer {
    let path = ending.path.display();
    let done = ending.measured + ending.skipped;
    if ending.interrupted {
        output::say(format_args!(
            "stopped: {} of {} measured; to go on:\n  {}",
            done,
            counted(done + ending.left, "rung"),
            resume_command(args, &ending.path)
        ));
    } else {
        output::say(format_args!("measured {path}: {}", counted(done, "rung")));
    }
    if ending.left_out > 0 {
        output::say(format_args!(
            "{} left out: the targets' answers differ ({path}/events.jsonl says in what)",
            counted(ending.left_out, "rung")
        ));
    }
    for (rungs, what) in
        [(&ending.voided, "void"), (&ending.failing, "above the rule's error ceiling")]
    {
        if !rungs.is_empty() {
            let names = listed(rungs);
            output::say(format_args!("{} {what}: {names}", counted(rungs.len(), "rung")));
        }
    }
    if !ending.voided.is_empty() {
        output::say(format_args!("{path}/events.jsonl has the reasons, and what would help"));
    }
    let sound = ending.voided.is_empty() && ending.failing.is_empty();
    Answer::of(sound && !ending.interrupted)
}

/// The first few names.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let more = names.len().saturating_sub(SHOWN);
    let first = names[..names.len() - more].join(", ");
    if more > 0 { format!("{first} and {more} more") } else { first }
}

/// The command that goes on with a run.
fn resume_command(args: &Args, path: &Path) -> String {
    let mut words = vec!["tapstat".to_owned(), "measure".to_owned(), quoted(&args.file)];
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    if let Some(targets) = &args.targets {
        option("--targets", quoted(targets));
    }
    if let Some(corpus) = &args.corpus {
        option("--corpus", quoted(corpus));
    }
    for (name, list) in
        [("--tier", &args.tiers), ("--only", &args.only), ("--classes", &args.classes)]
    {
        if !list.is_empty() {
            option(name, quoted(Path::new(&list.join(","))));
        }
    }
    if let Some(share) = args.shard {
        option("--shard", format!("{}/{}", share.k, share.n));
        option("--start-at", "TIME".to_owned());
    }
    if let Some(stilts) = &args.stilts {
        option("--stilts", quoted(stilts));
    }
    if args.probes != Gating::default().probes {
        option("--probes", args.probes.to_string());
    }
    option("--resume", quoted(path));
    if args.allow_gate_failures {
        words.push("--allow-gate-failures".to_owned());
    }
    words.join(" ")
}

/// A word as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "/._-,+:@%=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// The plan as a JSON document.
#[derive(Serialize)]
struct Document<'a> {
    rungs: Vec<Row<'a>>,
    expected_hours: f64,
    longest_hours: f64,
    notes: &'a [String],
}

#[derive(Serialize)]
struct Row<'a> {
    position: usize,
    rung: String,
    tier: Option<&'a str>,
    target: &'a str,
    response_format: &'a str,
    query_class: &'a str,
    concurrency: i64,
    /// Prescribed.
    instances: Option<i64>,
    repetition: i64,
    r#loop: Option<&'a str>,
    rate: Option<String>,
}

impl<'a> Row<'a> {
    fn new(planned: &'a Planned) -> Self {
        let key = &planned.key;
        Self {
            position: planned.position,
            rung: planned.name(),
            tier: key.tier.as_deref(),
            target: &key.target,
            response_format: &key.response_format,
            query_class: &key.query_class,
            concurrency: key.concurrency,
            instances: key.instances,
            repetition: key.repetition,
            r#loop: key.r#loop.as_deref(),
            rate: planned.rate.map(|rate| rate.to_string()),
        }
    }
}

/// Prints the plan.
fn dry_run(campaign: &Campaign, global: &Global) -> Result<Answer> {
    let rows: Vec<Row<'_>> = campaign.plan.rungs().map(Row::new).collect();
    let mut grid = Grid::new([
        ("position", Align::Right),
        ("tier", Align::Right),
        ("target", Align::Left),
        ("format", Align::Left),
        ("class", Align::Left),
        ("conns", Align::Right),
        ("inst", Align::Right),
        ("loop", Align::Left),
        ("rate", Align::Right),
        ("rep", Align::Right),
    ]);
    for row in &rows {
        grid.push(vec![
            row.position.to_string().into(),
            row.tier.unwrap_or(MISSING).into(),
            row.target.into(),
            row.response_format.into(),
            row.query_class.into(),
            row.concurrency.to_string().into(),
            row.instances.map_or_else(|| MISSING.to_owned(), |count| count.to_string()).into(),
            row.r#loop.unwrap_or(MISSING).into(),
            row.rate.as_deref().unwrap_or(MISSING).into(),
            row.repetition.to_string().into(),
        ]);
    }
    let (expected, longest) = (campaign.expected_seconds(), campaign.longest_seconds());
    let mut page = Page::new();
    page.heading(1, format!("plan of {}", campaign.label));
    page.table(grid);
    page.text(format!(
        "{}: {:.2} hours of load ({}), {:.2} if every rung is drained to the end; hooks come on top",
        counted(rows.len(), "rung"),
        expected / 3600.0,
        duration(expected),
        longest / 3600.0
    ));
    let document = Document {
        rungs: rows,
        expected_hours: expected / 3600.0,
        longest_hours: longest / 3600.0,
        notes: &campaign.notes,
    };
    Output::open(&global.output)?.document(&page, &document)?;
    Ok(Answer::Yes)
}
