//! A page: headings, text, tables and footnotes, for a terminal or as Markdown.

use super::Format;
use super::grid::{Grid, Style, visible};

/// A page under construction, written from the top down.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    blocks: Vec<Block>,
}

/// A part of a page.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    Heading { level: usize, text: String },
    Text(String),
    List(Vec<String>),
    Table(Grid),
    Notes(Vec<String>),
}

impl Page {
    /// An empty page.
    pub fn new() -> Self {
        Self::default()
    }

    /// A heading: level 1 for a run, 2 for a part of it.
    pub fn heading(&mut self, level: usize, text: impl Into<String>) {
        self.blocks.push(Block::Heading { level, text: text.into() });
    }

    /// A paragraph of one line.
    pub fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into()));
    }

    /// Lines that belong together; left out where there are none.
    pub fn list(&mut self, lines: Vec<String>) {
        if !lines.is_empty() {
            self.blocks.push(Block::List(lines));
        }
    }

    /// A table.
    pub fn table(&mut self, grid: Grid) {
        self.blocks.push(Block::Table(grid));
    }

    /// Footnotes; left out where there are none.
    pub fn notes(&mut self, notes: Vec<String>) {
        if !notes.is_empty() {
            self.blocks.push(Block::Notes(notes));
        }
    }

    /// Its parts, from the top down.
    pub(super) fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }

    /// The page as text that ends with a newline: as Markdown if that is the
    /// format, else for a terminal.
    pub fn render(&self, format: Format, style: Style) -> String {
        let markdown = format == Format::Markdown;
        let mut text = String::new();
        for (index, block) in self.blocks.iter().enumerate() {
            if index > 0 && (markdown || !self.hangs_together(index)) {
                text.push('\n');
            }
            text += &if markdown { block.markdown() } else { block.terminal(style) };
        }
        text
    }

    /// Whether a block follows the one before it without a blank line: lines of
    /// a terminal are dear, and rules part a table from what is around it.
    fn hangs_together(&self, index: usize) -> bool {
        let (before, block) = (&self.blocks[index - 1], &self.blocks[index]);
        matches!(
            (before, block),
            (Block::Heading { .. }, Block::Table(_))
                | (Block::Table(_), Block::Notes(_))
                | (Block::Text(_), Block::List(_))
        )
    }
}

impl Block {
    fn terminal(&self, style: Style) -> String {
        match self {
            Self::Heading { text, .. } if style.colour => {
                format!("\u{1b}[1m{}\u{1b}[0m\n", visible(text))
            }
            Self::Heading { text, .. } | Self::Text(text) => format!("{}\n", visible(text)),
            Self::List(lines) => {
                lines.iter().map(|line| format!("- {}\n", visible(line))).collect()
            }
            Self::Table(grid) => grid.to_terminal(style),
            Self::Notes(notes) => notes.iter().map(|note| format!("{}\n", visible(note))).collect(),
        }
    }

    fn markdown(&self) -> String {
        match self {
            // A document's own title is somebody else's business.
            Self::Heading { level, text } => {
                format!("{} {}\n", "#".repeat(level + 1), visible(text))
            }
            Self::Text(text) => format!("{}\n", visible(text)),
            Self::List(lines) => list(lines),
            // A list of its own, also where one stands before it.
            Self::Notes(notes) => format!("Notes:\n\n{}", list(notes)),
            Self::Table(grid) => grid.to_markdown(),
        }
    }
}

fn list(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {}\n", visible(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Align;

    fn page() -> Page {
        let mut grid = Grid::new([("c", Align::Right)]);
        grid.push(vec!["8".into()]);
        let mut page = Page::new();
        page.heading(1, "run one");
        page.heading(2, "tier 8, csv");
        page.table(grid);
        page.notes(vec!["rule: defaults".to_owned(), "inputs: none".to_owned()]);
        page.list(Vec::new());
        page.text("the end");
        page
    }

    #[test]
    fn for_a_terminal() {
        assert_eq!(
            page().render(Format::Table, Style::default()),
            "\
run one

tier 8, csv
──
c
──
8
──
rule: defaults
inputs: none

the end
"
        );
    }

    #[test]
    fn as_markdown() {
        assert_eq!(
            page().render(Format::Markdown, Style::default()),
            "\
## run one

### tier 8, csv

|   c |
| --: |
|   8 |

Notes:

- rule: defaults
- inputs: none

the end
"
        );
    }

    #[test]
    fn headings_are_bold_in_colour_only() {
        let coloured = page().render(Format::Table, Style { width: None, colour: true });
        assert!(coloured.starts_with("\u{1b}[1mrun one\u{1b}[0m\n"), "{coloured:?}");
    }
}
