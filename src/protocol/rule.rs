//! The rule that turns cells into verdicts.

use std::fmt;

use serde::Deserialize;

/// What stands for a cell: the point that comparisons compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Estimator {
    /// The arithmetic mean over the repetitions.
    #[default]
    Mean,
    /// Their median; the half-width stays that of the mean.
    Median,
}

impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mean => "mean",
            Self::Median => "median",
        })
    }
}

/// How cells are judged.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// Confidence of the intervals, strictly between 0 and 1.
    pub confidence: f64,
    /// Smallest relative difference that counts, 0 or more.
    pub tie_floor: f64,
    /// Largest error fraction of a clean target, 0 to 1.
    pub error_ceiling: f64,
    /// CPU of one generator worker, as a fraction of a core, at which the
    /// guard voids a rung; above 0.
    pub guard_max: f64,
    /// Smallest share of a window that resource samples must cover, 0 to 1.
    pub min_coverage: f64,
    /// What stands for a cell.
    pub estimator: Estimator,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            confidence: 0.95,
            tie_floor: 0.10,
            error_ceiling: 0.01,
            guard_max: 0.60,
            min_coverage: 0.8,
            estimator: Estimator::Mean,
        }
    }
}

impl Rule {
    /// The figures that are out of their range, as (name, value, expected).
    pub fn out_of_range(&self) -> impl Iterator<Item = (&'static str, f64, &'static str)> {
        let fraction = |value: f64| (0.0..=1.0).contains(&value);
        [
            (
                "confidence",
                self.confidence,
                self.confidence > 0.0 && self.confidence < 1.0,
                "a number between 0 and 1, both excluded",
            ),
            (
                "tie_floor",
                self.tie_floor,
                self.tie_floor.is_finite() && self.tie_floor >= 0.0,
                "0 or more",
            ),
            (
                "error_ceiling",
                self.error_ceiling,
                fraction(self.error_ceiling),
                "a fraction from 0 to 1",
            ),
            (
                "guard_max",
                self.guard_max,
                self.guard_max.is_finite() && self.guard_max > 0.0,
                "a fraction of a core above 0",
            ),
            (
                "min_coverage",
                self.min_coverage,
                fraction(self.min_coverage),
                "a fraction from 0 to 1",
            ),
        ]
        .into_iter()
        .filter(|(_, _, holds, _)| !holds)
        .map(|(name, value, _, expected)| (name, value, expected))
    }
}

/// What the command line changes of a rule.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RuleFlags {
    /// Replaces [`Rule::tie_floor`].
    pub tie_floor: Option<f64>,
    /// Replaces [`Rule::confidence`].
    pub confidence: Option<f64>,
    /// Replaces [`Rule::error_ceiling`].
    pub error_ceiling: Option<f64>,
    /// Replaces [`Rule::guard_max`], and voids every rung whose peak reached it.
    pub guard_max: Option<f64>,
    /// Replaces [`Rule::estimator`].
    pub estimator: Option<Estimator>,
}

impl RuleFlags {
    /// The rule with these flags applied, and the names of those given.
    pub fn apply(&self, mut rule: Rule) -> (Rule, Vec<&'static str>) {
        let mut given = Vec::new();
        let mut set = |name, slot: &mut f64, value: Option<f64>| {
            if let Some(value) = value {
                *slot = value;
                given.push(name);
            }
        };
        set("--tie-floor", &mut rule.tie_floor, self.tie_floor);
        set("--confidence", &mut rule.confidence, self.confidence);
        set("--error-ceiling", &mut rule.error_ceiling, self.error_ceiling);
        set("--guard-max", &mut rule.guard_max, self.guard_max);
        if let Some(estimator) = self.estimator {
            rule.estimator = estimator;
            given.push("--estimator");
        }
        (rule, given)
    }
}
