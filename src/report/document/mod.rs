//! The report of a run: `index.md`, `index.html`, its rungs as CSV, its figures.
//!
//! What is said is decided once, as a [`model::Document`] of sections; Markdown
//! and HTML are two ways to write it down.

mod data;
mod folder;
mod foreign;
mod html;
mod markdown;
mod model;
mod provenance;
mod sections;
mod tables;

use std::collections::BTreeMap;

pub use data::{Beside, Data, DocumentError, Extras, Registration};
pub use folder::{Fault, faults, write};
pub use model::{Drawn, Picture};
pub use provenance::{PROVENANCE, Provenance, Rule, Source};
pub use tables::tables;

/// The files of a report, by their paths in its folder.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The pages of a report and its figures. `fonts` is the style that figures
/// within a page need.
///
/// # Errors
/// If a view lacks a column.
pub fn pages(data: &Data, fonts: &str) -> Result<Files, DocumentError> {
    let document = sections::document(data)?;
    let mut files = Files::new();
    files.insert("index.md".to_owned(), markdown::render(&document).into_bytes());
    files.insert("index.html".to_owned(), html::render(&document, fonts)?.into_bytes());
    for block in document.sections.iter().flat_map(|section| &section.blocks) {
        if let model::Block::Picture(picture) = block {
            files.insert(picture.path(), picture.svg.clone().into_bytes());
        }
    }
    Ok(files)
}
