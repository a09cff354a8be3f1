//! Queries that are answered at once.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Request, Response};
use futures::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use super::answer::{Answer, Step};
use super::app::{Shared, reply};
use super::ask::Ask;
use super::engine::too_long;
use super::error::Refusal;
use super::params::Params;
use super::watch::{Ending, Watch};

/// Bytes that are sent at once. An answer of no more has its length in its head.
const CHUNK: usize = 64 << 10;
/// How long a client may take to read the end of an answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// `/tap/sync`.
pub async fn answer(State(app): State<Shared>, request: Request<Body>) -> Response<Body> {
    let asked = match Params::read(request, &app.options).await {
        Ok(params) => Ask::new(&params, &app.options),
        Err(refusal) => Err(refusal),
    };
    let answered = match asked {
        Ok(ask) if app.options.redirect => Ok(app.redirects.send_on(&app, ask)),
        Ok(ask) => respond(&app, ask).await,
        Err(refusal) => Err(refusal),
    };
    answered.unwrap_or_else(|refusal| app.refuse(&refusal))
}

/// The answer to a query.
///
/// # Errors
/// If it fails before the first bytes are sent.
pub async fn respond(app: &Shared, ask: Ask) -> Result<Response<Body>, Refusal> {
    let deadline = Instant::now() + app.options.timeout;
    let place = app.pool.enter(deadline).await?;
    let media_type = ask.format.media_type();
    let watch = Watch::new(deadline.into(), &app.stopping);
    let (first, started) = oneshot::channel();
    let (sender, receiver) = mpsc::channel(2);
    let producing = produce(Arc::clone(app), ask, place, Arc::clone(&watch), first, sender);
    let task = app.workers.spawn(producing).abort_handle();
    // Dropped where the client goes away: the query ends then, too.
    let ending = Ending { watch, task };
    let started = timeout_at(deadline, started).await.map_err(|_| too_long())?;
    let started =
        started.map_err(|_| Refusal { status: 500, message: "the query broke off".to_owned() })?;
    match started? {
        First::Whole(bytes) => Ok(reply(200, media_type, bytes)),
        First::Begun(bytes) => {
            let rest =
                futures::stream::unfold((receiver, ending), |(mut receiver, ending)| async {
                    receiver.recv().await.map(|chunk| (chunk, (receiver, ending)))
                });
            let begun = futures::stream::once(std::future::ready(Ok(bytes)));
            Ok(reply(200, media_type, Body::from_stream(begun.chain(rest))))
        }
    }
}

/// The first bytes of an answer.
enum First {
    /// All of them.
    Whole(Bytes),
    /// There are others.
    Begun(Bytes),
}

/// Answers a query: its first bytes, and the rest as it is written. A client
/// that does not read loses its place when the time of its query is up.
async fn produce(
    app: Shared,
    ask: Ask,
    place: OwnedSemaphorePermit,
    watch: Arc<Watch>,
    first: oneshot::Sender<Result<First, Refusal>>,
    sender: mpsc::Sender<io::Result<Bytes>>,
) {
    let mut bytes = Vec::new();
    let started = match Answer::start(&app.engine, &ask, place, watch).await {
        Ok(mut answer) => answer.write(&mut bytes, CHUNK).await.map(|step| (answer, step)),
        Err(refusal) => Err(refusal),
    };
    let (started, answer) = match started {
        Ok((_, Step::Done)) => (Ok(First::Whole(bytes.into())), None),
        Ok((_, Step::Failed(message) | Step::Broken(message))) => {
            (Err(Refusal { status: 500, message }), None)
        }
        Ok((answer, Step::More)) => (Ok(First::Begun(bytes.into())), Some(answer)),
        Err(refusal) => (Err(refusal), None),
    };
    if first.send(started).is_err() {
        return;
    }
    let Some(mut answer) = answer else { return };
    loop {
        let mut bytes = Vec::new();
        let (chunk, is_last) = match answer.write(&mut bytes, CHUNK).await {
            Ok(Step::More) => (Ok(bytes.into()), false),
            Ok(Step::Done | Step::Failed(_)) => (Ok(bytes.into()), true),
            // The body ends without its last chunk, which the client sees.
            Ok(Step::Broken(message)) => (Err(io::Error::other(message)), true),
            Err(refusal) => (Err(io::Error::other(refusal.message)), true),
        };
        // A little longer than the query itself may take: its failure is to be
        // told as well.
        let patience = answer.deadline() + PATIENCE;
        if !matches!(timeout_at(patience, sender.send(chunk)).await, Ok(Ok(()))) || is_last {
            return;
        }
    }
}
