//! What will be measured and how it is judged: the protocol file, and which
//! protocol holds for a run, and whether it was frozen before.

pub mod check;
mod file;
mod measure;
pub mod prereg;
mod rule;
mod select;

pub use file::{
    Containers, Grid, Hypothesis, Prereg, Protocol, ProtocolError, ReportText, Window, Workload,
};
pub use measure::{
    Burst, Connections, Loop, Measure, Method, Mode, Order, Poll, Rate, Spacing, TargetOrder,
};
pub use rule::{Estimator, Rule, RuleFlags};
pub use select::{Measured, Selected, select, shipped, shipped_texts};
