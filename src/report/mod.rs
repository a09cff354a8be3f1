//! Answers as people and programs read them: rows in every format, and the
//! pages that a terminal or a Markdown file shows.

mod csv;
mod error;
pub mod figure;
mod format;
mod grid;
mod page;
mod rows;
mod sink;
mod value;
mod view;
mod wide;

pub use error::ReportError;
pub use format::Format;
pub use grid::{Align, Cell, Grid, MISSING, Style, Tone};
pub use page::Page;
pub use rows::{Form, rows_grid, write_rows};
pub use sink::Sink;
pub use view::View;
pub use wide::{Long, widen};
