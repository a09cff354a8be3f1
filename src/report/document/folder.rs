//! A report as a folder of files: written, and compared.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;

use super::super::{ReportError, Sink};
use super::Files;
use super::provenance::{PROVENANCE, Provenance};

/// Writes a report into a folder, which is made where there is none. Files of
/// an earlier report that this one has not are taken away.
///
/// # Errors
/// If the folder holds something else than a report, or cannot be written.
pub fn write(folder: &Path, files: &Files) -> Result<(), ReportError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| ReportError::File { path, source }
    };
    let present = present(folder).map_err(failed(folder))?;
    let old = fs::read(folder.join(PROVENANCE)).ok();
    // Anybody may have a `report.json`, beside an `index.html` that is theirs.
    let is_report = |bytes: &Vec<u8>| Provenance::parse(bytes).is_ok();
    let is_left = |file: &String| file.rsplit('/').next().is_some_and(Sink::is_temporary);
    if !old.as_ref().is_some_and(is_report) && !present.iter().all(is_left) {
        return Err(ReportError::NoReport(folder.to_owned()));
    }
    fs::create_dir_all(folder).map_err(failed(folder))?;
    // In a new folder first, so that one that is never finished is known as a
    // report's; in an old one last, since until then it names what is there.
    let (first, last) = files.iter().partition::<Vec<_>, _>(|(name, _)| *name == PROVENANCE);
    let order: Vec<_> = if old.is_none() {
        first.into_iter().chain(last).collect()
    } else {
        last.into_iter().chain(first).collect()
    };
    for (name, bytes) in order {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            if parent != folder {
                unlink(parent).map_err(failed(parent))?;
            }
            fs::create_dir_all(parent).map_err(failed(parent))?;
        }
        unlink(&path).map_err(failed(&path))?;
        let mut sink = Sink::file(&path).map_err(failed(&path))?;
        sink.write_all(bytes).map_err(failed(&path))?;
        sink.finish().map_err(failed(&path))?;
    }
    // Only what the old one says that it wrote.
    let old = old.and_then(|bytes| Provenance::parse(&bytes).ok()).unwrap_or_default();
    for file in old.files.into_iter().map(|file| file.path) {
        if !files.contains_key(&file) && present.contains(&file) {
            let path = folder.join(&file);
            fs::remove_file(&path).map_err(failed(&path))?;
        }
    }
    Ok(())
}

/// Takes away a link in place of a file or folder of the report: what it leads to
/// is not the report's to write.
fn unlink(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => fs::remove_file(path),
        _ => Ok(()),
    }
}

/// A file of a report that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// `differs`, `missing` or `extra`.
    pub fault: &'static str,
    /// The file.
    pub file: String,
    /// The first line that differs, from 1, where it is text.
    pub line: Option<usize>,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.fault, self.file)?;
        match self.line {
            Some(line) => write!(f, ", from line {line}"),
            None => Ok(()),
        }
    }
}

/// In what a folder differs from the files that a report should have.
///
/// # Errors
/// If the folder or a file in it cannot be read.
pub fn faults(folder: &Path, files: &Files) -> Result<Vec<Fault>, ReportError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| ReportError::File { path, source }
    };
    let present = present(folder).map_err(failed(folder))?;
    let mut faults = Vec::new();
    for (file, expected) in files {
        if !present.contains(file) {
            faults.push(Fault { fault: "missing", file: file.clone(), line: None });
            continue;
        }
        let path = folder.join(file);
        let found = fs::read(&path).map_err(failed(&path))?;
        if found != *expected {
            let line = first_difference(&found, expected);
            faults.push(Fault { fault: "differs", file: file.clone(), line });
        }
    }
    let extra = present.into_iter().filter(|file| !files.contains_key(file));
    faults.extend(extra.map(|file| Fault { fault: "extra", file, line: None }));
    Ok(faults)
}

/// The first line in which two texts differ, from 1.
fn first_difference(found: &[u8], expected: &[u8]) -> Option<usize> {
    let common = found.iter().zip(expected).take_while(|(a, b)| a == b).count();
    Some(1 + expected[..common].iter().filter(|byte| **byte == b'\n').count())
}

/// The files in a folder and those below it, with `/` between the parts of
/// their paths; none where there is no folder.
fn present(folder: &Path) -> io::Result<BTreeSet<String>> {
    let mut files = BTreeSet::new();
    let mut folders = vec![(folder.to_owned(), String::new())];
    while let Some((path, prefix)) = folders.pop() {
        let entries = match fs::read_dir(&path) {
            Err(error) if prefix.is_empty() && error.kind() == io::ErrorKind::NotFound => break,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push((entry.path(), format!("{name}/")));
            } else {
                files.insert(name);
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(content: &[(&str, &str)]) -> Files {
        let mut files: Files = content
            .iter()
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
            .collect();
        let made = Provenance::new("r1").to_file(&files);
        files.insert(PROVENANCE.to_owned(), made);
        files
    }

    fn texts(faults: &[Fault]) -> Vec<String> {
        faults.iter().map(Fault::to_string).collect()
    }

    #[test]
    fn what_is_written_has_no_faults_and_what_is_altered_has() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/report");
        let first = files(&[("index.md", "a\nb\n"), ("figures/x.svg", "<svg/>")]);
        write(&path, &first).unwrap();
        assert_eq!(faults(&path, &first).unwrap(), []);

        fs::write(path.join("index.md"), "a\nc\n").unwrap();
        fs::remove_file(path.join("figures/x.svg")).unwrap();
        fs::write(path.join("figures/y.svg"), "").unwrap();
        assert_eq!(
            texts(&faults(&path, &first).unwrap()),
            ["missing: figures/x.svg", "differs: index.md, from line 2", "extra: figures/y.svg"]
        );

        // What an earlier report wrote goes, what somebody put there stays.
        let second = files(&[("index.md", "a\n")]);
        write(&path, &first).unwrap();
        write(&path, &second).unwrap();
        assert_eq!(texts(&faults(&path, &second).unwrap()), ["extra: figures/y.svg"]);
    }

    #[test]
    fn a_folder_of_something_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("index.html"), "mine").unwrap();
        let error = write(folder.path(), &files(&[("index.html", "x")])).unwrap_err();
        assert!(matches!(error, ReportError::NoReport(_)), "{error}");
        assert_eq!(fs::read_to_string(folder.path().join("index.html")).unwrap(), "mine");

        // Also where it happens to have a file of that name.
        fs::write(folder.path().join(PROVENANCE), "{\"audits\": []}").unwrap();
        let error = write(folder.path(), &files(&[("index.html", "x")])).unwrap_err();
        assert!(matches!(error, ReportError::NoReport(_)), "{error}");
        assert_eq!(fs::read_to_string(folder.path().join("index.html")).unwrap(), "mine");
    }

    #[test]
    fn a_report_that_was_never_finished_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".tapstat-x1"), "half").unwrap();
        let all = files(&[("a.md", "a"), ("z/z.md", "z")]);
        // A file in the way of a folder stops it in the middle.
        let path = folder.path().join("r");
        fs::create_dir(&path).unwrap();
        fs::write(path.join(".tapstat-x2"), "half").unwrap();
        fs::create_dir(path.join("a.md")).unwrap();
        write(&path, &all).unwrap_err();
        fs::remove_dir(path.join("a.md")).unwrap();
        write(&path, &all).unwrap();
        assert_eq!(texts(&faults(&path, &all).unwrap()), ["extra: .tapstat-x2"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_replaced_and_not_followed() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("report"), folder.path().join("other"));
        let all = files(&[("index.md", "a"), ("figures/x.svg", "<svg/>")]);
        write(&path, &all).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join("x.svg"), "mine").unwrap();
        fs::remove_file(path.join("index.md")).unwrap();
        fs::remove_dir_all(path.join("figures")).unwrap();
        symlink(other.join("x.svg"), path.join("index.md")).unwrap();
        symlink(&other, path.join("figures")).unwrap();
        write(&path, &all).unwrap();
        assert_eq!(fs::read_to_string(other.join("x.svg")).unwrap(), "mine");
        assert_eq!(faults(&path, &all).unwrap(), []);
    }
}
