//! `tapstat check`: whether the store is what its manifests say.

use anyhow::Result;

use super::args::{Global, RunFilter};
use super::output::{Output, say};
use super::{Answer, output, session};
use crate::report::figure::{counted, thousands};
use crate::store::Store;

const EXAMPLES: &str = "\
Examples:
  tapstat check
  tapstat check --run scaling";

/// Hash every file of the store, and report what was altered, missing or extra
///
/// Exit with 1 if there is anything to report.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub run: RunFilter,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    output::refuse_format(&global.output, "check")?;
    let store = Store::inspect(&global.store.path())?;
    let runs = session::run_ids(&store, &args.run)?;
    let report = store.check(runs.as_deref())?;
    let lines: String = report.findings.iter().map(|finding| format!("{finding}\n")).collect();
    Output::open_text(&global.output)?.text(&lines)?;
    let checked = format!(
        "{}, {}, {} bytes",
        counted(report.runs, "run"),
        counted(usize::try_from(report.files)?, "file"),
        thousands(i64::try_from(report.bytes)?)
    );
    match report.findings.len() {
        0 => say(format_args!("tapstat: the store is as its manifests say: {checked}")),
        faults => say(format_args!("tapstat: {} in {checked}", counted(faults, "fault"))),
    }
    Ok(Answer::of(report.is_clean()))
}
