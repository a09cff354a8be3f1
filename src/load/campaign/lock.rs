//! One measurement at a time on a host.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::error::CampaignError;
use crate::load::sampler::now;

/// The environment variable that names another folder for the lock file: of
/// containers that share a host, one that all of them see.
pub const LOCK_VARIABLE: &str = "TAPSTAT_LOCK_DIR";

const NAME: &str = "tapstat-measure.lock";

/// The right to measure on this host, for as long as it is held. The lock goes
/// with the process; the file stays.
#[derive(Debug)]
pub struct HostLock(File);

impl HostLock {
    /// Takes the lock in the usual place, the same for every user.
    ///
    /// # Errors
    /// [`CampaignError::Busy`] if somebody has it.
    pub fn take(what: &str) -> Result<Self, CampaignError> {
        let folder = std::env::var_os(LOCK_VARIABLE).filter(|folder| !folder.is_empty());
        let usual = || if cfg!(unix) { PathBuf::from("/tmp") } else { std::env::temp_dir() };
        Self::take_in(&folder.map_or_else(usual, PathBuf::from), what)
    }

    fn take_in(folder: &Path, what: &str) -> Result<Self, CampaignError> {
        let path = folder.join(NAME);
        let mut file = open(&path).map_err(CampaignError::io(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Whoever cannot be read is no less there.
                let _ = file.read_to_string(&mut holder);
                let holder = holder.trim();
                let holder = if holder.is_empty() { "of an unknown process" } else { holder };
                return Err(CampaignError::Busy { holder: holder.to_owned(), path });
            }
            Err(TryLockError::Error(source)) => return Err(CampaignError::Io { path, source }),
        }
        // What is written is for people: another user's file may be read-only.
        let text = format!("pid {}, since {:.0} (unix time), {what}\n", std::process::id(), now());
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(text.as_bytes()));
        Ok(Self(file))
    }
}

impl Drop for HostLock {
    fn drop(&mut self) {
        let _ = self.0.set_len(0);
    }
}

/// Opens the lock file, and makes it if nobody has: then for all users. In a
/// sticky folder the kernel may refuse to *create* over another's file, so the
/// one that is there is tried first.
fn open(path: &Path) -> std::io::Result<File> {
    let existing = OpenOptions::new().read(true).write(true).open(path);
    let missing = |error: &std::io::Error| error.kind() == ErrorKind::NotFound;
    match existing {
        Err(error) if missing(&error) => {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)?;
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                // Made by two at once, it is the other's to open up.
                let _ = file.set_permissions(std::fs::Permissions::from_mode(0o666));
            }
            Ok(file)
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => File::open(path),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let lock = HostLock::take_in(folder.path(), "runs/a").unwrap();
        let message = HostLock::take_in(folder.path(), "runs/b").unwrap_err().to_string();
        assert!(message.contains(&format!("pid {}", std::process::id())), "{message}");
        assert!(message.contains("runs/a") && message.contains(NAME), "{message}");
        drop(lock);
        HostLock::take_in(folder.path(), "runs/b").unwrap();
    }
}
