//! What bounds a scenario, on runs made so that it is known.

use serde_json::{Value, json};

use super::support::{Rung, Sandbox, ask, ask_one, sources};

const RUN: &str = "20260101T000000Z-0123abcd-instances";
const WINDOW_S: f64 = 60.0;

/// Scenario, bound, reason: sorted by scenario and connections.
fn classified(sandbox: &Sandbox) -> Vec<(String, String, String)> {
    let sql = "SELECT query_class, bound, reason FROM classify ORDER BY query_class, concurrency";
    ask(&sandbox.session(), sql)
}

/// Three repetitions of one size.
fn size(instances: i64, loops: i64, rps: f64) -> Vec<Rung> {
    let rung = |repetition: u32| {
        let order = f64::from(repetition) + 10.0 * instances as f64 + 100.0 * loops as f64;
        let start = 1000.0 + 100.0 * order;
        Rung::new("app", repetition)
            .with("instances", instances)
            .with("loops", loops)
            .with("concurrency", 64)
            .with("requests", (WINDOW_S * rps).ceil())
            .with("rps", rps)
            .with("started_at", start)
            .with("ended_at", start + WINDOW_S)
    };
    (1..=3).map(rung).collect()
}

/// One size after the other: throughput of 1, 2, 3 … instances.
fn sizes(rps: &[f64]) -> Vec<Rung> {
    (1..).zip(rps).flat_map(|(instances, rps)| size(instances, 1, *rps)).collect()
}

/// The one answer about a run of these rungs.
fn bound(rungs: Vec<Rung>) -> (String, String) {
    let sandbox = Sandbox::new();
    let run = sandbox.run(RUN);
    run.rungs(rungs);
    sandbox.ingest(run);
    ask_one(&sandbox.session(), "SELECT bound, reason FROM classify")
}

fn assert_bound(rungs: Vec<Rung>, bound_: &str, reason: &str) {
    assert_eq!(bound(rungs), (bound_.to_owned(), reason.to_owned()));
}

#[test]
fn the_published_scenarios() {
    let sandbox = Sandbox::with_runs([sources().join("runs/20261012-adaptive-runtime")]);
    let found = classified(&sandbox);
    let found: Vec<_> =
        found.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
    let scales = |scenario| (scenario, "scales", "throughput only: each instance adds its share");
    assert_eq!(
        found,
        [
            scales("TLS+H2"),
            scales("cache-hit"),
            ("php", "another process", "throughput only: flat from the first instance"),
            scales("proxy"),
            scales("respond"),
            scales("respond"),
            ("static-1m", "shared limit", "throughput only: each instance adds less"),
            scales("static-small"),
            scales("static-small"),
        ]
    );
    let page = sandbox.tapstat(&["classify", "--class", "php"]).output().unwrap();
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(page.contains("another process"), "{page}");
    assert!(!page.contains("cores"), "columns that nothing stands in: {page}");
}

#[test]
fn the_floor_is_the_rules() {
    let sandbox = Sandbox::with_runs([sources().join("runs/20261012-adaptive-runtime")]);
    let bound = |floor: &str| {
        let arguments =
            ["classify", "--class", "static-1m", "--format", "json", "--tie-floor", floor];
        let output = sandbox.tapstat(&arguments).output().unwrap();
        let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        rows[0]["bound"].clone()
    };
    assert_eq!(bound("0.1"), "shared limit");
    assert_eq!(bound("0.4"), "scales");
}

#[test]
fn from_throughput_alone() {
    let only = |reason: &str| format!("throughput only: {reason}");
    let with_loops =
        |rps: &[f64], loops: f64| [sizes(rps), size(1, rps.len() as i64, loops)].concat();
    for (rungs, expected, reason) in [
        (sizes(&[100.0, 180.0]), "scales", "each instance adds its share"),
        (sizes(&[100.0, 179.0]), "unsettled", "two sizes cannot tell"),
        (with_loops(&[100.0, 150.0], 150.0), "shared limit", "each instance adds less"),
        (sizes(&[100.0, 170.0, 200.0]), "shared limit", "each instance adds less"),
        (sizes(&[100.0, 150.0, 151.0]), "unsettled", "rises and then stops"),
        (sizes(&[100.0, 109.0, 109.0]), "another process", "flat from the first instance"),
        (sizes(&[100.0, 111.0, 100.0]), "unsettled", "rises and then stops"),
        (sizes(&[100.0, 150.0, 100.0]), "shared limit", "falls as instances are added"),
        (sizes(&[100.0, 80.0]), "shared limit", "falls as instances are added"),
        (with_loops(&[100.0, 100.0], 190.0), "unsettled", "one instance with N loops differs"),
    ] {
        assert_bound(rungs, expected, &only(reason));
    }
}

#[test]
fn what_cannot_be_said() {
    let altered = |alter: fn(Rung) -> Rung| sizes(&[100.0, 100.0, 100.0]).into_iter().map(alter);
    assert_bound(size(3, 1, 300.0), "unsettled", "no single instance");
    assert_bound(sizes(&[100.0]), "unsettled", "one size only");
    assert_bound(sizes(&[0.0, 0.0]), "unsettled", "no throughput");
    assert_bound(sizes(&[1e-320, 1e9]), "unsettled", "no throughput");
    let mut rungs = sizes(&[100.0, 200.0]);
    rungs[4] = rungs[4].clone().with("generator_guard_ok", false);
    assert_bound(rungs.clone(), "unsettled", "voided rung");
    rungs[4] = rungs[4].clone().with("generator_guard_ok", true).with("errors", 1000);
    assert_bound(rungs, "unsettled", "errors above the ceiling");
    let near = altered(|rung| rung.with("generator_cpu_peak", 0.5)).collect();
    assert_bound(near, "unsettled", "generator near its limit");
    let open = altered(|rung| rung.with("loop", "open").with("offered_rps", 105.0)).collect();
    assert_bound(open, "unsettled", "offered rate reached");
    let narrow = altered(|rung| rung.with("concurrency", 2)).collect();
    assert_bound(narrow, "unsettled", "fewer connections than instances");
    // Sizes of several loops alone are no scenario of one loop each.
    let sandbox = Sandbox::new();
    let run = sandbox.run(RUN);
    run.rungs(size(2, 2, 100.0));
    sandbox.ingest(run);
    assert_eq!(classified(&sandbox), []);
}

/// CPU in cores of each container in every window: of `app-1` … with N
/// instances, and of `fpm` beside them.
struct Cpu {
    each: fn(i64) -> f64,
    fpm: f64,
}

/// The answer where CPU was sampled; `fpm` is pinned by `pins`.
fn sampled(rps: &[f64], cpu: &Cpu, pins: Option<Value>) -> (String, String, Option<String>) {
    let sandbox = Sandbox::new();
    let run = sandbox.run(RUN);
    let rungs = sizes(rps);
    let mut samples = Vec::new();
    for rung in &rungs {
        let (start, n) =
            (rung.0["started_at"].as_f64().unwrap(), rung.0["instances"].as_i64().unwrap());
        let mut sample = |container: String, cores: f64| {
            samples.extend((0..=60).map(|second| {
                let t = start + f64::from(second);
                json!({"t": t, "container": container, "cpu_usec": (1e6 * cores * t).round(), "mem_bytes": 1})
            }));
        };
        (1..=n).for_each(|instance| sample(format!("app-{instance}"), (cpu.each)(n)));
        sample("fpm".to_owned(), cpu.fpm);
    }
    samples.sort_by(|a, b| a["t"].as_f64().unwrap().total_cmp(&b["t"].as_f64().unwrap()));
    run.rungs(rungs).lines("resources.jsonl", samples).file(
        "protocol.toml",
        "[containers]\napp = { members = [\"app-1\", \"app-2\", \"app-3\"] }\n",
    );
    if let Some(pins) = pins {
        run.file("pins/cgroup.json", pins.to_string());
    }
    sandbox.ingest(run);
    ask_one(&sandbox.session(), "SELECT bound, reason, other FROM classify")
}

#[test]
fn cpu_decides_where_it_was_sampled() {
    let flat = [100.0, 100.0, 100.0];
    let pinned = |cpus: &str| Some(json!({"fpm": {"cpuset": cpus}}));
    let answer =
        |bound: &str, reason: &str| (bound.to_owned(), reason.to_owned(), Some("fpm".to_owned()));
    // Idle instances beside a process that fills its CPU.
    let waiting = Cpu { each: |n| 0.9 / n as f64, fpm: 0.95 };
    let full = answer("another process", "it is at its CPU limit and the instances wait");
    assert_eq!(sampled(&flat, &waiting, pinned("3")), full);
    // It bounds the pool too where it let the second instance through.
    assert_eq!(sampled(&[100.0, 150.0, 151.0], &waiting, pinned("3")), full);
    // The same with room for more: no other process is the limit.
    let room = answer("shared limit", "instances wait and no other process is at its limit");
    assert_eq!(sampled(&flat, &waiting, pinned("0-3")), room);
    // Not known what it may use: throughput has to say.
    let unknown = answer("another process", "throughput only: flat from the first instance");
    assert_eq!(sampled(&flat, &waiting, None), unknown);
    // Instances that are as busy as one alone do not wait for anybody.
    let busy = Cpu { each: |_| 1.0, fpm: 0.95 };
    let bandwidth = answer("shared limit", "instances as busy and less done");
    assert_eq!(sampled(&[525.0, 882.0, 1081.0], &busy, pinned("3")), bandwidth);
    assert_eq!(sampled(&flat, &busy, pinned("3")), bandwidth);
    // Whoever scales is bound by none of it.
    let scales = answer("scales", "each instance adds its share");
    assert_eq!(sampled(&[100.0, 200.0, 300.0], &busy, pinned("3")), scales);
}

#[test]
fn thin_samples_say_nothing_of_cpu() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(RUN);
    let rungs = sizes(&[100.0, 100.0]);
    let samples: Vec<Value> = rungs
        .iter()
        .flat_map(|rung| {
            let start = rung.0["started_at"].as_f64().unwrap();
            // Half of the window.
            (0..=30).map(move |second| {
                let t = start + f64::from(second);
                json!({"t": t, "container": "app-1", "cpu_usec": (1e6 * t).round(), "mem_bytes": 1})
            })
        })
        .collect();
    run.rungs(rungs)
        .lines("resources.jsonl", samples)
        .file("protocol.toml", "[containers]\napp = { members = [\"app-1\"] }\n");
    sandbox.ingest(run);
    let (reason, cores): (String, Option<f64>) =
        ask_one(&sandbox.session(), "SELECT reason, instance_cores FROM classify");
    assert_eq!((reason.as_str(), cores), ("throughput only: flat from the first instance", None));
}

#[test]
fn scenarios_that_differ_in_their_key_are_apart() {
    let votable =
        sizes(&[100.0, 100.0]).into_iter().map(|rung| rung.with("response_format", "votable"));
    let sandbox = Sandbox::new();
    let run = sandbox.run(RUN);
    run.rungs(sizes(&[100.0, 200.0]).into_iter().chain(votable));
    sandbox.ingest(run);
    let bounds: Vec<(String, String)> = ask(
        &sandbox.session(),
        "SELECT response_format, bound FROM classify ORDER BY response_format",
    );
    let of = |format: &str, bound: &str| (format.to_owned(), bound.to_owned());
    assert_eq!(bounds, [of("csv", "scales"), of("votable", "another process")]);
}
