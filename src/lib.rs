//! tapstat: compare servers by measurement, and prove what the comparison says.
//!
//! Arrows run one way: `cmd` → {`report`, `figure`, `load`, `gate`, `target`} →
//! {`sql`, `protocol`} → `store` → `raw`; `stats` knows nobody, and `load` never
//! touches the query engine.

pub mod answer;
pub mod cmd;
pub mod corpus;
pub mod figure;
pub mod gate;
pub mod load;
pub mod protocol;
pub mod raw;
pub mod report;
pub mod sql;
pub mod stats;
pub mod store;
pub mod target;

/// The version of this program, such as `0.1.0`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The git revision that it was built from: 12 hexadecimal digits, with
/// `-dirty` where tracked files differed from it; `unknown` outside git.
pub const REVISION: &str = env!("TAPSTAT_REVISION");
