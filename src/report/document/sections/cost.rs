//! What a response costs the client.

use std::collections::BTreeMap;

use super::super::super::figure;
use super::super::super::grid::{Align, Cell, Grid, MISSING};
use super::super::super::{ReportError, fit_page};
use super::super::data::Data;
use super::super::model::Section;

const MIB: f64 = 1_048_576.0;

/// What a target's responses cost: per request, and per MiB.
type Costs = BTreeMap<String, (f64, f64)>;

pub(super) fn section(data: &Data) -> Result<Section, ReportError> {
    let mut section = Section::new("client-cost", "Client cost");
    if data.results.cells.iter().all(|cell| cell.published) {
        section.empty("A fit goes through rungs, and the run has none: it is a published table.");
        return Ok(section);
    }
    if !data.cost.is_empty() {
        section.page(fit_page(&data.cost, &[])?, true);
    }
    section.picture(data.figure("client-cost"));
    let costs = costs(data)?;
    if costs.is_empty() {
        section.empty("No target has three rungs with different sizes of responses and the CPU of the generator: nothing can be fitted.");
        return Ok(section);
    }
    if costs.len() > 1 {
        section.heading("against the least of them");
        section.table("Client cost against the least", against_least(&costs));
    }
    let grid = by_class(data, &costs)?;
    if !grid.is_empty() {
        section.heading("by class");
        section.table("What a response costs the client, by class", grid);
        section.notes(vec![
            "response: b × the mean size of the class's responses; request: a + that; by the fit, not measured class by class".to_owned(),
        ]);
    }
    Ok(section)
}

fn costs(data: &Data) -> Result<Costs, ReportError> {
    let targets = data.cost.names("target")?;
    let (a, b) = (data.cost.floats("a_s_per_request")?, data.cost.floats("b_s_per_mib")?);
    let rows = targets.into_iter().zip(a.into_iter().zip(b));
    Ok(rows.filter_map(|(target, (a, b))| Some((target, (a?, b?)))).collect())
}

/// Each cost over the smallest of all targets.
fn against_least(costs: &Costs) -> Grid {
    let least = |of: fn(&(f64, f64)) -> f64| costs.values().map(of).reduce(f64::min);
    let (least_a, least_b) = (least(|cost| cost.0), least(|cost| cost.1));
    let times = |value: f64, least: Option<f64>| match least {
        Some(least) if least > 0.0 => format!("×{:.1}", value / least),
        _ => MISSING.to_owned(),
    };
    let mut grid = Grid::new([
        ("target", Align::Left),
        ("a, per request", Align::Right),
        ("b, per MiB", Align::Right),
    ]);
    for (target, (a, b)) in costs {
        grid.push(vec![
            target.as_str().into(),
            times(*a, least_a).into(),
            times(*b, least_b).into(),
        ]);
    }
    grid
}

/// What a response of each class costs by the fit, target by target.
fn by_class(data: &Data, costs: &Costs) -> Result<Grid, ReportError> {
    let (classes, bytes) = (data.responses.names("query_class")?, data.responses.floats("bytes")?);
    let mut header =
        vec![("class".to_owned(), Align::Left), ("mean response (MiB)".to_owned(), Align::Right)];
    for target in costs.keys() {
        header.push((format!("{target} response (ms)"), Align::Right));
        header.push((format!("{target} request (ms)"), Align::Right));
    }
    let mut grid = Grid::new(header);
    for (index, target) in costs.keys().enumerate() {
        grid.group(2 + 2 * index..4 + 2 * index, target);
    }
    for (class, bytes) in classes.iter().zip(bytes) {
        let mib = bytes.map(|bytes| bytes / MIB);
        let mut cells: Vec<Cell> = vec![class.as_str().into(), figure::fixed(mib, 2).into()];
        for (a, b) in costs.values() {
            let of_response = mib.map(|mib| 1e3 * b * mib);
            let together = of_response.map(|of_response| 1e3 * a + of_response);
            cells.push(figure::fixed(of_response, 1).into());
            cells.push(figure::fixed(together, 1).into());
        }
        grid.push(cells);
    }
    Ok(grid)
}
