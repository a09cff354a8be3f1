//! The exact percentiles of as many values as there are, in bounded memory.
//!
//! Up to a limit the values are held, beyond it they go to a file without a
//! name. The value of a rank is found there by its bits, sixteen at a time from
//! the top: of values that are not negative, the bits as an integer are in the
//! order of the values. Each pass over the file counts the values by their next
//! sixteen bits, which says in which of the 65536 parts the rank lies, until
//! that part is few enough to be held.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::stats::percentile::Rank;

/// Values that are held at most: 16 MiB.
pub const HELD: usize = 2 << 20;

/// Values, none negative and none NaN, whose percentiles are asked for at the end.
#[derive(Debug)]
pub(super) struct Distribution {
    /// The bits of the values that are not in the file.
    held: Vec<u64>,
    limit: usize,
    folder: PathBuf,
    spilled: Option<Spilled>,
    max: f64,
}

#[derive(Debug)]
struct Spilled {
    file: File,
    count: usize,
    /// How many values there are by their top sixteen bits.
    parts: Vec<usize>,
}

impl Distribution {
    /// Holds `limit` values at most, and puts the others in a file in `folder`.
    pub(super) fn new(folder: &Path, limit: usize) -> Self {
        let folder = folder.to_owned();
        Self { held: Vec::new(), limit, folder, spilled: None, max: f64::NEG_INFINITY }
    }

    /// Takes a value in, which must not be negative nor NaN.
    #[inline]
    pub(super) fn add(&mut self, value: f64) -> io::Result<()> {
        debug_assert!(value >= 0.0, "{value}");
        if self.held.len() >= self.limit {
            self.spill()?;
        }
        self.held.push(value.to_bits());
        self.max = self.max.max(value);
        Ok(())
    }

    fn count(&self) -> usize {
        self.held.len() + self.spilled.as_ref().map_or(0, |spilled| spilled.count)
    }

    /// The largest value, if there is any.
    pub(super) fn max(&self) -> Option<f64> {
        (self.count() > 0).then_some(self.max)
    }

    /// The percentiles at some fractions in ascending order, each none where
    /// there is no value.
    pub(super) fn percentiles<const N: usize>(
        mut self,
        fractions: [f64; N],
    ) -> io::Result<[Option<f64>; N]> {
        let count = self.count();
        let ranks = fractions.map(|p| Rank::new(count, p));
        let mut wanted: Vec<usize> =
            ranks.iter().flatten().flat_map(|rank| [rank.lower, rank.upper]).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let values = if self.spilled.is_some() {
            self.spill()?;
            self.select_from_file(&wanted)?
        } else {
            select(&mut self.held, &wanted)
        };
        let value = |rank: usize| {
            let at = wanted.binary_search(&rank).expect("every rank is among those wanted");
            f64::from_bits(values[at])
        };
        Ok(ranks.map(|rank| rank.map(|rank| rank.between(value(rank.lower), value(rank.upper)))))
    }

    /// Moves what is held to the file.
    #[cold]
    fn spill(&mut self) -> io::Result<()> {
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            None => self.spilled.insert(Spilled {
                file: tempfile::tempfile_in(&self.folder)?,
                count: 0,
                parts: vec![0; 1 << 16],
            }),
        };
        let mut bytes = Vec::with_capacity(PIECE);
        for values in self.held.chunks(PIECE / 8) {
            bytes.clear();
            for bits in values {
                spilled.parts[(bits >> 48) as usize] += 1;
                bytes.extend_from_slice(&bits.to_le_bytes());
            }
            spilled.file.write_all(&bytes)?;
        }
        spilled.count += self.held.len();
        self.held.clear();
        Ok(())
    }

    /// The values of some ranks in ascending order.
    fn select_from_file(&mut self, ranks: &[usize]) -> io::Result<Vec<u64>> {
        let Some(spilled) = &mut self.spilled else { return Ok(Vec::new()) };
        // Ranks are close in pairs: most parts that are read serve two.
        let mut part = Part { first: 0, values: Vec::new() };
        let mut found = Vec::with_capacity(ranks.len());
        for rank in ranks {
            if !part.holds(*rank) {
                part = spilled.part(*rank, self.limit)?;
            }
            found.push(part.values[rank - part.first]);
        }
        Ok(found)
    }
}

/// Bytes of the file that are written or read at once.
const PIECE: usize = 64 << 10;

/// Some of the values in ascending order, and the rank of the first.
struct Part {
    first: usize,
    values: Vec<u64>,
}

impl Part {
    fn holds(&self, rank: usize) -> bool {
        (self.first..self.first + self.values.len()).contains(&rank)
    }
}

impl Spilled {
    /// A part of at most `limit` values, or of equal ones, that holds a rank.
    fn part(&mut self, rank: usize, limit: usize) -> io::Result<Part> {
        let mut first = 0;
        let mut prefix = 0;
        let mut parts = self.parts.clone();
        for known in [16, 32, 48, 64] {
            let mut next = 0;
            while first + parts[next] <= rank {
                first += parts[next];
                next += 1;
            }
            prefix = prefix << 16 | next as u64;
            let count = parts[next];
            if known == 64 {
                break;
            }
            let belongs = |bits: u64| bits >> (64 - known) == prefix;
            if count <= limit {
                let mut values = Vec::with_capacity(count);
                self.each(|bits| values.extend(belongs(bits).then_some(bits)))?;
                values.sort_unstable();
                return Ok(Part { first, values });
            }
            parts.fill(0);
            self.each(|bits| {
                let next = bits >> (48 - known) & 0xffff;
                parts[next as usize] += usize::from(belongs(bits));
            })?;
        }
        // All sixty-four bits are known: one value, as often as it takes.
        Ok(Part { first: rank, values: vec![prefix] })
    }

    /// Reads the file once.
    fn each(&mut self, mut visit: impl FnMut(u64)) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut file = BufReader::with_capacity(PIECE, &self.file);
        let mut bytes = [0; 8];
        for _ in 0..self.count {
            file.read_exact(&mut bytes)?;
            visit(u64::from_le_bytes(bytes));
        }
        Ok(())
    }
}

/// The values of some ranks in ascending order, of values that are held.
fn select(values: &mut [u64], ranks: &[usize]) -> Vec<u64> {
    let mut found = Vec::with_capacity(ranks.len());
    let mut start = 0;
    for rank in ranks {
        // Whatever stands from `start` on is no less than what was found.
        let (_, value, _) = values[start..].select_nth_unstable(rank - start);
        found.push(*value);
        start = rank + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::percentile::percentile;

    const FRACTIONS: [f64; 7] = [0.0, 0.25, 0.5, 0.9, 0.95, 0.999, 1.0];

    fn percentiles(values: &[f64], limit: usize) -> [Option<f64>; 7] {
        let folder = tempfile::tempdir().unwrap();
        let mut distribution = Distribution::new(folder.path(), limit);
        for value in values {
            distribution.add(*value).unwrap();
        }
        assert_eq!(distribution.max(), values.iter().copied().reduce(f64::max));
        distribution.percentiles(FRACTIONS).unwrap()
    }

    fn agrees(values: &[f64]) {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let expected = FRACTIONS.map(|p| percentile(&sorted, p));
        for limit in [1, 2, 7, 100, values.len() + 1] {
            assert_eq!(percentiles(values, limit), expected, "{} values, {limit}", values.len());
        }
    }

    #[test]
    fn a_file_gives_what_memory_gives() {
        let spread = |at: u64| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64;
        agrees(&[]);
        agrees(&[0.25]);
        agrees(&[0.0, 0.0, 0.0]);
        agrees(&(0..1_000).map(|at| spread(at) / 2_f64.powi(53)).collect::<Vec<_>>());
        // Of one part after the first pass, and after the second.
        agrees(&(0..500).map(|at| 1.0 + spread(at) / 2_f64.powi(90)).collect::<Vec<_>>());
        agrees(&(0..500).map(|at| f64::from_bits(1.5_f64.to_bits() + at % 9)).collect::<Vec<_>>());
        // Many times the same, more than may be held.
        agrees(&(0..600).map(|at| f64::from(at % 3)).collect::<Vec<_>>());
    }
}
