//! N instances against N times one, and against one instance with N event loops:
//! a row for each scenario, a mark for each N.

use super::canvas::{Canvas, Rect, SMALL, TEXT, Type};
use super::data::{Place, Source, lets, listed, unavailable};
use super::frame::{Frame, Key, Symbol};
use super::ink::Ink;
use super::panel::{CAPTION, HEADING, Panel, TICKS};
use super::scale::{Axis, Scale, figure};
use super::{Drawn, Figure, FigureError, Name, Request, Width};

const ROW: i32 = 120;

/// A scenario with so many instances.
struct Step {
    row: String,
    instances: i64,
    rps: f64,
    efficiency: Option<f64>,
    vs_loops: Option<f64>,
}

pub fn draw(request: &Request<'_>) -> Result<Drawn, FigureError> {
    let source = Source::of(request)?;
    let view = source.ask(
        "instance_scaling",
        "SELECT * FROM instance_scaling WHERE run = $run AND coalesce(loops, 1) = 1",
    )?;
    if view.is_empty() {
        return unavailable("no scenario was measured with prescribed instances");
    }
    let (targets, instances) = (view.names("target")?, view.ints("instances")?);
    let rps = view.floats("rps_median")?;
    let (efficiency, vs_loops) = (view.floats("efficiency")?, view.floats("vs_loops")?);
    let mut many: Vec<&String> = targets.iter().collect();
    many.sort();
    many.dedup();
    let mut steps = Vec::new();
    for (row, place) in Place::read(&without_counts(&source)?)?.into_iter().enumerate() {
        if !place.passes(&request.filter) || !lets(&request.filter.targets, &targets[row]) {
            continue;
        }
        let mut name = place.text();
        if many.len() > 1 {
            name = format!("{}, {name}", targets[row]);
        }
        if let Some(tier) = &place.tier {
            name += &format!(", tier {tier}");
        }
        if !place.variant.is_empty() {
            name += &format!(", {}", place.variant);
        }
        let (Some(instances), Some(rps)) = (instances[row], rps[row]) else { continue };
        let (efficiency, vs_loops) = (efficiency[row], vs_loops[row]);
        steps.push(Step { row: name, instances, rps, efficiency, vs_loops });
    }
    let is_shown = |step: &Step| step.instances > 1 && step.efficiency.or(step.vs_loops).is_some();
    if !steps.iter().any(is_shown) {
        return unavailable("nothing that matches was measured with one instance and with more");
    }
    compose(&source, request, &steps)
}

/// The same rows without the columns that tell steps apart: what is left names
/// their scenario.
fn without_counts(source: &Source<'_>) -> Result<crate::report::View, FigureError> {
    source.ask(
        "instance_scaling",
        "SELECT tier, response_format, query_class, concurrency, mode, loop, offered_rps \
         FROM instance_scaling WHERE run = $run AND coalesce(loops, 1) = 1",
    )
}

/// What a panel shows.
struct Plot {
    what: &'static str,
    value: fn(&Step) -> Option<f64>,
}

const PLOTS: [Plot; 2] = [
    Plot { what: "efficiency: N instances over N × one", value: |step| step.efficiency },
    Plot { what: "N instances over one with N event loops", value: |step| step.vs_loops },
];

fn look() -> Type {
    Type::new(SMALL)
}

fn compose(
    source: &Source<'_>,
    request: &Request<'_>,
    steps: &[Step],
) -> Result<Drawn, FigureError> {
    let mut counts: Vec<i64> =
        steps.iter().map(|step| step.instances).filter(|count| *count > 1).collect();
    counts.sort_unstable();
    counts.dedup();
    let rows = rows(steps, counts[counts.len() - 1]);
    let plots: Vec<&Plot> = PLOTS
        .iter()
        .filter(|plot| steps.iter().any(|step| step.instances > 1 && (plot.value)(step).is_some()))
        .collect();
    let columns = if request.width == Width::Page { plots.len() } else { 1 };
    let columns = i32::try_from(columns).unwrap_or(1);
    let stacked = i32::try_from(plots.len()).unwrap_or(1) / columns;

    let inner = Frame::new(request.width, "", "", &[], &[]).inner();
    let names = rows.iter().map(|row| look().width(row)).max().unwrap_or(0);
    let names = names.min(inner * 2 / 5) + 40;
    let cell = look().width("N = 00").max(look().width("0.00")) + 40;
    let column = (inner - (columns - 1) * 170 - names) / columns;
    // Figures in columns of their own name the colours too.
    let numbers = i32::try_from(counts.len()).unwrap_or(1) * cell;
    let has_numbers = numbers * 2 <= column;
    let legend: Vec<Key> = if has_numbers {
        Vec::new()
    } else {
        let key =
            |(index, count): (usize, &i64)| Key::new(Symbol::Mark(index), format!("N = {count}"));
        counts.iter().enumerate().map(key).collect()
    };
    let keys =
        [Key::new(Symbol::None, "medians over the repetitions; the line at 1: nothing lost")];
    let title = "Instance scaling";
    let subtitle =
        format!("{}, 1 to {} instances", scenarios(rows.len()), counts[counts.len() - 1]);
    let frame = Frame::new(request.width, title, &subtitle, &legend, &keys);
    let rows_height = i32::try_from(rows.len()).unwrap_or(0) * ROW;
    let head = HEADING + if has_numbers { 0 } else { 20 };
    let height = stacked * (head + rows_height + TICKS) + (stacked - 1) * 40 + CAPTION / 3;
    let scene = frame.draw(height, |canvas, body| {
        for (index, plot) in plots.iter().enumerate() {
            let index = i32::try_from(index).unwrap_or(0);
            let (left, top) = if columns > 1 {
                (body.left + names + index * (column + 170), body.top + head)
            } else {
                (body.left + names, body.top + head + index * (head + rows_height + TICKS + 40))
            };
            let area = Rect { left, top, right: left + column, bottom: top + rows_height };
            // Names stand once for plots side by side.
            if columns == 1 || index == 0 {
                draw_names(canvas, body.left, area, &rows, names);
            }
            let heading = if columns == 1 || index == 0 { body.left } else { left };
            let width = if has_numbers { numbers } else { 0 };
            draw_plot(canvas, area, heading, width, plot, &rows, &counts, steps);
        }
    })?;

    let mut said =
        vec!["efficiency: rps(N) / (N × rps(1)), medians over the repetitions".to_owned()];
    let printed = source.ask(
        "published_instance_scaling",
        "SELECT query_class FROM published_instance_scaling WHERE run = $run LIMIT 1",
    )?;
    if !printed.is_empty() {
        said.push(
            "efficiency is computed from rates that were printed rounded; the ratio to event loops is as printed, since their own rates were not"
                .to_owned(),
        );
    }
    Ok(Drawn::Figure(Figure {
        name: Name::InstanceScaling,
        title: format!("{title}: {subtitle}"),
        alt: alt(&rows, &counts, steps),
        notes: source.notes(said, &[]),
        scene,
    }))
}

fn scenarios(count: usize) -> String {
    crate::report::figure::counted(count, "scenario")
}

/// The scenarios, those that scale best first.
fn rows(steps: &[Step], most: i64) -> Vec<String> {
    let mut rows: Vec<String> = steps.iter().map(|step| step.row.clone()).collect();
    rows.sort();
    rows.dedup();
    let reached = |row: &String| {
        let step = steps.iter().find(|step| step.row == *row && step.instances == most);
        step.and_then(|step| step.efficiency).unwrap_or(0.0)
    };
    rows.sort_by(|a, b| reached(b).total_cmp(&reached(a)));
    rows
}

fn row_middle(area: Rect, row: usize) -> i32 {
    area.top + i32::try_from(row).unwrap_or(0) * ROW + ROW / 2
}

fn draw_names(canvas: &Canvas<'_>, left: i32, area: Rect, rows: &[String], room: i32) {
    for (index, row) in rows.iter().enumerate() {
        let text = look().fitted(row, room - 40);
        canvas.text((left, row_middle(area, index)), &text, look().middle());
    }
}

#[allow(clippy::too_many_arguments)]
fn draw_plot(
    canvas: &Canvas<'_>,
    area: Rect,
    heading: i32,
    numbers: i32,
    plot: &Plot,
    rows: &[String],
    counts: &[i64],
    steps: &[Step],
) {
    let values = || {
        let more = steps.iter().filter(|step| step.instances > 1);
        more.filter_map(|step| (plot.value)(step))
    };
    let (low, high) =
        values().fold((1.0_f64, 1.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    // Ratios near 1 are read from their differences, others from their lengths.
    let low = if low > 0.8 { low - 0.02 } else { 0.0 };
    let axis = Axis::linear(low, high + 0.02, 6);
    let cell =
        if counts.is_empty() { 0 } else { numbers / i32::try_from(counts.len()).unwrap_or(1) };
    let plotted = Rect { right: area.right - numbers - 30, ..area };
    let panel = Panel::new(canvas, plotted, axis.scale(), Scale::linear(0.0, 1.0));
    let room = area.right - heading - if heading < area.left { numbers + 30 } else { 0 };
    let text = Type::new(TEXT).fitted(plot.what, room.max(plotted.width()));
    canvas.text((heading, area.top - 58), &text, Type::new(TEXT));
    panel.uprights(&axis.ticks);
    for index in 0..rows.len() {
        let y = row_middle(area, index);
        canvas.line(&[(plotted.left, y), (plotted.right, y)], Ink::Grid, 4);
    }
    let (one, _) = panel.at(1.0, 0.0);
    canvas.line(&[(one, area.top), (one, area.bottom)], Ink::Axis, 8);
    panel.horizontal(&axis.ticks, true);
    for (nth, count) in counts.iter().enumerate() {
        let ink = Ink::Series(nth);
        let right = area.right - numbers + (i32::try_from(nth).unwrap_or(0) + 1) * cell;
        if numbers > 0 {
            let text = format!("N = {count}");
            canvas.text((right, area.bottom + 90), &text, look().ink(ink).end());
        }
        for (index, row) in rows.iter().enumerate() {
            let is_it = |step: &&Step| step.row == *row && step.instances == *count;
            let Some(step) = steps.iter().find(is_it) else { continue };
            let Some(value) = (plot.value)(step) else { continue };
            // Marks of one row that coincide stand a little apart.
            let spread = i32::try_from(counts.len()).unwrap_or(1) - 1;
            let shift = (2 * i32::try_from(nth).unwrap_or(0) - spread) * (60 / (spread + 1)) / 2;
            let (x, _) = panel.at(axis.within(value), 0.0);
            let at = (x, row_middle(area, index) + shift);
            let text = format!(
                "{row}, {count} instances: {} {value:.2}, {} requests/s",
                plot.what.split(':').next().unwrap_or_default(),
                figure(step.rps)
            );
            let (instances, number) = (count.to_string(), value.to_string());
            let data = [("scenario", row.as_str()), ("instances", &instances), ("value", &number)];
            canvas.mark(&text, &data, || canvas.symbol(at, nth, 18, false));
            if numbers > 0 {
                let middle = row_middle(area, index);
                let number = format!("{value:.2}");
                canvas.text((right, middle), &number, look().ink(ink).end().middle());
            }
        }
    }
}

fn alt(rows: &[String], counts: &[i64], steps: &[Step]) -> String {
    let most = counts[counts.len() - 1];
    let sentences: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let step = steps.iter().find(|step| step.row == *row && step.instances == most)?;
            Some(format!("{row} {:.2}", step.efficiency?))
        })
        .collect();
    format!("Efficiency of {most} instances against {most} times one: {}.", listed(&sentences))
}
