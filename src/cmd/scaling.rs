//! `tapstat scaling`: throughput of N instances against one.

use anyhow::Result;

use super::args::{Filters, Global};
use super::select::Columns;
use super::{Answer, session};

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
    session::show_view(global, &args.filters, &COLUMNS)
}
