//! The generator: plan, workload, client, loops, guard, sampler, journal.

pub mod campaign;
pub mod sampler;
