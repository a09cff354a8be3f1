//! Queries that are answered in the background, as UWS 1.1 has it.

mod document;
mod handlers;
mod job;
mod run;
mod store;

pub use handlers::{create, job, list, part};
pub use store::{Jobs, sweep};
