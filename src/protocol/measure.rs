//! How the load is sent: what `tapstat measure` needs beside the grid.

use std::fmt;
use std::path::PathBuf;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// How queries are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One request, answered at once.
    #[default]
    Sync,
    /// UWS: create a job, poll it, fetch its result.
    Async,
}

impl Mode {
    /// As it is written in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Async => "async",
        }
    }
}

/// Whether a request waits for the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Loop {
    /// The next request when the last returns.
    #[default]
    Closed,
    /// At a fixed offered rate.
    Open,
}

impl Loop {
    /// As it is written in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
        }
    }
}

/// How the requests of an open loop lie in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Spacing {
    /// At equal distances.
    #[default]
    Constant,
    /// As a Poisson process: independent of each other.
    Poisson,
}

/// How long connections live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// Kept for all requests of the rung.
    #[default]
    KeepAlive,
    /// A new one for each request.
    PerRequest,
}

/// The order of rungs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// All targets are up; each repetition of a cell goes through all of them
    /// before the next begins.
    #[default]
    Interleaved,
    /// One target is up at a time, with all its rungs of a tier.
    Blocks,
}

/// The order of targets, in a round of the interleaved order or in the blocks
/// of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetOrder {
    /// As the grid lists them, then backwards, and so in turns.
    #[default]
    Alternate,
    /// Shuffled anew each time, by the seed.
    Shuffled,
    /// As the grid lists them.
    Fixed,
}

/// A rate that an open loop offers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// Requests per second.
    PerSecond(f64),
    /// A fraction of the closed loop's rate, as measured in the same run.
    Share(f64),
}

impl Rate {
    const EXPECTED: &'static str =
        "requests per second above 0, or a share such as \"25%\" above 0%";

    /// Whether it is above 0 and finite.
    pub fn is_valid(self) -> bool {
        let (Self::PerSecond(value) | Self::Share(value)) = self;
        value.is_finite() && value > 0.0
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PerSecond(rate) => write!(f, "{rate}"),
            // Shares come as percents: 0.07 × 100 shall not print as 7.000…1.
            Self::Share(share) => write!(f, "{}%", (share * 1e8).round() / 1e6),
        }
    }
}

impl std::str::FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let rate = match text.trim().strip_suffix('%') {
            Some(percent) => number(percent).map(|percent| Self::Share(percent / 100.0)),
            None => number(text).map(Self::PerSecond),
        };
        rate.filter(|rate| rate.is_valid()).ok_or_else(|| format!("expected {}", Self::EXPECTED))
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RateVisitor;
        impl Visitor<'_> for RateVisitor {
            type Value = Rate;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Rate::EXPECTED)
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Rate, E> {
                Some(Rate::PerSecond(value))
                    .filter(|rate| rate.is_valid())
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Float(value), &self))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Rate, E> {
                self.visit_f64(value as f64)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Rate, E> {
                text.parse().map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(RateVisitor)
    }
}

/// How the load is sent, and in what order.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Measure {
    /// Last part of the run's id.
    pub label: Option<String>,
    /// The queries, from the protocol file's folder.
    pub corpus: Option<PathBuf>,
    /// The targets file, from the protocol file's folder.
    pub targets: Option<PathBuf>,
    /// sha256 of the table that is queried, where it is known.
    pub dataset_sha256: Option<String>,
    /// How queries are sent.
    pub mode: Mode,
    /// Whether a request waits for the one before it.
    pub r#loop: Loop,
    /// What an open loop offers.
    pub rates: Vec<Rate>,
    /// How its requests lie in time.
    pub spacing: Spacing,
    /// How long connections live.
    pub connections: Connections,
    /// Streams of each HTTP/2 connection.
    pub streams: Option<i64>,
    /// The CPUs that the generator's workers are pinned to, in turn.
    pub cpus: Vec<i64>,
    /// The longest that a request is waited for, in seconds.
    pub request_timeout_seconds: Option<f64>,
    /// Of how many responses to a query one is read whole and checked.
    pub check_every: Option<i64>,
    /// The order of rungs.
    pub order: Order,
    /// The order of targets.
    pub target_order: TargetOrder,
    /// Of the stream of queries, and of the shuffled order.
    pub seed: Option<i64>,
    /// Seconds between two samples of resources.
    pub sample_seconds: Option<f64>,
    /// Whether the gates come before what is timed; they do unless it says no.
    pub gates: Option<bool>,
}

impl Measure {
    /// The figures out of their range, as (key, value, expected).
    pub(super) fn out_of_range(&self) -> Vec<(String, String, &'static str)> {
        let above = |field: &str, value: Option<f64>| {
            let value = value.filter(|value| !value.is_finite() || *value <= 0.0)?;
            Some((format!("measure.{field}"), value.to_string(), "more than 0 seconds"))
        };
        let count = |field: &str, value: Option<i64>| {
            let value = value.filter(|&value| value < 1)?;
            Some((format!("measure.{field}"), value.to_string(), "1 or more"))
        };
        let cpus = self.cpus.iter().enumerate().filter(|(_, cpu)| **cpu < 0).map(|(index, cpu)| {
            (format!("measure.cpus[{index}]"), cpu.to_string(), "the number of a CPU, from 0")
        });
        [
            above("request_timeout_seconds", self.request_timeout_seconds),
            above("sample_seconds", self.sample_seconds),
            count("streams", self.streams),
            count("check_every", self.check_every),
        ]
        .into_iter()
        .flatten()
        .chain(cpus)
        .collect()
    }

    /// What contradicts itself, as (key, message).
    pub(super) fn contradictions(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut say = |key: &str, message: &str| {
            found.push((format!("measure.{key}"), message.to_owned()));
        };
        if self.r#loop == Loop::Open && self.rates.is_empty() {
            say("rates", "is empty: an open loop needs the rates that it offers");
        }
        if self.r#loop == Loop::Closed && !self.rates.is_empty() {
            say(
                "rates",
                "is given to a closed loop, which takes what rate it gets: set loop = \"open\"",
            );
        }
        for (index, rate) in self.rates.iter().enumerate() {
            if self.rates[..index].contains(rate) {
                say(&format!("rates[{index}]"), &format!("names {rate} again"));
            }
        }
        if self.mode == Mode::Async && self.streams.is_some_and(|streams| streams > 1) {
            say("streams", "is above 1: jobs are asynchronous over one stream a connection");
        }
        if self.connections == Connections::PerRequest && self.streams.is_some_and(|s| s > 1) {
            say("streams", "is above 1: a connection for each request has one stream");
        }
        if let Some(label) = &self.label
            && !is_label(label)
        {
            say("label", "is not fit for a folder's name: expected letters, digits, `.`, `_`, `-`");
        }
        found
    }
}

/// Whether a text can end a run's id.
fn is_label(label: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !label.is_empty() && label.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::super::Protocol;
    use super::*;

    fn measure(text: &str) -> Result<Measure, String> {
        let text = format!("[measure]\n{text}\n");
        Protocol::parse(&text, "p.toml").map(|p| p.measure).map_err(|error| error.to_string())
    }

    #[test]
    fn rates_are_numbers_or_shares() {
        let rates = measure("rates = [100, 2.5, \"25%\", \"7 %\"]").unwrap().rates;
        assert_eq!(rates[..3], [Rate::PerSecond(100.0), Rate::PerSecond(2.5), Rate::Share(0.25)]);
        assert_eq!(
            rates.iter().map(Rate::to_string).collect::<Vec<_>>(),
            ["100", "2.5", "25%", "7%"]
        );
        for bad in ["0", "-1", "\"0%\"", "\"fast\"", "true", "nan"] {
            let message = measure(&format!("rates = [{bad}]")).unwrap_err();
            assert!(message.contains("a share such as"), "{message}");
        }
    }

    #[test]
    fn words_are_a_closed_set() {
        let measured = measure("order = \"blocks\"\nconnections = \"per-request\"").unwrap();
        assert_eq!(measured.order, Order::Blocks);
        assert_eq!(measured.connections, Connections::PerRequest);
        let message = measure("order = \"random\"").unwrap_err();
        assert!(message.contains("interleaved") && message.contains("blocks"), "{message}");
    }

    #[test]
    fn figures_out_of_range_are_named() {
        for (text, field) in [
            ("request_timeout_seconds = 0", "measure.request_timeout_seconds"),
            ("sample_seconds = -1", "measure.sample_seconds"),
            ("streams = 0", "measure.streams"),
            ("check_every = 0", "measure.check_every"),
            ("cpus = [0, -2]", "measure.cpus[1]"),
        ] {
            let message = measure(text).unwrap_err();
            assert!(message.contains(&format!("`{field}`")), "{message}");
        }
    }

    #[test]
    fn contradictions_are_found() {
        let keys = |text: &str| {
            let found = measure(text).unwrap().contradictions();
            found.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        assert_eq!(keys("loop = \"open\""), ["measure.rates"]);
        assert_eq!(keys("rates = [5]"), ["measure.rates"]);
        assert_eq!(keys("loop = \"open\"\nrates = [5, 5.0]"), ["measure.rates[1]"]);
        assert_eq!(keys("mode = \"async\"\nstreams = 2"), ["measure.streams"]);
        assert_eq!(keys("label = \"a b\""), ["measure.label"]);
        assert_eq!(keys(""), [""; 0]);
    }
}
