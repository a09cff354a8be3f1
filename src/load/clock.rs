//! One clock for a rung: monotonic, with a single wall-clock anchor.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use super::record::Nanos;

/// Nanoseconds since it was started.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    zero: Instant,
    zero_unix_s: f64,
}

impl Clock {
    /// A clock that shows 0 now.
    pub fn start() -> Self {
        let zero = Instant::now();
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { zero, zero_unix_s: unix.as_secs_f64() }
    }

    /// What it shows.
    #[inline]
    pub fn now(&self) -> Nanos {
        nanos(self.zero.elapsed())
    }

    /// Unix seconds of its 0.
    pub fn zero_unix_s(&self) -> f64 {
        self.zero_unix_s
    }
}

/// A duration in nanoseconds: at most 584 years.
#[inline]
pub fn nanos(duration: Duration) -> Nanos {
    duration.as_secs() * 1_000_000_000 + Nanos::from(duration.subsec_nanos())
}

/// Nanoseconds in seconds.
pub fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 / 1e9
}

/// A latency in seconds, as samples keep it: the nearest multiple of 2⁻³¹ s, which
/// is still the same nanosecond. Other floats have 53 significant bits, most of them
/// noise, and take twice the room when compressed.
pub fn latency(nanos: Nanos) -> f64 {
    const STEPS: f64 = (1_u64 << 31) as f64;
    (seconds(nanos) * STEPS).round() / STEPS
}

/// CPU seconds of this thread so far.
pub fn thread_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_the_same_nanosecond_in_few_bits() {
        for nanos in (0..2_000).chain([999_999, 12_345_678, 60_000_000_001, 86_400_000_000_003]) {
            let latency = latency(nanos);
            assert_eq!((latency * 1e9).round() as Nanos, nanos);
            assert!((latency - seconds(nanos)).abs() < 0.25e-9);
            // Nothing below the step.
            assert_eq!((latency * 2_f64.powi(31)).fract(), 0.0);
        }
    }
}
