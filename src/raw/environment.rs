//! `environment.json`: where, when and on what a run was measured.

use serde_json::{Map, Value};

use super::error::{Place, RawError};
use super::fields::{AMOUNT, COUNT, FLAG, Fields, INTEGER, TEXT, TIME, verbatim};
use super::input::Source;
use super::json;

/// What `environment.json` says; every field is empty where the file, or the
/// field, is missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Environment {
    pub git_sha: Option<String>,
    pub git_branch: Option<String>,
    pub git_describe: Option<String>,
    pub git_dirty: Option<bool>,
    /// Unix seconds.
    pub recorded_at: Option<f64>,
    pub seed: Option<i64>,
    /// Of the queries; of the corpus file where the environment lacks it.
    pub corpus_sha256: Option<String>,
    pub dataset_sha256: Option<String>,
    /// The scenarios by name, as JSON text with sorted keys.
    pub scenario: Option<String>,
    /// Length of a measured window in seconds, where all scenarios agree on it.
    pub measure_seconds: Option<f64>,
    pub host_cpus: Option<i64>,
    pub host_platform: Option<String>,
    /// Tiers that the run meant to measure, as recorded.
    pub tiers: Vec<String>,
    /// (target, server) pairs, sorted.
    pub targets: Vec<(String, Option<String>)>,
    /// The `resumed` entries, in file order.
    pub resumed: Vec<Resumed>,
}

/// One time that the run was taken up again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resumed {
    /// Unix seconds; `None` where the entry has no number for it.
    pub t: Option<f64>,
    /// The whole entry as JSON text with sorted keys.
    pub entry: String,
}

impl Environment {
    /// The server that a target runs; the target's own name where nothing says.
    pub fn server_of<'a>(&'a self, target: &'a str) -> &'a str {
        self.targets
            .iter()
            .find(|(name, _)| name == target)
            .and_then(|(_, server)| server.as_deref())
            .unwrap_or(target)
    }
}

/// Reads `environment.json`.
pub(super) fn read(source: &mut Source<'_>, file: &str) -> Result<Environment, RawError> {
    let document = json::document(file, &source.bytes(file)?)?;
    parse(Place::file(file), document)
}

fn parse(place: Place, document: Value) -> Result<Environment, RawError> {
    let mut fields = Fields::of_object(place.clone(), document, &["git", "host"])?;
    let scenario = fields.members("scenario")?;
    Ok(Environment {
        git_sha: fields.take(&["git_sha"], TEXT)?,
        git_branch: fields.take(&["git_branch"], TEXT)?,
        git_describe: fields.take(&["git_describe"], TEXT)?,
        git_dirty: fields.take(&["git_dirty"], FLAG)?,
        recorded_at: fields.take(&["recorded_at"], TIME)?,
        seed: fields.take(&["seed"], INTEGER)?,
        corpus_sha256: fields.take(&["corpus_sha256"], TEXT)?,
        dataset_sha256: fields.take(&["dataset_sha256"], TEXT)?,
        measure_seconds: measure_seconds(&place, &scenario)?,
        scenario: (!scenario.is_empty()).then(|| sorted(Value::Object(scenario)).to_string()),
        host_cpus: fields.take(&["host_cpu_count"], COUNT)?,
        host_platform: fields.take(&["host_platform"], TEXT)?,
        tiers: fields.elements("tiers")?.iter().map(verbatim).collect(),
        targets: targets(&place, fields.members("target")?)?,
        resumed: resumed(fields.elements("resumed")?),
    })
}

fn targets(
    place: &Place,
    targets: Map<String, Value>,
) -> Result<Vec<(String, Option<String>)>, RawError> {
    let mut servers = targets
        .into_iter()
        .map(|(name, settings)| {
            let mut fields = Fields::of_object(place.clone(), settings, &[])?;
            Ok((name, fields.take(&["server"], TEXT)?))
        })
        .collect::<Result<Vec<_>, RawError>>()?;
    servers.sort();
    Ok(servers)
}

/// The one length of a measured window that all scenarios give.
fn measure_seconds(place: &Place, scenarios: &Map<String, Value>) -> Result<Option<f64>, RawError> {
    let mut lengths = scenarios
        .values()
        .map(|settings| {
            let mut fields = Fields::of_object(place.clone(), settings.clone(), &[])?;
            fields.take(&["measure_seconds"], AMOUNT)
        })
        .collect::<Result<Vec<_>, RawError>>()?;
    lengths.dedup();
    match lengths[..] {
        [length] => Ok(length),
        _ => Ok(None),
    }
}

/// The names that the time of a `resumed` entry has in the field.
const RESUMED_AT: [&str; 4] = ["t", "at", "resumed_at", "recorded_at"];

fn resumed(entries: Vec<Value>) -> Vec<Resumed> {
    let read = |entry: Value| Resumed {
        t: RESUMED_AT.iter().find_map(|name| entry.get(name)).and_then(Value::as_f64),
        entry: sorted(entry).to_string(),
    };
    entries.into_iter().map(read).collect()
}

/// The same value with the keys of its objects sorted.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.into_iter().collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            members.into_iter().map(|(name, member)| (name, sorted(member))).collect()
        }
        Value::Array(values) => values.into_iter().map(sorted).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<Environment, String> {
        parse(Place::file("environment.json"), value).map_err(|error| error.to_string())
    }

    #[test]
    fn the_nested_form_of_the_harness() {
        let environment = read(json!({
            "git": {"sha": "d43b", "branch": "b", "describe": "t-1", "dirty": false},
            "host": {"cpu_count": 30, "platform": "Linux", "python": "3.14"},
            "recorded_at": 5.5, "seed": 424242, "corpus_sha256": "c0", "dataset_sha256": "da",
            "scenario": {"b": {"measure_seconds": 60}, "a": {"z": 1, "measure_seconds": 60.0}},
            "target": {"two": {"base_url": "x"}, "one": {"server": "argus"}},
            "tiers": ["8", 16], "tier_mode": "tiered", "resumed": [{"t": 7, "from": "r1"}],
        }));
        let expected = Environment {
            git_sha: Some("d43b".into()),
            git_branch: Some("b".into()),
            git_describe: Some("t-1".into()),
            git_dirty: Some(false),
            recorded_at: Some(5.5),
            seed: Some(424_242),
            corpus_sha256: Some("c0".into()),
            dataset_sha256: Some("da".into()),
            scenario: Some(
                r#"{"a":{"measure_seconds":60.0,"z":1},"b":{"measure_seconds":60}}"#.into(),
            ),
            measure_seconds: Some(60.0),
            host_cpus: Some(30),
            host_platform: Some("Linux".into()),
            tiers: vec!["8".into(), "16".into()],
            targets: vec![("one".into(), Some("argus".into())), ("two".into(), None)],
            resumed: vec![Resumed { t: Some(7.0), entry: r#"{"from":"r1","t":7}"#.into() }],
        };
        assert_eq!(environment.unwrap(), expected);
        assert_eq!(expected.server_of("one"), "argus");
        assert_eq!(expected.server_of("two"), "two");
        assert_eq!(expected.server_of("three"), "three");
    }

    #[test]
    fn any_part_may_be_missing() {
        assert_eq!(read(json!({})).unwrap(), Environment::default());
        let nulls = json!({"git": null, "target": null, "scenario": null, "resumed": null});
        assert_eq!(read(nulls).unwrap(), Environment::default());
    }

    #[test]
    fn a_resume_has_its_time_where_it_is_a_number() {
        let entries = json!([{"at": 7.5}, {"resumed_at": 8}, {"t": "noon"}, {}, "by hand"]);
        let resumed = read(json!({"resumed": entries})).unwrap().resumed;
        let times: Vec<Option<f64>> = resumed.iter().map(|entry| entry.t).collect();
        assert_eq!(times, [Some(7.5), Some(8.0), None, None, None]);
        assert_eq!(resumed[4].entry, "\"by hand\"");
    }

    #[test]
    fn scenarios_that_disagree_give_no_window() {
        let scenario = json!({"a": {"measure_seconds": 60}, "b": {"measure_seconds": 30}});
        assert_eq!(read(json!({"scenario": scenario})).unwrap().measure_seconds, None);
    }

    #[test]
    fn wrong_types_are_named() {
        let message = read(json!({"git": {"dirty": "no"}})).unwrap_err();
        assert_eq!(
            message,
            r#"environment.json: field `git.dirty`: expected true or false, found "no""#
        );
        let message = read(json!({"target": ["a"]})).unwrap_err();
        assert!(message.contains("field `target`: expected an object, found"), "{message}");
        assert!(read(json!([])).unwrap_err().contains("expected a JSON object"));
    }
}
