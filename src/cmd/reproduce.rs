//! `tapstat reproduce`: whether one run reproduces another.

use anyhow::{Result, bail};

use super::args::{CellFilter, Global};
use super::output::say;
use super::select::Columns;
use super::{Answer, pair};
use crate::report::reproduce_page;

const COLUMNS: Columns = Columns {
    tier: &["tier_a", "tier_b"],
    target: &["server", "target_a", "target_b"],
    order: "server, target_a, try_cast(tier_a AS DOUBLE), tier_a, response_format, query_class, \
            concurrency",
    ..Columns::of_cells("reproduce")
};

const EXAMPLES: &str = "\
Examples:
  tapstat reproduce 20260911T065452Z 20260912T225808Z
  tapstat reproduce three-way scaling 16 --check";

/// Say whether run B reproduces run A, cell by cell
///
/// Cells are matched on class, format and concurrency, and on target where both
/// runs have the same ones, else on server. In what the runs differ stands
/// first. `--target` takes servers too. The row formats give the table function
/// `reproduce`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Exit with 1 if any cell shown is not a tie, or none has intervals to judge by
    ///
    /// A cell that lacks an interval in either run cannot differ by the rule, so
    /// that it is a tie. Where that is so of every cell shown, nothing was
    /// reproduced: the answer is undecided, and not yes.
    #[arg(long)]
    pub check: bool,

    #[command(flatten)]
    pub runs: pair::Runs,

    #[command(flatten)]
    pub filter: CellFilter,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let asked = pair::Asked::new(global, &args.runs, &args.filter, &COLUMNS)?;
    if args.check && asked.view.is_empty() {
        bail!("nothing to check: the runs have no cell in common that matches");
    }
    asked.show(global, reproduce_page)?;
    if !args.check {
        return Ok(Answer::Yes);
    }
    let outcomes = asked.view.texts("outcome")?;
    let all_tie = outcomes.iter().all(|outcome| outcome.as_deref() == Some("tie"));
    let is_decided = asked.view.flags("has_intervals")?.contains(&Some(true));
    if all_tie && !is_decided {
        say(
            "tapstat: note: undecided: no cell shown has an interval in both runs, so that none could differ",
        );
    }
    Ok(Answer::of(all_tie && is_decided))
}
