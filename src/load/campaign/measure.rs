//! A campaign while it is measured, rung by rung.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::definition::Campaign;
use super::error::CampaignError;
use super::gates::{self, Passed};
use super::journal::{Done, Journal};
use super::plan::{Block, Planned, Stage, seed_of};
use super::rung::{self, Times};
use super::service::Service;
use crate::load::outcome::{Live, RungOutcome, Void, Watch};
use crate::load::sampler::{self, Containers, Sampler, now};
use crate::raw::{RungKey, RungRecord};

/// The part of a window by which it may become longer without a word.
const MUCH: f64 = 0.01;

/// Who is told how far a campaign is.
pub trait Progress {
    /// So many rungs are planned; so many of them are done.
    fn begin(&mut self, rungs: usize, done: usize);
    /// Something that should be known.
    fn say(&mut self, message: &str);
    /// The rung of that number, from 1, begins; so many seconds are left.
    fn rung(&mut self, number: usize, name: &str, left_s: f64);
    /// A rung is under way.
    fn live(&mut self, live: &Live);
    /// A rung is done.
    fn measured(&mut self, record: &RungRecord, voids: &[Void]);
}

/// How a measurement ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The run directory.
    pub path: PathBuf,
    /// Rungs measured now.
    pub measured: usize,
    /// Rungs that were there already.
    pub skipped: usize,
    /// Rungs that are left.
    pub left: usize,
    /// Rungs that are not measured, since the targets' answers differ.
    pub left_out: usize,
    /// Names of void rungs, in the whole run.
    pub voided: Vec<String>,
    /// Names of rungs with more errors than the rule allows, in the whole run.
    pub failing: Vec<String>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
}

/// Measures what is left of a campaign.
///
/// # Errors
/// If a target cannot be brought up, something cannot be written, or nothing can
/// be sent. Targets that were started are stopped.
pub fn measure(
    campaign: &Campaign,
    journal: Journal,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Ending, CampaignError> {
    let sources = campaign.protocol.grid.targets.iter();
    let sources = sources.flat_map(|name| &campaign.target(name).containers);
    let sources: BTreeMap<&str, sampler::Source> =
        sources.map(|(name, source)| (name.as_str(), campaign.targets.source(source))).collect();
    let containers = sources.iter().map(|(name, source)| (*name, source));
    let seconds = campaign.protocol.measure.sample_seconds.unwrap_or(sampler::EVERY);
    let sampler = if sources.is_empty() {
        None
    } else {
        let every = Duration::from_secs_f64(seconds);
        let file = journal.resources()?;
        let started = Sampler::start(Containers::new(containers), every, file);
        Some(started.map_err(CampaignError::io(journal.path()))?)
    };
    let planned = campaign.plan.len();
    let is_done = |rung: &&Planned| find(&journal, rung).is_some();
    let skipped = campaign.plan.rungs().filter(is_done).count();
    let state = State { measured: 0, skipped, left_out: 0, spent: Duration::ZERO, number: 0 };
    let passed = Passed::default();
    let mut run = Run { campaign, journal, sampler, stop, progress, state, passed };
    run.progress.begin(planned, skipped);
    run.announce(planned, skipped)?;
    let result = run.stages();
    if let Err(error) = &result {
        run.journal.event("failure", None, error.to_string())?;
    }
    if let Some(sampler) = run.sampler.take() {
        let path = run.journal.path().join(super::journal::RESOURCES);
        sampler.stop().map_err(CampaignError::io(&path))?;
    }
    result?;
    run.end(planned)
}

/// What is known of a planned rung, if it was measured.
fn find<'j>(journal: &'j Journal, rung: &Planned) -> Option<&'j Done> {
    journal.find(&rung.resolved(capacity(journal, rung))?)
}

/// What the closed loop reached, of which the rung's rate is a share.
fn capacity(journal: &Journal, rung: &Planned) -> Option<f64> {
    journal.find(&rung.capacity_key()).map(|done| done.rps)
}

struct State {
    measured: usize,
    skipped: usize,
    left_out: usize,
    /// What they took, without gates and hooks.
    spent: Duration,
    /// Rungs of the plan that were passed or measured.
    number: usize,
}

struct Run<'a> {
    campaign: &'a Campaign,
    journal: Journal,
    sampler: Option<Sampler>,
    stop: &'a AtomicBool,
    progress: &'a mut dyn Progress,
    state: State,
    /// What the gates of the stage mean for its rungs.
    passed: Passed,
}

impl<'a> Run<'a> {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn announce(&self, planned: usize, skipped: usize) -> Result<(), CampaignError> {
        let measure = &self.campaign.protocol.measure;
        let stages: Vec<Value> = self
            .campaign
            .plan
            .stages
            .iter()
            .map(|stage| {
                json!({"tier": stage.tier, "instances": stage.instances, "targets": stage.targets})
            })
            .collect();
        let kind = if self.journal.done().is_empty() { "start" } else { "resume" };
        let detail = json!({
            "rungs": planned, "done": skipped, "order": measure.order,
            "target_order": measure.target_order,
            "seed": measure.seed.unwrap_or_default(), "stages": stages,
            "git": self.campaign.git, "tapstat": crate::REVISION, "pid": std::process::id(),
        });
        self.journal.event(kind, None, detail)?;
        for note in &self.campaign.notes {
            self.journal.event("note", None, note.as_str())?;
        }
        Ok(())
    }

    fn stages(&mut self) -> Result<(), CampaignError> {
        let campaign = self.campaign;
        let mut is_first = true;
        for stage in &campaign.plan.stages {
            let rungs: Vec<&Planned> = stage.blocks.iter().flat_map(|block| &block.rungs).collect();
            let kept = self.kept(stage)?;
            let is_left_out =
                |rung: &&Planned| kept.as_ref().is_some_and(|kept| kept.leaves_out(rung));
            let (left_out, timed): (Vec<&Planned>, Vec<&Planned>) =
                rungs.iter().copied().partition(is_left_out);
            if timed.iter().all(|rung| find(&self.journal, rung).is_some()) {
                self.state.number += rungs.len();
                let measured = |rung: &&&Planned| find(&self.journal, rung).is_none();
                self.state.left_out += left_out.iter().filter(measured).count();
                continue;
            }
            if self.stopped() {
                break;
            }
            if std::mem::take(&mut is_first) {
                self.stop_others(stage)?;
            }
            let tier = stage.tier.as_deref();
            let mut services: Vec<Service<'a>> = stage
                .targets
                .iter()
                .map(|name| Service::new(campaign, name, tier, stage.instances, &self.journal))
                .collect();
            let result = self.stage(stage, &mut services, kept);
            let stopped = self.stop_all(&services);
            result.and(stopped)?;
        }
        Ok(())
    }

    /// Whether this host runs the hooks: of several, the first does.
    fn has_hooks(&self) -> bool {
        self.campaign.shard.is_none_or(|shard| shard.k == 1)
    }

    /// Nobody knows what is up when a measurement begins: whatever its first
    /// stage does not measure is stopped.
    fn stop_others(&self, first: &Stage) -> Result<(), CampaignError> {
        if !self.has_hooks() {
            return Ok(());
        }
        let tier = first.tier.as_deref();
        let targets = &self.campaign.protocol.grid.targets;
        for name in targets.iter().filter(|name| !first.targets.contains(name)) {
            Service::new(self.campaign, name, tier, first.instances, &self.journal)
                .stop(&self.journal)?;
        }
        Ok(())
    }

    fn stop_all(&mut self, services: &[Service<'_>]) -> Result<(), CampaignError> {
        if !self.has_hooks() {
            return Ok(());
        }
        // Each is stopped, whatever becomes of the others.
        let results: Vec<_> = services.iter().map(|service| service.stop(&self.journal)).collect();
        results.into_iter().collect()
    }

    /// What gates that were run before mean for a stage.
    fn kept(&self, stage: &Stage) -> Result<Option<Passed>, CampaignError> {
        if !self.campaign.has_gates() {
            return Ok(None);
        }
        gates::kept(self.campaign, &self.journal, stage)
    }

    /// Lets nothing be timed of targets that cannot be compared.
    fn gates(&mut self, stage: &Stage, kept: Option<Passed>) -> Result<(), CampaignError> {
        if let Some(kept) = kept {
            self.passed = kept;
            return Ok(());
        }
        self.passed = Passed::default();
        // Of several hosts, the first looks.
        if !self.has_hooks() {
            return Ok(());
        }
        if !self.campaign.has_gates() {
            let message =
                "the protocol has the gates off: nothing was compared before it was timed";
            let detail = json!({"tier": stage.tier, "deviation": true, "message": message});
            return self.journal.event("gate", None, detail);
        }
        let progress = &mut *self.progress;
        let mut say = |what: &str| progress.say(what);
        self.passed = gates::run(self.campaign, &self.journal, stage, &mut say)?;
        Ok(())
    }

    fn stage(
        &mut self,
        stage: &Stage,
        services: &mut [Service<'a>],
        kept: Option<Passed>,
    ) -> Result<(), CampaignError> {
        if self.has_hooks() {
            for service in &*services {
                self.progress.say(&format!("starting {}", at(service.name(), stage)));
                service.start(&self.journal)?;
            }
        }
        for service in &*services {
            service.wait_ready(&self.journal, self.stop)?;
            if self.stopped() {
                return Ok(());
            }
        }
        if self.has_hooks() {
            for service in &*services {
                service.verify(&self.journal)?;
            }
            let limits = self.sampler.as_ref().map_or_else(Map::new, Sampler::limits);
            for service in &*services {
                service.pins(&self.journal, &limits)?;
            }
        }
        self.gates(stage, kept)?;
        if self.stopped() {
            return Ok(());
        }
        for block in &stage.blocks {
            let service = services.iter_mut().find(|service| service.name() == block.target);
            let service = service.expect("the targets of a stage are those of its blocks");
            if self.block(block, service)?.is_break() {
                break;
            }
        }
        for service in services {
            service.scaler(&self.journal, None)?;
        }
        Ok(())
    }

    fn block(
        &mut self,
        block: &Block,
        service: &mut Service<'a>,
    ) -> Result<ControlFlow<()>, CampaignError> {
        let mut is_prepared = false;
        for planned in &block.rungs {
            self.state.number += 1;
            let rung_number = self.state.number - 1;
            if find(&self.journal, planned).is_some() {
                continue;
            }
            if self.passed.leaves_out(planned) {
                self.state.left_out += 1;
                continue;
            }
            if self.stopped() {
                return Ok(ControlFlow::Break(()));
            }
            if !std::mem::replace(&mut is_prepared, true) {
                if block.is_series && *planned != block.rungs[0] {
                    let said = "its series was interrupted here, and went on after a pause";
                    self.journal.event("deviation", Some(&planned.name()), said)?;
                }
                if self.has_hooks() {
                    service.prepare(&self.journal, block, self.stop)?;
                    if self.stopped() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            let Some(key) = planned.resolved(capacity(&self.journal, planned)) else {
                return Err(CampaignError::Load {
                    rung: planned.name(),
                    message: "the closed loop that its rate is a share of was not measured".into(),
                });
            };
            let late = self.wait_for_start(rung_number)?;
            if self.rung(planned, key, service, late)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Waits for the time at which all hosts begin a rung; gives why the rung is
    /// void if that time is over already.
    fn wait_for_start(&self, rung: usize) -> Result<Option<Void>, CampaignError> {
        const GRACE: f64 = 0.25;
        let Some(shard) = &self.campaign.shard else { return Ok(None) };
        let start = shard.start_of(rung);
        let late = now() - start;
        if late > GRACE {
            return Ok(Some(Void {
                kind: "start_missed",
                reason: format!("it started {late:.1} s after the time that the hosts agreed on"),
                advice:
                    "give hooks and stragglers more time: a longer --slot, or a later --start-at"
                        .to_owned(),
            }));
        }
        while now() < start && !self.stopped() {
            let left = Duration::try_from_secs_f64(start - now()).unwrap_or_default();
            std::thread::sleep(left.min(Duration::from_millis(100)));
        }
        Ok(None)
    }

    fn rung(
        &mut self,
        planned: &Planned,
        key: RungKey,
        service: &mut Service<'a>,
        late: Option<Void>,
    ) -> Result<ControlFlow<()>, CampaignError> {
        let begun = Instant::now();
        let name = key.name();
        self.progress.rung(self.state.number, &name, self.seconds_left());
        let seed = self.seed(&key);
        let mut spec = service.spec(&key, &key.query_class, &key.response_format, seed)?;
        self.passed.expect(Arc::make_mut(&mut spec.workload));
        let mut looking = Looking { progress: &mut *self.progress, stop: self.stop };
        let outcome = crate::load::run(&spec, &mut looking).map_err(|error| {
            CampaignError::Load { rung: name.clone(), message: error.to_string() }
        })?;
        if outcome.stopped || self.stopped() {
            self.journal.event("dropped", Some(&name), "stopped while it was under way")?;
            return Ok(ControlFlow::Break(()));
        }
        let key = self.with_instances(key);
        let name = key.name();
        service.scaler(&self.journal, Some(&name))?;
        let mut voids = outcome.voids.clone();
        voids.extend(late);
        let server = self.campaign.target(&key.target).server(&key.target).to_owned();
        let record = rung::record(key, &server, planned.position, &outcome, !voids.is_empty());
        self.events(&name, &record, &outcome, &voids)?;
        if let Some(sampler) = &mut self.sampler {
            let path = self.journal.path().join(super::journal::RESOURCES);
            sampler.sync().map_err(CampaignError::io(&path))?;
        }
        self.journal.rung(&record, |path| Ok(outcome.samples.write(&name, path)?))?;
        self.state.measured += 1;
        self.state.spent += begun.elapsed();
        self.progress.measured(&record, &voids);
        Ok(ControlFlow::Continue(()))
    }

    /// The seed of the rung's query stream, which does not depend on the target:
    /// all are sent the same. Each host draws its own.
    fn seed(&self, key: &RungKey) -> u64 {
        let seed = self.campaign.protocol.measure.seed.unwrap_or_default();
        let host = self.campaign.shard.map_or(String::new(), |shard| shard.k.to_string());
        let tier = key.tier.as_deref().unwrap_or_default();
        let connections = key.concurrency.to_string();
        let repetition = key.repetition.to_string();
        let what = [&*key.response_format, &*key.query_class];
        let rate = if key.offered_rps.is_some() { "open" } else { "closed" };
        seed_of(seed, &["draws", tier, what[0], what[1], &connections, &repetition, rate, &host])
    }

    /// The key with the instances that the target has at the window's end.
    fn with_instances(&self, key: RungKey) -> RungKey {
        if key.instances.is_some() {
            return key;
        }
        let target = self.campaign.target(&key.target);
        let Some(api) = target.api.as_ref().filter(|_| target.count_instances) else { return key };
        let readings = self.sampler.as_ref().map(Sampler::read).unwrap_or_default();
        let count = readings.get(api).map(|reading| reading.processes as i64);
        let instances = count.filter(|count| *count > 0);
        // Loops say that the instances were prescribed; a scaler's were not.
        RungKey { instances, loops: instances.and(target.instance_loops), ..key }
    }

    /// What should be known of a rung beside its line.
    fn events(
        &self,
        name: &str,
        record: &RungRecord,
        outcome: &RungOutcome,
        voids: &[Void],
    ) -> Result<(), CampaignError> {
        let event = |kind: &str, detail: Value| self.journal.event(kind, Some(name), detail);
        event("generator", rung::detail(outcome))?;
        for void in voids {
            event("void", json!({"why": void.kind, "reason": void.reason, "advice": void.advice}))?;
        }
        let window = &outcome.window;
        // Requests that are under way when a window ends are a matter of course;
        // how many there were stands among the generator's counts.
        if window.overrun_s > MUCH * window.measure_s {
            let detail = json!({
                "requests": window.overruns, "seconds": window.overrun_s,
                "reason": "the last response came so long after the window's planned end",
                "advice": "rates divide by the whole of it; a longer window makes it matter less",
            });
            event("overrun", detail)?;
        }
        for (query, wrong) in &outcome.checks.failures {
            event("check_failed", json!({"query": query, "wrong": wrong}))?;
        }
        let ceiling = self.campaign.protocol.rule.error_ceiling;
        let fraction = record.error_fraction.unwrap_or(0.0);
        if fraction > ceiling {
            event("errors", json!({"error_fraction": fraction, "error_ceiling": ceiling}))?;
        }
        Ok(())
    }

    /// What the rungs that are left will take, by what those before took.
    fn seconds_left(&self) -> f64 {
        let left = self.campaign.plan.len() - self.state.skipped - self.state.measured;
        let planned = Times::of(&self.campaign.protocol).planned();
        let each = match self.state.measured {
            0 => planned,
            measured => self.state.spent.as_secs_f64() / measured as f64,
        };
        left as f64 * each.max(planned)
    }

    fn end(self, planned: usize) -> Result<Ending, CampaignError> {
        let ceiling = self.campaign.protocol.rule.error_ceiling;
        let names = |wanted: &dyn Fn(&Done) -> bool| -> Vec<String> {
            let rungs = self.journal.done().iter().filter(|done| wanted(done));
            rungs.map(|done| done.key.name()).collect()
        };
        let State { measured, skipped, left_out, .. } = self.state;
        let left = planned - measured - skipped - left_out;
        let interrupted = self.stopped() && left > 0;
        let kind = if interrupted { "stop" } else { "end" };
        self.journal.event(
            kind,
            None,
            json!({"measured": measured, "left": left, "left_out": left_out}),
        )?;
        Ok(Ending {
            path: self.journal.path().to_owned(),
            measured,
            skipped,
            left,
            left_out,
            voided: names(&|done| done.is_void),
            failing: names(&|done| done.error_fraction > ceiling),
            interrupted,
        })
    }
}

/// A target and its tier, in words.
fn at(target: &str, stage: &Stage) -> String {
    match &stage.tier {
        Some(tier) => format!("{target} at tier {tier}"),
        None => target.to_owned(),
    }
}

/// Passes on how far a rung is, and ends it where the user wants that.
struct Looking<'a> {
    progress: &'a mut dyn Progress,
    stop: &'a AtomicBool,
}

impl Watch for Looking<'_> {
    fn tick(&mut self, live: &Live) -> ControlFlow<()> {
        self.progress.live(live);
        if self.stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
