//! Bursts from idle: measured ones, and those that a table printed.

use serde_json::json;

use super::support::{Rung, Sandbox, ask, ask_one, sources};

const RUN: &str = "20260101T000000Z-0123abcd-bursts";

/// The bursts of the published table as rungs, with all that its table lacks.
fn measured() -> Vec<Rung> {
    let bursts = [(1, 47_000.0, 0.024, 1), (2, 95_600.0, 0.018, 3), (3, 144_500.0, 0.010, 3)];
    let rung = |(burst, rps, p99, instances): (u32, f64, f64, i64)| {
        let start = 1000.0 + 13.0 * f64::from(burst);
        Rung::new("pool", burst)
            .with("query_class", "respond")
            .with("response_format", "-")
            .with("concurrency", 1024)
            .with("loop", "burst")
            .with("instances", instances)
            .with("requests", 5.0 * rps)
            .with("elapsed_s", 5.0)
            .with("rps", rps)
            .with("latency_p99_s", p99)
            .with("started_at", start)
            .with("ended_at", start + 5.0)
    };
    bursts.map(rung).to_vec()
}

fn store_of(rungs: Vec<Rung>) -> Sandbox {
    let sandbox = Sandbox::new();
    let run = sandbox.run(RUN);
    run.rungs(rungs);
    sandbox.ingest(run);
    sandbox
}

/// burst, connections, rps, p99, errors, instances, length, pause.
type Burst = (i64, i64, f64, f64, i64, i64, f64, Option<f64>);

fn bursts(sandbox: &Sandbox) -> Vec<Burst> {
    let sql = "SELECT burst, concurrency, rps, latency_p99_s, errors, instances, duration_s, gap_s
               FROM bursts ORDER BY burst";
    ask(&sandbox.session(), sql)
}

#[test]
fn the_published_bursts_are_as_printed() {
    let sandbox = Sandbox::with_runs([sources().join("runs/20261012-adaptive-runtime")]);
    assert_eq!(
        bursts(&sandbox),
        [
            (1, 1024, 47_000.0, 0.024, 0, 1, 5.0, Some(8.0)),
            (2, 1024, 95_600.0, 0.018, 0, 3, 5.0, Some(8.0)),
            (3, 1024, 144_500.0, 0.010, 0, 3, 5.0, Some(8.0)),
        ]
    );
    let page = sandbox.tapstat(&["bursts", "--format", "markdown"]).output().unwrap();
    let page = String::from_utf8(page.stdout).unwrap();
    for row in [
        "| 1 | 1024 | 5.0 | 8.0 | 47000.0 | 24.00 | 0 | 1 |",
        "| 2 | 1024 | 5.0 | 8.0 | 95600.0 | 18.00 | 0 | 3 |",
        "| 3 | 1024 | 5.0 | 8.0 | 144500.0 | 10.00 | 0 | 3 |",
    ] {
        let shown = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(row), "{row}: {page}");
    }
}

#[test]
fn measured_bursts_are_the_same_but_for_the_pause_after_the_last() {
    let found = bursts(&store_of(measured()));
    assert_eq!(found[0], (1, 1024, 47_000.0, 0.024, 0, 1, 5.0, Some(8.0)));
    assert_eq!(found[1], (2, 1024, 95_600.0, 0.018, 0, 3, 5.0, Some(8.0)));
    assert_eq!(found[2], (3, 1024, 144_500.0, 0.010, 0, 3, 5.0, None));
}

#[test]
fn bursts_are_no_repetitions_of_each_other() {
    // A sweep stops at as many connections as the bursts have, in the same class.
    let sweep = (1..=3).map(|repetition| {
        Rung::new("pool", repetition)
            .with("query_class", "respond")
            .with("response_format", "-")
            .with("concurrency", 1024)
            .with("loop", "closed")
            .with("instances", 3)
            .with("rps", 145_000.0)
            .with("requests", 1_450_000)
    });
    let sandbox = store_of(measured().into_iter().chain(sweep).collect());
    let session = sandbox.session();
    assert_eq!(bursts(&sandbox).len(), 3);
    let names: Vec<(String,)> =
        ask(&session, "SELECT rung FROM rungs WHERE loop = 'burst' ORDER BY repetition LIMIT 1");
    assert_eq!(names[0].0, "pool---respond-c1024-i1x1-burst-r1");
    for view in ["cells", "verdicts", "sweep"] {
        let (rows,): (i64,) = ask_one(&session, &format!("SELECT count(*) FROM {view}"));
        assert_eq!(rows, 1, "{view}");
    }
    let kinds: Vec<(String,)> =
        ask(&session, "SELECT kind FROM anomalies WHERE kind LIKE '%repetition'");
    assert_eq!(kinds, []);
}

#[test]
fn a_voided_burst_says_so() {
    let mut rungs = measured();
    rungs[1] = rungs[1].clone().with("generator_guard_ok", false);
    rungs[2] = rungs[2].clone().without("generator_guard_ok");
    let sandbox = store_of(rungs);
    let voided: Vec<(Option<bool>,)> =
        ask(&sandbox.session(), "SELECT voided FROM bursts ORDER BY burst");
    assert_eq!(voided, [(Some(false),), (Some(true),), (None,)]);
    let page = sandbox.tapstat(&["bursts"]).output().unwrap();
    assert!(String::from_utf8(page.stdout).unwrap().contains("95600.0 (void)"));
}

#[test]
fn series_of_several_targets_are_kept_apart() {
    let mut rungs = measured();
    rungs.extend(measured().into_iter().map(|rung| {
        let start = rung.0["started_at"].as_f64().unwrap() + 6.0;
        rung.with("target", "other").with("started_at", start).with("ended_at", start + 5.0)
    }));
    let gaps: Vec<(String, Option<f64>)> =
        ask(&store_of(rungs).session(), "SELECT target, gap_s FROM bursts ORDER BY target, burst");
    let gaps: Vec<_> = gaps.iter().map(|(target, gap)| (target.as_str(), *gap)).collect();
    let of = |target| [(target, Some(8.0)), (target, Some(8.0)), (target, None)];
    assert_eq!(gaps, [of("other"), of("pool")].concat());
}

#[test]
fn a_run_of_other_rungs_has_none() {
    let sandbox = store_of(vec![Rung::new("pool", 1)]);
    let rows = sandbox.tapstat(&["bursts", "--format", "json"]).assert().success();
    rows.stdout_eq(format!("{}\n", json!([]))).stderr_eq("tapstat: note: nothing matches\n");
}
