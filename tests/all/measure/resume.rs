//! Measurements that are killed, stopped, and taken up again.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::{Campaign, SMALL, events, lines, rungs};
use crate::support::Dice;

/// A campaign of eight short rungs.
fn protocol() -> String {
    SMALL
        .replace("repetitions = 3", "repetitions = 2")
        .replace("concurrencies = [1, 3]", "concurrencies = [2]")
        .replace("measure_seconds = 0.3", "measure_seconds = 0.15")
}

const ALL: [&str; 8] = [
    "fast---a-c2-r1",
    "fast---a-c2-r2",
    "fast---b-c2-r1",
    "fast---b-c2-r2",
    "slow---a-c2-r1",
    "slow---a-c2-r2",
    "slow---b-c2-r1",
    "slow---b-c2-r2",
];

/// Reads what a child says until a line has these words.
fn wait_for(child: &mut Child, words: &str) -> String {
    let mut said = String::new();
    let mut reader = BufReader::new(child.stderr.as_mut().unwrap());
    while !said.contains(words) {
        assert!(reader.read_line(&mut said).unwrap() > 0, "{said}");
    }
    said
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn killed_at_any_moment_it_loses_the_rung_in_flight() {
    let campaign = Campaign::new(&protocol());
    let own = format!("[target.fast.containers]\nweb = {{ pid = {} }}", std::process::id());
    campaign.targets(&own, "");
    let mut dice = Dice(4);
    let mut child = campaign.command(&[]).spawn().unwrap();
    wait_for(&mut child, "measuring into");
    let mut done = 0;
    let mut kills = 0;
    let run = loop {
        thread::sleep(Duration::from_secs_f64(dice.between(0.05, 0.7)));
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        let run = campaign.run();
        let whole = |line: &str| serde_json::from_str::<Value>(line).is_ok();
        let text = fs::read_to_string(run.join("rungs.jsonl")).unwrap();
        let now = text.lines().filter(|line| whole(line)).count();
        assert!(now >= done, "rungs are never lost");
        done = now;
        if kills >= 6 || done == ALL.len() {
            break run;
        }
        child = campaign.command(&["--resume", run.to_str().unwrap()]).spawn().unwrap();
    };
    let (code, said) = campaign.measure(&["--resume", run.to_str().unwrap()]);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    assert_eq!(rungs(&run), ALL);
    let lines = lines(&run.join("rungs.jsonl"));
    assert_eq!(lines.len(), ALL.len());
    let mut positions: Vec<i64> =
        lines.iter().map(|rung| rung["position"].as_i64().unwrap()).collect();
    positions.sort_unstable();
    assert!(positions.into_iter().eq(0..8));
    let environment: Value =
        serde_json::from_slice(&fs::read(run.join("environment.json")).unwrap()).unwrap();
    assert!(!environment["resumed"].as_array().unwrap().is_empty());
    campaign.ingest_clean(&run);
    // What is complete is not measured again.
    let (_, said) = campaign.measure(&["--resume", run.to_str().unwrap()]);
    assert!(said.contains("8 of 8 rungs are measured already"), "{said}");
    assert!(!said.contains("starting"), "{said}");
}

#[test]
fn ctrl_c_drops_the_rung_and_says_how_to_go_on() {
    let campaign =
        Campaign::new(&protocol().replace("measure_seconds = 0.15", "measure_seconds = 0.5"));
    campaign.targets("hooks.stop = \"touch stopped\"", "");
    let mut child = campaign.command(&[]).spawn().unwrap();
    wait_for(&mut child, "rung 1/8");
    thread::sleep(Duration::from_millis(100));
    interrupt(&child);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{said}");
    let run = campaign.run();
    assert!(campaign.sandbox.path("stopped").is_file());
    let kept = rungs(&run);
    assert_eq!(kept.len(), lines(&run.join("rungs.jsonl")).len());
    assert!(!kept.is_empty() && kept.len() < ALL.len(), "{kept:?}");
    assert_eq!(events(&run, "stop").len(), 1);
    let hint = format!(
        "tapstat measure protocol.toml --resume runs/{}",
        run.file_name().unwrap().display()
    );
    assert!(said.contains(&hint), "{said}");
    campaign.ingest_clean(&run);
}

#[test]
fn ctrl_c_ends_a_warm_pass_too() {
    let campaign = Campaign::new(&protocol());
    campaign.targets("hooks.warm_seconds = 120", "");
    let mut child = campaign.command(&[]).spawn().unwrap();
    // Nothing else asks it before: there are no gates, and no hook.
    while campaign.fast.answered() == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before its warm pass");
        thread::sleep(Duration::from_millis(10));
    }
    interrupt(&child);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{said}");
    assert!(said.contains("stopped: 0 of 8 rungs measured"), "{said}");
    let run = campaign.run();
    // It would have gone on for two minutes, and then begun a rung.
    let warm = events(&run, "warm");
    assert_eq!((warm.len(), &warm[0]["detail"]["stopped"]), (1, &true.into()), "{warm:?}");
    assert_eq!(events(&run, "dropped").len(), 0);
}

#[test]
fn a_second_ctrl_c_ends_it_at_once() {
    let campaign = Campaign::new(&protocol());
    // Its stop hook would take a minute.
    campaign.targets("hooks.stop = \"touch stopping; sleep 60\"", "");
    let mut child = campaign.command(&[]).spawn().unwrap();
    wait_for(&mut child, "rung 1/8");
    interrupt(&child);
    while !campaign.sandbox.path("stopping").is_file() {
        thread::sleep(Duration::from_millis(10));
    }
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_second_measurement_on_the_host_is_refused() {
    let campaign =
        Campaign::new(&protocol().replace("measure_seconds = 0.15", "measure_seconds = 30"));
    let mut child = campaign.command(&[]).spawn().unwrap();
    wait_for(&mut child, "measuring into");
    let (code, said) = campaign.measure(&[]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(code, Some(2));
    assert!(said.contains("another measurement is under way on this host: pid "), "{said}");
    assert!(said.contains(&format!("pid {}", child.id())), "{said}");
    campaign.run();
}

#[test]
fn another_campaign_is_not_resumed() {
    let campaign = Campaign::new(&protocol());
    let (code, said) = campaign.measure(&["--classes", "a"]);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    let run = campaign.run();
    let refused = |file: &str, change: &dyn Fn(&str) -> String, expected: &str| {
        let path = campaign.sandbox.path(file);
        let original = fs::read_to_string(&path).unwrap();
        fs::write(&path, change(&original)).unwrap();
        let before = fs::read(run.join("environment.json")).unwrap();
        let (code, said) = campaign.measure(&["--resume", run.to_str().unwrap()]);
        fs::write(&path, original).unwrap();
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
        assert!(fs::read(run.join("environment.json")).unwrap() == before);
    };
    refused("corpus.jsonl", &|text| text.replace("/b", "/c"), "another corpus: corpus was ");
    refused(
        "protocol.toml",
        &|text| text.replace("seconds = 0.15", "seconds = 0.2"),
        "another scenario: scenario.measure_seconds was 0.15, and is 0.2 now",
    );
    refused(
        "targets.toml",
        &|text| format!("{text}server = \"other\"\n"),
        "another target set: target set.slow.server was \"slow\", and is \"other\" now",
    );
    refused(
        "protocol.toml",
        &|text| text.replace("[measure]", "[measure]\nseed = 5"),
        "another seed",
    );

    // Another hook is no other target; that it changed is told.
    let targets = campaign.sandbox.path("targets.toml");
    let text = fs::read_to_string(&targets).unwrap();
    fs::write(&targets, format!("{text}hooks.start = \"true\"\n")).unwrap();
    let (code, said) = campaign.measure(&["--resume", run.to_str().unwrap()]);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    assert_eq!(rungs(&run), ALL);
    let told = &events(&run, "deviation")[0]["detail"];
    assert!(told.as_str().unwrap().starts_with("the targets file has changed"), "{told}");
    campaign.ingest_clean(&run);
    let (code, said) = campaign.measure(&["--resume", "nowhere"]);
    assert_eq!(code, Some(2));
    assert!(said.contains(&Path::new("nowhere").join("environment.json").display().to_string()));
}
