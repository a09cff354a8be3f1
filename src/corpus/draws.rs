//! Random draws that are the same on any machine and in any version.

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::portable::{exp, ln};

/// The generator by name, as it stands in `corpus.json`. Its output is defined
/// by the algorithm, where that of a "standard" generator may change.
pub const GENERATOR: &str = "ChaCha12 (rand_chacha), key: seed as u64 LE, then `tapstat corpus 1`";

/// What follows the seed in the key. Another table from the same seed is
/// another version of the corpus, and needs another text here.
const KEY: [u8; 24] = *b"tapstat corpus 1\0\0\0\0\0\0\0\0";

/// One stream of draws.
#[derive(Debug, Clone)]
pub struct Draws(ChaCha12Rng);

impl Draws {
    /// The stream of a seed by its number: streams do not depend on each other,
    /// so row 7 is the same in a table of 10 rows and of a million.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..].copy_from_slice(&KEY);
        let mut generator = ChaCha12Rng::from_seed(key);
        generator.set_stream(stream);
        Self(generator)
    }

    /// From 0 up to, and without, 1; 53 bits.
    pub fn fraction(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From `low` to `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.fraction()
    }

    /// From `low` to `high`, both above 0, even in the logarithm.
    pub fn log_between(&mut self, low: f64, high: f64) -> f64 {
        exp(self.between(ln(low), ln(high)))
    }

    /// From 0 up to, and without, `end`, which is above 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(end)) >> 64) as u64
    }

    /// From `low` to `high`, both included.
    pub fn integer(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as u64) as i64
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// One of a list that is not empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len() as u64) as usize]
    }

    /// One of a list by weight.
    pub fn weighted<'a, T>(&mut self, list: &'a [T], weight: impl Fn(&T) -> u64) -> &'a T {
        let mut left = self.below(list.iter().map(&weight).sum());
        for item in list {
            match left.checked_sub(weight(item)) {
                None => return item,
                Some(rest) => left = rest,
            }
        }
        unreachable!("the draw is below the sum of the weights")
    }

    /// A list in another order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            list.swap(end, self.below(end as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_apart_and_known() {
        let first = Draws::new(424_242, 1).0.next_u64();
        assert_eq!(first, Draws::new(424_242, 1).0.next_u64());
        assert_ne!(first, Draws::new(424_242, 2).0.next_u64());
        assert_ne!(first, Draws::new(424_243, 1).0.next_u64());
        // The corpus hangs on it: another value is another corpus.
        assert_eq!(first, 12_652_014_981_252_866_524);
    }

    #[test]
    fn ranges_hold() {
        let mut draws = Draws::new(1, 1);
        for _ in 0..2000 {
            assert!((2.0..3.0).contains(&draws.between(2.0, 3.0)));
            assert!((0.999e-3..1e3).contains(&draws.log_between(1e-3, 1e3)));
            assert!((-2..=2).contains(&draws.integer(-2, 2)));
            assert_eq!(*draws.weighted(&[0, 3, 0], |weight| *weight), 3);
        }
        let mut list: Vec<u32> = (0..100).collect();
        draws.shuffle(&mut list);
        assert_ne!(list, (0..100).collect::<Vec<_>>());
        list.sort_unstable();
        assert_eq!(list, (0..100).collect::<Vec<_>>());
    }
}
