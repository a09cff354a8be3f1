//! Percentiles of latency: a curve for each rung, from its own requests.

use std::collections::BTreeSet;

use super::canvas::Rect;
use super::data::{Filter, Place, Source, lets, listed, one, unavailable};
use super::frame::{Frame, Key, Symbol};
use super::ink::Ink;
use super::panel::{CAPTION, End, HEADING, Panel, TICKS, draw_ends, ends_width, ticks_width};
use super::scale::{Axis, Scale, figure};
use super::{Drawn, Figure, FigureError, Name, Request, Width};
use crate::stats::percentile::percentile;

/// More rungs than that are a cloud, not curves.
const MOST: usize = 60;

/// Where curves carry the symbol of their series.
const SYMBOLS: [f64; 3] = [0.5, 0.9, 0.99];

/// A rung and its curve.
struct Rung {
    name: String,
    target: String,
    place: Place,
    repetition: i64,
    voided: bool,
    /// Latencies of its successful requests in ms, in ascending order.
    latencies: Vec<f64>,
}

pub fn draw(request: &Request<'_>) -> Result<Drawn, FigureError> {
    let source = Source::of(request)?;
    if source.ask("requests", "SELECT rung FROM requests WHERE run = $run LIMIT 1")?.is_empty() {
        return unavailable("the run's single requests are not in the store");
    }
    let mut rungs = chosen(&source, &request.filter)?;
    if rungs.is_empty() {
        return unavailable("no rung matches");
    }
    if rungs.len() > MOST {
        return unavailable(format!(
            "{} rungs match, and no more than {MOST} curves can be told apart",
            rungs.len()
        ));
    }
    for rung in &mut rungs {
        let name = rung.name.replace('\'', "''");
        let view = source.ask(
            "requests",
            &format!(
                "SELECT 1e3 * latency_s AS ms FROM requests WHERE run = $run AND rung = '{name}' \
                 AND error IS NULL AND coalesce(status, 200) < 400"
            ),
        )?;
        rung.latencies = view.floats("ms")?.into_iter().flatten().collect();
        rung.latencies.sort_by(f64::total_cmp);
    }
    rungs.retain(|rung| !rung.latencies.is_empty());
    if rungs.is_empty() {
        return unavailable("the rungs that match have no successful request in the store");
    }
    compose(&source, request, &rungs)
}

/// The rungs of one class, format and number of connections, by default at the
/// largest tier.
fn chosen(source: &Source<'_>, filter: &Filter) -> Result<Vec<Rung>, FigureError> {
    let view = source.ask("judged_rungs", "SELECT * FROM judged_rungs WHERE run = $run")?;
    let (names, targets) = (view.names("rung")?, view.names("target")?);
    let (repetitions, voided) = (view.ints("repetition")?, view.flags("voided")?);
    let mut rungs = Vec::new();
    for (row, place) in Place::read(&view)?.into_iter().enumerate() {
        if place.passes(filter) && lets(&filter.targets, &targets[row]) {
            rungs.push(Rung {
                name: names[row].clone(),
                target: targets[row].clone(),
                place,
                repetition: repetitions[row].unwrap_or(0),
                voided: voided[row].unwrap_or(false),
                latencies: Vec::new(),
            });
        }
    }
    let found = rungs.iter().map(|rung| rung.place.class.clone()).collect();
    let first = |found: &BTreeSet<String>| found.first().cloned();
    let mix = ["mix".to_owned()];
    let class = one("query class", found, !filter.classes.is_empty(), &mix, first)?;
    rungs.retain(|rung| Some(&rung.place.class) == class.as_ref());
    let found = rungs.iter().map(|rung| rung.place.format.clone()).collect();
    let csv = ["csv".to_owned()];
    let format = one("response format", found, !filter.formats.is_empty(), &csv, first)?;
    rungs.retain(|rung| Some(&rung.place.format) == format.as_ref());
    let found = rungs.iter().map(|rung| rung.place.concurrency).collect();
    let most = |found: &BTreeSet<i64>| found.last().copied();
    let is_chosen = !filter.concurrencies.is_empty();
    let count = one("number of connections", found, is_chosen, &[32], most)?;
    rungs.retain(|rung| Some(rung.place.concurrency) == count);
    if filter.tiers.is_empty() {
        let is_there =
            |tier: &String| rungs.iter().any(|rung| rung.place.tier.as_ref() == Some(tier));
        let largest = source.tiers()?.into_iter().rfind(is_there);
        rungs.retain(|rung| rung.place.tier == largest);
    }
    rungs.sort_by(|a, b| {
        (&a.target, &a.place, a.repetition).cmp(&(&b.target, &b.place, b.repetition))
    });
    Ok(rungs)
}

impl Rung {
    fn at(&self, fraction: f64) -> f64 {
        percentile(&self.latencies, fraction).unwrap_or(0.0)
    }

    /// Where its curve ends: beyond, each of its requests would be several.
    fn reach(&self) -> f64 {
        (self.latencies.len() as f64).log10()
    }

    /// Its curve: how many nines a percentile has, and the latency there.
    fn curve(&self) -> Vec<(f64, f64)> {
        let steps = (self.reach() / 0.04).floor() as u32;
        let at = |nines: f64| (nines, self.at(1.0 - 10_f64.powf(-nines)));
        let mut points: Vec<(f64, f64)> = (0..=steps).map(|i| at(0.04 * f64::from(i))).collect();
        points.push(at(self.reach()));
        points
    }
}

fn nines(fraction: f64) -> f64 {
    -(1.0 - fraction).log10()
}

fn compose(
    source: &Source<'_>,
    request: &Request<'_>,
    rungs: &[Rung],
) -> Result<Drawn, FigureError> {
    // A series: the repetitions of one target at one tier.
    let key =
        |rung: &Rung| (rung.target.clone(), rung.place.tier.clone(), rung.place.variant.clone());
    let series: Vec<_> = rungs.iter().map(key).collect::<BTreeSet<_>>().into_iter().collect();
    let tiers: BTreeSet<_> = series.iter().map(|(_, tier, _)| tier).collect();
    let targets: BTreeSet<_> = series.iter().map(|(target, ..)| target).collect();
    let names = source.names();
    let index = |rung: &Rung| {
        if series.len() == targets.len() {
            source.series(&rung.target)
        } else {
            series.iter().position(|known| *known == key(rung)).unwrap_or(0)
        }
    };
    let label = |rung: &Rung| {
        let mut label = names.get(&rung.target).unwrap_or(&rung.target).clone();
        if let Some(tier) = rung.place.tier.as_ref().filter(|_| tiers.len() > 1) {
            label += &format!(", tier {tier}");
        }
        if series.len() > targets.len() * tiers.len() {
            label += &format!(", {}", rung.place.variant);
        }
        label
    };
    let firsts: Vec<&Rung> =
        series.iter().filter_map(|known| rungs.iter().find(|rung| key(rung) == *known)).collect();
    let labels: Vec<String> = firsts.iter().map(|rung| label(rung)).collect();

    let first = &rungs[0];
    let tier = first.place.tier.as_ref().filter(|_| tiers.len() == 1);
    let tier = tier.map(|tier| format!(", tier {tier}")).unwrap_or_default();
    let title = "Latency";
    let subtitle = format!("{}{tier}", first.place.text());
    let plot_height = if request.width == Width::Page { 1800 } else { 1300 };
    let inner = Frame::new(request.width, "", "", &[], &[]).inner();
    let beside = ends_width(labels.iter().map(String::as_str), plot_height, inner * 2 / 5);
    let legend: Vec<Key> = match beside {
        Some(_) => Vec::new(),
        None => firsts
            .iter()
            .zip(&labels)
            .map(|(rung, label)| Key::new(Symbol::Series(index(rung)), label))
            .collect(),
    };
    let mut keys = vec![Key::new(
        Symbol::None,
        "a curve for each repetition, as far as its number of requests reaches",
    )];
    if rungs.iter().any(|rung| rung.voided) {
        keys.push(Key::new(Symbol::Hollow, "void: the load generator was at its limit"));
    }
    let frame = Frame::new(request.width, title, &subtitle, &legend, &keys);

    let curves: Vec<Vec<(f64, f64)>> = rungs.iter().map(Rung::curve).collect();
    let y = Axis::of(curves.iter().flatten().map(|(_, ms)| *ms), 7);
    let reach = rungs.iter().map(Rung::reach).fold(1.0, f64::max);
    let ticks = ["0", "50", "90", "99", "99.9", "99.99", "99.999", "99.9999"].map(|text| {
        let percent: f64 = text.parse().unwrap_or(0.0);
        (nines(percent / 100.0), text.to_owned())
    });
    let ticks: Vec<(f64, String)> = ticks.into_iter().filter(|(at, _)| *at <= reach).collect();

    let scene = frame.draw(HEADING + plot_height + TICKS + CAPTION, |canvas, body| {
        let plot = Rect {
            left: body.left + ticks_width(&y),
            top: body.top + HEADING,
            right: body.right - beside.unwrap_or(60),
            bottom: body.top + HEADING + plot_height,
        };
        let panel = Panel::new(canvas, plot, Scale::linear(0.0, reach), y.scale());
        panel.heading(&y.caption("latency", "ms"), body.left, body.right);
        panel.vertical(&y);
        panel.uprights(&ticks);
        panel.horizontal(&ticks, true);
        panel.caption("percentile of successful requests");
        for (rung, curve) in rungs.iter().zip(&curves) {
            let points: Vec<(f64, f64)> = curve.iter().map(|(x, ms)| (*x, y.within(*ms))).collect();
            let value = described(rung);
            let median = rung.at(0.5).to_string();
            let data = [("target", rung.target.as_str()), ("rung", &rung.name), ("value", &median)];
            canvas.mark(&value, &data, || {
                let line = || panel.curve(&points, Ink::Series(index(rung)), 7);
                if rung.voided {
                    canvas.dashed(line)
                } else {
                    line()
                }
                for fraction in SYMBOLS {
                    if nines(fraction) <= rung.reach() {
                        let at = panel.at(nines(fraction), y.within(rung.at(fraction)));
                        canvas.symbol(at, index(rung), 15, rung.voided);
                    }
                }
            });
        }
        if beside.is_some() {
            let ends = firsts.iter().zip(&labels).filter_map(|(first, label)| {
                // The curve in the middle of its repetitions speaks for them.
                let mut ends: Vec<(f64, f64)> = rungs
                    .iter()
                    .zip(&curves)
                    .filter(|(rung, _)| key(rung) == key(first))
                    .filter_map(|(_, curve)| curve.last().copied())
                    .collect();
                ends.sort_by(|a, b| a.1.total_cmp(&b.1));
                let (x, ms) = *ends.get(ends.len() / 2)?;
                let at = panel.at(x, y.within(ms));
                Some(End { at, text: label.clone(), series: index(first) })
            });
            draw_ends(canvas, plot, ends.collect());
        }
    })?;

    let mut said: Vec<String> = rungs
        .iter()
        .filter(|rung| rung.voided)
        .map(|rung| format!("hollow: {} voided by the guard", rung.name))
        .collect();
    let count: usize = rungs.iter().map(|rung| rung.latencies.len()).sum();
    let count = crate::report::figure::counted(count, "successful request");
    let of = crate::report::figure::counted(rungs.len(), "rung");
    said.push(format!(
        "{count} of {of}; percentiles by linear interpolation between closest ranks, each curve up to 1 − 1/n of its n requests"
    ));
    let sentences: Vec<String> = firsts
        .iter()
        .zip(&labels)
        .map(|(first, label)| {
            let of_it: Vec<&Rung> = rungs.iter().filter(|rung| key(rung) == key(first)).collect();
            let mean = |fraction: f64| {
                of_it.iter().map(|rung| rung.at(fraction)).sum::<f64>() / of_it.len() as f64
            };
            format!(
                "{label} {} ms at the median and {} ms at the 99th",
                figure(mean(0.5)),
                figure(mean(0.99))
            )
        })
        .collect();
    Ok(Drawn::Figure(Figure {
        name: Name::Latency,
        title: format!("{title}: {subtitle}"),
        alt: format!("Percentiles of latency, mean of the repetitions: {}.", listed(&sentences)),
        notes: source.notes(said, &[]),
        scene,
    }))
}

fn described(rung: &Rung) -> String {
    let void = if rung.voided { ", void: stopped by the guard" } else { "" };
    format!(
        "{}: median {} ms, 90th {} ms, 99th {} ms, n = {}{void}",
        rung.name,
        figure(rung.at(0.5)),
        figure(rung.at(0.9)),
        figure(rung.at(0.99)),
        crate::report::figure::thousands(i64::try_from(rung.latencies.len()).unwrap_or(i64::MAX))
    )
}
