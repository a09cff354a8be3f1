//! `tapstat protocol check`, from a file and a run to its exit code.

use serde_json::{Value, json};

use crate::support::{Rung, Sandbox};

const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/protocols/scaling-three-way.toml");

const PROTOCOL: &str = "\
[grid]
targets = [\"a\", \"b\"]
classes = [\"Q01\"]
formats = [\"csv\"]
concurrencies = [8]
repetitions = 2

[containers]
server-a = { members = [\"db\"] }
";

/// The exit code and JSON of `protocol check`.
fn check(sandbox: &Sandbox, arguments: &[&str]) -> (i32, Value) {
    let command = ["protocol", "check", "--format", "json"];
    let output = sandbox.tapstat(&[&command, arguments].concat()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let document = serde_json::from_slice(&output.stdout);
    (output.status.code().unwrap(), document.unwrap_or_else(|error| panic!("{error}: {stderr}")))
}

/// A sandbox with `protocol.toml`, and a run `campaign` of these rungs.
fn campaign(rungs: impl IntoIterator<Item = Rung>) -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("protocol.toml"), PROTOCOL).unwrap();
    let run = sandbox.run("campaign");
    run.file("environment.json", json!({"target": {"a": {"server": "server-a"}}}).to_string());
    run.rungs(rungs);
    sandbox.ingest(run);
    sandbox
}

#[test]
fn the_shipped_run_has_every_rung_of_the_shipped_protocol() {
    let sandbox = Sandbox::with_shipped_run();
    let (code, document) = check(&sandbox, &[SHIPPED, "--run", "scaling", "--check"]);
    assert_eq!((code, &document["ok"], &document["findings"]), (0, &json!(true), &json!([])));
    assert_eq!(document["promised"], 540);
    assert_eq!(document["rungs"]["has"].as_array().unwrap().len(), 540);
    assert_eq!(
        (&document["rungs"]["lacks"], &document["rungs"]["beside"]),
        (&json!([]), &json!([]))
    );
    let answer = sandbox.tapstat(&["protocol", "check", SHIPPED, "--run", "scaling"]).assert();
    let answer = answer.success().stderr_eq("");
    let text = String::from_utf8(answer.get_output().stdout.clone()).unwrap();
    assert!(text.contains("540 rungs promised: 540 measured, 0 lacking; 0 beside\n"), "{text}");
}

#[test]
fn rungs_that_a_run_lacks_or_has_beside_are_named() {
    let sandbox = campaign([
        Rung::new("a", 1),
        Rung::new("a", 2),
        Rung::new("b", 2),
        Rung::new("b", 1).with("concurrency", 32),
        Rung::new("a", 1).with("mode", "async"),
    ]);
    let arguments = ["protocol.toml", "--run", "campaign"];
    let (code, document) = check(&sandbox, &arguments);
    assert_eq!((code, &document["findings"]), (0, &json!([])));
    assert_eq!(
        document["rungs"],
        json!({
            "has": ["a-csv-Q01-c8-r1", "a-csv-Q01-c8-r2", "b-csv-Q01-c8-r2"],
            "lacks": ["b-csv-Q01-c8-r1"],
            "beside": ["a-csv-Q01-c8-async-r1", "b-csv-Q01-c32-r1"],
        })
    );
    assert_eq!(check(&sandbox, &[&arguments[..], &["--check"]].concat()).0, 1);
    let answer = sandbox.tapstat(&[&["protocol", "check"], &arguments[..]].concat()).assert();
    let answer = answer.success();
    let text = String::from_utf8(answer.get_output().stdout.clone()).unwrap();
    assert!(text.contains("4 rungs promised: 3 measured, 1 lacking; 2 beside\n"), "{text}");
    assert!(
        text.contains("- b-csv-Q01-c8-r1\n") && text.contains("- b-csv-Q01-c32-r1\n"),
        "{text}"
    );
}

#[test]
fn a_run_knows_which_containers_are_nobodys() {
    let sandbox = campaign([Rung::new("a", 1), Rung::new("b", 1)]);
    let alone = check(&sandbox, &["protocol.toml"]);
    assert_eq!((alone.0, &alone.1["findings"][0]["severity"]), (0, &json!("note")));
    let text = PROTOCOL.replace("server-a", "server-c");
    std::fs::write(sandbox.path("protocol.toml"), text).unwrap();
    let (code, document) = check(&sandbox, &["protocol.toml", "--run", "campaign"]);
    let findings = document["findings"].as_array().unwrap();
    assert_eq!(code, 1);
    assert!(findings.iter().any(|finding| finding["key"] == "containers.server-c"
        && finding["severity"] == "problem"
        && finding["line"] == 9));
}

#[test]
fn everything_wrong_is_named_with_its_line() {
    let sandbox = Sandbox::new();
    let text =
        "[rule]\ntie_flor = 0.1\nconfidence = 2.0\n[grid]\ntargets = [\"a\", \"a\"]\nrungs = 3\n";
    std::fs::write(sandbox.path("protocol.toml"), text).unwrap();
    let (code, document) = check(&sandbox, &["protocol.toml"]);
    let findings = document["findings"].as_array().unwrap();
    let named: Vec<_> = findings
        .iter()
        .map(|finding| (finding["line"].as_u64().unwrap(), finding["key"].as_str().unwrap()))
        .collect();
    assert_eq!((code, &document["ok"]), (1, &json!(false)));
    for expected in [
        (2, "rule.tie_flor"),
        (3, "rule.confidence"),
        (4, "grid.classes"),
        (5, "grid.targets[1]"),
        (6, "grid.rungs"),
    ] {
        assert!(named.contains(&expected), "{expected:?}: {named:?}");
    }
}

#[test]
fn a_hypothesis_needs_its_query() {
    let sandbox = Sandbox::new();
    let text = format!(
        "{PROTOCOL}\n[[hypothesis]]\nid = \"H1\"\nstatement = \"a wins\"\nquery = \"h1.sql\"\n"
    );
    std::fs::write(sandbox.path("protocol.toml"), text).unwrap();
    let (code, document) = check(&sandbox, &["protocol.toml"]);
    let mut keys = document["findings"].as_array().unwrap().iter().map(|finding| &finding["key"]);
    assert_eq!((code, keys.next_back()), (1, Some(&json!("hypothesis[0].query"))));
    std::fs::create_dir_all(sandbox.path("mine/hypotheses")).unwrap();
    std::fs::write(sandbox.path("mine/hypotheses/h1.sql"), "SELECT 1").unwrap();
    assert_eq!(check(&sandbox, &["protocol.toml", "--queries", "mine"]).0, 0);
}

#[test]
fn what_cannot_be_read_ends_with_2() {
    let sandbox = Sandbox::new();
    let refused = |arguments: &[&str], message: &str| {
        let expected = format!("tapstat: error: {message}\n");
        sandbox.tapstat(arguments).assert().code(2).stdout_eq("").stderr_eq(expected);
    };
    refused(&["protocol", "check", "none"], "none: No such file or directory (os error 2)");
    refused(
        &["protocol", "check", SHIPPED, "--protocol", SHIPPED],
        "--protocol has no effect on `tapstat protocol check`, which checks FILE",
    );
}
