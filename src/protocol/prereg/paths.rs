//! The protocol's paths: files, or folders with all that is in them.

use super::error::PreregError;

/// Paths from the top of a repository, in the order given, each once. The
/// empty path is the whole repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Paths(Vec<String>);

impl Paths {
    /// Takes `./a//b/` as `a/b`, and `.` as the whole repository.
    pub(super) fn new(given: &[String]) -> Result<Self, PreregError> {
        let mut paths = Vec::with_capacity(given.len());
        for path in given {
            let parts: Vec<&str> =
                path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
            if path.is_empty() || path.starts_with('/') || parts.contains(&"..") {
                return Err(PreregError::BadPath { path: path.clone() });
            }
            let path = parts.join("/");
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        if paths.is_empty() { Err(PreregError::NoPaths) } else { Ok(Self(paths)) }
    }

    /// Each of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether a file is one of them, or in one of them.
    pub(super) fn contain(&self, file: &str) -> bool {
        self.iter().any(|path| inside(path, file).is_some())
    }

    /// The same paths, and those files.
    pub(super) fn with(&self, files: impl IntoIterator<Item = String>) -> Self {
        let mut paths = self.0.clone();
        paths.extend(files);
        Self(paths)
    }
}

/// What remains of a file's name below a path: `/name` for a file in it, empty
/// for the path itself, `None` for a file elsewhere.
pub(super) fn inside<'a>(path: &str, file: &'a str) -> Option<&'a str> {
    if path.is_empty() {
        return Some(file);
    }
    let rest = file.strip_prefix(path)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(given: &[&str]) -> Result<Paths, String> {
        let given: Vec<String> = given.iter().map(|&path| path.to_owned()).collect();
        Paths::new(&given).map_err(|error| error.to_string())
    }

    #[test]
    fn spellings_of_one_path_are_one() {
        let paths = paths(&["./pins/", "pins", "a//b", "a/./b"]).unwrap();
        assert_eq!(paths.iter().collect::<Vec<_>>(), ["pins", "a/b"]);
    }

    #[test]
    fn a_folder_holds_its_files_and_no_namesake() {
        let paths = paths(&["pins", "a.toml"]).unwrap();
        assert!(paths.contain("pins/8/db.yaml") && paths.contain("a.toml"));
        assert!(!paths.contain("pins-old/8.yaml") && !paths.contain("b/pins/8.yaml"));
        assert!(!paths.contain("a.toml.bak"));
    }

    #[test]
    fn a_dot_is_the_whole_repository() {
        assert!(paths(&["."]).unwrap().contain("any/file"));
    }

    #[test]
    fn paths_outside_are_refused() {
        for path in ["/etc", "../x", "a/../b", ""] {
            assert!(paths(&[path]).unwrap_err().contains("from the top"), "{path}");
        }
        assert!(paths(&[]).unwrap_err().contains("--paths"));
    }
}
