//! `tapstat verdicts`: which target is faster, where it is a tie, where void.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

use super::args::{CellFilter, Filters, Global};
use super::select::{Columns, query};
use super::{Answer, session};
use crate::report::{Place, View, robust_page, verdicts_page};
use crate::sql::Session;

const COLUMNS: Columns = Columns {
    target: &[],
    order: "run, try_cast(tier AS DOUBLE), tier, response_format, query_class, concurrency, mode, \
            loop, offered_rps, instances, loops",
    ..Columns::of_cells("verdicts")
};

const MISSING: Columns = Columns {
    order: "run, try_cast(tier AS DOUBLE), tier, response_format, query_class, concurrency, target",
    ..Columns::of_cells("missing_cells")
};

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
    /// Exit with 1 if any verdict shown is invalid or incomplete, or a cell that
    /// the protocol promises is missing; with --robust,
    /// if any would be another by another rule
    #[arg(long)]
    pub check: bool,

    /// Show beside each verdict what other rules would have said
    ///
    /// Another tie floor, medians, Welch's t-test, one repetition left out;
    /// the smallest difference that would have been found; whether a tie is
    /// shown or merely not decided. The row formats give the view
    /// `verdict_robustness`.
    #[arg(long)]
    pub robust: bool,

    #[command(flatten)]
    pub filters: Filters,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let session = session::open_filtered(global, &args.filters.run)?;
    if args.robust {
        return robust(args, global, &session);
    }
    let shown = Shown::read(&session, &args.filters.cell)?;
    if args.check && shown.verdicts.is_empty() {
        bail!("nothing to check: no comparison matches");
    }
    shown.show(global, &session)?;
    if !args.check {
        return Ok(Answer::Yes);
    }
    let is_void = |verdict: &Option<String>| {
        verdict.as_deref().is_some_and(|word| matches!(word, "invalid" | "incomplete"))
    };
    let is_whole = shown.missing.is_empty();
    Ok(Answer::of(is_whole && !shown.verdicts.texts("verdict")?.iter().any(is_void)))
}

/// Shows the verdicts beside what other rules would have said.
fn robust(args: &Args, global: &Global, session: &Session) -> Result<Answer> {
    let columns = Columns { view: "verdict_robustness", ..COLUMNS };
    let of_all = CellFilter { targets: Vec::new(), ..args.filters.cell.clone() };
    let sql = query("verdict_robustness", &of_all, &columns)?;
    let view = session::view(session, "verdict_robustness", &sql)?;
    session::show(global, session, &view, |stamps| robust_page(&view, stamps))?;
    let robust = view.flags("robust")?;
    Ok(Answer::of(!args.check || robust.iter().all(|robust| robust.unwrap_or(true))))
}

/// The verdicts that a filter lets through, and what stands beside them.
pub(super) struct Shown {
    cells: View,
    verdicts: View,
    targets: BTreeMap<String, Vec<String>>,
    /// Cells that the protocols promise and the runs lack.
    missing: View,
}

impl Shown {
    /// Asks a session for them.
    pub fn read(session: &Session, filter: &CellFilter) -> Result<Self> {
        let cells = query("cells", filter, &Columns::of_cells("cells"))?;
        let cells = session::view(session, "cells", &cells)?;
        // A verdict is about all targets: it is kept where one that is shown
        // has a cell, which no column of its own tells.
        let of_all = CellFilter { targets: Vec::new(), ..filter.clone() };
        let verdicts = query("verdicts", &of_all, &COLUMNS)?;
        let mut verdicts = session::view(session, "verdicts", &verdicts)?;
        if !filter.targets.is_empty() {
            let shown: BTreeSet<Place> = Place::read(&cells)?.into_iter().collect();
            let marks = Place::read(&verdicts)?.iter().map(|place| shown.contains(place)).collect();
            verdicts = verdicts.keep(marks)?;
        }
        let targets = session::targets(session, &filter.targets);
        let missing = query("missing_cells", filter, &MISSING)?;
        let missing = session::view(session, "missing_cells", &missing)?;
        Ok(Self { cells, verdicts, targets, missing })
    }

    /// Shows them.
    pub fn show(&self, global: &Global, session: &Session) -> Result<()> {
        session::show(global, session, &self.verdicts, |stamps| {
            verdicts_page(&self.cells, &self.verdicts, &self.targets, &self.missing, stamps)
        })
    }
}
