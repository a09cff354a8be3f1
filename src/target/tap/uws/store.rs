//! The jobs that are kept: so many, and with results of so many bytes, at most.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::job::{Job, Phase};
use crate::target::tap::app::Shared;
use crate::target::tap::error::Refusal;
use crate::target::tap::options::Options;
use crate::target::tap::params::Params;
use crate::target::tap::secret::secret;

/// How often jobs whose time has come are forgotten.
const SWEEP: Duration = Duration::from_millis(500);

/// The jobs, in the order in which they were made.
#[derive(Debug)]
pub struct Jobs {
    jobs: Mutex<VecDeque<Arc<Job>>>,
    most: usize,
    /// Bytes of all results, and how many there may be.
    bytes: AtomicUsize,
    most_bytes: usize,
}

impl Jobs {
    /// A store of so many jobs, with results of so many bytes.
    pub fn new(most: usize, most_bytes: usize) -> Self {
        Self { jobs: Mutex::default(), most, bytes: AtomicUsize::new(0), most_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Job>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a job. Where there are too many, the oldest that has ended goes.
    ///
    /// # Errors
    /// If there are too many that have not.
    pub fn create(&self, params: Params, options: &Options) -> Result<Arc<Job>, Refusal> {
        let job = Arc::new(Job::new(secret(), params, options.timeout, options.keep));
        let mut jobs = self.lock();
        let gone = if jobs.len() >= self.most {
            let ended = jobs.iter().position(|job| !job.phase().is_active());
            let ended = ended.ok_or_else(|| {
                Refusal::busy("too many jobs have not ended yet: delete some, or try again later")
            })?;
            jobs.remove(ended)
        } else {
            None
        };
        jobs.push_back(Arc::clone(&job));
        drop(jobs);
        if let Some(gone) = gone {
            self.forget(&gone);
        }
        Ok(job)
    }

    /// The job of an identifier.
    pub fn get(&self, id: &str) -> Option<Arc<Job>> {
        self.lock().iter().find(|job| job.id == id).map(Arc::clone)
    }

    /// All, the oldest first.
    pub fn all(&self) -> Vec<Arc<Job>> {
        self.lock().iter().map(Arc::clone).collect()
    }

    /// Takes a job out and stops it; whether it was there.
    pub fn delete(&self, id: &str) -> bool {
        let mut jobs = self.lock();
        let Some(at) = jobs.iter().position(|job| job.id == id) else { return false };
        let job = jobs.remove(at);
        drop(jobs);
        if let Some(job) = job {
            self.forget(&job);
        }
        true
    }

    fn forget(&self, job: &Job) {
        job.abort();
        if let Some(result) = job.state().result.take() {
            self.bytes.fetch_sub(result.bytes.len(), Ordering::Relaxed);
        }
    }

    /// Bytes that another result may have.
    pub fn room(&self) -> usize {
        self.most_bytes.saturating_sub(self.bytes.load(Ordering::Relaxed))
    }

    /// Counts the bytes of a result; whether there is room for them.
    pub fn take_room(&self, bytes: usize) -> bool {
        let taken = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if taken > self.most_bytes {
            self.give_room(bytes);
            return false;
        }
        true
    }

    /// Gives back the bytes of a result that was not kept.
    pub fn give_room(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The jobs in some phases (all where none is named), made after some time,
    /// the last so many.
    pub fn list(
        &self,
        phases: &[Phase],
        after: Option<SystemTime>,
        last: Option<usize>,
    ) -> Vec<Arc<Job>> {
        let mut jobs = self.all();
        jobs.retain(|job| phases.is_empty() || phases.contains(&job.phase()));
        jobs.retain(|job| after.is_none_or(|after| job.created > after));
        if let Some(last) = last {
            jobs.drain(..jobs.len().saturating_sub(last));
        }
        jobs
    }
}

/// Forgets jobs whose time has come, as long as it is let.
pub async fn sweep(app: Shared) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let now = SystemTime::now();
        for job in app.jobs.all() {
            let destruction = job.state().destruction;
            if destruction <= now {
                app.jobs.delete(&job.id);
            }
        }
    }
}
