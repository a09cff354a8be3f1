//! Ingests that are killed, or that meet another: the store is always one that
//! somebody meant to have.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Instant;

use serde_json::Value;

use super::support::{Dice, PROGRAM, RunFolder, Rung, Sandbox, files};

const KILLS: usize = 50;
const RUNGS: u32 = 4;
const REQUESTS: u32 = 25_000;

/// Writes a run with enough requests to take a while; versions differ in all
/// their figures.
fn write_run(run: &RunFolder, version: u32) {
    for repetition in 1..=RUNGS {
        let mut lines = String::new();
        for number in 0..REQUESTS {
            let t = 1_789_253_888.5 + f64::from(100 * repetition) + f64::from(number) / 1e3;
            let latency = f64::from((number * 7919 + version) % 10_007) / 1e4;
            lines += &format!(
                "{{\"t_start\":{t},\"query_class\":\"Q01\",\"query_id\":\"q{}\",\"status\":200,\
                 \"error\":null,\"latency_s\":{latency},\"response_bytes\":{number}}}\n",
                number % 97
            );
        }
        run.file(&format!("samples/one-csv-Q01-c8-r{repetition}.jsonl"), lines);
    }
    let rung = |repetition| {
        let rung = Rung::new("one", repetition).with("requests", REQUESTS);
        rung.with("rps", REQUESTS / 60 + version)
    };
    run.rungs((1..=RUNGS).map(rung));
}

/// A run of one version: versions of one run lie in folders of their own.
fn written(sandbox: &Sandbox, version: u32) -> PathBuf {
    let folder = sandbox.path(&format!("version-{version}"));
    let run = RunFolder::create(&folder.join("run"));
    write_run(&run, version);
    run.as_ref().to_owned()
}

fn ingest(sandbox: &Sandbox, run: &Path, more: &[&str]) -> Child {
    Command::new(PROGRAM)
        .args(["--store".as_ref(), sandbox.store_path().as_os_str(), "ingest".as_ref()])
        .arg(run)
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn ingested(sandbox: &Sandbox, run: &Path, more: &[&str]) -> Output {
    let output = ingest(sandbox, run, more).wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

type Content = BTreeMap<String, Vec<u8>>;

/// What readers of the store see: its files but for the hidden ones.
fn content(sandbox: &Sandbox) -> Content {
    let mut content = files(&sandbox.store_path());
    content.retain(|path, _| !path.starts_with('.'));
    content
}

/// A store with one run in it that nobody touches.
fn with_bystander() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ingest(sandbox.run("bystander").rungs([Rung::new("one", 1)]));
    sandbox
}

fn assert_clean(sandbox: &Sandbox, when: &str) {
    let check = sandbox.tapstat(&["check"]).output().unwrap();
    let said = String::from_utf8_lossy(&check.stdout);
    assert_eq!((check.status.code(), &*said), (Some(0), ""), "{when}");
}

#[test]
fn a_killed_ingest_leaves_the_old_store_or_the_new_one() {
    let sandbox = with_bystander();
    let runs = [1, 2].map(|version| written(&sandbox, version));
    // States by what of the run the store holds: nothing, or a version.
    let nothing = content(&sandbox);
    ingested(&sandbox, &runs[0], &[]);
    let first = content(&sandbox);
    let begun = Instant::now();
    ingested(&sandbox, &runs[1], &["--replace"]);
    let duration = begun.elapsed();
    let versions = [first, content(&sandbox)];

    let mut dice = Dice(20_260_912);
    let mut finished = 0;
    for kill in 0..KILLS {
        let when = format!("kill {kill}");
        // In turns into a store without the run, and over its other version,
        // which is what the turn before has left.
        let version = kill % 2;
        let (old, more): (_, &[&str]) = if version == 0 {
            sandbox.tapstat(&["remove", "run"]).assert().code(0);
            (&nothing, &[])
        } else {
            (&versions[0], &["--replace"])
        };
        assert!(content(&sandbox) == *old, "{when} begins with the old store");

        let mut child = ingest(&sandbox, &runs[version], more);
        thread::sleep(duration.mul_f64(dice.between(0.0, 1.0)));
        child.kill().unwrap();
        child.wait().unwrap();

        assert_clean(&sandbox, &when);
        let found = content(&sandbox);
        finished += usize::from(found == versions[version]);
        assert!(found == *old || found == versions[version], "{when}: neither old nor new");
        ingested(&sandbox, &runs[version], more);
        assert!(content(&sandbox) == versions[version], "{when}: ingested again");
    }
    assert_clean(&sandbox, "at the end");
    eprintln!("{finished} of {KILLS} ingests were done before they were killed");
    let hidden = files(&sandbox.store_path()).into_keys().filter(|path| path.starts_with('.'));
    let left: Vec<String> = hidden.filter(|path| !path.contains("lock")).collect();
    assert_eq!(left, [""; 0], "nothing of a killed ingest is left");
}

#[test]
fn ingests_of_different_runs_do_not_disturb_each_other() {
    let together = with_bystander();
    let alone = with_bystander();
    let runs = ["left", "right"].map(|id| {
        let run = together.run(id);
        write_run(&run, 1);
        run
    });
    let children = runs.each_ref().map(|run| ingest(&together, run.as_ref(), &[]));
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for run in &runs {
        ingested(&alone, run.as_ref(), &[]);
    }
    assert!(content(&together) == content(&alone), "one after the other gives the same store");
    assert_clean(&together, "two at once");
}

#[test]
fn of_two_ingests_of_one_run_one_does_it() {
    let sandbox = with_bystander();
    let run = written(&sandbox, 1);
    let children = [(); 2].map(|()| ingest(&sandbox, &run, &[]));
    let mut words: Vec<String> = children
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            let word = said.split(' ').next().unwrap().to_owned();
            match output.status.code() {
                Some(0) => word,
                Some(2) if said.contains("another process") => "refused".to_owned(),
                _ => panic!("{}: {said}", output.status),
            }
        })
        .collect();
    words.sort();
    let one_did = [["ingested", "refused"], ["ingested", "unchanged"]];
    assert!(one_did.iter().any(|expected| words == *expected), "{words:?}");
    assert_clean(&sandbox, "two at once");
    let output = ingested(&sandbox, &run, &[]);
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("unchanged run: "));
}

#[test]
fn readers_go_on_while_a_run_is_replaced() {
    let sandbox = with_bystander();
    let runs = [1, 2].map(|version| written(&sandbox, version));
    ingested(&sandbox, &runs[0], &[]);
    let mut answers = Vec::new();
    let ask = || {
        let query = "SELECT max(rps) AS rps, count(*) AS requests
                     FROM rungs JOIN requests USING (run, rung)";
        let output = sandbox.tapstat(&["sql", query, "--format", "ndjson"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    for turn in 0..4 {
        let child = ingest(&sandbox, &runs[(turn + 1) % 2], &["--replace"]);
        answers.extend([ask(), ask()]);
        assert!(child.wait_with_output().unwrap().status.success());
        answers.push(ask());
    }
    for answer in answers {
        assert_eq!(answer["requests"], RUNGS * REQUESTS, "{answer}");
        let rps = answer["rps"].as_f64().unwrap();
        assert!([1, 2].map(|version| f64::from(REQUESTS / 60 + version)).contains(&rps), "{rps}");
    }
}
