//! The store: derived from run directories, and always to be rebuilt from them.
//!
//! ```text
//! <table>/run=<run id>/part-0.parquet   the rows
//! manifests/<run id>.json               what a run is made of; without one there is no run
//! .staging/ .journal/ .locks/ .lock     what is in flight
//! ```

mod check;
mod commit;
mod disk;
mod error;
pub mod ingest;
mod lock;
mod manifest;
pub mod parquet;
mod pool;
mod requests;
pub mod rows;
pub mod schema;
mod staging;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use check::{CheckReport, Content, Fault, Finding};
pub use error::StoreError;
pub use lock::RunLock;
pub use manifest::{Contents, Manifest, OutputFile, Unreadable};
pub use parquet::writer_properties;
pub use staging::{StagedFile, Staging};

use crate::raw::RunId;
use lock::StoreLock;

/// A handle on a store, with the runs that it had when the handle was made.
///
/// A handle from [`open`](Self::open) or [`inspect`](Self::inspect) keeps
/// writers from changing anything until it is dropped, other than through
/// itself. So whoever reads and writes in one process drops it before writing
/// through another handle, which would wait for it forever.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    lock: Arc<StoreLock>,
    manifests: Vec<Manifest>,
    unreadable: Vec<Unreadable>,
}

impl Store {
    /// A store to write to, made if it is not there. Runs whose manifest cannot
    /// be read are [kept apart](Self::unreadable): ingesting them rebuilds them.
    ///
    /// Finishes the commits of writers that were killed, and removes what they
    /// had not decided.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn create(root: &Path) -> Result<Self, StoreError> {
        disk::create_dirs(root)?;
        let lock = StoreLock::new(root);
        if !commit::decided(root)?.is_empty() {
            commit::roll_forward(root, &lock)?;
        }
        commit::sweep(root)?;
        let (manifests, unreadable) = lock.while_shared(|| manifest::read_all(root))?;
        Ok(Self { root: root.to_owned(), lock: Arc::new(lock), manifests, unreadable })
    }

    /// A store to read.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoStore`] where nothing was ingested; what is wrong with
    /// the first manifest that cannot be read; or where the disk refuses.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        let mut store = Self::inspect(root)?;
        if store.unreadable.is_empty() {
            return Ok(store);
        }
        Err(store.unreadable.swap_remove(0).error)
    }

    /// A store to check or to remove runs from: like [`open`](Self::open), but
    /// runs whose manifest cannot be read are [kept apart](Self::unreadable).
    ///
    /// # Errors
    ///
    /// [`StoreError::NoStore`] where nothing was ingested, or where the disk
    /// refuses.
    pub fn inspect(root: &Path) -> Result<Self, StoreError> {
        // Looked at first, so that no lock file is left where no store is.
        let is_store = root.is_dir()
            && (root.join(manifest::FOLDER).is_dir() || !commit::decided(root)?.is_empty());
        if !is_store {
            return Err(StoreError::NoStore(root.to_owned()));
        }
        let lock = StoreLock::new(root);
        lock.share()?;
        while !commit::decided(root)?.is_empty() {
            commit::roll_forward(root, &lock)?;
        }
        let (manifests, unreadable) = manifest::read_all(root)?;
        Ok(Self { root: root.to_owned(), lock: Arc::new(lock), manifests, unreadable })
    }

    /// Whom to tell before a commit waits for those who read the store meanwhile, which
    /// takes as long as they do.
    pub fn when_waiting(&self, tell: fn()) {
        self.lock.when_waiting(tell);
    }

    /// The folder of the store.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What each run is made of, sorted by run id.
    pub fn manifests(&self) -> &[Manifest] {
        &self.manifests
    }

    /// The runs whose manifest cannot be read, sorted by run id.
    pub fn unreadable(&self) -> &[Unreadable] {
        &self.unreadable
    }

    /// The manifest of the run with exactly this id.
    pub fn manifest(&self, run: &str) -> Option<&Manifest> {
        self.manifests.iter().find(|manifest| manifest.run == run)
    }

    /// The one run that has `name` in its id, or as its id.
    ///
    /// # Errors
    ///
    /// As [`find_id`](Self::find_id), and where its manifest cannot be read.
    pub fn find_run(&self, name: &str) -> Result<&Manifest, StoreError> {
        let id = self.find_id(name)?;
        self.manifest(id).ok_or_else(|| {
            let mut unreadable = self.unreadable.iter();
            let reason =
                unreadable.find(|entry| entry.run == id).map(|entry| entry.error.to_string());
            StoreError::Unreadable(reason.unwrap_or_default())
        })
    }

    /// The id of the one run that has `name` in its id, or as its id, whether
    /// or not its manifest can be read.
    ///
    /// # Errors
    ///
    /// Where there is no such run, or more than one; the error lists them.
    pub fn find_id(&self, name: &str) -> Result<&str, StoreError> {
        let readable = self.manifests.iter().map(|manifest| manifest.run.as_str());
        let mut ids: Vec<&str> =
            readable.chain(self.unreadable.iter().map(|entry| entry.run.as_str())).collect();
        ids.sort_unstable();
        if let Some(id) = ids.iter().find(|id| **id == name) {
            return Ok(id);
        }
        // Every id has the empty text in it, and nobody means that.
        if name.is_empty() {
            ids.clear();
        }
        let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        let matches: Vec<&str> = ids.iter().copied().filter(|id| id.contains(name)).collect();
        match matches.as_slice() {
            [id] => Ok(id),
            [] => Err(StoreError::NoMatch { name: name.to_owned(), runs: owned(&ids) }),
            many => Err(StoreError::Ambiguous { name: name.to_owned(), runs: owned(many) }),
        }
    }

    /// Takes the right to write a run, and says what the store holds of it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Busy`] where somebody else has it, or where the disk refuses.
    pub fn lock_run(&self, run: &RunId) -> Result<RunLock, StoreError> {
        let mut lock = RunLock::try_take(&self.root, run)?;
        // Its writer may have died since this handle was made.
        if commit::is_decided(&self.root, run.as_str())? {
            commit::roll_forward(&self.root, &self.lock)?;
        }
        lock.manifest = Manifest::read_replaceable(&self.root, run.as_str())?;
        Ok(lock)
    }

    /// Begins to write a run.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn stage(&self, lock: RunLock) -> Result<Staging, StoreError> {
        Staging::new(self.root.clone(), Arc::clone(&self.lock), lock)
    }

    /// Takes a run out of the store, also one whose manifest cannot be read.
    /// Waits until nobody else reads the store. This handle goes on listing it.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoMatch`] where there is no such run, [`StoreError::Busy`]
    /// where it is being written, or where the disk refuses.
    pub fn remove(&self, run: &RunId) -> Result<(), StoreError> {
        let lock = self.lock_run(run)?;
        let path = manifest::path(&self.root, run.as_str());
        if !path.try_exists().map_err(StoreError::io(&path))? {
            let runs = self.manifests.iter().map(|manifest| manifest.run.clone()).collect();
            return Err(StoreError::NoMatch { name: run.to_string(), runs });
        }
        self.stage(lock)?.commit_removal()
    }

    /// Hashes the files of the runs with these ids, or of all, and compares them
    /// with the manifests as they are now.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoMatch`] where there is no such run, or where the disk
    /// refuses to read. What is wrong with the store is in the report.
    pub fn check(&self, runs: Option<&[String]>) -> Result<CheckReport, StoreError> {
        self.lock.while_shared(|| check::check(&self.root, runs))
    }
}
