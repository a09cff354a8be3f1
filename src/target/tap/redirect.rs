//! Answers that a client is sent on to, for servers that are set up so.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response};

use super::app::{App, Shared, last_segment, see_other};
use super::ask::Ask;
use super::error::Refusal;
use super::secret::secret;
use super::sync::respond;

/// Queries that clients may come back for, at most: the oldest are forgotten.
const KEPT: usize = 4096;

/// Queries that clients were sent on to the answers of.
#[derive(Debug, Default)]
pub struct Redirects(Mutex<VecDeque<(String, Ask)>>);

impl Redirects {
    /// Keeps a query, and sends its client on to its answer.
    pub fn send_on(&self, app: &App, ask: Ask) -> Response<Body> {
        let id = secret();
        let url = format!("{}/sync/{id}", app.base_url);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back((id, ask));
        see_other(&url)
    }

    /// The query of an identifier, once.
    fn take(&self, id: &str) -> Option<Ask> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The latest are asked for first.
        let at = kept.iter().rposition(|(known, _)| known == id)?;
        kept.remove(at).map(|(_, ask)| ask)
    }
}

/// `/tap/sync/ID`.
pub async fn answer(State(app): State<Shared>, request: Request<Body>) -> Response<Body> {
    let answered = match app.redirects.take(last_segment(&request)) {
        Some(ask) => respond(&app, ask).await,
        None => Err(Refusal::not_found("there is no such answer, or it was fetched already")),
    };
    answered.unwrap_or_else(|refusal| app.refuse(&refusal))
}
