//! The command line: help, exit codes, where output goes and in what form.

mod formats;
mod pages;

use snapbox::{file, str};

use crate::support::{SCALING, Sandbox, shipped_run};

/// Every command, as the help lists them.
const COMMANDS: &[&str] = &[
    "demo",
    "corpus",
    "gates",
    "ingest",
    "runs",
    "cells",
    "verdicts",
    "resources",
    "tiers",
    "reproduce",
    "shift",
    "fit",
    "scaling",
    "sweep",
    "bursts",
    "classify",
    "anomalies",
    "hypotheses",
    "prereg",
    "protocol",
    "sql",
    "check",
    "remove",
];

#[test]
fn help() {
    let sandbox = Sandbox::new();
    let help = sandbox.tapstat(&["-h"]).assert().success().stderr_eq("");
    help.stdout_eq(file!["help.stdout"]);
    let help = sandbox.tapstat(&["verdicts", "--help"]).assert().success().stderr_eq("");
    help.stdout_eq(file!["help-verdicts.stdout"]);
}

#[test]
fn every_command_has_its_help() {
    let sandbox = Sandbox::new();
    for command in COMMANDS {
        let help = sandbox.tapstat(&[command, "--help"]).assert().success().stderr_eq("");
        let text = String::from_utf8(help.get_output().stdout.clone()).unwrap();
        assert!(text.contains(&format!("Usage: tapstat {command}")), "{text}");
        assert!(text.contains(&format!("Examples:\n  tapstat {command}")), "{text}");
        assert!(text.contains("--store <DIR>"), "{text}");
    }
}

#[test]
fn no_command_is_answered_with_the_help_and_an_error() {
    let nothing = Sandbox::new().tapstat(&[]).assert().code(2).stdout_eq("");
    let text = String::from_utf8(nothing.get_output().stderr.clone()).unwrap();
    assert!(text.contains("Usage: tapstat [OPTIONS] <COMMAND>"), "{text}");
}

#[test]
fn the_version_names_the_revision() {
    let version = Sandbox::new().tapstat(&["--version"]).assert().success().stderr_eq("");
    let expected = format!("tapstat {} (revision {})\n", tapstat::VERSION, tapstat::REVISION);
    version.stdout_eq(expected);
}

#[test]
fn wrong_usage_is_told_and_ends_with_2() {
    let sandbox = Sandbox::new();
    sandbox.tapstat(&["verdict"]).assert().code(2).stdout_eq("").stderr_eq(str![[r#"
tapstat: error: unrecognized subcommand 'verdict'

  tip: a similar subcommand exists: 'verdicts'

Usage: tapstat [OPTIONS] <COMMAND>

For more information, try '--help'.

"#]]);
    sandbox.tapstat(&["cells", "--confidence", "95"]).assert().code(2).stdout_eq("").stderr_eq(str![[r#"
tapstat: error: invalid value '95' for '--confidence <FRACTION>': expected a number between 0 and 1, both excluded

For more information, try '--help'.

"#]]);
    sandbox.tapstat(&["sql", "--tables", "--show", "cells"]).assert().code(2).stdout_eq("");
}

#[test]
fn wrong_data_is_told_in_a_line_and_ends_with_2() {
    let sandbox = Sandbox::new();
    let refused = |arguments: &[&str], message: &str| {
        let expected = format!("tapstat: error: {message}\n");
        sandbox.tapstat(arguments).assert().code(2).stdout_eq("").stderr_eq(expected);
    };
    refused(&["cells"], "no store at store: ingest a run first (`tapstat ingest RUN-DIRECTORY`)");
    refused(&["ingest", "nowhere"], "nowhere: No such file or directory (os error 2)");
    refused(
        &["ingest", "--format", "csv", "nowhere"],
        "--format has no effect on `tapstat ingest`, which prints lines of text",
    );
    refused(
        &["demo", "--runs", "none"],
        "none: no folder of run directories: No such file or directory (os error 2)",
    );
}

#[test]
fn names_of_runs_are_parts_of_their_ids() {
    let sandbox = Sandbox::with_shipped_run();
    let id = SCALING;
    for name in ["scaling", "20260912", id, "2026*scaling"] {
        let one = ["cells", "--run", name, "--format", "csv", "--class", "Q01", "--tier", "8"];
        sandbox.tapstat(&one).assert().success().stderr_eq("");
    }
    let expected = format!("tapstat: error: no run matches `x`: the store has {id}\n");
    sandbox.tapstat(&["cells", "--run", "x"]).assert().code(2).stdout_eq("").stderr_eq(expected);
    let expected = format!("tapstat: error: both names mean run {id}: expected two runs\n");
    let twice = ["reproduce", "scaling", "20260912"];
    sandbox.tapstat(&twice).assert().code(2).stdout_eq("").stderr_eq(expected);
}

#[test]
fn check_answers_by_exit_code() {
    let sandbox = Sandbox::with_shipped_run();
    let verdicts = |more: &[&str]| sandbox.tapstat(&[&["verdicts", "--check"], more].concat());
    verdicts(&[]).assert().code(1);
    verdicts(&["--tier", "8"]).assert().code(0);
    let nothing = verdicts(&["--class", "none"]).assert().code(2).stdout_eq("");
    nothing.stderr_eq("tapstat: error: nothing to check: no comparison matches\n");
    sandbox.tapstat(&["verdicts"]).assert().code(0);

    sandbox.tapstat(&["check"]).assert().code(0).stdout_eq("");
    std::fs::write(sandbox.path("store/stray"), "").unwrap();
    let found = sandbox.tapstat(&["check"]).assert().code(1);
    found.stdout_eq("extra: stray: no manifest names it\n");
}

#[test]
fn a_run_comes_stays_and_goes() {
    let sandbox = Sandbox::new();
    let id = SCALING;
    let ingest = |more: &[&str]| {
        sandbox
            .tapstat(&[&["ingest"], more].concat())
            .arg(shipped_run())
            .assert()
            .success()
            .stdout_eq("")
    };
    let contents = format!("{id}: 180 published cells (layout published table)\n");
    ingest(&[]).stderr_eq(format!("ingested {contents}"));
    ingest(&[]).stderr_eq(format!("unchanged {contents}"));
    ingest(&["--replace"]).stderr_eq(format!("replaced {contents}"));
    let remove = sandbox.tapstat(&["remove", "scaling"]).assert().success().stdout_eq("");
    remove.stderr_eq(format!("removed {id}\n"));
    let runs = sandbox.tapstat(&["runs", "--format", "csv"]).assert().success().stderr_eq("");
    runs.stdout_eq("run,layout,rungs,requests,tiers,targets,git_sha,inputs,inputs_sha256\n");
}

#[test]
fn the_store_is_named_by_flag_then_environment() {
    let sandbox = Sandbox::new();
    let ingest = |arguments: &[&str]| {
        let command = sandbox.tapstat(arguments).env("TAPSTAT_STORE", "by-environment");
        command.arg(shipped_run()).assert().success();
    };
    ingest(&["ingest"]);
    assert!(sandbox.path("by-environment/manifests").is_dir());
    ingest(&["--store", "by-flag", "ingest"]);
    assert!(sandbox.path("by-flag/manifests").is_dir());
    ingest(&["ingest", "--store", "by-late-flag"]);
    assert!(sandbox.path("by-late-flag/manifests").is_dir());
    assert!(!sandbox.path("store").exists());
}

#[test]
fn a_demonstration_has_a_store_of_its_own() {
    let sandbox = Sandbox::new();
    let demo =
        sandbox.tapstat(&["demo", "--no-live"]).env("TAPSTAT_STORE", "mine").assert().success();
    demo.stdout_eq(file!["demo.stdout"]).stderr_eq(file!["demo.stderr"]);
    assert!(sandbox.path("demo-store/manifests").is_dir());
    assert!(!sandbox.path("mine").exists() && !sandbox.path("demo-live").exists());
}
