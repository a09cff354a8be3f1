//! `tapstat protocol check`: whether a protocol file makes sense, and which of
//! its rungs a run has.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use super::args::{Global, OneRun};
use super::output::Output;
use super::{Answer, session};
use crate::protocol::Hypothesis;
use crate::protocol::check::{self, Checked, Coverage, Finding, RunNames};
use crate::raw::RungKey;
use crate::report::{View, protocol_page};
use crate::sql::{Session, hypotheses};

const EXAMPLES: &str = "\
Examples:
  tapstat protocol check protocols/scaling-three-way.toml
  tapstat protocol check protocol.toml --run scaling --check";

const CHECK_EXAMPLES: &str = "\
Examples:
  tapstat protocol check protocols/scaling-three-way.toml
  tapstat protocol check protocol.toml --run scaling --check
  tapstat protocol check protocol.toml --run scaling --format json";

/// Work with protocol files
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Check(CheckArgs),
}

/// Name everything that is wrong with a protocol file, and the rungs that a run lacks
///
/// Unknown keys, values of another type or out of range, a grid without rungs,
/// containers of nothing, hypotheses without their query: all of them, each
/// with its line. With `--run`, the rungs of the grid that the run has, lacks,
/// or has beside it. Exit with 1 if there is a problem.
#[derive(Debug, clap::Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct CheckArgs {
    /// The protocol file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub run: OneRun,

    /// Exit with 1 also if the run lacks a rung
    #[arg(long, requires = "run")]
    pub check: bool,
}

/// The answer as a JSON document.
#[derive(Serialize)]
struct Document<'a> {
    file: &'a str,
    ok: bool,
    findings: &'a [Finding],
    /// Rungs that the grid promises; null where they are too many.
    promised: Option<usize>,
    run: Option<&'a str>,
    rungs: Option<&'a Coverage>,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let Command::Check(args) = &args.command;
    if global.rule.protocol.is_some() {
        bail!("--protocol has no effect on `tapstat protocol check`, which checks FILE");
    }
    let file = args.file.display().to_string();
    let text = std::fs::read_to_string(&args.file).with_context(|| file.clone())?;
    let queries = global.store.queries.as_deref();
    let session = match &args.run.run {
        Some(name) => Some(session::open_run(global, name)?),
        None => None,
    };
    let names = session.as_ref().map(|(session, run)| names(session, run)).transpose()?;
    let checked = check::check(&text, |name| has_query(queries, name), names.as_ref());
    let run = match session {
        Some((session, run)) => Some((run, coverage(&session, &checked)?)),
        None => None,
    };
    let promised = check::promised(&checked.protocol).ok().map(|rungs| rungs.len());
    let run = run.as_ref().map(|(run, coverage)| (run.as_str(), coverage));
    let output = Output::open(&global.output)?;
    output.document(
        &protocol_page(&file, &checked.findings, promised, run),
        &Document {
            file: &file,
            ok: !checked.has_problems(),
            findings: &checked.findings,
            promised,
            run: run.map(|(run, _)| run),
            rungs: run.map(|(_, coverage)| coverage),
        },
    )?;
    let lacks = args.check && run.is_some_and(|(_, coverage)| !coverage.lacks.is_empty());
    Ok(Answer::of(!checked.has_problems() && !lacks))
}

/// Whether there is a query file of that name for a hypothesis.
fn has_query(queries: Option<&Path>, name: &str) -> bool {
    let hypothesis = Hypothesis { query: name.to_owned(), ..Hypothesis::default() };
    hypotheses::query_of(&hypothesis, queries).is_ok()
}

/// The names that a run knows.
fn names(session: &Session, run: &str) -> Result<RunNames> {
    let mix = session::view(
        session,
        "requests",
        "SELECT DISTINCT requests.query_class FROM requests \
         JOIN rungs ON rungs.run = requests.run AND rungs.rung = requests.rung \
         WHERE rungs.query_class = 'mix' AND requests.query_class <> 'mix'",
    )?;
    let judged = session.judged().iter().find(|judged| judged.run == run);
    Ok(RunNames {
        targets: judged.map(|judged| judged.targets.clone()).unwrap_or_default(),
        mix: mix.texts("query_class")?.into_iter().flatten().collect(),
    })
}

/// Which of the promised rungs the run has.
fn coverage(session: &Session, checked: &Checked) -> Result<Coverage> {
    let rungs = rungs(session, checked.protocol.grid.repetitions)?;
    match check::coverage(&checked.protocol, &rungs) {
        Ok(coverage) => Ok(coverage),
        // Which is among the findings.
        Err(check::TooLarge) => Ok(Coverage::default()),
    }
}

/// The rungs of the run; of a published table, as many of each cell as it says,
/// or as are promised where it does not.
fn rungs(session: &Session, promised: Option<i64>) -> Result<Vec<RungKey>> {
    const KEY: &str = "tier, target, response_format, query_class, concurrency";
    let measured = session::view(
        session,
        "rungs",
        &format!("SELECT {KEY}, repetition, instances, loops, mode, loop, offered_rps FROM rungs"),
    )?;
    let mut keys = keys(&measured)?;
    let fields =
        [measured.ints("repetition")?, measured.ints("instances")?, measured.ints("loops")?];
    let (modes, loops) = (measured.texts("mode")?, measured.texts("loop")?);
    let rates = measured.floats("offered_rps")?;
    for (row, key) in keys.iter_mut().enumerate() {
        key.repetition = fields[0][row].unwrap_or(1);
        (key.instances, key.loops) = (fields[1][row], fields[2][row]);
        (key.mode, key.r#loop) = (modes[row].clone(), loops[row].clone());
        key.offered_rps = rates[row];
    }
    if !keys.is_empty() {
        return Ok(keys);
    }
    let printed = session::view(
        session,
        "published_cells",
        &format!("SELECT {KEY}, n FROM published_cells"),
    )?;
    let counts = printed.ints("n")?;
    let of_cell = |(key, count): (RungKey, Option<i64>)| {
        let repetitions = 1..=count.or(promised).unwrap_or(1);
        repetitions.map(move |repetition| RungKey { repetition, ..key.clone() })
    };
    Ok(self::keys(&printed)?.into_iter().zip(counts).flat_map(of_cell).collect())
}

/// The part of a rung's key that a cell has too.
fn keys(view: &View) -> Result<Vec<RungKey>> {
    let (tiers, targets) = (view.texts("tier")?, view.names("target")?);
    let (formats, classes) = (view.names("response_format")?, view.names("query_class")?);
    let concurrencies = view.ints("concurrency")?;
    Ok((0..view.len())
        .map(|row| RungKey {
            tier: tiers[row].clone(),
            target: targets[row].clone(),
            response_format: formats[row].clone(),
            query_class: classes[row].clone(),
            concurrency: concurrencies[row].unwrap_or(1),
            ..RungKey::default()
        })
        .collect())
}
