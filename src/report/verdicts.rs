//! The page of the command `verdicts`: the wide tables of a published report.

use std::collections::{BTreeMap, BTreeSet};

use super::cells::{CellRow, estimator_of, legend, read};
use super::grid::{Align, Cell, Grid, MISSING, Tone};
use super::place::{Place, PlaceColumns, Section, sections};
use super::stamp::{Stamp, footnotes, method_notes};
use super::{Long, Page, ReportError, View, figure, widen};
use crate::protocol::Estimator;

/// How many places of one reason are listed.
const LISTED: usize = 20;

/// A row of the view `verdicts`, as far as tables need it.
#[derive(Debug, Clone)]
pub(super) struct VerdictRow {
    pub place: Place,
    pub verdict: Option<String>,
    pub reason: String,
}

/// The page of the command `verdicts`: a table per run, tier and format, a row
/// per class and concurrency, two columns per target, the verdict last.
///
/// `targets` has the targets of each run that are to be shown; those that a
/// table lacks stand there all the same, with `—`. `missing` has the cells that
/// the protocols promise and the runs lack.
///
/// # Errors
/// If a view lacks a column.
pub fn verdicts_page(
    cells: &View,
    verdicts: &View,
    targets: &BTreeMap<String, Vec<String>>,
    missing: &View,
    stamps: &[Stamp],
) -> Result<Page, ReportError> {
    let cells = read(cells)?;
    let (missing_runs, missing) = (missing.names("run")?, missing.names("cell")?);
    let verdicts = read_verdicts(verdicts)?;
    let mut page = Page::new();
    let tables = tables(&cells, &verdicts, targets, stamps)?;
    let sections: Vec<Section> = tables.iter().map(|(section, _)| section.clone()).collect();
    for (index, (section, grid)) in tables.into_iter().enumerate() {
        let is_first = index == 0 || sections[index - 1].run != section.run;
        let is_last = sections.get(index + 1).is_none_or(|next| next.run != section.run);
        if is_first {
            page.heading(1, format!("run {}", section.run));
        }
        if let Some(heading) = &section.heading {
            page.heading(2, heading);
        }
        page.table(grid);
        if is_last {
            let of_run: Vec<&VerdictRow> =
                verdicts.iter().filter(|row| row.place.run == section.run).collect();
            page.text(summary(&of_run));
            page.list(undecided(&of_run));
            let of_run = missing_runs.iter().zip(&missing).filter(|(run, _)| **run == section.run);
            page.list(lacking(of_run.map(|(_, cell)| cell.clone()).collect()));
        }
    }
    if verdicts.is_empty() {
        page.table(table(&[], &BTreeMap::new(), &[], Estimator::Mean)?);
    }

    let n: Vec<Option<i64>> = cells.iter().map(|row| row.n).collect();
    let mut notes = legend(&cells);
    notes.extend(unguarded(&verdicts));
    notes.extend(footnotes(stamps, method_notes(stamps, &n)));
    page.notes(notes);
    Ok(page)
}

/// What has to be said where nobody knows of the generator's guard.
pub(super) fn unguarded(verdicts: &[VerdictRow]) -> Option<String> {
    verdicts.iter().any(|row| row.reason == "guard unknown").then(|| {
        "guard unknown: nothing says whether the generator's guard was quiet, so that `invalid` cannot be said"
            .to_owned()
    })
}

/// The table of each run, tier and format, a row per comparison.
pub(super) fn tables(
    cells: &[CellRow],
    verdicts: &[VerdictRow],
    targets: &BTreeMap<String, Vec<String>>,
    stamps: &[Stamp],
) -> Result<Vec<(Section, Grid)>, ReportError> {
    let mut by_place: BTreeMap<&Place, Vec<&CellRow>> = BTreeMap::new();
    for cell in cells {
        by_place.entry(&cell.place).or_default().push(cell);
    }
    let places: Vec<Place> = verdicts.iter().map(|row| row.place.clone()).collect();
    let tables = sections(&places).into_iter().map(|section| {
        let shown = targets.get(&section.run).map_or(&[][..], Vec::as_slice);
        let members: Vec<&VerdictRow> = section.rows.iter().map(|&row| &verdicts[row]).collect();
        let mut grid = table(&members, &by_place, shown, estimator_of(&section.run, stamps))?;
        grid.of(section.tier.as_deref(), &section.format);
        Ok((section, grid))
    });
    tables.collect()
}

pub(super) fn read_verdicts(view: &View) -> Result<Vec<VerdictRow>, ReportError> {
    let places = Place::read(view)?;
    let (verdicts, reasons) = (view.texts("verdict")?, view.names("reason")?);
    Ok(places
        .into_iter()
        .zip(verdicts)
        .zip(reasons)
        .map(|((place, verdict), reason)| VerdictRow { place, verdict, reason })
        .collect())
}

fn table(
    rows: &[&VerdictRow],
    cells: &BTreeMap<&Place, Vec<&CellRow>>,
    targets: &[String],
    estimator: Estimator,
) -> Result<Grid, ReportError> {
    let columns = PlaceColumns::of(rows.iter().map(|row| &row.place));
    let mut header = columns.header();
    for target in targets {
        header.push((format!("{target} rps"), Align::Right));
        header.push((format!("{target} p95 (s)"), Align::Right));
    }
    header.push(("verdict".to_owned(), Align::Left));

    let mut long = Vec::new();
    for row in rows {
        let place = columns.cells(&row.place);
        for cell in cells.get(&row.place).into_iter().flatten() {
            long.push(Long {
                place: place.clone(),
                group: cell.target.clone(),
                values: vec![cell.rps(estimator), cell.p95(estimator)],
            });
        }
    }
    let wide = widen(columns.count(), 2, targets, &long)?;
    let by_place: BTreeMap<Vec<String>, Vec<Cell>> = wide
        .into_iter()
        .map(|cells| {
            (cells[..columns.count()].iter().map(|cell| cell.text.clone()).collect(), cells)
        })
        .collect();

    let mut grid = Grid::new(header);
    for (index, target) in targets.iter().enumerate() {
        let first = columns.count() + 2 * index;
        grid.group(first..first + 2, target);
    }
    for row in rows {
        let place = columns.cells(&row.place);
        // A comparison whose cells are all filtered out still has its verdict.
        let mut cells = by_place.get(&place).cloned().unwrap_or_else(|| {
            let missing = std::iter::repeat_n(MISSING.to_owned(), 2 * targets.len());
            place.iter().cloned().chain(missing).map(Cell::from).collect()
        });
        cells.push(verdict_cell(row.verdict.as_deref()));
        grid.push(cells);
    }
    Ok(grid)
}

/// A verdict in the colour of its kind; the word says it all the same.
pub(super) fn verdict_cell(verdict: Option<&str>) -> Cell {
    match verdict {
        None => MISSING.into(),
        Some("tie") => Cell::toned("tie", Tone::Even),
        Some(void @ ("invalid" | "incomplete")) => Cell::toned(void, Tone::Bad),
        Some(target) => Cell::toned(target, Tone::Good),
    }
}

/// How often each verdict was given, `60 comparisons: egernia 36, …`: targets
/// by their number, then ties and what is void.
pub(super) fn summary(rows: &[&VerdictRow]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        *counts.entry(row.verdict.as_deref().unwrap_or("nothing to compare")).or_default() += 1;
    }
    let last = |verdict: &str| {
        ["tie", "invalid", "incomplete", "nothing to compare"]
            .iter()
            .position(|last| *last == verdict)
    };
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(verdict, count)| (last(verdict), std::cmp::Reverse(count)));
    let counts: Vec<String> =
        counts.into_iter().map(|(verdict, count)| format!("{verdict} {count}")).collect();
    format!("{}: {}", figure::counted(rows.len(), "comparison"), counts.join(", "))
}

/// The cells that the protocol promises and the run lacks, in one line.
pub(super) fn lacking(cells: Vec<String>) -> Vec<String> {
    if cells.is_empty() {
        return Vec::new();
    }
    let count = figure::counted(cells.len(), "cell");
    vec![format!("missing, of what the protocol promises ({count}): {}", listed(&cells))]
}

/// The first of several places, and how many more there are.
fn listed(places: &[String]) -> String {
    let more = places.len().saturating_sub(LISTED);
    let mut text = places[..places.len() - more].join("; ");
    if more > 0 {
        text += &format!("; and {more} more");
    }
    text
}

/// Why there is no winner, reason by reason, with the places.
pub(super) fn undecided(rows: &[&VerdictRow]) -> Vec<String> {
    let mut reasons: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    let without_winner = BTreeSet::from(["tie", "invalid", "incomplete"]);
    for row in rows {
        let Some(verdict) = row.verdict.as_deref() else { continue };
        if without_winner.contains(verdict) || row.reason == "one clean target" {
            reasons.entry((verdict, &row.reason)).or_default().push(row.place.text());
        }
    }
    reasons
        .into_iter()
        .map(|((verdict, reason), places)| {
            format!("{verdict}, {reason} ({}): {}", places.len(), listed(&places))
        })
        .collect()
}

#[cfg(test)]
#[path = "verdicts_tests.rs"]
mod tests;
