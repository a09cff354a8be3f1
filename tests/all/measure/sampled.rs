//! What the sampler sees, from a measurement to its figures, and by itself.

use std::process::Command;

use super::{Campaign, SMALL, lines};
use crate::support::{Sandbox, ask};

#[test]
fn a_measured_target_has_resource_figures() {
    let protocol = SMALL
        .replace("[measure]\n", "[measure]\nsample_seconds = 0.02\n")
        .replace("measure_seconds = 0.3", "measure_seconds = 0.5")
        .replace("repetitions = 3", "repetitions = 1");
    let containers = "[containers]\nfast = { members = [\"web\"], api = \"web\" }\n";
    let campaign = Campaign::new(&format!("{protocol}{containers}"));
    // The servers are threads of this process.
    let web = format!("containers.web = {{ pid = {}, children = false }}", std::process::id());
    campaign.targets(&web, "");
    let (code, said) = campaign.measure(&["--only", "fast", "--classes", "a"]);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    let samples = lines(&campaign.run().join("resources.jsonl"));
    assert!(samples.is_sorted_by_key(|sample| sample["cpu_usec"].as_u64().unwrap()));
    campaign.ingest_clean(&campaign.run());
    let figures: Vec<(Option<f64>, Option<f64>, Option<i64>)> = ask(
        &campaign.sandbox.session(),
        "SELECT coverage, mem_peak_bytes, api_workers FROM rung_resources",
    );
    assert_eq!(figures.len(), 2);
    for (coverage, memory, workers) in figures {
        // Where the machine was so busy that the sampler starved, there are none.
        let Some(coverage) = coverage else { continue };
        if coverage >= 0.8 {
            assert!(memory.is_some_and(|bytes| bytes > 1e6), "{memory:?}");
            assert_eq!(workers, Some(1));
        }
    }
}

#[test]
fn containers_are_sampled_alone() {
    let sandbox = Sandbox::new();
    let mut child = Command::new("sleep").arg("100").spawn().unwrap();
    let own = format!("one=pid:{},none=pid-file:/nowhere", child.id());
    let arguments = ["sample", "--containers", &own, "--every", "0.05", "--seconds", "0.3"];
    let output = sandbox.tapstat(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "tapstat: warning: none is not there yet\n");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(!printed.is_empty());
    let is_one = |line: &str| line.contains("\"container\":\"one\"") && line.ends_with('}');
    assert!(printed.lines().all(is_one), "{printed}");

    // Lines are added to what is there.
    std::fs::write(sandbox.path("resources.jsonl"), &printed).unwrap();
    let to_file = [&arguments[..], &["--output", "resources.jsonl"]].concat();
    sandbox.tapstat(&to_file).assert().code(0).stdout_eq("");
    child.kill().unwrap();
    child.wait().unwrap();
    let added = lines(&sandbox.path("resources.jsonl"));
    assert!(added.len() > printed.lines().count());
    for bad in [
        &["sample", "--containers", "x=what:1"][..],
        &["sample", "--containers", "a=pid:1,a=pid:2"],
        &["sample", "--containers", "a=pid:1", "--every", "0"],
    ] {
        sandbox.tapstat(bad).assert().code(2).stdout_eq("");
    }
}
