//! The files that were read, and their hashes.

/// One file of a run directory that was read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputFile {
    /// Path relative to the run directory, with `/` between its parts.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Its sha256 in lower-case hexadecimal.
    pub sha256: String,
}
