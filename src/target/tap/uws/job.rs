//! A job: its phase, and what is known of it.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use axum::body::Bytes;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::target::tap::params::Params;

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Its parameters can still be changed.
    Pending,
    /// It waits for its turn.
    Queued,
    /// It is being answered.
    Executing,
    /// Its result is there.
    Completed,
    /// It failed.
    Error,
    /// It was stopped.
    Aborted,
}

impl Phase {
    /// Every phase that jobs here have.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Queued, Self::Executing, Self::Completed, Self::Error, Self::Aborted];

    /// Whether it can still change by itself or by a request.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Pending | Self::Queued | Self::Executing)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "PENDING",
            Self::Queued => "QUEUED",
            Self::Executing => "EXECUTING",
            Self::Completed => "COMPLETED",
            Self::Error => "ERROR",
            Self::Aborted => "ABORTED",
        })
    }
}

/// The result of a job.
#[derive(Debug, Clone)]
pub struct JobResult {
    /// What kind of document.
    pub media_type: &'static str,
    /// The document.
    pub bytes: Bytes,
}

/// What of a job changes.
#[derive(Debug)]
pub struct State {
    /// Where it stands.
    pub phase: Phase,
    /// What it was asked.
    pub params: Params,
    /// When it began to be answered.
    pub started: Option<SystemTime>,
    /// When it ended.
    pub ended: Option<SystemTime>,
    /// How long it may take.
    pub duration: Duration,
    /// When it is forgotten.
    pub destruction: SystemTime,
    /// Its result.
    pub result: Option<JobResult>,
    /// Why it failed.
    pub error: Option<String>,
    /// Stops what answers it.
    pub task: Option<AbortHandle>,
}

/// A job.
#[derive(Debug)]
pub struct Job {
    /// Its identifier.
    pub id: String,
    /// When it was made.
    pub created: SystemTime,
    state: Mutex<State>,
    phases: watch::Sender<Phase>,
}

impl Job {
    /// A job that waits to be run.
    pub fn new(id: String, params: Params, duration: Duration, keep: Duration) -> Self {
        let created = SystemTime::now();
        let state = State {
            phase: Phase::Pending,
            params,
            started: None,
            ended: None,
            duration,
            destruction: created + keep,
            result: None,
            error: None,
            task: None,
        };
        Self { id, created, state: Mutex::new(state), phases: watch::Sender::new(Phase::Pending) }
    }

    /// What of it changes, while nobody else changes it.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where it stands.
    pub fn phase(&self) -> Phase {
        self.state().phase
    }

    /// Follows where it stands.
    pub fn follow(&self) -> watch::Receiver<Phase> {
        self.phases.subscribe()
    }

    /// Moves on from one phase to another, changing what else is known; not if
    /// it is in another phase meanwhile, as after an abort.
    pub fn advance(&self, from: Phase, to: Phase, change: impl FnOnce(&mut State)) -> bool {
        let mut state = self.state();
        if state.phase != from {
            return false;
        }
        state.phase = to;
        if to == Phase::Executing {
            state.started = Some(SystemTime::now());
        }
        if !to.is_active() {
            state.ended = Some(SystemTime::now());
            state.task = None;
        }
        change(&mut state);
        drop(state);
        self.phases.send_replace(to);
        true
    }

    /// Stops it, if it has not ended.
    pub fn abort(&self) {
        let mut state = self.state();
        if !state.phase.is_active() {
            return;
        }
        state.phase = Phase::Aborted;
        state.ended = Some(SystemTime::now());
        if let Some(task) = state.task.take() {
            task.abort();
        }
        drop(state);
        self.phases.send_replace(Phase::Aborted);
    }
}
