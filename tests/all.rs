//! The integration tests: one binary, a module for each theme.
#![allow(clippy::unwrap_used)]

#[path = "all/altered.rs"]
mod altered;
#[path = "all/published.rs"]
mod published;
#[path = "all/shipped.rs"]
mod shipped;
#[path = "all/support.rs"]
mod support;
