//! `tapstat bursts`: bursts from idle against a scaled pool.

use anyhow::Result;

use super::args::{Filters, Global};
use super::select::{Columns, query};
use super::{Answer, session};
use crate::report::bursts_page;

const COLUMNS: Columns = Columns {
    order: "run, target, try_cast(tier AS DOUBLE), tier, response_format, mode, offered_rps, \
            query_class, concurrency, burst",
    ..Columns::of_cells("bursts")
};

const EXAMPLES: &str = "\
Examples:
  tapstat bursts --run adaptive
  tapstat bursts --format json";

/// Show bursts from idle: throughput, tail latency, errors, instances
///
/// The rows of the view `bursts`, one per burst in their order. Bursts are no
/// repetitions of each other, and make no cell and no verdict.
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
    session::show(global, &session, &view, |stamps| bursts_page(&view, stamps))?;
    Ok(Answer::Yes)
}
