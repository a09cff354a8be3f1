//! ADQL: from text to a statement that the query engine plans, and the
//! functions that it can use.

pub mod check;
pub mod functions;
pub mod names;
pub mod numbers;
pub mod statement;

#[cfg(test)]
mod tests;
