//! Registrations in real repositories.

mod content;
mod fixture;
mod history;
mod names;
mod runs;
