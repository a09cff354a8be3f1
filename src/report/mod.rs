//! Answers as people and programs read them: rows in every format, and the
//! pages that a terminal or a Markdown file shows.

mod calibration;
mod cells;
mod classify;
mod csv;
mod differences;
pub mod document;
mod error;
pub mod figure;
mod fit;
mod format;
mod grid;
mod hypotheses;
mod instances;
mod page;
mod pair;
mod place;
mod prereg;
mod protocol;
mod resources;
mod robust;
mod rows;
mod sink;
mod stamp;
#[cfg(test)]
mod testing;
mod tiers;
mod value;
mod verdicts;
mod view;
mod wide;

pub use calibration::calibration_page;
pub use cells::cells_page;
pub use classify::classify_page;
pub use differences::{Difference, Facts, differences};
pub use error::ReportError;
pub use fit::fit_page;
pub use format::Format;
pub use grid::{Align, Cell, Facet, Grid, MISSING, Style, Tone};
pub use hypotheses::hypotheses_page;
pub use instances::{bursts_page, scaling_page, sweep_page};
pub use page::Page;
pub use pair::{Pair, reproduce_page, shift_page};
pub use place::Place;
pub use prereg::prereg_page;
pub use protocol::protocol_page;
pub use resources::resources_page;
pub use robust::robust_page;
pub use rows::{Form, rows_grid, write_rows};
pub use sink::{Sink, release};
pub use stamp::{Stamp, footnotes, inputs_sha256, method_notes, short, stamped};
pub use tiers::tiers_page;
pub use verdicts::verdicts_page;
pub use view::View;
pub use wide::{Long, widen};
