//! In what two runs differ, before anybody compares their figures.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::grid::{Align, Grid, MISSING};
use super::{ReportError, View, short};

/// Settings of a scenario that say which rungs were measured, not how: runs that
/// differ in these are comparable where they have the same cells.
const GRID: &[&str] = &[
    "classes",
    "concurrencies",
    "concurrency",
    "formats",
    "ladder",
    "name",
    "per_class",
    "repetitions",
    "response_formats",
    "targets",
    "tiers",
];

/// Settings of a scenario that tell the number of the generator's workers.
const WORKERS: &[&str] = &["generator_workers", "generator_processes"];

/// What is known of how a run was measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Name and value of each, in the order in which they are shown.
    settings: Vec<Setting>,
    /// Pins by tier, container and key.
    pins: BTreeMap<(String, String, String), String>,
}

#[derive(Debug, Clone, PartialEq)]
struct Setting {
    name: String,
    value: Option<String>,
    /// Whether figures measured with other values are not comparable.
    apparatus: bool,
}

impl Facts {
    /// What the table `runs` says of a run, the rungs of its generator's
    /// workers, and the table `pins`. `promised_workers` is what the run's
    /// protocol says of the workers, where the data do not.
    ///
    /// # Errors
    /// If a view lacks a column.
    pub fn read(
        run: &str,
        runs: &View,
        workers: &View,
        pins: &View,
        promised_workers: Option<i64>,
    ) -> Result<Self, ReportError> {
        let row = runs.names("run")?.iter().position(|found| found == run);
        let text = |column: &str| -> Result<Option<String>, ReportError> {
            let mut all = runs.texts(column)?;
            Ok(row.and_then(|row| all.swap_remove(row)))
        };
        let int = |column: &str| -> Result<Option<String>, ReportError> {
            let all = runs.ints(column)?;
            Ok(row.and_then(|row| all[row]).map(|value| value.to_string()))
        };
        let mut facts = Self::default();
        let scenario = text("scenario")?;
        let (scenario_name, scenario) = scenario_settings(scenario.as_deref());
        facts.add("git commit", text("git_sha")?.map(|sha| sha.chars().take(12).collect()), false);
        facts.add("scenario", scenario_name, false);
        let worker_runs = workers.names("run")?;
        let mut counts: BTreeSet<i64> = BTreeSet::new();
        for (index, count) in workers.ints("generator_workers")?.into_iter().enumerate() {
            counts.extend(count.filter(|_| worker_runs[index] == run));
        }
        let counted = (!counts.is_empty()).then(|| join(counts));
        let planned = WORKERS.iter().find_map(|name| scenario.get(*name).cloned());
        let promised = promised_workers.map(|workers| workers.to_string());
        facts.add("generator workers", counted.or(planned).or(promised), true);
        for (name, value) in scenario {
            if !WORKERS.contains(&name.as_str()) {
                let apparatus = !GRID.contains(&name.rsplit('.').next().unwrap_or_default());
                facts.add(&format!("scenario {name}"), Some(value), apparatus);
            }
        }
        let digest = |hash: Option<String>| hash.map(|hash| short(&hash).to_owned());
        facts.add("corpus sha256", digest(text("corpus_sha256")?), true);
        facts.add("dataset sha256", digest(text("dataset_sha256")?), true);
        facts.add("seed", int("seed")?, false);
        facts.add("host CPUs", int("host_cpus")?, true);
        facts.add("host platform", text("host_platform")?, true);

        let (pin_runs, tiers) = (pins.names("run")?, pins.names("tier")?);
        let (containers, targets) = (pins.texts("container")?, pins.texts("target")?);
        let (keys, values) = (pins.names("key")?, pins.names("value")?);
        for index in (0..pins.len()).filter(|&index| pin_runs[index] == run) {
            let of = containers[index].clone().or_else(|| targets[index].clone());
            let key = (tiers[index].clone(), of.unwrap_or_default(), keys[index].clone());
            facts.pins.insert(key, values[index].clone());
        }
        Ok(facts)
    }

    fn add(&mut self, name: &str, value: Option<String>, apparatus: bool) {
        self.settings.push(Setting { name: name.to_owned(), value, apparatus });
    }

    fn get(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.name == name)
    }

    /// Whether anything is known of the scenario, so that a setting that is not
    /// there was not set.
    fn has_scenario(&self) -> bool {
        self.get("scenario").is_some_and(|setting| setting.value.is_some())
    }
}

/// The name of the scenario and its settings, under dotted names; under the
/// scenario's own name first where there are several.
fn scenario_settings(json: Option<&str>) -> (Option<String>, BTreeMap<String, String>) {
    let mut settings = BTreeMap::new();
    let Some(Ok(Value::Object(scenarios))) = json.map(serde_json::from_str) else {
        return (None, settings);
    };
    let is_one = scenarios.len() == 1;
    for (name, value) in &scenarios {
        flatten(if is_one { "" } else { name }, value, &mut settings);
    }
    let names: Vec<String> = scenarios.into_iter().map(|(name, _)| name).collect();
    ((!names.is_empty()).then(|| names.join(", ")), settings)
}

fn flatten(prefix: &str, value: &Value, settings: &mut BTreeMap<String, String>) {
    if let Value::Object(fields) = value {
        for (name, value) in fields {
            let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            flatten(&name, value, settings);
        }
        return;
    }
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => join(items.iter().map(|item| match item {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })),
        other => other.to_string(),
    };
    settings.insert(prefix.to_owned(), text);
}

fn join<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// One thing in which two runs differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What it is.
    pub what: String,
    /// Its value in the first run; `not recorded` where nobody knows.
    pub a: String,
    /// Its value in the second run.
    pub b: String,
    /// Whether figures measured so are not comparable.
    pub apparatus: bool,
}

const UNKNOWN: &str = "not recorded";

/// In what two runs differ, as far as they say.
pub fn differences(a: &Facts, b: &Facts) -> Vec<Difference> {
    let mut names: Vec<&str> = a.settings.iter().map(|setting| setting.name.as_str()).collect();
    for (index, setting) in b.settings.iter().enumerate() {
        if a.get(&setting.name).is_none() {
            // Beside its neighbour: settings of the scenario stay together.
            let before = b.settings[..index].iter().rev();
            let place = before
                .filter_map(|before| names.iter().position(|name| *name == before.name))
                .next();
            names.insert(place.map_or(0, |place| place + 1), &setting.name);
        }
    }
    let mut found = Vec::new();
    for name in names {
        let of_scenario = name.starts_with("scenario ");
        if of_scenario && !(a.has_scenario() && b.has_scenario()) {
            // One line says that the scenario is not recorded.
            continue;
        }
        let absent = if of_scenario { MISSING } else { UNKNOWN };
        let (in_a, in_b) = (a.get(name), b.get(name));
        let value = |setting: Option<&Setting>| setting.and_then(|setting| setting.value.clone());
        let (value_a, value_b) = (value(in_a), value(in_b));
        if value_a != value_b {
            found.push(Difference {
                what: name.to_owned(),
                apparatus: in_a.or(in_b).is_some_and(|setting| setting.apparatus),
                a: value_a.unwrap_or_else(|| absent.to_owned()),
                b: value_b.unwrap_or_else(|| absent.to_owned()),
            });
        }
    }
    found.extend(pins(a, b));
    found
}

/// Pins in one line: what a container engine says of itself differs from day to
/// day, and is listed by a query, not here.
fn pins(a: &Facts, b: &Facts) -> Option<Difference> {
    let count = |facts: &Facts| match facts.pins.len() {
        0 => UNKNOWN.to_owned(),
        some => super::figure::counted(some, "setting"),
    };
    let other = a.pins.iter().filter(|(key, value)| b.pins.get(key).is_some_and(|b| b != *value));
    let other = other.count();
    if other == 0 && a.pins.keys().eq(b.pins.keys()) {
        return None;
    }
    let mut in_b = count(b);
    if other > 0 {
        in_b += &format!(", {other} with other values");
    }
    Some(Difference { what: "pins".to_owned(), a: count(a), b: in_b, apparatus: false })
}

/// The differences as a table of the two runs.
pub(super) fn grid(differences: &[Difference], a: &str, b: &str) -> Grid {
    let header = [("differs in", Align::Left), (a, Align::Left), (b, Align::Left)];
    let mut grid = Grid::new(header);
    for difference in differences {
        grid.push(
            [&difference.what, &difference.a, &difference.b]
                .map(|text| text.as_str().into())
                .into(),
        );
    }
    grid
}

/// Whether figures of the two runs can be compared, in a sentence.
pub(super) fn comparable(differences: &[Difference]) -> String {
    let names = |known: bool| -> Vec<&str> {
        let is_known = |side: &str| side != UNKNOWN;
        differences
            .iter()
            .filter(|one| one.apparatus && (is_known(&one.a) && is_known(&one.b)) == known)
            .map(|one| one.what.as_str())
            .collect()
    };
    let (other, unknown) = (names(true), names(false));
    match (other.is_empty(), unknown.is_empty()) {
        (false, _) => format!(
            "not comparable: measured by different apparatus ({}); a gap may be the apparatus's and not the server's",
            other.join(", ")
        ),
        (true, false) => format!(
            "not known to be comparable: one of the runs does not record {}",
            unknown.join(", ")
        ),
        (true, true) => "comparable: nothing recorded says that the apparatus differs".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::view;

    /// The facts of run `r` with that scenario.
    fn facts(scenario: &str, workers: Option<i64>) -> Facts {
        let runs = view(
            "runs",
            &format!(
                "run git_sha corpus_sha256 dataset_sha256 host_platform scenario seed:i host_cpus:i\n\
                 r d43b538d10d286d3 abc _ linux {scenario} 42 30"
            ),
            "",
        );
        let counts = view("rungs", "run generator_workers:i", "");
        let pins = view("pins", "run tier target container key value\nr 8 _ db Memory 1", "");
        Facts::read("r", &runs, &counts, &pins, workers).unwrap()
    }

    fn lines(a: &Facts, b: &Facts) -> Vec<String> {
        let line =
            |one: &Difference| format!("{}: {} / {} / {}", one.what, one.a, one.b, one.apparatus);
        differences(a, b).iter().map(line).collect()
    }

    #[test]
    fn a_run_does_not_differ_from_itself() {
        let one = facts(r#"{"final":{"ladder":[8]}}"#, None);
        assert_eq!(lines(&one, &one), Vec::<String>::new());
        assert!(comparable(&[]).starts_with("comparable: "));
    }

    #[test]
    fn scenarios_are_compared_under_their_names() {
        let a = facts(r#"{"scaling3":{"generator_processes":6,"ladder":[8,32],"maxrec":5}}"#, None);
        let b = facts(r#"{"final":{"generator_processes":6,"ladder":[1,8],"maxrec":5}}"#, None);
        assert_eq!(
            lines(&a, &b),
            ["scenario: scaling3 / final / false", "scenario ladder: 8, 32 / 1, 8 / false"]
        );
        assert!(comparable(&differences(&a, &b)).starts_with("comparable: "));
    }

    #[test]
    fn another_generator_is_another_apparatus() {
        let a = facts(r#"{"s":{"generator_processes":6,"maxrec":5}}"#, None);
        let b = facts(r#"{"s":{"generator_processes":12,"warmup_seconds":1}}"#, None);
        assert_eq!(
            lines(&a, &b),
            [
                "generator workers: 6 / 12 / true",
                "scenario warmup_seconds: — / 1 / true",
                "scenario maxrec: 5 / — / true",
            ]
        );
        let sentence = comparable(&differences(&a, &b));
        assert!(sentence.starts_with("not comparable: "), "{sentence}");
        assert!(sentence.contains("(generator workers, "), "{sentence}");
    }

    #[test]
    fn what_is_not_recorded_is_said_so() {
        let a = facts(r#"{"s":{"generator_processes":6,"maxrec":5}}"#, None);
        let b = facts("_", None);
        assert_eq!(
            lines(&a, &b),
            ["scenario: s / not recorded / false", "generator workers: 6 / not recorded / true"]
        );
        assert_eq!(
            comparable(&differences(&a, &b)),
            "not known to be comparable: one of the runs does not record generator workers"
        );
        let promised = facts("_", Some(12));
        assert!(lines(&a, &promised).contains(&"generator workers: 6 / 12 / true".to_owned()));
    }

    #[test]
    fn pins_are_counted() {
        let a = facts("_", None);
        let mut b = a.clone();
        for value in b.pins.values_mut() {
            *value = "2".to_owned();
        }
        assert_eq!(lines(&a, &b), ["pins: 1 setting / 1 setting, 1 with other values / false"]);
        b.pins.clear();
        assert_eq!(lines(&a, &b), ["pins: 1 setting / not recorded / false"]);
    }
}
