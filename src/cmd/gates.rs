//! `tapstat gates`: what must hold before anything is timed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use clap::ValueEnum;

use super::Answer;
use super::args::{Global, OutputArgs};
use super::output::{Output, say};
use crate::answer::Format;
use crate::corpus::{self, Corpus};
use crate::gate::http::Limits;
use crate::gate::{self, GateTarget, Options, Stilts, taplint};
use crate::load::campaign::{Target, Targets, gate_target};

mod page;

const EXAMPLES: &str = "\
Examples:
  tapstat gates --targets targets.toml --corpus corpus/corpus.jsonl --output gates
  tapstat gates --targets targets.toml --corpus corpus --tier 8 --output gates
  tapstat gates --targets targets.toml --corpus corpus --class Q05,Q11 --probes 40 --no-taplint";

/// Check, before anything is timed, that targets can be compared
///
/// Each TAP target describes itself (its VOSI documents are kept as they came),
/// passes `stilts taplint` without an error in CAP, TMV, TMS, TMC, QGE or UWS,
/// and gives the answers that the others give: some queries of each class are
/// sent to all of them, in an order by identifier, and the identifiers that come
/// back must be the same. Whether the rows are the same to their last value is
/// reported beside it, and refuses nothing. Targets of plain HTTP must send the
/// same documents.
///
/// The folder that `--output` names gets `gates.json`, which `tapstat ingest`
/// reads, or `t8-gates.json` with `--tier 8`. Exit with 1 if anything does not
/// hold, or was not run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The targets file; all its targets are up
    #[arg(long, value_name = "FILE")]
    pub targets: PathBuf,

    /// The queries: a file, or the folder that `tapstat corpus` made
    #[arg(long, value_name = "FILE")]
    pub corpus: PathBuf,

    /// The tier that the targets are pinned to
    #[arg(long, value_name = "TIER")]
    pub tier: Option<String>,

    /// Only these targets
    #[arg(long = "only", value_name = "TARGET,…", value_delimiter = ',')]
    pub only: Vec<String>,

    /// Only these query classes
    #[arg(long = "class", value_name = "CLASS,…", value_delimiter = ',')]
    pub classes: Vec<String>,

    /// Queries of each class that are compared
    #[arg(long, value_name = "N", default_value_t = Options::default().probes)]
    pub probes: usize,

    /// The seed of their choice
    #[arg(long, value_name = "N", default_value_t = Options::default().seed)]
    pub seed: u64,

    /// The formats that each is asked for in
    #[arg(long = "response-format", value_name = "FORMAT,…", value_delimiter = ',', value_enum, default_values_t = [AskFormat::Csv, AskFormat::Votable])]
    pub formats: Vec<AskFormat>,

    /// The program of taplint [default: `stilts` on PATH]
    #[arg(long, value_name = "FILE")]
    pub stilts: Option<PathBuf>,

    /// Do without taplint, which is then `not run`
    #[arg(long, conflicts_with = "stilts")]
    pub no_taplint: bool,

    /// How long an answer may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    pub timeout: f64,
}

/// A format to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AskFormat {
    Csv,
    Votable,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 86_400.0 => Ok(value),
        _ => Err("expected a number of seconds above 0, a day at most".to_owned()),
    }
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let folder = global.output.output.clone();
    let targets = gate_targets(&Targets::read(&args.targets)?, &args.only)?;
    let mut corpus = Corpus::read(&corpus::file_of(&args.corpus))?;
    select(&mut corpus, &args.classes)?;
    let options = Options {
        tier: args.tier.clone(),
        seed: args.seed,
        probes: args.probes,
        formats: formats(&args.formats),
        folder: folder.clone(),
        stilts: stilts(args.stilts.as_deref(), args.no_taplint)?,
        limits: Limits { time: Duration::from_secs_f64(args.timeout), ..Limits::default() },
        ..Options::default()
    };
    // What is wrong with the form is said before minutes are spent.
    let output = Output::open(&OutputArgs { output: None, ..global.output.clone() })?;
    let gates = gate::run(&targets, &corpus, &options, &mut |what| {
        say(format_args!("tapstat: {what}"));
    })?;
    if let Some(folder) = &folder {
        let path = gates.write(folder)?;
        say(format_args!("tapstat: wrote {}", path.display()));
    }
    output.document(&page::page(&gates), &gates)?;
    Ok(Answer::of(gates.passed))
}

/// The targets of a file, or some of them, as the gates take them.
pub(super) fn gate_targets(targets: &Targets, only: &[String]) -> Result<Vec<GateTarget>> {
    if let Some(name) = only.iter().find(|name| !targets.target.contains_key(*name)) {
        let known: Vec<&str> = targets.target.keys().map(String::as_str).collect();
        bail!("no target `{name}`: the file has {}", known.join(", "));
    }
    let chosen = |name: &String| only.is_empty() || only.contains(name);
    let found: BTreeMap<&String, &Target> =
        targets.target.iter().filter(|(name, _)| chosen(name)).collect();
    if found.is_empty() {
        bail!("the targets file has no target");
    }
    let target = |(name, target): (&String, &Target)| gate_target(name, target, &targets.folder);
    Ok(found.into_iter().map(target).collect())
}

fn select(corpus: &mut Corpus, classes: &[String]) -> Result<()> {
    if let Some(class) = classes.iter().find(|class| !corpus.classes().contains_key(class.as_str()))
    {
        let known: Vec<&str> = corpus.classes().into_keys().collect();
        bail!("no query class `{class}`: the corpus has {}", known.join(", "));
    }
    if !classes.is_empty() {
        corpus.queries.retain(|query| classes.contains(&query.query_class));
    }
    Ok(())
}

fn formats(asked: &[AskFormat]) -> Vec<Format> {
    let mut formats = Vec::new();
    for format in asked {
        let format = match format {
            AskFormat::Csv => Format::Csv,
            AskFormat::Votable => Format::Votable,
        };
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    formats
}

/// The program of taplint. One that is named has to be there; one that is not
/// found leaves the gate `not run`.
pub(super) fn stilts(given: Option<&Path>, no_taplint: bool) -> Result<Stilts> {
    if no_taplint {
        return Ok(Stilts::NotRun("--no-taplint".to_owned()));
    }
    Ok(match (taplint::find(given), given) {
        (Some(path), _) => Stilts::At(path),
        (None, Some(path)) => bail!("{}: no such program", path.display()),
        (None, None) => Stilts::NotRun("no `stilts` on PATH".to_owned()),
    })
}
