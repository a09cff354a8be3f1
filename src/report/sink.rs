//! Where output goes: standard output, or a file that is replaced as a whole.
//!
//! What goes to standard output is held until the command is done and has let
//! go of the store ([`release`]): a reader that does not read on, such as a
//! pager, would keep everybody from writing to the store, and an error in the
//! middle would leave half an answer.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::{NamedTempFile, SpooledTempFile};

/// Bytes that are held in memory; more wait in a temporary file.
const HELD: usize = 16 << 20;

/// What the names of unfinished files begin with.
const TEMPORARY: &str = ".tapstat-";

/// What is finished and waits for [`release`].
static HELD_BACK: Mutex<Vec<SpooledTempFile>> = Mutex::new(Vec::new());

/// Writes to standard output what was finished so far.
///
/// # Errors
/// If it cannot be written.
pub fn release() -> io::Result<()> {
    let held = std::mem::take(&mut *HELD_BACK.lock().unwrap_or_else(PoisonError::into_inner));
    let mut stdout = io::stdout().lock();
    for mut spool in held {
        spool.rewind()?;
        io::copy(&mut spool, &mut stdout)?;
    }
    stdout.flush()
}

/// Where output goes. Nothing is promised before [`Sink::finish`]: a file of
/// that name is the old one until then, and stays it if there is an error.
#[derive(Debug)]
pub struct Sink(Kind);

#[derive(Debug)]
enum Kind {
    Stdout(SpooledTempFile),
    /// A device or a pipe, which must not be replaced by a file.
    Special(BufWriter<File>),
    Replace {
        file: BufWriter<NamedTempFile>,
        path: PathBuf,
    },
}

impl Sink {
    /// Standard output.
    pub fn stdout() -> Self {
        Self(Kind::Stdout(SpooledTempFile::new(HELD)))
    }

    /// A file, replaced at the end; a link is followed.
    ///
    /// # Errors
    /// If its folder does not exist or cannot be written.
    pub fn file(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let old = path.metadata().ok();
        if old.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        if old.as_ref().is_some_and(|old| !old.is_file()) {
            let file = File::options().write(true).open(&path)?;
            return Ok(Self(Kind::Special(BufWriter::new(file))));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // A folder that is not there is told by the system's own words.
        folder.metadata()?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY);
        let permissions = old.map(|old| old.permissions()).or_else(new_file_permissions);
        if let Some(permissions) = permissions {
            builder.permissions(permissions);
        }
        let file = BufWriter::new(builder.tempfile_in(folder).map_err(without_path)?);
        Ok(Self(Kind::Replace { file, path }))
    }

    /// Whether a file of that name is one that a killed process left unfinished.
    pub fn is_temporary(name: &str) -> bool {
        name.starts_with(TEMPORARY)
    }

    /// Whether somebody looks at it.
    pub fn is_terminal(&self) -> bool {
        match &self.0 {
            Kind::Stdout(_) => io::stdout().is_terminal(),
            Kind::Special(file) => file.get_ref().is_terminal(),
            Kind::Replace { .. } => false,
        }
    }

    /// Whether it is standard output.
    pub fn is_stdout(&self) -> bool {
        matches!(self.0, Kind::Stdout(_))
    }

    /// Puts everything in place.
    ///
    /// # Errors
    /// If the last bytes cannot be written, or the file cannot be renamed.
    pub fn finish(self) -> io::Result<()> {
        match self.0 {
            Kind::Stdout(spool) => {
                HELD_BACK.lock().unwrap_or_else(PoisonError::into_inner).push(spool);
                Ok(())
            }
            Kind::Special(mut file) => file.flush(),
            Kind::Replace { file, path } => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.as_file().sync_all()?;
                file.persist(path).map_err(|error| error.error)?;
                Ok(())
            }
        }
    }

    fn writer(&mut self) -> &mut dyn Write {
        match &mut self.0 {
            Kind::Stdout(spool) => spool,
            Kind::Special(file) => file,
            Kind::Replace { file, .. } => file,
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

/// What was wrong with a temporary file, without its name, which nobody but us
/// knows.
fn without_path(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::Other => error,
        kind => io::Error::from(kind),
    }
}

/// What the umask makes of a file for everybody: temporary files are private.
#[cfg(unix)]
fn new_file_permissions() -> Option<std::fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(std::fs::Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn new_file_permissions() -> Option<std::fs::Permissions> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_old_one_until_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        std::fs::write(&path, "old").unwrap();

        let mut sink = Sink::file(&path).unwrap();
        sink.write_all(b"new").unwrap();
        sink.flush().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        sink.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_sink_that_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut sink = Sink::file(&folder.path().join("out.csv")).unwrap();
        sink.write_all(b"new").unwrap();
        drop(sink);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let error = Sink::file(folder.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn an_error_does_not_name_the_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let error = Sink::file(&folder.path().join("none").join("out.csv")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!error.to_string().contains("tapstat"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_written_and_links_followed() {
        let folder = tempfile::tempdir().unwrap();
        let mut sink = Sink::file(Path::new("/dev/null")).unwrap();
        sink.write_all(b"gone").unwrap();
        sink.finish().unwrap();
        assert!(!Path::new("/dev/null").metadata().unwrap().is_file());

        let (real, link) = (folder.path().join("real.csv"), folder.path().join("link.csv"));
        std::fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let mut sink = Sink::file(&link).unwrap();
        sink.write_all(b"new").unwrap();
        sink.finish().unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "new");
    }

    #[cfg(unix)]
    #[test]
    fn new_files_are_not_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        Sink::file(&path).unwrap().finish().unwrap();
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
    }
}
