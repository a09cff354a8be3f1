//! Names with `*` and `?`, and paths of them.

use std::path::{Path, PathBuf};

/// Whether a name fits a pattern: `*` is any text, `?` any one character.
pub fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    // Where the last star stands, and the end of the text that it takes so far.
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                (p, n) = (at + 1, taken + 1);
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// The folders that a pattern of a path names, sorted. Each part of the path
/// is a pattern of its own.
pub fn folders(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let text = part.as_os_str().to_string_lossy();
        found = if text.contains(['*', '?']) {
            found.iter().flat_map(|folder| matching(folder, &text)).collect()
        } else {
            found.iter().map(|folder| folder.join(part)).collect()
        };
    }
    found.retain(|path| path.is_dir());
    found.sort();
    found
}

fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let entries = entries.flatten().map(|entry| entry.path());
    let is_meant = |path: &PathBuf| {
        path.file_name().is_some_and(|name| fits(pattern, &name.to_string_lossy()))
    };
    entries.filter(is_meant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_names() {
        for (pattern, name) in
            [("nginx", "nginx"), ("n*x", "nginx"), ("*", ""), ("a?c*", "abc"), ("*b*b", "abab")]
        {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("nginx", "nginy"), ("n*x", "ngin"), ("?", ""), ("a*b*c", "acb")] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn paths_are_patterns_part_by_part() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["a.slice/x-1.scope", "a.slice/x-2.scope", "b.slice/x-3.scope"] {
            std::fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        std::fs::write(folder.path().join("a.slice/x-file.scope"), "").unwrap();
        let names = |pattern: &str| {
            let found = folders(&folder.path().join(pattern));
            let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
            found.iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(names("a.slice/x-*.scope"), ["x-1.scope", "x-2.scope"]);
        assert_eq!(names("?.slice/x-*"), ["x-1.scope", "x-2.scope", "x-3.scope"]);
        assert_eq!(names("a.slice"), ["a.slice"]);
        assert_eq!(names("none/*"), [""; 0]);
    }
}
