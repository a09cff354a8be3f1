//! What all requests share, and which path leads where.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use axum::routing::{any, get};
use tokio::runtime::Handle;

use super::answer::Pool;
use super::engine::Engine;
use super::error::Refusal;
use super::format::votable::error_document;
use super::options::Options;
use super::redirect::Redirects;
use super::uws::Jobs;
use super::{redirect, sync, uws, vosi};

/// What answers, for the head of answers.
const SERVER: &str = concat!("tapstat/", env!("CARGO_PKG_VERSION"));

/// What all requests share.
pub struct App {
    /// How the server is set up.
    pub options: Options,
    /// `http://…/tap`.
    pub base_url: String,
    /// Since when it answers.
    pub up_since: SystemTime,
    /// What answers queries.
    pub engine: Engine,
    /// Where queries are answered: not where connections are served, which
    /// must go on while a query keeps a thread busy.
    pub workers: Handle,
    /// Whether the server stops.
    pub stopping: Arc<AtomicBool>,
    /// Who is answered when.
    pub pool: Pool,
    /// The async jobs.
    pub jobs: Jobs,
    /// Answers that clients were sent on to.
    pub redirects: Redirects,
}

/// A handle on what all requests share.
pub type Shared = Arc<App>;

/// The paths of the server.
pub fn router(app: Shared) -> Router {
    Router::new()
        .route("/tap", get(root))
        .route("/tap/", get(root))
        .route("/tap/sync", get(sync::answer).post(sync::answer))
        .route("/tap/sync/{id}", get(redirect::answer))
        .route("/tap/capabilities", get(vosi::capabilities))
        .route("/tap/availability", get(vosi::availability))
        .route("/tap/tables", get(vosi::tables))
        .route("/tap/tables/{name}", get(vosi::table))
        .route("/tap/examples", get(vosi::examples))
        .route("/tap/async", get(uws::list).post(uws::create))
        .route("/tap/async/{id}", any(uws::job))
        .route("/tap/async/{id}/{*rest}", any(uws::part))
        .fallback(unknown)
        .with_state(app)
}

async fn root(State(app): State<Shared>) -> Response<Body> {
    let base = &app.base_url;
    let text = format!(
        "A TAP service (https://www.ivoa.net/documents/TAP/), of tapstat {}.\n\n\
         {base}/capabilities\n{base}/tables\n{base}/examples\n{base}/sync\n{base}/async\n",
        crate::VERSION
    );
    reply(200, "text/plain;charset=UTF-8", text)
}

async fn unknown() -> Response<Body> {
    reply(404, "text/plain;charset=UTF-8", "There is nothing here: the service is at /tap\n")
}

/// An answer that is whole.
pub fn reply(status: u16, media_type: &str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = media_type.parse() {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    response.headers_mut().insert(header::SERVER, HeaderValue::from_static(SERVER));
    response
}

/// An answer in XML.
pub fn xml(body: String) -> Response<Body> {
    reply(200, "text/xml;charset=UTF-8", body)
}

/// Sends a client on to another URL.
pub fn see_other(url: &str) -> Response<Body> {
    let mut response = reply(303, "text/plain;charset=UTF-8", format!("See {url}\n"));
    if let Ok(value) = url.parse() {
        response.headers_mut().insert(header::LOCATION, value);
    }
    response
}

impl App {
    /// A refusal as DALI has it: a VOTable that says what is wrong.
    pub fn refuse(&self, refusal: &Refusal) -> Response<Body> {
        let status = if self.options.errors_as_ok { 200 } else { refusal.status };
        let document = error_document(&refusal.message);
        let mut response = reply(status, "application/x-votable+xml", document);
        if refusal.status == 503 {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// The last part of a path.
pub fn last_segment(request: &Request<Body>) -> &str {
    request.uri().path().rsplit('/').next().unwrap_or_default()
}
