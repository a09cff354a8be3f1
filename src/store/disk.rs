//! Every change to the disk, so that errors name their path and tests can stop
//! a commit between any two of them.
//!
//! All of these can be repeated: what is gone already counts as removed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use super::error::StoreError;

/// Makes a folder and those above it.
pub fn create_dirs(path: &Path) -> Result<(), StoreError> {
    change(path, || fs::create_dir_all(path))
}

/// A new file to write to; one that is there already is an error.
pub fn create_file(path: &Path) -> Result<File, StoreError> {
    change(path, || OpenOptions::new().write(true).create_new(true).open(path))
}

/// Writes a whole file, and waits until the disk has it.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    change(path, || {
        let mut file = File::create(path)?;
        file.write_all(bytes)?;
        sync(&file)
    })
}

/// Moves a file over whatever is at `to`.
pub fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    change(to, || fs::rename(from, to))
}

/// Removes a file if it is there.
pub fn remove_file(path: &Path) -> Result<(), StoreError> {
    change(path, || unless_missing(fs::remove_file(path)))
}

/// Removes a folder and all that is in it, if it is there.
pub fn remove_tree(path: &Path) -> Result<(), StoreError> {
    change(path, || unless_missing(fs::remove_dir_all(path)))
}

/// Removes a folder that is empty, and leaves any other.
pub fn remove_empty(path: &Path) -> Result<(), StoreError> {
    change(path, || match fs::remove_dir(path) {
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
        other => unless_missing(other),
    })
}

/// Waits until the disk has a file.
pub fn sync_file(path: &Path, file: &File) -> Result<(), StoreError> {
    change(path, || sync(file))
}

/// Waits until the disk has the names in a folder. Only Unix can say so of a
/// folder; elsewhere the file system is trusted with it.
pub fn sync_dir(path: &Path) -> Result<(), StoreError> {
    change(path, || if cfg!(unix) { sync(&File::open(path)?) } else { Ok(()) })
}

/// No test can see that a disk has something, only wait for it: so unit tests,
/// which commit thousands of times, do not.
fn sync(file: &File) -> io::Result<()> {
    if cfg!(test) { Ok(()) } else { file.sync_all() }
}

/// What a folder holds: names with whether each is a folder, sorted. A folder
/// that is not there holds nothing. Names that are not UTF-8 are made so for
/// messages: none of ours is such.
pub fn list(path: &Path) -> Result<Vec<(String, bool)>, StoreError> {
    let read = || -> io::Result<Vec<(String, bool)>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            entries.push((name, entry.file_type()?.is_dir()));
        }
        entries.sort();
        Ok(entries)
    };
    match read() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(StoreError::io(path)),
    }
}

fn unless_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn change<T>(path: &Path, act: impl FnOnce() -> io::Result<T>) -> Result<T, StoreError> {
    #[cfg(test)]
    crash::step().map_err(StoreError::io(path))?;
    act().map_err(StoreError::io(path))
}

/// Simulated death: after a number of changes, this thread makes no more.
#[cfg(test)]
pub mod crash {
    use std::cell::Cell;
    use std::io;

    thread_local! {
        static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
        static DIED: Cell<bool> = const { Cell::new(false) };
    }

    /// Runs `body`, letting only its first `changes` changes reach the disk.
    /// Says whether there were more.
    pub fn after<T>(changes: usize, body: impl FnOnce() -> T) -> (T, bool) {
        LEFT.set(Some(changes));
        let result = body();
        LEFT.set(None);
        (result, DIED.replace(false))
    }

    pub(super) fn step() -> io::Result<()> {
        match LEFT.get() {
            None => Ok(()),
            Some(0) => {
                DIED.set(true);
                Err(io::Error::other("died here"))
            }
            Some(left) => {
                LEFT.set(Some(left - 1));
                Ok(())
            }
        }
    }
}
