//! What a worker lets others see while it runs: counters on a cache line of its
//! own, written by it alone.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use super::record::Nanos;

/// Buckets of each doubling: a value is known within 1 part in 16.
const SUB: u32 = 3;
/// 2^40 ns are 18 minutes.
const BUCKETS: usize = (40 << SUB) as usize;

/// The bucket of a duration: linear below 8 ns, then eight to each doubling.
#[inline]
fn bucket(nanos: Nanos) -> usize {
    let exponent = (Nanos::BITS - nanos.leading_zeros()).saturating_sub(SUB + 1);
    let at = ((exponent << SUB) as u64 + (nanos >> exponent)) as usize;
    at.min(BUCKETS - 1)
}

/// The middle of a bucket.
fn middle(bucket: usize) -> Nanos {
    let exponent = (bucket >> SUB).saturating_sub(1);
    let lower = (bucket - (exponent << SUB)) as Nanos;
    (lower << exponent) + ((1 << exponent) >> 1)
}

/// Counts of durations by size, of one worker.
#[derive(Debug, Clone)]
pub struct Histogram {
    counts: Vec<u64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS] }
    }
}

impl Histogram {
    #[inline]
    pub fn add(&mut self, nanos: Nanos) {
        self.counts[bucket(nanos)] += 1;
    }

    /// Takes those of another in.
    pub fn merge(&mut self, other: &Self) {
        for (own, other) in self.counts.iter_mut().zip(&other.counts) {
            *own += other;
        }
    }

    /// The value at the fraction `p`, within 1 part in 16; none of no value.
    pub fn percentile(&self, p: f64) -> Option<Nanos> {
        let total: u64 = self.counts.iter().sum();
        let rank = (p * total.saturating_sub(1) as f64) as u64;
        let mut below = 0;
        let at = self.counts.iter().position(|count| {
            below += count;
            below > rank
        })?;
        Some(middle(at))
    }
}

/// Live counters of one worker.
#[derive(Debug)]
#[repr(align(128))]
pub struct Pulse {
    /// Its thread, for the guard; 0 until it runs.
    thread: AtomicI32,
    ended: AtomicU64,
    failed: AtomicU64,
    response: Vec<AtomicU32>,
}

impl Default for Pulse {
    fn default() -> Self {
        Self {
            thread: AtomicI32::new(0),
            ended: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            response: (0..BUCKETS).map(|_| AtomicU32::new(0)).collect(),
        }
    }
}

impl Pulse {
    /// Says which thread runs; called by that thread.
    pub fn begin(&self) {
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        self.thread.store(thread, Ordering::Relaxed);
    }

    /// The thread, once it runs.
    pub fn thread(&self) -> Option<i32> {
        Some(self.thread.load(Ordering::Relaxed)).filter(|thread| *thread != 0)
    }

    /// Counts a request that ended. One thread writes, so that no addition needs
    /// to be atomic.
    #[inline]
    pub fn ended(&self, succeeded: bool, response: Nanos) {
        self.ended.store(self.ended.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if succeeded {
            let count = &self.response[bucket(response)];
            count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        } else {
            self.failed.store(self.failed.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// Requests that ended and those of them that failed, so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.ended.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }

    /// Adds the response times so far to a histogram.
    pub fn add_to(&self, histogram: &mut Histogram) {
        for (sum, count) in histogram.counts.iter_mut().zip(&self.response) {
            *sum += u64::from(count.load(Ordering::Relaxed));
        }
    }
}

impl Histogram {
    /// What came since `before`.
    pub fn since(&self, before: &Self) -> Self {
        let pairs = self.counts.iter().zip(&before.counts);
        Self { counts: pairs.map(|(now, before)| now.saturating_sub(*before)).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_near_its_values() {
        let mut last = 0;
        for nanos in (0..200_000).chain((200_000..5_000_000_000).step_by(9_999_991)) {
            let bucket = bucket(nanos);
            assert!(bucket >= last, "{nanos}");
            last = bucket;
            let off = middle(bucket).abs_diff(nanos);
            assert!(off * 15 <= nanos, "{nanos} is taken for {}", middle(bucket));
        }
        assert_eq!(bucket(Nanos::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_of_few_and_of_the_last() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(0.5), None);
        histogram.add(1_000);
        let before = histogram.clone();
        for _ in 0..99 {
            histogram.add(1_000_000);
        }
        assert!(histogram.percentile(0.0).unwrap() < 1_100);
        assert!(histogram.percentile(0.5).unwrap() > 900_000);
        assert!(histogram.since(&before).percentile(0.0).unwrap() > 900_000);
    }

    #[test]
    fn a_pulse_counts() {
        let pulse = Pulse::default();
        assert_eq!(pulse.thread(), None);
        pulse.begin();
        assert!(pulse.thread().is_some());
        pulse.ended(true, 5);
        pulse.ended(false, 7);
        assert_eq!(pulse.counts(), (2, 1));
        let mut histogram = Histogram::default();
        pulse.add_to(&mut histogram);
        assert_eq!(histogram.percentile(1.0), Some(5));
    }
}
