//! Pure functions on numbers: intervals, percentiles, fits. No I/O, and no
//! knowledge of servers or rungs.
//!
//! A figure that is not defined (an interval of one value, a line through
//! points of one abscissa) is `None`. A value that is not finite is an error:
//! nothing here passes a NaN on.

pub mod fit;
pub mod interval;
pub mod percentile;
pub mod verdict;
pub mod welch;

/// A value that no statistic can be made of.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// A NaN or an infinity among the values.
    #[error("value {index} is {value}: expected a finite number")]
    NotFinite { index: usize, value: f64 },
    /// A probability or a confidence outside its range.
    #[error("{what} is {value}: expected a number between 0 and 1, both excluded")]
    NotAProbability { what: &'static str, value: f64 },
}

/// Refuses values that are not finite.
fn finite(values: &[f64]) -> Result<(), StatsError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(StatsError::NotFinite { index, value: values[index] }),
        None => Ok(()),
    }
}

/// Refuses a probability that is not strictly between 0 and 1.
fn probability(what: &'static str, value: f64) -> Result<(), StatsError> {
    if value > 0.0 && value < 1.0 {
        Ok(())
    } else {
        Err(StatsError::NotAProbability { what, value })
    }
}
