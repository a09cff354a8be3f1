//! The page of the command `tiers`: what each step to the next tier changed.

use std::collections::BTreeMap;

use super::grid::{Align, Cell, Facet, Grid, Tone};
use super::place::{Place, PlaceColumns};
use super::stamp::{Stamp, footnotes};
use super::{Long, Page, ReportError, View, widen};

/// What a step can change, in the order in which the summary counts it.
const CHANGES: [&str; 4] = ["higher", "tie", "lower", "void"];

/// A row of the view `tier_changes`.
#[derive(Debug, Clone)]
struct ChangeRow {
    place: Place,
    target: String,
    server: String,
    step: String,
    from_tier: String,
    to_tier: String,
    change: String,
    ratio: Option<f64>,
}

/// The page of the command `tiers`: a table per run, target and format, a row
/// per class and concurrency, a column per step; then how often each change was
/// seen.
///
/// # Errors
/// If the view lacks a column.
pub fn tiers_page(view: &View, stamps: &[Stamp]) -> Result<Page, ReportError> {
    let rows = read(view)?;
    let mut page = Page::new();
    let mut runs: Vec<&str> = Vec::new();
    for row in &rows {
        if !runs.contains(&&*row.place.run) {
            runs.push(&row.place.run);
        }
    }
    for run in runs {
        page.heading(1, format!("run {run}"));
        let of_run: Vec<&ChangeRow> = rows.iter().filter(|row| row.place.run == run).collect();
        let steps = in_order(of_run.iter().map(|row| row.step.clone()));
        let tables =
            in_order(of_run.iter().map(|row| (row.target.clone(), row.place.format.clone())));
        for (target, format) in tables {
            let members: Vec<&ChangeRow> = of_run
                .iter()
                .copied()
                .filter(|row| row.target == target && row.place.format == format)
                .collect();
            let mut grid = table(&members, &steps)?;
            grid.about(Facet::Target, &target);
            grid.of(None, &format);
            let title = if format == "-" { target } else { format!("{target}, {format}") };
            page.heading(2, title);
            page.table(grid);
        }
        page.heading(2, "all cells");
        page.table(summary(&of_run));
    }
    if rows.is_empty() {
        page.table(summary(&[]));
    }
    let mut notes = vec![
        "change: higher or lower where the intervals do not touch and the means are at least the tie floor apart; void where either cell has a voided rung; × is throughput over that of the tier before".to_owned(),
    ];
    notes.extend(footnotes(stamps, Vec::new()));
    page.notes(notes);
    Ok(page)
}

fn read(view: &View) -> Result<Vec<ChangeRow>, ReportError> {
    let places = Place::read_untiered(view)?;
    let (targets, servers) = (view.names("target")?, view.names("server")?);
    let (from, to) = (view.names("from_tier")?, view.names("to_tier")?);
    let (changes, ratios) = (view.names("change")?, view.floats("ratio")?);
    Ok(places
        .into_iter()
        .enumerate()
        .map(|(row, place)| ChangeRow {
            place,
            target: targets[row].clone(),
            server: servers[row].clone(),
            step: format!("{} → {}", from[row], to[row]),
            from_tier: from[row].clone(),
            to_tier: to[row].clone(),
            change: changes[row].clone(),
            ratio: ratios[row],
        })
        .collect())
}

/// What occurs, each once, in the order of its first appearance.
fn in_order<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

fn table(rows: &[&ChangeRow], steps: &[String]) -> Result<Grid, ReportError> {
    let columns = PlaceColumns::of(rows.iter().map(|row| &row.place));
    let mut header = columns.header();
    header.extend(steps.iter().map(|step| (step.clone(), Align::Left)));
    let long: Vec<Long> = rows
        .iter()
        .map(|row| Long {
            place: columns.cells(&row.place),
            group: row.step.clone(),
            values: vec![change_text(row)],
        })
        .collect();
    let mut grid = Grid::new(header);
    for mut cells in widen(columns.count(), 1, steps, &long)? {
        for cell in &mut cells[columns.count()..] {
            cell.tone = change_tone(cell.text.split(' ').next().unwrap_or_default());
        }
        grid.push(cells);
    }
    Ok(grid)
}

fn change_text(row: &ChangeRow) -> String {
    match row.ratio {
        Some(ratio) => format!("{} ×{ratio:.2}", row.change),
        None => row.change.clone(),
    }
}

/// The tone of a change; the word says it all the same.
pub(super) fn change_tone(change: &str) -> Tone {
    match change {
        "higher" => Tone::Good,
        "tie" => Tone::Even,
        "lower" | "void" => Tone::Bad,
        _ => Tone::Plain,
    }
}

/// How often each change was seen, by server and step.
fn summary(rows: &[&ChangeRow]) -> Grid {
    let mut header = vec![("server".to_owned(), Align::Left)];
    header.extend(["from", "to"].map(|name| (name.to_owned(), Align::Right)));
    header.extend(CHANGES.map(|name| (name.to_owned(), Align::Right)));
    type Step<'a> = (&'a str, &'a str, &'a str);
    let mut counts: Vec<(Step<'_>, BTreeMap<&str, usize>)> = Vec::new();
    for row in rows {
        let key = (&*row.server, &*row.from_tier, &*row.to_tier);
        let index = counts.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            counts.push((key, BTreeMap::new()));
            counts.len() - 1
        });
        *counts[index].1.entry(&row.change).or_default() += 1;
    }
    let mut grid = Grid::new(header);
    for ((server, from, to), counts) in counts {
        let mut cells: Vec<Cell> = [server, from, to].map(Cell::from).into();
        let count = |change| counts.get(change).copied().unwrap_or(0).to_string();
        cells.extend(CHANGES.map(|change| Cell::from(count(change))));
        grid.push(cells);
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{NO_EXTRA, stamp, view};
    use crate::report::{Format, Style};

    #[test]
    fn a_column_per_step_and_the_counts_below() {
        let view = view(
            "tier_changes",
            "run target server response_format query_class concurrency:i from_tier to_tier change ratio:f
             one a-x a csv Q01 8  8  16 higher 1.94
             one a-x a csv Q01 32 8  16 tie    1.02
             one a-x a csv Q01 8  16 24 void   0.9
             one b-x b csv Q01 8  8  16 lower  _",
            NO_EXTRA,
        );
        let page = tiers_page(&view, &[stamp("one")]).unwrap();
        let text = page.render(Format::Markdown, Style::default());
        let expected = "\
## run one

### a-x, csv

| class |   c | 8 → 16       | 16 → 24    |
| ----- | --: | ------------ | ---------- |
| Q01   |   8 | higher ×1.94 | void ×0.90 |
| Q01   |  32 | tie ×1.02    | —          |

### b-x, csv

| class |   c | 8 → 16 | 16 → 24 |
| ----- | --: | ------ | ------- |
| Q01   |   8 | lower  | —       |

### all cells

| server | from |  to | higher | tie | lower | void |
| ------ | ---: | --: | -----: | --: | ----: | ---: |
| a      |    8 |  16 |      1 |   1 |     0 |    0 |
| a      |   16 |  24 |      0 |   0 |     0 |    1 |
| b      |    8 |  16 |      0 |   0 |     1 |    0 |

Notes:

- change: ";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn steps_are_coloured_by_their_word() {
        assert_eq!(change_tone("higher"), Tone::Good);
        assert_eq!(change_tone("void"), Tone::Bad);
        assert_eq!(change_tone("—"), Tone::Plain);
    }
}
