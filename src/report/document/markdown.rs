//! The report as Markdown.

use super::super::grid::{plain_markdown, visible};
use super::foreign;
use super::model::{Block, Document};

/// What is escaped in a sentence: a backtick is meant, as our own texts set code
/// with it.
const MARKS: &str = "\\*[~";

/// The report as `index.md`.
pub(super) fn render(document: &Document) -> String {
    let mut parts = vec![format!("# {}\n", heading(&document.title))];
    parts.push(format!("{}\n", sentence(&document.subtitle)));
    for section in &document.sections {
        parts.push(format!("## {}\n", heading(&section.title)));
        parts.extend(section.blocks.iter().map(block));
    }
    parts.join("\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading { level, text } => format!("{} {}\n", "#".repeat(*level), heading(text)),
        Block::Text(text) => format!("{}\n", sentence(text)),
        Block::Empty(why) => format!("*{}*\n", sentence(why)),
        Block::List(lines) => list(lines),
        Block::Notes(lines) => format!("Notes:\n\n{}", list(lines)),
        Block::Table(table) => table.grid.to_markdown(),
        Block::Foreign { level, text } => foreign::to_markdown(text, *level),
        Block::Code(lines) => code(lines),
        Block::Picture(picture) => {
            let alt = plain_markdown(&picture.alt, "\\*[]~`").replace('\n', " ");
            let mut text =
                format!("![{alt}]({})\n\n*{}*\n", picture.path(), sentence(&picture.title));
            if !picture.notes.is_empty() {
                text += &format!("\n{}", list(&picture.notes));
            }
            text
        }
    }
}

fn list(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {}\n", sentence(line))).collect()
}

/// Commands in a fence that none of them closes.
fn code(lines: &[String]) -> String {
    let longest = lines.iter().flat_map(|line| line.split(|c| c != '`')).map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    let lines: Vec<String> = lines.iter().map(|line| visible(line).replace('\n', " ")).collect();
    format!("{fence}sh\n{}\n{fence}\n", lines.join("\n"))
}

/// A text of one line that is no list, no heading and no quotation, whatever it
/// begins with.
fn sentence(text: &str) -> String {
    let text = with_code(text.trim()).replace('\n', " ");
    match text.as_bytes() {
        [b'#' | b'>' | b'+' | b'-' | b'=', ..] => format!("\\{text}"),
        [b'0'..=b'9', ..] => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            match text.as_bytes().get(digits) {
                Some(b'.' | b')') if text[digits + 1..].starts_with([' ', '\t']) => {
                    format!("{}\\{}", &text[..digits], &text[digits..])
                }
                _ => text,
            }
        }
        _ => text,
    }
}

/// What stands between two backticks is code, in which nothing is escaped: a
/// backslash there would be read as one.
fn with_code(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // Backticks side by side, or one without its other, begin no code of ours.
    if parts.len().is_multiple_of(2) || text.contains("``") {
        return plain_markdown(text, MARKS);
    }
    let part = |(index, part): (usize, &&str)| {
        if index.is_multiple_of(2) {
            plain_markdown(part, MARKS)
        } else {
            visible(part).into_owned()
        }
    };
    parts.iter().enumerate().map(part).collect::<Vec<String>>().join("`")
}

fn heading(text: &str) -> String {
    plain_markdown(text, MARKS).replace('\n', " ").replace('#', "\\#")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_no_markup() {
        for (text, expected) in [
            ("- x", "\\- x"),
            ("# x", "\\# x"),
            ("1. x", "1\\. x"),
            ("1.5 x", "1.5 x"),
            ("60 comparisons: a 3", "60 comparisons: a 3"),
            ("<b>a</b> & b &amp; *c*", "&lt;b>a&lt;/b> & b &amp;amp; \\*c\\*"),
            ("generator_cpu_peak and _x_", "generator_cpu_peak and \\_x\\_"),
            ("two\nlines", "two lines"),
            ("`invalid`", "`invalid`"),
            ("*a* `[report]`, `notes/*.md` <b>", "\\*a\\* `[report]`, `notes/*.md` &lt;b>"),
            ("a`b *c*", "a`b \\*c\\*"),
            ("``*c*``", "``\\*c\\*``"),
        ] {
            assert_eq!(sentence(text), expected, "{text}");
        }
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(code(&["a ```` b".to_owned()]), "`````sh\na ```` b\n`````\n");
        assert_eq!(code(&["a".to_owned()]), "```sh\na\n```\n");
    }
}
