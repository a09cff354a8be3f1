//! Whole run directories, read through [`RunDir`].

mod layouts;
mod published;
mod refused;

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::{RawError, Run, RunDir};

/// A run directory that is built file by file.
struct Folder {
    /// Holds `run`, and goes with it.
    parent: TempDir,
}

impl Folder {
    fn new() -> Self {
        let folder = Self { parent: tempfile::tempdir().unwrap() };
        fs::create_dir(folder.path()).unwrap();
        folder
    }

    fn path(&self) -> std::path::PathBuf {
        self.parent.path().join("run")
    }

    /// Adds a file, and the folders that it lies in.
    fn with(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn open(&self) -> Result<RunDir, RawError> {
        RunDir::open(&self.path())
    }

    fn read(&self) -> Run {
        self.open().unwrap().read().unwrap()
    }

    /// The message that reading ends with.
    fn refusal(&self) -> String {
        let read = self.open().and_then(|dir| dir.read());
        let message = read.unwrap_err().to_string();
        let path = self.path();
        message.replace(&path.display().to_string(), "RUN")
    }
}

fn warnings(run: &Run) -> Vec<String> {
    run.warnings.iter().map(ToString::to_string).collect()
}

/// The published data, where there is any: `TAPSTAT_PUBLISHED`, or a folder
/// beside the source tree.
fn published() -> Option<std::path::PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/published");
    let path = std::env::var_os("TAPSTAT_PUBLISHED").map_or_else(beside, Into::into);
    if !path.is_dir() {
        eprintln!("skipped: no published data at {}", path.display());
        return None;
    }
    Some(path)
}
