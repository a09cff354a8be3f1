//! A report as a document: sections of blocks, before it is Markdown or HTML.

use super::super::grid::{Facet, Grid};
use super::super::page::{Block as PageBlock, Page};

/// A report.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// The run's id.
    pub(super) title: String,
    /// What it is, in a line under the title.
    pub(super) subtitle: String,
    /// Its parts, in order.
    pub(super) sections: Vec<Section>,
    /// Every target with its server, to filter by.
    pub(super) servers: Vec<(String, String)>,
}

/// A part of a report.
#[derive(Debug, Clone, Default)]
pub(super) struct Section {
    /// Its name in addresses.
    pub id: String,
    /// What stands over it.
    pub title: String,
    /// The tier that all of it is about.
    pub tier: Option<String>,
    /// What it says.
    pub blocks: Vec<Block>,
}

/// What a section is made of.
#[derive(Debug, Clone)]
pub(super) enum Block {
    /// A heading below that of the section: 3 or 4.
    Heading { level: usize, text: String },
    /// A paragraph of one line.
    Text(String),
    /// Why there is nothing to show.
    Empty(String),
    /// Lines that belong together.
    List(Vec<String>),
    /// Footnotes.
    Notes(Vec<String>),
    /// A table.
    Table(Table),
    /// Markdown that the run or the protocol brought, under a heading of that level.
    Foreign { level: usize, text: String },
    /// Commands, a line each.
    Code(Vec<String>),
    /// A figure.
    Picture(Picture),
}

/// A table in a report.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// What it shows, for those who come to it alone.
    pub caption: String,
    /// Its cells.
    pub grid: Grid,
    /// Whether its rows mean anything in another order.
    pub sortable: bool,
    /// Whether it is shut away until somebody asks for it.
    pub folded: bool,
}

/// A figure in a report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    /// Its name, as `tapstat figure` takes it; the file is called after it.
    pub name: String,
    /// What stands over it.
    pub title: String,
    /// What it shows, for those who do not see it.
    pub alt: String,
    /// What has to be said of it.
    pub notes: Vec<String>,
    /// The file's text.
    pub svg: String,
    /// The same for a page of HTML, its names its own.
    pub inline: String,
}

impl Picture {
    /// Its file, relative to the report.
    pub(super) fn path(&self) -> String {
        format!("figures/{}.svg", self.name)
    }
}

impl Section {
    /// A section without anything in it.
    pub fn new(id: &str, title: impl Into<String>) -> Self {
        Self { id: id.to_owned(), title: title.into(), ..Self::default() }
    }

    pub fn heading(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Heading { level: 3, text: text.into() });
    }

    pub fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into()));
    }

    pub fn empty(&mut self, why: impl Into<String>) {
        self.blocks.push(Block::Empty(why.into()));
    }

    pub fn list(&mut self, lines: Vec<String>) {
        if !lines.is_empty() {
            self.blocks.push(Block::List(lines));
        }
    }

    pub fn notes(&mut self, lines: Vec<String>) {
        if !lines.is_empty() {
            self.blocks.push(Block::Notes(lines));
        }
    }

    pub fn code(&mut self, lines: Vec<String>) {
        if !lines.is_empty() {
            self.blocks.push(Block::Code(lines));
        }
    }

    /// A table whose rows can be sorted.
    pub fn table(&mut self, caption: impl Into<String>, grid: Grid) {
        let caption = caption.into();
        self.blocks.push(Block::Table(Table { caption, grid, sortable: true, folded: false }));
    }

    /// A table of what and its value, whose order is its own.
    pub fn facts(&mut self, caption: impl Into<String>, grid: Grid) {
        let caption = caption.into();
        self.blocks.push(Block::Table(Table { caption, grid, sortable: false, folded: false }));
    }

    /// A long table that most readers pass over.
    pub fn folded(&mut self, caption: impl Into<String>, grid: Grid) {
        let caption = caption.into();
        self.blocks.push(Block::Table(Table { caption, grid, sortable: true, folded: true }));
    }

    /// Takes in the page of a command, without the heading that names its run:
    /// its parts come under headings of level 3.
    pub fn page(&mut self, page: Page, sortable: bool) {
        let mut caption = self.title.clone();
        for block in page.into_blocks() {
            let block = match block {
                PageBlock::Heading { level: 1, .. } => continue,
                PageBlock::Heading { text, .. } => {
                    caption.clone_from(&text);
                    Block::Heading { level: 3, text }
                }
                PageBlock::Text(text) => Block::Text(text),
                PageBlock::List(lines) => Block::List(lines),
                PageBlock::Notes(lines) => Block::Notes(lines),
                PageBlock::Table(grid) => {
                    Block::Table(Table { caption: caption.clone(), grid, sortable, folded: false })
                }
            };
            self.blocks.push(block);
        }
    }

    /// A figure, or why there is none.
    pub fn picture(&mut self, drawn: Option<&Drawn>) {
        match drawn {
            None => {}
            Some(Drawn::Picture(picture)) => self.blocks.push(Block::Picture(picture.clone())),
            Some(Drawn::Unavailable { name, why }) => {
                self.blocks.push(Block::Empty(format!("Figure `{name}` is not drawn: {why}")));
            }
        }
    }
}

/// A figure, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drawn {
    /// A figure.
    Picture(Picture),
    /// The run cannot give it.
    Unavailable {
        /// Its name.
        name: String,
        /// Why not.
        why: String,
    },
}

impl Drawn {
    /// The name of the figure.
    pub fn name(&self) -> &str {
        match self {
            Self::Picture(picture) => &picture.name,
            Self::Unavailable { name, .. } => name,
        }
    }
}

/// What a column is called where tables can be filtered by it.
pub(super) fn facet_of(column: &str) -> Option<Facet> {
    Some(match column {
        "tier" => Facet::Tier,
        "format" => Facet::Format,
        "class" | "scenario" | "path" => Facet::Class,
        "target" | "server" => Facet::Target,
        "verdict" => Facet::Verdict,
        _ => return None,
    })
}
