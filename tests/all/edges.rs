//! What an adversary found: each of these once gave a wrong answer, or none.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::{PROGRAM, Rung, Sandbox, ask, ask_one};

const RUN: &str = "20260101T000000Z-0123abcd-edges";

/// A store with one run of these rungs.
fn store_of(rungs: impl IntoIterator<Item = Rung>) -> Sandbox {
    let sandbox = Sandbox::new();
    let run = sandbox.run(RUN);
    run.rungs(rungs);
    sandbox.ingest(run);
    sandbox
}

fn paced(target: &str, repetition: u32, rps: f64) -> Rung {
    Rung::new(target, repetition).with("rps", rps).with("requests", (60.0 * rps).round() as i64)
}

#[test]
fn a_reader_that_nobody_reads_from_keeps_nobody_from_writing() {
    let sandbox = Sandbox::with_shipped_run();
    let query = "SELECT a.*, b.target FROM cells a CROSS JOIN cells b";
    let mut reader = Command::new(PROGRAM)
        .args(["--store".as_ref(), sandbox.store_path().as_os_str()])
        .args(["sql", "--format", "csv", query])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Its answer is larger than a pipe holds, so that it is stuck by now or will
    // be; a writer waits for it while it asks, not while it is stuck.
    let run = sandbox.run(RUN);
    run.rungs([Rung::new("a", 1)]);
    sandbox.ingest(run);
    reader.kill().unwrap();
    reader.wait().unwrap();
}

#[test]
fn what_the_protocol_promises_and_the_run_lacks_is_listed() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(RUN);
    run.rungs((1..=3).flat_map(|n| [paced("a", n, 100.0), paced("b", n, 50.0)]));
    run.file(
        "protocol.toml",
        "[grid]\ntargets = [\"a\", \"b\", \"c\"]\nclasses = [\"Q01\"]\nformats = [\"csv\"]\n\
         concurrencies = [8]\nrepetitions = 3\n",
    );
    sandbox.ingest(run);
    let verdicts = sandbox.tapstat(&["verdicts", "--check"]).assert().code(1).stderr_eq("");
    let text = String::from_utf8(verdicts.get_output().stdout.clone()).unwrap();
    let listed = "- missing, of what the protocol promises (1 cell): c-csv-Q01-c8\n";
    assert!(text.contains(listed), "{text}");
    let rung: (String,) =
        ask_one(&sandbox.session(), "SELECT rung FROM anomalies WHERE kind = 'missing cell'");
    assert_eq!(rung.0, "c-csv-Q01-c8");
}

#[test]
fn a_counter_that_restarts_within_the_window_gives_no_figure() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(RUN);
    run.rungs([Rung::new("a", 1).with("started_at", 1000.0).with("ended_at", 1060.0)]);
    run.file("protocol.toml", "[containers]\na = { members = [\"x\"] }\n");
    let counter = |second: i64| {
        if second < 30 { 5_000_000 + second * 1_000_000 } else { (second - 30) * 2_000_000 }
    };
    run.lines(
        "resources.jsonl",
        (0..=60).map(|second| {
            json!({"t": 1000.0 + second as f64, "container": "x", "cpu_usec": counter(second),
                   "mem_bytes": 10})
        }),
    );
    sandbox.ingest(run);
    let used: (f64, Option<f64>, Option<f64>) =
        ask_one(&sandbox.session(), "SELECT coverage, cpu_s, mem_mean_bytes FROM rung_resources");
    assert_eq!(used, (1.0, None, Some(10.0)));
}

#[test]
fn a_test_against_some_rivals_is_none() {
    let rungs = (1..=3).flat_map(|n| {
        let jitter = f64::from(n) / 10.0;
        let single = (n == 1).then(|| paced("c", n, 20.0));
        [Some(paced("a", n, 100.0 + jitter)), Some(paced("b", n, 50.0 + jitter)), single]
    });
    let sandbox = store_of(rungs.flatten());
    let beside: (Option<String>, Option<f64>) =
        ask_one(&sandbox.session(), "SELECT welch, welch_p FROM verdict_robustness");
    assert_eq!(beside, (None, None));
}

#[test]
fn cells_that_differ_in_their_key_are_not_pooled() {
    let sweep = |format: &str, repetition, rps: f64| {
        paced("a", repetition, rps).with("instances", 2).with("response_format", format)
    };
    let sandbox = store_of([sweep("csv", 1, 100.0), sweep("votable", 1, 300.0)]);
    let rows: Vec<(String, f64)> =
        ask(&sandbox.session(), "SELECT response_format, rps FROM sweep ORDER BY 1");
    assert_eq!(rows, [("csv".to_owned(), 100.0), ("votable".to_owned(), 300.0)]);

    let scaled = |mode: &str, instances: i64, rps| {
        paced("a", 1, rps).with("instances", instances).with("loops", 1).with("mode", mode)
    };
    let sandbox = store_of([
        scaled("sync", 1, 100.0),
        scaled("async", 1, 10.0),
        scaled("sync", 2, 150.0),
        scaled("async", 2, 20.0),
    ]);
    let rows: Vec<(String, f64)> = ask(
        &sandbox.session(),
        "SELECT mode, efficiency FROM instance_scaling WHERE instances = 2 ORDER BY mode",
    );
    assert_eq!(rows, [("async".to_owned(), 1.0), ("sync".to_owned(), 0.75)]);
}

#[test]
fn rungs_without_the_figures_of_a_fit_count_as_excluded() {
    let sized = |n: u32| {
        paced("a", n, 100.0).with("mean_response_bytes", f64::from(n) * 1e6).with("concurrency", n)
    };
    let bare = sized(5).without("generator_cpu_peak");
    let rungs = (1..=4).map(sized).chain([bare]);
    let counts: (i64, i64) =
        ask_one(&store_of(rungs).session(), "SELECT rungs, excluded FROM client_cost");
    assert_eq!(counts, (4, 1));
}

#[test]
fn nobody_means_every_run_by_no_name() {
    let sandbox = Sandbox::with_shipped_run();
    sandbox.tapstat(&["remove", ""]).assert().code(2).stdout_eq("");
    sandbox.tapstat(&["verdicts", "--run", ""]).assert().code(2).stdout_eq("");
    sandbox.tapstat(&["check"]).assert().success();
}

#[test]
fn queries_that_ask_for_themselves_or_replace_nothing_are_refused() {
    let sandbox = Sandbox::with_shipped_run();
    for (file, expected) in [
        ("cells.sql", "cells.sql: the view `cells` asks for itself"),
        ("cell.sql", "no view named `cell`: did you mean `cells`?"),
    ] {
        let folder = sandbox.path(file);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(file), "SELECT * FROM cells").unwrap();
        let folder = folder.to_str().unwrap();
        let refused = sandbox.tapstat(&["cells", "--queries", folder]).assert().code(2);
        let text = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_long_query_is_answered() {
    let sandbox = Sandbox::with_shipped_run();
    let sum = format!("SELECT {} AS n", vec!["1"; 5000].join(" + "));
    sandbox.tapstat(&["sql", "--format", "csv", &sum]).assert().success().stdout_eq("n\n5000\n");
}

#[test]
fn columns_of_one_name_are_refused_where_names_are_read() {
    let sandbox = Sandbox::with_shipped_run();
    let query = "SELECT a.run, b.run FROM gates a JOIN gates b ON a.run = b.run LIMIT 1";
    for format in ["json", "ndjson"] {
        let refused = sandbox.tapstat(&["sql", "--format", format, query]).assert().code(2);
        refused
            .stdout_eq("")
            .stderr_eq("tapstat: error: two columns are named `run`: tell them apart with AS\n");
    }
}

#[test]
fn percentiles_in_one_pass_are_those_of_one_at_a_time() {
    let sandbox = Sandbox::with_shipped_run();
    let both: (f64, f64, f64, f64) = ask_one(
        &sandbox.session(),
        "SELECT get_field(percentiles(rps_mean), 'p95'), percentile(rps_mean, 0.95),
                get_field(percentiles(rps_mean), 'max'), max(rps_mean) FROM cells",
    );
    assert_eq!((both.0, both.2), (both.1, both.3));
    let none: (Option<f64>, Option<f64>) = ask_one(
        &sandbox.session(),
        "SELECT get_field(percentiles(rps_mean), 'p50'), percentile(rps_mean, 0.5)
         FROM cells WHERE tier = 'none'",
    );
    assert_eq!(none, (None, None));
}

#[test]
fn what_no_interval_could_deny_is_not_reproduced() {
    let sandbox = Sandbox::new();
    let ingest = |id: &str, rungs: Vec<Rung>| {
        let run = sandbox.run(id);
        run.rungs(rungs);
        sandbox.ingest(run);
    };
    ingest("one-a", vec![paced("a", 1, 100.0)]);
    ingest("one-b", vec![paced("a", 1, 10.0)]);
    let three = |rps: f64| (1..=3).map(|n| paced("a", n, rps + f64::from(n))).collect();
    ingest("three-a", three(100.0));
    ingest("three-b", three(101.0));
    let check = |a: &str, b: &str| {
        let output = sandbox.tapstat(&["reproduce", a, b, "--check"]).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, page, said) = check("one-a", "one-b");
    assert_eq!(code, Some(1), "{page}");
    assert!(page.contains("undecided: 1 of 1 tie without an interval in both runs"), "{page}");
    assert!(said.starts_with("tapstat: note: undecided: no cell shown has an interval"), "{said}");
    // One side is not enough, and shown without --check it is no error.
    assert_eq!(check("one-a", "three-b").0, Some(1));
    sandbox.tapstat(&["reproduce", "one-a", "one-b"]).assert().success().stderr_eq("");
    let (code, page, said) = check("three-a", "three-b");
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert!(!page.contains("undecided"), "{page}");
}

#[test]
fn a_csv_that_may_have_lost_its_end_is_said_to() {
    const HEADER: &str = "target,query_class,concurrency,repetition,requests,errors,rps\n";
    let warnings = |rows: &str| {
        let sandbox = Sandbox::new();
        let run = sandbox.run(RUN);
        run.file("summary.csv", format!("{HEADER}{rows}"));
        let (_, warnings) = sandbox.try_ingest(&run).unwrap();
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        let (rungs,): (i64,) = ask_one(&sandbox.session(), "SELECT rungs FROM runs");
        (rungs, warnings)
    };
    let whole = "a,Q01,8,1,600,0,10\na,Q01,8,2,600,0,10";
    assert_eq!(warnings(&format!("{whole}\n")), (2, vec![]));
    let open = "summary.csv:3: may be cut: the last line has no newline".to_owned();
    assert_eq!(warnings(whole), (2, vec![open]));
    let half = "summary.csv:3: the last line is half-written, left out".to_owned();
    assert_eq!(warnings(&whole[..whole.len() - 4]), (1, vec![half]));
}

#[test]
fn a_resume_has_its_time_in_the_store() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(RUN);
    let git = json!({"sha": "d43b538d10d286d3aa48cd882fe33fd86a99dcc8", "branch": "main",
                     "dirty": false});
    let resumed = json!([{"t": 1500.5, "git": git}, {"note": "by hand"}]);
    run.rungs([Rung::new("a", 1)])
        .file("environment.json", json!({"resumed": resumed}).to_string());
    sandbox.ingest(run);
    let events: Vec<(Option<f64>, String)> =
        ask(&sandbox.session(), "SELECT t, detail FROM events WHERE kind = 'resumed' ORDER BY t");
    assert_eq!(events[0].0, Some(1500.5));
    let detail: serde_json::Value = serde_json::from_str(&events[0].1).unwrap();
    assert_eq!(detail, json!({"t": 1500.5, "git": git}));
    assert_eq!(events[1], (None, json!({"note": "by hand"}).to_string()));
}

#[test]
fn a_tie_for_want_of_intervals_is_not_robust() {
    let sandbox = store_of([paced("a", 1, 100.0), paced("b", 1, 50.0)]);
    let beside: (String, Option<bool>) =
        ask_one(&sandbox.session(), "SELECT verdict, robust FROM verdict_robustness");
    assert_eq!(beside, ("tie".to_owned(), None));
}

#[test]
fn the_query_of_a_hypothesis_is_a_name_and_says_true_or_false() {
    let sandbox = store_of([paced("a", 1, 100.0)]);
    let folder = sandbox.path("mine/hypotheses");
    fs::create_dir_all(&folder).unwrap();
    fs::write(sandbox.path("secret.sql"), "root:x:0:0").unwrap();
    let judge = |query: &str, sql: &str| {
        let protocol =
            format!("[[hypothesis]]\nid = \"H\"\nstatement = \"s\"\nquery = \"{query}\"\n");
        fs::write(sandbox.path("p.toml"), protocol).unwrap();
        fs::write(folder.join("h.sql"), sql).unwrap();
        let arguments = ["hypotheses", "--protocol", "p.toml", "--queries", "mine"];
        let output = sandbox.tapstat(&arguments).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    for query in ["../../secret.sql", "..", ".", "", "/etc/passwd", "x/../h.sql"] {
        let (code, said) = judge(query, "SELECT 1");
        assert_eq!(code, 2);
        assert!(said.contains(&format!("no query file `{query}`")), "{said}");
    }
    let holds = |holds: &str| {
        let sql = format!(
            "SELECT 'p' AS part, {holds} AS holds, '' AS found, '' AS expected, NULL AS detail"
        );
        judge("h.sql", &sql)
    };
    assert_eq!(holds("true"), (0, String::new()));
    assert_eq!(holds("NULL"), (0, String::new()));
    for wrong in ["'maybe'", "2"] {
        let (code, said) = holds(wrong);
        assert_eq!(code, 2);
        assert!(said.ends_with("h.sql: expected a column `holds` of type Boolean\n"), "{said}");
    }
}

#[test]
fn a_sweep_is_filtered_by_all_that_it_has() {
    let step = |tier: &str, rps| paced("a", 1, rps).with("instances", 1).with("tier", tier);
    let sandbox = store_of([step("4", 100.0), step("8", 200.0)]);
    let output = sandbox.tapstat(&["sweep", "--tier", "8", "--format", "json"]).output().unwrap();
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((rows.as_array().unwrap().len(), &rows[0]["rps"]), (1, &json!(200.0)));
    let page = sandbox.tapstat(&["sweep"]).output().unwrap();
    assert!(String::from_utf8(page.stdout).unwrap().contains("tier  path"));
}
