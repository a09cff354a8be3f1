//! One rung as a run directory states it, whatever the layout.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;

use super::error::{Place, RawError};

/// What tells one rung from another.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct RungKey {
    pub tier: Option<String>,
    pub target: String,
    /// `csv`, `votable`, or `-`.
    pub response_format: String,
    pub query_class: String,
    /// Connections held, from 1.
    pub concurrency: i64,
    /// From 1.
    pub repetition: i64,
    pub instances: Option<i64>,
    /// Event loops of each instance.
    pub loops: Option<i64>,
    /// `sync` or `async`.
    pub mode: Option<String>,
    /// `closed`, `open` or `burst`: then the repetition counts the bursts of a series.
    pub r#loop: Option<String>,
    /// Requests per second that an open loop offers.
    pub offered_rps: Option<f64>,
}

impl RungKey {
    /// The rung's name in files and tables:
    /// `t<tier>-<target>-<format>-<class>-c<n>[-i<n>x<loops>][-async][-burst][-q<rate>]-r<n>`,
    /// without `t…-` in a run without tiers. Characters that a file name
    /// cannot hold become `_`.
    pub fn name(&self) -> String {
        let tier = self.tier.as_ref().map_or_else(String::new, |tier| format!("t{tier}-"));
        let mut name = format!(
            "{tier}{}-{}-{}-c{}",
            self.target, self.response_format, self.query_class, self.concurrency
        );
        name.push_str(&self.variant());
        write!(name, "-r{}", self.repetition).expect("a String takes whatever is written to it");
        name.replace(['/', '\\', '\0'], "_")
    }

    /// The part of the name that most rungs do without.
    fn variant(&self) -> String {
        let instances = self
            .instances
            .map(|instances| format!("-i{instances}x{}", self.loops.unwrap_or(1)))
            .unwrap_or_default();
        let mode = if self.mode.as_deref() == Some("async") { "-async" } else { "" };
        let burst = if self.r#loop.as_deref() == Some("burst") { "-burst" } else { "" };
        let rate = self.offered_rps.map(|rate| format!("-q{rate}")).unwrap_or_default();
        format!("{instances}{mode}{burst}{rate}")
    }

    /// The canonical order: tier, target, response format, query class,
    /// concurrency, then what most rungs do without, then repetition; nulls
    /// first. Tiers are ordered as numbers where `numeric_tiers` says so.
    pub fn cmp_in(&self, other: &Self, numeric_tiers: bool) -> Ordering {
        fn place(key: &RungKey) -> impl Ord + '_ {
            let texts = (&key.target, &key.response_format, &key.query_class);
            (texts, key.concurrency, key.instances, key.loops, &key.mode, &key.r#loop)
        }
        cmp_tiers(self.tier.as_deref(), other.tier.as_deref(), numeric_tiers)
            .then_with(|| place(self).cmp(&place(other)))
            .then_with(|| cmp_rates(self.offered_rps, other.offered_rps))
            .then_with(|| self.repetition.cmp(&other.repetition))
    }
}

fn cmp_rates(a: Option<f64>, b: Option<f64>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

/// The tier as a number, if it is one.
fn tier_number(tier: &str) -> Option<f64> {
    tier.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Whether all tiers are numbers, and so are ordered as such.
pub fn tiers_are_numeric<'a>(mut tiers: impl Iterator<Item = Option<&'a str>>) -> bool {
    tiers.all(|tier| tier.is_none_or(|tier| tier_number(tier).is_some()))
}

/// The order of tiers: none first, then as numbers or as text.
pub fn cmp_tiers(a: Option<&str>, b: Option<&str>, numeric: bool) -> Ordering {
    let number = |tier: Option<&str>| tier.filter(|_| numeric).and_then(tier_number);
    cmp_rates(number(a), number(b)).then_with(|| a.cmp(&b))
}

/// One rung's line. Figures that the layout does not give are `None`; units
/// are those of the `rungs` table.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct RungRecord {
    #[serde(flatten)]
    pub key: RungKey,
    pub server: String,
    /// Requests, failed ones too.
    pub requests: i64,
    pub errors: i64,
    /// `None` where nothing was requested and nothing recorded.
    pub error_fraction: Option<f64>,
    pub elapsed_s: Option<f64>,
    pub window_s: Option<f64>,
    pub rps: f64,
    pub latency_mean_s: Option<f64>,
    pub latency_p50_s: Option<f64>,
    pub latency_p90_s: Option<f64>,
    pub latency_p95_s: Option<f64>,
    pub latency_p99_s: Option<f64>,
    pub latency_p999_s: Option<f64>,
    pub latency_max_s: Option<f64>,
    pub ttfb_p95_s: Option<f64>,
    pub mean_response_bytes: Option<f64>,
    pub generator_workers: Option<i64>,
    pub generator_cpu_peak: Option<f64>,
    pub generator_cpu_s: Option<f64>,
    pub generator_guard_ok: Option<bool>,
    pub started_at: Option<f64>,
    pub ended_at: Option<f64>,
    /// Place in the order of measuring, where recorded.
    pub position: Option<i64>,
    /// Where the line stands.
    #[serde(skip)]
    pub place: Place,
}

/// Sorts rungs in the canonical order of [`RungKey::cmp_in`].
pub fn sort_rungs(rungs: &mut [RungRecord]) {
    let numeric = tiers_are_numeric(rungs.iter().map(|rung| rung.key.tier.as_deref()));
    rungs.sort_by(|a, b| a.key.cmp_in(&b.key, numeric));
}

/// Refuses two rungs with one key, or with one name.
pub(super) fn check_unique(rungs: &[RungRecord]) -> Result<(), RawError> {
    let mut seen: HashMap<String, &RungRecord> = HashMap::with_capacity(rungs.len());
    for rung in rungs {
        if let Some(first) = seen.insert(rung.key.name(), rung) {
            return Err(clash(first, rung));
        }
    }
    Ok(())
}

fn clash(first: &RungRecord, second: &RungRecord) -> RawError {
    let rung = second.key.name();
    let places = (first.place.clone(), second.place.clone());
    if first.key != second.key {
        let difference = difference(&first.key, &second.key);
        return RawError::AmbiguousRung { rung, first: places.0, second: places.1, difference };
    }
    let difference = difference(first, second);
    if difference.is_empty() {
        RawError::DuplicateRung { rung, first: places.0, second: places.1 }
    } else {
        RawError::ConflictingRung { rung, first: places.0, second: places.1, difference }
    }
}

/// The fields in which two rungs, or two keys, differ; empty where in none.
fn difference<T: Serialize>(first: &T, second: &T) -> String {
    let differences: Vec<String> = fields(first)
        .into_iter()
        .zip(fields(second))
        .filter(|((_, first), (_, second))| first != second)
        .map(|((field, first), (_, second))| format!("{field} is {first} there, {second} here"))
        .collect();
    differences.join("; ")
}

fn fields(record: &impl Serialize) -> impl IntoIterator<Item = (String, Value)> {
    match serde_json::to_value(record) {
        Ok(Value::Object(fields)) => fields,
        _ => unreachable!("a rung is a struct of plain fields"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(tier: Option<&str>, concurrency: i64, repetition: i64) -> RungKey {
        RungKey {
            tier: tier.map(str::to_owned),
            target: "egernia".into(),
            response_format: "csv".into(),
            query_class: "Q01".into(),
            concurrency,
            repetition,
            ..RungKey::default()
        }
    }

    fn rung(key: RungKey, line: u64) -> RungRecord {
        RungRecord { key, place: Place::line("f", line), ..RungRecord::default() }
    }

    #[test]
    fn names_hold_what_is_used() {
        assert_eq!(key(Some("8"), 32, 1).name(), "t8-egernia-csv-Q01-c32-r1");
        let full = RungKey {
            target: "a/b".into(),
            instances: Some(3),
            loops: Some(2),
            mode: Some("async".into()),
            offered_rps: Some(2.5),
            ..key(None, 8, 2)
        };
        assert_eq!(full.name(), "a_b-csv-Q01-c8-i3x2-async-q2.5-r2");
        let sync = RungKey { mode: Some("sync".into()), instances: Some(2), ..key(None, 8, 2) };
        assert_eq!(sync.name(), "egernia-csv-Q01-c8-i2x1-r2");
        let burst = RungKey { r#loop: Some("burst".into()), ..sync };
        assert_eq!(burst.name(), "egernia-csv-Q01-c8-i2x1-burst-r2");
    }

    #[test]
    fn tiers_sort_as_numbers_if_all_are() {
        let order = |tiers: &[Option<&str>]| {
            let mut rungs: Vec<_> = tiers.iter().map(|tier| rung(key(*tier, 8, 1), 1)).collect();
            sort_rungs(&mut rungs);
            rungs.into_iter().map(|rung| rung.key.tier.unwrap_or_default()).collect::<Vec<_>>()
        };
        assert_eq!(order(&[Some("16"), None, Some("8")]), ["", "8", "16"]);
        assert_eq!(order(&[Some("8"), Some("16"), Some("big")]), ["16", "8", "big"]);
    }

    #[test]
    fn repetition_comes_last() {
        let open = RungKey { offered_rps: Some(10.0), ..key(None, 8, 1) };
        let mut rungs =
            [open.clone(), key(None, 32, 1), key(None, 8, 2), key(None, 8, 1)].map(|k| rung(k, 1));
        sort_rungs(&mut rungs);
        let keys = rungs.map(|rung| rung.key);
        assert_eq!(keys, [key(None, 8, 1), key(None, 8, 2), open, key(None, 32, 1)]);
    }

    #[test]
    fn twice_the_same_is_not_twice_something_else() {
        let first = rung(key(None, 8, 1), 1);
        let again = rung(key(None, 8, 1), 2);
        let message = check_unique(&[first.clone(), again.clone()]).unwrap_err().to_string();
        assert_eq!(
            message,
            "f:2: duplicate rung `egernia-csv-Q01-c8-r1`: it stands at f:1 already, with the same figures"
        );

        let other = RungRecord { rps: 2.0, ..again.clone() };
        let message = check_unique(&[first.clone(), other]).unwrap_err().to_string();
        assert_eq!(
            message,
            "f:2: rung `egernia-csv-Q01-c8-r1` stands at f:1 already, with other figures: rps is 0.0 there, 2.0 here"
        );

        let mut sync = again;
        sync.key.mode = Some("sync".into());
        let message = check_unique(&[first, sync]).unwrap_err().to_string();
        assert!(message.ends_with("mode is null there, \"sync\" here"), "{message}");
        assert!(message.contains("has the name of another"), "{message}");
    }
}
