//! Running a job.

use std::sync::Arc;

use axum::body::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::job::{Job, JobResult, Phase};
use crate::target::tap::answer::{Answer, Step};
use crate::target::tap::app::Shared;
use crate::target::tap::ask::Ask;
use crate::target::tap::engine::too_long;
use crate::target::tap::error::Refusal;
use crate::target::tap::watch::{Ending, Watch};

/// Bytes after which it is looked whether there is room for more.
const CHUNK: usize = 1 << 20;

/// Starts a job that is pending.
///
/// # Errors
/// If it is not.
pub fn start(app: &Shared, job: &Arc<Job>) -> Result<(), Refusal> {
    if !job.advance(Phase::Pending, Phase::Queued, |_| {}) {
        return Err(Refusal::bad(format!("the job is {} already", job.phase())));
    }
    let task = tokio::spawn(execute(Arc::clone(app), Arc::clone(job)));
    let mut state = job.state();
    if state.phase.is_active() {
        state.task = Some(task.abort_handle());
    } else {
        // It was stopped, or has ended, in between.
        task.abort();
    }
    Ok(())
}

async fn execute(app: Shared, job: Arc<Job>) {
    if let Err(refusal) = answer(&app, &job).await {
        let fail = |state: &mut super::job::State| state.error = Some(refusal.message.clone());
        let failed = job.advance(Phase::Executing, Phase::Error, fail);
        if !failed {
            job.advance(Phase::Queued, Phase::Error, fail);
        }
    }
}

async fn answer(app: &Shared, job: &Job) -> Result<(), Refusal> {
    let (asked, duration) = {
        let state = job.state();
        (Ask::new(&state.params, &app.options), state.duration)
    };
    let ask = asked?;
    // A job waits as long as it is kept.
    let place = app.pool.enter(Instant::now() + app.options.keep).await?;
    if !job.advance(Phase::Queued, Phase::Executing, |_| {}) {
        return Ok(());
    }
    let watch = Watch::new((Instant::now() + duration).into(), &app.stopping);
    let media_type = ask.format.media_type();
    let writing = write(Arc::clone(app), ask, place, Arc::clone(&watch));
    let mut task = app.workers.spawn(writing);
    // Dropped where the job is aborted: the query ends then, too.
    let ending = Ending { watch, task: task.abort_handle() };
    let written = timeout_at(ending.watch.deadline(), &mut task).await;
    let bytes = written
        .map_err(|_| too_long())?
        .map_err(|_| Refusal { status: 500, message: "the query broke off".to_owned() })??;
    let size = bytes.len();
    if !app.jobs.take_room(size) {
        return Err(no_room());
    }
    let result = JobResult { media_type, bytes: Bytes::from(bytes) };
    let kept = job.advance(Phase::Executing, Phase::Completed, |state| state.result = Some(result));
    if !kept {
        app.jobs.give_room(size);
    }
    Ok(())
}

fn no_room() -> Refusal {
    Refusal::busy("there is no room for the result: delete jobs, or ask for less")
}

/// Answers a query into memory.
async fn write(
    app: Shared,
    ask: Ask,
    place: OwnedSemaphorePermit,
    watch: Arc<Watch>,
) -> Result<Vec<u8>, Refusal> {
    let mut answer = Answer::start(&app.engine, &ask, place, watch).await?;
    let mut bytes = Vec::new();
    loop {
        let enough = bytes.len() + CHUNK;
        match answer.write(&mut bytes, enough).await? {
            Step::Done => return Ok(bytes),
            Step::Failed(message) | Step::Broken(message) => return Err(Refusal::bad(message)),
            Step::More if bytes.len() > app.jobs.room() => return Err(no_room()),
            Step::More => {}
        }
    }
}
