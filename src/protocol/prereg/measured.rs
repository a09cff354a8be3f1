//! What a run says of the commit that it was measured at.

use git2::{Commit, ErrorCode, Repository};
use serde::Serialize;
use serde_json::Value;

use super::error::PreregError;

/// What a run recorded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measurement {
    /// The run's id, for messages.
    pub run: String,
    /// The commit; the first digits of its id are enough.
    pub commit: Option<String>,
    /// Whether the work tree had changes that were not committed.
    pub dirty: Option<bool>,
    /// What `git describe` said there.
    pub describe: Option<String>,
    /// When measuring began.
    pub start: Option<Start>,
    /// The `resumed` entries, each as JSON text.
    pub resumed: Vec<String>,
}

/// When measuring began.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Start {
    /// Unix seconds.
    pub time: f64,
    /// What happened then.
    pub basis: StartBasis,
}

/// What a run's start is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StartBasis {
    /// The first request of the run.
    Request,
    /// The first event of the run.
    Event,
    /// The environment was recorded: what comes before any request.
    Environment,
}

impl StartBasis {
    /// As it is written in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "first request",
            Self::Event => "first event",
            Self::Environment => "environment recorded",
        }
    }
}

impl Measurement {
    /// Whether the work tree was dirty; `git describe` may know where the run
    /// does not say.
    pub(super) fn is_dirty(&self) -> Option<bool> {
        let described = self.describe.as_ref().is_some_and(|text| text.ends_with("-dirty"));
        if described { Some(true) } else { self.dirty }
    }
}

/// What `git describe` said: the nearest tag, and how many commits back it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Described<'a> {
    pub(super) tag: &'a str,
    pub(super) commits: usize,
}

impl<'a> Described<'a> {
    /// Reads `TAG-COMMITS-gHEX`, or `TAG` alone where the tag is the commit.
    pub(super) fn parse(text: &'a str) -> Self {
        let text = text.strip_suffix("-dirty").unwrap_or(text);
        let long = || {
            let (rest, id) = text.rsplit_once("-g")?;
            let (tag, commits) = rest.rsplit_once('-')?;
            let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            Some(Self { tag, commits: commits.parse().ok().filter(|_| is_id)? })
        };
        long().unwrap_or(Self { tag: text, commits: 0 })
    }
}

/// What a `resumed` entry says of the state that the run was resumed at.
#[derive(Debug, Default, PartialEq)]
pub struct ResumeEntry {
    /// Unix seconds.
    pub time: Option<f64>,
    /// The commit's id, or the first digits of it.
    pub commit: Option<String>,
    /// Whether the tree differed from the commit.
    pub dirty: Option<bool>,
}

impl ResumeEntry {
    /// Reads an entry: git's state under `git`, or beside the rest.
    pub fn parse(text: &str) -> Self {
        let entry: Value = serde_json::from_str(text).unwrap_or_default();
        let git = entry.get("git").unwrap_or(&Value::Null);
        let find = |pairs: &[(&Value, &str)]| {
            pairs.iter().find_map(|(value, name)| value.get(name)).cloned().unwrap_or_default()
        };
        let commit =
            find(&[(git, "sha"), (&entry, "git_sha"), (&entry, "sha"), (&entry, "commit")]);
        let dirty = find(&[(git, "dirty"), (&entry, "git_dirty"), (&entry, "dirty")]);
        let describe = find(&[(git, "describe"), (&entry, "git_describe")]);
        let is_described_dirty = describe.as_str().is_some_and(|text| text.ends_with("-dirty"));
        let time =
            find(&[(&entry, "t"), (&entry, "at"), (&entry, "resumed_at"), (&entry, "recorded_at")]);
        Self {
            time: time.as_f64(),
            commit: commit.as_str().or(git.as_str()).map(str::to_owned),
            dirty: if is_described_dirty { Some(true) } else { dirty.as_bool() },
        }
    }
}

/// Finds a commit by its id or the first digits of it; `None` where the
/// repository has it not.
pub(super) fn find<'r>(repo: &'r Repository, id: &str) -> Result<Option<Commit<'r>>, PreregError> {
    match repo.find_commit_by_prefix(id) {
        Ok(commit) => Ok(Some(commit)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(cause) => Err(PreregError::BadRef { name: id.to_owned(), cause }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_name_the_tag_and_the_way_from_it() {
        let parse = |text| {
            let described = Described::parse(text);
            (described.tag.to_owned(), described.commits)
        };
        assert_eq!(parse("prereg-v1-26-gd43b538"), ("prereg-v1".into(), 26));
        assert_eq!(parse("prereg-v1-2-gd43b538-dirty"), ("prereg-v1".into(), 2));
        assert_eq!(parse("prereg-v1"), ("prereg-v1".into(), 0));
        assert_eq!(parse("a-2-gxyz"), ("a-2-gxyz".into(), 0));
    }

    #[test]
    fn a_description_can_know_of_dirt() {
        let dirty = |dirty, describe: &str| {
            let describe = Some(describe.to_owned());
            Measurement { dirty, describe, ..Measurement::default() }.is_dirty()
        };
        assert_eq!(dirty(None, "v1-2-gabc-dirty"), Some(true));
        assert_eq!(dirty(Some(false), "v1-2-gabc"), Some(false));
        assert_eq!(dirty(None, "v1-2-gabc"), None);
    }

    #[test]
    fn entries_of_several_spellings() {
        let expected =
            ResumeEntry { time: Some(7.5), commit: Some("abc1".into()), dirty: Some(false) };
        for entry in [
            r#"{"t": 7.5, "git": {"sha": "abc1", "dirty": false}}"#,
            r#"{"resumed_at": 7.5, "git_sha": "abc1", "git_dirty": false}"#,
            r#"{"at": 7.5, "git": "abc1", "dirty": false}"#,
        ] {
            assert_eq!(ResumeEntry::parse(entry), expected, "{entry}");
        }
        assert_eq!(ResumeEntry::parse(r#"{"t": 7, "from": "r1"}"#).commit, None);
        assert_eq!(ResumeEntry::parse("resumed by hand"), ResumeEntry::default());
    }
}
