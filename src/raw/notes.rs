//! `notes/*.md`: what the people who measured have to say, for the report.

use super::error::{Place, RawError};
use super::input::Source;

/// The largest note that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// One file of Markdown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Note {
    /// Its name in `notes/`, without `.md`.
    pub name: String,
    /// Its text, verbatim.
    pub text: String,
}

/// Whether a file of a run directory is a note: those in folders below
/// `notes/` are somebody's drafts.
pub(super) fn is_note(file: &str) -> bool {
    stem(file).is_some_and(|name| !name.is_empty() && !name.contains('/'))
}

fn stem(file: &str) -> Option<&str> {
    file.strip_prefix("notes/")?.strip_suffix(".md")
}

/// Reads the notes, in the order of their names.
pub(super) fn read(source: &mut Source<'_>, files: &[String]) -> Result<Vec<Note>, RawError> {
    let mut notes = Vec::with_capacity(files.len());
    for file in files {
        let size = source.size(file)?;
        if size > LARGEST {
            return Err(RawError::Other {
                place: Place::file(file),
                message: format!("expected at most {LARGEST} bytes of text, found {size}"),
            });
        }
        let name = stem(file).unwrap_or(file).to_owned();
        notes.push(Note { name, text: source.text(file)? });
    }
    Ok(notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_markdown_files_of_their_folder() {
        for (file, expected) in [
            ("notes/a.md", true),
            ("notes/threats.md", true),
            ("notes/.md", false),
            ("notes/drafts/a.md", false),
            ("notes/a.txt", false),
            ("a.md", false),
        ] {
            assert_eq!(is_note(file), expected, "{file}");
        }
    }
}
