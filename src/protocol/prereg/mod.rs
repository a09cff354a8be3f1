//! Pre-registration: whether the protocol that a run was measured by is the one
//! that was registered before.
//!
//! A repository and a run are asked, nobody is trusted beyond what they say,
//! and what they do not say is a reason to call the matter unproven.

mod commits;
mod error;
mod examiner;
mod files;
mod measured;
mod paths;
mod reason;
mod registered;
#[cfg(test)]
mod tests;
mod utc;

use std::path::Path;

use git2::{Repository, RepositoryOpenFlags};
use serde::Serialize;

pub use commits::Between;
pub use error::PreregError;
pub use files::{Change, FileChange, Hunk, PathState};
pub use measured::{Measurement, ResumeEntry, Start, StartBasis};
pub use reason::{Effect, Reason, ResumeGap, Verdict};
pub use registered::{Kind, Registered, SignatureForm};
pub use utc::utc;

use commits::History;
use examiner::Examiner;
use paths::Paths;

/// What is to be examined.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// The repository, bare or not, or a folder in its work tree.
    pub repository: &'a Path,
    /// The tag or commit that the protocol was registered by.
    pub reference: &'a str,
    /// The commit that the tag was set on, where the protocol records it; the
    /// first digits of its id are enough.
    pub commit: Option<&'a str>,
    /// The protocol's files and folders, from the top of the repository.
    pub paths: &'a [String],
    /// What the run recorded; without it, HEAD is compared and nothing proven.
    pub run: Option<&'a Measurement>,
}

/// What an examination found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Examination {
    /// What it comes to.
    pub verdict: Verdict,
    /// Why, and what else to know.
    pub reasons: Vec<Reason>,
    /// The run's id.
    pub run: Option<String>,
    /// Whether the repository has no work tree.
    pub bare: bool,
    /// Whether the repository is cut off at some depth.
    pub shallow: bool,
    /// The tag or commit as asked for.
    pub reference: String,
    /// What it is; `None` where a shallow clone does not have it.
    pub registered: Option<Registered>,
    /// The measured commit, as far as it is known: its full id where the
    /// repository has it.
    pub measured: Option<String>,
    /// Whether the measured work tree had changes that were not committed.
    pub dirty: Option<bool>,
    /// Whether the registered commit is an ancestor of the measured one, or it
    /// itself; `None` where that cannot be seen.
    pub ancestor: Option<bool>,
    /// When measuring began.
    pub start: Option<Start>,
    /// Whether the registration is older; `None` where a time is missing.
    pub before: Option<bool>,
    /// Each of the protocol's paths, with how it fares.
    pub paths: Vec<ProtocolPath>,
    /// The files that differ; `None` where a commit is missing.
    pub files: Option<Vec<FileChange>>,
    /// The commits that the measured one has and the registered one has not,
    /// older ones first; `None` where either is missing.
    pub commits: Option<Vec<Between>>,
    /// The `resumed` entries of the run.
    pub resumed: Vec<Resume>,
}

/// One of the protocol's paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProtocolPath {
    /// The path; empty for the whole repository.
    pub path: String,
    /// How it fares; `None` where a commit is missing.
    #[serde(flatten)]
    pub state: Option<PathState>,
}

/// A `resumed` entry of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Resume {
    /// The entry, as JSON text.
    pub entry: String,
    /// When, in unix seconds.
    pub time: Option<f64>,
    /// The commit that it names: its full id where the repository has it.
    pub commit: Option<String>,
    /// Whether the work tree had changes that were not committed.
    pub dirty: Option<bool>,
    /// Whether a path of the protocol differs from the registered; `None` where
    /// that cannot be seen.
    pub changed: Option<bool>,
    /// The files that differ.
    pub files: Vec<FileChange>,
}

/// Whether a text can be a path of a repository: from its top, without `..`.
pub fn is_path(text: &str) -> bool {
    Paths::new(&[text.to_owned()]).is_ok()
}

/// Examines a registration.
///
/// # Errors
/// If the repository cannot be opened or read, the tag or commit is not in it,
/// or the paths cannot be any repository's.
pub fn examine(claim: &Claim<'_>) -> Result<Examination, PreregError> {
    let paths = Paths::new(claim.paths)?;
    let repo = open(claim.repository)?;
    let registered = registered::find(&repo, claim.reference)?;
    let history = History::new(&repo);
    Examiner { repo: &repo, history, paths, registered, reasons: Vec::new() }.examine(claim)
}

/// Opens a repository from anywhere in its work tree, by its own settings and
/// not the environment's.
fn open(path: &Path) -> Result<Repository, PreregError> {
    let nowhere = std::iter::empty::<&std::ffi::OsStr>();
    Repository::open_ext(path, RepositoryOpenFlags::empty(), nowhere)
        .map_err(|cause| PreregError::opening(path, cause))
}
