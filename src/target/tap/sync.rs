//! Queries that are answered at once.

use std::io;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Request, Response};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::answer::{Answer, Step};
use super::app::{App, Shared, reply};
use super::ask::Ask;
use super::error::Refusal;
use super::params::Params;

/// Bytes that are sent at once. An answer of no more has its length in its head.
const CHUNK: usize = 64 << 10;

/// `/tap/sync`.
pub async fn answer(State(app): State<Shared>, request: Request<Body>) -> Response<Body> {
    let asked = match Params::read(request, &app.options).await {
        Ok(params) => Ask::new(&params, &app.options),
        Err(refusal) => Err(refusal),
    };
    let answered = match asked {
        Ok(ask) if app.options.redirect => Ok(app.redirects.send_on(&app, ask)),
        Ok(ask) => respond(&app, &ask).await,
        Err(refusal) => Err(refusal),
    };
    answered.unwrap_or_else(|refusal| app.refuse(&refusal))
}

/// The answer to a query.
///
/// # Errors
/// If it fails before the first bytes are sent.
pub async fn respond(app: &App, ask: &Ask) -> Result<Response<Body>, Refusal> {
    let deadline = Instant::now() + app.options.timeout;
    let place = app.pool.enter(deadline).await?;
    let mut answer = Answer::start(&app.engine, ask, place, deadline).await?;
    let mut bytes = Vec::new();
    let media_type = ask.format.media_type();
    match answer.write(&mut bytes, CHUNK).await? {
        Step::Done => Ok(reply(200, media_type, bytes)),
        Step::Failed(message) | Step::Broken(message) => Err(Refusal { status: 500, message }),
        Step::More => Ok(reply(200, media_type, stream(answer, bytes))),
    }
}

/// Sends the rest of an answer as it is written. A client that does not read
/// loses its place when the time of its query is up.
fn stream(mut answer: Answer, first: Vec<u8>) -> Body {
    let (sender, receiver) = mpsc::channel::<io::Result<Bytes>>(2);
    tokio::spawn(async move {
        let mut bytes = first;
        let mut is_last = false;
        loop {
            let chunk = Ok(Bytes::from(std::mem::take(&mut bytes)));
            let sent = timeout_at(answer.deadline(), sender.send(chunk)).await;
            if !matches!(sent, Ok(Ok(()))) {
                // The body ends without its last chunk, which the client sees.
                let _ = sender.try_send(Err(io::Error::other("the query took too long")));
                return;
            }
            if is_last {
                return;
            }
            match answer.write(&mut bytes, CHUNK).await {
                Ok(Step::More) => {}
                Ok(Step::Done | Step::Failed(_)) => is_last = true,
                Ok(Step::Broken(message)) => {
                    let _ = sender.send(Err(io::Error::other(message))).await;
                    return;
                }
                Err(refusal) => {
                    let _ = sender.send(Err(io::Error::other(refusal.message))).await;
                    return;
                }
            }
        }
    });
    let chunks = futures::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|chunk| (chunk, receiver))
    });
    Body::from_stream(chunks)
}
