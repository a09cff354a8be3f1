//! What differs between two commits, restricted to the protocol's paths.

use std::path::Path;

use git2::{Commit, Delta, Diff, DiffFindOptions, DiffOptions, Patch, Repository, Tree};
use serde::Serialize;

use super::error::PreregError;
use super::paths::{Paths, inside};

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// Its content or mode is another.
    Modified,
    /// It is elsewhere, perhaps with other content.
    Renamed,
    /// It is a link or a submodule now, or was one.
    Retyped,
}

impl Change {
    /// As it is written in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Deleted => "deleted",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
            Self::Retyped => "retyped",
        }
    }
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileChange {
    /// What became of it.
    pub change: Change,
    /// Its path at the registered commit; `None` if it is new.
    pub old_path: Option<String>,
    /// Its path at the other commit; `None` if it is gone.
    pub new_path: Option<String>,
    /// Its mode before, as git writes it (octal).
    pub old_mode: Option<String>,
    /// Its mode after.
    pub new_mode: Option<String>,
    /// Whether its content is no text; then there are no hunks.
    pub binary: bool,
    /// Lines that are new.
    pub added: usize,
    /// Lines that are gone.
    pub deleted: usize,
    /// Where, with three lines around each.
    pub hunks: Vec<Hunk>,
}

impl FileChange {
    /// Its path, or both where it has two.
    pub fn path(&self) -> String {
        match (&self.old_path, &self.new_path) {
            (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
            (_, Some(path)) | (Some(path), None) => path.clone(),
            (None, None) => String::new(),
        }
    }
}

/// A place where a file differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hunk {
    /// First line before, from 1; 0 where there is none.
    pub old_start: u32,
    /// Number of lines before.
    pub old_lines: u32,
    /// First line after, from 1; 0 where there is none.
    pub new_start: u32,
    /// Number of lines after.
    pub new_lines: u32,
    /// The lines, each after `+`, `-` or a space.
    pub lines: Vec<String>,
}

/// How one of the protocol's paths fares between two commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "state")]
pub enum PathState {
    /// The same at both.
    Same,
    /// The same, but at another place.
    Moved {
        /// Where it was at the registered commit.
        from: String,
        /// Where it is at the other.
        to: String,
    },
    /// Something in it differs.
    Differs,
    /// It is at neither: nothing can be said of it.
    Missing,
}

/// What differs between two commits in the protocol's paths.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Comparison {
    /// The files, by path.
    pub(super) files: Vec<FileChange>,
    /// Each of the paths.
    pub(super) paths: Vec<(String, PathState)>,
}

impl Comparison {
    /// Whether any path differs.
    pub(super) fn differs(&self) -> bool {
        self.paths.iter().any(|(_, state)| *state == PathState::Differs)
    }
}

/// Compares two commits in the protocol's paths.
pub(super) fn compare(
    repo: &Repository,
    old: &Commit<'_>,
    new: &Commit<'_>,
    paths: &Paths,
) -> Result<Comparison, PreregError> {
    let doing = || format!("comparing {} with {}", old.id(), new.id());
    let between = || -> Result<Comparison, git2::Error> {
        let (old, new) = (old.tree()?, new.tree()?);
        let files = changes(repo, &old, &new, paths)?;
        let paths = paths
            .iter()
            .map(|path| (path.to_owned(), path_state(&old, &new, path, &files)))
            .collect();
        Ok(Comparison { files, paths })
    };
    between().map_err(|cause| PreregError::Git { doing: doing(), cause })
}

/// The files that differ and were, or are, under the paths.
fn changes(
    repo: &Repository,
    old: &Tree<'_>,
    new: &Tree<'_>,
    paths: &Paths,
) -> Result<Vec<FileChange>, git2::Error> {
    // Everything is compared and then filtered: under a pathspec, a file that
    // leaves a path is deleted and no rename.
    let mut options = DiffOptions::new();
    options.include_typechange(true).context_lines(3).interhunk_lines(0);
    let mut diff = repo.diff_tree_to_tree(Some(old), Some(new), Some(&mut options))?;
    diff.find_similar(Some(DiffFindOptions::new().renames(true)))?;
    let mut files = Vec::new();
    for index in 0..diff.deltas().len() {
        let Some(delta) = diff.get_delta(index) else { continue };
        let sides = [delta.old_file(), delta.new_file()];
        let is_protocol =
            sides.iter().filter_map(|side| side.path()).any(|path| paths.contain(&text(path)));
        if is_protocol && let Some(change) = change_of(delta.status()) {
            files.push(file_change(&diff, index, change)?);
        }
    }
    files.sort_by_key(FileChange::path);
    Ok(files)
}

fn change_of(delta: Delta) -> Option<Change> {
    Some(match delta {
        Delta::Added | Delta::Copied => Change::Added,
        Delta::Deleted => Change::Deleted,
        Delta::Modified => Change::Modified,
        Delta::Renamed => Change::Renamed,
        Delta::Typechange => Change::Retyped,
        // Of work trees only.
        Delta::Unmodified
        | Delta::Ignored
        | Delta::Untracked
        | Delta::Unreadable
        | Delta::Conflicted => return None,
    })
}

fn file_change(diff: &Diff<'_>, index: usize, change: Change) -> Result<FileChange, git2::Error> {
    let patch = Patch::from_diff(diff, index)?;
    // Asked after the patch was made, which is what looks into the content.
    let delta = diff.get_delta(index);
    let mut file = FileChange {
        change,
        old_path: None,
        new_path: None,
        old_mode: None,
        new_mode: None,
        binary: delta.as_ref().is_some_and(|delta| delta.flags().is_binary()),
        added: 0,
        deleted: 0,
        hunks: Vec::new(),
    };
    if let Some(delta) = delta {
        let side = |file: git2::DiffFile<'_>, is_there: bool| {
            let path = file.path().filter(|_| is_there)?;
            Some((text(path), format!("{:06o}", u32::from(file.mode()))))
        };
        let old = side(delta.old_file(), change != Change::Added);
        let new = side(delta.new_file(), change != Change::Deleted);
        (file.old_path, file.old_mode) = old.unzip();
        (file.new_path, file.new_mode) = new.unzip();
    }
    if let Some(patch) = patch {
        let (_, added, deleted) = patch.line_stats()?;
        (file.added, file.deleted) = (added, deleted);
        file.hunks =
            (0..patch.num_hunks()).map(|index| hunk(&patch, index)).collect::<Result<_, _>>()?;
    }
    Ok(file)
}

fn hunk(patch: &Patch<'_>, index: usize) -> Result<Hunk, git2::Error> {
    let (hunk, count) = patch.hunk(index)?;
    let lines = (0..count)
        .map(|line| {
            let line = patch.line_in_hunk(index, line)?;
            let content = String::from_utf8_lossy(line.content());
            Ok(match line.origin() {
                // What git says of a missing newline has no sign of its own.
                '=' | '>' | '<' => content.trim().to_owned(),
                sign => format!("{sign}{}", content.strip_suffix('\n').unwrap_or(&content)),
            })
        })
        .collect::<Result<_, git2::Error>>()?;
    Ok(Hunk {
        old_start: hunk.old_start(),
        old_lines: hunk.old_lines(),
        new_start: hunk.new_start(),
        new_lines: hunk.new_lines(),
        lines,
    })
}

fn path_state(old: &Tree<'_>, new: &Tree<'_>, path: &str, files: &[FileChange]) -> PathState {
    match (entry(old, path), entry(new, path)) {
        (Some(old), Some(new)) if old == new => PathState::Same,
        (Some(_), Some(_)) => PathState::Differs,
        (None, None) => PathState::Missing,
        (Some(was), None) => renames(files)
            .find_map(|(from, to)| {
                let to = to.strip_suffix(inside(path, from)?)?;
                let moved = PathState::Moved { from: path.to_owned(), to: to.to_owned() };
                (entry(new, to)? == was).then_some(moved)
            })
            .unwrap_or(PathState::Differs),
        (None, Some(is)) => renames(files)
            .find_map(|(from, to)| {
                let from = from.strip_suffix(inside(path, to)?)?;
                let moved = PathState::Moved { from: from.to_owned(), to: path.to_owned() };
                (entry(old, from)? == is).then_some(moved)
            })
            .unwrap_or(PathState::Differs),
    }
}

/// The files that moved, as (from, to).
fn renames(files: &[FileChange]) -> impl Iterator<Item = (&str, &str)> {
    files
        .iter()
        .filter(|file| file.change == Change::Renamed)
        .filter_map(|file| Some((file.old_path.as_deref()?, file.new_path.as_deref()?)))
}

/// What a tree has at a path: its id, which stands for the content of all that
/// is in it, and its mode.
fn entry(tree: &Tree<'_>, path: &str) -> Option<(git2::Oid, i32)> {
    if path.is_empty() {
        return Some((tree.id(), 0));
    }
    let entry = tree.get_path(Path::new(path)).ok()?;
    Some((entry.id(), entry.filemode()))
}

/// A path of the repository as text.
pub(super) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
