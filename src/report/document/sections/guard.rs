//! What the generator's guard voided, and what it only came near to.

use super::super::super::ReportError;
use super::super::super::figure::{self, counted};
use super::super::super::grid::{Align, Cell, Grid, MISSING};
use super::super::super::place::Place;
use super::super::data::{Data, Results};
use super::super::model::Section;

/// A cell's rungs, as the guard saw them.
struct Watched {
    place: Place,
    target: String,
    rungs: usize,
    voided: usize,
    /// The peaks of the voided ones.
    peaks: Vec<f64>,
    /// The highest of all.
    peak: Option<f64>,
}

fn watched(results: &Results) -> Result<Vec<Watched>, ReportError> {
    let view = &results.rungs;
    let places = Place::read(view)?;
    let (targets, voided) = (view.names("target")?, view.flags("voided")?);
    let peaks = view.floats("generator_cpu_peak")?;
    let mut all: Vec<Watched> = Vec::new();
    for (row, place) in places.into_iter().enumerate() {
        let same = |cell: &Watched| cell.place == place && cell.target == targets[row];
        let index = all.iter().position(same).unwrap_or_else(|| {
            let target = targets[row].clone();
            let (rungs, voided) = (0, 0);
            all.push(Watched { place, target, rungs, voided, peaks: Vec::new(), peak: None });
            all.len() - 1
        });
        let cell = &mut all[index];
        cell.rungs += 1;
        cell.peak = cell.peak.into_iter().chain(peaks[row]).reduce(f64::max);
        if voided[row] == Some(true) {
            cell.voided += 1;
            cell.peaks.extend(peaks[row]);
        }
    }
    Ok(all)
}

pub(super) fn voided(data: &Data) -> Result<Section, ReportError> {
    let mut section = Section::new("voided", "The generator's guard: voided rungs");
    let limit = data.selected.rule.guard_max;
    section.text(format!(
        "A rung is void where the busiest worker of the load generator used {limit:.2} of a core or \
         more: then the generator may have been measured, and not the server. Void rungs are kept \
         and shown, never believed."
    ));
    let cells = watched(&data.results)?;
    if cells.is_empty() {
        printed(&mut section, data);
        return Ok(section);
    }
    section.text(sentence(data, &cells)?);
    let mut grid = header();
    for cell in cells.iter().filter(|cell| cell.voided > 0) {
        let least = cell.peaks.iter().copied().reduce(f64::min);
        let most = cell.peaks.iter().copied().reduce(f64::max);
        let peak = match (least, most) {
            (Some(least), Some(most)) if least < most => {
                format!("{} – {}", peak(least), peak(most))
            }
            (_, most) => most.map_or_else(|| MISSING.to_owned(), peak),
        };
        let voided = format!("{} of {}", cell.voided, cell.rungs);
        grid.push(row(&cell.place, &cell.target, voided, peak, limit));
    }
    if !grid.is_empty() {
        section.table("Voided rungs", grid);
    }
    Ok(section)
}

/// What a published table says of void cells.
fn printed(section: &mut Section, data: &Data) {
    let cells = &data.results.cells;
    let known: Vec<_> = cells.iter().filter(|cell| cell.voided_rungs.is_some()).collect();
    if cells.is_empty() {
        section.empty("The run has no rungs that the guard could have watched.");
        return;
    }
    if known.is_empty() {
        section.empty("Nothing says whether the guard was quiet: no verdict can be `invalid`.");
        return;
    }
    let mut grid = header();
    let mut rungs = 0;
    for cell in &known {
        let voided = cell.voided_rungs.unwrap_or(0);
        rungs += voided;
        if voided > 0 {
            let of = cell.n.map_or_else(|| voided.to_string(), |n| format!("{voided} of {n}"));
            let limit = data.selected.rule.guard_max;
            grid.push(row(&cell.place, &cell.target, of, MISSING.to_owned(), limit));
        }
    }
    let count = usize::try_from(rungs).unwrap_or(0);
    section.text(format!(
        "{} voided in {}; their peaks were not printed.",
        counted(count, "rung"),
        counted(grid.rows().len(), "cell")
    ));
    if !grid.is_empty() {
        section.table("Voided rungs", grid);
    }
}

/// How many rungs are void, whose, and how busy the generator was at most.
fn sentence(data: &Data, cells: &[Watched]) -> Result<String, ReportError> {
    let rungs: usize = cells.iter().map(|cell| cell.rungs).sum();
    let voided: usize = cells.iter().map(|cell| cell.voided).sum();
    let known = data.results.rungs.flags("guard_known")?;
    let unknown = known.iter().filter(|known| **known != Some(true)).count();
    let mut text = if voided == 0 && unknown == rungs {
        format!("Of {}, none says whether the guard was quiet.", counted(rungs, "rung"))
    } else if voided == 0 {
        format!("Of {}, none is void.", counted(rungs, "rung"))
    } else {
        let mut targets: Vec<(&str, usize)> = Vec::new();
        for cell in cells.iter().filter(|cell| cell.voided > 0) {
            match targets.iter_mut().find(|(target, _)| *target == cell.target) {
                Some((_, count)) => *count += cell.voided,
                None => targets.push((&cell.target, cell.voided)),
            }
        }
        let targets = targets.iter().map(|(target, count)| format!("{target} {count}"));
        let void = cells.iter().filter(|cell| cell.voided > 0).count();
        format!(
            "{voided} of {} are void, in {}: {}.",
            counted(rungs, "rung"),
            counted(void, "cell"),
            targets.collect::<Vec<_>>().join(", ")
        )
    };
    if voided > 0 && unknown > 0 {
        text +=
            &format!(" Of {}, nothing says whether the guard was quiet.", counted(unknown, "rung"));
    }
    let most = cells.iter().filter_map(|cell| cell.peak).reduce(f64::max);
    if let Some(most) = most {
        text += &format!(" The highest peak of a worker is {} of a core.", peak(most));
    }
    Ok(text)
}

/// The highest peak of a worker in a run, and how many of its rungs are void.
pub(super) fn in_short(results: &Results) -> Result<String, ReportError> {
    let cells = watched(results)?;
    if cells.is_empty() {
        return Ok("it has no rungs that the guard could have watched".to_owned());
    }
    let rungs: usize = cells.iter().map(|cell| cell.rungs).sum();
    let voided: usize = cells.iter().map(|cell| cell.voided).sum();
    let most = cells.iter().filter_map(|cell| cell.peak).reduce(f64::max);
    let most = most.map_or_else(|| MISSING.to_owned(), peak);
    let voided = if voided == 0 { "none".to_owned() } else { voided.to_string() };
    Ok(format!("of {} {voided} void, highest peak of a worker {most}", counted(rungs, "rung")))
}

pub(super) fn lower_bounds(data: &Data) -> Result<Section, ReportError> {
    let mut section = Section::new("lower-bounds", "Lower bounds (≥)");
    let limit = data.selected.rule.guard_max;
    section.text(format!(
        "≥ stands before a throughput where a worker of the generator peaked at three quarters of \
         the guard's limit or more ({:.2} of {limit:.2}) in a rung of the cell: the generator was so \
         near its limit that the server may have given more. Such a figure is to be read as a lower \
         bound, also where no rung is void.",
        0.75 * limit
    ));
    let watched = watched(&data.results)?;
    let mut grid = Grid::new(
        place_header().into_iter().chain([("rps", Align::Right), ("highest peak", Align::Right)]),
    );
    for cell in data.results.cells.iter().filter(|cell| cell.lower_bound) {
        let same = |seen: &&Watched| seen.place == cell.place && seen.target == cell.target;
        let highest = watched.iter().find(same).and_then(|seen| seen.peak);
        let mut row = place(&cell.place, &cell.target);
        row.push(cell.rps(data.selected.rule.estimator).into());
        row.push(highest.map_or_else(|| MISSING.to_owned(), peak).into());
        grid.push(row);
    }
    if grid.is_empty() {
        section.empty("No cell of this run is a lower bound, as far as the peaks of the generator are recorded.");
    } else {
        section.text(counted(grid.rows().len(), "cell") + " of this run:");
        section.table("Cells that are lower bounds", grid);
    }
    Ok(section)
}

fn place_header() -> Vec<(&'static str, Align)> {
    vec![
        ("tier", Align::Right),
        ("class", Align::Left),
        ("c", Align::Right),
        ("format", Align::Left),
        ("target", Align::Left),
    ]
}

fn header() -> Grid {
    let own = [("voided", Align::Right), ("peak", Align::Right), ("limit", Align::Right)];
    Grid::new(place_header().into_iter().chain(own))
}

fn place(place: &Place, target: &str) -> Vec<Cell> {
    let tier = place.tier.as_deref().unwrap_or(MISSING);
    [tier, &place.class, &place.concurrency, &place.format, target].map(Cell::from).into()
}

fn row(of: &Place, target: &str, voided: String, peak: String, limit: f64) -> Vec<Cell> {
    let mut row = place(of, target);
    row.extend([voided, peak, figure::fixed(Some(limit), 2)].map(Cell::from));
    row
}

/// A peak with two decimals, or three where it has that many.
fn peak(value: f64) -> String {
    let three = figure::fixed(Some(value), 3);
    three.strip_suffix('0').map_or(three.clone(), str::to_owned)
}
