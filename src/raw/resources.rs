//! `resources.jsonl`: what the sampler saw of each container.

/// One container at one tick.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceSample {
    /// Unix seconds.
    pub t: f64,
    pub container: String,
    /// CPU time used since the container started, in microseconds.
    pub cpu_usec: i64,
    pub mem_bytes: i64,
    pub python_procs: Option<i64>,
}
