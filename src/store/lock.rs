//! Who may read and who may write.
//!
//! Advisory locks, all gone with the process that held them:
//!
//! - one per run, held by whoever writes it, from before its first staged file
//!   until after its commit;
//! - one for the store, shared by readers, and held alone only while a decided
//!   commit is put in place. A journal is written under it and removed under it,
//!   so whoever sees a journal while holding this lock in any way knows that its
//!   writer died;
//! - one for sweeping, so that whoever looks at what others left behind, run by
//!   run, is not taken for a writer of these runs.
//!
//! Lock files are never removed: a process could be waiting on the removed one.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::disk;
use super::error::StoreError;
use super::manifest::Manifest;
use crate::raw::RunId;

/// The folder of the lock files of runs, in the store.
const FOLDER: &str = ".locks";

/// The lock file of sweeping: no run id starts with a dot.
const SWEEP: &str = ".sweep.lock";

/// The right to write one run. Dropping it gives it back.
#[derive(Debug)]
pub struct RunLock {
    pub(super) run: RunId,
    pub(super) manifest: Option<Manifest>,
    /// Holds the lock for as long as it is open.
    _file: File,
}

impl RunLock {
    /// The run that may be written.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// What the store holds of the run, as of the lock: nobody else can change
    /// it now. None where it holds nothing, or nothing that can be read.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// Takes the lock, if no writer has it.
    pub(super) fn try_take(root: &Path, run: &RunId) -> Result<Self, StoreError> {
        let (path, sweep) = open_in_folder(root, SWEEP)?;
        sweep.lock_shared().map_err(StoreError::io(&path))?;
        Self::try_take_beside_sweep(root, run)
    }

    fn try_take_beside_sweep(root: &Path, run: &RunId) -> Result<Self, StoreError> {
        let (path, file) = open_in_folder(root, &format!("{run}.lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { run: run.clone(), manifest: None, _file: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Busy { run: run.to_string() }),
            Err(TryLockError::Error(source)) => Err(StoreError::Io { path, source }),
        }
    }
}

/// Calls `visit` for each of the runs that nobody writes, under its lock.
pub(super) fn sweep(
    root: &Path,
    runs: &[RunId],
    visit: impl Fn(&RunId) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let (path, sweep) = open_in_folder(root, SWEEP)?;
    sweep.lock().map_err(StoreError::io(&path))?;
    for run in runs {
        match RunLock::try_take_beside_sweep(root, run) {
            Ok(_lock) => visit(run)?,
            Err(StoreError::Busy { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The store's own lock, as one handle on the store holds it.
#[derive(Debug)]
pub(super) struct StoreLock {
    path: PathBuf,
    /// The open file while this handle shares the lock.
    shared: Mutex<Option<File>>,
    /// Told when this handle has to wait for others.
    waits: OnceLock<fn()>,
}

impl StoreLock {
    pub fn new(root: &Path) -> Self {
        Self { path: root.join(".lock"), shared: Mutex::new(None), waits: OnceLock::new() }
    }

    /// Whom to tell before it waits for those who read. The first stays.
    pub fn when_waiting(&self, tell: fn()) {
        let _ = self.waits.set(tell);
    }

    /// Shares the lock until this handle is dropped.
    pub fn share(&self) -> Result<(), StoreError> {
        let mut shared = self.held();
        if shared.is_none() {
            *shared = self.take_shared()?;
        }
        Ok(())
    }

    /// Shares the lock while `body` runs, whether or not this handle does.
    pub fn while_shared<T>(
        &self,
        body: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let _file = self.take_shared()?;
        body()
    }

    /// Holds the lock alone while `body` runs; waits for it. A handle that
    /// shares it lets go for as long, else it would wait for itself.
    pub fn while_alone<T>(
        &self,
        body: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut shared = self.held();
        let shares = shared.take().is_some();
        let result = {
            let file = open(&self.path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    self.waits.get().into_iter().for_each(|tell| tell());
                    file.lock().map_err(StoreError::io(&self.path))?;
                }
                Err(TryLockError::Error(source)) => {
                    return Err(StoreError::Io { path: self.path.clone(), source });
                }
            }
            body()
        };
        if shares {
            *shared = self.take_shared()?;
        }
        result
    }

    /// None on a file system that cannot be written: nobody there can replace
    /// what is being read.
    fn take_shared(&self) -> Result<Option<File>, StoreError> {
        let opened = match File::open(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => open_raw(&self.path),
            other => other,
        };
        match opened {
            Ok(file) => {
                file.lock_shared().map_err(StoreError::io(&self.path))?;
                Ok(Some(file))
            }
            Err(error) if cannot_write(error.kind()) => Ok(None),
            Err(error) => Err(StoreError::io(&self.path)(error)),
        }
    }

    fn held(&self) -> MutexGuard<'_, Option<File>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an error says that nothing can be written there.
pub(super) fn cannot_write(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied)
}

fn open_in_folder(root: &Path, name: &str) -> Result<(PathBuf, File), StoreError> {
    let folder = root.join(FOLDER);
    disk::create_dirs(&folder)?;
    let path = folder.join(name);
    let file = open(&path)?;
    Ok((path, file))
}

fn open(path: &Path) -> Result<File, StoreError> {
    open_raw(path).map_err(StoreError::io(path))
}

fn open_raw(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}
