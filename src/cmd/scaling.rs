//! `tapstat scaling`: throughput of N instances against one.

use anyhow::Result;

use super::args::{Filters, Global};
use super::select::{Columns, query};
use super::{Answer, session};
use crate::report::scaling_page;

const COLUMNS: Columns = Columns {
    order: "run, try_cast(tier AS DOUBLE), tier, target, response_format, query_class, \
            concurrency, instances, loops",
    ..Columns::of_cells("instance_scaling")
};

const EXAMPLES: &str = "\
Examples:
  tapstat scaling --class 'static-*'
  tapstat scaling --format csv";

/// Show how throughput grows with the instances of a server
///
/// Efficiency is the throughput of N instances over N times that of one; beside
/// it, N instances against one instance with N event loops on the same CPUs.
/// Figures are medians over the repetitions, as the view `instance_scaling`
/// gives them.
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
    session::show(global, &session, &view, |stamps| scaling_page(&view, stamps))?;
    Ok(Answer::Yes)
}
