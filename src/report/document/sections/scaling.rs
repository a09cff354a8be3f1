//! What more hardware changed: throughput, cores and CPU time by tier.

use super::super::super::cells::CellRow;
use super::super::super::figure;
use super::super::super::grid::{Align, Cell, Grid, MISSING};
use super::super::super::resources::ResourceRow;
use super::super::super::{ReportError, tiers_page};
use super::super::data::Data;
use super::super::model::Section;

const MIX: &str = "mix";

/// Nothing for a run with fewer than two tiers.
pub(super) fn section(data: &Data) -> Result<Option<Section>, ReportError> {
    let tiers = &data.manifest.contents.tiers;
    if tiers.len() < 2 {
        return Ok(None);
    }
    let mut section = Section::new("tiers", "From tier to tier");
    let is_mix = data.results.cells.iter().any(|cell| cell.place.class == MIX);
    let cells: Vec<&CellRow> =
        data.results.cells.iter().filter(|cell| !is_mix || cell.place.class == MIX).collect();
    let title = if is_mix {
        "throughput, cores used and CPU time per request by tier (mix)"
    } else {
        "throughput, cores used and CPU time per request by tier"
    };
    section.heading(title);
    section.table(title, table(data, &cells, tiers));
    section.notes(vec![
        "each cell: requests per second · CPU cores used · CPU time per request; × is throughput at the last tier over that at the first; void: a rung of either was voided".to_owned(),
    ]);
    section.page(tiers_page(&data.tier_changes, &[])?, true);
    Ok(Some(section))
}

fn table(data: &Data, cells: &[&CellRow], tiers: &[String]) -> Grid {
    let (first, last) = (&tiers[0], &tiers[tiers.len() - 1]);
    let mut header = vec![
        ("class".to_owned(), Align::Left),
        ("format".to_owned(), Align::Left),
        ("c".to_owned(), Align::Right),
        ("target".to_owned(), Align::Left),
    ];
    header.extend(tiers.iter().map(|tier| (format!("tier {tier}"), Align::Right)));
    header.push((format!("{first} → {last}"), Align::Right));
    let mut grid = Grid::new(header);
    let mut rows: Vec<(&CellRow, Vec<Option<&CellRow>>)> = Vec::new();
    for (index, tier) in tiers.iter().enumerate() {
        for cell in cells.iter().filter(|cell| cell.place.tier.as_ref() == Some(tier)) {
            let same = |(known, _): &&mut (&CellRow, _)| same_but_tier(known, cell);
            if let Some((_, of_tiers)) = rows.iter_mut().find(same) {
                of_tiers[index] = Some(cell);
            } else {
                let mut of_tiers = vec![None; tiers.len()];
                of_tiers[index] = Some(*cell);
                rows.push((cell, of_tiers));
            }
        }
    }
    for (cell, of_tiers) in rows {
        let place = &cell.place;
        let mut row: Vec<Cell> = [&place.class, &place.format, &place.concurrency, &cell.target]
            .map(|text| text.as_str().into())
            .into();
        row.extend(of_tiers.iter().map(|cell| Cell::from(of_tier(data, *cell))));
        let ends = of_tiers.first().copied().flatten().zip(of_tiers.last().copied().flatten());
        row.push(ends.map_or_else(|| MISSING.to_owned(), |(a, b)| ratio(a, b)).into());
        grid.push(row);
    }
    grid
}

fn same_but_tier(a: &CellRow, b: &CellRow) -> bool {
    let place = |cell: &CellRow| {
        let mut place = cell.place.clone();
        place.tier = None;
        place
    };
    a.target == b.target && place(a) == place(b)
}

/// `167.3 · 1.74 · 10.4 ms`.
fn of_tier(data: &Data, cell: Option<&CellRow>) -> String {
    let Some(cell) = cell else { return MISSING.to_owned() };
    let used = |row: &&ResourceRow| row.place == cell.place && row.target == cell.target;
    let rps = figure::fixed(cell.rps_mean, 1);
    let bound = if cell.lower_bound { "≥" } else { "" };
    match data.resources.iter().find(used) {
        Some(used) => format!(
            "{bound}{rps} rps · {} cores · {}/req",
            figure::fixed(used.cpu_cores, 2),
            figure::milliseconds(used.cpu_s_per_request)
        ),
        None => format!("{bound}{rps} rps"),
    }
}

fn ratio(first: &CellRow, last: &CellRow) -> String {
    if [first, last].iter().any(|cell| cell.voided_rungs.unwrap_or(0) > 0) {
        return "void".to_owned();
    }
    match (first.rps_mean, last.rps_mean) {
        (Some(first), Some(last)) if first > 0.0 => format!("×{:.2}", last / first),
        _ => MISSING.to_owned(),
    }
}
