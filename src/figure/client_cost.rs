//! What a response costs the client: CPU per request against response size, each
//! rung a mark, with the fitted lines.

use super::canvas::Rect;
use super::data::{Place, Source, listed, unavailable};
use super::frame::{Frame, Key, Symbol};
use super::ink::Ink;
use super::panel::{CAPTION, HEADING, Panel, TICKS, ticks_width};
use super::scale::{Axis, figure};
use super::{Drawn, Figure, FigureError, Name, Request, Width};
use crate::report::View;

/// A rung.
struct Rung {
    name: String,
    target: String,
    mib: f64,
    cost_ms: f64,
    voided: bool,
}

/// A fitted line, with the ends of its intervals.
struct Line {
    target: String,
    a: f64,
    b: f64,
    intervals: Option<[(f64, f64); 2]>,
    r_squared: Option<f64>,
    rungs: i64,
    excluded: i64,
}

pub fn draw(request: &Request<'_>) -> Result<Drawn, FigureError> {
    let source = Source::of(request)?;
    if let Some(why) = source.without_rungs()? {
        return unavailable(why);
    }
    let view = source.ask(
        "judged_rungs",
        "SELECT *, mean_response_bytes / 1048576.0 AS mib, \
           CASE WHEN generator_cpu_s IS NOT NULL AND requests > 0 \
             THEN 1e3 * generator_cpu_s / requests END AS total_ms, \
           CASE WHEN generator_cpu_s IS NULL AND rps > 0 \
             THEN 1e3 * generator_cpu_peak / rps END AS peak_ms \
         FROM judged_rungs WHERE run = $run",
    )?;
    let total = rungs(&view, "total_ms", request)?;
    let peak = rungs(&view, "peak_ms", request)?;
    // The two are never to be compared: one figure shows one of them.
    let (basis, shown, other) = if total.is_empty() {
        ("cpu_peak", peak, 0)
    } else {
        let others = peak.len();
        ("cpu_total", total, others)
    };
    if shown.is_empty() {
        return unavailable(
            "no rung that matches tells both its response size and the generator's CPU",
        );
    }
    let lines = lines(&source, basis, &shown)?;
    compose(&source, request, basis, &shown, &lines, other)
}

fn rungs(view: &View, cost: &str, request: &Request<'_>) -> Result<Vec<Rung>, FigureError> {
    let places = Place::read(view)?;
    let (names, targets) = (view.names("rung")?, view.names("target")?);
    let (sizes, costs, voided) = (view.floats("mib")?, view.floats(cost)?, view.flags("voided")?);
    let mut rungs = Vec::new();
    for (row, place) in places.iter().enumerate() {
        let (Some(mib), Some(cost_ms)) = (sizes[row], costs[row]) else { continue };
        if place.passes(&request.filter)
            && super::data::lets(&request.filter.targets, &targets[row])
        {
            let (name, target) = (names[row].clone(), targets[row].clone());
            rungs.push(Rung { name, target, mib, cost_ms, voided: voided[row].unwrap_or(false) });
        }
    }
    rungs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(rungs)
}

fn lines(source: &Source<'_>, basis: &str, rungs: &[Rung]) -> Result<Vec<Line>, FigureError> {
    let view = source.ask("client_cost", "SELECT * FROM client_cost WHERE run = $run")?;
    let (targets, bases) = (view.names("target")?, view.names("basis")?);
    let column = |name: &str| view.floats(name);
    let (a, a_low, a_high) = (column("a_s_per_request")?, column("a_low")?, column("a_high")?);
    let (b, b_low, b_high) = (column("b_s_per_mib")?, column("b_low")?, column("b_high")?);
    let r_squared = column("r_squared")?;
    let (counts, excluded) = (view.ints("rungs")?, view.ints("excluded")?);
    let mut lines = Vec::new();
    for row in 0..view.len() {
        let is_shown = rungs.iter().any(|rung| rung.target == targets[row]);
        let (Some(a), Some(b)) = (a[row], b[row]) else { continue };
        if bases[row] != basis || !is_shown {
            continue;
        }
        let intervals = a_low[row].zip(a_high[row]).zip(b_low[row].zip(b_high[row]));
        lines.push(Line {
            target: targets[row].clone(),
            a: 1e3 * a,
            b: 1e3 * b,
            intervals: intervals.map(|(a, b)| [a, b].map(|(low, high)| (1e3 * low, 1e3 * high))),
            r_squared: r_squared[row],
            rungs: counts[row].unwrap_or(0),
            excluded: excluded[row].unwrap_or(0),
        });
    }
    lines.sort_by(|a, b| a.target.cmp(&b.target));
    Ok(lines)
}

impl Line {
    fn at(&self, mib: f64) -> f64 {
        self.a + self.b * mib
    }

    /// Its formula in words.
    fn text(&self) -> String {
        let half = |index: usize| {
            self.intervals.map(|ends| (ends[index].1 - ends[index].0) / 2.0).unwrap_or_default()
        };
        let part = |value: f64, half: f64, unit: &str| {
            if self.intervals.is_some() {
                format!("{value:.2} ±{half:.2} {unit}").replace('-', "−")
            } else {
                format!("{value:.2} {unit}").replace('-', "−")
            }
        };
        let fit = self.r_squared.map(|r| format!(", R² {r:.3}")).unwrap_or_default();
        format!("{} + {}{fit}", part(self.a, half(0), "ms"), part(self.b, half(1), "ms/MiB"))
    }
}

fn compose(
    source: &Source<'_>,
    request: &Request<'_>,
    basis: &str,
    rungs: &[Rung],
    lines: &[Line],
    other: usize,
) -> Result<Drawn, FigureError> {
    let names = source.names();
    let name = |target: &str| names.get(target).cloned().unwrap_or_else(|| target.to_owned());
    let mut targets: Vec<&str> = rungs.iter().map(|rung| rung.target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    let line_of = |target: &str| lines.iter().find(|line| line.target == target);
    let legend: Vec<Key> = targets
        .iter()
        .map(|target| {
            let text = line_of(target).map_or_else(|| "no line".to_owned(), Line::text);
            let symbol = match line_of(target) {
                Some(_) => Symbol::Series(source.series(target)),
                None => Symbol::Mark(source.series(target)),
            };
            Key::new(symbol, format!("{}: {text}", name(target)))
        })
        .collect();
    let mut keys = vec![Key::new(
        Symbol::None,
        format!("each mark a rung; lines by least squares, {} intervals", source.confidence()),
    )];
    let void = rungs.iter().filter(|rung| rung.voided).count();
    if void > 0 {
        let text = "void, not in the fit: the load generator was at its limit";
        keys.push(Key::new(Symbol::Hollow, text));
    }
    let title = "Client cost";
    let kind = match basis {
        "cpu_total" => "CPU time of the whole load generator",
        _ => "peak CPU of the busiest generator worker over the rate of all: understated",
    };
    let frame = Frame::new(request.width, title, kind, &legend, &keys);
    let sizes = rungs.iter().map(|rung| rung.mib);
    let x = Axis::linear(0.0, sizes.fold(0.0, f64::max), 6);
    let reach = |line: &Line| {
        let of_it = rungs.iter().filter(|rung| rung.target == line.target).map(|rung| rung.mib);
        of_it.fold((f64::INFINITY, 0.0), |(low, high), mib| (mib.min(low), mib.max(high)))
    };
    let ends = lines.iter().flat_map(|line| [line.at(reach(line).0), line.at(reach(line).1)]);
    let costs = rungs.iter().map(|rung| rung.cost_ms).chain(ends);
    let (low, high) = costs.fold((0.0_f64, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    let y = Axis::linear(low, high, 6);

    let plot_height = if request.width == Width::Page { 1900 } else { 1300 };
    let scene = frame.draw(HEADING + plot_height + TICKS + CAPTION, |canvas, body| {
        let plot = Rect {
            left: body.left + ticks_width(&y),
            top: body.top + HEADING,
            right: body.right - 60,
            bottom: body.top + HEADING + plot_height,
        };
        let panel = Panel::new(canvas, plot, x.scale(), y.scale());
        panel.heading(&y.caption("client CPU per request", "ms"), body.left, body.right);
        panel.vertical(&y);
        panel.horizontal(&x.ticks, true);
        panel.caption(&x.caption("mean response size", "MiB"));
        for rung in rungs {
            let at = panel.at(rung.mib, rung.cost_ms);
            let void = if rung.voided { ", void: stopped by the guard" } else { "" };
            let value = format!(
                "{}: {} MiB, {} ms{void}",
                rung.name,
                figure(rung.mib),
                figure(rung.cost_ms)
            );
            let (mib, cost) = (rung.mib.to_string(), rung.cost_ms.to_string());
            let data = [("target", rung.target.as_str()), ("x", &mib), ("value", &cost)];
            canvas.mark(&value, &data, || {
                canvas.symbol(at, source.series(&rung.target), 15, rung.voided);
            });
        }
        for line in lines {
            let (from, to) = reach(line);
            let points = [(from, line.at(from)), (to, line.at(to))];
            canvas.mark(
                &format!("{}: {}", line.target, line.text()),
                &[("target", &line.target)],
                || {
                    panel.curve(&points, Ink::Series(source.series(&line.target)), 14);
                },
            );
        }
    })?;

    let mut said = vec![format!("basis {basis}: {kind}")];
    for line in lines {
        said.push(format!(
            "{}: {} rungs in the fit, {} left out",
            line.target, line.rungs, line.excluded
        ));
    }
    if void > 0 {
        said.push(format!("hollow: {void} rungs voided by the guard, not in the fit"));
    }
    if other > 0 {
        said.push(format!("{other} rungs with the basis cpu_peak are not shown"));
    }
    if request.filter != super::Filter::default() {
        said.push("the lines are fitted to all rungs of a target, also those not shown".to_owned());
    }
    let sentence = |target: &&str| {
        let text = line_of(target).map_or_else(|| "no line can be fitted".to_owned(), Line::text);
        format!("{} {text}", name(target))
    };
    let sentences: Vec<String> = targets.iter().map(sentence).collect();
    Ok(Drawn::Figure(Figure {
        name: Name::ClientCost,
        title: format!("{title}: {kind}"),
        alt: format!(
            "Client CPU per request against response size over {} rungs: {}.",
            rungs.len(),
            listed(&sentences)
        ),
        notes: source.notes(said, &[]),
        scene,
    }))
}
