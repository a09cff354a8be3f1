//! `environment.json`: where, when and on what a run was measured.

/// What `environment.json` says; every field is empty where the file, or the
/// field, is missing.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    pub git_sha: Option<String>,
    pub git_branch: Option<String>,
    pub git_describe: Option<String>,
    pub git_dirty: Option<bool>,
    /// Unix seconds.
    pub recorded_at: Option<f64>,
    pub seed: Option<i64>,
    pub corpus_sha256: Option<String>,
    pub dataset_sha256: Option<String>,
    /// The scenarios by name, as JSON text with sorted keys.
    pub scenario: Option<String>,
    /// Length of a measured window, where all scenarios agree on it.
    pub measure_seconds: Option<f64>,
    pub host_cpus: Option<i64>,
    pub host_platform: Option<String>,
    /// (target, server) pairs, sorted.
    pub targets: Vec<(String, Option<String>)>,
    /// The `resumed` entries, each as JSON text.
    pub resumed: Vec<String>,
}
