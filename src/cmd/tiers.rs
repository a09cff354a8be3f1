//! `tapstat tiers`: what more hardware changed.

use anyhow::Result;

use super::args::{Filters, Global};
use super::select::{Columns, query};
use super::{Answer, session};
use crate::report::tiers_page;

const COLUMNS: Columns = Columns {
    tier: &["from_tier", "to_tier"],
    order: "run, server, target, try_cast(from_tier AS DOUBLE), from_tier, response_format, \
            query_class, concurrency, mode, loop, offered_rps, instances, loops",
    ..Columns::of_cells("tier_changes")
};

const EXAMPLES: &str = "\
Examples:
  tapstat tiers --run scaling
  tapstat tiers --target 'egernia*' --tier 24";

/// Show what each step to the next tier changed, target by target
///
/// `higher` or `lower` by the rule of the verdicts, else `tie`; `void` where
/// either cell has a voided rung. Errors do not enter. `--tier` keeps the steps
/// from or to a tier. The row formats give the view `tier_changes`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub filters: Filters,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let sql = query("tier_changes", &args.filters.cell, &COLUMNS)?;
    let session = session::open_filtered(global, &args.filters.run)?;
    let view = session::view(&session, "tier_changes", &sql)?;
    session::show(global, &session, &view, |stamps| tiers_page(&view, stamps))?;
    Ok(Answer::Yes)
}
