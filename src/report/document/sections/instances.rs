//! Instances of one server, and an autoscaler: what more of it gave.

use std::collections::{BTreeMap, BTreeSet};

use super::super::super::figure;
use super::super::super::grid::{Align, Cell, Grid, MISSING};
use super::super::super::page::Page;
use super::super::super::{
    ReportError, View, bursts_page, classify_page, scaling_page, sweep_page,
};
use super::super::data::Data;
use super::super::model::Section;

/// Nothing for a run that has nothing of the kind.
pub(super) fn section(data: &Data) -> Result<Option<Section>, ReportError> {
    let views = [&data.scaling, &data.sweep, &data.bursts];
    if views.iter().all(|view| view.is_empty()) {
        return Ok(None);
    }
    let mut section = Section::new("instances", "Instances and autoscaling");
    let scaling = Scaling::read(&data.scaling)?;
    section.list(in_short(data, &scaling)?);
    if let Some(grid) = scaling.wide() {
        section.heading("a row per scenario");
        section.table("N instances against one, a row per scenario", grid);
        section.notes(vec![
            "N inst: median requests per second of N instances with one event loop each; eff: that over N times one instance; vs 1×N: that over one instance with N event loops".to_owned(),
        ]);
    }
    let mut part = |title: &str, page: Page, has: bool, why: &str, figure: Option<&str>| {
        section.heading(title);
        if has {
            section.page(page, true);
            if let Some(figure) = figure {
                section.picture(data.figure(figure));
            }
        } else {
            section.empty(why);
        }
    };
    part(
        "N instances against one",
        scaling_page(&data.scaling, &[])?,
        !data.scaling.is_empty(),
        "No scenario was measured with different numbers of instances.",
        Some("instance-scaling"),
    );
    part(
        "what bounds each scenario",
        classify_page(&data.classes, &[])?,
        !data.classes.is_empty(),
        "Without different numbers of instances there is nothing to tell it by.",
        None,
    );
    part(
        "sweep over connections",
        sweep_page(&data.sweep, &[])?,
        !data.sweep.is_empty(),
        "No path was swept over connections.",
        Some("sweep"),
    );
    part(
        "bursts from idle",
        bursts_page(&data.bursts, &[])?,
        !data.bursts.is_empty(),
        "No bursts were measured.",
        None,
    );
    Ok(Some(section))
}

/// The range of efficiencies at the largest number of instances, in a line.
pub(super) fn most(data: &Data) -> Result<Option<String>, ReportError> {
    let scaling = Scaling::read(&data.scaling)?;
    let most = scaling.rows.iter().map(|step| step.instances).max().unwrap_or(0);
    let at = || scaling.rows.iter().filter(|step| step.instances == most);
    let best =
        at().filter_map(|step| Some((step.efficiency?, step))).max_by(|a, b| a.0.total_cmp(&b.0));
    let worst =
        at().filter_map(|step| Some((step.efficiency?, step))).min_by(|a, b| a.0.total_cmp(&b.0));
    Ok(best.zip(worst).filter(|_| most > 1).map(|((best, well), (worst, badly))| {
        format!(
            "{most} instances against one: efficiency {worst:.2} ({}) to {best:.2} ({})",
            badly.class, well.class
        )
    }))
}

/// Throughputs of numbers of instances, scenario by scenario.
struct Scaling {
    rows: Vec<Step>,
}

/// A scenario at a number of instances.
struct Step {
    target: String,
    class: String,
    concurrency: i64,
    instances: i64,
    loops: Option<i64>,
    rps: Option<f64>,
    efficiency: Option<f64>,
    vs_loops: Option<f64>,
}

impl Step {
    /// Whether each instance has one event loop, as far as is known.
    fn is_single(&self) -> bool {
        self.loops.is_none_or(|loops| loops == 1)
    }
}

impl Scaling {
    fn read(view: &View) -> Result<Self, ReportError> {
        let (targets, classes) = (view.names("target")?, view.names("query_class")?);
        let (connections, instances) = (view.ints("concurrency")?, view.ints("instances")?);
        let (loops, rps) = (view.ints("loops")?, view.floats("rps_median")?);
        let (efficiency, vs_loops) = (view.floats("efficiency")?, view.floats("vs_loops")?);
        let rows = (0..view.len()).map(|row| Step {
            target: targets[row].clone(),
            class: classes[row].clone(),
            concurrency: connections[row].unwrap_or(0),
            instances: instances[row].unwrap_or(0),
            loops: loops[row],
            rps: rps[row],
            efficiency: efficiency[row],
            vs_loops: vs_loops[row],
        });
        Ok(Self { rows: rows.filter(Step::is_single).collect() })
    }

    /// The published layout: a row per scenario and connections, three columns
    /// per number of instances above one. Nothing where tiers, formats or the
    /// like would make two rows one.
    fn wide(&self) -> Option<Grid> {
        let numbers: BTreeSet<i64> = self.rows.iter().map(|step| step.instances).collect();
        let mut places: Vec<(&str, &str, i64)> = Vec::new();
        let mut steps: BTreeMap<((&str, &str, i64), i64), &Step> = BTreeMap::new();
        for step in &self.rows {
            let place = (step.target.as_str(), step.class.as_str(), step.concurrency);
            if !places.contains(&place) {
                places.push(place);
            }
            if steps.insert((place, step.instances), step).is_some() {
                return None;
            }
        }
        if places.is_empty() {
            return None;
        }
        let targets: BTreeSet<&str> = places.iter().map(|place| place.0).collect();
        let mut header = vec![("scenario".to_owned(), Align::Left), ("c".to_owned(), Align::Right)];
        if targets.len() > 1 {
            header.push(("target".to_owned(), Align::Left));
        }
        for number in &numbers {
            header.push((format!("{number} inst"), Align::Right));
            if *number > 1 {
                header.push(("eff".to_owned(), Align::Right));
                header.push((format!("vs 1×{number} loops"), Align::Right));
            }
        }
        let mut grid = Grid::new(header);
        for place in places {
            let mut row: Vec<Cell> = vec![place.1.into(), place.2.to_string().into()];
            if targets.len() > 1 {
                row.push(place.0.into());
            }
            for number in &numbers {
                let step = steps.get(&(place, *number));
                row.push(rate(step.and_then(|step| step.rps)).into());
                if *number > 1 {
                    row.push(figure::fixed(step.and_then(|step| step.efficiency), 2).into());
                    let vs = step.and_then(|step| step.vs_loops);
                    let vs = vs.map_or_else(|| MISSING.to_owned(), |vs| format!("{vs:.2}×"));
                    row.push(vs.into());
                }
            }
            grid.push(row);
        }
        Some(grid)
    }

    /// The most throughput of one instance in a scenario.
    fn of_one(&self, class: &str) -> Option<f64> {
        let ones = self.rows.iter().filter(|step| step.instances == 1 && step.class == class);
        ones.filter_map(|step| step.rps).reduce(f64::max)
    }
}

/// A rate without decimals, its thousands apart.
fn rate(rps: Option<f64>) -> String {
    rps.map_or_else(|| MISSING.to_owned(), |rps| figure::thousands(rps.round() as i64))
}

/// What the tables say in a few lines: how far instances scale, what the pool
/// gave, how many requests failed.
fn in_short(data: &Data, scaling: &Scaling) -> Result<Vec<String>, ReportError> {
    let mut lines = Vec::new();
    let range = |values: &mut dyn Iterator<Item = f64>| {
        values.fold(None, |range: Option<(f64, f64)>, value| {
            Some(range.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        })
    };
    let more = || scaling.rows.iter().filter(|step| step.instances > 1);
    if let Some((low, high)) = range(&mut more().filter_map(|step| step.efficiency)) {
        lines.push(format!("efficiency of more than one instance: {low:.2} to {high:.2}"));
    }
    if let Some((low, high)) = range(&mut more().filter_map(|step| step.vs_loops)) {
        lines.push(format!(
            "N instances against one instance with N event loops: {low:.2}× to {high:.2}×"
        ));
    }
    let view = &data.sweep;
    let (classes, connections) = (view.names("query_class")?, view.ints("concurrency")?);
    let (rps, instances) = (view.floats("rps")?, view.ints("instances")?);
    for class in classes.iter().collect::<BTreeSet<_>>() {
        let rows = (0..view.len()).filter(|&row| classes[row] == *class);
        let best = rows.max_by(|&a, &b| rps[a].unwrap_or(0.0).total_cmp(&rps[b].unwrap_or(0.0)));
        let Some((row, most)) = best.and_then(|row| Some((row, rps[row]?))) else { continue };
        let times = scaling.of_one(class).filter(|one| *one > 0.0);
        let times = times
            .map(|one| format!(", ×{:.2} of one instance alone ({})", most / one, rate(Some(one))));
        lines.push(format!(
            "sweep of {class}: at most {} requests per second, at {} connections with {} instances{}",
            rate(Some(most)),
            figure::whole(connections[row]),
            figure::whole(instances[row]),
            times.unwrap_or_default()
        ));
    }
    for (what, view) in [("sweep", &data.sweep), ("bursts", &data.bursts)] {
        let errors = view.ints("errors")?;
        if errors.iter().any(Option::is_some) {
            let sum: i64 = errors.iter().flatten().sum();
            let sum = if sum == 0 { "none".to_owned() } else { figure::thousands(sum) };
            lines.push(format!("failed requests, {what}: {sum}"));
        }
    }
    Ok(lines)
}
