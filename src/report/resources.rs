//! The page of the command `resources`: what the targets used.

use std::collections::BTreeMap;

use super::grid::{Align, Facet, Grid};
use super::place::{Place, PlaceColumns, Section, heading, sections};
use super::stamp::{Stamp, footnotes, repetition_note};
use super::{Long, Page, ReportError, View, figure, widen};

/// The class whose throughput is set against the cores it took.
const MIX: &str = "mix";

/// A row of the view `resource_cells`.
#[derive(Debug, Clone)]
pub(super) struct ResourceRow {
    pub place: Place,
    pub target: String,
    pub n: Option<i64>,
    pub rps: Option<f64>,
    pub cpu_cores: Option<f64>,
    rps_per_core: Option<f64>,
    pub cpu_s_per_request: Option<f64>,
    mem_mean_bytes: Option<f64>,
    mem_peak_bytes: Option<f64>,
    api_workers: Option<i64>,
}

/// The page of the command `resources`: a table per run, tier and format, a row
/// per class and concurrency, four columns per target; then, for the mix,
/// throughput against cores used.
///
/// `targets` has the targets of each run that are to be shown.
///
/// # Errors
/// If the view lacks a column.
pub fn resources_page(
    view: &View,
    targets: &BTreeMap<String, Vec<String>>,
    stamps: &[Stamp],
) -> Result<Page, ReportError> {
    let rows = read(view)?;
    let tables = tables(&rows, targets)?;
    let sections: Vec<Section> = tables.iter().map(|(section, _)| section.clone()).collect();
    let mut page = Page::new();
    for (index, (section, grid)) in tables.into_iter().enumerate() {
        if index == 0 || sections[index - 1].run != section.run {
            page.heading(1, format!("run {}", section.run));
        }
        let title = section.heading.as_ref().map(|heading| format!(", {heading}"));
        page.heading(2, format!("resources{}", title.unwrap_or_default()));
        page.table(grid);
        if sections.get(index + 1).is_none_or(|next| next.run != section.run) {
            for (tier, grid) in mix(&rows, &section.run) {
                let title = heading(tier.as_deref(), "-").map(|tier| format!(", {tier}"));
                page.heading(2, format!("{MIX_TITLE}{}", title.unwrap_or_default()));
                page.table(grid);
            }
        }
    }
    if rows.is_empty() {
        page.table(table(&[], &[])?);
    }
    let n: Vec<Option<i64>> = rows.iter().map(|row| row.n).collect();
    let mut notes = vec![FIGURES.to_owned()];
    notes.extend(footnotes(stamps, repetition_note(&n).into_iter().collect()));
    page.notes(notes);
    Ok(page)
}

/// What the figures are, for footnotes.
pub(super) const FIGURES: &str =
    "figures: the mean over the repetitions with resources; mem peak is the peak of their peaks";

/// What stands over the table of the mix.
pub(super) const MIX_TITLE: &str = "throughput vs CPU cores used (mix)";

/// The table of each run, tier and format, a row per class and concurrency.
pub(super) fn tables(
    rows: &[ResourceRow],
    targets: &BTreeMap<String, Vec<String>>,
) -> Result<Vec<(Section, Grid)>, ReportError> {
    let places: Vec<Place> = rows.iter().map(|row| row.place.clone()).collect();
    let tables = sections(&places).into_iter().map(|section| {
        let shown = targets.get(&section.run).map_or(&[][..], Vec::as_slice);
        let members: Vec<&ResourceRow> = section.rows.iter().map(|&row| &rows[row]).collect();
        let mut grid = table(&members, shown)?;
        grid.of(section.tier.as_deref(), &section.format);
        Ok((section, grid))
    });
    tables.collect()
}

pub(super) fn read(view: &View) -> Result<Vec<ResourceRow>, ReportError> {
    let places = Place::read(view)?;
    let targets = view.names("target")?;
    let (n, api_workers) = (view.ints("n")?, view.ints("api_workers")?);
    let (rps, cpu_cores) = (view.floats("rps")?, view.floats("cpu_cores")?);
    let rps_per_core = view.floats("rps_per_core")?;
    let cpu_s_per_request = view.floats("cpu_s_per_request")?;
    let (mem_mean, mem_peak) = (view.floats("mem_mean_bytes")?, view.floats("mem_peak_bytes")?);
    Ok(places
        .into_iter()
        .enumerate()
        .map(|(row, place)| ResourceRow {
            place,
            target: targets[row].clone(),
            n: n[row],
            rps: rps[row],
            cpu_cores: cpu_cores[row],
            rps_per_core: rps_per_core[row],
            cpu_s_per_request: cpu_s_per_request[row],
            mem_mean_bytes: mem_mean[row],
            mem_peak_bytes: mem_peak[row],
            api_workers: api_workers[row],
        })
        .collect())
}

fn table(rows: &[&ResourceRow], targets: &[String]) -> Result<Grid, ReportError> {
    let columns = PlaceColumns::of(rows.iter().map(|row| &row.place));
    let mut header = columns.header();
    for target in targets {
        header.push((format!("{target} cores"), Align::Right));
        for name in ["CPU s/req", "mem mean GiB", "mem peak GiB"] {
            header.push((name.to_owned(), Align::Right));
        }
    }
    let long: Vec<Long> = rows
        .iter()
        .map(|row| Long {
            place: columns.cells(&row.place),
            group: row.target.clone(),
            values: vec![
                figure::fixed(row.cpu_cores, 2),
                figure::milliseconds(row.cpu_s_per_request),
                figure::gib(row.mem_mean_bytes),
                figure::gib(row.mem_peak_bytes),
            ],
        })
        .collect();
    let mut grid = Grid::new(header);
    for (index, target) in targets.iter().enumerate() {
        let first = columns.count() + 4 * index;
        grid.group(first..first + 4, target);
    }
    for cells in widen(columns.count(), 4, targets, &long)? {
        grid.push(cells);
    }
    Ok(grid)
}

/// Throughput against the cores used, tier by tier; nothing in a run without
/// the mix.
pub(super) fn mix(rows: &[ResourceRow], run: &str) -> Vec<(Option<String>, Grid)> {
    let mut tiers: Vec<(Option<&str>, Vec<&ResourceRow>)> = Vec::new();
    for row in rows.iter().filter(|row| row.place.run == run && row.place.class == MIX) {
        let tier = row.place.tier.as_deref();
        match tiers.iter_mut().find(|(known, _)| *known == tier) {
            Some((_, members)) => members.push(row),
            None => tiers.push((tier, vec![row])),
        }
    }
    let tables = tiers.into_iter().map(|(tier, members)| {
        let mut grid = mix_table(&members);
        grid.of(tier, "-");
        grid.about(Facet::Class, MIX);
        (tier.map(str::to_owned), grid)
    });
    tables.collect()
}

fn mix_table(rows: &[&ResourceRow]) -> Grid {
    let columns = PlaceColumns::of(rows.iter().map(|row| &row.place));
    // The class is the same in every row: the format stands in its place.
    let mut header = columns.header();
    header[0].0 = "format".to_owned();
    header.push(("target".to_owned(), Align::Left));
    for name in ["API workers", "rps", "cores", "rps per core", "CPU ms/req"] {
        header.push((name.to_owned(), Align::Right));
    }
    let mut grid = Grid::new(header);
    for row in rows {
        let mut cells = columns.cells(&row.place);
        cells[0].clone_from(&row.place.format);
        cells.extend([
            row.target.clone(),
            figure::whole(row.api_workers),
            figure::fixed(row.rps, 1),
            figure::fixed(row.cpu_cores, 2),
            figure::fixed(row.rps_per_core, 1),
            figure::fixed(row.cpu_s_per_request.map(|seconds| 1e3 * seconds), 1),
        ]);
        grid.push(cells.into_iter().map(Into::into).collect());
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{NO_EXTRA, stamp, view};
    use crate::report::{Format, Style};

    const COLUMNS: &str = "run tier response_format query_class concurrency:i target n:i rps:f \
         cpu_cores:f rps_per_core:f cpu_s_per_request:f mem_mean_bytes:f mem_peak_bytes:f \
         api_workers:i";

    fn page(rows: &str, targets: &[&str]) -> String {
        let view = view("resource_cells", &format!("{COLUMNS}\n{rows}"), NO_EXTRA);
        let names = targets.iter().map(|&name| name.to_owned()).collect();
        let targets = BTreeMap::from([("one".to_owned(), names)]);
        let page = resources_page(&view, &targets, &[stamp("one")]).unwrap();
        page.render(Format::Markdown, Style::default())
    }

    #[test]
    fn a_group_of_columns_per_target_and_the_mix_below() {
        let text = page(
            "one 8 csv Q01 8 argus 3 412 3.70 111 0.00904 2566286377 2770248335 _
             one 8 csv mix 8 argus 3 23.9 7.56 3.16 0.3177 _ _ _
             one 8 csv mix 8 egernia 3 183.0 1.80 101.8 0.0098 _ _ 1",
            &["argus", "egernia"],
        );
        let expected = "\
## run one

### resources, tier 8, csv

| class |   c | argus cores | CPU s/req | mem mean GiB | mem peak GiB | egernia cores | CPU s/req | mem mean GiB | mem peak GiB |
| ----- | --: | ----------: | --------: | -----------: | -----------: | ------------: | --------: | -----------: | -----------: |
| Q01   |   8 |        3.70 |    9.0 ms |         2.39 |         2.58 |             — |         — |            — |            — |
| mix   |   8 |        7.56 |  317.7 ms |            — |            — |          1.80 |    9.8 ms |            — |            — |

### throughput vs CPU cores used (mix), tier 8

| format |   c | target  | API workers |   rps | cores | rps per core | CPU ms/req |
| ------ | --: | ------- | ----------: | ----: | ----: | -----------: | ---------: |
| csv    |   8 | argus   |           — |  23.9 |  7.56 |          3.2 |      317.7 |
| csv    |   8 | egernia |           1 | 183.0 |  1.80 |        101.8 |        9.8 |
";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains("- n: 3 repetitions in every cell\n"), "{text}");
        assert!(!text.contains("method"), "{text}");
    }

    #[test]
    fn nothing_gives_a_header() {
        assert!(page("", &[]).starts_with("| class |   c |\n"), "{}", page("", &[]));
    }
}
