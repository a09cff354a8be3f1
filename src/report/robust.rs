//! The page of `verdicts --robust`: what other rules would have said.

use super::grid::{Align, Grid, MISSING};
use super::place::{Place, PlaceColumns, sections};
use super::stamp::{Stamp, footnotes};
use super::{Page, ReportError, View, figure};

/// The page of `verdicts --robust`: a table per run, tier and format, a row per
/// class and concurrency.
///
/// # Errors
/// If the view lacks a column.
pub fn robust_page(view: &View, stamps: &[Stamp]) -> Result<Page, ReportError> {
    let places = Place::read(view)?;
    let rows = Rows::read(view)?;
    let mut page = Page::new();
    let sections = sections(&places);
    for (index, section) in sections.iter().enumerate() {
        if index == 0 || sections[index - 1].run != section.run {
            page.heading(1, format!("run {}", section.run));
        }
        if let Some(heading) = &section.heading {
            page.heading(2, heading);
        }
        let columns = PlaceColumns::of(section.rows.iter().map(|&row| &places[row]));
        let mut grid = header(&columns);
        grid.of(section.tier.as_deref(), &section.format);
        for &row in &section.rows {
            let mut cells: Vec<super::Cell> =
                columns.cells(&places[row]).into_iter().map(Into::into).collect();
            cells.extend(rows.cells(row).into_iter().map(Into::into));
            grid.push(cells);
        }
        page.table(grid);
        if sections.get(index + 1).is_none_or(|next| next.run != section.run) {
            let of_run = (0..view.len()).filter(|&row| places[row].run == section.run);
            page.text(rows.summary(of_run));
        }
    }
    if view.is_empty() {
        page.table(header(&PlaceColumns::of(std::iter::empty())));
    }
    let mut notes = vec![
        "the verdict is the registered one; what stands beside it changes nothing".to_owned(),
        "would change: with a tie floor of 5% or 20%, with medians, by Welch's t-test on log throughput and the tie floor (p after Holm's correction over the run's comparisons), or without one of the repetitions; what needs the rungs is not tried on a published table".to_owned(),
        "detectable: smallest true difference that Welch's test, uncorrected and without the tie floor, would find with a power of 80% if the spread were just the measured one (sum of two t quantiles in place of the noncentral t)".to_owned(),
        "tie: shown where the 90% interval of the ratio of the two fastest lies within ±10% (two one-sided tests), else not decided".to_owned(),
    ];
    notes.extend(footnotes(stamps, Vec::new()));
    page.notes(notes);
    Ok(page)
}

fn header(columns: &PlaceColumns) -> Grid {
    let mut header = columns.header();
    let own = [
        ("verdict", Align::Left),
        ("robust", Align::Left),
        ("would change", Align::Left),
        ("Welch p", Align::Right),
        ("detectable", Align::Right),
        ("90% interval of the ratio", Align::Right),
        ("tie", Align::Left),
    ];
    header.extend(own.map(|(name, align)| (name.to_owned(), align)));
    Grid::new(header)
}

/// The columns of the view `verdict_robustness`.
struct Rows {
    verdict: Vec<Option<String>>,
    robust: Vec<Option<bool>>,
    /// What each other rule says, by its name.
    others: Vec<(&'static str, Vec<Option<String>>)>,
    without_one: Vec<Option<String>>,
    p: Vec<Option<f64>>,
    detectable: Vec<Option<f64>>,
    low: Vec<Option<f64>>,
    high: Vec<Option<f64>>,
    tie: Vec<Option<String>>,
}

impl Rows {
    fn read(view: &View) -> Result<Self, ReportError> {
        Ok(Self {
            verdict: view.texts("verdict")?,
            robust: view.flags("robust")?,
            others: vec![
                ("floor 5%", view.texts("tie_floor_5")?),
                ("floor 20%", view.texts("tie_floor_20")?),
                ("medians", view.texts("medians")?),
                ("Welch", view.texts("welch")?),
            ],
            without_one: view.texts("without_one")?,
            p: view.floats("welch_p")?,
            detectable: view.floats("detectable")?,
            low: view.floats("ratio_low")?,
            high: view.floats("ratio_high")?,
            tie: view.texts("tie")?,
        })
    }

    fn cells(&self, row: usize) -> Vec<String> {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| MISSING.to_owned());
        let robust = match self.robust[row] {
            Some(true) => "yes",
            Some(false) => "no",
            None => MISSING,
        };
        let interval = match (self.low[row], self.high[row]) {
            (Some(low), Some(high)) => format!("{low:.3} … {high:.3}"),
            _ => MISSING.to_owned(),
        };
        vec![
            text(&self.verdict[row]),
            robust.to_owned(),
            self.changes(row),
            self.p[row].map_or_else(|| MISSING.to_owned(), probability),
            self.detectable[row]
                .map_or_else(|| MISSING.to_owned(), |share| format!("{:.1}%", 100.0 * share)),
            interval,
            text(&self.tie[row]),
        ]
    }

    /// Which other rules say something else, and what.
    fn changes(&self, row: usize) -> String {
        let mut changes: Vec<String> = self
            .others
            .iter()
            .filter(|(_, verdicts)| verdicts[row].is_some() && verdicts[row] != self.verdict[row])
            .filter_map(|(rule, verdicts)| Some(format!("{rule}: {}", verdicts[row].as_ref()?)))
            .collect();
        if let Some(repetitions) = &self.without_one[row] {
            changes.push(format!("without {repetitions}"));
        }
        if changes.is_empty() { MISSING.to_owned() } else { changes.join("; ") }
    }

    /// How many verdicts are robust, and how many ties are shown.
    fn summary(&self, rows: impl Iterator<Item = usize>) -> String {
        let rows: Vec<usize> = rows.collect();
        let robust = rows.iter().filter(|&&row| self.robust[row] == Some(true)).count();
        let is = |text: &Option<String>, word: &str| text.as_deref() == Some(word);
        let ties = rows.iter().filter(|&&row| is(&self.verdict[row], "tie")).count();
        let shown = rows.iter().filter(|&&row| is(&self.tie[row], "shown")).count();
        format!(
            "{}: {robust} robust; {}, {shown} of them shown",
            figure::counted(rows.len(), "comparison"),
            figure::counted(ties, "tie")
        )
    }
}

/// A p: to two digits, in powers of ten where it is small.
fn probability(p: f64) -> String {
    if p < 0.001 { format!("{p:.1e}") } else { format!("{p:.3}") }
}
