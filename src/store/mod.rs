//! The store: derived from run directories, and always to be rebuilt from them.

pub mod schema;
