//! What containers and processes use while they are measured.
//!
//! A [`Sampler`] is a thread that looks at every container each few seconds and
//! writes lines of `resources.jsonl`. CPU time is cumulative and never falls:
//! what a process used before it exited, or a group before it was replaced, is
//! kept.

mod cgroup;
mod glob;
mod process;
mod source;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Map, Value, json};

use cgroup::Groups;
use process::{Processes, Snapshot};

pub use source::{Memory, Named, Source};

/// The usual time between two samples, in seconds.
pub const EVERY: f64 = 5.0;

/// What a container used, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// CPU time in microseconds; cumulative.
    pub cpu_usec: u64,
    /// Memory in bytes.
    pub mem_bytes: u64,
    /// Processes.
    pub processes: u64,
}

#[derive(Debug)]
enum Probe {
    Groups(Groups),
    Processes(Processes),
}

#[derive(Debug)]
struct Container {
    source: Source,
    probe: Probe,
}

/// Containers by name, and what is known of each.
#[derive(Debug)]
pub struct Containers {
    containers: BTreeMap<String, Container>,
    root: PathBuf,
}

/// A line of `resources.jsonl`.
#[derive(Serialize)]
struct Line<'a> {
    t: f64,
    container: &'a str,
    cpu_usec: u64,
    mem_bytes: u64,
    python_procs: u64,
}

impl Containers {
    /// The containers that these sources name.
    pub fn new<'a>(sources: impl IntoIterator<Item = (&'a str, &'a Source)>) -> Self {
        let root = cgroup::mount();
        let container = |source: &Source| {
            let probe = match (&source.docker, &source.cgroup) {
                (Some(docker), _) => Probe::Groups(Groups::docker(docker, root.clone())),
                (None, Some(pattern)) => Probe::Groups(Groups::new(pattern, root.clone())),
                (None, None) => Probe::Processes(Processes::new(source)),
            };
            Container { source: source.clone(), probe }
        };
        let containers = sources
            .into_iter()
            .map(|(name, source)| (name.to_owned(), container(source)))
            .collect();
        Self { containers, root }
    }

    /// Whether any of them is made of processes.
    fn snapshot(&self) -> Snapshot {
        let has_processes =
            self.containers.values().any(|c| matches!(c.probe, Probe::Processes(_)));
        if has_processes { Snapshot::take() } else { Snapshot::default() }
    }

    /// What each of those that are there uses.
    pub fn read(&mut self) -> BTreeMap<String, Reading> {
        let all = self.snapshot();
        let read = |container: &mut Container| match &mut container.probe {
            Probe::Groups(groups) => groups.read(container.source.count.as_deref()),
            Probe::Processes(processes) => processes.read(&all),
        };
        let readings = self.containers.iter_mut();
        readings.filter_map(|(name, container)| Some((name.clone(), read(container)?))).collect()
    }

    /// The limits of each container as the kernel applies them, and what its
    /// memory figure is.
    pub fn limits(&mut self) -> Map<String, Value> {
        let all = self.snapshot();
        let root = self.root.clone();
        let limits = |container: &mut Container| match &mut container.probe {
            Probe::Groups(groups) => {
                let found = groups.folders().into_iter().map(|folder| {
                    let mut limits = cgroup::limits(&folder, &root);
                    limits["memory"] = "memory.current".into();
                    (folder.to_string_lossy().into_owned(), limits)
                });
                one_or_all(found.collect())
            }
            Probe::Processes(processes) => {
                let memory = processes.memory_kind(&all);
                let found = processes.pids(&all).into_iter().map(|pid| {
                    let mut limits = process_limits(pid, &root);
                    limits["memory"] = memory.into();
                    (pid.to_string(), limits)
                });
                one_or_all(found.collect())
            }
        };
        self.containers.iter_mut().map(|(name, c)| (name.clone(), limits(c))).collect()
    }

    fn lines(&mut self, t: f64) -> Vec<u8> {
        let mut text = Vec::new();
        for (container, reading) in self.read() {
            let Reading { cpu_usec, mem_bytes, processes } = reading;
            let line =
                Line { t, container: &container, cpu_usec, mem_bytes, python_procs: processes };
            serde_json::to_writer(&mut text, &line).expect("a Vec takes whatever is written to it");
            text.push(b'\n');
        }
        text
    }
}

/// The limits that all have, or those of each by its name.
fn one_or_all(found: Vec<(String, Value)>) -> Value {
    match found.as_slice() {
        [(_, first), rest @ ..] if rest.iter().all(|(_, other)| other == first) => first.clone(),
        _ => Value::Object(found.into_iter().collect()),
    }
}

/// The CPUs that a process may use, and the limits of its group.
fn process_limits(pid: u32, root: &std::path::Path) -> Value {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}"));
    let status = read("status").unwrap_or_default();
    let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let group = read("cgroup").unwrap_or_default();
    let group = group.lines().find_map(|line| line.strip_prefix("0::/").map(|g| root.join(g)));
    let mut limits = group.map_or(json!({}), |group| cgroup::limits(&group, root));
    limits["cpus_allowed"] = cpus.map(str::trim).into();
    limits
}

/// Unix seconds.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// A thread that samples until it is dropped.
#[derive(Debug)]
pub struct Sampler {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

#[derive(Debug)]
struct Shared {
    containers: Mutex<Containers>,
    file: File,
    stop: Mutex<bool>,
    wake: Condvar,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sampler {
    /// Samples at once, and then every so often; lines go to `file`.
    ///
    /// # Errors
    /// If no thread can be made.
    pub fn start(containers: Containers, every: Duration, file: File) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            containers: Mutex::new(containers),
            file,
            stop: Mutex::new(false),
            wake: Condvar::new(),
        });
        let its = Arc::clone(&shared);
        let thread =
            std::thread::Builder::new().name("sampler".to_owned()).spawn(move || its.run(every))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// What each container uses right now.
    pub fn read(&self) -> BTreeMap<String, Reading> {
        held(&self.shared.containers).read()
    }

    /// The limits of each container; see [`Containers::limits`].
    pub fn limits(&self) -> Map<String, Value> {
        held(&self.shared.containers).limits()
    }

    /// Whether it has ended, since lines could not be written.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until the disk has every line so far.
    ///
    /// # Errors
    /// If it has not, or if sampling ended because lines could not be written.
    pub fn sync(&mut self) -> io::Result<()> {
        if self.is_finished() {
            self.join()?;
        }
        self.shared.file.sync_data()
    }

    /// Ends the sampling.
    ///
    /// # Errors
    /// If lines could not be written.
    pub fn stop(mut self) -> io::Result<()> {
        self.join()
    }

    fn join(&mut self) -> io::Result<()> {
        *held(&self.shared.stop) = true;
        self.shared.wake.notify_all();
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the sampler panicked")))
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // Whoever wants to know whether it went well has called `stop`.
        let _ = self.join();
    }
}

impl Shared {
    fn run(&self, every: Duration) -> io::Result<()> {
        let mut next = Instant::now();
        loop {
            let lines = held(&self.containers).lines(now());
            (&self.file).write_all(&lines)?;
            // Ticks that were missed are not made up for.
            while next <= Instant::now() {
                next += every;
            }
            let mut stop = held(&self.stop);
            while !*stop {
                let left = next.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                stop = self.wake.wait_timeout(stop, left).unwrap_or_else(PoisonError::into_inner).0;
            }
            if *stop {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
