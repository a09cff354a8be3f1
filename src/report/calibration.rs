//! The page of the command `calibrate`.

use super::Page;
use super::figure::fixed as optional;
use super::grid::{Align, Grid};
use crate::load::calibrate::{Calibration, SIZES};

/// The client of the published campaign (`cpu_peak` basis): seconds for each request
/// and each MiB, against its cheapest and its dearest server.
const PUBLISHED: [(&str, Option<f64>, f64); 2] = [
    ("published campaign, best server", Some(0.55e-3), 1.07e-3),
    ("published campaign, worst server", None, 4.50e-3),
];

/// The page of a calibration.
pub fn calibration_page(found: &Calibration) -> Page {
    let mut page = Page::new();
    page.heading(1, format!("calibration of the generator over {}", found.protocol));
    page.table(costs(found));
    page.notes(vec![
        "a + b × MiB: CPU of all the generator's threads, for each request and for each MiB that it received"
            .to_owned(),
        "the published campaign counted the busiest of its client's six processes alone: what it really spent was up to six times that"
            .to_owned(),
    ]);
    page.heading(2, "bodies");
    page.table(points(found));
    page.heading(2, "times measured of known delays");
    page.table(timing(found));
    page.notes(vec![places(found)]);
    page
}

fn costs(found: &Calibration) -> Grid {
    let mut grid = Grid::new([
        ("client", Align::Left),
        ("a (ms)", Align::Right),
        ("b (ms/MiB)", Align::Right),
        ("requests/s", Align::Right),
        ("MiB/s", Align::Right),
    ]);
    let ms = |seconds: f64| fixed(seconds * 1e3, 4);
    let range = |value, low, high| format!("{} ({} to {})", ms(value), ms(low), ms(high));
    grid.push(vec![
        "this generator, each worker".into(),
        range(found.a_s_per_request, found.a_low, found.a_high).into(),
        range(found.b_s_per_mib, found.b_low, found.b_high).into(),
        fixed(found.ceiling_rps_per_worker, 0).into(),
        fixed(found.ceiling_mib_per_s_per_worker, 0).into(),
    ]);
    for (name, a, b) in PUBLISHED {
        let a = a.map_or_else(|| super::MISSING.to_owned(), |a| fixed(a * 1e3, 2));
        let none = super::MISSING;
        grid.push(vec![name.into(), a.into(), fixed(b * 1e3, 2).into(), none.into(), none.into()]);
    }
    grid
}

/// The windows of each size, taken together.
fn points(found: &Calibration) -> Grid {
    let names = ["bytes", "requests", "requests/s", "MiB/s", "CPU (µs/request)", "busiest worker"];
    let mut grid = Grid::new(names.map(|name| (name, Align::Right)));
    for bytes in SIZES {
        let of_size: Vec<_> = found.points.iter().filter(|point| point.bytes == bytes).collect();
        let requests: u64 = of_size.iter().map(|point| point.requests).sum();
        let elapsed_s: f64 = of_size.iter().map(|point| point.elapsed_s).sum();
        let cpu_s: f64 = of_size.iter().map(|point| point.cpu_s).sum();
        let peak = of_size.iter().map(|point| point.cpu_peak).fold(0.0, f64::max);
        let mib = requests as f64 * bytes as f64 / f64::from(1 << 20);
        grid.push(vec![
            bytes.to_string().into(),
            requests.to_string().into(),
            fixed(requests as f64 / elapsed_s, 0).into(),
            fixed(mib / elapsed_s, 1).into(),
            fixed(cpu_s / requests as f64 * 1e6, 2).into(),
            fixed(peak, 2).into(),
        ]);
    }
    grid
}

fn timing(found: &Calibration) -> Grid {
    let names =
        ["delay (ms)", "requests", "p50 (ms)", "p95 (ms)", "p99 (ms)", "p50 too long by (µs)"];
    let mut grid = Grid::new(names.map(|name| (name, Align::Right)));
    let ms = |seconds: f64| fixed(seconds * 1e3, 3).into();
    for timing in &found.timing {
        grid.push(vec![
            fixed(timing.delay_s * 1e3, 0).into(),
            timing.requests.to_string().into(),
            ms(timing.p50_s),
            ms(timing.p95_s),
            ms(timing.p99_s),
            fixed(timing.p50_error_s * 1e6, 0).into(),
        ]);
    }
    grid
}

fn places(found: &Calibration) -> String {
    let workers = super::figure::counted(found.workers, "worker");
    let connections = super::figure::counted(found.connections, "connection");
    let list = |cores: &[usize]| cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let pinned = if found.generator_cores.is_empty() {
        "not pinned: there are no cores to part them, so the ceilings are too low".to_owned()
    } else {
        let (own, target) = (list(&found.generator_cores), list(&found.target_cores));
        format!("pinned to core {own}, the null target to {target}")
    };
    format!("{workers}, {connections}, {} at once on each; {pinned}", found.streams)
}

fn fixed(value: f64, decimals: usize) -> String {
    optional(Some(value), decimals)
}
