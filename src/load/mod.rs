//! The generator: what one rung needs, the loops that send it, and what came of it.
//!
//! [`spec`] says what is to be sent, [`outcome`] what was measured, and [`run`]
//! makes the one of the other. Inside, a [`desk::Desk`] for each worker decides
//! what is sent when and keeps the records, whatever carries the bytes.

pub mod address;
pub mod calibrate;
pub mod campaign;
pub mod carrier;
pub mod check;
pub mod clock;
pub mod course;
pub mod desk;
pub mod error;
mod guard;
#[cfg(target_os = "linux")]
mod http1;
mod low_water;
pub mod outcome;
pub mod pulse;
pub mod record;
mod rung;
pub mod sampler;
pub mod samples;
pub mod spec;
mod summary;
pub mod tls;
mod tokio_http;
pub mod workload;

pub use self::error::LoadError;
pub use self::outcome::{Live, RungOutcome, Watch};
pub use self::spec::RungSpec;
pub use self::workload::Workload;

use self::spec::{HttpVersion, Scheme};

/// Measures one rung. What goes wrong with a request is recorded, not an error.
///
/// # Errors
/// If the spec makes no sense, the host has no address, or the system refuses
/// what a worker needs.
pub fn run(spec: &RungSpec, watch: &mut dyn Watch) -> Result<RungOutcome, LoadError> {
    spec.check()?;
    match (spec.endpoint.scheme, spec.endpoint.http) {
        #[cfg(target_os = "linux")]
        (Scheme::Http, HttpVersion::Http1) => rung::run::<http1::Http1>(spec, watch),
        _ => rung::run::<tokio_http::TokioHttp>(spec, watch),
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
