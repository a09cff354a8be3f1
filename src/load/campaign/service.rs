//! A target's way through its hooks: started, ready, verified, reset, warmed,
//! stopped; and what is recorded of it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::commands::Ready;
use super::definition::Campaign;
use super::error::CampaignError;
use super::hooks::{Done, Runner, Tail};
use super::journal::Journal;
use super::plan::Block;
use super::rung;
use super::targets::Target;
use crate::load::outcome::{Live, Unwatched, Watch};
use crate::load::spec::{Kind, Pacing};
use crate::load::workload::{Ask, Expect, Query, TapOptions};
use crate::load::{LoadError, Workload};

/// Pins that are larger are cut: `ingest` reads no more.
const LARGEST_PIN: usize = 1 << 20;

/// The target of one stage.
#[derive(Debug)]
pub struct Service<'a> {
    campaign: &'a Campaign,
    target: &'a Target,
    name: &'a str,
    tier: Option<&'a str>,
    runner: Runner,
    scaler: Option<Tail>,
    is_warm: bool,
}

impl<'a> Service<'a> {
    /// A target in a tier, in so many instances if that is prescribed, whose run
    /// directory is `journal`'s.
    pub fn new(
        campaign: &'a Campaign,
        name: &'a str,
        tier: Option<&'a str>,
        instances: Option<i64>,
        journal: &Journal,
    ) -> Self {
        let target = campaign.target(name);
        let path = journal.path();
        let folder = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let variables = BTreeMap::from([
            ("TAPSTAT_TARGET", name.to_owned()),
            ("TAPSTAT_TIER", tier.unwrap_or_default().to_owned()),
            ("TAPSTAT_INSTANCES", instances.map_or(String::new(), |count| count.to_string())),
            ("TAPSTAT_BASE_URL", target.base_url.clone()),
            ("TAPSTAT_RUN", folder.to_string_lossy().into_owned()),
        ]);
        let log = target.scaler_log.as_ref();
        Self {
            campaign,
            target,
            name,
            tier,
            runner: Runner { folder: campaign.targets.folder.clone(), variables },
            scaler: log.map(|log| Tail::new(&campaign.targets.path(log))),
            is_warm: false,
        }
    }

    /// The target's name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    fn error(&self, message: String) -> CampaignError {
        CampaignError::Hook { target: self.name.to_owned(), message }
    }

    fn hook(
        &self,
        journal: &Journal,
        hook: &str,
        command: &str,
        seconds: f64,
    ) -> Result<Done, CampaignError> {
        let done = self.runner.run(command, Duration::from_secs_f64(seconds));
        journal.event("hook", None, done.event(hook, self.name, command))?;
        Ok(done)
    }

    /// Runs a hook that must end with 0.
    fn must(
        &self,
        journal: &Journal,
        hook: &str,
        command: &str,
        seconds: f64,
    ) -> Result<Done, CampaignError> {
        let done = self.hook(journal, hook, command, seconds)?;
        if done.is_ok() {
            return Ok(done);
        }
        let said = done.last_lines();
        let said = if said.is_empty() { String::new() } else { format!("; it printed:\n{said}") };
        Err(self.error(format!("the {hook} hook `{command}` {}{said}", done.ending())))
    }

    /// Starts the target.
    ///
    /// # Errors
    /// If its start hook fails.
    pub fn start(&self, journal: &Journal) -> Result<(), CampaignError> {
        if let Some(start) = &self.target.hooks.start {
            self.must(journal, "start", start.run(), start.timeout_seconds())?;
        }
        Ok(())
    }

    /// Waits until it answers.
    ///
    /// # Errors
    /// If it does not in time; none where `stop` is set meanwhile.
    pub fn wait_ready(&self, journal: &Journal, stop: &AtomicBool) -> Result<(), CampaignError> {
        let Some(ready) = &self.target.hooks.ready else { return Ok(()) };
        let begun = Instant::now();
        let patience = Duration::from_secs_f64(ready.timeout_seconds());
        let mut pause = Duration::from_millis(50);
        let mut tries = 0;
        let said = loop {
            tries += 1;
            let last = self.try_ready(ready, patience.saturating_sub(begun.elapsed()));
            let Err(last) = last else { break None };
            if begun.elapsed() + pause >= patience || stop.load(Ordering::Relaxed) {
                break Some(last);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_secs(2));
        };
        let what = ready.url().or(ready.run()).unwrap_or_default();
        let seconds = begun.elapsed().as_secs_f64();
        let event = json!({"hook": "ready", "target": self.name, "run": what, "tries": tries,
                           "seconds": (seconds * 1e3).round() / 1e3, "error": said});
        journal.event("hook", None, event)?;
        match said {
            Some(said) if !stop.load(Ordering::Relaxed) => {
                Err(self.error(format!("is not ready after {seconds:.0} s: `{what}`: {said}")))
            }
            _ => Ok(()),
        }
    }

    fn try_ready(&self, ready: &Ready, left: Duration) -> Result<(), String> {
        if let Some(url) = ready.url() {
            return self.get(url, left.max(Duration::from_millis(100)));
        }
        let done = self.runner.run(ready.run().unwrap_or_default(), left);
        if done.is_ok() { Ok(()) } else { Err(format!("{} {}", done.ending(), done.last_lines())) }
    }

    /// Sends one request as the generator does, and refuses statuses from 400.
    fn get(&self, url: &str, timeout: Duration) -> Result<(), String> {
        let said = |error: LoadError| error.to_string();
        let authority = url.find("://").map_or(0, |at| at + 3);
        let end = url[authority..].find(['/', '?']).map_or(url.len(), |at| authority + at);
        let (origin, path) = url.split_at(end);
        let folder = &self.campaign.targets.folder;
        let endpoint = self.target.endpoint(origin, folder).map_err(said)?;
        let headers = self.target.headers.clone().into_iter().collect();
        let ask = Ask::Http {
            method: "GET".to_owned(),
            path: path.to_owned(),
            headers,
            body: Vec::new(),
        };
        let query = Query {
            query_id: "ready".to_owned(),
            query_class: "ready".to_owned(),
            ask,
            expect: Expect::default(),
        };
        let request = query.prepare(&TapOptions::default());
        let workload = Arc::new(Workload::uniform(vec![request]).map_err(said)?);
        let protocol = &self.campaign.protocol;
        let key = crate::raw::RungKey { concurrency: 1, ..Default::default() };
        let mut spec = rung::spec(protocol, self.target, endpoint, &key, workload, 0, None);
        spec.kind = Kind::Http;
        spec.pacing = Pacing::Closed;
        spec.read_rate = None;
        (spec.streams, spec.workers, spec.check_every) = (1, 1, 0);
        spec.warmup = Duration::ZERO;
        spec.measure = Duration::from_millis(1);
        let patience = timeout.min(Duration::from_secs(10));
        (spec.drain, spec.request_timeout, spec.connect_timeout) = (patience, patience, patience);
        let outcome = crate::load::run(&spec, &mut Unwatched).map_err(said)?;
        let first = outcome.samples.records.iter().flat_map(|records| records.iter()).next();
        match first {
            Some(record) if record.succeeded() => Ok(()),
            Some(record) => Err(match record.status() {
                Some(status) => format!("status {status}"),
                None => record.fault().name().replace('_', " "),
            }),
            None => Err("no answer".to_owned()),
        }
    }

    /// Checks what must hold before anything is timed.
    ///
    /// # Errors
    /// If a command fails, or prints something else.
    pub fn verify(&self, journal: &Journal) -> Result<(), CampaignError> {
        for verify in &self.target.hooks.verify {
            let hook = format!("verify `{}`", verify.name);
            let done = self.must(journal, &hook, &verify.run, verify.timeout_seconds)?;
            let found = done.stdout.trim();
            let refuse = |expected: &str, text: &str| {
                self.error(format!(
                    "{} is not as it must be: `{}` printed `{found}`, expected {expected}`{text}`",
                    verify.name, verify.run
                ))
            };
            if let Some(expected) = verify.equals.as_deref().filter(|text| text.trim() != found) {
                return Err(refuse("", expected.trim()));
            }
            if let Some(part) = verify.contains.as_deref().filter(|part| !found.contains(*part)) {
                return Err(refuse("it to contain ", part));
            }
        }
        Ok(())
    }

    /// Writes what the pins' commands print, and the limits that the kernel
    /// applies to its containers, under `pins/`.
    ///
    /// # Errors
    /// If a command fails, or nothing can be written.
    pub fn pins(
        &self,
        journal: &Journal,
        limits: &serde_json::Map<String, Value>,
    ) -> Result<(), CampaignError> {
        let tier = self.tier.map(|tier| format!("t{tier}-")).unwrap_or_default();
        let stem = format!("pins/{tier}{}", self.name).replace(['\\', '\0'], "_");
        let own: serde_json::Map<String, Value> = limits
            .iter()
            .filter(|(name, limits)| {
                let is_there = limits.as_object().is_some_and(|limits| !limits.is_empty());
                self.target.containers.contains_key(*name) && is_there
            })
            .map(|(name, limits)| (name.clone(), limits.clone()))
            .collect();
        if !own.is_empty() {
            let text = format!("{:#}\n", Value::Object(own));
            journal.file(&format!("{stem}-limits.json"), text.as_bytes())?;
        }
        for (pin, command) in &self.target.pins {
            let hook = format!("pin `{pin}`");
            let done = self.must(journal, &hook, command.run(), command.timeout_seconds())?;
            let mut text = done.stdout;
            if text.len() > LARGEST_PIN {
                let end = (0..=LARGEST_PIN).rfind(|at| text.is_char_boundary(*at)).unwrap_or(0);
                let whole = text.len();
                text.truncate(end);
                let said = format!(
                    "pin `{pin}` of target `{}` has {whole} bytes: cut after {end}",
                    self.name
                );
                journal.event("deviation", None, said)?;
            }
            let parsed: Option<Value> = serde_json::from_str(&text).ok();
            let is_document = parsed.is_some_and(|value| value.is_object() || value.is_array());
            let extension = if is_document { "json" } else { "txt" };
            journal.file(&format!("{stem}-{pin}.{extension}"), text.as_bytes())?;
        }
        Ok(())
    }

    /// What comes before a block of rungs: the reset hook and, before the first
    /// block of the stage, the warm pass. That ends early where it is to stop.
    ///
    /// # Errors
    /// If the hook fails, or nothing can be sent.
    pub fn prepare(
        &mut self,
        journal: &Journal,
        block: &Block,
        stop: &AtomicBool,
    ) -> Result<(), CampaignError> {
        if let Some(reset) = &self.target.hooks.reset {
            self.must(journal, "reset", reset.run(), reset.timeout_seconds())?;
        }
        if let Some(seconds) = self.target.hooks.warm_seconds
            && !self.is_warm
        {
            self.warm(journal, block, seconds, stop)?;
            self.is_warm = true;
        }
        Ok(())
    }

    /// Sends every class of the grid in turn, in a closed loop, and keeps
    /// nothing of it.
    fn warm(
        &self,
        journal: &Journal,
        block: &Block,
        seconds: f64,
        stop: &AtomicBool,
    ) -> Result<(), CampaignError> {
        let grid = &self.campaign.protocol.grid;
        let Some(first) = block.rungs.first() else { return Ok(()) };
        let cells: Vec<(&String, &String)> =
            grid.formats.iter().flat_map(|f| grid.classes.iter().map(move |c| (f, c))).collect();
        let (mut requests, mut errors) = (0, 0);
        for (format, class) in &cells {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let key = crate::raw::RungKey { offered_rps: None, r#loop: None, ..first.key.clone() };
            let mut spec = self.spec(&key, class, format, 0)?;
            spec.warmup = Duration::ZERO;
            spec.measure = Duration::from_secs_f64(seconds / cells.len() as f64);
            let outcome = crate::load::run(&spec, &mut UntilStopped(stop))
                .map_err(|error| self.error(format!("the warm pass failed: {error}")))?;
            requests += outcome.figures.requests;
            errors += outcome.figures.errors;
        }
        let event = json!({"target": self.name, "tier": self.tier, "seconds": seconds,
                           "requests": requests, "errors": errors,
                           "stopped": stop.load(Ordering::Relaxed)});
        journal.event("warm", None, event)
    }

    /// What the generator is told of a rung of this target.
    ///
    /// # Errors
    /// If the target's URL or the queries cannot be used.
    pub fn spec(
        &self,
        key: &crate::raw::RungKey,
        class: &str,
        format: &str,
        seed: u64,
    ) -> Result<crate::load::RungSpec, CampaignError> {
        let campaign = self.campaign;
        let endpoint = self.target.endpoint(&self.target.base_url, &campaign.targets.folder);
        let endpoint = endpoint.map_err(|error| self.error(error.to_string()))?;
        let target = (self.name, self.target);
        let workload = campaign.corpus.workload(&campaign.protocol, target, class, format)?;
        let shard = campaign.shard.as_ref();
        Ok(rung::spec(&campaign.protocol, self.target, endpoint, key, workload, seed, shard))
    }

    /// The lines that its scaler has logged since, as events.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn scaler(&mut self, journal: &Journal, rung: Option<&str>) -> Result<(), CampaignError> {
        let Some(log) = &mut self.scaler else { return Ok(()) };
        for line in log.lines() {
            let detail = json!({"target": self.name, "line": line});
            journal.event("scaler", rung, detail)?;
        }
        Ok(())
    }

    /// Stops the target.
    ///
    /// # Errors
    /// If its stop hook fails.
    pub fn stop(&self, journal: &Journal) -> Result<(), CampaignError> {
        if let Some(stop) = &self.target.hooks.stop {
            self.must(journal, "stop", stop.run(), stop.timeout_seconds())?;
        }
        Ok(())
    }
}

/// Ends a rung of which nobody is told when all is to stop.
struct UntilStopped<'a>(&'a AtomicBool);

impl Watch for UntilStopped<'_> {
    fn tick(&mut self, _: &Live) -> ControlFlow<()> {
        if self.0.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
