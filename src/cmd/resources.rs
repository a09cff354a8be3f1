//! `tapstat resources`: CPU and memory that the targets used.

use anyhow::Result;

use super::args::{Filters, Global};
use super::select::{Columns, query};
use super::{Answer, session};
use crate::report::resources_page;

const EXAMPLES: &str = "\
Examples:
  tapstat resources --tier 24 --response-format csv
  tapstat resources --class mix --format json";

/// Show the CPU and memory that each target used
///
/// Per cell: cores used, CPU time per request, mean and peak memory, each over
/// the windows of its rungs. A rung whose window was not sampled well enough
/// has no resources, which is shown as `—`. For the mix, throughput is set
/// against the cores that it took. The row formats give `resource_cells`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub filters: Filters,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let filter = &args.filters.cell;
    let sql = query("resource_cells", filter, &Columns::of_cells("resource_cells"))?;
    let session = session::open_filtered(global, &args.filters.run)?;
    let view = session::view(&session, "resource_cells", &sql)?;
    let targets = session::targets(&session, &filter.targets);
    session::show(global, &session, &view, |stamps| resources_page(&view, &targets, stamps))?;
    Ok(Answer::Yes)
}
