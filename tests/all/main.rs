//! The integration tests: one binary, a module for each theme.
//!
//! Golden files are rewritten by `SNAPSHOTS=overwrite cargo test --release`.
#![allow(clippy::unwrap_used)]

mod altered;
mod bad_input;
mod bursts;
mod catalog;
mod classify;
mod cli;
mod demo;
mod edges;
mod figures;
mod gates;
mod generator;
mod hypotheses;
mod instances;
mod kill;
mod latency;
mod layouts;
mod load;
mod measure;
mod outputs;
mod prereg;
mod protocol;
mod published;
mod readme;
mod report;
mod resources;
mod schemas;
mod serve;
mod shipped;
mod small_cases;
mod support;
