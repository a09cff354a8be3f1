//! Rows that may stand once only.

use std::collections::HashMap;

use super::error::{Place, RawError};

/// Refuses a second row about one thing.
#[derive(Debug, Default)]
pub(super) struct Once(HashMap<String, Place>);

impl Once {
    /// Notes that `what` stands at `place`.
    pub(super) fn check(&mut self, what: String, place: &Place) -> Result<(), RawError> {
        match self.0.insert(what.clone(), place.clone()) {
            Some(first) => Err(RawError::DuplicateRow { what, first, second: place.clone() }),
            None => Ok(()),
        }
    }
}
