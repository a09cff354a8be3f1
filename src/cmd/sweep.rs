//! `tapstat sweep`: a scaled pool of instances under more and more connections.

use anyhow::Result;

use super::args::{Filters, Global};
use super::select::{Columns, query};
use super::{Answer, session};
use crate::report::sweep_page;

const COLUMNS: Columns = Columns {
    order: "run, target, try_cast(tier AS DOUBLE), tier, response_format, mode, loop, \
            offered_rps, query_class, concurrency",
    ..Columns::of_cells("sweep")
};

const EXAMPLES: &str = "\
Examples:
  tapstat sweep --class respond
  tapstat sweep --concurrency 8,32 --format json";

/// Show a sweep over connections: throughput, tail latency, instances, memory
///
/// The rows of the view `sweep`, each figure with all its digits.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub filters: Filters,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let sql = query(COLUMNS.view, &args.filters.cell, &COLUMNS)?;
    let session = session::open_filtered(global, &args.filters.run)?;
    let view = session::view(&session, COLUMNS.view, &sql)?;
    session::show(global, &session, &view, |stamps| sweep_page(&view, stamps))?;
    Ok(Answer::Yes)
}
