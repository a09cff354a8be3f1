//! What is drawn of each target: its figures at each tier.

use std::collections::BTreeMap;

use crate::figure::FigureError;
use crate::figure::data::{Cell, Filter, Place, Source};

/// A point of a series in one panel.
#[derive(Debug, Clone)]
pub struct Point {
    pub tier: usize,
    pub value: f64,
    pub interval: Option<(f64, f64)>,
    pub voided: Option<i64>,
    pub lower_bound: bool,
    pub n: Option<i64>,
}

impl Point {
    /// Whether it is not to be believed.
    pub fn is_void(&self) -> bool {
        self.voided.is_some_and(|voided| voided > 0)
    }
}

/// A target, or one of the ways in which it was measured.
#[derive(Debug, Clone)]
pub struct Series {
    pub target: String,
    pub name: String,
    pub index: usize,
    pub throughput: Vec<Point>,
    pub cores: Vec<Point>,
    pub cpu: Vec<Point>,
}

/// Cores and CPU seconds per request of cells, with the half-widths of their
/// intervals where the rungs are known.
pub type Used = BTreeMap<(Place, String), [(Option<f64>, Option<f64>); 2]>;

/// What the cells that a filter lets through used.
pub fn resources(source: &Source<'_>, filter: &Filter) -> Result<Used, FigureError> {
    let means = source.ask("resource_cells", "SELECT * FROM resource_cells WHERE run = $run")?;
    let spread = source.ask(
        "rung_resources",
        "SELECT r.tier, r.response_format, r.query_class, r.concurrency, r.target, r.mode, r.loop, \
           r.offered_rps, r.instances, r.loops, \
           t_half_width(stddev_samp(s.cpu_cores), count(*), max(u.confidence)) AS cores, \
           t_half_width(stddev_samp(s.cpu_s_per_request), count(*), max(u.confidence)) AS cpu \
         FROM rungs AS r \
         JOIN rung_resources AS s ON s.run = r.run AND s.rung = r.rung \
         JOIN rule AS u ON u.run = r.run \
         WHERE r.run = $run AND s.cpu_s IS NOT NULL \
         GROUP BY r.tier, r.response_format, r.query_class, r.concurrency, r.target, r.mode, \
           r.loop, r.offered_rps, r.instances, r.loops",
    )?;
    let mut used = Used::new();
    let places = Place::read(&means)?;
    let targets = means.names("target")?;
    let (cores, cpu) = (means.floats("cpu_cores")?, means.floats("cpu_s_per_request")?);
    for (row, place) in places.into_iter().enumerate() {
        if place.passes(filter) {
            used.insert((place, targets[row].clone()), [(cores[row], None), (cpu[row], None)]);
        }
    }
    let places = Place::read(&spread)?;
    let targets = spread.names("target")?;
    let (cores, cpu) = (spread.floats("cores")?, spread.floats("cpu")?);
    for (row, place) in places.into_iter().enumerate() {
        if let Some([(_, cores_half), (_, cpu_half)]) = used.get_mut(&(place, targets[row].clone()))
        {
            *cores_half = cores[row];
            *cpu_half = cpu[row];
        }
    }
    Ok(used)
}

/// The series of cells: one for each target, or for each way it was measured in.
pub fn series(source: &Source<'_>, cells: &[Cell], tiers: &[String], used: &Used) -> Vec<Series> {
    let names = source.names();
    let mut variants: Vec<(&str, &str)> =
        cells.iter().map(|cell| (cell.target.as_str(), cell.place.variant.as_str())).collect();
    variants.sort_unstable();
    variants.dedup();
    let targets = source.judged.targets.len();
    let mut all = Vec::new();
    for (nth, (target, variant)) in variants.iter().enumerate() {
        let name = names.get(*target).map_or(*target, String::as_str);
        let is_only = variants.iter().filter(|other| other.0 == *target).count() == 1;
        let mut series = Series {
            target: (*target).to_owned(),
            name: if is_only { name.to_owned() } else { format!("{name}, {variant}") },
            index: if is_only { source.series(target) } else { targets + nth },
            throughput: Vec::new(),
            cores: Vec::new(),
            cpu: Vec::new(),
        };
        for (tier, tier_name) in tiers.iter().enumerate() {
            let is_here = |cell: &&Cell| {
                cell.target == *target
                    && cell.place.variant == *variant
                    && cell.place.tier.as_ref() == Some(tier_name)
            };
            let Some(cell) = cells.iter().find(is_here) else { continue };
            let mut point = Point {
                tier,
                value: cell.rps,
                interval: cell.interval,
                voided: cell.voided,
                lower_bound: cell.lower_bound,
                n: cell.n,
            };
            series.throughput.push(point.clone());
            point.lower_bound = false;
            let Some(figures) = used.get(&(cell.place.clone(), (*target).to_owned())) else {
                continue;
            };
            for (points, (value, half)) in
                [&mut series.cores, &mut series.cpu].into_iter().zip(figures)
            {
                if let Some(value) = value {
                    let interval = half.map(|half| (value - half, value + half));
                    points.push(Point { value: *value, interval, ..point.clone() });
                }
            }
        }
        all.push(series);
    }
    all
}

impl Series {
    /// Throughput at the last tier over that at the first, with the sign that
    /// lower bounds call for; none where either is void.
    pub fn gain(&self, tiers: usize) -> Option<(&'static str, f64)> {
        let [first, .., last] = self.throughput.as_slice() else { return None };
        let spans = first.tier == 0 && last.tier + 1 == tiers && first.value > 0.0;
        if !spans || first.is_void() || last.is_void() {
            return None;
        }
        let sign = match (first.lower_bound, last.lower_bound) {
            (false, true) => "≥ ",
            (true, false) => "≤ ",
            _ => "",
        };
        Some((sign, last.value / first.value))
    }

    /// Its label in the panel of throughput.
    pub fn label(&self, tiers: usize) -> String {
        match self.gain(tiers) {
            Some((sign, gain)) => format!("{} {sign}×{gain:.2}", self.name),
            None => self.name.clone(),
        }
    }
}
