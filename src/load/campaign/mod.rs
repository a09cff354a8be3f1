//! A campaign: what is measured, in what order, and what is written of it.
//!
//! A [`Campaign`] is read from a protocol, a targets file and a corpus. A
//! [`Journal`] is its run directory, new or taken up; [`measure`] goes through
//! the [`Plan`], and what is killed at any moment loses the rung in flight.

mod begin;
mod calibration;
mod commands;
mod corpus;
mod definition;
mod environment;
mod error;
mod gates;
mod hooks;
mod journal;
mod lock;
mod measure;
mod merge;
mod plan;
mod rung;
mod service;
mod shard;
mod targets;

pub use begin::{create, resume};
pub use calibration::{CALIBRATION, calibrate};
pub use commands::Command;
pub use corpus::Corpus;
pub use definition::{Campaign, Inputs};
pub use environment::Git;
pub use error::CampaignError;
pub use gates::{Gating, gate_target};
pub use journal::Journal;
pub use lock::{HostLock, LOCK_VARIABLE};
pub use measure::{Ending, Progress, measure};
pub use merge::{Merged, merge, shard_of};
pub use plan::{Block, Plan, Planned, Selection, Stage};
pub use rung::Times;
pub use shard::{Shard, Share};
pub use targets::{HttpVersion, Kind, Target, Targets};
