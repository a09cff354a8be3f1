//! Protocols, targets files and corpora that nothing can be measured with: what
//! is said of each, and the plan of one that can.

use super::{CORPUS, SMALL};
use crate::support::{RunFolder, Sandbox, golden};

const TARGETS: &str = "\
[target.fast]
base_url = \"http://127.0.0.1:7001\"
kind = \"http\"

[target.slow]
base_url = \"http://127.0.0.1:7002\"
kind = \"http\"
";

/// What is said of a campaign of these files.
fn refused(case: &str, protocol: &str, targets: &str, corpus: &str) {
    let sandbox = Sandbox::new();
    let folder = RunFolder::create(&sandbox.path(""));
    folder.file("protocol.toml", protocol).file("targets.toml", targets);
    folder.file("corpus.jsonl", corpus);
    let output = sandbox.tapstat(&["measure", "protocol.toml", "--dry-run"]).assert().code(2);
    let file = format!("tests/all/measure/{case}.stderr");
    output.stdout_eq("").stderr_eq(golden(&file).raw());
}

#[test]
fn targets_files_that_cannot_be_used() {
    let fast = |more: &str| TARGETS.replacen("kind = \"http\"\n", more, 1);
    for (case, targets) in [
        ("unknown-key", fast("kind = \"http\"\nbase_ulr = \"x\"\n")),
        ("unknown-hook", fast("kind = \"http\"\nhooks.begin = \"x\"\n")),
        ("unknown-kind", fast("kind = \"ftp\"\n")),
        ("no-url", TARGETS.replacen("base_url = \"http://127.0.0.1:7001\"\n", "", 1)),
        ("bad-url", TARGETS.replace("http://127.0.0.1:7001", "localhost:7001")),
        ("two-sources", fast("kind = \"http\"\ncontainers.web = { pid = 1, process = \"x\" }\n")),
        ("api-of-nothing", fast("kind = \"http\"\napi = \"web\"\n")),
        (
            "bad-timeout",
            fast("kind = \"http\"\nhooks.start = { run = \"x\", timeout_seconds = 0 }\n"),
        ),
        ("missing-target", TARGETS.replace("[target.slow]", "[target.other]")),
        ("tap-without-maxrec", TARGETS.replace("kind = \"http\"", "kind = \"tap\"")),
    ] {
        refused(case, SMALL, &targets, CORPUS);
    }
}

#[test]
fn protocols_that_cannot_be_measured() {
    let without = |line: &str| SMALL.replace(line, "");
    for (case, protocol) in [
        ("no-targets-file", without("targets = \"targets.toml\"\n")),
        ("no-window", without("measure_seconds = 0.3\n")),
        ("no-grid", SMALL[SMALL.find("[window]").unwrap()..].to_owned()),
        ("open-without-rates", format!("{SMALL}loop = \"open\"\n")),
        ("bad-rate", format!("{SMALL}loop = \"open\"\nrates = [\"0%\"]\n")),
        ("mix-of-nothing", SMALL.replace("\"b\"]", "\"mix\"]")),
        ("unknown-class", SMALL.replace("\"b\"]", "\"c\"]")),
        ("wrong-format", SMALL.replace("formats = [\"-\"]", "formats = [\"csv\"]")),
    ] {
        refused(case, &protocol, TARGETS, CORPUS);
    }
    let corpus = CORPUS.replace("\"path\": \"/a?2\"", "\"pth\": \"/a?2\"");
    refused("bad-corpus", SMALL, TARGETS, &corpus);
}

fn plan(arguments: &[&str]) -> snapbox::cmd::OutputAssert {
    plan_of("tiers = [\"8\", \"16\"]", arguments)
}

/// The plan of a campaign with a further line in its grid.
fn plan_of(line: &str, arguments: &[&str]) -> snapbox::cmd::OutputAssert {
    let sandbox = Sandbox::new();
    let folder = RunFolder::create(&sandbox.path(""));
    let protocol = SMALL.replace("[grid]\n", &format!("[grid]\n{line}\n"));
    folder.file("protocol.toml", format!("{protocol}target_order = \"shuffled\"\nseed = 3\n"));
    folder.file("targets.toml", TARGETS).file("corpus.jsonl", CORPUS);
    let command = ["measure", "protocol.toml", "--dry-run"];
    let output = sandbox.tapstat(&[&command, arguments].concat()).assert();
    assert!(!sandbox.path("runs").exists(), "nothing is written");
    output
}

#[test]
fn the_plan_has_the_instances_that_are_prescribed() {
    let output = plan_of("instances = [1, 2]", &["--format", "json"]).code(0);
    let document: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let rungs = document["rungs"].as_array().unwrap();
    let of = |count: i64| rungs.iter().filter(|rung| rung["instances"] == count).count();
    assert_eq!((rungs.len(), of(1), of(2)), (48, 24, 24));
}

#[test]
fn the_plan_is_printed() {
    let output = plan(&["--tier", "16", "--classes", "b"]).code(0).stderr_eq("");
    output.stdout_eq(golden("tests/all/measure/plan.stdout").raw());
    let output = plan(&["--only", "slow", "--format", "json"]).code(0);
    let document: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let rungs = document["rungs"].as_array().unwrap();
    assert_eq!(rungs.len(), 24);
    assert!(rungs.iter().all(|rung| rung["target"] == "slow"));
    let hours = document["expected_hours"].as_f64().unwrap();
    assert!((hours - 24.0 * 0.3 / 3600.0).abs() < 1e-9);
    let output = plan(&["--tier", "9"]).code(2).stdout_eq("");
    output.stderr_eq(golden("tests/all/measure/unknown-tier.stderr").raw());
}
