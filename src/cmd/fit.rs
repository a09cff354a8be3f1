//! `tapstat fit`: what a response costs the client.

use anyhow::Result;

use super::args::{CellFilter, FILTERS, Global, RunFilter};
use super::select::{Columns, query};
use super::{Answer, session};
use crate::report::fit_page;

const COLUMNS: Columns =
    Columns { target: &["target"], ..Columns::none("client_cost", "run, server, target, basis") };

const EXAMPLES: &str = "\
Examples:
  tapstat fit --run scaling
  tapstat fit --target 'argus*' --format json";

/// Fit what a response costs the client: CPU per request, and per MiB
///
/// A line by least squares through the rungs of each target that are not
/// voided, with its intervals. The row formats give the view `client_cost`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub run: RunFilter,

    /// Only these targets
    #[arg(
        long = "target",
        value_name = "TARGET,…",
        value_delimiter = ',',
        help_heading = FILTERS
    )]
    pub targets: Vec<String>,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let filter = CellFilter { targets: args.targets.clone(), ..CellFilter::default() };
    let sql = query("client_cost", &filter, &COLUMNS)?;
    let session = session::open_filtered(global, &args.run)?;
    let view = session::view(&session, "client_cost", &sql)?;
    session::show(global, &session, &view, |stamps| fit_page(&view, stamps))?;
    Ok(Answer::Yes)
}
