//! What a protocol says that cannot be, or cannot be meant.

use std::collections::BTreeSet;

use super::super::file::{Grid, Protocol};
use super::super::measure::Loop;
use super::super::prereg;
use super::coverage::promised;
use super::{Finding, RunNames, TooLarge};

/// The query class that is a mix of the others.
const MIX: &str = "mix";

/// Everything that can be told of a protocol that can be read.
pub(super) fn findings(
    protocol: &Protocol,
    has_query: impl Fn(&str) -> bool,
    run: Option<&RunNames>,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = protocol
        .out_of_range()
        .into_iter()
        .map(|(key, found, expected)| {
            Finding::problem(key, format!("is {found}: expected {expected}"))
        })
        .collect();
    grid(protocol, &mut findings);
    if protocol.window.measure_seconds == Some(0.0) {
        findings.push(Finding::problem(
            "window.measure_seconds",
            "is 0: nothing can be measured in no time",
        ));
    }
    bursts(protocol, &mut findings);
    let contradictions = protocol.measure.contradictions();
    findings.extend(contradictions.into_iter().map(|(key, said)| Finding::problem(key, said)));
    mix(protocol, run, &mut findings);
    containers(protocol, run, &mut findings);
    registration(protocol, &mut findings);
    hypotheses(protocol, has_query, &mut findings);
    findings
}

fn grid(protocol: &Protocol, findings: &mut Vec<Finding>) {
    let grid = &protocol.grid;
    if *grid == Grid::default() {
        findings.push(Finding::note("grid", "is missing: the protocol promises no rung"));
        return;
    }
    let lists = [
        ("grid.targets", &grid.targets),
        ("grid.classes", &grid.classes),
        ("grid.formats", &grid.formats),
        ("grid.tiers", &grid.tiers),
    ];
    let concurrencies: Vec<String> = grid.concurrencies.iter().map(i64::to_string).collect();
    let instances: Vec<String> = grid.instances.iter().map(i64::to_string).collect();
    let numbers = [("grid.concurrencies", &concurrencies), ("grid.instances", &instances)];
    for (key, names) in lists.into_iter().chain(numbers) {
        // A campaign can do without these, and without nothing else.
        if names.is_empty() && !["grid.tiers", "grid.instances"].contains(&key) {
            findings.push(Finding::problem(key, "is empty: a grid without it has no rungs"));
        }
        names_once(key, names, findings);
    }
    if grid.repetitions.is_none() && protocol.measure.r#loop != Loop::Burst {
        let message = "is missing: a grid without it has no rungs";
        findings.push(Finding::problem("grid.repetitions", message));
    }
    for (index, count) in grid.instances.iter().enumerate().filter(|(_, count)| **count < 1) {
        let message = format!("is {count}: expected 1 or more");
        findings.push(Finding::problem(format!("grid.instances[{index}]"), message));
    }
    if let Err(TooLarge) = promised(protocol) {
        findings.push(Finding::problem("grid", TooLarge.to_string()));
    }
}

/// Refuses what other loops need beside bursts, which have lengths of their own.
fn bursts(protocol: &Protocol, findings: &mut Vec<Finding>) {
    if protocol.measure.r#loop != Loop::Burst {
        return;
    }
    let window = &protocol.window;
    if window.measure_seconds.is_some() {
        let message = "is given to bursts: measure.burst.seconds says how long they are";
        findings.push(Finding::problem("window.measure_seconds", message));
    }
    if window.warmup_seconds.is_some_and(|seconds| seconds > 0.0) {
        let message = "is given to bursts, which come from idle";
        findings.push(Finding::problem("window.warmup_seconds", message));
    }
    if protocol.grid.repetitions.is_some_and(|repetitions| repetitions > 1) {
        let message = "is above 1: the repetitions of a burst are those of its series, \
                       measure.burst.count";
        findings.push(Finding::problem("grid.repetitions", message));
    }
}

/// Refuses names that are empty or there twice.
fn names_once(key: &str, names: &[String], findings: &mut Vec<Finding>) {
    let mut seen = BTreeSet::new();
    for (index, name) in names.iter().enumerate() {
        let key = format!("{key}[{index}]");
        if name.trim().is_empty() {
            findings.push(Finding::problem(key, "is empty: expected a name"));
        } else if !seen.insert(name) {
            findings.push(Finding::problem(key, format!("names `{name}` again")));
        }
    }
}

fn mix(protocol: &Protocol, run: Option<&RunNames>, findings: &mut Vec<Finding>) {
    let (weights, classes) = (&protocol.workload.mix, &protocol.grid.classes);
    let has_class = classes.iter().any(|class| class == MIX);
    if weights.contains_key(MIX) {
        let message = "is the mix itself: expected a query class";
        findings.push(Finding::problem("workload.mix.mix", message));
    }
    if weights.contains_key("") {
        findings.push(Finding::problem("workload.mix", "has a class without a name"));
    }
    if !weights.is_empty() && !has_class && !classes.is_empty() {
        let message = "weighs a class `mix` that the grid has not";
        findings.push(Finding::problem("workload.mix", message));
    }
    if weights.is_empty() && has_class {
        let message = "is missing: nothing says what the grid's class `mix` is a mix of";
        findings.push(Finding::note("workload.mix", message));
    }
    let Some(asked) = run.map(|run| &run.mix).filter(|asked| !asked.is_empty()) else { return };
    for class in weights.keys().filter(|class| !asked.contains(*class)) {
        let message = "the run's mix has no request of this class";
        findings.push(Finding::problem(format!("workload.mix.{class}"), message));
    }
    for class in asked.iter().filter(|class| !weights.is_empty() && !weights.contains_key(*class)) {
        let message = format!("lacks `{class}`, of which the run's mix has requests");
        findings.push(Finding::problem("workload.mix", message));
    }
}

fn containers(protocol: &Protocol, run: Option<&RunNames>, findings: &mut Vec<Finding>) {
    let targets = &protocol.grid.targets;
    let is_known = |name: &String, run: &RunNames| {
        run.targets.contains_key(name) || run.targets.values().any(|server| server == name)
    };
    // A server's name is by custom what the names of its targets begin with.
    let is_likely = |name: &String| {
        targets.iter().any(|target| {
            let rest = target.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_', '.']))
        })
    };
    for (name, containers) in &protocol.containers {
        let key = format!("containers.{name}");
        match run {
            Some(run) if !is_known(name, run) => {
                let message = "is neither a target nor a server of the run";
                findings.push(Finding::problem(&key, message));
            }
            None if !targets.is_empty() && !is_likely(name) => {
                let message =
                    "is no target of the grid: --run tells whether it is the server of one";
                findings.push(Finding::note(&key, message));
            }
            _ => {}
        }
        if containers.members.is_empty() {
            let message = "is empty: expected the names of containers";
            findings.push(Finding::problem(format!("{key}.members"), message));
        }
        names_once(&format!("{key}.members"), &containers.members, findings);
        if let Some(api) = &containers.api
            && !containers.members.contains(api)
        {
            let message = format!("is `{api}`, which is none of its members");
            findings.push(Finding::problem(format!("{key}.api"), message));
        }
    }
}

fn registration(protocol: &Protocol, findings: &mut Vec<Finding>) {
    let Some(prereg) = &protocol.prereg else { return };
    if prereg.r#ref.as_ref().is_some_and(|name| name.trim().is_empty()) {
        findings.push(Finding::problem("prereg.ref", "is empty: expected a tag or a commit"));
    }
    if let Some(commit) = &prereg.commit
        && (commit.len() < 4 || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()))
    {
        let message = format!("is `{commit}`: expected the id of a commit, or 4 or more digits");
        findings.push(Finding::problem("prereg.commit", message));
    }
    if prereg.paths.is_empty() {
        let message = "is empty: nothing says which files must not have changed";
        findings.push(Finding::problem("prereg.paths", message));
    }
    names_once("prereg.paths", &prereg.paths, findings);
    for (index, path) in prereg.paths.iter().enumerate() {
        if !path.trim().is_empty() && !prereg::is_path(path) {
            let message = format!("is `{path}`: expected a path from the top of the repository");
            findings.push(Finding::problem(format!("prereg.paths[{index}]"), message));
        }
    }
}

fn hypotheses(protocol: &Protocol, has_query: impl Fn(&str) -> bool, findings: &mut Vec<Finding>) {
    let mut ids = BTreeSet::new();
    for (index, hypothesis) in protocol.hypotheses.iter().enumerate() {
        let key = |name: &str| format!("hypothesis[{index}].{name}");
        let id = &hypothesis.id;
        if id.trim().is_empty() {
            findings.push(Finding::problem(key("id"), "is empty: expected a short name"));
        } else if !ids.insert(id) {
            findings.push(Finding::problem(key("id"), format!("is `{id}` again")));
        }
        if hypothesis.statement.trim().is_empty() {
            findings.push(Finding::problem(key("statement"), "is empty: what is predicted?"));
        }
        names_once(&key("runs"), &hypothesis.runs, findings);
        let query = &hypothesis.query;
        if query.is_empty() || query.starts_with('.') || query.contains(['/', '\\']) {
            let message = format!("is `{query}`: expected the name of a file, without a folder");
            findings.push(Finding::problem(key("query"), message));
        } else if !has_query(query) {
            let message = format!("is `{query}`, which is not in queries/hypotheses/");
            findings.push(Finding::problem(key("query"), message));
        }
    }
}
