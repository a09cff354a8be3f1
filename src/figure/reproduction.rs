//! One run against another: the relative gap of every cell that both have, over
//! its throughput, with the band within which nothing counts.

use std::collections::BTreeSet;

use super::canvas::{Canvas, Rect, SMALL, Type};
use super::data::{Cell, Place, Source, lets, listed, unavailable};
use super::frame::{Frame, Key, Symbol};
use super::ink::Ink;
use super::panel::{CAPTION, HEADING, Panel, TICKS, ticks_width};
use super::scale::{Axis, figure};
use super::scene::At;
use super::{Drawn, Figure, FigureError, Name, Request, Width};
use crate::report::{Facts, View, differences, footnotes, method_notes};

/// A cell that both runs have.
struct Pair {
    server: String,
    place: Place,
    a: f64,
    b: f64,
    /// (B − A) / A.
    gap: f64,
    outcome: String,
    /// Whether A and B are lower bounds.
    bounds: (bool, bool),
    interval_a: Option<(f64, f64)>,
    /// B's interval against A's mean.
    interval_gap: Option<(f64, f64)>,
}

pub fn draw(request: &Request<'_>) -> Result<Drawn, FigureError> {
    let Some(against) = request.against else {
        return unavailable("no other run to set it against: --against names one");
    };
    if against == request.run {
        return unavailable("a run always reproduces itself: --against names another");
    }
    // Whether the run reproduces the one that it is set against.
    let a = Source::new(request.session, against)?;
    let b = Source::of(request)?;
    let literal = |run: &str| format!("'{}'", run.replace('\'', "''"));
    let sql = format!("SELECT * FROM reproduce({}, {})", literal(against), literal(request.run));
    let view = b.ask("reproduce", &sql)?;
    let pairs = pairs(request, &a, &b, &view)?;
    if pairs.is_empty() {
        return unavailable(if view.is_empty() {
            "the two runs have no cell in common"
        } else {
            "no cell that both runs have matches"
        });
    }
    compose(request, &a, &b, &pairs)
}

fn pairs(
    request: &Request<'_>,
    a: &Source<'_>,
    b: &Source<'_>,
    view: &View,
) -> Result<Vec<Pair>, FigureError> {
    // The places of both runs differ in their tiers alone.
    let places = [Place::read(&tiered(view, "tier_a")?)?, Place::read(&tiered(view, "tier_b")?)?];
    let servers = view.names("server")?;
    let (target_a, target_b) = (view.names("target_a")?, view.names("target_b")?);
    let (rps_a, rps_b) = (view.floats("rps_mean_a")?, view.floats("rps_mean_b")?);
    let (gaps, outcomes) = (view.floats("gap")?, view.names("outcome")?);
    let cells_a = a.cells(&super::Filter::default())?;
    let cells_b = b.cells(&super::Filter::default())?;
    // Its interval, and whether it is a lower bound.
    let known = |cells: &[Cell], place: &Place, target: &str| {
        let is_it = |cell: &&Cell| cell.place == *place && cell.target == target;
        cells.iter().find(is_it).map_or((None, false), |cell| (cell.interval, cell.lower_bound))
    };
    let mut pairs = Vec::new();
    for row in 0..view.len() {
        let (in_a, in_b) = (&places[0][row], &places[1][row]);
        let (Some(rps_a), Some(rps_b), Some(gap)) = (rps_a[row], rps_b[row], gaps[row]) else {
            continue;
        };
        let filter = &request.filter;
        let names = [&servers[row], &target_a[row], &target_b[row]];
        let is_shown = (in_a.passes(filter) || in_b.passes(filter))
            && names.iter().any(|name| lets(&filter.targets, name));
        if !is_shown || rps_a <= 0.0 {
            continue;
        }
        let relative = |value: f64| value / rps_a - 1.0;
        let (interval_a, bound_a) = known(&cells_a, in_a, &target_a[row]);
        let (interval_b, bound_b) = known(&cells_b, in_b, &target_b[row]);
        pairs.push(Pair {
            server: servers[row].clone(),
            place: in_b.clone(),
            a: rps_a,
            b: rps_b,
            gap,
            outcome: outcomes[row].clone(),
            bounds: (bound_a, bound_b),
            interval_a,
            interval_gap: interval_b.map(|(low, high)| (relative(low), relative(high))),
        });
    }
    pairs.sort_by(|x, y| (&x.server, &x.place).cmp(&(&y.server, &y.place)));
    Ok(pairs)
}

/// The view with one of its columns of tiers as its tier.
fn tiered(view: &View, column: &str) -> Result<View, FigureError> {
    use arrow::array::RecordBatch;
    use arrow::datatypes::{Field, Schema};
    let batch = view.batch();
    let rename = |field: &std::sync::Arc<Field>| {
        let name = if field.name() == column { "tier" } else { field.name() };
        field.as_ref().clone().with_name(name)
    };
    let fields: Vec<Field> = batch.schema().fields().iter().map(rename).collect();
    let schema = std::sync::Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(std::sync::Arc::clone(&schema), batch.columns().to_vec())
        .map_err(FigureError::drawing)?;
    Ok(View::new("reproduce", &schema, &[batch])?)
}

fn compose(
    request: &Request<'_>,
    a: &Source<'_>,
    b: &Source<'_>,
    pairs: &[Pair],
) -> Result<Drawn, FigureError> {
    let floor = b.rule().tie_floor;
    let servers: Vec<&str> = pairs
        .iter()
        .map(|pair| pair.server.as_str())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let summaries: Vec<String> = servers.iter().map(|server| summary(pairs, server)).collect();
    // A server has the colour of its target, where it has one target.
    let series = |server: &str| {
        let targets = &b.judged.targets;
        targets.values().position(|known| known == server).unwrap_or(0)
    };
    let legend: Vec<Key> = servers
        .iter()
        .zip(&summaries)
        .map(|(server, text)| Key::new(Symbol::Mark(series(server)), format!("{server}: {text}")))
        .collect();
    let percent = super::scale::number((1000.0 * floor).round() / 10.0);
    let mut keys = vec![Key::new(Symbol::Band, format!("tie band: ±{percent}%"))];
    let has = |outcome: &str| pairs.iter().any(|pair| pair.outcome == outcome);
    if pairs.iter().any(|pair| pair.interval_gap.is_some() || pair.interval_a.is_some()) {
        let text = format!("{} intervals of both runs", b.confidence());
        keys.push(Key::new(Symbol::Interval, text));
    }
    if has("void") {
        keys.push(Key::new(Symbol::Hollow, "void in either run: voided by the guard"));
    }
    if pairs.iter().any(|pair| pair.bounds != (false, false)) {
        let text = "a run's figure is a lower bound: the gap may lie further that way";
        keys.push(Key::new(Symbol::Arrow, text));
    }
    if has("higher") || has("lower") {
        keys.push(Key::new(Symbol::None, "named: not a tie, its intervals do not touch"));
    }
    let title = "Reproduction";
    let subtitle = format!("run {} against {}", request.run, a.judged.run);
    let frame = Frame::new(request.width, title, &subtitle, &legend, &keys);

    let x = pairs.iter().flat_map(|pair| {
        let (low, high) = pair.interval_a.unwrap_or((pair.a, pair.a));
        [pair.a, if low > 0.0 { low } else { pair.a }, high]
    });
    let x = Axis::of(x, if request.width == Width::Page { 8 } else { 5 });
    let gaps = pairs.iter().flat_map(|pair| {
        let (low, high) = pair.interval_gap.unwrap_or((pair.gap, pair.gap));
        [pair.gap, low.max(-1.0), high]
    });
    let gaps = gaps.chain([-floor, floor]).map(|gap| 100.0 * gap);
    let (low, high) = gaps.fold((0.0_f64, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    let mut y = Axis::linear(low, high, 6);
    for (value, text) in &mut y.ticks {
        *text = format!("{}{text}%", if *value > 0.0 { "+" } else { "" });
    }

    let plot_height = if request.width == Width::Page { 1800 } else { 1300 };
    let scene = frame.draw(HEADING + plot_height + TICKS + CAPTION, |canvas, body| {
        let plot = Rect {
            left: body.left + ticks_width(&y),
            top: body.top + HEADING,
            right: body.right - 80,
            bottom: body.top + HEADING + plot_height,
        };
        let panel = Panel::new(canvas, plot, x.scale(), y.scale());
        let left = x.ends.0;
        let (_, upper) = panel.at(left, 100.0 * floor);
        let (_, lower) = panel.at(left, -100.0 * floor);
        canvas.fill(Rect { top: upper, bottom: lower, ..plot }, Ink::Band, 1.0);
        panel.heading("gap of throughput against the other run", body.left, body.right);
        panel.vertical(&y);
        let (_, zero) = panel.at(left, 0.0);
        canvas.line(&[(plot.left, zero), (plot.right, zero)], Ink::Axis, 6);
        panel.horizontal(&x.ticks, true);
        panel.caption(&x.caption("throughput of the other run", "requests/s"));
        let mut taken: Vec<Rect> = Vec::new();
        for pair in pairs {
            let at = panel.at(pair.a, 100.0 * pair.gap);
            taken.push(around(at, 24));
            if let Some((low, high)) = pair.interval_gap {
                let (x, top) = panel.at(pair.a, y.within(100.0 * high));
                let (_, bottom) = panel.at(pair.a, y.within(100.0 * low));
                taken.push(Rect { left: x - 5, top, right: x + 5, bottom });
            }
            if let Some((low, high)) = pair.interval_a {
                let (left, y) = panel.at(x.within(low), 100.0 * pair.gap);
                let (right, _) = panel.at(x.within(high), 100.0 * pair.gap);
                taken.push(Rect { left, top: y - 5, right, bottom: y + 5 });
            }
            draw_pair(canvas, &panel, &x, &y, pair, series(&pair.server));
        }
        let mut far: Vec<&Pair> =
            pairs.iter().filter(|pair| matches!(&*pair.outcome, "higher" | "lower")).collect();
        far.sort_by(|x, y| y.gap.abs().total_cmp(&x.gap.abs()));
        for pair in far {
            let at = panel.at(pair.a, 100.0 * pair.gap);
            let tier = pair.place.tier.as_ref().map(|tier| format!(", tier {tier}"));
            let text = format!("{}{}", pair.place.text(), tier.unwrap_or_default());
            name(canvas, plot, &mut taken, at, &text, series(&pair.server));
        }
    })?;
    let mut said = vec![format!("gap: (B − A) / A, A {}, B {}", a.judged.run, b.judged.run)];
    for pair in pairs.iter().filter(|pair| pair.outcome == "void") {
        said.push(format!("hollow: {}, {}: voided by the guard", pair.server, pair.place.text()));
    }
    for pair in pairs {
        let of = match pair.bounds {
            (true, true) => "A and B",
            (true, false) => "A",
            (false, true) => "B",
            (false, false) => continue,
        };
        let place = pair.place.text();
        said.push(format!(
            "lower bound: {}, {place}: {of}, the generator was near its limit",
            pair.server
        ));
    }
    said.extend(comparable(request, a, b)?);
    let stamps = [a.stamp.clone(), b.stamp.clone()];
    let alt: Vec<String> =
        servers.iter().zip(&summaries).map(|(server, text)| format!("{server} {text}")).collect();
    Ok(Drawn::Figure(Figure {
        name: Name::Reproduction,
        title: format!("{title}: {subtitle}"),
        alt: format!("Gap of throughput in {} cells: {}.", pairs.len(), listed(&alt)),
        notes: {
            said.extend(method_notes(&stamps, &[]));
            footnotes(&stamps, said)
        },
        scene,
    }))
}

/// How many cells of a server are ties, and its largest gap.
fn summary(pairs: &[Pair], server: &str) -> String {
    let of_it: Vec<&Pair> = pairs.iter().filter(|pair| pair.server == server).collect();
    let ties = of_it.iter().filter(|pair| pair.outcome == "tie").count();
    let largest = of_it.iter().map(|pair| pair.gap).max_by(|x, y| x.abs().total_cmp(&y.abs()));
    let change = crate::report::figure::change(largest);
    format!("{ties} of {} tie, largest gap {change}", of_it.len())
}

fn draw_pair(
    canvas: &Canvas<'_>,
    panel: &Panel<'_, '_>,
    x: &Axis,
    y: &Axis,
    pair: &Pair,
    series: usize,
) {
    let at = panel.at(pair.a, 100.0 * pair.gap);
    let tier = pair.place.tier.as_ref().map(|tier| format!("tier {tier}, ")).unwrap_or_default();
    let bounded = |value: f64, is_bound: bool| {
        format!("{}{}", if is_bound { "≥ " } else { "" }, figure(value))
    };
    let (bound_a, bound_b) = pair.bounds;
    let value = format!(
        "{}, {tier}{}: {} against {} requests/s, {}, {}",
        pair.server,
        pair.place.text(),
        bounded(pair.b, bound_b),
        bounded(pair.a, bound_a),
        crate::report::figure::change(Some(pair.gap)),
        pair.outcome
    );
    let gap = pair.gap.to_string();
    let data = [
        ("target", pair.server.as_str()),
        ("class", pair.place.class.as_str()),
        ("outcome", pair.outcome.as_str()),
        ("value", gap.as_str()),
    ];
    let ink = Ink::Series(series);
    canvas.mark(&value, &data, || {
        if let Some((low, high)) = pair.interval_gap {
            let from = panel.at(pair.a, y.within(100.0 * low));
            let to = panel.at(pair.a, y.within(100.0 * high));
            canvas.line(&[from, to], ink, 6);
        }
        if let Some((low, high)) = pair.interval_a {
            let from = panel.at(x.within(low), 100.0 * pair.gap);
            let to = panel.at(x.within(high), 100.0 * pair.gap);
            canvas.line(&[from, to], ink, 6);
        }
        // B may be more, and A: where both are, the gap may lie on either side.
        if bound_b {
            canvas.arrow(at, 18, ink);
        }
        if bound_a {
            canvas.arrow_down(at, 18, ink);
        }
        canvas.symbol(at, series, 18, pair.outcome == "void");
    });
}

fn around(at: At, radius: i32) -> Rect {
    let (x, y) = at;
    Rect { left: x - radius, top: y - radius, right: x + radius, bottom: y + radius }
}

/// Writes a name beside a mark, where it covers neither marks nor names; not at
/// all, where there is no such place: the mark says it under the pointer.
fn name(canvas: &Canvas<'_>, plot: Rect, taken: &mut Vec<Rect>, at: At, text: &str, series: usize) {
    let look = Type::new(SMALL).ink(Ink::Series(series));
    let width = look.width(text);
    let lefts = [at.0 + 35, at.0 - 35 - width, at.0 - width / 2, at.0 + 20 - width];
    for middle in [0, -75, 75, -140, 140, -210, 210].map(|away| at.1 + away) {
        for left in lefts {
            let place = Rect { left, top: middle - 40, right: left + width, bottom: middle + 40 };
            let is_inside = place.left >= plot.left
                && place.right <= plot.right
                && place.top >= plot.top
                && place.bottom <= plot.bottom;
            let is_free = taken.iter().all(|other| {
                place.left > other.right
                    || place.right < other.left
                    || place.top > other.bottom
                    || place.bottom < other.top
            });
            if is_inside && is_free {
                canvas.text((left, middle), text, look.middle());
                taken.push(place);
                return;
            }
        }
    }
}

/// Whether the apparatus of the two runs differs, as far as is recorded.
fn comparable(
    request: &Request<'_>,
    a: &Source<'_>,
    b: &Source<'_>,
) -> Result<Vec<String>, FigureError> {
    let ask = |name: &'static str, sql: &str| -> Result<View, FigureError> {
        let answer = request.session.query(sql)?;
        Ok(View::new(name, &answer.schema, &answer.batches)?)
    };
    let runs = ask("runs", "SELECT * FROM runs")?;
    let workers = ask(
        "rungs",
        "SELECT DISTINCT run, generator_workers FROM rungs ORDER BY run, generator_workers",
    )?;
    let pins = ask("pins", "SELECT * FROM pins")?;
    let facts = |source: &Source<'_>| {
        let promised = source.judged.selected.protocol.workload.generator_workers;
        Facts::read(&source.judged.run, &runs, &workers, &pins, promised)
    };
    let differing: Vec<String> = differences(&facts(a)?, &facts(b)?)
        .into_iter()
        .filter(|difference| difference.apparatus)
        .map(|difference| difference.what)
        .collect();
    Ok(if differing.is_empty() {
        Vec::new()
    } else {
        vec![format!("not comparable: the apparatus differs in {}", listed(&differing))]
    })
}
