//! What keeps a registration from being examined at all.

use std::path::{Path, PathBuf};

/// Why a registration cannot be examined. What can be examined and does not
/// come out well is no error but a [`Reason`](super::Reason).
#[derive(Debug, thiserror::Error)]
pub enum PreregError {
    /// No git repository is there, or it cannot be opened.
    #[error("{}: no git repository: {}", path.display(), cause.message())]
    NoRepository {
        /// Where one was looked for.
        path: PathBuf,
        /// What git said.
        cause: git2::Error,
    },
    /// git refuses to read what another user could have prepared.
    #[error(
        "{}: the repository belongs to another user, and git reads such a one only when told to: \
         git config --global --add safe.directory '{}'",
        path.display(),
        path.display()
    )]
    Owner {
        /// The repository.
        path: PathBuf,
    },
    /// The repository has no tag or commit of that name.
    #[error("{}: no tag or commit `{name}`{}", path.display(), did_you_mean(near))]
    UnknownRef {
        /// The repository.
        path: PathBuf,
        /// What was asked for.
        name: String,
        /// The tag that is spelt most alike.
        near: Option<String>,
    },
    /// A name that means more than one thing, or nothing that could be one.
    #[error("`{name}` is not the name of one tag or commit: {}", cause.message())]
    BadRef {
        /// What was asked for.
        name: String,
        /// What git said.
        cause: git2::Error,
    },
    /// A tag of something that has no history.
    #[error("`{name}` is a tag of a {found}: expected one of a commit")]
    NoCommit {
        /// The tag.
        name: String,
        /// What it is of.
        found: &'static str,
    },
    /// A path that cannot be one of a repository.
    #[error("path `{path}`: expected a path from the top of the repository, without `..`")]
    BadPath {
        /// As given.
        path: String,
    },
    /// Nothing to compare.
    #[error(
        "no paths: which files are the protocol? \
         Give --paths, or `paths` in the protocol's [prereg]"
    )]
    NoPaths,
    /// git failed at something else, as on a damaged repository.
    #[error("{doing}: {}", cause.message())]
    Git {
        /// What was being done.
        doing: String,
        /// What git said.
        cause: git2::Error,
    },
}

impl PreregError {
    /// Turns git's error into one that says what was being done.
    pub(super) fn git(doing: impl Into<String>) -> impl FnOnce(git2::Error) -> Self {
        let doing = doing.into();
        move |cause| Self::Git { doing, cause }
    }

    /// Why a repository could not be opened.
    pub(super) fn opening(path: &Path, cause: git2::Error) -> Self {
        if cause.code() == git2::ErrorCode::Owner {
            // The setting is about the folder wherever git is called from.
            Self::Owner { path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()) }
        } else {
            Self::NoRepository { path: path.to_owned(), cause }
        }
    }
}

fn did_you_mean(near: &Option<String>) -> String {
    near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_of_somebody_else_is_told_from_none() {
        let error = |code| git2::Error::new(code, git2::ErrorClass::Config, "not owned");
        let message = |code| PreregError::opening(Path::new("/r"), error(code)).to_string();
        let owner = message(git2::ErrorCode::Owner);
        assert!(owner.contains("another user") && owner.contains("safe.directory '/r'"), "{owner}");
        assert_eq!(message(git2::ErrorCode::NotFound), "/r: no git repository: not owned");
    }
}
