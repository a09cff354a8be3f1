//! Cells and verdicts small enough to be worked out by hand.

use tapstat::protocol::{Estimator, RuleFlags};
use tapstat::sql::Options;

use super::support::{Rung, Sandbox, ask, ask_one};

/// Verdict, reason, best, runner-up, ratio.
type Verdict = (Option<String>, String, Option<String>, Option<String>, Option<f64>);

/// The one verdict of a run of these rungs.
fn verdict(rungs: Vec<Rung>) -> Verdict {
    verdict_by(rungs, RuleFlags::default())
}

fn verdict_by(rungs: Vec<Rung>, rule: RuleFlags) -> Verdict {
    let sandbox = Sandbox::new();
    sandbox.ingest(sandbox.run("run").rungs(rungs));
    let options = Options { rule, ..Options::default() };
    ask_one(
        &sandbox.session_with(options),
        "SELECT verdict, reason, best, runner_up, ratio FROM verdicts",
    )
}

/// A verdict as it is expected; the best and the runner-up by their names,
/// empty for none.
fn says(verdict: &str, reason: &str, best: &str, runner_up: &str, ratio: Option<f64>) -> Verdict {
    let name = |name: &str| (!name.is_empty()).then(|| name.to_owned());
    (name(verdict), reason.to_owned(), name(best), name(runner_up), ratio)
}

/// The repetitions of a target, by their throughput.
fn target(name: &str, rps: &[f64]) -> Vec<Rung> {
    (1..).zip(rps).map(|(repetition, rps)| Rung::new(name, repetition).with("rps", *rps)).collect()
}

fn failing(rungs: Vec<Rung>, errors: u32) -> Vec<Rung> {
    rungs.into_iter().map(|rung| rung.with("errors", errors)).collect()
}

#[test]
fn one_repetition_has_no_interval() {
    let sandbox = Sandbox::new();
    sandbox.ingest(sandbox.run("run").rungs([Rung::new("a", 1).with("latency_p95_s", 0.5)]));
    type Cell = (i64, f64, Option<f64>, Option<f64>, Option<f64>, f64, f64, f64, f64, Option<f64>);
    let cell: Cell = ask_one(
        &sandbox.session(),
        "SELECT n, rps_mean, rps_half_width, rps_low, rps_high, rps_median, rps_min, rps_max,
           latency_p95_s_mean, latency_p95_s_half_width
         FROM cells",
    );
    assert_eq!(cell, (1, 10.0, None, None, None, 10.0, 10.0, 10.0, 0.5, None));
    let apart = [target("a", &[10.0]), target("b", &[20.0])].concat();
    assert_eq!(verdict(apart), says("tie", "no interval", "b", "a", Some(2.0)));
}

#[test]
fn two_repetitions_have_a_wide_interval() {
    let sandbox = Sandbox::new();
    sandbox.ingest(sandbox.run("run").rungs(target("a", &[10.0, 12.0])));
    let (mean, half_width): (f64, f64) =
        ask_one(&sandbox.session(), "SELECT rps_mean, rps_half_width FROM cells");
    // s = sqrt(2), t(0.975, 1) = 12.7062…, so t * s / sqrt(2) = t.
    assert_eq!(mean, 11.0);
    assert!((half_width - 12.706_204_736_432_1).abs() < 1e-9, "{half_width}");
}

#[test]
fn the_confidence_is_the_rules() {
    let sandbox = Sandbox::new();
    sandbox.ingest(sandbox.run("run").rungs(target("a", &[10.0, 12.0])));
    let rule = RuleFlags { confidence: Some(0.90), ..RuleFlags::default() };
    let session = sandbox.session_with(Options { rule, ..Options::default() });
    let (half_width,): (f64,) = ask_one(&session, "SELECT rps_half_width FROM cells");
    // t(0.95, 1).
    assert!((half_width - 6.313_751_514_675_04).abs() < 1e-9, "{half_width}");
}

#[test]
fn equal_values_are_a_tie_and_have_no_width() {
    let rungs = [target("a", &[10.0; 3]), target("b", &[10.0; 3])].concat();
    // Of equals, the first by name stands first.
    assert_eq!(verdict(rungs), says("tie", "intervals touch", "a", "b", Some(1.0)));
    let sandbox = Sandbox::new();
    sandbox.ingest(sandbox.run("run").rungs(target("a", &[0.1; 3])));
    let (half_width,): (f64,) = ask_one(&sandbox.session(), "SELECT rps_half_width FROM cells");
    assert!(half_width < 1e-15, "{half_width}");
}

#[test]
fn the_tie_floor_exactly_met_is_enough() {
    let rungs = |faster: f64| [target("a", &[100.0; 3]), target("b", &[faster; 3])].concat();
    let (verdict_at, reason_at, ..) = verdict(rungs(110.0));
    assert_eq!((verdict_at.as_deref(), &*reason_at), (Some("b"), "beats every other"));
    let (verdict_below, reason_below, ..) = verdict(rungs(109.999));
    assert_eq!((verdict_below.as_deref(), &*reason_below), (Some("tie"), "below tie floor"));
}

#[test]
fn the_tie_floor_is_the_rules() {
    let rungs = [target("a", &[100.0; 3]), target("b", &[110.0; 3])].concat();
    let rule = RuleFlags { tie_floor: Some(0.11), ..RuleFlags::default() };
    let (verdict, reason, ..) = verdict_by(rungs, rule);
    assert_eq!((verdict.as_deref(), &*reason), (Some("tie"), "below tie floor"));
}

#[test]
fn the_fastest_must_beat_every_other() {
    let rungs =
        [target("a", &[100.0; 3]), target("b", &[95.0; 3]), target("c", &[50.0; 3])].concat();
    assert_eq!(verdict(rungs), says("tie", "below tie floor", "a", "b", Some(100.0 / 95.0)));
}

#[test]
fn a_target_above_the_error_ceiling_cannot_win() {
    let fast = failing(target("fast", &[100.0; 3]), 7);
    let rungs = [fast.clone(), target("a", &[50.0; 3]), target("b", &[20.0; 3])].concat();
    assert_eq!(verdict(rungs), says("a", "beats every other", "a", "b", Some(2.5)));
    let rungs = [fast, target("a", &[50.0; 3])].concat();
    assert_eq!(verdict(rungs), says("a", "one clean target", "a", "", None));
}

#[test]
fn one_failing_repetition_is_enough() {
    let mut fast = target("fast", &[100.0; 3]);
    fast[1] = fast[1].clone().with("errors", 7);
    let rungs = [fast, target("a", &[50.0; 3])].concat();
    assert_eq!(verdict(rungs), says("a", "one clean target", "a", "", None));
}

#[test]
fn errors_up_to_the_ceiling_are_clean() {
    let rungs = [failing(target("fast", &[100.0; 3]), 6), target("a", &[50.0; 3])].concat();
    assert_eq!(verdict(rungs.clone()).0.as_deref(), Some("fast"));
    let rule = RuleFlags { error_ceiling: Some(0.0099), ..RuleFlags::default() };
    assert_eq!(verdict_by(rungs, rule).0.as_deref(), Some("a"));
}

#[test]
fn all_above_the_error_ceiling_is_invalid() {
    let rungs = [target("a", &[50.0; 3]), target("b", &[20.0; 3])].concat();
    assert_eq!(verdict(failing(rungs, 12)), says("invalid", "no clean target", "", "", None));
}

#[test]
fn zero_requests_are_not_clean() {
    let dead: Vec<Rung> =
        target("dead", &[0.0; 3]).into_iter().map(|rung| rung.with("requests", 0)).collect();
    let rungs = [dead.clone(), target("a", &[50.0; 3])].concat();
    assert_eq!(verdict(rungs), says("a", "one clean target", "a", "", None));

    let sandbox = Sandbox::new();
    sandbox.ingest(sandbox.run("run").rungs(dead));
    let cell: (f64, Option<f64>, i64, Option<f64>) = ask_one(
        &sandbox.session(),
        "SELECT rps_mean, error_fraction_max, requests, latency_p95_s_mean FROM cells",
    );
    assert_eq!(cell, (0.0, None, 0, None));
    let (elapsed, fraction): (Option<f64>, Option<f64>) =
        ask_one(&sandbox.session(), "SELECT max(elapsed_s), max(error_fraction) FROM rungs");
    assert_eq!((elapsed, fraction), (None, None));
}

#[test]
fn one_target_is_compared_with_nothing() {
    assert_eq!(verdict(target("a", &[50.0; 3])), says("", "one target", "a", "", None));
}

#[test]
fn a_voided_rung_makes_its_comparison_invalid_and_no_other() {
    let class = |class: &str, rungs: Vec<Rung>| -> Vec<Rung> {
        rungs.into_iter().map(|rung| rung.with("query_class", class)).collect()
    };
    let sound = [target("a", &[50.0; 3]), target("b", &[20.0; 3])].concat();
    let mut voided = class("voided", sound.clone());
    voided[4] = voided[4].clone().with("generator_guard_ok", false);
    let sandbox = Sandbox::new();
    sandbox.ingest(sandbox.run("run").rungs([voided, class("sound", sound)].concat()));
    let verdicts: Vec<(String, String, String)> =
        ask(&sandbox.session(), "SELECT query_class, verdict, reason FROM verdicts ORDER BY 1");
    let expected = [("sound", "a", "beats every other"), ("voided", "invalid", "voided rung")];
    assert_eq!(verdicts, expected.map(|(c, v, r)| (c.to_owned(), v.to_owned(), r.to_owned())));
    let cells: Vec<(String, bool, i64, i64)> = ask(
        &sandbox.session(),
        "SELECT target, guard_ok, voided_rungs, n FROM cells
         WHERE query_class = 'voided' ORDER BY target",
    );
    assert_eq!(cells, [("a".to_owned(), true, 0, 3), ("b".to_owned(), false, 1, 3)]);
}

#[test]
fn guard_max_voids_at_the_peak_and_only_if_given() {
    let peak = |name: &str, peak: f64| -> Vec<Rung> {
        target(name, &[if name == "a" { 50.0 } else { 20.0 }; 3])
            .into_iter()
            .map(|rung| rung.with("generator_cpu_peak", peak))
            .collect()
    };
    let rungs = [peak("a", 0.7), peak("b", 0.2)].concat();
    assert_eq!(verdict(rungs.clone()).1, "beats every other", "the stored flag is the guard's");
    for (guard_max, expected) in [(0.7, "voided rung"), (0.7001, "beats every other")] {
        let rule = RuleFlags { guard_max: Some(guard_max), ..RuleFlags::default() };
        assert_eq!(verdict_by(rungs.clone(), rule).1, expected, "at {guard_max}");
    }
}

#[test]
fn three_quarters_of_the_limit_make_a_lower_bound() {
    let sandbox = Sandbox::new();
    let rungs = [("under", 0.44), ("at", 0.45)]
        .map(|(name, peak)| Rung::new(name, 1).with("generator_cpu_peak", peak));
    sandbox.ingest(sandbox.run("run").rungs(rungs));
    let cells: Vec<(String, bool)> =
        ask(&sandbox.session(), "SELECT target, lower_bound FROM cells ORDER BY target");
    assert_eq!(cells, [("at".to_owned(), true), ("under".to_owned(), false)]);
}

#[test]
fn without_the_guards_word_nothing_is_known_of_it() {
    let unguarded = |rungs: Vec<Rung>| -> Vec<Rung> {
        rungs
            .into_iter()
            .map(|rung| rung.without("generator_guard_ok").without("generator_cpu_peak"))
            .collect()
    };
    let rungs = unguarded([target("a", &[50.0; 3]), target("b", &[20.0; 3])].concat());
    let sandbox = Sandbox::new();
    sandbox.ingest(sandbox.run("run").rungs(rungs));
    let cells: Vec<(Option<bool>, Option<i64>)> =
        ask(&sandbox.session(), "SELECT guard_ok, voided_rungs FROM cells");
    assert_eq!(cells, [(None, None), (None, None)]);
    let verdict: (String, String) =
        ask_one(&sandbox.session(), "SELECT verdict, reason FROM verdicts");
    assert_eq!(verdict, ("a".to_owned(), "guard unknown".to_owned()));
}

#[test]
fn the_median_can_stand_for_a_cell() {
    let rungs = [target("a", &[100.0, 100.0, 400.0]), target("b", &[150.0; 3])].concat();
    let sandbox = Sandbox::new();
    sandbox.ingest(sandbox.run("run").rungs(rungs.clone()));
    let rule = RuleFlags { estimator: Some(Estimator::Median), ..RuleFlags::default() };
    let session = sandbox.session_with(Options { rule: rule.clone(), ..Options::default() });
    let (mean, median, half_width, low, high): (f64, f64, f64, f64, f64) = ask_one(
        &session,
        "SELECT rps_mean, rps_median, rps_half_width, rps_low, rps_high FROM cells
         WHERE target = 'a'",
    );
    assert_eq!((mean, median), (200.0, 100.0));
    assert_eq!((low, high), (median - half_width, median + half_width));
    let (.., best, runner_up, ratio) = verdict(rungs.clone());
    assert_eq!((best.as_deref(), runner_up.as_deref()), (Some("a"), Some("b")));
    assert_eq!(ratio, Some(200.0 / 150.0));
    let (.., best, runner_up, ratio) = verdict_by(rungs, rule);
    assert_eq!((best.as_deref(), runner_up.as_deref()), (Some("b"), Some("a")));
    assert_eq!(ratio, Some(1.5));
}

/// The verdict of a published table of two cells.
fn verdict_of_table(header: &str, a: &str, b: &str) -> (String, String) {
    let key = "response_format,query_class,concurrency,target";
    let table = format!("{key},{header}\ncsv,Q01,8,a,{a}\ncsv,Q01,8,b,{b}\n");
    let sandbox = Sandbox::new();
    sandbox.ingest(sandbox.run("table").file("cells.csv", table));
    ask_one(&sandbox.session(), "SELECT verdict, reason FROM verdicts")
}

#[test]
fn intervals_that_touch_exactly_are_a_tie() {
    let verdict = |a: &str| {
        let header = "rps_mean,rps_half_width,guard_ok,voided_rungs";
        verdict_of_table(header, a, "100.0,10.0,true,0")
    };
    // 100 + 10 = 120 − 10.
    assert_eq!(verdict("120.0,10.0,true,0"), ("tie".to_owned(), "intervals touch".to_owned()));
    assert_eq!(verdict("120.0,9.99,true,0"), ("a".to_owned(), "beats every other".to_owned()));
}

#[test]
fn a_table_without_the_guards_columns_says_so() {
    let verdict = |header: &str, rest: &str| {
        let (a, b) = (format!("120.0,1.0{rest}"), format!("100.0,1.0{rest}"));
        verdict_of_table(&format!("rps_mean,rps_half_width{header}"), &a, &b)
    };
    assert_eq!(verdict("", ""), ("a".to_owned(), "guard unknown".to_owned()));
    assert_eq!(verdict(",guard_ok", ",false"), ("invalid".to_owned(), "voided rung".to_owned()));
    assert_eq!(verdict(",voided_rungs", ",2"), ("invalid".to_owned(), "voided rung".to_owned()));
    assert_eq!(verdict(",guard_ok", ",true"), ("a".to_owned(), "beats every other".to_owned()));
    assert_eq!(verdict(",voided_rungs", ",0"), ("a".to_owned(), "beats every other".to_owned()));
}

/// The tiers of a run in their order, by `tiers` and by the changes between them.
fn tier_order(tiers: &[&str]) -> (Vec<String>, Vec<(String, String)>) {
    let sandbox = Sandbox::new();
    let rungs = tiers.iter().map(|tier| Rung::new("a", 1).with("tier", *tier));
    sandbox.ingest(sandbox.run("run").rungs(rungs));
    let session = sandbox.session();
    let order: Vec<(String,)> = ask(&session, "SELECT tier FROM tiers ORDER BY place");
    let changes = ask(&session, "SELECT from_tier, to_tier FROM tier_changes");
    (order.into_iter().map(|(tier,)| tier).collect(), changes)
}

#[test]
fn tiers_are_ordered_as_numbers_where_all_are() {
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let (order, changes) = tier_order(&["16", "24", "8"]);
    assert_eq!(order, ["8", "16", "24"]);
    assert_eq!(changes, [pair("8", "16"), pair("16", "24")]);
    let (order, changes) = tier_order(&["large", "16", "8"]);
    assert_eq!(order, ["16", "8", "large"]);
    assert_eq!(changes, [pair("16", "8"), pair("8", "large")]);
}

#[test]
fn a_step_between_tiers_is_judged_like_a_comparison_but_for_errors() {
    let tier = |tier: &str, class: &str, rps: f64| -> Vec<Rung> {
        let rungs = target("a", &[rps; 3]);
        rungs.into_iter().map(|r| r.with("tier", tier).with("query_class", class)).collect()
    };
    let mut voided = tier("16", "void", 500.0);
    voided[0] = voided[0].clone().with("generator_guard_ok", false);
    let rungs = [
        [tier("8", "higher", 100.0), tier("16", "higher", 110.0)].concat(),
        [tier("8", "tie", 100.0), tier("16", "tie", 109.0)].concat(),
        [tier("8", "lower", 110.0), tier("16", "lower", 100.0)].concat(),
        [tier("8", "errors", 100.0), failing(tier("16", "errors", 200.0), 300)].concat(),
        [tier("8", "void", 100.0), voided].concat(),
        tier("8", "missing", 100.0),
    ];
    let sandbox = Sandbox::new();
    sandbox.ingest(sandbox.run("run").rungs(rungs.concat()));
    let changes: Vec<(String, String, f64)> = ask(
        &sandbox.session(),
        "SELECT query_class, change, ratio FROM tier_changes ORDER BY query_class",
    );
    let expected = [
        ("errors", "higher", 2.0),
        ("higher", "higher", 1.1),
        ("lower", "lower", 100.0 / 110.0),
        ("tie", "tie", 1.09),
        ("void", "void", 5.0),
    ];
    assert_eq!(
        changes,
        expected.map(|(class, change, r)| (class.to_owned(), change.to_owned(), r))
    );
}

#[test]
fn two_targets_of_one_server_cannot_be_matched_by_server() {
    let sandbox = Sandbox::new();
    let of = |server: &str, names: &[&str]| -> Vec<Rung> {
        names.iter().map(|name| Rung::new(name, 1).with("server", server)).collect()
    };
    sandbox.ingest(sandbox.run("first").rungs(of("s", &["one"])));
    sandbox.ingest(sandbox.run("second").rungs(of("s", &["two", "three"])));
    sandbox.ingest(sandbox.run("third").rungs(of("s", &["two", "three"]).into_iter().rev()));
    let session = sandbox.session();
    let error = session.query("SELECT * FROM reproduce('first', 'second')").unwrap_err();
    let message = error.to_string();
    assert!(message.contains("run second has several targets of server s"), "{message}");
    let matched: Vec<(String, String)> =
        ask(&session, "SELECT target_a, target_b FROM reproduce('second', 'third')");
    let pair = |name: &str| (name.to_owned(), name.to_owned());
    assert_eq!(matched, [pair("three"), pair("two")], "the same names are matched by name");
}
