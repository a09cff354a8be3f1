//! A campaign: what is measured, in what order, and what is written of it.

mod corpus;
mod environment;
mod error;
mod hooks;
mod journal;
mod lock;
mod plan;
mod targets;

pub use corpus::Corpus;
pub use environment::Git;
pub use error::CampaignError;
pub use lock::{HostLock, LOCK_VARIABLE};
pub use plan::{Block, Plan, Planned, Selection, Stage};
pub use targets::{Command, HttpVersion, Kind, Target, Targets};
