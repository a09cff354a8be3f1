//! `tapstat cells`: every cell with its interval.

use anyhow::Result;

use super::args::{Filters, Global};
use super::select::{Columns, query};
use super::{Answer, session};
use crate::report::cells_page;

const EXAMPLES: &str = "\
Examples:
  tapstat cells --tier 8 --class Q01,mix
  tapstat cells --target 'argus*' --format csv --output cells.csv";

/// Show every cell: its repetitions, throughput and latency with intervals
///
/// A cell is the repetitions of one target, tier, format, class and
/// concurrency taken together, voided ones too. `--format csv` and the other
/// row formats give every column of the view `cells`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub filters: Filters,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let sql = query("cells", &args.filters.cell, &Columns::of_cells("cells"))?;
    let session = session::open_filtered(global, &args.filters.run)?;
    let view = session::view(&session, "cells", &sql)?;
    session::show(global, &session, &view, |stamps| cells_page(&view, stamps))?;
    Ok(Answer::Yes)
}
