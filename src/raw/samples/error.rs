//! What can be wrong with one request, before it is known where it stands.

use crate::raw::RawError;
use crate::raw::error::Place;

/// What is wrong with a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Problem {
    /// The line is not a JSON object.
    Json(String),
    /// A field holds what it must not.
    Field { field: &'static str, expected: &'static str, found: String },
    /// A field that must be there is not, or is null.
    Missing { field: &'static str, expected: &'static str },
    /// A field is there twice.
    Twice(String),
}

impl Problem {
    /// The error that names the place.
    pub(super) fn at(self, place: Place) -> RawError {
        match self {
            Self::Json(message) => RawError::Json { place, message },
            Self::Field { field, expected, found } => RawError::Field {
                place,
                field: field.to_owned(),
                expected: expected.to_owned(),
                found,
            },
            Self::Missing { field, expected } => {
                RawError::Missing { place, field: field.to_owned(), expected: expected.to_owned() }
            }
            Self::Twice(field) => {
                RawError::Other { place, message: format!("field `{field}` is given twice") }
            }
        }
    }
}

/// A float for a message: in full, but for one that is longer than anybody reads.
pub(super) fn found(value: f64) -> String {
    if value.abs() < 1e16 { value.to_string() } else { format!("{value:e}") }
}
