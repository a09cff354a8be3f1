//! The tier against throughput, cores used and CPU time per request: one series
//! per target, for one class, format and number of connections.

mod series;

use self::series::{Point, Series, resources, series};
use super::canvas::{Canvas, Rect};
use super::data::{Cell, Filter, Source, listed, one_place, unavailable};
use super::frame::{Frame, Key, Symbol};
use super::ink::Ink;
use super::panel::{CAPTION, End, HEADING, Panel, TICKS, draw_ends, ends_width, ticks_width};
use super::scale::{Axis, Scale, figure};
use super::{Drawn, Figure, FigureError, Name, Request, Width};

/// What a panel shows.
struct Plot {
    what: &'static str,
    unit: &'static str,
    scale: f64,
    points: fn(&Series) -> &Vec<Point>,
}

const PLOTS: [Plot; 3] = [
    Plot {
        what: "throughput",
        unit: "requests/s",
        scale: 1.0,
        points: |series| &series.throughput,
    },
    Plot { what: "CPU used", unit: "cores", scale: 1.0, points: |series| &series.cores },
    Plot { what: "CPU time per request", unit: "ms", scale: 1e3, points: |series| &series.cpu },
];

pub fn draw(request: &Request<'_>) -> Result<Drawn, FigureError> {
    let source = Source::of(request)?;
    let all = source.cells(&request.filter)?;
    if all.iter().all(|cell| cell.place.tier.is_none()) {
        return unavailable(match (all.is_empty(), request.filter == Filter::default()) {
            (false, _) => "the run has no tiers",
            (true, true) => "the run has no cells",
            (true, false) => "no cell matches",
        });
    }
    let tiered = all.into_iter().filter(|cell| cell.place.tier.is_some()).collect();
    let cells = one_place(tiered, &request.filter)?;
    let mut tiers = source.tiers()?;
    tiers.retain(|tier| cells.iter().any(|cell| cell.place.tier.as_ref() == Some(tier)));
    let used = resources(&source, &request.filter)?;
    let series = series(&source, &cells, &tiers, &used);
    compose(&source, request.width, &cells, &tiers, &series)
}

fn compose(
    source: &Source<'_>,
    width: Width,
    cells: &[Cell],
    tiers: &[String],
    series: &[Series],
) -> Result<Drawn, FigureError> {
    let Some(first) = cells.first() else {
        return unavailable("no cell matches");
    };
    let plots: Vec<&Plot> = PLOTS
        .iter()
        .filter(|plot| series.iter().any(|series| !(plot.points)(series).is_empty()))
        .collect();
    let across = if width == Width::Page { plots.len() } else { 1 };
    let plot_height = match (width, plots.len()) {
        (Width::Page, 1) => 1900,
        (Width::Page, _) => 1500,
        (Width::Column, _) => 950,
    };

    // Labels beside the lines if they fit, else a legend.
    let labels: Vec<String> = series.iter().map(|series| series.label(tiers.len())).collect();
    let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
    let columns = i32::try_from(across).unwrap_or(1);
    let gap = 130;
    let probe = Frame::new(width, "", "", &[], &[]);
    let column = (probe.inner() - (columns - 1) * gap) / columns;
    let most = column * 11 / 20;
    let beside = ends_width(labels.iter().map(String::as_str), plot_height, most);
    let beside_names = ends_width(names.iter().copied(), plot_height, most);
    let legend: Vec<Key> = match beside {
        Some(_) => Vec::new(),
        None => series
            .iter()
            .zip(&labels)
            .map(|(series, label)| Key::new(Symbol::Series(series.index), label))
            .collect(),
    };

    let title = "Vertical scaling";
    let subtitle = first.place.text();
    let keys = keys(source, series, tiers, &plots, beside.is_none());
    let frame = Frame::new(width, title, &subtitle, &legend, &keys);
    let axes: Vec<Axis> = plots.iter().map(|plot| axis(plot, series)).collect();
    let (places, ends) = tier_places(tiers);

    let stacked = i32::try_from(plots.len()).unwrap_or(1) / columns;
    let between = HEADING + TICKS + 30;
    let height =
        stacked * (HEADING + plot_height) + (stacked - 1) * (between - HEADING) + TICKS + CAPTION;
    let scene = frame.draw(height, |canvas, body| {
        // Stacked plots share one axis below: their edges are in line.
        let shared = axes.iter().map(ticks_width).max().unwrap_or(0);
        for (index, (plot, axis)) in plots.iter().zip(&axes).enumerate() {
            let index = i32::try_from(index).unwrap_or(0);
            let (left, top, right, margin) = if columns > 1 {
                let left = body.left + index * (column + gap);
                (left, body.top + HEADING, left + column, ticks_width(axis))
            } else {
                let top = body.top + HEADING + index * (plot_height + between);
                (body.left, top, body.right, shared)
            };
            let is_first = plot.what == PLOTS[0].what;
            let room = match (beside, columns > 1 && !is_first) {
                (Some(_), true) => beside_names.unwrap_or(0),
                (Some(room), false) => room,
                (None, _) => 20,
            };
            let area =
                Rect { left: left + margin, top, right: right - room, bottom: top + plot_height };
            let panel = Panel::new(canvas, area, Scale::linear(ends.0, ends.1), axis.scale());
            panel.heading(&axis.caption(plot.what, plot.unit), left, right);
            panel.vertical(axis);
            let ticks: Vec<(f64, String)> =
                places.iter().copied().zip(tiers.iter().cloned()).collect();
            panel.horizontal(&ticks, true);
            if columns > 1 || usize::try_from(index + 1) == Ok(plots.len()) {
                panel.caption("tier");
            }
            draw_series(canvas, &panel, plot, axis, series, &places, tiers);
            if beside.is_some() {
                let ends = series.iter().zip(&labels).filter_map(|(series, label)| {
                    let last = (plot.points)(series).last()?;
                    let at = panel.at(places[last.tier], axis.within(last.value * plot.scale));
                    let text = if is_first { label.clone() } else { series.name.clone() };
                    Some(End { at, text, series: series.index })
                });
                draw_ends(canvas, area, ends.collect());
            }
        }
    })?;
    let (alt, notes) = (alt(series, tiers, &subtitle), notes(source, cells, series, tiers));
    Ok(Drawn::Figure(Figure {
        name: Name::VerticalScaling,
        title: format!("{title}: {subtitle}"),
        alt,
        notes,
        scene,
    }))
}

/// The axis that the figures of a panel fit on, with their intervals.
fn axis(plot: &Plot, series: &[Series]) -> Axis {
    let values = series.iter().flat_map(|series| (plot.points)(series)).flat_map(|point| {
        let (low, high) = point.interval.unwrap_or((point.value, point.value));
        // An interval may reach below 0, where nothing was measured.
        [point.value, if low > 0.0 { low } else { point.value }, high]
    });
    Axis::of(values.map(|value| value * plot.scale), 5)
}

/// Where tiers stand: as numbers do, if they are, else one after the other.
fn tier_places(tiers: &[String]) -> (Vec<f64>, (f64, f64)) {
    let numbers: Option<Vec<f64>> =
        tiers.iter().map(|tier| tier.parse::<f64>().ok().filter(|tier| tier.is_finite())).collect();
    let places = numbers.filter(|numbers| numbers.windows(2).all(|pair| pair[0] < pair[1]));
    let places = places.unwrap_or_else(|| (0..tiers.len()).map(|index| index as f64).collect());
    let (low, high) = (places[0], places[places.len() - 1]);
    let inset = if high > low { 0.07 * (high - low) } else { 1.0 };
    (places, (low - inset, high + inset))
}

fn draw_series(
    canvas: &Canvas<'_>,
    panel: &Panel<'_, '_>,
    plot: &Plot,
    axis: &Axis,
    series: &[Series],
    places: &[f64],
    tiers: &[String],
) {
    let y = |value: f64| axis.within(value * plot.scale);
    for one in series {
        let points = (plot.points)(one);
        for pair in points.windows(2) {
            let ends: Vec<(f64, f64)> =
                pair.iter().map(|point| (places[point.tier], y(point.value))).collect();
            let is_void = pair.iter().any(|point| point.is_void());
            let curve = || panel.curve(&ends, Ink::Series(one.index), 12);
            if is_void { canvas.dashed(curve) } else { curve() }
        }
    }
    for one in series {
        for point in (plot.points)(one) {
            let at = panel.at(places[point.tier], y(point.value));
            let is_void = point.is_void();
            let value = described(one, point, plot, &tiers[point.tier]);
            let rounded = (point.value * plot.scale).to_string();
            let data = [
                ("target", one.target.as_str()),
                ("tier", &tiers[point.tier]),
                ("quantity", plot.what),
                ("value", &rounded),
            ];
            canvas.mark(&value, &data, || {
                if let Some((low, high)) = point.interval {
                    let (_, from) = panel.at(places[point.tier], y(low));
                    let (_, to) = panel.at(places[point.tier], y(high));
                    canvas.interval(at.0, from, to, Ink::Series(one.index));
                }
                if point.lower_bound {
                    canvas.arrow(at, 21, Ink::Series(one.index));
                }
                canvas.symbol(at, one.index, 21, is_void);
            });
        }
    }
}

/// A point in words, as it is shown under the pointer.
fn described(series: &Series, point: &Point, plot: &Plot, tier: &str) -> String {
    let bound = if point.lower_bound { "≥ " } else { "" };
    let mut text = format!(
        "{}, tier {tier}: {} {bound}{}",
        series.target,
        plot.what,
        figure(point.value * plot.scale)
    );
    if let Some((low, high)) = point.interval {
        text += &format!(" ±{}", figure((high - low) / 2.0 * plot.scale));
    }
    text += &format!(" {}", plot.unit);
    if let Some(n) = point.n {
        text += &format!(", n = {n}");
    }
    if let Some(voided) = point.voided.filter(|voided| *voided > 0) {
        text += &format!(", void: {voided} of its rungs stopped by the guard");
    }
    text
}

/// The key to the marks: only to those that are there.
fn keys(
    source: &Source<'_>,
    series: &[Series],
    tiers: &[String],
    plots: &[&Plot],
    has_legend: bool,
) -> Vec<Key> {
    let mut keys = Vec::new();
    let points = || series.iter().flat_map(|series| &series.throughput);
    let all = || plots.iter().flat_map(|plot| series.iter().flat_map(|one| (plot.points)(one)));
    if all().any(|point| point.interval.is_some()) {
        let n = points().filter_map(|point| point.n).min().zip(points().filter_map(|p| p.n).max());
        let n = match n {
            Some((least, most)) if least == most => format!(", n = {least}"),
            Some((least, most)) => format!(", n = {least} to {most}"),
            None => String::new(),
        };
        let text = format!("{} interval of the mean{n}", source.confidence());
        keys.push(Key::new(Symbol::Interval, text));
    }
    if points().any(|point| point.is_void()) {
        keys.push(Key::new(Symbol::Hollow, "void: the load generator was at its limit"));
    }
    if points().any(|point| point.lower_bound) {
        keys.push(Key::new(Symbol::Arrow, "lower bound: the generator was near its limit"));
    }
    if series.iter().any(|series| series.gain(tiers.len()).is_some()) {
        let (first, last) = (&tiers[0], &tiers[tiers.len() - 1]);
        let text = format!("×: throughput at tier {last} over tier {first}");
        keys.push(Key::new(Symbol::None, text));
    }
    if plots.len() < PLOTS.len() && !has_legend {
        keys.push(Key::new(Symbol::None, "no CPU time was recorded"));
    }
    keys
}

fn alt(series: &[Series], tiers: &[String], subtitle: &str) -> String {
    let sentence = |one: &Series| {
        let values: Vec<String> = one
            .throughput
            .iter()
            .map(|point| {
                let bound = if point.lower_bound { "at least " } else { "" };
                let void = if point.is_void() { " (void)" } else { "" };
                format!("{bound}{}{void} at tier {}", figure(point.value), tiers[point.tier])
            })
            .collect();
        let gain = one.gain(tiers.len());
        let gain = gain.map(|(sign, gain)| format!(", {sign}×{gain:.2}")).unwrap_or_default();
        format!("{} {}{gain}", one.name, listed(&values))
    };
    let sentences: Vec<String> = series.iter().map(sentence).collect();
    format!("Throughput in requests a second, {subtitle}: {}.", sentences.join("; "))
}

fn notes(source: &Source<'_>, cells: &[Cell], series: &[Series], tiers: &[String]) -> Vec<String> {
    let mut said = Vec::new();
    for one in series {
        for point in &one.throughput {
            if let Some(voided) = point.voided.filter(|voided| *voided > 0) {
                said.push(format!(
                    "hollow: {} at tier {}, {voided} of its rungs voided by the guard",
                    one.target, tiers[point.tier]
                ));
            }
        }
    }
    if cells.iter().any(|cell| cell.lower_bound) {
        said.push("arrows, ≥: lower bounds, the generator was near its limit".to_owned());
    }
    let has_used = series.iter().any(|one| !one.cores.is_empty());
    let has_interval = series.iter().any(|one| one.cores.iter().any(|p| p.interval.is_some()));
    if !has_used {
        said.push("no CPU time was recorded, so that there is one panel".to_owned());
    } else if !has_interval {
        said.push("CPU: no intervals, since only means were printed".to_owned());
    }
    let n: Vec<Option<i64>> = cells.iter().map(|cell| cell.n).collect();
    source.notes(said, &n)
}
