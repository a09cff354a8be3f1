//! The integration tests: one binary, a module for each theme.
#![allow(clippy::unwrap_used)]

#[path = "all/altered.rs"]
mod altered;
#[path = "all/catalog.rs"]
mod catalog;
#[path = "all/cli.rs"]
mod cli;
#[path = "all/layouts.rs"]
mod layouts;
#[path = "all/prereg.rs"]
mod prereg;
#[path = "all/protocol.rs"]
mod protocol;
#[path = "all/published.rs"]
mod published;
#[path = "all/readme.rs"]
mod readme;
#[path = "all/resources.rs"]
mod resources;
#[path = "all/schemas.rs"]
mod schemas;
#[path = "all/shipped.rs"]
mod shipped;
#[path = "all/small_cases.rs"]
mod small_cases;
#[path = "all/support.rs"]
mod support;
