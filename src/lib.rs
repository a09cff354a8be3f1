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

/// The version of this program, such as `0.1.0`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The git revision that it was built from: 12 hexadecimal digits, with
/// `-dirty` where tracked files differed from it; `unknown` outside git.
pub const REVISION: &str = env!("TAPSTAT_REVISION");
