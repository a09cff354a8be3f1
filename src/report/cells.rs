//! Cells as tables show them, and the page of the command `cells`.

use super::grid::{Align, Cell, Grid, Tone};
use super::place::{Place, PlaceColumns, sections};
use super::stamp::{Stamp, footnotes, method_notes};
use super::{Page, ReportError, View, figure};
use crate::protocol::Estimator;

/// A row of the view `cells`, as far as tables need it.
#[derive(Debug, Clone)]
pub(super) struct CellRow {
    pub place: Place,
    pub target: String,
    pub published: bool,
    pub n: Option<i64>,
    pub rps_mean: Option<f64>,
    pub rps_half_width: Option<f64>,
    pub rps_median: Option<f64>,
    pub rps_min: Option<f64>,
    pub rps_max: Option<f64>,
    pub p95_mean: Option<f64>,
    pub p95_half_width: Option<f64>,
    pub p95_median: Option<f64>,
    pub error_fraction: Option<f64>,
    pub voided_rungs: Option<i64>,
    pub lower_bound: bool,
    pub requests: Option<i64>,
}

/// The rows of the view `cells`.
pub(super) fn read(view: &View) -> Result<Vec<CellRow>, ReportError> {
    let places = Place::read(view)?;
    let (targets, sources) = (view.names("target")?, view.names("source")?);
    let (n, voided, requests) =
        (view.ints("n")?, view.ints("voided_rungs")?, view.ints("requests")?);
    let (mean, half_width) = (view.floats("rps_mean")?, view.floats("rps_half_width")?);
    let (median, min, max) =
        (view.floats("rps_median")?, view.floats("rps_min")?, view.floats("rps_max")?);
    let p95_mean = view.floats("latency_p95_s_mean")?;
    let p95_half_width = view.floats("latency_p95_s_half_width")?;
    let p95_median = view.floats("latency_p95_s_median")?;
    let errors = view.floats("error_fraction_max")?;
    let lower_bound = view.flags("lower_bound")?;
    Ok(places
        .into_iter()
        .enumerate()
        .map(|(row, place)| CellRow {
            place,
            target: targets[row].clone(),
            published: sources[row] == "published",
            n: n[row],
            rps_mean: mean[row],
            rps_half_width: half_width[row],
            rps_median: median[row],
            rps_min: min[row],
            rps_max: max[row],
            p95_mean: p95_mean[row],
            p95_half_width: p95_half_width[row],
            p95_median: p95_median[row],
            error_fraction: errors[row],
            voided_rungs: voided[row],
            lower_bound: lower_bound[row] == Some(true),
            requests: requests[row],
        })
        .collect())
}

impl CellRow {
    /// Throughput and its half-width, `412.0 ±37.9`; `≥` before it where the
    /// generator was near its limit.
    pub fn rps(&self, estimator: Estimator) -> String {
        let point = match estimator {
            Estimator::Mean => self.rps_mean,
            Estimator::Median => self.rps_median.or(self.rps_mean),
        };
        let text = figure::with_half_width(point, self.rps_half_width, 1);
        if self.lower_bound && point.is_some() { format!("≥{text}") } else { text }
    }

    /// The 95th percentile of latency and its half-width, `0.022 ±0.000`.
    pub fn p95(&self, estimator: Estimator) -> String {
        let point = match estimator {
            Estimator::Mean => self.p95_mean,
            Estimator::Median => self.p95_median.or(self.p95_mean),
        };
        figure::with_half_width(point, self.p95_half_width, 3)
    }
}

/// What the estimator of a run is.
pub(super) fn estimator_of(run: &str, stamps: &[Stamp]) -> Estimator {
    let stamp = stamps.iter().find(|stamp| stamp.run == run);
    stamp.map(|stamp| stamp.rule.estimator).unwrap_or_default()
}

/// What has to be said of the signs in these cells.
pub(super) fn legend(rows: &[CellRow]) -> Vec<String> {
    let mut notes = Vec::new();
    if rows.iter().any(|row| row.lower_bound) {
        notes.push("≥: the generator was near its limit, the figure is a lower bound".to_owned());
    }
    match rows.iter().filter(|row| row.published).count() {
        0 => {}
        all if all == rows.len() => notes.push("figures: as published, not recomputed".to_owned()),
        some => {
            let cells = figure::counted(some, "cell");
            notes.push(format!("figures: {cells} as published, not recomputed"));
        }
    }
    notes
}

/// The page of the command `cells`: a table per run, tier and format, a row per
/// cell.
///
/// # Errors
/// If the view lacks a column.
pub fn cells_page(view: &View, stamps: &[Stamp]) -> Result<Page, ReportError> {
    let rows = read(view)?;
    let places: Vec<Place> = rows.iter().map(|row| row.place.clone()).collect();
    let mut page = Page::new();
    let mut run = None;
    for section in sections(&places) {
        if run.as_ref() != Some(&section.run) {
            page.heading(1, format!("run {}", section.run));
            run = Some(section.run.clone());
        }
        if let Some(heading) = &section.heading {
            page.heading(2, heading);
        }
        let members: Vec<&CellRow> = section.rows.iter().map(|&row| &rows[row]).collect();
        page.table(table(&members, estimator_of(&section.run, stamps)));
    }
    if rows.is_empty() {
        page.table(table(&[], Estimator::Mean));
    }
    let n: Vec<Option<i64>> = rows.iter().map(|row| row.n).collect();
    let mut notes = legend(&rows);
    notes.extend(footnotes(stamps, method_notes(stamps, &n)));
    page.notes(notes);
    Ok(page)
}

fn table(rows: &[&CellRow], estimator: Estimator) -> Grid {
    let columns = PlaceColumns::of(rows.iter().map(|row| &row.place));
    let mut header = columns.header();
    header.push(("target".to_owned(), Align::Left));
    for name in
        ["n", "rps", "median", "min", "max", "p95 (s)", "errors", "voided rungs", "requests"]
    {
        header.push((name.to_owned(), Align::Right));
    }
    let mut grid = Grid::new(header);
    for row in rows {
        let mut cells: Vec<Cell> = columns.cells(&row.place).into_iter().map(Cell::from).collect();
        let voided = if row.voided_rungs.unwrap_or(0) > 0 { Tone::Bad } else { Tone::Plain };
        cells.extend([
            row.target.as_str().into(),
            figure::whole(row.n).into(),
            row.rps(estimator).into(),
            figure::fixed(row.rps_median, 1).into(),
            figure::fixed(row.rps_min, 1).into(),
            figure::fixed(row.rps_max, 1).into(),
            row.p95(estimator).into(),
            figure::percent(row.error_fraction, 2).into(),
            Cell::toned(figure::whole(row.voided_rungs), voided),
            row.requests.map_or_else(|| super::MISSING.to_owned(), figure::thousands).into(),
        ]);
        grid.push(cells);
    }
    grid
}
