//! `pins/`: resource limits as they were really applied.

/// One setting that was really applied.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pin {
    pub tier: Option<String>,
    pub target: Option<String>,
    pub container: Option<String>,
    pub key: String,
    /// Verbatim.
    pub value: Option<String>,
}
