//! Flags that several commands share, said once.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::protocol::{Estimator, RuleFlags};
use crate::report::Format;

/// The environment variable that names the store.
pub const STORE_VARIABLE: &str = "TAPSTAT_STORE";

/// The store where neither flag nor environment names one.
const DEFAULT_STORE: &str = "store";

/// The heading of filters in helps.
pub const FILTERS: &str = "Filters (each takes a list, and knows * and ?)";

/// Options that stand before or after the command's name.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Where the store is.
    #[command(flatten)]
    pub store: StoreArgs,
    /// How cells are judged.
    #[command(flatten)]
    pub rule: RuleArgs,
    /// In what form answers are given.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Where the store is, and what is asked of it.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Store")]
pub struct StoreArgs {
    /// The store [env: TAPSTAT_STORE] [default: ./store]
    #[arg(long, value_name = "DIR", global = true)]
    pub store: Option<PathBuf>,

    /// A folder of query files that replace the shipped views
    ///
    /// Each is named after the view that it replaces, such as `cells.sql`.
    /// `tapstat sql --show VIEW` prints the one that ships.
    #[arg(long, value_name = "DIR", global = true)]
    pub queries: Option<PathBuf>,
}

impl StoreArgs {
    /// The store: by flag, else by environment, else the default.
    pub fn path(&self) -> PathBuf {
        let from_environment =
            || std::env::var_os(STORE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        self.store.clone().or_else(from_environment).unwrap_or_else(|| DEFAULT_STORE.into())
    }
}

impl Global {
    /// The same options with another rule.
    pub fn with_rule(&self, protocol: Option<PathBuf>, flags: &RuleFlags) -> Self {
        let mut global = self.clone();
        global.rule = RuleArgs {
            protocol,
            tie_floor: flags.tie_floor,
            confidence: flags.confidence,
            error_ceiling: flags.error_ceiling,
            guard_max: flags.guard_max,
            estimator: flags.estimator,
        };
        global
    }
}

/// How cells are judged, where it is not as the protocol says.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Rule")]
pub struct RuleArgs {
    /// The protocol of every run, in place of its own
    ///
    /// Without it, the protocol of a run is the `protocol.toml` in its run
    /// directory; else the shipped one whose targets and tiers are the run's;
    /// else there is none, and the rule's defaults hold.
    #[arg(long, value_name = "FILE", global = true)]
    pub protocol: Option<PathBuf>,

    /// Smallest relative difference of throughput that counts [default: 0.1]
    #[arg(long, value_name = "FRACTION", global = true, value_parser = at_least_zero, allow_negative_numbers = true)]
    pub tie_floor: Option<f64>,

    /// Confidence of the intervals [default: 0.95]
    #[arg(long, value_name = "FRACTION", global = true, value_parser = probability, allow_negative_numbers = true)]
    pub confidence: Option<f64>,

    /// Largest error fraction of a target that can win [default: 0.01]
    #[arg(long, value_name = "FRACTION", global = true, value_parser = fraction, allow_negative_numbers = true)]
    pub error_ceiling: Option<f64>,

    /// CPU of one generator worker at which a rung is void, in cores [default: 0.6]
    ///
    /// Where it is given, every rung whose recorded peak reached it is voided,
    /// beside those that the guard itself voided.
    #[arg(long, value_name = "CORES", global = true, value_parser = above_zero, allow_negative_numbers = true)]
    pub guard_max: Option<f64>,

    /// What stands for a cell [default: mean]
    ///
    /// With the median, the half-width stays that of the mean's interval.
    #[arg(long, global = true, value_enum)]
    pub estimator: Option<Estimator>,
}

impl RuleArgs {
    /// What of the rule is changed.
    pub fn flags(&self) -> RuleFlags {
        RuleFlags {
            tie_floor: self.tie_floor,
            confidence: self.confidence,
            error_ceiling: self.error_ceiling,
            guard_max: self.guard_max,
            estimator: self.estimator,
        }
    }
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColourChoice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always, also into a pipe or a file.
    Always,
    /// Never.
    Never,
}

/// In what form answers are given.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// The form of the answer [default: by the suffix of --output, else table]
    #[arg(long, global = true, value_enum)]
    pub format: Option<Format>,

    /// Write to a file, which is replaced only when all is written
    #[arg(long, short = 'o', value_name = "FILE", global = true)]
    pub output: Option<PathBuf>,

    /// When to use colour
    #[arg(long, value_name = "WHEN", global = true, value_enum, default_value_t = ColourChoice::Auto, hide_possible_values = true)]
    pub color: ColourChoice,
}

/// Which runs are shown.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = FILTERS)]
pub struct RunFilter {
    /// Only these runs: an id, any unique part of one, or a glob
    #[arg(long = "run", value_name = "RUN,…", value_delimiter = ',')]
    pub runs: Vec<String>,
}

/// Which run is meant.
#[derive(Debug, Clone, Default, Args)]
pub struct OneRun {
    /// The run: its id, or any unique part of it
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
}

/// Which cells are shown. Each takes a list, can be given more than once, and
/// knows `*` for any text and `?` for any character.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = FILTERS)]
pub struct CellFilter {
    /// Only these tiers; `-` for rows without one
    #[arg(long = "tier", value_name = "TIER,…", value_delimiter = ',', allow_hyphen_values = true)]
    pub tiers: Vec<String>,

    /// Only these query classes or scenarios
    #[arg(long = "class", value_name = "CLASS,…", value_delimiter = ',')]
    pub classes: Vec<String>,

    /// Only these response formats
    #[arg(
        long = "response-format",
        value_name = "FORMAT,…",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub formats: Vec<String>,

    /// Only these numbers of connections
    #[arg(long = "concurrency", value_name = "N,…", value_delimiter = ',', value_parser = connections)]
    pub concurrencies: Vec<String>,

    /// Only these targets
    #[arg(long = "target", value_name = "TARGET,…", value_delimiter = ',')]
    pub targets: Vec<String>,
}

/// Which runs and cells are shown.
#[derive(Debug, Clone, Default, Args)]
pub struct Filters {
    /// Which runs.
    #[command(flatten)]
    pub run: RunFilter,
    /// Which cells.
    #[command(flatten)]
    pub cell: CellFilter,
}

fn number(text: &str, expected: &str, holds: impl Fn(f64) -> bool) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && holds(value) => Ok(value),
        _ => Err(format!("expected {expected}")),
    }
}

fn at_least_zero(text: &str) -> Result<f64, String> {
    number(text, "a number from 0 up", |value| value >= 0.0)
}

fn above_zero(text: &str) -> Result<f64, String> {
    number(text, "a number above 0", |value| value > 0.0)
}

fn fraction(text: &str) -> Result<f64, String> {
    number(text, "a fraction from 0 to 1", |value| (0.0..=1.0).contains(&value))
}

fn probability(text: &str) -> Result<f64, String> {
    number(text, "a number between 0 and 1, both excluded", |value| value > 0.0 && value < 1.0)
}

/// A number of connections, or a glob of one.
fn connections(text: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'*' | b'?');
    if !text.is_empty() && text.bytes().all(fits) {
        Ok(text.to_owned())
    } else {
        Err("expected a number of connections, or a glob of one".to_owned())
    }
}
