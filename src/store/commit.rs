//! How a run enters the store, or leaves it, at once.
//!
//! Renames alone cannot replace ten folders together. So everything is staged
//! first; then one rename puts a journal in place, and with it the new state is
//! decided; then the journal is applied. Each of its steps can be done again,
//! and whoever opens the store next does so if the writer died on the way.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::lock::{self, StoreLock};
use super::{disk, manifest};
use crate::raw::RunId;

/// The folder of the journals, in the store.
const JOURNALS: &str = ".journal";

/// The folder of what is not decided yet, in the store: one folder per run.
const STAGING: &str = ".staging";

/// The name of the manifest while it is staged. It is moved last, so where it
/// is still staged the commit is not applied.
pub(super) const STAGED_MANIFEST: &str = "manifest.json";

/// A decided change of one run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    pub run: String,
    pub change: Change,
}

/// What was decided.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Change {
    /// The run consists of these files, and of no others.
    Put(Vec<Move>),
    /// The run is in the store no longer.
    Remove,
}

/// A file's way from the run's staging folder into the store.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Move {
    /// Its name in the staging folder.
    pub staged: String,
    /// Its path in the store, with `/` between its parts.
    pub path: String,
}

/// Where a run is staged.
pub(super) fn staging(root: &Path, run: &str) -> PathBuf {
    root.join(STAGING).join(run)
}

fn journal_path(root: &Path, run: &str) -> PathBuf {
    root.join(JOURNALS).join(format!("{run}.json"))
}

/// Whether a change of the run was decided and is not applied yet.
pub(super) fn is_decided(root: &Path, run: &str) -> Result<bool, StoreError> {
    exists(&journal_path(root, run))
}

/// The runs with a change that was decided and is not applied yet.
pub(super) fn decided(root: &Path) -> Result<Vec<String>, StoreError> {
    let entries = disk::list(&root.join(JOURNALS))?;
    let runs = entries.iter().filter_map(|(name, _)| manifest::run_of(name));
    Ok(runs.map(str::to_owned).collect())
}

/// Finishes the commits whose writers died.
pub(super) fn roll_forward(root: &Path, lock: &StoreLock) -> Result<(), StoreError> {
    let applied = lock.while_alone(|| {
        // Listed under the lock: no living writer's journal is seen.
        decided(root)?.iter().try_for_each(|run| Journal::read(root, run)?.apply(root))
    });
    applied.map_err(|error| match error {
        StoreError::Io { source, .. } if lock::cannot_write(source.kind()) => {
            StoreError::Unfinished { path: root.join(JOURNALS), source }
        }
        other => other,
    })
}

/// Removes what killed writers staged and never decided.
pub(super) fn sweep(root: &Path) -> Result<(), StoreError> {
    let staged = disk::list(&root.join(STAGING))?;
    let runs: Vec<RunId> = staged.iter().filter_map(|(name, _)| RunId::new(name).ok()).collect();
    if runs.is_empty() {
        return Ok(());
    }
    lock::sweep(root, &runs, |run| {
        // Under the run's lock nobody can decide anything about it now.
        if is_decided(root, run.as_str())? {
            return Ok(());
        }
        disk::remove_tree(&staging(root, run.as_str()))
    })
}

impl Journal {
    /// Decides the change and applies it. The caller holds the run's lock.
    ///
    /// The store's lock is taken before anything is decided: so no reader ever
    /// finds a decided commit whose living writer waits for other readers.
    pub fn commit(&self, root: &Path, lock: &StoreLock) -> Result<(), StoreError> {
        lock.while_alone(|| {
            self.decide(root)?;
            self.apply(root)
        })
    }

    fn decide(&self, root: &Path) -> Result<(), StoreError> {
        let journals = root.join(JOURNALS);
        let staging = staging(root, &self.run);
        let draft = staging.join("journal.json");
        let json = serde_json::to_string_pretty(self);
        let json = json.expect("strings can always be written as JSON") + "\n";

        disk::create_dirs(&journals)?;
        disk::write_file(&draft, json.as_bytes())?;
        for folder in [&staging, &root.join(STAGING), root] {
            disk::sync_dir(folder)?;
        }
        disk::rename(&draft, &journal_path(root, &self.run))?;
        disk::sync_dir(&journals)
    }

    fn read(root: &Path, run: &str) -> Result<Self, StoreError> {
        let path = journal_path(root, run);
        let bytes = fs::read(&path).map_err(StoreError::io(&path))?;
        match serde_json::from_slice::<Self>(&bytes) {
            Ok(journal) if journal.run == run => Ok(journal),
            other => {
                let message = match other {
                    Ok(journal) => format!("it names run {}", journal.run),
                    Err(error) => error.to_string(),
                };
                Err(StoreError::Journal { path, run: run.to_owned(), message })
            }
        }
    }

    /// Makes the store what was decided, from wherever an earlier attempt ended.
    fn apply(&self, root: &Path) -> Result<(), StoreError> {
        match &self.change {
            Change::Put(files) => self.put(root, files)?,
            Change::Remove => self.remove(root)?,
        }
        disk::remove_tree(&staging(root, &self.run))?;
        disk::remove_file(&journal_path(root, &self.run))?;
        disk::sync_dir(&root.join(JOURNALS))
    }

    fn put(&self, root: &Path, files: &[Move]) -> Result<(), StoreError> {
        let staging = staging(root, &self.run);
        let staged_manifest = staging.join(STAGED_MANIFEST);
        if !exists(&staged_manifest)? {
            return Ok(());
        }
        disk::remove_file(&manifest::path(root, &self.run))?;
        for Move { staged, path } in files {
            let (from, to) = (staging.join(staged), root.join(path));
            if exists(&from)? {
                let folder = to.parent().unwrap_or(root);
                disk::create_dirs(folder)?;
                disk::rename(&from, &to)?;
            } else if !exists(&to)? {
                return Err(StoreError::Lost {
                    path: journal_path(root, &self.run),
                    run: self.run.clone(),
                    missing: path.clone(),
                });
            }
        }
        self.prune(root, files)?;

        let manifests = root.join(manifest::FOLDER);
        disk::create_dirs(&manifests)?;
        disk::sync_dir(root)?;
        disk::rename(&staged_manifest, &manifest::path(root, &self.run))?;
        disk::sync_dir(&manifests)
    }

    fn remove(&self, root: &Path) -> Result<(), StoreError> {
        disk::remove_file(&manifest::path(root, &self.run))?;
        disk::sync_dir(&root.join(manifest::FOLDER))?;
        self.prune(root, &[])?;
        disk::sync_dir(root)
    }

    /// Removes what the run has in the store beside `keep`, in whatever table,
    /// and waits until the disk has what is left.
    fn prune(&self, root: &Path, keep: &[Move]) -> Result<(), StoreError> {
        for (table, is_dir) in disk::list(root)? {
            if !is_dir || table.starts_with('.') || table == manifest::FOLDER {
                continue;
            }
            let run = format!("{table}/run={}", self.run);
            for (name, is_dir) in disk::list(&root.join(&run))? {
                let path = format!("{run}/{name}");
                if is_dir {
                    disk::remove_tree(&root.join(&path))?;
                } else if !keep.iter().any(|file| file.path == path) {
                    disk::remove_file(&root.join(&path))?;
                }
            }
            for folder in [root.join(&run), root.join(&table)] {
                disk::remove_empty(&folder)?;
                if exists(&folder)? {
                    disk::sync_dir(&folder)?;
                }
            }
        }
        Ok(())
    }
}

fn exists(path: &Path) -> Result<bool, StoreError> {
    path.try_exists().map_err(StoreError::io(path))
}
