//! The integration tests: one binary, a module for each theme.
//!
//! Golden files are rewritten by `SNAPSHOTS=overwrite cargo test --release`.
#![allow(clippy::unwrap_used)]

mod altered;
mod bad_input;
mod catalog;
mod cli;
mod edges;
mod gates;
mod instances;
mod kill;
mod layouts;
mod measure;
mod outputs;
mod prereg;
mod protocol;
mod published;
mod readme;
mod resources;
mod schemas;
mod serve;
mod shipped;
mod small_cases;
mod support;
