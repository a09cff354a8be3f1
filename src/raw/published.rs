//! Figures that were printed rather than measured.

/// What a published run or a published table printed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Published {}
