//! `tapstat anomalies`: what looks wrong in the data.

use anyhow::Result;

use super::args::{Filters, Global, RunFilter};
use super::select::Columns;
use super::{Answer, session};

const EXAMPLES: &str = "\
Examples:
  tapstat anomalies --run scaling
  tapstat anomalies --format csv";

/// Show what looks wrong in the data: windows, coverage, repetitions, loads
///
/// Nothing here changes a verdict. `tapstat sql --show anomalies` says what is
/// looked for.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub run: RunFilter,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let filters = Filters { run: args.run.clone(), ..Filters::default() };
    session::show_view(global, &filters, &Columns::none("anomalies", "run, kind, rung"))
}
