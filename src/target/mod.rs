//! Targets that this program itself can be: servers on the loopback.

pub mod tap;
