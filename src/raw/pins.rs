//! `pins/`: resource limits as they were really applied.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::environment::Environment;
use super::error::{Place, RawError};
use super::fields::verbatim;
use super::input::Source;
use super::json;
use super::published::Cell;
use super::rung::RungRecord;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// One setting that was really applied.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pin {
    pub tier: Option<String>,
    pub target: Option<String>,
    pub container: Option<String>,
    /// Dotted where the setting lies in others.
    pub key: String,
    /// Verbatim; JSON text where it is not a text.
    pub value: Option<String>,
}

/// The tiers and targets that a run is known to have.
#[derive(Debug, Default)]
pub(super) struct Names {
    tiers: BTreeSet<String>,
    targets: BTreeSet<String>,
}

impl Names {
    /// The names in a run's environment, rungs and published cells.
    pub(super) fn of(environment: &Environment, rungs: &[RungRecord], cells: &[Cell]) -> Self {
        let mut names = Self::default();
        names.tiers.extend(environment.tiers.iter().cloned());
        names.targets.extend(environment.targets.iter().map(|(target, _)| target.clone()));
        let rungs = rungs.iter().map(|rung| (&rung.key.tier, &rung.key.target));
        for (tier, target) in
            rungs.chain(cells.iter().map(|cell| (&cell.key.tier, &cell.key.target)))
        {
            names.tiers.extend(tier.clone());
            names.targets.insert(target.clone());
        }
        names
    }

    /// Splits `t8-limits` into its tier and the rest; a prefix that is neither
    /// a tier of the run nor a number is part of the name.
    fn split_tier<'a>(&self, stem: &'a str) -> (Option<String>, &'a str) {
        let number = |tier: &str| tier.bytes().all(|byte| byte.is_ascii_digit());
        stem.strip_prefix('t')
            .into_iter()
            .flat_map(|rest| rest.match_indices('-').map(move |(at, _)| rest.split_at(at)))
            .find(|(tier, _)| !tier.is_empty() && (number(tier) || self.tiers.contains(*tier)))
            .map_or((None, stem), |(tier, rest)| (Some(tier.to_owned()), &rest[1..]))
    }
}

/// Reads the files of `pins/`, in their order.
pub(super) fn read(
    source: &mut Source<'_>,
    files: &[String],
    names: &Names,
) -> Result<Vec<Pin>, RawError> {
    let mut pins = Vec::new();
    for file in files {
        check_size(file, source.size(file)?)?;
        let name = file.rsplit('/').next().unwrap_or(file);
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        let (tier, key) = names.split_tier(stem);
        if extension == "json" {
            let document = json::document(file, &source.bytes(file)?)?;
            let mut found = document_pins(document, names);
            found.iter_mut().for_each(|pin| pin.tier.clone_from(&tier));
            pins.append(&mut found);
        } else {
            let value = Some(source.text(file)?.trim_end().to_owned());
            pins.push(Pin { tier, key: key.to_owned(), value, ..Pin::default() });
        }
    }
    Ok(pins)
}

fn check_size(file: &str, size: u64) -> Result<(), RawError> {
    if size <= LARGEST {
        return Ok(());
    }
    Err(RawError::Other {
        place: Place::file(file),
        message: format!("expected at most {LARGEST} bytes of settings, found {size}"),
    })
}

/// An object by container or target, or the array that `docker inspect` prints.
fn document_pins(document: Value, names: &Names) -> Vec<Pin> {
    let mut pins = Vec::new();
    match document {
        Value::Array(items) => {
            for (at, item) in items.into_iter().enumerate() {
                match container_name(&item) {
                    Some(name) => flatten(&owner(name, names), "", item, &mut pins),
                    None => flatten(&Pin::default(), &at.to_string(), item, &mut pins),
                }
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::Object(_) => flatten(&owner(name, names), "", member, &mut pins),
                    _ => flatten(&Pin::default(), &name, member, &mut pins),
                }
            }
        }
        other => flatten(&Pin::default(), "value", other, &mut pins),
    }
    pins
}

fn container_name(item: &Value) -> Option<String> {
    let name = item.get("Name")?.as_str()?;
    Some(name.strip_prefix('/').unwrap_or(name).to_owned())
}

/// A pin without its key: of a target where the run has one of that name, of a
/// container otherwise.
fn owner(name: String, names: &Names) -> Pin {
    if names.targets.contains(&name) {
        Pin { target: Some(name), ..Pin::default() }
    } else {
        Pin { container: Some(name), ..Pin::default() }
    }
}

/// One pin per setting below `value`, its key dotted; arrays stay whole.
fn flatten(owner: &Pin, key: &str, value: Value, pins: &mut Vec<Pin>) {
    match value {
        Value::Object(members) => flatten_members(owner, key, members, pins),
        value => {
            let value = (!value.is_null()).then(|| verbatim(&value));
            pins.push(Pin { key: key.to_owned(), value, ..owner.clone() });
        }
    }
}

fn flatten_members(owner: &Pin, key: &str, members: Map<String, Value>, pins: &mut Vec<Pin>) {
    for (name, member) in members {
        let key = if key.is_empty() { name } else { format!("{key}.{name}") };
        flatten(owner, &key, member, pins);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names() -> Names {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Names { tiers: set(&["8", "big-1"]), targets: set(&["egernia"]) }
    }

    /// (target, container, key, value)
    fn rows(document: Value) -> Vec<(String, String, String, String)> {
        document_pins(document, &names())
            .into_iter()
            .map(|pin| {
                let text = Option::unwrap_or_default;
                (text(pin.target), text(pin.container), pin.key, text(pin.value))
            })
            .collect()
    }

    fn row(
        target: &str,
        container: &str,
        key: &str,
        value: &str,
    ) -> (String, String, String, String) {
        (target.into(), container.into(), key.into(), value.into())
    }

    #[test]
    fn tiers_are_told_from_names() {
        let names = names();
        assert_eq!(names.split_tier("t8-limits"), (Some("8".into()), "limits"));
        assert_eq!(names.split_tier("t16-a-b"), (Some("16".into()), "a-b"));
        assert_eq!(names.split_tier("tbig-1-cpu"), (Some("big-1".into()), "cpu"));
        assert_eq!(names.split_tier("target-limits"), (None, "target-limits"));
        assert_eq!(names.split_tier("t-limits"), (None, "t-limits"));
        assert_eq!(names.split_tier("limits"), (None, "limits"));
    }

    #[test]
    fn objects_are_flattened_by_owner() {
        let found = rows(json!({
            "api": {"cpu": {"max": 8, "set": [0, 1]}, "swap": null},
            "egernia": {"mem": "8g"},
            "mode": "tiered",
        }));
        let expected = [
            row("", "api", "cpu.max", "8"),
            row("", "api", "cpu.set", "[0,1]"),
            row("", "api", "swap", ""),
            row("egernia", "", "mem", "8g"),
            row("", "", "mode", "tiered"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn docker_inspect_names_its_containers() {
        let found = rows(json!([{"Name": "/api", "HostConfig": {"Memory": 5}}, 7]));
        let expected = [
            row("", "api", "HostConfig.Memory", "5"),
            row("", "api", "Name", "/api"),
            row("", "", "1", "7"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn files_give_tier_key_and_text() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("pins")).unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            name.to_owned()
        };
        let files = [
            file("pins/t8-cpu.max.txt", "800000 100000\n"),
            file("pins/t8-limits.json", r#"{"api": {"cpus": 8}}"#),
        ];
        let mut source = Source::new(folder.path());
        let pins = read(&mut source, &files, &names()).unwrap();
        let tier = Some("8".to_owned());
        let expected = [
            Pin {
                tier: tier.clone(),
                key: "cpu.max".into(),
                value: Some("800000 100000".into()),
                ..Pin::default()
            },
            Pin {
                tier,
                container: Some("api".into()),
                key: "cpus".into(),
                value: Some("8".into()),
                ..Pin::default()
            },
        ];
        assert_eq!(pins, expected);

        let large = [file("pins/large.txt", &"x".repeat(LARGEST as usize + 1))];
        let message = read(&mut source, &large, &names()).unwrap_err().to_string();
        assert_eq!(
            message,
            "pins/large.txt: expected at most 1048576 bytes of settings, found 1048577"
        );
    }
}
