//! What a response costs the client.

use std::collections::BTreeMap;

use serde_json::Value;

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
    if let Some(limit) = Limit::of(data)? {
        limit.describe(&mut section, data)?;
    }
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

/// What one worker of the generator spends by itself, in seconds of its CPU, as it
/// was calibrated beside the run.
struct Limit {
    protocol: String,
    per_request: f64,
    per_mib: f64,
}

impl Limit {
    fn of(data: &Data) -> Result<Option<Self>, ReportError> {
        let (kinds, details) = (data.events.names("kind")?, data.events.names("detail")?);
        let found = kinds.iter().zip(details).filter(|(kind, _)| *kind == "calibration");
        let read = |detail: String| {
            let detail: Value = serde_json::from_str(&detail).ok()?;
            Some(Self {
                protocol: detail["protocol"].as_str()?.to_owned(),
                per_request: detail["a_s_per_request"].as_f64()?,
                per_mib: detail["b_s_per_mib"].as_f64()?,
            })
        };
        Ok(found.rev().find_map(|(_, detail)| read(detail)))
    }

    /// How much of a worker's time a rung's responses should have taken.
    fn share(&self, rps: f64, bytes: f64, workers: f64) -> f64 {
        rps * (self.per_request + self.per_mib * bytes / MIB) / workers
    }

    /// How far the rungs of each target were from it.
    fn describe(&self, section: &mut Section, data: &Data) -> Result<(), ReportError> {
        let view = &data.loads;
        let (targets, rungs) = (view.names("target")?, view.names("rung")?);
        let (rps, bytes) = (view.floats("rps")?, view.floats("mean_response_bytes")?);
        let workers = view.ints("generator_workers")?;
        let mut shares: BTreeMap<&str, Vec<(f64, &str)>> = BTreeMap::new();
        for row in 0..view.len() {
            let (Some(rps), Some(bytes), Some(workers)) = (rps[row], bytes[row], workers[row])
            else {
                continue;
            };
            let share = self.share(rps, bytes, workers as f64);
            shares.entry(&targets[row]).or_default().push((share, &rungs[row]));
        }
        let mut grid = Grid::new([
            ("target", Align::Left),
            ("rungs", Align::Right),
            ("median (%)", Align::Right),
            ("nearest (%)", Align::Right),
            ("in rung", Align::Left),
        ]);
        for (target, mut of_target) in shares {
            of_target.sort_by(|a, b| a.0.total_cmp(&b.0));
            let median = of_target[of_target.len() / 2].0;
            let Some((nearest, rung)) = of_target.last() else { continue };
            let percent = |share: f64| figure::fixed(Some(100.0 * share), 1);
            grid.push(vec![
                target.into(),
                of_target.len().to_string().into(),
                percent(median).into(),
                percent(*nearest).into(),
                (*rung).into(),
            ]);
        }
        section.heading("how near the generator's limit");
        section.text(format!(
            "Calibrated over {} beside this run, a worker of the generator spends {:.1} µs of CPU for each request and {:.3} ms for each MiB.",
            self.protocol,
            1e6 * self.per_request,
            1e3 * self.per_mib
        ));
        if !grid.is_empty() {
            section.table("How near the generator's limit", grid);
            section.notes(vec![
                "share: what the rung's responses cost by the calibration, as a part of the time of its workers; at 100% the generator, not the target, sets the rate".to_owned(),
            ]);
        }
        Ok(())
    }
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
