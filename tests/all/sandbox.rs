//! What the modules share: the program in a folder of its own.
//!
//! Goldens are rewritten by `SNAPSHOTS=overwrite cargo test --release`.

use std::path::{Path, PathBuf};

use snapbox::Assert;
use snapbox::cmd::Command;
use tempfile::TempDir;

/// The program, called in a folder that is gone afterwards, with nothing of the
/// caller's environment that it looks at.
pub struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    /// An empty folder.
    pub fn new() -> Self {
        Self { folder: TempDir::new().expect("a temporary folder") }
    }

    /// A folder whose `store` holds the run that ships with the project.
    pub fn with_shipped_run() -> Self {
        let sandbox = Self::new();
        sandbox.tapstat(&["ingest"]).arg(shipped_run()).assert().success();
        sandbox
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program with these arguments.
    pub fn tapstat(&self, arguments: &[&str]) -> Command {
        let assert = Assert::new().action_env("SNAPSHOTS");
        Command::new(snapbox::cmd::cargo_bin!("tapstat"))
            .with_assert(assert)
            .current_dir(self.folder.path())
            .env_remove("TAPSTAT_STORE")
            .env_remove("NO_COLOR")
            .args(arguments)
    }
}

/// The sources' own folder.
pub fn sources() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The run directory that ships with the project.
pub fn shipped_run() -> PathBuf {
    sources().join("runs/20260912T225808Z-d43b538d-tap-compare-scaling")
}
