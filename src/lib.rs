//! tapstat: compare servers by measurement, and prove what the comparison says.
//!
//! Arrows run one way: `cmd` → `report` → {`sql`, `protocol`} → `store` → `raw`;
//! `stats` knows nobody.

pub mod cmd;
pub mod protocol;
pub mod raw;
pub mod report;
pub mod sql;
pub mod stats;
pub mod store;
