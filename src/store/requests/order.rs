//! The requests of one rung in the order of time, in bounded memory.
//!
//! Generators write a request when it has ended, so files are nearly in order
//! but not quite. A rung of up to [`HELD`] requests is sorted whole. Of a longer
//! one that many are held: whenever they are, the earlier half is given on.

use std::ops::Range;
use std::sync::Arc;

use crate::raw::samples::Columns;

/// Requests of one rung that are held at most: some 100 MB.
pub(super) const HELD: usize = 1 << 20;

/// Consecutive requests of one chunk.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    /// Which chunk of [`TimeOrder::chunks`].
    pub chunk: usize,
    pub rows: Range<usize>,
}

/// Puts the requests of one rung in order.
#[derive(Debug)]
pub(super) struct TimeOrder {
    held: usize,
    chunks: Vec<Arc<Columns>>,
    /// What is held: what an earlier sorting left, then what came since.
    spans: Vec<Span>,
    rows: usize,
    /// The latest time that was given on.
    given: f64,
    /// Requests that came after a later one had been given on.
    late: u64,
}

impl TimeOrder {
    /// For a rung of which so many requests may be held.
    pub(super) fn new(held: usize) -> Self {
        let (chunks, spans) = (Vec::new(), Vec::new());
        Self { held, chunks, spans, rows: 0, given: f64::NEG_INFINITY, late: 0 }
    }

    /// Requests that stand out of order, because they came too late.
    pub(super) fn late(&self) -> u64 {
        self.late
    }

    /// Takes the next requests, and gives those on that are early enough.
    ///
    /// What is given on when depends on the number of requests alone, not on
    /// how they come in chunks.
    pub(super) fn push<E>(
        &mut self,
        columns: Arc<Columns>,
        give: &mut impl FnMut(&Arc<Columns>, Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut start = 0;
        while start < columns.len() {
            let end = columns.len().min(start + self.held - self.rows);
            self.spans.push(Span { chunk: self.chunks.len(), rows: start..end });
            self.chunks.push(Arc::clone(&columns));
            self.rows += end - start;
            start = end;
            if self.rows == self.held {
                self.give(self.held / 2, give)?;
            }
        }
        Ok(())
    }

    /// Gives on what is left.
    pub(super) fn finish<E>(
        &mut self,
        give: &mut impl FnMut(&Arc<Columns>, Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.give(self.rows, give)
    }

    /// Sorts what is held and gives on the first `count`.
    fn give<E>(
        &mut self,
        count: usize,
        give: &mut impl FnMut(&Arc<Columns>, Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.sort();
        let mut left = count;
        let mut kept = Vec::new();
        for span in self.spans.drain(..) {
            let take = left.min(span.rows.len());
            let middle = span.rows.start + take;
            left -= take;
            if take > 0 {
                let rows = span.rows.start..middle;
                let times = &self.chunks[span.chunk].t_start[rows.clone()];
                self.late += times.iter().filter(|t| **t < self.given).count() as u64;
                self.given = times.iter().fold(self.given, |given, t| given.max(*t));
                give(&self.chunks[span.chunk], rows)?;
            }
            if middle < span.rows.end {
                kept.push(Span { rows: middle..span.rows.end, ..span });
            }
        }
        self.spans = kept;
        self.rows -= count;
        self.forget();
        Ok(())
    }

    /// Drops the chunks of which nothing is held.
    fn forget(&mut self) {
        let mut places = vec![None; self.chunks.len()];
        let mut chunks = Vec::new();
        for span in &mut self.spans {
            let place = places[span.chunk].get_or_insert_with(|| {
                chunks.push(Arc::clone(&self.chunks[span.chunk]));
                chunks.len() - 1
            });
            span.chunk = *place;
        }
        self.chunks = chunks;
    }

    /// Sorts the spans by time; requests of one time stay as they are.
    fn sort(&mut self) {
        if self.is_sorted() {
            return;
        }
        let mut rows = Vec::with_capacity(self.rows);
        for span in &self.spans {
            let times = &self.chunks[span.chunk].t_start;
            let chunk = span.chunk as u32;
            rows.extend(span.rows.clone().map(|row| (times[row], chunk, row as u32)));
        }
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.spans.clear();
        for (_, chunk, row) in rows {
            let (chunk, row) = (chunk as usize, row as usize);
            match self.spans.last_mut() {
                Some(last) if last.chunk == chunk && last.rows.end == row => last.rows.end += 1,
                _ => self.spans.push(Span { chunk, rows: row..row + 1 }),
            }
        }
    }

    fn is_sorted(&self) -> bool {
        let mut last = f64::NEG_INFINITY;
        self.spans.iter().all(|span| {
            let times = &self.chunks[span.chunk].t_start[span.rows.clone()];
            let follows = times.first().is_none_or(|first| last <= *first);
            last = times.last().copied().unwrap_or(last);
            follows && times.is_sorted()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(times: &[f64]) -> Arc<Columns> {
        Arc::new(Columns { t_start: times.to_vec(), ..Columns::default() })
    }

    /// The times in the order in which they are given on, and how many are late.
    fn order(chunks: &[&[f64]], held: usize) -> (Vec<f64>, u64) {
        let mut order = TimeOrder::new(held);
        let mut given = Vec::new();
        let mut give = |columns: &Arc<Columns>, rows: Range<usize>| {
            given.extend_from_slice(&columns.t_start[rows]);
            Ok::<_, ()>(())
        };
        for chunk in chunks {
            order.push(columns(chunk), &mut give).unwrap();
        }
        order.finish(&mut give).unwrap();
        (given, order.late())
    }

    #[test]
    fn requests_are_sorted_across_chunks() {
        let expected = (vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0);
        assert_eq!(order(&[&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]], 100), expected);
        assert_eq!(order(&[&[6.0, 2.0], &[], &[5.0, 3.0, 1.0], &[4.0]], 100), expected);
        assert_eq!(order(&[], 100), (vec![], 0));
    }

    #[test]
    fn what_is_nearly_in_order_needs_little_room() {
        let times: Vec<f64> = (0..100).map(|at| f64::from(at ^ 3)).collect();
        let sorted: Vec<f64> = (0..100).map(f64::from).collect();
        for length in [1, 3, 7, 100] {
            let chunks: Vec<&[f64]> = times.chunks(length).collect();
            assert_eq!(order(&chunks, 8), (sorted.clone(), 0), "{length}");
        }
    }

    #[test]
    fn what_comes_too_late_is_counted_and_kept() {
        let times = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.5, 7.0];
        for length in [1, 3, 8] {
            let chunks: Vec<&[f64]> = times.chunks(length).collect();
            let (given, late) = order(&chunks, 4);
            assert_eq!((given.len(), late), (8, 1));
            assert_eq!(given, [1.0, 2.0, 3.0, 4.0, 0.5, 5.0, 6.0, 7.0]);
        }
    }

    #[test]
    fn requests_of_one_time_keep_the_order_of_the_file() {
        let mut order = TimeOrder::new(10);
        let mut given = Vec::new();
        let mut give = |columns: &Arc<Columns>, rows: Range<usize>| {
            given.extend(rows.map(|row| columns.status[row]));
            Ok::<_, ()>(())
        };
        for statuses in [[1, 2], [3, 4]] {
            let columns = Columns {
                t_start: vec![2.0, 1.0],
                status: statuses.to_vec(),
                ..Columns::default()
            };
            order.push(Arc::new(columns), &mut give).unwrap();
        }
        order.finish(&mut give).unwrap();
        assert_eq!(given, [2, 4, 1, 3]);
    }
}
