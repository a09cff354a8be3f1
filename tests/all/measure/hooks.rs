//! What is run around the rungs of a target.

use super::{Campaign, SMALL, events, lines, rungs};

/// Hooks that write down when they were called, and for whom.
const LOGGED: &str = "hooks.start = \"echo start $TAPSTAT_TARGET $TAPSTAT_TIER >> log\"\n\
    hooks.ready = \"echo ready $TAPSTAT_TARGET >> log\"\n\
    hooks.reset = \"echo reset $TAPSTAT_TARGET >> log\"\n\
    hooks.stop = \"echo stop $TAPSTAT_TARGET >> log\"\n\
    hooks.verify = [{ name = \"rows\", run = \"echo verify $TAPSTAT_TARGET >> log; echo 42\", equals = \"42\" }]\n";

fn log(campaign: &Campaign) -> String {
    let text = std::fs::read_to_string(campaign.sandbox.path("log")).unwrap();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join(", ")
}

#[test]
fn of_blocks_one_target_is_up_at_a_time() {
    let protocol = SMALL.replace("[measure]\n", "[measure]\norder = \"blocks\"\n");
    let protocol = protocol.replace("[grid]\n", "[grid]\ntiers = [\"1\", \"2\"]\n");
    let campaign = Campaign::new(&protocol.replace("repetitions = 3", "repetitions = 1"));
    campaign.targets(LOGGED, LOGGED);
    let (code, said) = campaign.measure(&["--classes", "a"]);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    let around = |target: &str, tier: u8| {
        format!(
            "start {target} {tier}, ready {target}, verify {target}, reset {target}, stop {target}"
        )
    };
    let expected = [
        "stop slow".to_owned(),
        around("fast", 1),
        around("slow", 1),
        around("slow", 2),
        around("fast", 2),
    ];
    assert_eq!(log(&campaign), expected.join(", "));
    let run = campaign.run();
    let targets: Vec<String> = lines(&run.join("rungs.jsonl"))
        .iter()
        .map(|rung| rung["target"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(targets.join(" "), "fast fast slow slow slow slow fast fast");
    let hooks = events(&run, "hook");
    let verify = hooks.iter().find(|e| e["detail"]["hook"] == "verify `rows`").unwrap();
    assert_eq!(
        (&verify["detail"]["exit_code"], &verify["detail"]["output"]),
        (&0.into(), &"42".into())
    );
    campaign.ingest_clean(&run);
}

#[test]
fn interleaved_targets_are_up_together_and_reset_for_each_block() {
    let campaign = Campaign::new(&SMALL.replace("repetitions = 3", "repetitions = 1"));
    let warm = "hooks.warm_seconds = 0.2\n";
    campaign.targets(&format!("{LOGGED}{warm}"), LOGGED);
    let (code, said) = campaign.measure(&["--classes", "a"]);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    // Two cells in turns: fast, slow, slow, fast; slow's two rungs are one block.
    let expected = "start fast, start slow, ready fast, ready slow, verify fast, verify slow, \
                    reset fast, reset slow, reset fast, stop fast, stop slow";
    assert_eq!(log(&campaign), expected);
    let warm = events(&campaign.run(), "warm");
    assert_eq!(warm.len(), 1);
    let requests = warm[0]["detail"]["requests"].as_u64().unwrap();
    assert!(requests > 0, "{warm:?}");
    let measured: u64 = lines(&campaign.run().join("rungs.jsonl"))
        .iter()
        .filter(|rung| rung["target"] == "fast")
        .map(|rung| rung["requests"].as_u64().unwrap())
        .sum();
    assert_eq!(campaign.fast.answered() as u64, requests + measured, "the pass is not counted");
}

#[test]
fn a_target_that_is_not_as_it_must_be_is_not_measured() {
    let campaign = Campaign::new(SMALL);
    for (hook, expected) in [
        (
            "verify = [{ name = \"rows\", run = \"echo 41\", equals = \"42\" }]",
            "target `slow`: rows is not as it must be: `echo 41` printed `41`, expected `42`",
        ),
        (
            "verify = [{ name = \"rows\", run = \"echo 41\", contains = \"42\" }]",
            "expected it to contain `42`",
        ),
        ("start = \"echo no; exit 3\"", "the start hook `echo no; exit 3` ended with exit code 3"),
        ("start = { run = \"sleep 60\", timeout_seconds = 0.2 }", "was ended after 0.2 s"),
        ("ready = { run = \"false\", timeout_seconds = 0.2 }", "is not ready after"),
    ] {
        let stop = "hooks.stop = \"touch stopped\"\n";
        campaign.targets(stop, &format!("hooks.{hook}\n{stop}"));
        let (code, said) = campaign.measure(&[]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
        let run = campaign.run();
        assert_eq!(rungs(&run), [""; 0]);
        assert_eq!(events(&run, "failure").len(), 1);
        let stopped = campaign.sandbox.path("stopped");
        assert!(stopped.is_file(), "what was started is stopped: {hook}");
        std::fs::remove_file(stopped).unwrap();
        std::fs::remove_dir_all(run).unwrap();
    }
}

#[test]
fn ready_asks_a_url_and_the_scaler_s_log_becomes_events() {
    let campaign = Campaign::new(&SMALL.replace("repetitions = 3", "repetitions = 1"));
    let more = format!(
        "scaler_log = \"scaler.log\"\nhooks.ready = \"{}/health?x=1\"\n\
         hooks.reset = \"echo one more instance >> scaler.log\"",
        campaign.fast.url()
    );
    std::fs::write(campaign.sandbox.path("scaler.log"), "of another day\n").unwrap();
    campaign.targets(&more, "");
    let (code, said) = campaign.measure(&["--only", "fast", "--classes", "a"]);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    let run = campaign.run();
    let lines: Vec<_> = events(&run, "scaler")
        .iter()
        .map(|event| (event["detail"]["line"].clone(), event["rung"].clone()))
        .collect();
    assert_eq!(lines, [("one more instance".into(), "fast---a-c1-r1".into())]);
    let down = "hooks.ready = { url = \"http://127.0.0.1:1/\", timeout_seconds = 0.2 }";
    campaign.targets(down, "");
    let (code, said) = campaign.measure(&["--only", "fast", "--classes", "a"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("`http://127.0.0.1:1/`: connect"), "{said}");
}
