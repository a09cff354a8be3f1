//! Which of the promised rungs a run has.

use std::collections::BTreeSet;

use serde::Serialize;

use super::super::file::{Grid, Protocol};
use super::super::measure::{Loop, Measure, Mode, Rate};
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

/// What every cell of the grid is measured as, and how often.
struct Variant {
    r#loop: Option<String>,
    offered_rps: Option<f64>,
    repetitions: i64,
}

/// The variants that a protocol names. The rate of a share is known only once
/// the closed loop that it is a share of was measured, once for each cell: that
/// rung is promised, and those of the share are not.
fn variants(grid: &Grid, measure: &Measure) -> Vec<Variant> {
    let repetitions = grid.repetitions.unwrap_or(0);
    let closed = |repetitions| Variant { r#loop: None, offered_rps: None, repetitions };
    match measure.r#loop {
        Loop::Closed => return vec![closed(repetitions)],
        Loop::Burst => {
            return vec![Variant {
                r#loop: Some(Loop::Burst.name().to_owned()),
                offered_rps: None,
                repetitions: measure.burst.map_or(0, |burst| burst.count),
            }];
        }
        Loop::Open => {}
    }
    let has_shares = measure.rates.iter().any(|rate| matches!(rate, Rate::Share(_)));
    let capacity = has_shares.then(|| closed(repetitions.min(1)));
    let open = measure.rates.iter().filter_map(|rate| match rate {
        Rate::PerSecond(rate) => Some(Variant {
            r#loop: Some(Loop::Open.name().to_owned()),
            offered_rps: Some(*rate),
            repetitions,
        }),
        Rate::Share(_) => None,
    });
    capacity.into_iter().chain(open).collect()
}

/// The rungs that a protocol promises, in the canonical order.
///
/// # Errors
/// If they are too many.
pub fn promised(protocol: &Protocol) -> Result<Vec<RungKey>, TooLarge> {
    let (grid, measure) = (&protocol.grid, &protocol.measure);
    let variants = variants(grid, measure);
    let mode = Some(measure.mode.name().to_owned()).filter(|_| measure.mode != Mode::Sync);
    let repetitions = variants.iter().map(|variant| variant.repetitions.max(0) as usize).sum();
    let axes = [
        grid.targets.len(),
        grid.tiers.len().max(1),
        grid.classes.len(),
        grid.formats.len(),
        grid.concurrencies.len(),
        grid.instances.len().max(1),
        repetitions,
    ];
    let rungs = axes.iter().try_fold(1_usize, |product, &axis| product.checked_mul(axis));
    let Some(rungs) = rungs.filter(|&rungs| rungs <= MOST) else { return Err(TooLarge) };
    let tiers: Vec<Option<String>> = if grid.tiers.is_empty() {
        vec![None]
    } else {
        grid.tiers.iter().cloned().map(Some).collect()
    };
    let instances: Vec<Option<i64>> = match grid.instances.as_slice() {
        [] => vec![None],
        instances => instances.iter().copied().map(Some).collect(),
    };
    let stages: Vec<(&Option<String>, Option<i64>)> =
        tiers.iter().flat_map(|tier| instances.iter().map(move |count| (tier, *count))).collect();
    let mut keys = Vec::with_capacity(rungs);
    for target in &grid.targets {
        for &(tier, instances) in &stages {
            for query_class in &grid.classes {
                for response_format in &grid.formats {
                    for &concurrency in &grid.concurrencies {
                        let of = |variant: &Variant, repetition| RungKey {
                            tier: tier.clone(),
                            target: target.clone(),
                            response_format: response_format.clone(),
                            query_class: query_class.clone(),
                            concurrency,
                            repetition,
                            mode: mode.clone(),
                            r#loop: variant.r#loop.clone(),
                            offered_rps: variant.offered_rps,
                            instances,
                            loops: instances.and(Some(1)),
                        };
                        for variant in &variants {
                            let repetitions = 1..=variant.repetitions;
                            keys.extend(repetitions.map(|repetition| of(variant, repetition)));
                        }
                    }
                }
            }
        }
    }
    sort(&mut keys);
    Ok(keys)
}

/// What of a protocol's grid a run has measured.
///
/// # Errors
/// If the grid promises too many rungs.
pub fn coverage(protocol: &Protocol, rungs: &[RungKey]) -> Result<Coverage, TooLarge> {
    let mut rungs: Vec<RungKey> = rungs.iter().map(plain).collect();
    sort(&mut rungs);
    let promised: Vec<String> = promised(protocol)?.iter().map(RungKey::name).collect();
    let is_promised: BTreeSet<String> = promised.iter().cloned().collect();
    let names = rungs.iter().map(RungKey::name);
    let mut measured: BTreeSet<String> = names.filter(|name| is_promised.contains(name)).collect();
    let mut beside = Vec::new();
    for key in rungs.iter().filter(|key| !measured.contains(&key.name())).collect::<Vec<_>>() {
        // How many instances there would be was found out by measuring: such a
        // rung is the one that was promised, if no other is.
        let uncounted = RungKey { instances: None, loops: None, ..key.clone() }.name();
        if !is_promised.contains(&uncounted) || !measured.insert(uncounted) {
            beside.push(key.name());
        }
    }
    let (has, lacks) = promised.into_iter().partition(|name| measured.contains(name));
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
