//! Why a verdict is what it is: a closed set of reasons.

use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::measured::{Start, StartBasis};
use super::utc::utc;

/// Whether the protocol was frozen before it was measured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It was, as far as the repository and the run can show.
    Frozen,
    /// It is another one than was registered.
    Changed,
    /// It may have been: something that it takes cannot be shown.
    Unproven,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Frozen => "frozen",
            Self::Changed => "changed",
            Self::Unproven => "unproven",
        })
    }
}

/// What a reason does to the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// The protocol changed.
    Changed,
    /// It cannot be shown that it did not.
    Unproven,
    /// Nothing, but whoever goes by the verdict should know.
    Caveat,
}

/// One reason.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// Paths differ between the registered and the measured commit.
    ProtocolChanged { paths: Vec<String> },
    /// The run was resumed at a commit where paths differ from the registered.
    ResumeChanged { commit: String, paths: Vec<String> },
    /// A shallow clone does not have the tag or commit.
    RegistrationUnseen { name: String },
    /// No run was named.
    NoRun,
    /// The run does not say at which commit it was measured.
    NoCommit,
    /// The repository does not have the measured commit.
    CommitUnseen { commit: String, shallow: bool },
    /// The measured work tree had changes that were not committed.
    Dirty,
    /// The run does not say whether it had.
    DirtUnknown,
    /// A path is at neither commit.
    PathMissing { path: String },
    /// The registered commit is not an ancestor of the measured one.
    NotAncestor { comes_after: bool },
    /// A shallow clone cannot show whether it is.
    AncestryUnseen,
    /// The registration has no time.
    NoTime,
    /// The run does not say when it began.
    NoStart,
    /// The registration is not older than the run.
    NotBefore { registered: i64, start: Start },
    /// The tag was at another place when the run was measured.
    TagMoved { was: String, is: String },
    /// It cannot be said whether the run was resumed at the same protocol.
    ResumeUnknown { number: usize, why: ResumeGap },
    /// A lightweight tag has no time of its own.
    LightweightTag,
    /// A commit has no more than its own time.
    BareCommit,
    /// The name follows a branch.
    NameMoves { name: String },
    /// A path is the same at another place.
    PathMoved { from: String, to: String },
    /// The protocol was changed after the registration, and put back.
    PutBack { commits: usize },
    /// `git describe` should have named the tag when the run was measured.
    NotDescribed { described: String, commits: usize },
    /// The run's start is known by something else than its first request.
    StartByOther { basis: StartBasis },
}

/// What is not known of a `resumed` entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResumeGap {
    /// It names no commit.
    NoCommit,
    /// The repository does not have the commit.
    CommitUnseen(String),
    /// The work tree was dirty.
    Dirty,
    /// It does not say whether the work tree was dirty.
    DirtUnknown,
}

impl Reason {
    /// What it does to the verdict.
    pub fn effect(&self) -> Effect {
        match self {
            Self::ProtocolChanged { .. } | Self::ResumeChanged { .. } => Effect::Changed,
            Self::RegistrationUnseen { .. }
            | Self::NoRun
            | Self::NoCommit
            | Self::CommitUnseen { .. }
            | Self::Dirty
            | Self::DirtUnknown
            | Self::PathMissing { .. }
            | Self::NotAncestor { .. }
            | Self::AncestryUnseen
            | Self::NoTime
            | Self::NoStart
            | Self::NotBefore { .. }
            | Self::TagMoved { .. }
            | Self::ResumeUnknown { .. } => Effect::Unproven,
            Self::LightweightTag
            | Self::BareCommit
            | Self::NameMoves { .. }
            | Self::PathMoved { .. }
            | Self::PutBack { .. }
            | Self::NotDescribed { .. }
            | Self::StartByOther { .. } => Effect::Caveat,
        }
    }

    /// Its name, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ProtocolChanged { .. } => "protocol_changed",
            Self::ResumeChanged { .. } => "resume_changed",
            Self::RegistrationUnseen { .. } => "registration_unseen",
            Self::NoRun => "no_run",
            Self::NoCommit => "no_commit",
            Self::CommitUnseen { .. } => "commit_unseen",
            Self::Dirty => "dirty",
            Self::DirtUnknown => "dirt_unknown",
            Self::PathMissing { .. } => "path_missing",
            Self::NotAncestor { .. } => "not_ancestor",
            Self::AncestryUnseen => "ancestry_unseen",
            Self::NoTime => "no_time",
            Self::NoStart => "no_start",
            Self::NotBefore { .. } => "not_before",
            Self::TagMoved { .. } => "tag_moved",
            Self::ResumeUnknown { .. } => "resume_unknown",
            Self::LightweightTag => "lightweight_tag",
            Self::BareCommit => "bare_commit",
            Self::NameMoves { .. } => "name_moves",
            Self::PathMoved { .. } => "path_moved",
            Self::PutBack { .. } => "put_back",
            Self::NotDescribed { .. } => "not_described",
            Self::StartByOther { .. } => "start_by_other",
        }
    }

    /// The verdict that reasons come to.
    pub fn verdict(reasons: &[Self]) -> Verdict {
        let any = |effect| reasons.iter().any(|reason| reason.effect() == effect);
        if any(Effect::Changed) {
            Verdict::Changed
        } else if any(Effect::Unproven) {
            Verdict::Unproven
        } else {
            Verdict::Frozen
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProtocolChanged { paths } => {
                write!(f, "{} between the registered and the measured commit", differ(paths))
            }
            Self::ResumeChanged { commit, paths } => {
                write!(
                    f,
                    "the run was resumed at {commit}, where {} from the registered",
                    differ(paths)
                )
            }
            Self::RegistrationUnseen { name } => write!(
                f,
                "this clone is shallow and does not have `{name}`: git fetch --unshallow --tags"
            ),
            Self::NoRun => f.write_str(
                "no run was named, so nothing was measured that the registration could precede; \
                 compared with HEAD",
            ),
            Self::NoCommit => f.write_str("the run does not say at which commit it was measured"),
            Self::CommitUnseen { commit, shallow: false } => {
                write!(f, "the measured commit {commit} is not in this repository")
            }
            Self::CommitUnseen { commit, shallow: true } => write!(
                f,
                "this clone is shallow and does not have the measured commit {commit}: \
                 git fetch --unshallow"
            ),
            Self::Dirty => f.write_str(
                "the work tree had changes that were not committed when the run was measured",
            ),
            Self::DirtUnknown => {
                f.write_str("the run does not say whether all changes were committed")
            }
            Self::PathMissing { path } => {
                write!(f, "`{path}` is neither at the registered nor at the measured commit")
            }
            Self::NotAncestor { comes_after: true } => {
                f.write_str("the registered commit comes after the measured one, not before it")
            }
            Self::NotAncestor { comes_after: false } => {
                f.write_str("the registered commit is not an ancestor of the measured one")
            }
            Self::AncestryUnseen => f.write_str(
                "this clone is shallow and ends before it could show whether the registered commit \
                 is an ancestor of the measured one: git fetch --unshallow",
            ),
            Self::NoTime => f.write_str("the tag names no tagger, and so no time"),
            Self::NoStart => f.write_str("the run does not say when it began"),
            Self::NotBefore { registered, start } => write!(
                f,
                "registered at {}, which is not before the run began at {} ({})",
                utc(*registered),
                utc(start.time.floor() as i64),
                start.basis.name()
            ),
            Self::TagMoved { was, is } => {
                write!(f, "the tag was moved: it was {was}, and is {is}")
            }
            Self::ResumeUnknown { number, why } => {
                write!(f, "resumed entry {number} {why}: it may have changed the protocol")
            }
            Self::LightweightTag => f.write_str(
                "a lightweight tag proves less: it has no time of its own, the one shown is its \
                 commit's, and nothing says when or by whom it was set",
            ),
            Self::BareCommit => f.write_str(
                "a commit proves less than a tag: the time shown is the committer's own, and \
                 nothing says that it was meant as the registration before the data existed",
            ),
            Self::NameMoves { name } => {
                write!(f, "`{name}` moves as commits are added: name the commit itself")
            }
            Self::PathMoved { from, to } => {
                write!(f, "`{from}` is at `{to}` in the measured commit, its content the same")
            }
            Self::PutBack { commits } => write!(
                f,
                "{} changed the protocol after the registration, and it was put back before the \
                 run was measured",
                counted(*commits, "commit")
            ),
            Self::NotDescribed { described, commits } => write!(
                f,
                "`git describe` said `{described}` when the run was measured, though the tag is \
                 only {} back: it was not there yet, or not annotated",
                counted(*commits, "commit")
            ),
            Self::StartByOther { basis } => write!(
                f,
                "the time of the first request is not recorded: the run's start is taken from {}",
                match basis {
                    StartBasis::Request => "its first request",
                    StartBasis::Event => "its first event",
                    StartBasis::Environment => "when its environment was recorded",
                }
            ),
        }
    }
}

impl fmt::Display for ResumeGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommit => f.write_str("names no commit"),
            Self::CommitUnseen(commit) => {
                write!(f, "names commit {commit}, which is not in this repository")
            }
            Self::Dirty => f.write_str("was made with changes that were not committed"),
            Self::DirtUnknown => f.write_str("does not say whether all changes were committed"),
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Reason", 3)?;
        fields.serialize_field("code", self.code())?;
        fields.serialize_field("effect", &self.effect())?;
        fields.serialize_field("text", &self.to_string())?;
        fields.end()
    }
}

/// The paths with their verb.
fn differ(paths: &[String]) -> String {
    let names: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
    format!("{} {}", names.join(", "), if names.len() == 1 { "differs" } else { "differ" })
}

/// A number of things.
fn counted(number: usize, thing: &str) -> String {
    if number == 1 { format!("one {thing}") } else { format!("{number} {thing}s") }
}
