//! Run directories that cannot be believed: what is said of each.

use serde_json::{Value, json};

use super::super::RunDir;
use super::Folder;

fn rung() -> Value {
    json!({
        "target": "one", "query_class": "Q", "concurrency": 8, "repetition": 1,
        "requests": 100, "errors": 0, "rps": 10.0,
    })
}

/// The refusal of a rung with some fields given other values.
fn changed(changes: Value) -> String {
    let mut line = rung();
    for (name, value) in changes.as_object().unwrap() {
        line[name] = value.clone();
    }
    Folder::new().with("rungs.jsonl", format!("{line}\n")).refusal()
}

#[test]
fn directories_without_a_run() {
    assert_eq!(
        Folder::new().with("notes/a.md", "").refusal(),
        "RUN: no layout that is known: expected one of rungs.jsonl, summaries/*.json, \
         summary.json, summary.csv, cells.csv, instance_scaling.csv, sweep.csv, bursts.csv"
    );
    let folder = Folder::new().with("a b/rungs.jsonl", "").with("file", "");
    let message = RunDir::open(&folder.path().join("a b")).unwrap_err().to_string();
    assert!(message.contains("a b: not a run id: `a b`: expected letters"), "{message}");
    let message = RunDir::open(&folder.path().join("none")).unwrap_err().to_string();
    assert!(message.contains("none: "), "{message}");
    let message = RunDir::open(&folder.path().join("file")).unwrap_err().to_string();
    assert!(message.contains("file: "), "{message}");
}

#[test]
fn a_run_has_rungs() {
    for (name, text) in [
        ("rungs.jsonl", "\n"),
        ("summary.json", "[]"),
        ("summary.csv", "target,query_class,concurrency,repetition,requests,errors,rps\n"),
    ] {
        let message = Folder::new().with(name, text).refusal();
        assert_eq!(message, format!("{name}: expected at least one rung, found none"));
    }
}

#[test]
fn malformed_lines() {
    let refusal = |name: &str, text: String| Folder::new().with(name, text).refusal();
    let message = refusal("rungs.jsonl", format!("{{\"target\": x}}\n{}\n", rung()));
    assert_eq!(message, "rungs.jsonl:1: not valid JSON: expected value (column 12)");
    let message = refusal("summary.json", format!("[{},\n7]", rung()));
    assert_eq!(message, "summary.json:2 [1]: expected a JSON object, found 7");
    let message = refusal("summary.csv", "target,rps\none,1\n".to_owned());
    assert_eq!(
        message,
        "summary.csv:1: columns are missing: expected query_class, concurrency, repetition, \
         requests, error_fraction or errors"
    );
    let message = refusal("summaries/a.json", "{".to_owned());
    assert!(message.starts_with("summaries/a.json:1: not valid JSON: EOF"), "{message}");
}

#[test]
fn figures_that_cannot_be() {
    for (changes, field, expected, found) in [
        (json!({"rps": -1}), "rps", "a number from 0 to 1e18", "-1"),
        (json!({"elapsed_s": 1e19}), "elapsed_s", "a number from 0 to 1e18", "1e+19"),
        (json!({"started_at": -1e19}), "started_at", "a number from -1e18 to 1e18", "-1e+19"),
        (json!({"requests": 1.5}), "requests", "a whole number of at least 0", "1.5"),
        (json!({"concurrency": 0}), "concurrency", "a whole number of at least 1", "0"),
        (json!({"repetition": 0}), "repetition", "a whole number of at least 1", "0"),
        (json!({"target": 5}), "target", "text", "5"),
        (json!({"mode": "both"}), "mode", "`sync` or `async`", "\"both\""),
        (json!({"loop": "ajar"}), "loop", "`closed`, `open` or `burst`", "\"ajar\""),
        (json!({"error_fraction": 1.1}), "error_fraction", "a number from 0 to 1", "1.1"),
        (json!({"errors": 101}), "errors", "at most the 100 requests", "101"),
        (
            json!({"errors": 3, "error_fraction": 0.05}),
            "error_fraction",
            "3 errors / 100 requests",
            "0.05",
        ),
        (json!({"elapsed_s": 11}), "rps", "100 requests / 11 s within 1%", "10"),
        (json!({"rps": null, "elapsed_s": 0}), "elapsed_s", "more than 0 for 100 requests", "0"),
        (
            json!({"started_at": 5, "ended_at": 4}),
            "ended_at",
            "a time not before `started_at`, 5",
            "4",
        ),
        (json!({"latency": {"p50_s": -0.1}}), "latency.p50_s", "a number from 0 to 1e18", "-0.1"),
    ] {
        let message = changed(changes);
        assert_eq!(
            message,
            format!("rungs.jsonl:1: field `{field}`: expected {expected}, found {found}")
        );
    }
}

#[test]
fn figures_that_are_not_finite() {
    let line = rung().to_string().replace("10.0", "Infinity");
    assert_eq!(
        Folder::new().with("rungs.jsonl", line + "\n").refusal(),
        "rungs.jsonl:1: field `rps`: expected a number from 0 to 1e18, found \"Infinity\""
    );
    let header = "target,query_class,concurrency,repetition,requests,errors,rps";
    assert_eq!(
        Folder::new().with("summary.csv", format!("{header}\none,Q,8,1,100,0,nan\n")).refusal(),
        "summary.csv:2: field `rps`: expected a number from 0 to 1e18, found nan"
    );
}

#[test]
fn fields_that_are_missing() {
    for (field, expected) in [
        ("target", "text"),
        ("query_class", "text or a number"),
        ("concurrency", "a whole number of at least 1"),
        ("repetition", "a whole number of at least 1"),
        ("requests", "a whole number of at least 0"),
        ("errors", "this or `error_fraction`"),
        ("rps", "this or `elapsed_s`"),
    ] {
        let message = changed(json!({field: null}));
        assert_eq!(
            message,
            format!("rungs.jsonl:1: field `{field}` is missing: expected {expected}")
        );
    }
}

#[test]
fn percentiles_out_of_order() {
    let message = changed(json!({"latency": {"p50_s": 0.1, "p95_s": 0.3, "max_s": 0.2}}));
    assert_eq!(
        message,
        "rungs.jsonl:1: rung `one---Q-c8-r1`: percentiles out of order: latency_p95_s is 0.3, latency_max_s is 0.2"
    );
}

#[test]
fn rungs_that_stand_twice() {
    let twice = |other: Value| {
        Folder::new().with("rungs.jsonl", format!("{}\n{other}\n", rung())).refusal()
    };
    assert_eq!(
        twice(rung()),
        "rungs.jsonl:2: duplicate rung `one---Q-c8-r1`: it stands at rungs.jsonl:1 already, with the same figures"
    );
    let mut other = rung();
    other["errors"] = json!(1);
    assert_eq!(
        twice(other),
        "rungs.jsonl:2: rung `one---Q-c8-r1` stands at rungs.jsonl:1 already, with other figures: error_fraction is 0.0 there, 0.01 here; errors is 0 there, 1 here"
    );
}

#[test]
fn other_files_are_checked_too() {
    let beside = |name: &str, text: &str| {
        Folder::new().with("rungs.jsonl", format!("{}\n", rung())).with(name, text).refusal()
    };
    assert_eq!(
        beside("events.jsonl", "{\"t\": 1}\n"),
        "events.jsonl:1: field `kind` is missing: expected text"
    );
    assert_eq!(
        beside("gates.json", r#"{"targets": {"a": {"taplint": {"passed": 1}}}}"#),
        "gates.json: field `taplint.passed`: expected true or false, found 1"
    );
    assert_eq!(
        beside("gates.json", r#"{"agreement": {"classes": {"Q": {"agrees": 1}}}}"#),
        "gates.json: field `agrees`: expected true or false, found 1"
    );
    assert_eq!(
        beside("environment.json", r#"{"target": 1}"#),
        "environment.json: field `target`: expected an object, found 1"
    );
    assert_eq!(
        beside("corpus.json", "{}"),
        "corpus.json: expected a JSON array, found something else"
    );
    assert!(beside("pins/a.json", "{").starts_with("pins/a.json:1: not valid JSON"));
}
