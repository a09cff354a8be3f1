//! What is served: the corpus, the description of all tables, and the tables
//! that the query engine reads.

pub mod catalog;
pub mod column;
pub mod corpus;
pub mod index;
pub mod obscore;
pub mod predicate;
pub mod table;
pub mod tap_schema;
