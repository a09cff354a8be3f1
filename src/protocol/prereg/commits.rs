//! The commits between the registration and the measurement.

use std::collections::{BTreeSet, HashSet};

use git2::{Commit, DiffOptions, Oid, Repository, Sort, Tree};
use serde::Serialize;

use super::error::PreregError;
use super::files::text;
use super::paths::Paths;

/// A commit that the measured one has and the registered one has not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Between {
    /// Its id.
    pub commit: String,
    /// When it was committed, in unix seconds.
    pub time: i64,
    /// The first line of its message.
    pub summary: String,
    /// The files that it touched: of a merge, those that are as in none of its
    /// parents. `None` where a shallow clone does not have its parents.
    pub paths: Option<Vec<String>>,
    /// Those of them that are the protocol's.
    pub protocol_paths: Vec<String>,
}

/// How the registered commit stands to the measured one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ancestry {
    /// It is one of its ancestors, or it itself.
    Ancestor,
    /// It comes after it.
    Descendant,
    /// Neither.
    Apart,
    /// The clone is cut off before that could be seen.
    Unseen,
}

/// A repository's history, with the commits at which a shallow clone ends.
pub(super) struct History<'r> {
    repo: &'r Repository,
    cut: HashSet<Oid>,
}

impl<'r> History<'r> {
    pub(super) fn new(repo: &'r Repository) -> Self {
        let cut = if repo.is_shallow() {
            let file = repo.commondir().join("shallow");
            let text = std::fs::read_to_string(file).unwrap_or_default();
            text.lines().filter_map(|line| Oid::from_str(line.trim()).ok()).collect()
        } else {
            HashSet::new()
        };
        Self { repo, cut }
    }

    /// Whether the registered commit is an ancestor of the measured one.
    pub(super) fn ancestry(&self, registered: Oid, measured: Oid) -> Result<Ancestry, PreregError> {
        let descends = |commit, ancestor| {
            self.repo
                .graph_descendant_of(commit, ancestor)
                .map_err(PreregError::git(format!("looking for {ancestor} before {commit}")))
        };
        Ok(if registered == measured || descends(measured, registered)? {
            Ancestry::Ancestor
        } else if descends(registered, measured)? {
            Ancestry::Descendant
        } else if self.is_cut_behind(measured)? {
            Ancestry::Unseen
        } else {
            Ancestry::Apart
        })
    }

    /// Whether a commit's history leads to where the clone ends.
    fn is_cut_behind(&self, commit: Oid) -> Result<bool, PreregError> {
        if self.cut.is_empty() {
            return Ok(false);
        }
        let look = || -> Result<bool, git2::Error> {
            let mut walk = self.repo.revwalk()?;
            walk.push(commit)?;
            for id in walk {
                if self.cut.contains(&id?) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        look().map_err(PreregError::git(format!("reading the history of {commit}")))
    }

    /// The commits that `to` has and `from` has not, older ones first, each with
    /// what it touched.
    pub(super) fn between(
        &self,
        from: Oid,
        to: Oid,
        paths: &Paths,
    ) -> Result<Vec<Between>, PreregError> {
        let read = || -> Result<Vec<Between>, git2::Error> {
            let mut walk = self.repo.revwalk()?;
            walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME | Sort::REVERSE)?;
            walk.push(to)?;
            walk.hide(from)?;
            walk.map(|id| self.describe(&self.repo.find_commit(id?)?, paths)).collect()
        };
        read().map_err(PreregError::git(format!("reading the commits from {from} to {to}")))
    }

    fn describe(&self, commit: &Commit<'_>, paths: &Paths) -> Result<Between, git2::Error> {
        let touched = self.touched(commit)?;
        let protocol_paths =
            touched.iter().flatten().filter(|path| paths.contain(path)).cloned().collect();
        let summary = commit.summary_bytes().unwrap_or_default();
        Ok(Between {
            commit: commit.id().to_string(),
            time: commit.time().seconds(),
            summary: String::from_utf8_lossy(summary).into_owned(),
            paths: touched.map(|paths| paths.into_iter().collect()),
            protocol_paths,
        })
    }

    /// The files in which a commit differs from each of its parents.
    fn touched(&self, commit: &Commit<'_>) -> Result<Option<BTreeSet<String>>, git2::Error> {
        if self.cut.contains(&commit.id()) {
            return Ok(None);
        }
        let tree = commit.tree()?;
        if commit.parent_count() == 0 {
            return self.differing(None, &tree).map(Some);
        }
        let mut touched: Option<BTreeSet<String>> = None;
        for parent in commit.parents() {
            let differing = self.differing(Some(&parent.tree()?), &tree)?;
            touched = Some(match touched {
                None => differing,
                Some(touched) => &touched & &differing,
            });
        }
        Ok(touched)
    }

    fn differing(
        &self,
        old: Option<&Tree<'_>>,
        new: &Tree<'_>,
    ) -> Result<BTreeSet<String>, git2::Error> {
        let mut options = DiffOptions::new();
        options.skip_binary_check(true);
        let diff = self.repo.diff_tree_to_tree(old, Some(new), Some(&mut options))?;
        let sides = diff.deltas().flat_map(|delta| [delta.old_file(), delta.new_file()]);
        Ok(sides.filter_map(|side| side.path().map(text)).collect())
    }
}
