//! A TAP server of an ObsCore table, on this project's own query engine: a
//! target to measure against, for tests and for the demonstration.
//!
//! TAP 1.1 with ADQL 2.1, VOSI, TAP_SCHEMA and UWS 1.1. It reads one file when it
//! starts and none afterwards; what a client can make it do is bounded by
//! [`Options`].

mod adql;
mod answer;
mod app;
mod ask;
mod data;
mod engine;
mod error;
mod format;
mod geometry;
mod options;
mod params;
mod redirect;
mod secret;
mod server;
mod sync;
mod time;
mod uws;
mod vosi;
mod watch;
mod xml;

pub use data::corpus::FILE as CORPUS_FILE;
pub use error::TapError;
pub use options::Options;
pub use server::TapServer;
