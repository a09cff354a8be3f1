//! Which of the promised rungs a run has.

use std::collections::BTreeSet;

use serde::Serialize;

use super::super::file::Grid;
use crate::raw::{RungKey, tiers_are_numeric};

/// The most rungs that a grid can promise: a year of windows of half a minute.
const MOST: usize = 1_000_000;

/// A grid that nobody can measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("promises more than {MOST} rungs: nobody can measure it")]
pub struct TooLarge;

/// The rungs of a run beside those that the grid promises, by name, in the
/// canonical order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Promised and measured.
    pub has: Vec<String>,
    /// Promised and not measured.
    pub lacks: Vec<String>,
    /// Measured and not promised.
    pub beside: Vec<String>,
}

impl Coverage {
    /// How many rungs are promised.
    pub fn promised(&self) -> usize {
        self.has.len() + self.lacks.len()
    }
}

/// The rungs that a grid promises, in the canonical order.
///
/// # Errors
/// If they are too many.
pub fn promised(grid: &Grid) -> Result<Vec<RungKey>, TooLarge> {
    let repetitions = usize::try_from(grid.repetitions.unwrap_or(0)).unwrap_or(0);
    let axes = [
        grid.targets.len(),
        grid.tiers.len().max(1),
        grid.classes.len(),
        grid.formats.len(),
        grid.concurrencies.len(),
        repetitions,
    ];
    let rungs = axes.iter().try_fold(1_usize, |product, &axis| product.checked_mul(axis));
    let Some(rungs) = rungs.filter(|&rungs| rungs <= MOST) else { return Err(TooLarge) };
    let tiers: Vec<Option<String>> = if grid.tiers.is_empty() {
        vec![None]
    } else {
        grid.tiers.iter().cloned().map(Some).collect()
    };
    let mut keys = Vec::with_capacity(rungs);
    for target in &grid.targets {
        for tier in &tiers {
            for query_class in &grid.classes {
                for response_format in &grid.formats {
                    for &concurrency in &grid.concurrencies {
                        keys.extend((1..=repetitions).map(|repetition| RungKey {
                            tier: tier.clone(),
                            target: target.clone(),
                            response_format: response_format.clone(),
                            query_class: query_class.clone(),
                            concurrency,
                            repetition: repetition as i64,
                            ..RungKey::default()
                        }));
                    }
                }
            }
        }
    }
    sort(&mut keys);
    Ok(keys)
}

/// What of a grid a run has measured.
///
/// # Errors
/// If the grid promises too many rungs.
pub fn coverage(grid: &Grid, rungs: &[RungKey]) -> Result<Coverage, TooLarge> {
    let mut rungs: Vec<RungKey> = rungs.iter().map(plain).collect();
    sort(&mut rungs);
    let measured: BTreeSet<String> = rungs.iter().map(RungKey::name).collect();
    let promised: Vec<String> = promised(grid)?.iter().map(RungKey::name).collect();
    let is_promised: BTreeSet<String> = promised.iter().cloned().collect();
    let (has, lacks) = promised.into_iter().partition(|name| measured.contains(name));
    let beside =
        rungs.iter().map(RungKey::name).filter(|name| !is_promised.contains(name)).collect();
    Ok(Coverage { has, lacks, beside })
}

/// The key without what a grid means where it says nothing: requests that are
/// sent one after the other, and answered at once.
fn plain(key: &RungKey) -> RungKey {
    let other = |value: &Option<String>, usual: &str| value.clone().filter(|value| value != usual);
    RungKey { mode: other(&key.mode, "sync"), r#loop: other(&key.r#loop, "closed"), ..key.clone() }
}

fn sort(keys: &mut [RungKey]) {
    let numeric = tiers_are_numeric(keys.iter().map(|key| key.tier.as_deref()));
    keys.sort_by(|a, b| a.cmp_in(b, numeric));
}
