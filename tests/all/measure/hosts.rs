//! Several hosts that measure together.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::{Campaign, SMALL, lines, rungs};
use crate::support::ask;

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

#[test]
fn the_shares_of_two_hosts_make_one_run() {
    let protocol = SMALL
        .replace("repetitions = 3", "repetitions = 1")
        .replace("concurrencies = [1, 3]", "concurrencies = [3]");
    let campaign = Campaign::new(&protocol);
    let start = format!("{}", now() + 1.5);
    let children = ["1/2", "2/2"].map(|share| {
        let into = format!("host-{}", &share[..1]);
        let locks = campaign.sandbox.path(&into);
        std::fs::create_dir(&locks).unwrap();
        let arguments = ["--shard", share, "--start-at", &start, "--slot", "1", "--into", &into];
        campaign.command(&arguments).env("TAPSTAT_LOCK_DIR", &locks).spawn().unwrap()
    });
    let said = children.map(|child| {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code().is_some_and(|code| code < 2), "{said}");
        said
    });
    let directories = ["host-1", "host-2"].map(|host| {
        let entries = std::fs::read_dir(campaign.sandbox.path(host)).unwrap();
        let mut entries = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
        entries.next().unwrap()
    });
    let [one, two] = directories.each_ref().map(|directory| directory.to_str().unwrap());
    let alone = campaign.sandbox.tapstat(&["ingest", one]).assert().code(2);
    let refused = String::from_utf8_lossy(&alone.get_output().stderr).into_owned();
    assert!(
        refused.contains("what host 1 of 2 sent alone is no run: `tapstat merge`"),
        "{refused}"
    );

    for (arguments, expected) in [
        (vec!["merge", one], "is one of 2 hosts, of which 1 are given"),
        (vec!["merge", one, one], "is host 1 of 2: expected each of them once, and host 2 next"),
    ] {
        let output = campaign.sandbox.tapstat(&arguments).assert().code(2);
        let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(said.contains(expected), "{said}");
    }
    // What the first host's gates found goes with the run.
    let found = r#"{"targets": {"fast": {}}, "agreement": {"classes": {}}}"#;
    std::fs::write(directories[0].join("gates.json"), found).unwrap();
    std::fs::create_dir(directories[0].join("taplint")).unwrap();
    std::fs::write(directories[0].join("taplint/fast.txt"), "no errors").unwrap();
    // A machine that is busy may have measured apart, which is not for this test
    // to judge: then the rung is void.
    let merged = campaign.sandbox.tapstat(&["merge", two, one]).output().unwrap();
    assert!(merged.status.code().is_some_and(|code| code < 2), "{merged:?} {said:?}");
    let run = campaign.run();
    assert_eq!(
        rungs(&run),
        ["fast---a-c3-r1", "fast---b-c3-r1", "slow---a-c3-r1", "slow---b-c3-r1"]
    );
    assert_eq!(std::fs::read_to_string(run.join("gates.json")).unwrap(), found);
    assert_eq!(std::fs::read_to_string(run.join("taplint/fast.txt")).unwrap(), "no errors");
    let parts = directories.each_ref().map(|directory| lines(&directory.join("rungs.jsonl")));
    for rung in lines(&run.join("rungs.jsonl")) {
        let of = |part: &[Value]| {
            let same = |line: &&Value| {
                line["target"] == rung["target"] && line["query_class"] == rung["query_class"]
            };
            part.iter().find(same).unwrap().clone()
        };
        let hosts = parts.each_ref().map(|part| of(part));
        let sum = |field: &str| -> f64 { hosts.iter().map(|h| h[field].as_f64().unwrap()).sum() };
        assert_eq!(rung["requests"].as_f64(), Some(sum("requests")));
        assert_eq!(rung["generator_cpu_s"].as_f64(), Some(sum("generator_cpu_s")));
        let elapsed = rung["elapsed_s"].as_f64().unwrap();
        assert!(hosts.iter().all(|host| host["elapsed_s"].as_f64().unwrap() <= elapsed + 1e-5));
        let p50 = |rung: &Value| rung["latency_p50_s"].as_f64().unwrap();
        let [low, high] =
            [f64::min, f64::max].map(|pick| hosts.iter().map(p50).reduce(pick).unwrap());
        assert!((low..=high).contains(&p50(&rung)), "the median of all lies between");
        // Two connections of the first host, and one of the second.
        assert!(hosts[0]["requests"].as_u64() > hosts[1]["requests"].as_u64());
    }
    campaign.ingest_clean(&run);
    let connections: Vec<(String,)> = ask(
        &campaign.sandbox.session(),
        "SELECT DISTINCT substr(request_id, 1, 4) FROM requests ORDER BY 1",
    );
    assert_eq!(connections, [("s1-0".into(),), ("s1-1".into(),), ("s2-0".into(),)]);
    let ids: Vec<(i64, i64)> = ask(
        &campaign.sandbox.session(),
        "SELECT count(*), count(DISTINCT rung || request_id) FROM requests",
    );
    assert_eq!(ids[0].0, ids[0].1, "no two requests of a rung have one name");
}
