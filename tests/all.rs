//! Integration tests: one program, a module per theme.

mod cli;
mod support;
