//! The SQL session over a store: its tables, the views of `queries/`, and the
//! functions that SQL lacks.
//!
//! Every figure that tapstat prints is one of these views, so whatever a
//! command says can be asked for, and recomputed, in SQL.

mod catalog;
mod error;
mod functions;
mod glob;
pub mod hypotheses;
mod in_order;
mod rules;
mod session;
mod table;
mod views;

pub use error::SqlError;
pub use glob::{is_glob, matches};
pub use session::{
    Answer, Judged, Options, Relation, RelationColumn, RelationKind, Rows, Session, view_sql,
};
