//! A pool of instances under more and more connections: throughput, tail
//! latency, instances and memory, a line for each path; then bursts from idle.

use super::canvas::{Canvas, Rect, SMALL, Type};
use super::data::{Place, Source, lets, listed, unavailable};
use super::frame::{Frame, Key, Symbol};
use super::ink::Ink;
use super::panel::{CAPTION, End, HEADING, Panel, TICKS, draw_ends, ends_width, ticks_width};
use super::scale::{Axis, Scale, figure};
use super::{Drawn, Figure, FigureError, Name, Request, Width};

/// A path under so many connections.
struct Point {
    series: String,
    connections: i64,
    /// Throughput, p99 in ms, instances, MiB.
    values: [Option<f64>; 4],
    errors: i64,
}

const QUANTITIES: [(&str, &str); 4] = [
    ("throughput", "requests/s"),
    ("99th percentile of latency", "ms"),
    ("instances at the end", ""),
    ("memory at peak", "MiB"),
];

/// A burst from idle.
struct Burst {
    name: String,
    connections: i64,
    rps: f64,
    p99_ms: Option<f64>,
    instances: Option<i64>,
    errors: Option<i64>,
    voided: bool,
}

const BAR: i32 = 120;

pub fn draw(request: &Request<'_>) -> Result<Drawn, FigureError> {
    let source = Source::of(request)?;
    let view = source.ask("sweep", "SELECT * FROM sweep WHERE run = $run")?;
    if view.is_empty() {
        return unavailable("no sweep over connections was measured");
    }
    let places = Place::read(&source.ask(
        "sweep",
        "SELECT tier, response_format, query_class, concurrency, mode, loop, offered_rps \
         FROM sweep WHERE run = $run",
    )?)?;
    let targets = view.names("target")?;
    let (rps, p99) = (view.floats("rps")?, view.floats("latency_p99_s")?);
    let (instances, memory) = (view.floats("instances")?, view.floats("mem_peak_bytes")?);
    let errors = view.ints("errors")?;
    let mut many = targets.clone();
    many.sort();
    many.dedup();
    let mut points = Vec::new();
    for (row, place) in places.into_iter().enumerate() {
        if !place.passes(&request.filter) || !lets(&request.filter.targets, &targets[row]) {
            continue;
        }
        let mut series = place.class.clone();
        let more = [
            (many.len() > 1).then(|| targets[row].clone()),
            place.tier.map(|tier| format!("tier {tier}")),
            (place.format != "-").then_some(place.format),
            Some(place.variant).filter(|variant| !variant.is_empty()),
        ];
        for part in more.into_iter().flatten() {
            series += &format!(", {part}");
        }
        points.push(Point {
            series,
            connections: place.concurrency,
            values: [
                rps[row],
                p99[row].map(|seconds| 1e3 * seconds),
                instances[row],
                memory[row].map(|bytes| bytes / f64::from(1 << 20)),
            ],
            errors: errors[row].unwrap_or(0),
        });
    }
    points.retain(|point| point.connections > 0);
    points.sort_by(|a, b| (&a.series, a.connections).cmp(&(&b.series, b.connections)));
    if points.is_empty() {
        return unavailable("no point of the sweep matches");
    }
    let bursts = bursts(&source, request)?;
    compose(&source, request, &points, &bursts)
}

/// The bursts; they are of no path, so that a filter leaves them out.
fn bursts(source: &Source<'_>, request: &Request<'_>) -> Result<Vec<Burst>, FigureError> {
    if request.filter != super::Filter::default() {
        return Ok(Vec::new());
    }
    let view = source.ask(
        "bursts",
        "SELECT * FROM bursts WHERE run = $run \
         ORDER BY query_class, target, concurrency, burst",
    )?;
    let (classes, targets) = (view.names("query_class")?, view.names("target")?);
    let (numbers, connections) = (view.ints("burst")?, view.ints("concurrency")?);
    let (rps, p99) = (view.floats("rps")?, view.floats("latency_p99_s")?);
    let (instances, errors) = (view.ints("instances")?, view.ints("errors")?);
    let voided = view.flags("voided")?;
    let is_one = |names: &[String]| names.windows(2).all(|pair| pair[0] == pair[1]);
    let (one_class, one_target) = (is_one(&classes), is_one(&targets));
    let burst = |row: usize| {
        let mut name = format!("burst {}", numbers[row]?);
        if !one_class {
            name = format!("{}, {name}", classes[row]);
        }
        if !one_target {
            name = format!("{}, {name}", targets[row]);
        }
        Some(Burst {
            name,
            connections: connections[row]?,
            rps: rps[row]?,
            p99_ms: p99[row].map(|seconds| 1e3 * seconds),
            instances: instances[row],
            errors: errors[row],
            voided: voided[row].unwrap_or(false),
        })
    };
    Ok((0..view.len()).filter_map(burst).collect())
}

impl Burst {
    fn text(&self) -> String {
        let mut text = format!("{} requests/s", figure(self.rps));
        if let Some(p99) = self.p99_ms {
            text += &format!(", 99th {} ms", super::scale::number(p99));
        }
        if let Some(count) = self.instances {
            text += &format!(", {count} inst.");
        }
        if let Some(errors) = self.errors.filter(|errors| *errors > 0) {
            text += &format!(", {errors} failed");
        }
        if self.voided {
            text += ", void";
        }
        text
    }
}

fn compose(
    source: &Source<'_>,
    request: &Request<'_>,
    points: &[Point],
    bursts: &[Burst],
) -> Result<Drawn, FigureError> {
    let mut series: Vec<&str> = points.iter().map(|point| point.series.as_str()).collect();
    series.dedup();
    let shown: Vec<usize> = (0..QUANTITIES.len())
        .filter(|index| points.iter().any(|point| point.values[*index].is_some()))
        .collect();
    let columns = if request.width == Width::Page && shown.len() > 1 { 2 } else { 1 };
    let plot_height = if request.width == Width::Page { 1000 } else { 700 };
    let inner = Frame::new(request.width, "", "", &[], &[]).inner();
    let column = (inner - (columns - 1) * 130) / columns;
    let beside = ends_width(series.iter().copied(), plot_height, column * 2 / 5);
    let legend: Vec<Key> = match beside {
        Some(_) => Vec::new(),
        None => series
            .iter()
            .enumerate()
            .map(|(index, name)| Key::new(Symbol::Series(index), *name))
            .collect(),
    };
    let failed: i64 = points.iter().map(|point| point.errors).sum();
    let keys = [if failed > 0 {
        Key::new(Symbol::Hollow, "hollow: some requests failed")
    } else {
        Key::new(Symbol::None, "no request failed")
    }];
    let title = "Sweep over connections";
    let (least, most) = reach(points);
    let subtitle = format!(
        "{} to {} connections",
        super::scale::number(least as f64),
        super::scale::number(most as f64)
    );
    let frame = Frame::new(request.width, title, &subtitle, &legend, &keys);
    let axes: Vec<Axis> = shown.iter().map(|index| axis(*index, points)).collect();
    let mut connections: Vec<i64> = points.iter().map(|point| point.connections).collect();
    connections.sort_unstable();
    connections.dedup();
    let ticks: Vec<(f64, String)> =
        connections.iter().map(|n| (*n as f64, super::scale::number(*n as f64))).collect();

    let count = i32::try_from(shown.len()).unwrap_or(1);
    let stacked = (count + columns - 1) / columns;
    let row = HEADING + plot_height + TICKS;
    let burst_height = if bursts.is_empty() {
        0
    } else {
        HEADING + 30 + i32::try_from(bursts.len()).unwrap_or(0) * BAR
    };
    let height = stacked * row + (stacked - 1) * 30 + CAPTION + burst_height;
    let scene = frame.draw(height, |canvas, body| {
        let shared = axes.iter().map(ticks_width).max().unwrap_or(0);
        for (nth, (index, axis)) in shown.iter().zip(&axes).enumerate() {
            let nth = i32::try_from(nth).unwrap_or(0);
            let (across, down) = (nth % columns, nth / columns);
            let left = body.left + across * (column + 130);
            let top = body.top + down * (row + 30) + HEADING;
            let plot = Rect {
                left: left + shared,
                top,
                right: left + column - beside.unwrap_or(40),
                bottom: top + plot_height,
            };
            let panel = Panel::new(canvas, plot, connection_scale(points), axis.scale());
            let (what, unit) = QUANTITIES[*index];
            panel.heading(&axis.caption(what, unit), left, left + column);
            panel.vertical(axis);
            panel.horizontal(&ticks, true);
            if nth + columns >= count {
                panel.caption("connections (log scale)");
            }
            draw_points(canvas, &panel, *index, axis, points, &series);
            if beside.is_some() {
                let ends = series.iter().enumerate().filter_map(|(number, name)| {
                    let of_it = points.iter().filter(|point| point.series == *name);
                    let last = of_it.rev().find(|point| point.values[*index].is_some())?;
                    let value = last.values[*index]?;
                    let at = panel.at(last.connections as f64, axis.within(value));
                    Some(End { at, text: (*name).to_owned(), series: number })
                });
                draw_ends(canvas, plot, ends.collect());
            }
        }
        if !bursts.is_empty() {
            let top = body.bottom - burst_height + HEADING + 30;
            draw_bursts(canvas, Rect { top, ..body }, bursts);
        }
    })?;
    let mut said = vec![format!("{failed} failed requests at all points together")];
    if !bursts.is_empty() {
        said.push("bursts: instances are those at the end of each".to_owned());
    }
    Ok(Drawn::Figure(Figure {
        name: Name::Sweep,
        title: format!("{title}: {subtitle}"),
        alt: alt(points, &series),
        notes: source.notes(said, &[]),
        scene,
    }))
}

fn reach(points: &[Point]) -> (i64, i64) {
    let all = || points.iter().map(|point| point.connections);
    (all().min().unwrap_or(1), all().max().unwrap_or(1))
}

fn connection_scale(points: &[Point]) -> Scale {
    let (least, most) = reach(points);
    Scale::log(0.85 * least as f64, 1.15 * most as f64)
}

fn axis(index: usize, points: &[Point]) -> Axis {
    let values = || points.iter().filter_map(|point| point.values[index]);
    if index == 2 {
        // Instances are whole.
        let most = values().fold(1.0, f64::max);
        let mut axis = Axis::linear(0.0, most, 4);
        axis.ticks.retain(|(value, _)| value.fract() == 0.0);
        return axis;
    }
    Axis::of(values(), 4)
}

/// How many of few series are drawn over one: it is drawn larger, to be seen
/// where they coincide.
fn beneath(number: usize, count: usize) -> u32 {
    u32::try_from((count - 1 - number).min(2)).unwrap_or(0)
}

fn of<'p>(points: &'p [Point], series: &'p str) -> impl Iterator<Item = &'p Point> {
    points.iter().filter(move |point| point.series == series)
}

fn draw_points(
    canvas: &Canvas<'_>,
    panel: &Panel<'_, '_>,
    index: usize,
    axis: &Axis,
    points: &[Point],
    series: &[&str],
) {
    let place = |point: &Point| {
        let value = point.values[index]?;
        Some((point.connections as f64, axis.within(value)))
    };
    for (number, name) in series.iter().enumerate() {
        let curve: Vec<(f64, f64)> = of(points, name).filter_map(place).collect();
        panel.curve(&curve, Ink::Series(number), 11 + 5 * beneath(number, series.len()));
    }
    let (what, unit) = QUANTITIES[index];
    for (number, name) in series.iter().enumerate() {
        for point in of(points, name) {
            let Some((x, y)) = place(point) else { continue };
            let shown = point.values[index].map(figure).unwrap_or_default();
            let failed = match point.errors {
                0 => String::new(),
                errors => format!(", {errors} failed requests"),
            };
            let text = format!("{name}, {} connections: {what} {shown} {unit}", point.connections);
            let text = format!("{}{failed}", text.trim_end());
            let value = point.values[index].unwrap_or_default().to_string();
            let connections = point.connections.to_string();
            let data = [
                ("scenario", point.series.as_str()),
                ("connections", &connections),
                ("quantity", what),
                ("value", &value),
            ];
            canvas.mark(&text, &data, || {
                let radius = 18 + i32::try_from(3 * beneath(number, series.len())).unwrap_or(0);
                canvas.symbol(panel.at(x, y), number, radius, point.errors > 0);
            });
        }
    }
}

fn draw_bursts(canvas: &Canvas<'_>, body: Rect, bursts: &[Burst]) {
    let look = Type::new(SMALL);
    let heading = Type::new(super::canvas::TEXT);
    let connections = bursts[0].connections;
    let to = if bursts.iter().all(|burst| burst.connections == connections) {
        format!(" to {} connections", super::scale::number(connections as f64))
    } else {
        String::new()
    };
    let text = format!("bursts from idle{to}, one after the other");
    let text = heading.fitted(&text, body.width());
    canvas.text((body.left, body.top - 40), &text, heading);
    let names = bursts.iter().map(|burst| look.width(&burst.name)).max().unwrap_or(0);
    let names = names.min(body.width() / 3) + 40;
    let texts = bursts.iter().map(|burst| look.width(&burst.text())).max().unwrap_or(0) + 40;
    let room = (body.width() - names - texts).max(100);
    let most = bursts.iter().map(|burst| burst.rps).fold(0.0, f64::max);
    for (index, burst) in bursts.iter().enumerate() {
        let top = body.top + i32::try_from(index).unwrap_or(0) * BAR;
        let middle = top + BAR / 2;
        let name = look.fitted(&burst.name, names - 40);
        canvas.text((body.left, middle), &name, look.middle());
        let share = if most > 0.0 { burst.rps / most } else { 0.0 };
        let left = body.left + names;
        let right = left + (f64::from(room) * share).round() as i32;
        let value = format!("{}: {}", burst.name, burst.text());
        let number = burst.rps.to_string();
        canvas.mark(&value, &[("value", &number)], || {
            let bar = Rect { left, top: top + 25, right, bottom: top + BAR - 25 };
            if burst.voided {
                canvas.edge(bar, Ink::Series(4), 6);
            } else {
                canvas.fill(bar, Ink::Series(4), 0.55);
            }
        });
        let text = look.fitted(&burst.text(), body.right - right - 30);
        canvas.text((right + 30, middle), &text, look.middle());
    }
}

fn alt(points: &[Point], series: &[&str]) -> String {
    let sentences: Vec<String> = series
        .iter()
        .map(|name| {
            let of_it = || points.iter().filter(|point| point.series == *name);
            let best = of_it()
                .filter(|point| point.values[0].is_some())
                .max_by(|a, b| a.values[0].unwrap_or(0.0).total_cmp(&b.values[0].unwrap_or(0.0)));
            let best = best.map_or_else(String::new, |point| {
                format!(
                    " {} requests/s at most, with {} connections",
                    figure(point.values[0].unwrap_or(0.0)),
                    point.connections
                )
            });
            format!("{name}{best}")
        })
        .collect();
    format!("Throughput against connections: {}.", listed(&sentences))
}
