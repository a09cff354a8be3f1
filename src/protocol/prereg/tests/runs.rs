//! What the run says of itself.

use super::super::{Measurement, Start, StartBasis, Verdict};
use super::fixture::{Fixture, START, codes, examine_in};

fn tagged() -> (Fixture, Measurement) {
    let fixture = Fixture::new();
    fixture.tag("v1", 2_000);
    let run = Fixture::run_at(fixture.head());
    (fixture, run)
}

#[test]
fn a_tag_after_the_first_request_proves_nothing() {
    let fixture = Fixture::new();
    fixture.tag("v1", 6_000);
    let found = fixture.examine("v1", &Fixture::run_at(fixture.head())).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Unproven, vec!["not_before"]));
    assert_eq!(found.before, Some(false));
    let told = found.reasons[0].to_string();
    assert!(told.contains("1970-01-01 01:40:00 UTC"), "{told}");
    assert!(told.contains("1970-01-01 01:23:20 UTC (first request)"), "{told}");
}

#[test]
fn a_tag_in_the_second_of_the_first_request_is_not_before() {
    let fixture = Fixture::new();
    fixture.tag("v1", START as i64);
    let mut run = Fixture::run_at(fixture.head());
    let mut before = |time| {
        run.start = Some(Start { time, basis: StartBasis::Request });
        fixture.examine("v1", &run).unwrap().before
    };
    assert_eq!(before(START + 0.9), Some(false));
    assert_eq!(before(START + 1.0), Some(true));
}

#[test]
fn a_run_without_a_beginning_proves_nothing() {
    let (fixture, mut run) = tagged();
    run.start = None;
    let found = fixture.examine("v1", &run).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Unproven, vec!["no_start"]));
    assert_eq!(found.before, None);
}

#[test]
fn another_beginning_than_the_first_request_is_told() {
    let (fixture, mut run) = tagged();
    run.start = Some(Start { time: START, basis: StartBasis::Environment });
    let found = fixture.examine("v1", &run).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Frozen, vec!["start_by_other"]));
}

#[test]
fn a_dirty_tree_proves_nothing() {
    let (fixture, mut run) = tagged();
    run.dirty = Some(true);
    let found = fixture.examine("v1", &run).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Unproven, vec!["dirty"]));
    run.dirty = None;
    assert_eq!(codes(&fixture.examine("v1", &run).unwrap()), ["dirt_unknown"]);
}

#[test]
fn a_run_without_a_commit_proves_nothing() {
    let (fixture, mut run) = tagged();
    run.commit = None;
    let found = fixture.examine("v1", &run).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Unproven, vec!["no_commit"]));
    assert_eq!(found.measured, None);
}

#[test]
fn the_first_digits_of_a_commit_are_enough() {
    let (fixture, mut run) = tagged();
    run.commit = Some(fixture.head().to_string()[..8].to_owned());
    let found = fixture.examine("v1", &run).unwrap();
    assert_eq!(
        (found.verdict, found.measured),
        (Verdict::Frozen, Some(fixture.head().to_string()))
    );
    run.commit = Some("no commit".to_owned());
    assert!(fixture.examine("v1", &run).unwrap_err().to_string().contains("`no commit`"));
}

#[test]
fn without_a_run_head_is_compared_and_nothing_proven() {
    let (fixture, _) = tagged();
    let examine = || examine_in(&fixture.path(), "v1", None, &["protocol.toml"]).unwrap();
    let found = examine();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Unproven, vec!["no_run"]));
    fixture.commit(3_000, &[("protocol.toml", "[rule]\n")]);
    assert_eq!(examine().verdict, Verdict::Changed);
}

#[test]
fn resuming_at_the_same_protocol_leaves_it_frozen() {
    let (fixture, mut run) = tagged();
    let later = fixture.commit(6_000, &[("driver.py", "print(2)\n")]);
    run.resumed = vec![format!(r#"{{"t": 7000, "git": {{"sha": "{later}", "dirty": false}}}}"#)];
    let found = fixture.examine("v1", &run).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Frozen, vec![]));
    let resume = &found.resumed[0];
    assert_eq!((resume.time, resume.changed), (Some(7_000.0), Some(false)));
    assert_eq!(resume.commit, Some(later.to_string()));
}

#[test]
fn resuming_at_another_protocol_is_a_change() {
    let (fixture, mut run) = tagged();
    let same = fixture.head();
    let later = fixture.commit(6_000, &[("pins/8.yaml", "cpus: 9\n")]);
    run.resumed = [same, later]
        .iter()
        .map(|id| format!(r#"{{"git": {{"sha": "{id}", "dirty": false}}}}"#))
        .collect();
    let found = fixture.examine("v1", &run).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Changed, vec!["resume_changed"]));
    assert_eq!(found.files, Some(vec![]));
    let changed: Vec<_> = found.resumed.iter().map(|resume| resume.changed).collect();
    assert_eq!(changed, [Some(false), Some(true)]);
    assert_eq!(found.resumed[1].files[0].path(), "pins/8.yaml");
    assert!(found.reasons[0].to_string().contains(&format!("{later}, where `pins` differs")));
}

#[test]
fn resuming_at_an_unknown_state_proves_nothing() {
    let (fixture, mut run) = tagged();
    let head = fixture.head();
    for (entry, why) in [
        (r#"{"t": 7, "from": "r1"}"#.to_owned(), "names no commit"),
        (r#""by hand""#.to_owned(), "names no commit"),
        (r#"{"sha": "0123456789abcdef", "dirty": false}"#.to_owned(), "is not in this repository"),
        (format!(r#"{{"sha": "{head}", "dirty": true}}"#), "changes that were not committed"),
        (format!(r#"{{"sha": "{head}"}}"#), "does not say whether"),
    ] {
        run.resumed = vec![entry.clone()];
        let found = fixture.examine("v1", &run).unwrap();
        assert_eq!((found.verdict, codes(&found)), (Verdict::Unproven, vec!["resume_unknown"]));
        let told = found.reasons[0].to_string();
        assert!(told.starts_with("resumed entry 1") && told.contains(why), "{entry}: {told}");
        assert_eq!(found.resumed[0].changed, None, "{entry}");
    }
}
