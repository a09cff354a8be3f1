//! What each command prints about runs that the shipped one cannot stand for:
//! runs with rungs, in pairs, of instances, with things gone wrong in them.
//!
//! The golden files are in the folder `outputs`.

use serde_json::json;
use snapbox::Data;

use super::support::{Rung, Sandbox, assert, golden};

const FIRST: &str = "20260101T000000Z-0123abcd-first";
const SECOND: &str = "20260102T000000Z-4567cdef-second";
const PUBLISHED: &str = "20260103T000000Z-89abef01-published";

/// Three targets; of class Q01 all is well, of Q02 each comparison has a flaw
/// of its own.
fn rungs(faster: f64, workers: i64) -> Vec<Rung> {
    let mut rungs = Vec::new();
    for (target, rate, megabytes) in
        [("ant-1", 100.0, 0.5), ("bee-1", 80.0, 1.0), ("cat-1", 20.0, 2.0)]
    {
        for (class, weight) in [("Q01", 1.0), ("Q02", 0.5)] {
            for (concurrency, repetition) in [(8, 1), (8, 2), (8, 3), (32, 1), (32, 2), (32, 3)] {
                let wobble = 1.0 + 0.01 * f64::from(repetition);
                let requests = (60.0 * rate * weight * wobble * faster).round();
                let rps = requests / 60.0;
                let mib = megabytes * weight * wobble;
                let latency = f64::from(concurrency) / rps;
                rungs.push(
                    Rung::new(target, u32::try_from(repetition).unwrap())
                        .with("server", &target[..3])
                        .with("query_class", class)
                        .with("concurrency", concurrency)
                        .with("requests", requests)
                        .with("rps", rps)
                        .with("latency_mean_s", latency)
                        .with("latency_p95_s", 2.0 * latency)
                        .with("mean_response_bytes", 1_048_576.0 * mib)
                        // 1 ms a request and 2 ms a MiB, on the busiest worker.
                        .with("generator_cpu_peak", rps * (0.001 + 0.002 * mib))
                        .with("generator_workers", workers),
                );
            }
        }
    }
    flawed(rungs)
}

fn flawed(mut rungs: Vec<Rung>) -> Vec<Rung> {
    let is = |rung: &Rung, target: &str, concurrency: i64, repetition: i64| {
        rung.0["query_class"] == "Q02"
            && rung.0["target"] == target
            && rung.0["concurrency"] == concurrency
            && rung.0["repetition"] == repetition
    };
    // A repetition is missing, and a window overran.
    rungs.retain(|rung| !is(rung, "cat-1", 8, 3));
    for rung in &mut rungs {
        if is(rung, "ant-1", 32, 2) {
            *rung = rung.clone().with("generator_guard_ok", false);
        }
        if is(rung, "bee-1", 8, 1) {
            *rung = rung.clone().with("window_s", 90.0).with("errors", 100);
        }
    }
    rungs
}

fn environment(workers: i64, ladder: &[i64]) -> String {
    let scenario = json!({"pair": {
        "measure_seconds": 60, "generator_processes": workers, "ladder": ladder,
    }});
    let git = json!({"sha": format!("{workers:x}").repeat(40), "branch": "main", "dirty": false});
    json!({"scenario": scenario, "seed": 1, "git": git}).to_string()
}

/// A store with two runs to set side by side, and one that was printed.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let first = sandbox.run(FIRST);
    first.rungs(rungs(1.0, 6)).file("environment.json", environment(6, &[8, 32]));
    let second = sandbox.run(SECOND);
    second.rungs(rungs(0.8, 12)).file("environment.json", environment(12, &[8, 32, 64]));
    let published = sandbox.run(PUBLISHED);
    published
        .file(
            "instance_scaling.csv",
            "scenario,connections,rps_1_instance,rps_2_instances,efficiency_2,vs_1x2_loops\n\
             respond,64,50100,100200,1.00,1.03\nstatic-small,256,38000,75300,,\n",
        )
        .file(
            "sweep.csv",
            "path,connections,rps,latency_p99_ms,errors,instances,rss_mib\n\
             respond,8,49600,0.17,0,1,32\nrespond,64,99500,0.75,3,3,95\n",
        );
    for run in [first, second, published] {
        sandbox.ingest(run);
    }
    sandbox
}

/// A golden file of this module.
fn expected(name: &str) -> Data {
    golden(&format!("tests/all/outputs/{name}")).raw()
}

#[test]
fn every_command_shows_its_page() {
    let sandbox = sandbox();
    for (case, arguments) in [
        ("runs", &["runs"][..]),
        ("cells", &["cells", "--run", "first", "--class", "Q02"]),
        ("verdicts", &["verdicts", "--run", "first"]),
        ("verdicts-guard-max", &["verdicts", "--run", "first", "--guard-max", "0.2"]),
        ("fit", &["fit", "--run", "first"]),
        ("anomalies", &["anomalies", "--run", "first"]),
        ("reproduce", &["reproduce", "first", "second"]),
        ("shift", &["shift", "first", "second"]),
        ("scaling", &["scaling"]),
        ("sweep", &["sweep"]),
    ] {
        let page = sandbox.tapstat(arguments).assert().code(0);
        page.stdout_eq(expected(&format!("{case}.stdout"))).stderr_eq("");
    }
}

#[test]
fn what_there_is_nothing_of_is_a_page_with_a_note() {
    let sandbox = sandbox();
    for (case, command) in [("resources-none", "resources"), ("tiers-none", "tiers")] {
        let page = sandbox.tapstat(&[command, "--run", "first"]).assert().code(0);
        page.stdout_eq(expected(&format!("{case}.stdout")))
            .stderr_eq("tapstat: note: nothing matches\n");
    }
}

/// Of those whose figures no library function has a part in: its last digit
/// may be another elsewhere.
#[test]
fn commands_show_their_rows_to_the_last_digit() {
    let sandbox = sandbox();
    for (case, arguments) in [
        ("runs", &["runs"][..]),
        ("anomalies", &["anomalies"]),
        ("shift", &["shift", "first", "second"]),
        ("scaling", &["scaling"]),
        ("sweep", &["sweep"]),
    ] {
        let rows = sandbox.tapstat(arguments).args(["--format", "csv"]).assert().code(0);
        rows.stdout_eq(expected(&format!("{case}.csv"))).stderr_eq("");
    }
}

#[test]
fn rows_of_a_command_are_those_of_its_view() {
    let sandbox = sandbox();
    for (command, view) in [
        ("cells", "cells"),
        ("verdicts", "verdicts"),
        ("fit", "client_cost"),
        ("anomalies", "anomalies"),
        ("scaling", "instance_scaling"),
        ("sweep", "sweep"),
    ] {
        let rows = |arguments: &[&str]| -> Vec<serde_json::Map<String, serde_json::Value>> {
            let output = sandbox.tapstat(arguments).args(["--format", "json"]).output().unwrap();
            serde_json::from_slice(&output.stdout).unwrap()
        };
        let of_command = rows(&[command]);
        let of_view = rows(&["sql", &format!("SELECT * FROM {view}")]);
        assert_eq!(of_command.len(), of_view.len(), "{command}");
        assert!(!of_view.is_empty(), "{command}");
        for row in of_view {
            // A command adds what its rows follow from.
            let same =
                |other: &&serde_json::Map<_, _>| row.iter().all(|(k, v)| other.get(k) == Some(v));
            assert_eq!(of_command.iter().filter(same).count(), 1, "{command}: {row:?}");
        }
    }
}

#[test]
fn a_check_that_fails_ends_with_1_and_shows_the_same() {
    let sandbox = sandbox();
    for (arguments, code) in [
        (&["verdicts", "--run", "first"][..], 1),
        (&["verdicts", "--run", "first", "--class", "Q01"], 0),
        (&["reproduce", "first", "second"], 1),
        (&["reproduce", "first", "second", "--tie-floor", "0.9"], 1),
        (&["reproduce", "first", "second", "--tie-floor", "0.9", "--class", "Q01"], 0),
    ] {
        let shown = sandbox.tapstat(arguments).output().unwrap();
        let checked = sandbox.tapstat(arguments).arg("--check").output().unwrap();
        assert_eq!(shown.status.code(), Some(0), "{arguments:?}");
        assert_eq!(checked.status.code(), Some(code), "{arguments:?} --check");
        assert_eq!(shown.stdout, checked.stdout, "{arguments:?}");
    }
}

#[test]
fn a_store_that_was_tampered_with() {
    let sandbox = sandbox();
    let path =
        |table: &str| sandbox.store_path().join(table).join(format!("run={FIRST}/part-0.parquet"));
    sandbox.tapstat(&["check"]).assert().code(0).stdout_eq("");

    let mut bytes = std::fs::read(path("rungs")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path("rungs"), &bytes).unwrap();
    std::fs::remove_file(path("runs")).unwrap();
    std::fs::write(path("rungs").with_file_name("part-1.parquet"), bytes).unwrap();
    let manifest = sandbox.store_path().join(format!("manifests/{SECOND}.json"));
    std::fs::write(manifest, "{").unwrap();
    let output = sandbox.tapstat(&["check"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    // The hashes of what was altered are no concern of this test.
    let said: Vec<&str> = said.lines().map(|l| l.split(": expected").next().unwrap()).collect();
    let said = said.join("\n") + "\n";
    assert().eq(said, expected("check-tampered.stdout"));

    // Others are in order still.
    sandbox.tapstat(&["check", "--run", "published"]).assert().code(0).stdout_eq("");
}
