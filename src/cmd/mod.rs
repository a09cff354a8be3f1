//! The command line: one file per command, with its flags, a call, its output.
//!
//! To find what `tapstat NAME` does, open `src/cmd/NAME.rs`. What several
//! commands share is in `args` (flags), `select` (filters as SQL), `session`
//! (the store as a session) and `output` (form and destination).

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Error, Result};
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::report::{ReportError, release};
use crate::sql::SqlError;

mod args;
mod output;
mod progress;
mod select;
mod session;

mod anomalies;
mod bursts;
mod calibrate;
mod cells;
mod check;
mod classify;
mod corpus;
mod demo;
mod figure;
mod fit;
mod gates;
mod hypotheses;
mod ingest;
mod load;
mod measure;
mod merge;
mod null_target;
mod pair;
mod prereg;
mod protocol;
mod remove;
mod report;
mod reproduce;
mod resources;
mod runs;
mod sample;
mod scaling;
mod serve;
mod shift;
mod sql;
mod sweep;
mod tiers;
mod verdicts;

use args::Global;

const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (revision ", env!("TAPSTAT_REVISION"), ")");

const AFTER_HELP: &str = "\
Exit codes:
  0  done
  1  the answer is no: `check` found a fault, `prereg` no proof, `gates` something that
     does not hold, or what `--check` asks for does not hold
  2  bad usage or bad data; nothing is on standard output then

Examples:
  tapstat demo
  tapstat ingest runs/20260912T225808Z-d43b538d-tap-compare-scaling
  tapstat verdicts --tier 8 --response-format csv
  tapstat sql \"SELECT target, median(rps) FROM rungs GROUP BY target\"";

/// Compare servers by measurement, and prove what the comparison says
///
/// Run directories are ingested into a store of Parquet files. Every figure is
/// a query over it: cells with their intervals, verdicts by a rule that the
/// output states, resources, tier changes, client cost.
#[derive(Debug, Parser)]
#[command(name = "tapstat", version = VERSION, after_help = AFTER_HELP)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    Measure(measure::Args),
    Load(load::Args),
    Calibrate(calibrate::Args),
    Sample(sample::Args),
    Merge(merge::Args),
    Corpus(corpus::Args),
    Gates(gates::Args),
    Serve(serve::Args),
    NullTarget(null_target::Args),
    Ingest(ingest::Args),
    Runs(runs::Args),
    Check(check::Args),
    Remove(remove::Args),
    Verdicts(verdicts::Args),
    Cells(cells::Args),
    Resources(resources::Args),
    Tiers(tiers::Args),
    Fit(fit::Args),
    Reproduce(reproduce::Args),
    Shift(shift::Args),
    Scaling(scaling::Args),
    Sweep(sweep::Args),
    Bursts(bursts::Args),
    Classify(classify::Args),
    Anomalies(anomalies::Args),
    Hypotheses(hypotheses::Args),
    Prereg(prereg::Args),
    Protocol(protocol::Args),
    Report(report::Args),
    Figure(figure::Args),
    Sql(sql::Args),
}

/// What a command that did its work has to say by its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Done, and nothing was asked that could be denied.
    Yes,
    /// What was checked does not hold.
    No,
}

impl Answer {
    /// Yes, if so.
    fn of(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

impl Command {
    fn run(&self, global: &Global) -> Result<Answer> {
        match self {
            Self::Demo(args) => demo::run(args, global),
            Self::Measure(args) => measure::run(args, global),
            Self::Load(args) => load::run(args, global),
            Self::Calibrate(args) => calibrate::run(args, global),
            Self::Sample(args) => sample::run(args, global),
            Self::Merge(args) => merge::run(args, global),
            Self::Corpus(args) => corpus::run(args, global),
            Self::Gates(args) => gates::run(args, global),
            Self::Serve(args) => serve::run(args, global),
            Self::NullTarget(args) => null_target::run(args, global),
            Self::Ingest(args) => ingest::run(args, global),
            Self::Runs(args) => runs::run(args, global),
            Self::Check(args) => check::run(args, global),
            Self::Remove(args) => remove::run(args, global),
            Self::Verdicts(args) => verdicts::run(args, global),
            Self::Cells(args) => cells::run(args, global),
            Self::Resources(args) => resources::run(args, global),
            Self::Tiers(args) => tiers::run(args, global),
            Self::Fit(args) => fit::run(args, global),
            Self::Reproduce(args) => reproduce::run(args, global),
            Self::Shift(args) => shift::run(args, global),
            Self::Scaling(args) => scaling::run(args, global),
            Self::Sweep(args) => sweep::run(args, global),
            Self::Bursts(args) => bursts::run(args, global),
            Self::Classify(args) => classify::run(args, global),
            Self::Anomalies(args) => anomalies::run(args, global),
            Self::Hypotheses(args) => hypotheses::run(args, global),
            Self::Prereg(args) => prereg::run(args, global),
            Self::Protocol(args) => protocol::run(args, global),
            Self::Report(args) => report::run(args, global),
            Self::Figure(args) => figure::run(args, global),
            Self::Sql(args) => sql::run(args, global),
        }
    }
}

/// Parses the command line, runs the command, and says how it ended.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let answer = cli.command.run(&cli.global).and_then(|answer| {
        release().map_err(ReportError::from)?;
        Ok(answer)
    });
    match answer {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::say(format_args!("tapstat: error: {}", explain(&error)));
            ExitCode::from(2)
        }
    }
}

/// Help and version on standard output, what is wrong with the usage on
/// standard error.
fn usage(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // A reader who has gone away needs no help.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = write!(std::io::stderr(), "tapstat: ");
    }
    let _ = error.print();
    ExitCode::from(2)
}

/// An error and its causes in one line. A cause that an error quotes already is
/// not said again, and what the query engine says is put in words by [`SqlError`].
fn explain(error: &Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let said = cause.to_string();
        if text.is_empty() {
            text = said;
        } else if !text.ends_with(&said) {
            text += &format!(": {said}");
        }
        if cause.is::<SqlError>() {
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests;
