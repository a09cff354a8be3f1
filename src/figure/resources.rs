//! Cores and memory over time, with the windows of the rungs above.

use std::collections::{BTreeMap, BTreeSet};

use super::canvas::{Canvas, Rect};
use super::data::{Place, Source, lets, listed, unavailable};
use super::frame::{Frame, Key, Symbol};
use super::ink::Ink;
use super::panel::{
    CAPTION, End, HEADING, Panel, TICKS, draw_ends, ends_width, label_look, ticks_width,
};
use super::scale::{Axis, Scale, figure};
use super::{Drawn, Figure, FigureError, Name, Request, Width};

/// Steps of time that a line has at most: more than can be seen.
const STEPS: f64 = 500.0;
/// Height of a lane of windows.
const LANE: i32 = 90;

/// A rung's window.
struct Window {
    rung: String,
    target: String,
    from: f64,
    to: f64,
    voided: bool,
}

/// A target's (or container's) use in one step of time: when, cores, bytes.
type Use = (f64, Option<f64>, f64);

pub fn draw(request: &Request<'_>) -> Result<Drawn, FigureError> {
    let source = Source::of(request)?;
    let ends = source.ask(
        "resources",
        "SELECT min(t) AS first, max(t) AS last FROM resources WHERE run = $run",
    )?;
    let ends = ends.floats("first")?.into_iter().chain(ends.floats("last")?).flatten();
    let ends: Vec<f64> = ends.collect();
    let [first, last] = ends[..] else {
        return unavailable("the run has no samples of resources");
    };
    let windows = windows(&source, request)?;
    let is_filtered = request.filter != super::Filter::default();
    let (from, to) = if is_filtered {
        let from = windows.iter().map(|window| window.from).fold(f64::INFINITY, f64::min);
        let to = windows.iter().map(|window| window.to).fold(f64::NEG_INFINITY, f64::max);
        let margin = 0.03 * (to - from);
        (first.max(from - margin), last.min(to + margin))
    } else {
        (first, last)
    };
    if from >= to || !to.is_finite() {
        return unavailable("no samples of resources in the windows of rungs that match");
    }
    let uses = uses(&source, request, (from, to))?;
    if uses.is_empty() {
        return unavailable("no target that matches was sampled");
    }
    compose(&source, request, (from, to), &windows, &uses)
}

fn windows(source: &Source<'_>, request: &Request<'_>) -> Result<Vec<Window>, FigureError> {
    let view = source.ask(
        "rungs",
        "SELECT j.*, r.started_at, r.ended_at FROM judged_rungs AS j \
         JOIN rungs AS r ON r.run = j.run AND r.rung = j.rung WHERE j.run = $run",
    )?;
    let (rungs, targets, voided) =
        (view.names("rung")?, view.names("target")?, view.flags("voided")?);
    let (from, to) = (view.floats("started_at")?, view.floats("ended_at")?);
    let mut windows = Vec::new();
    for (row, place) in Place::read(&view)?.into_iter().enumerate() {
        let (Some(from), Some(to)) = (from[row], to[row]) else { continue };
        if place.passes(&request.filter) && lets(&request.filter.targets, &targets[row]) {
            windows.push(Window {
                rung: rungs[row].clone(),
                target: targets[row].clone(),
                from,
                to,
                voided: voided[row].unwrap_or(false),
            });
        }
    }
    windows.sort_by(|a, b| a.from.total_cmp(&b.from).then_with(|| a.rung.cmp(&b.rung)));
    Ok(windows)
}

/// What each target used, step by step; containers that belong to no target
/// speak for themselves.
fn uses(
    source: &Source<'_>,
    request: &Request<'_>,
    (from, to): (f64, f64),
) -> Result<BTreeMap<String, Vec<Use>>, FigureError> {
    let step = ((to - from) / STEPS).max(1.0);
    let view = source.ask(
        "resources",
        &format!(
            "WITH deltas AS ( \
               SELECT coalesce(c.target, r.container) AS target, r.container, r.t, \
                 CAST(r.mem_bytes AS DOUBLE) AS mem_bytes, r.cpu_usec, \
                 lag(r.cpu_usec) OVER (PARTITION BY r.container ORDER BY r.t) AS cpu_before, \
                 lag(r.t) OVER (PARTITION BY r.container ORDER BY r.t) AS t_before \
               FROM resources AS r \
               LEFT JOIN containers AS c ON c.run = r.run AND c.container = r.container \
               WHERE r.run = $run AND r.t >= {from:?} AND r.t <= {to:?} \
             ) \
             SELECT target, container, CAST(floor((t - {from:?}) / {step:?}) AS BIGINT) AS step, \
               sum(CASE WHEN cpu_usec >= cpu_before THEN (cpu_usec - cpu_before) / 1e6 END) AS cpu_s, \
               sum(CASE WHEN cpu_usec >= cpu_before THEN t - t_before END) AS span_s, \
               avg(mem_bytes) AS mem_bytes \
             FROM deltas GROUP BY target, container, CAST(floor((t - {from:?}) / {step:?}) AS BIGINT) \
             ORDER BY target, container, step"
        ),
    )?;
    let (targets, containers) = (view.names("target")?, view.names("container")?);
    let steps = view.ints("step")?;
    let (cpu, spans, memory) =
        (view.floats("cpu_s")?, view.floats("span_s")?, view.floats("mem_bytes")?);
    let mut members: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut sums: BTreeMap<(&str, i64), (usize, Option<f64>, f64)> = BTreeMap::new();
    for row in 0..view.len() {
        let Some(step) = steps[row] else { continue };
        if !lets(&request.filter.targets, &targets[row]) {
            continue;
        }
        members.entry(&targets[row]).or_default().insert(&containers[row]);
        let cores = cpu[row].zip(spans[row]).filter(|(_, s)| *s > 0.0).map(|(cpu, s)| cpu / s);
        let sum = sums.entry((&targets[row], step)).or_insert((0, Some(0.0), 0.0));
        sum.0 += 1;
        sum.1 = sum.1.zip(cores).map(|(sum, cores)| sum + cores);
        sum.2 += memory[row].unwrap_or(0.0);
    }
    let mut uses: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    for ((target, at), (count, cores, bytes)) in sums {
        // A sum without one of its containers would be a dip that was none.
        if members.get(target).map(BTreeSet::len) == Some(count) {
            let t = middle((from, to), step, at);
            uses.entry(target.to_owned()).or_default().push((t, cores, bytes));
        }
    }
    Ok(uses)
}

/// The middle of a step of time, or the end of all where that comes first: the
/// last step may be a part of one.
fn middle((from, to): (f64, f64), step: f64, at: i64) -> f64 {
    (from + (at as f64 + 0.5) * step).min(to)
}

/// Time from the start in the unit that reads best.
struct Clock {
    start: f64,
    seconds: f64,
    unit: &'static str,
}

impl Clock {
    fn new((from, to): (f64, f64)) -> Self {
        let (seconds, unit) = match to - from {
            length if length > 3.0 * 3600.0 => (3600.0, "hours"),
            length if length > 180.0 => (60.0, "minutes"),
            _ => (1.0, "seconds"),
        };
        Self { start: from, seconds, unit }
    }

    fn at(&self, t: f64) -> f64 {
        (t - self.start) / self.seconds
    }
}

fn compose(
    source: &Source<'_>,
    request: &Request<'_>,
    span: (f64, f64),
    windows: &[Window],
    uses: &BTreeMap<String, Vec<Use>>,
) -> Result<Drawn, FigureError> {
    let clock = Clock::new(span);
    let names = source.names();
    let targets: Vec<&String> = uses.keys().collect();
    let name = |target: &str| names.get(target).cloned().unwrap_or_else(|| target.to_owned());
    let known = source.judged.targets.len();
    let series = |target: &str| {
        if source.judged.targets.contains_key(target) {
            source.series(target)
        } else {
            known + targets.iter().position(|other| *other == target).unwrap_or(0)
        }
    };
    let lanes: Vec<&String> = targets
        .iter()
        .copied()
        .filter(|target| windows.iter().any(|window| window.target == **target))
        .collect();

    let plot_height = if request.width == Width::Page { 1100 } else { 850 };
    let labels: Vec<String> = targets.iter().map(|target| name(target)).collect();
    let inner = Frame::new(request.width, "", "", &[], &[]).inner();
    let beside = ends_width(labels.iter().map(String::as_str), plot_height, inner * 2 / 5);
    let legend: Vec<Key> = match beside {
        Some(_) => Vec::new(),
        None => targets
            .iter()
            .zip(&labels)
            .map(|(target, label)| Key::new(Symbol::Series(series(target)), label))
            .collect(),
    };
    let mut keys = Vec::new();
    if !lanes.is_empty() {
        keys.push(Key::new(Symbol::None, "bars: the windows of the rungs"));
    }
    if windows.iter().any(|window| window.voided) {
        keys.push(Key::new(Symbol::Hollow, "hollow: void, the load generator was at its limit"));
    }
    let title = "Resources";
    let rungs = crate::report::figure::counted(windows.len(), "rung");
    let subtitle = format!("{rungs}, time from the start in {}", clock.unit);
    let frame = Frame::new(request.width, title, &subtitle, &legend, &keys);

    let gib = |bytes: f64| bytes / f64::from(1 << 30);
    let all = || uses.values().flatten();
    let cores = Axis::linear(0.0, all().filter_map(|one| one.1).fold(0.0, f64::max), 4);
    let memory = Axis::of(all().map(|one| gib(one.2)), 4);
    let x = Axis::linear(0.0, clock.at(span.1), if request.width == Width::Page { 10 } else { 5 });
    let margin = ticks_width(&cores).max(ticks_width(&memory));
    let lanes_height = i32::try_from(lanes.len()).unwrap_or(0) * LANE;
    let top_strip = if lanes.is_empty() { 0 } else { HEADING + lanes_height + 30 };
    let height = top_strip + 2 * (HEADING + plot_height + TICKS) + 30 + CAPTION;

    let scene = frame.draw(height, |canvas, body| {
        let room = beside.unwrap_or(60);
        let plot = |top: i32, height: i32| Rect {
            left: body.left + margin,
            top,
            right: body.right - room,
            bottom: top + height,
        };
        let scale = || Scale::linear(0.0, clock.at(span.1));
        let ticks: Vec<(f64, String)> =
            x.ticks.iter().filter(|(at, _)| *at <= clock.at(span.1) * 1.0001).cloned().collect();
        if !lanes.is_empty() {
            let strip = plot(body.top + HEADING, lanes_height);
            let panel = Panel::new(canvas, strip, scale(), Scale::linear(0.0, 1.0));
            panel.heading("windows of the rungs", body.left, body.right);
            draw_lanes(canvas, &panel, &clock, windows, &lanes, &series);
            if beside.is_some() {
                for (lane, target) in lanes.iter().enumerate() {
                    let y = strip.top + i32::try_from(lane).unwrap_or(0) * LANE + LANE / 2;
                    let look = label_look().ink(Ink::Series(series(target))).middle();
                    canvas.text((strip.right + 55, y), &name(target), look);
                }
            }
        }
        let first = body.top + top_strip + HEADING;
        let second = first + plot_height + TICKS + 30 + HEADING;
        let upper = plot(first, plot_height);
        let lower = plot(second, plot_height);
        let panels = [
            (upper, &cores, cores.caption("CPU used", "cores")),
            (lower, &memory, memory.caption("memory", "GiB")),
        ];
        for (index, (plot, axis, caption)) in panels.iter().enumerate() {
            let panel = Panel::new(canvas, *plot, scale(), axis.scale());
            panel.heading(caption, body.left, body.right);
            panel.vertical(axis);
            panel.horizontal(&ticks, true);
            if index == 1 {
                panel.caption(&format!("time from the start ({})", clock.unit));
            }
            let mut ends = Vec::new();
            for (target, steps) in uses {
                let value = |one: &Use| if index == 0 { one.1 } else { Some(gib(one.2)) };
                let points: Vec<(f64, f64)> = steps
                    .iter()
                    .filter_map(|one| Some((clock.at(one.0), axis.within(value(one)?))))
                    .collect();
                let Some(&(x, y)) = points.last() else { continue };
                let peak = points.iter().map(|point| point.1).fold(0.0, f64::max);
                let unit = if index == 0 { "cores" } else { "GiB" };
                let text = format!("{target}: {} {unit} at most", figure(peak));
                let peak = peak.to_string();
                canvas.mark(&text, &[("target", target), ("value", &peak)], || {
                    panel.curve(&points, Ink::Series(series(target)), 9);
                    if points.len() < 30 {
                        for (x, y) in &points {
                            canvas.symbol(panel.at(*x, *y), series(target), 13, false);
                        }
                    }
                });
                let at = panel.at(x, y);
                ends.push(End { at, text: name(target), series: series(target) });
            }
            // Between windows all lines end at nothing: the lanes have the names.
            if beside.is_some() && (index == 1 || lanes.is_empty()) {
                draw_ends(canvas, *plot, ends);
            }
        }
    })?;

    let mut said: Vec<String> = windows
        .iter()
        .filter(|window| window.voided)
        .map(|window| format!("hollow: {} voided by the guard", window.rung))
        .collect();
    if windows.is_empty() {
        said.push("no windows: the run does not tell when its rungs were measured".to_owned());
    }
    said.push(
        "cores: differences of cumulative CPU time over the time between samples; a target is the sum of its containers, where all were sampled"
            .to_owned(),
    );
    let sentences: Vec<String> = uses
        .iter()
        .map(|(target, steps)| {
            let cores = steps.iter().filter_map(|one| one.1).fold(0.0, f64::max);
            let bytes = steps.iter().map(|one| one.2).fold(0.0, f64::max);
            format!("{} {} cores and {} GiB", name(target), figure(cores), figure(gib(bytes)))
        })
        .collect();
    Ok(Drawn::Figure(Figure {
        name: Name::Resources,
        title: format!("{title}: {subtitle}"),
        alt: format!("CPU and memory over time; used at most: {}.", listed(&sentences)),
        notes: source.notes(said, &[]),
        scene,
    }))
}

fn draw_lanes(
    canvas: &Canvas<'_>,
    panel: &Panel<'_, '_>,
    clock: &Clock,
    windows: &[Window],
    lanes: &[&String],
    series: &dyn Fn(&str) -> usize,
) {
    for window in windows {
        let Some(lane) = lanes.iter().position(|target| **target == window.target) else {
            continue;
        };
        let top = panel.plot.top + i32::try_from(lane).unwrap_or(0) * LANE + 15;
        let (left, _) = panel.at(clock.at(window.from), 0.0);
        let (right, _) = panel.at(clock.at(window.to), 0.0);
        let clamped = |x: i32| x.clamp(panel.plot.left, panel.plot.right);
        let (left, right) = (clamped(left), clamped(right).max(clamped(left) + 3));
        let bar = Rect { left, top, right, bottom: top + LANE - 30 };
        let void = if window.voided { ", void: stopped by the guard" } else { "" };
        let value = format!("{}{void}", window.rung);
        canvas.mark(&value, &[("target", &window.target), ("rung", &window.rung)], || {
            let ink = Ink::Series(series(&window.target));
            if window.voided {
                canvas.fill(bar, Ink::Paper, 1.0);
                canvas.edge(bar, ink, 6);
            } else {
                canvas.fill(bar, ink, 0.6);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_step_lies_beyond_the_end() {
        assert_eq!(middle((100.0, 115.2), 1.0, 0), 100.5);
        assert_eq!(middle((100.0, 115.2), 1.0, 14), 114.5);
        assert_eq!(middle((100.0, 115.2), 1.0, 15), 115.2);
    }
}
