//! The campaign of instances and an autoscaler that ships as a published table.

use serde::Deserialize;

use crate::support::{Sandbox, ask, read_csv, sources};

const RUN: &str = "20261012-adaptive-runtime";

#[derive(Debug, Deserialize)]
struct Step {
    query_class: String,
    concurrency: i64,
    instances: i64,
    rps_median: f64,
    efficiency: Option<f64>,
    vs_loops: Option<f64>,
}

/// As its report prints them, but for the one efficiency that its rounded rates
/// do not give.
#[test]
fn scaling_is_as_printed() {
    let folder = sources().join("runs").join(RUN);
    let sandbox = Sandbox::with_runs([&folder]);
    let mut printed: Vec<Step> = read_csv(&folder.join("instance_scaling.csv"));
    printed.sort_by_key(|step| (step.query_class.clone(), step.concurrency, step.instances));
    let found: Vec<Step> = ask(
        &sandbox.session(),
        "SELECT query_class, concurrency, instances, rps_median, efficiency, vs_loops
         FROM instance_scaling ORDER BY query_class, concurrency, instances",
    );
    assert_eq!((found.len(), printed.len()), (27, 27));
    let mut other = Vec::new();
    for (found, printed) in found.iter().zip(&printed) {
        assert_eq!(found.query_class, printed.query_class);
        assert_eq!((found.rps_median, found.vs_loops), (printed.rps_median, printed.vs_loops));
        let (Some(efficiency), Some(expected)) = (found.efficiency, printed.efficiency) else {
            assert_eq!((found.instances, found.efficiency), (1, Some(1.0)));
            continue;
        };
        if format!("{efficiency:.2}") != format!("{expected:.2}") {
            other.push((found.query_class.as_str(), found.instances, format!("{efficiency:.2}")));
        }
    }
    assert_eq!(other, [("cache-hit", 3, "0.99".to_owned())]);
}

#[derive(Debug, Deserialize)]
struct Point {
    rps: f64,
    latency_p99_s: f64,
    errors: i64,
    instances: i64,
    mem_peak_bytes: f64,
}

#[test]
fn the_sweep_is_as_printed() {
    let sandbox = Sandbox::with_runs([sources().join("runs").join(RUN)]);
    let points: Vec<Point> = ask(
        &sandbox.session(),
        "SELECT rps, latency_p99_s, errors, instances, mem_peak_bytes
         FROM sweep WHERE query_class = 'respond' ORDER BY concurrency",
    );
    let rps: Vec<f64> = points.iter().map(|point| point.rps).collect();
    assert_eq!(rps, [49600.0, 50700.0, 99500.0, 149400.0, 149200.0, 147400.0, 145300.0]);
    let instances: Vec<i64> = points.iter().map(|point| point.instances).collect();
    assert_eq!(instances, [1, 2, 3, 3, 3, 3, 3]);
    let last = &points[6];
    assert_eq!((last.errors, last.mem_peak_bytes), (0, 121.0 * 1024.0 * 1024.0));
    assert!((last.latency_p99_s - 0.01014).abs() < 1e-12);
}
