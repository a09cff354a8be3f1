//! Runs altered one thing at a time, judged beside the program by the rule of
//! the protocol as it is written down, in another way than its SQL does it.

use std::collections::BTreeMap;

use serde_json::json;

use super::support::{Dice, RunFolder, Rung, Sandbox, ask};

/// t(0.975, n − 1) for n = 2, 3 and 4, as in printed tables.
const T_975: [f64; 3] = [12.706_204_736_432_1, 4.302_652_729_911_28, 3.182_446_305_284_26];
const TIE_FLOOR: f64 = 0.10;
const ERROR_CEILING: f64 = 0.01;
const TARGETS: [&str; 3] = ["ant", "bee", "cat"];

/// One measured window, as far as verdicts depend on it.
#[derive(Debug, Clone, Copy)]
struct Window {
    rps: f64,
    errors: u32,
    guard_ok: bool,
}

const REQUESTS: u32 = 600;

/// The repetitions of each target in one comparison; a target that is not
/// there has no cell.
type Comparison = BTreeMap<&'static str, Vec<Window>>;

/// A cell, by the rule's own words.
#[derive(Debug, Clone, Copy)]
struct Cell {
    target: &'static str,
    mean: f64,
    half_width: Option<f64>,
    clean: bool,
    voided: bool,
}

impl Cell {
    fn of(target: &'static str, windows: &[Window]) -> Self {
        let n = windows.len();
        let mean = windows.iter().map(|window| window.rps).sum::<f64>() / n as f64;
        let squares = windows.iter().map(|window| (window.rps - mean).powi(2)).sum::<f64>();
        let half_width =
            (n > 1).then(|| T_975[n - 2] * (squares / (n - 1) as f64).sqrt() / (n as f64).sqrt());
        let ceiling = ERROR_CEILING * f64::from(REQUESTS);
        Self {
            target,
            mean,
            half_width,
            clean: windows.iter().all(|window| f64::from(window.errors) <= ceiling),
            voided: windows.iter().any(|window| !window.guard_ok),
        }
    }

    /// Why this one does not beat the other; nothing where it does.
    fn falls_short_of(&self, other: &Self) -> Option<&'static str> {
        let (Some(mine), Some(theirs)) = (self.half_width, other.half_width) else {
            return Some("no interval");
        };
        if self.mean - mine <= other.mean + theirs {
            return Some("intervals touch");
        }
        ((self.mean - other.mean) / other.mean < TIE_FLOOR).then_some("below tie floor")
    }
}

/// Verdict and reason of a comparison in a run of so many targets.
fn judge(comparison: &Comparison, run_targets: usize) -> (Option<String>, &'static str) {
    let cells: Vec<Cell> =
        comparison.iter().map(|(target, windows)| Cell::of(target, windows)).collect();
    let say = |verdict: &str, reason| (Some(verdict.to_owned()), reason);
    if run_targets == 1 {
        return (None, "one target");
    }
    if cells.len() < run_targets {
        return say("incomplete", "missing cell");
    }
    if cells.iter().any(|cell| cell.voided) {
        return say("invalid", "voided rung");
    }
    let mut clean: Vec<Cell> = cells.into_iter().filter(|cell| cell.clean).collect();
    clean.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    match &clean[..] {
        [] => say("invalid", "no clean target"),
        [only] => say(only.target, "one clean target"),
        [fastest, others @ ..] => {
            let short: Vec<_> =
                others.iter().filter_map(|other| fastest.falls_short_of(other)).collect();
            // Of several reasons, the one that says most about the data.
            let order = ["no interval", "intervals touch", "below tie floor"];
            match order.into_iter().find(|reason| short.contains(reason)) {
                None => say(fastest.target, "beats every other"),
                Some(reason) => say("tie", reason),
            }
        }
    }
}

/// What is done to a comparison after it was measured in good order.
#[derive(Debug, Clone, Copy)]
enum Alteration {
    Nothing,
    RepetitionLost,
    RepetitionAdded,
    TargetSlowed,
    Errors,
    GuardTripped,
    TargetMissing,
    EveryTargetErrs,
}

impl Alteration {
    const ALL: [Self; 8] = [
        Self::Nothing,
        Self::RepetitionLost,
        Self::RepetitionAdded,
        Self::TargetSlowed,
        Self::Errors,
        Self::GuardTripped,
        Self::TargetMissing,
        Self::EveryTargetErrs,
    ];

    fn apply(self, comparison: &mut Comparison, dice: &mut Dice) {
        let victim = TARGETS[dice.below(comparison.len())];
        let windows = comparison.get_mut(victim).unwrap();
        let one = dice.below(windows.len());
        match self {
            Self::Nothing => {}
            Self::RepetitionLost if windows.len() > 1 => _ = windows.remove(one),
            Self::RepetitionAdded if windows.len() < 4 => {
                windows.push(Window { rps: 1.01 * windows[one].rps, ..windows[one] });
            }
            Self::TargetSlowed => windows.iter_mut().for_each(|window| window.rps *= 0.5),
            // 12 of 600: the cell's error fraction is the largest of its windows'.
            Self::Errors => windows[one].errors = 12,
            Self::GuardTripped => windows[one].guard_ok = false,
            Self::TargetMissing | Self::RepetitionLost => _ = comparison.remove(victim),
            Self::RepetitionAdded => {}
            Self::EveryTargetErrs => {
                comparison.values_mut().for_each(|windows| windows[0].errors = 12);
            }
        }
    }
}

/// A comparison in good order: some apart, some close, some noisy.
fn measure(targets: usize, repetitions: usize, dice: &mut Dice) -> Comparison {
    let (spread, noise) = (dice.between(0.0, 0.6), dice.between(0.0, 0.05));
    let target = |dice: &mut Dice| {
        let rate = 100.0 * (1.0 + spread * dice.fraction());
        let window = |dice: &mut Dice| Window {
            rps: rate * (1.0 + noise * dice.between(-1.0, 1.0)),
            // Up to the ceiling, which is clean still.
            errors: dice.below(7) as u32,
            guard_ok: true,
        };
        (0..repetitions).map(|_| window(dice)).collect()
    };
    TARGETS[..targets].iter().map(|&name| (name, target(dice))).collect()
}

fn rungs(class: &str, comparison: &Comparison) -> Vec<Rung> {
    let rung = |target: &str, (repetition, window): (u32, &Window)| {
        Rung::new(target, repetition)
            .with("query_class", class)
            .with("requests", REQUESTS)
            .with("errors", window.errors)
            .with("rps", window.rps)
            .with("generator_guard_ok", window.guard_ok)
    };
    let cell = |(target, windows): (&&str, &Vec<Window>)| -> Vec<Rung> {
        (1..).zip(windows).map(|window| rung(target, window)).collect()
    };
    comparison.iter().flat_map(cell).collect()
}

/// Runs of every shape, each with every alteration many times over: gives how
/// often each reason was seen.
fn judge_runs(repetitions: usize) -> BTreeMap<String, u32> {
    const TIMES: usize = 25;
    let mut reasons = BTreeMap::new();
    let sandbox = Sandbox::new();
    for targets in 1..=TARGETS.len() {
        let mut dice = Dice(7 * targets as u64 + repetitions as u64);
        let alterations = Alteration::ALL.into_iter().cycle().take(TIMES * Alteration::ALL.len());
        let mut expected = BTreeMap::new();
        let mut lines = Vec::new();
        for (number, alteration) in alterations.enumerate() {
            let mut comparison = measure(targets, repetitions, &mut dice);
            alteration.apply(&mut comparison, &mut dice);
            if comparison.is_empty() {
                continue;
            }
            let class = format!("{number:03}-{alteration:?}");
            lines.extend(rungs(&class, &comparison));
            expected.insert(class, judge(&comparison, targets));
        }
        let id = format!("{targets}-targets");
        let run: RunFolder = sandbox.run(&id);
        sandbox.ingest(run.rungs(lines));

        let found: Vec<(String, Option<String>, String)> = ask(
            &sandbox.session(),
            &format!("SELECT query_class, verdict, reason FROM verdicts WHERE run = '{id}'"),
        );
        assert_eq!(found.len(), expected.len());
        for (class, verdict, reason) in found {
            let (expected_verdict, expected_reason) = &expected[&class];
            assert_eq!(
                (&verdict, &*reason),
                (expected_verdict, *expected_reason),
                "{class} of {targets} targets with {repetitions} repetitions"
            );
            *reasons.entry(reason).or_default() += 1;
        }
    }
    reasons
}

/// The reasons that runs of so many repetitions must have met, or the test
/// would prove less than it says.
fn assert_met(reasons: &BTreeMap<String, u32>, expected: &[&str]) {
    let always =
        ["missing cell", "no clean target", "one clean target", "one target", "voided rung"];
    let mut expected: Vec<&str> = always.iter().chain(expected).copied().collect();
    expected.sort_unstable();
    assert_eq!(reasons.keys().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn one_repetition_gives_no_interval() {
    // A repetition added to both of two targets is not among the alterations.
    assert_met(&judge_runs(1), &["no interval"]);
}

#[test]
fn two_repetitions() {
    let expected = ["beats every other", "below tie floor", "intervals touch", "no interval"];
    assert_met(&judge_runs(2), &expected);
}

#[test]
fn three_repetitions() {
    assert_met(&judge_runs(3), &["beats every other", "below tie floor", "intervals touch"]);
}

#[test]
fn four_repetitions() {
    assert_met(&judge_runs(4), &["beats every other", "below tie floor", "intervals touch"]);
}

#[test]
fn a_target_that_is_nowhere_is_not_missed() {
    // What a run's targets are is said by its cells alone.
    let sandbox = Sandbox::new();
    let run = sandbox.run("run");
    run.file("environment.json", json!({"target": {"ant": {}, "bee": {}}}).to_string());
    run.rungs([1, 2].map(|repetition| Rung::new("ant", repetition)));
    let (_, warnings) = sandbox.try_ingest(&run).unwrap();
    assert_eq!(
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["environment.json: targets without a rung: bee"]
    );
    let verdicts: Vec<(Option<String>, String)> =
        ask(&sandbox.session(), "SELECT verdict, reason FROM verdicts");
    assert_eq!(verdicts, [(None, "one target".to_owned())]);
}
