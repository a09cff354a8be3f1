//! Answers as people and programs read them: rows in every format, and the
//! pages that a terminal or a Markdown file shows.

mod csv;
mod error;
mod format;
mod grid;
mod rows;
mod sink;
mod value;

pub use error::ReportError;
pub use format::Format;
pub use grid::{Align, Cell, Grid, MISSING, Style, Tone};
pub use rows::{Form, rows_grid, write_rows};
pub use sink::Sink;
