//! What a targets file has run around a target's rungs: commands, and what must
//! come of them. [`super::hooks`] runs them.

use serde::Deserialize;

use super::targets::check_url;

/// What is run around a target's rungs.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hooks {
    /// Starts it.
    pub start: Option<Command>,
    /// Waits until it answers.
    pub ready: Option<Ready>,
    /// What must hold before it is measured.
    pub verify: Vec<Verify>,
    /// Run before every block of its rungs.
    pub reset: Option<Command>,
    /// Length of an untimed pass over the block's classes, in seconds.
    pub warm_seconds: Option<f64>,
    /// Stops it.
    pub stop: Option<Command>,
}

/// A command for `sh -c`: its text alone, or with a time-out.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a command, or a table of `run` and `timeout_seconds`")]
pub enum Command {
    /// Its text.
    Text(String),
    /// Its text, and how long it may take.
    Timed(TimedCommand),
}

/// A command with a time-out of its own.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimedCommand {
    /// Its text.
    pub run: String,
    /// How long it may take, in seconds.
    pub timeout_seconds: f64,
}

/// How long a command may take that says nothing, in seconds.
pub(super) const PATIENCE: f64 = 300.0;

impl Command {
    /// Its text.
    pub fn run(&self) -> &str {
        match self {
            Self::Text(run) | Self::Timed(TimedCommand { run, .. }) => run,
        }
    }

    /// How long it may take, in seconds.
    pub fn timeout_seconds(&self) -> f64 {
        match self {
            Self::Text(_) => PATIENCE,
            Self::Timed(command) => command.timeout_seconds,
        }
    }
}

/// What tells that a target answers: an URL that gives a status below 400, or a
/// command that ends with 0. It is tried again until its time is over.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a URL, a command, or a table of `url` or `run` and `timeout_seconds`"
)]
pub enum Ready {
    /// A URL, or else a command.
    Text(String),
    /// One of the two, and how long it is tried.
    Timed(TimedReady),
}

/// A test of readiness with a time-out of its own.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimedReady {
    /// A URL.
    pub url: Option<String>,
    /// A command.
    pub run: Option<String>,
    /// How long it is tried, in seconds.
    pub timeout_seconds: Option<f64>,
}

impl Ready {
    /// How long it is tried, in seconds, if nothing is said.
    const PATIENCE: f64 = 120.0;

    /// The URL, if it is one.
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text.as_str()).filter(|text| is_url(text)),
            Self::Timed(ready) => ready.url.as_deref(),
        }
    }

    /// The command, if it is one.
    pub fn run(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text.as_str()).filter(|text| !is_url(text)),
            Self::Timed(ready) => ready.run.as_deref(),
        }
    }

    /// How long it is tried, in seconds.
    pub fn timeout_seconds(&self) -> f64 {
        match self {
            Self::Text(_) => Self::PATIENCE,
            Self::Timed(ready) => ready.timeout_seconds.unwrap_or(Self::PATIENCE),
        }
    }
}

fn is_url(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

/// A command whose output must be right, or nothing is measured. Without
/// `equals` and `contains` it only has to end with 0.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// What is verified, for messages.
    pub name: String,
    /// The command.
    pub run: String,
    /// Its whole output, but for white space around it.
    pub equals: Option<String>,
    /// A part of its output.
    pub contains: Option<String>,
    /// How long it may take, in seconds.
    #[serde(default = "patience")]
    pub timeout_seconds: f64,
}

fn patience() -> f64 {
    PATIENCE
}

impl Hooks {
    /// The first thing that cannot be, as (key, message).
    pub(super) fn problem(&self) -> Option<(String, String)> {
        let positive = |key: &str, seconds: f64| {
            let is_wrong = !seconds.is_finite() || seconds <= 0.0;
            let message = || format!("is {seconds}: expected more than 0 seconds");
            is_wrong.then(|| (format!("hooks.{key}"), message()))
        };
        let commands = [("start", &self.start), ("reset", &self.reset), ("stop", &self.stop)];
        let commands = commands.into_iter().filter_map(|(key, command)| {
            positive(&format!("{key}.timeout_seconds"), command.as_ref()?.timeout_seconds())
        });
        let verify = self.verify.iter().enumerate().filter_map(|(index, verify)| {
            positive(&format!("verify[{index}].timeout_seconds"), verify.timeout_seconds)
        });
        let ready = self.ready.as_ref().and_then(|ready| {
            if ready.url().is_some() == ready.run().is_some() {
                return Some(("hooks.ready".into(), "needs either `url` or `run`".into()));
            }
            if let Some(Err(message)) = ready.url().map(check_url) {
                return Some(("hooks.ready".to_owned(), format!("cannot be used: {message}")));
            }
            positive("ready.timeout_seconds", ready.timeout_seconds())
        });
        let warm = self.warm_seconds.and_then(|seconds| positive("warm_seconds", seconds));
        commands.chain(verify).chain(ready).chain(warm).next()
    }
}
