//! Values as Parquet has them: texts after their lengths, counts as codes.

use super::pages::{Bounds, NO_CODE};
use crate::raw::samples::NO_COUNT;

/// Texts as Parquet has them: each after its length.
#[derive(Debug, Default)]
pub(super) struct PlainTexts {
    bytes: Vec<u8>,
    /// The bytes that each takes: none at all for a null.
    lengths: Vec<usize>,
}

impl PlainTexts {
    /// Adds a text, or a null.
    pub(super) fn push(&mut self, text: Option<&[u8]>) {
        let start = self.bytes.len();
        if let Some(text) = text {
            self.bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            self.bytes.extend_from_slice(text);
        }
        self.lengths.push(self.bytes.len() - start);
    }

    /// The texts with their lengths.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes that each text takes with its length; 0 for a null.
    pub(super) fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Drops all texts.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.lengths.clear();
    }
}

/// The smallest and the largest of some values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent<T>(Option<(T, T)>);

impl<T: Copy + PartialOrd> Extent<T> {
    /// Of no value.
    pub(super) fn new() -> Self {
        Self(None)
    }

    /// Takes a value in.
    #[inline]
    pub(super) fn add(&mut self, value: T) {
        self.0 = match self.0 {
            None => Some((value, value)),
            Some((min, max)) if value < min => Some((value, max)),
            Some((min, max)) if value > max => Some((min, value)),
            same => same,
        };
    }
}

impl Extent<f64> {
    pub(super) fn bounds(self) -> Bounds<'static> {
        self.0.map_or(Bounds::None, |(min, max)| Bounds::Float(min, max))
    }
}

impl Extent<i64> {
    pub(super) fn bounds(self) -> Bounds<'static> {
        self.0.map_or(Bounds::None, |(min, max)| Bounds::Int(min, max))
    }
}

impl<'a> Extent<&'a [u8]> {
    pub(super) fn bounds(self) -> Bounds<'a> {
        self.0.map_or(Bounds::None, |(min, max)| Bounds::Text(min, max))
    }
}

/// Counts of which many are equal, by codes.
#[derive(Debug)]
pub(super) struct Coded {
    pub codes: Vec<u32>,
    /// The different counts, as Parquet has them.
    pub dictionary: Vec<u8>,
    /// How many they are.
    pub count: usize,
}

impl Coded {
    /// Different counts that a dictionary has at most.
    const LARGEST: usize = 1 << 14;
    /// Places for them: a power of two, twice as many.
    const PLACES: usize = 2 * Self::LARGEST;

    /// None where there are too many different ones.
    pub(super) fn of(values: &[i64]) -> Option<Self> {
        let mut places = vec![(NO_COUNT, NO_CODE); Self::PLACES];
        let mut coded =
            Self { codes: Vec::with_capacity(values.len()), dictionary: Vec::new(), count: 0 };
        let mut last = (NO_COUNT, NO_CODE);
        for value in values {
            if *value != last.0 {
                last = if *value == NO_COUNT {
                    (NO_COUNT, NO_CODE)
                } else {
                    coded.look_up(*value, &mut places)?
                };
            }
            coded.codes.push(last.1);
        }
        Some(coded)
    }

    fn look_up(&mut self, value: i64, places: &mut [(i64, u32)]) -> Option<(i64, u32)> {
        let mixed = value.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut place = (mixed >> 32) as usize % Self::PLACES;
        while places[place].0 != value {
            if places[place].1 == NO_CODE {
                if self.count == Self::LARGEST {
                    return None;
                }
                places[place] = (value, self.count as u32);
                self.dictionary.extend_from_slice(&value.to_le_bytes());
                self.count += 1;
                break;
            }
            place = (place + 1) % Self::PLACES;
        }
        Some(places[place])
    }
}
