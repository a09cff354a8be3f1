//! What can be wrong with a run directory, in words that name file, line and field.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where in a run directory something was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// Path of the file, relative to the run directory where it lies in one.
    pub file: PathBuf,
    /// Line in the file, from 1, where lines mean something.
    pub line: Option<u64>,
    /// Element of the file's JSON array, from 0, where it is one.
    pub item: Option<u64>,
}

impl Place {
    /// A file as a whole.
    pub fn file(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into(), line: None, item: None }
    }

    /// A line of a file, counted from 1.
    pub fn line(file: impl Into<PathBuf>, line: u64) -> Self {
        Self { line: Some(line), ..Self::file(file) }
    }

    /// The same place, as element `item` (from 0) of a JSON array.
    pub fn item(self, item: u64) -> Self {
        Self { item: Some(item), ..self }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(item) = self.item {
            write!(f, " [{item}]")?;
        }
        Ok(())
    }
}

/// A run directory that cannot be believed, and why.
#[derive(Debug, thiserror::Error)]
pub enum RawError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },

    #[error("{place}: not valid JSON: {message}")]
    Json { place: Place, message: String },

    #[error("{place}: not valid CSV: {message}")]
    Csv { place: Place, message: String },

    #[error("{place}: not a readable Parquet file: {message}")]
    Parquet { place: Place, message: String },

    #[error("{place}: field `{field}`: expected {expected}, found {found}")]
    Field { place: Place, field: String, expected: String, found: String },

    #[error("{place}: field `{field}` is missing: expected {expected}")]
    Missing { place: Place, field: String, expected: String },

    #[error("{place}: columns are missing: expected {}", columns.join(", "))]
    MissingColumns { place: Place, columns: Vec<String> },

    #[error("{place}: column `{column}` stands twice: expected each column once")]
    DuplicateColumn { place: Place, column: String },

    #[error("{0}: no layout that is known: expected one of {expected}", expected = crate::raw::layout::EXPECTED)]
    UnknownLayout(PathBuf),

    #[error("{}: not a run id: `{found}`: expected letters, digits, `.`, `_` and `-` only, and no `.` in front", path.display())]
    RunId { path: PathBuf, found: String },

    #[error("{0}: expected at least one rung, found none")]
    NoRungs(Place),

    #[error(
        "{second}: duplicate rung `{rung}`: it stands at {first} already, with the same figures"
    )]
    DuplicateRung { rung: String, first: Place, second: Place },

    #[error("{second}: rung `{rung}` stands at {first} already, with other figures: {difference}")]
    ConflictingRung { rung: String, first: Place, second: Place, difference: String },

    #[error(
        "{second}: rung `{rung}` has the name of another at {first}: expected that their names differ, found that {difference}"
    )]
    AmbiguousRung { rung: String, first: Place, second: Place, difference: String },

    #[error("{place}: rung `{rung}` is not among the rungs of the run: expected one of them")]
    UnknownRung { place: Place, rung: String },

    #[error("{second}: {what} stands at {first} already: expected it once")]
    DuplicateRow { what: String, first: Place, second: Place },

    #[error(
        "{place}: rung `{rung}`: percentiles out of order: {lower} is {lower_value}, {upper} is {upper_value}"
    )]
    PercentileOrder {
        place: Place,
        rung: String,
        lower: &'static str,
        lower_value: f64,
        upper: &'static str,
        upper_value: f64,
    },

    #[error("{place}: rung `{rung}` has no file in {}: expected {expected}", samples.display())]
    SamplesMissing { place: Place, rung: String, samples: PathBuf, expected: String },

    #[error("{place}: rung `{rung}`: field `{field}` is {recorded}, but {} gives {recomputed}", samples.display())]
    SamplesDiffer {
        place: Place,
        rung: String,
        field: &'static str,
        recorded: String,
        samples: PathBuf,
        recomputed: String,
    },

    #[error("{place}: {message}")]
    Other { place: Place, message: String },
}

impl RawError {
    /// An I/O error on a path.
    pub fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

/// Something that was read past, and that whoever uses the run should know:
/// printed, and stored as an event of kind `warning`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub place: Place,
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}
