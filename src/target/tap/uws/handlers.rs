//! The paths below `/tap/async`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Request, Response};

use super::job::{Job, Phase};
use super::{document, run};
use crate::target::tap::app::{App, Shared, reply, see_other, xml};
use crate::target::tap::error::Refusal;
use crate::target::tap::format::votable::error_document;
use crate::target::tap::params::Params;
use crate::target::tap::time;

/// How long a client may wait for a change of phase, in seconds.
const WAIT: u64 = 60;

type Answered = Result<Response<Body>, Refusal>;

fn answered(app: &App, answered: Answered) -> Response<Body> {
    answered.unwrap_or_else(|refusal| app.refuse(&refusal))
}

fn plain(text: impl Into<String>) -> Response<Body> {
    reply(200, "text/plain;charset=UTF-8", text.into())
}

/// `GET /tap/async`: the jobs.
pub async fn list(State(app): State<Shared>, request: Request<Body>) -> Response<Body> {
    answered(&app, listed(&app, request).await)
}

async fn listed(app: &App, request: Request<Body>) -> Answered {
    let params = Params::read(request, &app.options).await?;
    let phases = params.all("PHASE").map(phase).collect::<Result<Vec<_>, _>>()?;
    let after = params.one("AFTER")?.map(moment).transpose()?;
    let last = params.one("LAST")?.map(|text| {
        let last = text.parse::<usize>().ok().filter(|&last| last > 0);
        last.ok_or_else(|| Refusal::bad(format!("LAST '{text}': expected a number from 1 up")))
    });
    // A phase that no job here has matches none.
    let wanted: Vec<Phase> = phases.iter().flatten().copied().collect();
    let jobs = if !phases.is_empty() && wanted.is_empty() {
        Vec::new()
    } else {
        app.jobs.list(&wanted, after, last.transpose()?)
    };
    Ok(xml(document::list(&jobs, &app.base_url)))
}

/// A phase by its name; none for one that UWS knows and no job here has.
fn phase(text: &str) -> Result<Option<Phase>, Refusal> {
    if ["HELD", "SUSPENDED", "UNKNOWN", "ARCHIVED"].contains(&text) {
        return Ok(None);
    }
    let known = Phase::ALL.into_iter().find(|phase| phase.to_string() == text);
    known.map(Some).ok_or_else(|| Refusal::bad(format!("unknown PHASE '{text}'")))
}

fn moment(text: &str) -> Result<SystemTime, Refusal> {
    time::parse(text).ok_or_else(|| {
        Refusal::bad(format!("'{text}' is no time: expected one like 2026-09-12T22:58:08Z"))
    })
}

/// `POST /tap/async`: makes a job.
pub async fn create(State(app): State<Shared>, request: Request<Body>) -> Response<Body> {
    answered(&app, created(&app, request).await)
}

async fn created(app: &Shared, request: Request<Body>) -> Answered {
    let mut params = Params::read(request, &app.options).await?;
    let phase = params.one("PHASE")?.map(str::to_owned);
    params.remove("PHASE");
    let job = app.jobs.create(params, &app.options)?;
    if let Some(phase) = phase {
        order(app, &job, &phase)?;
    }
    Ok(to_job(app, &job))
}

fn to_job(app: &App, job: &Job) -> Response<Body> {
    see_other(&document::url(&app.base_url, job))
}

/// Does what a client wants of the phase.
fn order(app: &Shared, job: &Arc<Job>, phase: &str) -> Result<(), Refusal> {
    match phase {
        "RUN" => run::start(app, job),
        "ABORT" => {
            job.abort();
            Ok(())
        }
        other => Err(Refusal::bad(format!("PHASE '{other}': expected RUN or ABORT"))),
    }
}

fn find(app: &App, request: &Request<Body>) -> Result<Arc<Job>, Refusal> {
    let id = request.uri().path().split('/').nth(3).unwrap_or_default();
    app.jobs.get(id).ok_or_else(|| Refusal::not_found("there is no such job"))
}

fn method(request: &Request<Body>) -> Result<Method, Refusal> {
    let method = match *request.method() {
        Method::GET | Method::HEAD => Method::GET,
        Method::POST => Method::POST,
        Method::DELETE => Method::DELETE,
        _ => {
            return Err(Refusal {
                status: 405,
                message: "expected GET, POST or DELETE".to_owned(),
            });
        }
    };
    Ok(method)
}

/// `/tap/async/ID`.
pub async fn job(State(app): State<Shared>, request: Request<Body>) -> Response<Body> {
    answered(&app, on_job(&app, request).await)
}

async fn on_job(app: &Shared, request: Request<Body>) -> Answered {
    let job = find(app, &request)?;
    let method = method(&request)?;
    let delete = || {
        app.jobs.delete(&job.id);
        see_other(&format!("{}/async", app.base_url))
    };
    if method == Method::DELETE {
        return Ok(delete());
    }
    let mut params = Params::read(request, &app.options).await?;
    if method == Method::GET {
        wait(&job, &params).await?;
        return Ok(xml(document::job(&job, &app.base_url)));
    }
    match params.one("ACTION")? {
        Some(action) if action.eq_ignore_ascii_case("DELETE") => return Ok(delete()),
        Some(action) => {
            return Err(Refusal::bad(format!("unknown ACTION '{action}': expected DELETE")));
        }
        None => {}
    }
    // Parameters and phase may be posted to the job itself, too.
    let phase = params.one("PHASE")?.map(str::to_owned);
    params.remove("PHASE");
    change(&job, params)?;
    if let Some(phase) = phase {
        order(app, &job, &phase)?;
    }
    Ok(to_job(app, &job))
}

/// Waits for a change of phase, if the client asks for it.
async fn wait(job: &Job, params: &Params) -> Result<(), Refusal> {
    let Some(text) = params.one("WAIT")? else { return Ok(()) };
    let seconds = match text.trim().parse::<i64>() {
        Ok(-1) => WAIT,
        Ok(seconds @ 0..) => seconds.unsigned_abs().min(WAIT),
        _ => {
            return Err(Refusal::bad(format!("WAIT '{text}': expected seconds from 0 up, or -1")));
        }
    };
    let mut phases = job.follow();
    let now = job.phase();
    let known = params.one("PHASE")?.map(phase).transpose()?.flatten();
    if !now.is_active() || known.is_some_and(|known| known != now) {
        return Ok(());
    }
    let changed = phases.wait_for(|phase| *phase != now);
    // However it ends, the job is shown as it is then.
    let _ = tokio::time::timeout(Duration::from_secs(seconds), changed).await;
    Ok(())
}

/// Changes the parameters of a job.
fn change(job: &Job, params: Params) -> Result<(), Refusal> {
    if params.iter().next().is_none() {
        return Ok(());
    }
    let mut state = job.state();
    if state.phase != Phase::Pending {
        return Err(Refusal::bad(format!(
            "the job is {}: its parameters can be changed while it is PENDING only",
            state.phase
        )));
    }
    state.params.replace(params);
    Ok(())
}

/// `/tap/async/ID/…`.
pub async fn part(State(app): State<Shared>, request: Request<Body>) -> Response<Body> {
    answered(&app, on_part(&app, request).await)
}

async fn on_part(app: &Shared, request: Request<Body>) -> Answered {
    let job = find(app, &request)?;
    let method = method(&request)?;
    let path = request.uri().path().trim_end_matches('/').to_owned();
    let part = path.splitn(5, '/').nth(4).unwrap_or_default();
    let params = Params::read(request, &app.options).await?;
    if method == Method::GET {
        return shown(app, &job, part, &params).await;
    }
    if method != Method::POST {
        return Err(Refusal { status: 405, message: "expected GET or POST".to_owned() });
    }
    let value = |name: &str| {
        let value = params.one(name)?.map(str::to_owned);
        value.ok_or_else(|| Refusal::bad(format!("{name} is missing")))
    };
    match part {
        "phase" => order(app, &job, &value("PHASE")?)?,
        "parameters" => change(&job, params)?,
        "executionduration" => {
            let text = value("EXECUTIONDURATION")?;
            let seconds = text.trim().parse::<u64>().map_err(|_| {
                Refusal::bad(format!("EXECUTIONDURATION '{text}': expected seconds from 0 up"))
            })?;
            // None at all would be for ever: the longest there is.
            let wanted = if seconds == 0 { u64::MAX } else { seconds };
            job.state().duration = Duration::from_secs(wanted).min(app.options.timeout);
        }
        "destruction" => {
            let wanted = moment(&value("DESTRUCTION")?)?;
            job.state().destruction = wanted.min(job.created + app.options.keep);
        }
        _ => return Err(Refusal { status: 405, message: "this cannot be changed".to_owned() }),
    }
    Ok(to_job(app, &job))
}

async fn shown(app: &App, job: &Job, part: &str, params: &Params) -> Answered {
    Ok(match part {
        "phase" => {
            wait(job, params).await?;
            plain(job.phase().to_string())
        }
        "executionduration" => plain(job.state().duration.as_secs().to_string()),
        "destruction" => plain(time::format(job.state().destruction)),
        "quote" | "owner" => plain(""),
        "parameters" => xml(document::parameters(job)),
        "results" => xml(document::results(job, &app.base_url)),
        "results/result" => {
            let result = job.state().result.clone();
            let result = result.ok_or_else(|| {
                Refusal::not_found(format!("the job is {}: it has no result", job.phase()))
            })?;
            reply(200, result.media_type, result.bytes)
        }
        "error" => {
            let error = job.state().error.clone();
            let error = error.ok_or_else(|| Refusal::not_found("the job has no error"))?;
            reply(200, "application/x-votable+xml", error_document(&error))
        }
        _ => return Err(Refusal::not_found("a job has no such part")),
    })
}
