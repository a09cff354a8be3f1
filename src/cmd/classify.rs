//! `tapstat classify`: what bounds each scenario of a run of N instances.

use anyhow::Result;

use super::args::{Filters, Global};
use super::select::{Columns, query};
use super::{Answer, session};
use crate::report::classify_page;

const COLUMNS: Columns = Columns {
    order: "run, try_cast(tier AS DOUBLE), tier, target, response_format, query_class, \
            concurrency, mode, loop, offered_rps",
    ..Columns::of_cells("classify")
};

const EXAMPLES: &str = "\
Examples:
  tapstat classify --run adaptive
  tapstat classify --class 'static-*' --tie-floor 0.2
  tapstat classify --format csv";

/// Say what bounds each scenario when instances of a server are added
///
/// `scales`: each instance adds its share. `shared limit`: the instances together
/// meet the limit of what they share, such as bandwidth. `another process`: one
/// beside the instances is the limit, and more instances do not help.
/// `unsettled`: the figures cannot say. CPU samples decide where the run has
/// them and its protocol names the containers; the reason says where throughput
/// alone had to. What counts as no difference is the tie floor's.
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
    session::show(global, &session, &view, |stamps| classify_page(&view, stamps))?;
    Ok(Answer::Yes)
}
