//! Where, when and of what state of the sources a campaign is measured.

use std::fs;
use std::path::{Path, PathBuf};

use git2::{DescribeFormatOptions, DescribeOptions, Repository, StatusOptions};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::error::CampaignError;

/// The state of the repository that the protocol lies in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Git {
    /// The commit.
    pub sha: String,
    /// The branch; none where HEAD is on none.
    pub branch: Option<String>,
    /// What `git describe` says; none without a tag.
    pub describe: Option<String>,
    /// Whether a tracked file differs from the commit, or one of the files that
    /// decide what is measured is not in it.
    pub dirty: bool,
}

impl Git {
    /// The state of the repository around a folder; none where there is none, or
    /// it has no commit. `deciding` are the files that must be committed.
    ///
    /// # Errors
    /// If the repository cannot be read.
    pub fn of(folder: &Path, deciding: &[&Path]) -> Result<Option<Self>, CampaignError> {
        let Ok(repository) = Repository::discover(folder) else { return Ok(None) };
        let Ok(head) = repository.head() else { return Ok(None) };
        let commit = head.peel_to_commit()?;
        let mut options = DescribeOptions::new();
        let describe = repository.describe(options.describe_tags());
        let describe = describe.and_then(|d| d.format(Some(&DescribeFormatOptions::new()))).ok();
        Ok(Some(Self {
            sha: commit.id().to_string(),
            branch: head.is_branch().then(|| head.shorthand().ok().map(str::to_owned)).flatten(),
            describe,
            dirty: is_dirty(&repository, deciding)?,
        }))
    }
}

fn is_dirty(repository: &Repository, deciding: &[&Path]) -> Result<bool, git2::Error> {
    let mut options = StatusOptions::new();
    options.include_untracked(false).include_ignored(false);
    if !repository.statuses(Some(&mut options))?.is_empty() {
        return Ok(true);
    }
    let Some(root) = repository.workdir().and_then(|root| root.canonicalize().ok()) else {
        return Ok(false);
    };
    let inside: Vec<PathBuf> = deciding
        .iter()
        .filter_map(|path| Some(path.canonicalize().ok()?.strip_prefix(&root).ok()?.to_owned()))
        .collect();
    // All that is tracked is as committed: what has a status is not tracked.
    Ok(inside.iter().any(|path| {
        repository.status_file(path).is_ok_and(|status| status != git2::Status::CURRENT)
    }))
}

/// The machine.
pub fn host() -> Value {
    let kernel = |file: &str| {
        let text = fs::read_to_string(format!("/proc/sys/kernel/{file}"));
        text.ok().map(|text| text.trim().to_owned())
    };
    let system = kernel("ostype").unwrap_or_else(|| std::env::consts::OS.to_owned());
    let platform = match kernel("osrelease") {
        Some(release) => format!("{system}-{release}"),
        None => system,
    };
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory = memory.lines().find_map(|line| {
        line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    });
    let governor = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    json!({
        "cpu_count": std::thread::available_parallelism().map_or(1, usize::from),
        "cpu_model": model.map(|(_, model)| model),
        "cpu_governor": governor.ok().map(|governor| governor.trim().to_owned()),
        "machine": std::env::consts::ARCH,
        "memory_bytes": memory.map(|kib| kib * 1024),
        "platform": platform,
    })
}

/// The keys in which two objects differ, dotted, with both values.
pub fn differences(before: &Value, now: &Value) -> Vec<String> {
    fn compare(path: &str, before: &Value, now: &Value, found: &mut Vec<String>) {
        if let (Value::Object(before), Value::Object(now)) = (before, now) {
            let mut keys: Vec<&String> = before.keys().chain(now.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let of = |map: &Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
                compare(&path, &of(before), &of(now), found);
            }
        } else if before != now {
            found.push(format!("{path} was {before}, and is {now} now"));
        }
    }
    let mut found = Vec::new();
    compare("", before, now, &mut found);
    found
}

#[cfg(test)]
mod tests {
    use git2::{IndexAddOption, Signature};

    use super::*;

    #[test]
    fn the_state_of_a_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let repository = Repository::init(root).unwrap();
        assert_eq!(Git::of(root, &[]).unwrap(), None, "no commit yet");
        fs::write(root.join("protocol.toml"), "a").unwrap();
        let mut index = repository.index().unwrap();
        index.add_all(["*"], IndexAddOption::DEFAULT, None).unwrap();
        index.write().unwrap();
        let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
        let who = Signature::now("a", "a@example.org").unwrap();
        let commit = repository.commit(Some("HEAD"), &who, &who, "x", &tree, &[]).unwrap();

        let protocol = root.join("protocol.toml");
        let targets = root.join("targets.toml");
        let state = |files: &[&Path]| Git::of(root, files).unwrap().unwrap();
        let clean = state(&[&protocol]);
        assert_eq!((clean.sha.as_str(), clean.dirty), (commit.to_string().as_str(), false));
        assert_eq!(clean.describe, None);
        assert!(clean.branch.is_some());
        let object = repository.find_object(commit, None).unwrap();
        repository.tag_lightweight("v1", &object, false).unwrap();
        assert_eq!(state(&[]).describe.as_deref(), Some("v1"));

        fs::write(&targets, "b").unwrap();
        assert!(!state(&[&protocol]).dirty, "what does not decide may be there");
        assert!(state(&[&protocol, &targets]).dirty, "what decides must be committed");
        fs::write(&protocol, "c").unwrap();
        assert!(state(&[]).dirty);
    }

    #[test]
    fn differences_are_named_by_key() {
        let before = json!({"a": {"x": 1, "y": [1]}, "b": 2});
        let now = json!({"a": {"x": 1, "y": [2]}, "c": 3});
        assert_eq!(
            differences(&before, &now),
            ["a.y was [1], and is [2] now", "b was 2, and is null now", "c was null, and is 3 now"]
        );
        assert_eq!(differences(&before, &before), [""; 0]);
    }

    #[test]
    fn the_host_has_cpus() {
        assert!(host()["cpu_count"].as_u64().unwrap() >= 1);
    }
}
