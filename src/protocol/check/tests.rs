use std::path::Path;

use super::*;
use crate::raw::RungKey;

/// A protocol without fault, to which tests add some.
const SOUND: &str = "\
[grid]
targets = [\"a-1\", \"b-1\"]
tiers = [\"8\", \"16\"]
classes = [\"Q01\", \"mix\"]
formats = [\"csv\"]
concurrencies = [8]
repetitions = 2

[workload]
mix = { Q01 = 1, Q02 = 3 }

[containers]
a = { members = [\"a-db\", \"a-api\"], api = \"a-api\" }

[prereg]
ref = \"v1\"
commit = \"3fe01e7\"
paths = [\"protocol.toml\", \"pins\"]

[[hypothesis]]
id = \"S1\"
statement = \"a scales\"
query = \"s1.sql\"
";

/// Findings as `line severity key: message`.
fn findings(text: &str) -> Vec<String> {
    check(text, |query| query == "s1.sql", None).findings.iter().map(shown).collect()
}

fn shown(finding: &Finding) -> String {
    let Finding { line, key, severity, message } = finding;
    let line = line.map(|line| line.to_string()).unwrap_or_default();
    format!("{line} {severity} {key}: {message}")
}

/// The findings where a part of the sound protocol is replaced.
fn after(old: &str, new: &str) -> Vec<String> {
    assert!(SOUND.contains(old), "{old}");
    findings(&SOUND.replacen(old, new, 1))
}

#[test]
fn a_sound_protocol_has_no_findings() {
    assert_eq!(findings(SOUND), [""; 0]);
}

#[test]
fn shipped_protocols_have_no_problems() {
    let queries = Path::new(env!("CARGO_MANIFEST_DIR")).join("queries/hypotheses");
    for (name, text) in crate::protocol::shipped_texts() {
        let checked = check(text, |query| queries.join(query).is_file(), None);
        assert_eq!(checked.findings, [], "{name}");
        assert!(!promised(&checked.protocol).unwrap().is_empty(), "{name}");
    }
    let checked = check(crate::protocol::shipped_texts()[0].1, |_| true, None);
    assert_eq!(promised(&checked.protocol).unwrap().len(), 540);
}

#[test]
fn every_unknown_key_is_named_with_its_line() {
    let text = "\
color = 1
[rule]
tie_flor = 0.1
tie_floor = 0.2
[containers]
a = { members = [\"x\"], apis = \"x\" }
[[hypothesis]]
id = \"S1\"
statement = \"s\"
query = \"s1.sql\"
why = \"because\"
[gird]
";
    let found = findings(text);
    let starts = [
        " note grid: is missing",
        "1 problem color: unknown field `color`, expected one of `name`",
        "3 problem rule.tie_flor: unknown field `tie_flor`",
        "6 problem containers.a.apis: unknown field `apis`",
        "11 problem hypothesis[0].why: unknown field `why`",
        "12 problem gird: unknown field `gird`",
    ];
    assert_eq!(found.len(), starts.len(), "{found:#?}");
    for (found, start) in found.iter().zip(starts) {
        assert!(found.starts_with(start), "{found}");
    }
    let rule = check(text, |_| true, None).protocol.rule;
    assert_eq!(rule.tie_floor, 0.2, "the rest is read");
}

#[test]
fn every_value_of_another_type_is_named() {
    let found = findings(
        "[grid]\ntargets = [\"a\", 2, \"b\", 4]\ntiers = 8\n[rule]\nestimator = \"mode\"\n\
         [containers.a]\napi = \"x\"\n[[hypothesis]]\nid = \"S1\"\n",
    );
    for part in [
        "2 problem grid.targets[1]: invalid type: integer `2`, expected a string",
        "2 problem grid.targets[2]: invalid type: integer `4`, expected a string",
        "3 problem grid.tiers: invalid type: integer `8`, expected a sequence",
        "5 problem rule.estimator: unknown variant `mode`",
        "6 problem containers.a: missing field `members`",
        "8 problem hypothesis[0]: missing field",
    ] {
        assert!(found.iter().any(|found| found.starts_with(part)), "{part}: {found:#?}");
    }
}

#[test]
fn what_is_no_toml_is_named_with_its_line() {
    let found = findings("[rule]\ntie_floor = \n[grid\n");
    assert!(found.len() >= 2, "{found:?}");
    assert!(found[0].starts_with("2 problem"), "{found:?}");
    assert!(found.iter().all(|found| !found.contains("note")), "{found:?}");
}

#[test]
fn every_figure_out_of_range_is_named() {
    let found =
        findings("[rule]\nconfidence = 2.0\ntie_floor = -1.0\n[window]\ndrain_seconds = -1\n");
    assert_eq!(
        found[1..],
        [
            "2 problem rule.confidence: is 2: expected a number between 0 and 1, both excluded",
            "3 problem rule.tie_floor: is -1: expected 0 or more",
            "5 problem window.drain_seconds: is -1: expected 0 or more seconds",
        ]
    );
}

#[test]
fn a_grid_without_rungs_is_a_problem() {
    for (old, key) in [
        ("targets = [\"a-1\", \"b-1\"]", "targets"),
        ("classes = [\"Q01\", \"mix\"]", "classes"),
        ("formats = [\"csv\"]", "formats"),
        ("concurrencies = [8]", "concurrencies"),
    ] {
        let part = format!("grid.{key}: is empty: a grid without it has no rungs");
        let found = after(old, &format!("{key} = []"));
        assert!(found.iter().any(|found| found.ends_with(&part)), "{found:?}");
        let found = after(old, "");
        assert!(found.iter().any(|found| found.ends_with(&part)), "{found:?}");
    }
    let found = after("repetitions = 2", "");
    assert_eq!(found, ["1 problem grid.repetitions: is missing: a grid without it has no rungs"]);
    assert_eq!(after("tiers = [\"8\", \"16\"]", ""), [""; 0]);
    let found = after("repetitions = 2", "repetitions = 9000000000");
    assert!(found[0].starts_with("1 problem grid: promises more than 1000000 rungs"), "{found:?}");
}

#[test]
fn names_are_there_once_and_not_empty() {
    let twice = after("\"a-1\", \"b-1\"", "\"a-1\", \"b-1\", \"a-1\", \"\"");
    assert_eq!(
        twice,
        [
            "2 problem grid.targets[2]: names `a-1` again",
            "2 problem grid.targets[3]: is empty: expected a name",
        ]
    );
    let found = after("concurrencies = [8]", "concurrencies = [8, 32, 8]");
    assert_eq!(found, ["6 problem grid.concurrencies[2]: names `8` again"]);
}

#[test]
fn weights_are_above_zero_and_of_other_classes() {
    let found = after("{ Q01 = 1, Q02 = 3 }", "{ Q01 = 0, Q02 = -1, mix = 1 }");
    assert_eq!(
        found,
        [
            "10 problem workload.mix.Q01: is 0: expected above 0",
            "10 problem workload.mix.Q02: is -1: expected above 0",
            "10 problem workload.mix.mix: is the mix itself: expected a query class",
        ]
    );
    let found = after("\"Q01\", \"mix\"", "\"Q01\"");
    assert_eq!(found, ["10 problem workload.mix: weighs a class `mix` that the grid has not"]);
    let found = after("mix = { Q01 = 1, Q02 = 3 }", "");
    assert!(found[0].contains("note workload.mix: is missing"), "{found:?}");
}

#[test]
fn containers_belong_to_something() {
    let found = after("a = { members = [\"a-db\", \"a-api\"]", "c = { members = [\"x\", \"x\"]");
    assert_eq!(
        found,
        [
            "13 note containers.c: is no target of the grid: --run tells whether it is the server of one",
            "13 problem containers.c.members[1]: names `x` again",
            "13 problem containers.c.api: is `a-api`, which is none of its members",
        ]
    );
    let found = after("[\"a-db\", \"a-api\"], api = \"a-api\"", "[]");
    assert!(found[0].contains("containers.a.members: is empty"), "{found:?}");
}

#[test]
fn a_registration_names_what_it_freezes() {
    let found = after("[\"protocol.toml\", \"pins\"]", "[]");
    assert!(found[0].starts_with("18 problem prereg.paths: is empty"), "{found:?}");
    let found = after("\"pins\"]", "\"../pins\"]");
    assert!(found[0].starts_with("18 problem prereg.paths[1]: is `../pins`"), "{found:?}");
    let found = after("\"v1\"", "\"\"");
    assert!(found[0].starts_with("16 problem prereg.ref: is empty"), "{found:?}");
    assert!(after("ref = \"v1\"\n", "").is_empty(), "a commit cannot name itself");
    let found = after("\"3fe01e7\"", "\"v1\"");
    assert!(found[0].starts_with("17 problem prereg.commit: is `v1`"), "{found:?}");
}

#[test]
fn hypotheses_have_their_queries() {
    let found = after("\"s1.sql\"", "\"s9.sql\"");
    let expected =
        "23 problem hypothesis[0].query: is `s9.sql`, which is not in queries/hypotheses/";
    assert_eq!(found, [expected]);
    let found = after("\"s1.sql\"", "\"../s1.sql\"");
    assert!(found[0].contains("without a folder"), "{found:?}");
    let second = "[[hypothesis]]\nid = \"S1\"\nstatement = \" \"\nquery = \"s1.sql\"\n";
    assert_eq!(
        findings(&format!("{SOUND}{second}")),
        [
            "25 problem hypothesis[1].id: is `S1` again",
            "26 problem hypothesis[1].statement: is empty: what is predicted?",
        ]
    );
}

#[test]
fn a_run_knows_its_targets_and_its_mix() {
    let against = |servers: &[(&str, &str)], mix: &[&str]| -> Vec<String> {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let targets =
            servers.iter().map(|&(target, server)| (target.to_owned(), server.to_owned()));
        let run = RunNames { targets: targets.collect(), mix: names(mix) };
        check(SOUND, |_| true, Some(&run)).findings.iter().map(shown).collect()
    };
    let known = [("a-1", "a"), ("b-1", "b")];
    assert_eq!(against(&known, &[]), [""; 0]);
    assert_eq!(against(&known, &["Q01", "Q02"]), [""; 0]);
    assert_eq!(
        against(&[("b-1", "b")], &["Q01", "Q03"]),
        [
            "10 problem workload.mix.Q02: the run's mix has no request of this class",
            "10 problem workload.mix: lacks `Q03`, of which the run's mix has requests",
            "13 problem containers.a: is neither a target nor a server of the run",
        ]
    );
}

#[test]
fn coverage_tells_promised_from_measured() {
    let checked = check(SOUND, |_| true, None);
    let mut rungs = promised(&checked.protocol).unwrap();
    let names: Vec<String> = rungs.iter().map(RungKey::name).collect();
    assert_eq!(rungs.len(), 16);
    // Tiers that are numbers are ordered as such.
    assert_eq!((&*names[0], &*names[15]), ("t8-a-1-csv-Q01-c8-r1", "t16-b-1-csv-mix-c8-r2"));

    let all = coverage(&checked.protocol, &rungs).unwrap();
    assert_eq!((all.has, all.lacks.len(), all.beside.len()), (names.clone(), 0, 0));

    rungs.remove(3);
    rungs[0].mode = Some("sync".to_owned());
    rungs[0].r#loop = Some("closed".to_owned());
    rungs.push(RungKey { concurrency: 32, ..rungs[0].clone() });
    rungs.push(RungKey { mode: Some("async".to_owned()), ..rungs[0].clone() });
    rungs.push(RungKey { instances: Some(2), ..rungs[0].clone() });
    let some = coverage(&checked.protocol, &rungs).unwrap();
    assert_eq!((some.promised(), some.has.len()), (16, 15));
    assert_eq!(some.lacks, [names[3].clone()]);
    assert_eq!(
        some.beside,
        ["t8-a-1-csv-Q01-c8-async-r1", "t8-a-1-csv-Q01-c8-i2x1-r1", "t8-a-1-csv-Q01-c32-r1",]
    );
}

#[test]
fn counted_instances_are_of_the_promised_rungs() {
    let checked = check(SOUND, |_| true, None);
    let mut rungs = promised(&checked.protocol).unwrap();
    let names: Vec<String> = rungs.iter().map(RungKey::name).collect();
    rungs.iter_mut().for_each(|key| (key.instances, key.loops) = (Some(3), Some(1)));
    rungs.push(RungKey { instances: Some(4), ..rungs[0].clone() });
    let counted = coverage(&checked.protocol, &rungs).unwrap();
    assert_eq!((counted.has, counted.lacks.len()), (names, 0));
    assert_eq!(counted.beside, ["t8-a-1-csv-Q01-c8-i4x1-r1"]);
}

#[test]
fn bursts_are_promised_by_the_series() {
    let bursts = "loop = \"burst\"\nburst = { idle_seconds = 5, seconds = 2, count = 3 }";
    let found = |text: &str| {
        let checked = check(&format!("{text}\n[measure]\n{bursts}\n"), |_| true, None);
        let names: Vec<String> =
            promised(&checked.protocol).unwrap().iter().map(RungKey::name).collect();
        let findings = checked.findings.into_iter().filter(|f| f.severity == Severity::Problem);
        (names, findings.map(|f| (f.line, f.key)).collect::<Vec<_>>())
    };
    let line =
        |part: &str| Some(1 + SOUND.lines().position(|line| line.starts_with(part)).unwrap());
    let (_, problems) = found(SOUND);
    assert!(
        problems.contains(&(line("repetitions"), "grid.repetitions".to_owned())),
        "{problems:?}"
    );
    let window = format!("{SOUND}\n[window]\nwarmup_seconds = 1\nmeasure_seconds = 1\n");
    let keys: Vec<String> = found(&window).1.into_iter().map(|(_, key)| key).collect();
    assert!(keys.contains(&"window.warmup_seconds".to_owned()), "{keys:?}");
    assert!(keys.contains(&"window.measure_seconds".to_owned()), "{keys:?}");
    let (names, problems) = found(&SOUND.replace("repetitions = 2\n", ""));
    assert_eq!((names.len(), problems), (24, vec![]));
    assert_eq!(names[..2], ["t8-a-1-csv-Q01-c8-burst-r1", "t8-a-1-csv-Q01-c8-burst-r2"]);
}

#[test]
fn a_campaign_without_tiers_has_names_without() {
    let text = SOUND.replace("tiers = [\"8\", \"16\"]\n", "");
    let rungs = promised(&check(&text, |_| true, None).protocol).unwrap();
    assert_eq!((rungs.len(), rungs[0].name().as_str()), (8, "a-1-csv-Q01-c8-r1"));
}

#[test]
fn an_open_loop_promises_its_rates() {
    let names = |rates: &str| {
        let text = SOUND.replace("repetitions = 2", "repetitions = 1");
        let text =
            format!("{text}\n[measure]\nloop = \"open\"\nmode = \"async\"\nrates = {rates}\n");
        let checked = check(&text, |_| true, None);
        let promised = promised(&checked.protocol).unwrap();
        promised.iter().take(2).map(RungKey::name).collect::<Vec<_>>()
    };
    assert_eq!(
        names("[50, 2.5]"),
        ["t8-a-1-csv-Q01-c8-async-q2.5-r1", "t8-a-1-csv-Q01-c8-async-q50-r1"]
    );
    // The rate of a share has no name before its closed loop was measured.
    let shares = names("[\"25%\", \"50%\"]");
    assert_eq!(shares, ["t8-a-1-csv-Q01-c8-async-r1", "t8-a-1-csv-mix-c8-async-r1"]);
}

#[test]
fn instances_are_an_axis_of_the_grid() {
    let instances = |list: &str| {
        after("concurrencies = [8]", &format!("concurrencies = [8]\ninstances = {list}"))
    };
    assert!(instances("[1, 2]").is_empty());
    assert_eq!(instances("[1, 2, 1]"), ["7 problem grid.instances[2]: names `1` again"]);
    assert_eq!(instances("[0, 1]"), ["7 problem grid.instances[0]: is 0: expected 1 or more"]);
    let text = "[grid]\ntargets = [\"a\"]\nclasses = [\"q\"]\nformats = [\"-\"]\n\
                concurrencies = [8]\ninstances = [1, 2]\nrepetitions = 2\n";
    let keys = promised(&Protocol::parse(text, "p.toml").unwrap()).unwrap();
    let names: Vec<String> = keys.iter().map(RungKey::name).collect();
    assert_eq!(
        names,
        ["a---q-c8-i1x1-r1", "a---q-c8-i1x1-r2", "a---q-c8-i2x1-r1", "a---q-c8-i2x1-r2"]
    );
}
