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
    section.page(fit_page(&data.cost, &[])?, true);
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
            "per request is a, for the response b × its mean size, of the fit above; not measured class by class".to_owned(),
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

fn by_class(data: &Data, costs: &Costs) -> Result<Grid, ReportError> {
    let view = &data.responses;
    let (targets, classes) = (view.names("target")?, view.names("query_class")?);
    let (formats, bytes) = (view.names("response_format")?, view.floats("bytes")?);
    let mut grid = Grid::new([
        ("class", Align::Left),
        ("format", Align::Left),
        ("target", Align::Left),
        ("mean response (MiB)", Align::Right),
        ("per request (ms)", Align::Right),
        ("for the response (ms)", Align::Right),
        ("together (ms)", Align::Right),
    ]);
    for row in 0..view.len() {
        let Some((a, b)) = costs.get(&targets[row]) else { continue };
        let mib = bytes[row].map(|bytes| bytes / MIB);
        let of_response = mib.map(|mib| 1e3 * b * mib);
        let mut cells: Vec<Cell> =
            [&classes[row], &formats[row], &targets[row]].map(|text| text.as_str().into()).into();
        cells.extend([
            Cell::from(figure::fixed(mib, 3)),
            figure::fixed(Some(1e3 * a), 2).into(),
            figure::fixed(of_response, 2).into(),
            figure::fixed(of_response.map(|of_response| 1e3 * a + of_response), 2).into(),
        ]);
        grid.push(cells);
    }
    Ok(grid)
}
