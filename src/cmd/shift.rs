//! `tapstat shift`: how far figures moved under another apparatus.

use anyhow::Result;

use super::args::{CellFilter, Global};
use super::select::Columns;
use super::{Answer, pair};
use crate::report::shift_page;

const COLUMNS: Columns = Columns {
    target: &["server", "target_a", "target_b"],
    order: "try_cast(tier AS DOUBLE), tier, server, target_a, response_format, query_class, \
            concurrency",
    ..Columns::of_cells("shift")
};

const EXAMPLES: &str = "\
Examples:
  tapstat shift 20260912T225808Z 20260913T115758Z --class Q01,Q11
  tapstat shift scaling supplementary --format csv";

/// Show how far throughput moved from run A to run B, beside the generator's peaks
///
/// For runs measured by different apparatus, such as another number of
/// generator processes: the server that loads the generator least is the
/// control. In what the runs differ stands first. `--target` takes servers too.
/// The row formats give the table function `shift`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub runs: pair::Runs,

    #[command(flatten)]
    pub filter: CellFilter,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    pair::Asked::new(global, &args.runs, &args.filter, &COLUMNS)?.show(global, shift_page)?;
    Ok(Answer::Yes)
}
