//! Complete campaigns.

use serde_json::{Value, json};

use super::{Campaign, SMALL, Server, events, lines, rungs};
use crate::support::{RunFolder, ask};

#[test]
fn the_faster_target_wins() {
    let campaign = Campaign::new(SMALL);
    let (code, said) = campaign.measure(&[]);
    let run = campaign.run();
    let voids = events(&run, "void");
    assert_eq!(code, Some(i32::from(!voids.is_empty())), "{said}");
    assert!(said.contains("rung 24/24 "), "{said}");
    assert_eq!(rungs(&run).len(), 24);
    campaign.ingest_clean(&run);
    let session = campaign.sandbox.session();
    let verdicts: Vec<(String, Option<String>, Option<String>, bool)> = ask(
        &session,
        "SELECT v.query_class || ' ' || v.concurrency, v.verdict, v.best, \
           f.rps_low > s.rps_high AND f.rps_mean >= 1.1 * s.rps_mean \
         FROM verdicts v \
         JOIN cells f ON f.query_class = v.query_class AND f.concurrency = v.concurrency \
         JOIN cells s ON s.query_class = v.query_class AND s.concurrency = v.concurrency \
         WHERE f.target = 'fast' AND s.target = 'slow' ORDER BY 1",
    );
    assert_eq!(verdicts.len(), 4);
    for (cell, verdict, best, is_apart) in verdicts {
        // A busy machine may void a rung or widen an interval, which is not for
        // this test to judge.
        let expected = if is_apart { "fast" } else { "tie" };
        let verdict = verdict.as_deref();
        assert!(
            verdict == Some(expected) || !voids.is_empty() && verdict == Some("invalid"),
            "{cell}: {verdict:?}, expected {expected}"
        );
        assert!(best.is_none_or(|best| best == "fast"), "{cell}");
    }
    let counted: Vec<(i64, i64)> = ask(&session, "SELECT sum(requests), sum(errors) FROM rungs");
    assert_eq!(counted[0].1, 0);
    // Those of warm-ups that there are none of, and checked bodies, are no more.
    let answered = campaign.fast.answered() + campaign.slow.answered();
    assert_eq!(counted[0].0 as usize, answered);
    // The same numbers, request by request.
    let stored: Vec<(i64, i64)> =
        ask(&session, "SELECT count(*), count(DISTINCT query_id) FROM requests");
    assert_eq!(stored, [(counted[0].0, 3)]);
}

#[test]
fn a_run_says_where_and_how_it_was_measured() {
    let campaign = Campaign::new(&SMALL.replace("repetitions = 3", "repetitions = 1"));
    let own = "server = \"s\"\nnotes = \"n\"\napi = \"web\"\ncount_instances = true\n\
               pins = { words = \"echo one; echo two\", tree = \"echo '{\\\"web\\\": {\\\"x\\\": 1}}'\" }\n\
               [target.fast.containers]\nweb = { pid = PID, children = false }";
    let own = own.replace("PID", &std::process::id().to_string());
    campaign.targets(&own, "");
    let (code, said) = campaign.measure(&["--only", "fast", "--classes", "a", "--label", "b c"]);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    let run = campaign.run();
    let name = run.file_name().unwrap().to_str().unwrap();
    assert!(name.ends_with("Z-b-c") && name.len() == "20260912T225808Z-b-c".len(), "{name}");
    let environment: Value =
        serde_json::from_slice(&std::fs::read(run.join("environment.json")).unwrap()).unwrap();
    assert_eq!(environment["target"]["fast"]["server"], "s");
    assert_eq!(environment["scenario"]["b-c"]["measure_seconds"], 0.3);
    assert_eq!(environment["corpus_sha256"].as_str().unwrap().len(), 64);
    assert_eq!(environment["git"], Value::Null);
    assert!(environment["host"]["cpu_count"].as_i64().unwrap() >= 1);
    for file in ["protocol.toml", "targets.toml", "corpus.jsonl"] {
        let original = std::fs::read(campaign.sandbox.path(file)).unwrap();
        assert_eq!(std::fs::read(run.join(file)).unwrap(), original, "{file}");
    }
    // One process, this one, has the name of an instance.
    assert_eq!(rungs(&run), ["fast---a-c1-i1x1-r1", "fast---a-c3-i1x1-r1"]);
    let rung = &lines(&run.join("rungs.jsonl"))[0];
    assert_eq!(
        (&rung["instances"], &rung["position"], &rung["loop"]),
        (&json!(1), &json!(0), &json!("closed"))
    );
    let pin = |file: &str| std::fs::read_to_string(run.join("pins").join(file)).unwrap();
    assert_eq!(pin("fast-words.txt"), "one\ntwo\n");
    assert_eq!(pin("fast-tree.json"), "{\"web\": {\"x\": 1}}\n");
    assert!(pin("fast-limits.json").contains("cpus_allowed"));
    let sampled = lines(&run.join("resources.jsonl"));
    assert!(!sampled.is_empty() && sampled[0]["container"] == "web");
    let counts = &events(&run, "generator")[0]["detail"]["counts"];
    let count = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!(count("offered"), count("sent") + count("never_sent"));
    assert_eq!(count("sent"), count("completed") + count("failed") + count("aborted"));
    campaign.ingest_clean(&run);
    let pins: Vec<(Option<String>, String, String)> = ask(
        &campaign.sandbox.session(),
        "SELECT container, key, value FROM pins WHERE key IN ('x', 'fast-words') ORDER BY key",
    );
    assert_eq!(pins[0], (None, "fast-words".into(), "one\ntwo".into()));
    assert_eq!(pins[1], (Some("web".into()), "x".into(), "1".into()));
}

#[test]
fn an_open_loop_offers_shares_of_what_the_closed_one_reached() {
    let measure = "[measure]\nloop = \"open\"\nrates = [\"50%\", 20]\nspacing = \"poisson\"\n";
    let protocol = SMALL
        .replace("[measure]\n", measure)
        .replace("repetitions = 3", "repetitions = 1")
        .replace("concurrencies = [1, 3]", "concurrencies = [2]");
    let campaign = Campaign::new(&protocol);
    let (code, said) = campaign.measure(&["--only", "fast", "--classes", "a"]);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    let run = campaign.run();
    let rungs = lines(&run.join("rungs.jsonl"));
    let loops: Vec<&Value> = rungs.iter().map(|rung| &rung["loop"]).collect();
    assert_eq!(loops, ["closed", "open", "open"]);
    let (closed, share) = (&rungs[0]["rps"], &rungs[1]["offered_rps"]);
    let ratio = share.as_f64().unwrap() / closed.as_f64().unwrap();
    assert!((ratio - 0.5).abs() < 0.003, "{share} is half of {closed} to three digits");
    assert_eq!(rungs[2]["offered_rps"], 20.0);
    // The share's rung has another name, and is found again all the same.
    let (_, said) =
        campaign.measure(&["--only", "fast", "--classes", "a", "--resume", run.to_str().unwrap()]);
    assert!(said.contains("3 of 3 rungs are measured already"), "{said}");
    campaign.ingest_clean(&run);
    let late: Vec<(i64,)> =
        ask(&campaign.sandbox.session(), "SELECT count(*) FROM requests WHERE t_offered > t_start");
    assert_eq!(late, [(0,)], "nothing is sent before its time");
}

#[test]
fn a_void_has_its_reason_and_advice() {
    let protocol = format!("[rule]\nguard_max = 0.000001\n{SMALL}");
    let campaign = Campaign::new(&protocol.replace("repetitions = 3", "repetitions = 1"));
    let (code, said) = campaign.measure(&["--only", "fast", "--classes", "a"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("2 rungs void: fast---a-c1-r1, fast---a-c3-r1"), "{said}");
    let voids = events(&campaign.run(), "void");
    assert!(voids.len() >= 2);
    for void in &voids {
        let text = |field: &str| void["detail"][field].as_str().unwrap().len();
        assert!(text("reason") > 10 && text("advice") > 10, "{void}");
    }
    let rungs = lines(&campaign.run().join("rungs.jsonl"));
    assert!(rungs.iter().all(|rung| rung["generator_guard_ok"] == false));
    campaign.ingest_clean(&campaign.run());
}

#[test]
fn errors_above_the_ceiling_are_a_no() {
    let campaign = Campaign::new(&SMALL.replace("repetitions = 3", "repetitions = 1"));
    let failing = Server::with_status(1, "503 Service Unavailable");
    let text = format!(
        "[target.fast]\nbase_url = \"{}\"\nkind = \"http\"\n[target.slow]\nbase_url = \"{}\"\nkind = \"http\"\n",
        failing.url(),
        campaign.slow.url()
    );
    RunFolder::create(&campaign.sandbox.path("")).file("targets.toml", text);
    let (code, said) = campaign.measure(&["--only", "fast", "--classes", "a"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("2 rungs above the rule's error ceiling"), "{said}");
    assert_eq!(events(&campaign.run(), "errors")[0]["detail"]["error_fraction"], 1.0);
    campaign.ingest_clean(&campaign.run());
}

#[test]
fn plain_http_is_held_to_the_documents_that_the_gates_saw() {
    let protocol = SMALL.replace("gates = false\n", "check_every = 1\n");
    let campaign = Campaign::new(&protocol.replace("repetitions = 3", "repetitions = 1"));
    let (code, said) = campaign.measure(&["--classes", "a"]);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    let run = campaign.run();
    let gates: Value =
        serde_json::from_slice(&std::fs::read(run.join("gates.json")).unwrap()).unwrap();
    assert_eq!(
        (&gates["passed"], &gates["agreement"]["agreed"]),
        (&json!(true), &json!(["a", "b"]))
    );
    assert_eq!(events(&run, "gate")[0]["detail"]["passed"], true);
    for event in events(&run, "generator") {
        let checks = &event["detail"]["checks"];
        assert!(checks["made"].as_u64().unwrap() > 0 && checks["failed"] == 0, "{event}");
    }
    campaign.ingest_clean(&run);

    let failing = Server::with_status(1, "404 Not Found");
    let target = |name: &str, server: &Server| {
        format!("[target.{name}]\nbase_url = \"{}\"\nkind = \"http\"\n", server.url())
    };
    let text = target("fast", &campaign.fast) + &target("slow", &failing);
    RunFolder::create(&campaign.sandbox.path("")).file("targets.toml", text);
    let before = campaign.fast.answered();
    let (code, said) = campaign.measure(&["--allow-gate-failures", "--label", "refused"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("gate failed: a: slow: status 404"), "{said}");
    assert!(said.contains("no class is left to compare"), "{said}");
    assert_eq!(campaign.fast.answered() - before, 3, "a probe of each query, and no more");
}
