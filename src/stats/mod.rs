//! Pure functions on numbers: no files, no tables, no knowledge of the rest.

pub mod percentile;
