//! How long responses took: more of the curve than its 95th percentile.

use super::super::super::ReportError;
use super::super::super::figure::{counted, thousands};
use super::super::super::grid::{Align, Grid, MISSING};
use super::super::super::place::{Place, PlaceColumns, sections};
use super::super::data::Data;
use super::super::model::Section;

/// The columns of the view, and what a table calls them.
const FIGURES: [(&str, &str); 7] = [
    ("latency_mean_s", "mean"),
    ("latency_p50_s", "p50"),
    ("latency_p90_s", "p90"),
    ("latency_p95_s", "p95"),
    ("latency_p99_s", "p99"),
    ("latency_p999_s", "p99.9"),
    ("latency_max_s", "max"),
];

pub(super) fn section(data: &Data) -> Result<Section, ReportError> {
    let mut section = Section::new("latency", "How long responses took");
    let view = &data.latency;
    if view.is_empty() {
        section.empty(
            "The store has no single request of a rung that is not voided: of response times \
             only what was recorded of each rung is known.",
        );
        return Ok(section);
    }
    let places = Place::read(view)?;
    let (targets, counts) = (view.names("target")?, view.ints("n")?);
    let figures =
        FIGURES.iter().map(|(column, _)| view.floats(column)).collect::<Result<Vec<_>, _>>()?;
    let mut has_unknown = false;
    for part in sections(&places) {
        let columns = PlaceColumns::of(part.rows.iter().map(|&row| &places[row]));
        let mut header = columns.header();
        header.push(("target".to_owned(), Align::Left));
        header.push(("n".to_owned(), Align::Right));
        header.extend(FIGURES.map(|(_, name)| (format!("{name} (ms)"), Align::Right)));
        let mut grid = Grid::new(header);
        grid.of(part.tier.as_deref(), &part.format);
        for &row in &part.rows {
            let mut cells: Vec<_> =
                columns.cells(&places[row]).into_iter().map(Into::into).collect();
            cells.push(targets[row].as_str().into());
            cells.push(counts[row].map_or_else(|| MISSING.to_owned(), thousands).into());
            for figure in &figures {
                let seconds = figure[row];
                has_unknown |= seconds.is_none();
                let text = seconds.map_or_else(|| MISSING.to_owned(), |s| four_digits(1e3 * s));
                cells.push(text.into());
            }
            grid.push(cells);
        }
        let title = part.heading.unwrap_or_else(|| "all requests".to_owned());
        section.heading(title.as_str());
        section.table(format!("Response times, {title}"), grid);
    }
    let rungs: i64 = view.ints("rungs")?.into_iter().flatten().sum();
    let rungs = counted(usize::try_from(rungs).unwrap_or(0), "rung");
    let mut notes = vec![format!(
        "of the requests that succeeded, the repetitions of a cell taken together; {rungs} that are not voided; n: requests; percentiles of type 7"
    )];
    if has_unknown {
        notes.push(format!("{MISSING}: fewer than ten requests lie beyond it"));
    }
    section.notes(notes);
    Ok(section)
}

/// Milliseconds to a microsecond below ten of them, and less finely above.
fn four_digits(ms: f64) -> String {
    let decimals = match ms {
        ..10.0 => 3,
        ..100.0 => 2,
        _ => 1,
    };
    format!("{ms:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_have_four_digits_or_so() {
        for (ms, text) in
            [(0.0624, "0.062"), (9.9994, "9.999"), (47.857, "47.86"), (3039.04, "3039.0")]
        {
            assert_eq!(four_digits(ms), text);
        }
    }
}
