//! The generator: plan, workload, client, loops, guard, sampler, journal.
