//! A campaign: what is measured, in what order, and what is written of it.

mod error;
mod targets;

pub use error::CampaignError;
pub use targets::{Command, HttpVersion, Kind, Target, Targets};
