//! `gates.json`, `t<tier>-gates.json` and the published `gates.csv`.

/// What the gates found about one target of one tier.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gate {
    pub tier: Option<String>,
    pub target: String,
    /// Separated by spaces.
    pub tap_versions: Option<String>,
    pub taplint_passed: Option<bool>,
    pub taplint_errors: Option<i64>,
    pub taplint_errors_blocking: Option<i64>,
    pub maxrec_default: Option<i64>,
}

/// Whether the targets of a tier gave the same answers to one query class.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Agreement {
    pub tier: Option<String>,
    pub query_class: String,
    pub agrees: bool,
    /// Probes compared.
    pub probes: i64,
}
