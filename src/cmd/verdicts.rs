//! `tapstat verdicts`: which target is faster, where it is a tie, where void.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use super::args::{CellFilter, Filters, Global};
use super::select::{Columns, query};
use super::{Answer, session};
use crate::report::{Place, View, verdicts_page};
use crate::sql::Session;

const EXAMPLES: &str = "\
Examples:
  tapstat verdicts --run scaling --tier 8,16
  tapstat verdicts --tie-floor 0.05 --format csv
  tapstat verdicts --check && echo every comparison holds";

/// Say which target is faster: one verdict per comparison
///
/// A comparison is the cells that differ in nothing but their target. The
/// first that matches is its verdict: `incomplete` where a target of the run
/// has no cell; `invalid` where a rung is void, or no target is clean; the
/// target that beats every other clean one; else `tie`. A target beats another
/// where their intervals do not touch and it is faster by the tie floor.
///
/// `--target` leaves targets out of the tables, never out of the comparison.
/// `--format csv` and the other row formats give the view `verdicts`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub filters: Filters,

    /// Exit with 1 if any verdict shown is invalid or incomplete
    #[arg(long)]
    pub check: bool,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let session = session::open_filtered(global, &args.filters.run)?;
    let verdicts = show(global, &session, &args.filters.cell)?;
    if !args.check {
        return Ok(Answer::Yes);
    }
    if verdicts.is_empty() {
        bail!("nothing to check: no comparison matches");
    }
    let is_void = |verdict: &Option<String>| {
        verdict.as_deref().is_some_and(|word| matches!(word, "invalid" | "incomplete"))
    };
    Ok(Answer::of(!verdicts.texts("verdict")?.iter().any(is_void)))
}

/// Shows the verdicts of a session, and gives those shown.
pub(super) fn show(global: &Global, session: &Session, filter: &CellFilter) -> Result<View> {
    let cells = query("cells", filter, &Columns::of_cells("cells"))?;
    let cells = session::view(session, "cells", &cells)?;
    // A verdict is about all targets: it is kept where one that is shown has a
    // cell, which no column of its own tells.
    let of_all = CellFilter { targets: Vec::new(), ..filter.clone() };
    let verdicts = query("verdicts", &of_all, &Columns::of_cells("verdicts"))?;
    let mut verdicts = session::view(session, "verdicts", &verdicts)?;
    if !filter.targets.is_empty() {
        let shown: BTreeSet<Place> = Place::read(&cells)?.into_iter().collect();
        let marks = Place::read(&verdicts)?.iter().map(|place| shown.contains(place)).collect();
        verdicts = verdicts.keep(marks)?;
    }
    let targets = session::targets(session, &filter.targets);
    session::show(global, session, &verdicts, |stamps| {
        verdicts_page(&cells, &verdicts, &targets, stamps)
    })?;
    Ok(verdicts)
}
