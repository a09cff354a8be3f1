//! `tapstat prereg`: whether the protocol was frozen before it was measured by.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::Value;

use super::args::{Global, OneRun};
use super::output::Output;
use super::{Answer, session};
use crate::protocol::prereg::{
    Claim, Examination, Measurement, ResumeEntry, Start, StartBasis, Verdict, examine,
};
use crate::protocol::{Prereg, Protocol};
use crate::report::prereg_page;
use crate::sql::Session;
use crate::store::rows::RESUMED;

const EXAMPLES: &str = "\
Examples:
  tapstat prereg --repo ../egernia --run 20260912T225808Z
  tapstat prereg --repo . --tag v1-prereg --paths protocol.toml,pins --run scaling
  tapstat prereg --repo clone.git --tag 3fe01e7 --paths protocol.toml --format json";

/// Say whether the protocol was frozen before the run was measured
///
/// The tag or commit that the protocol was registered by is compared with the
/// commit that the run was measured at, in the protocol's files.
///
/// `frozen`: they are the same, the registration is an ancestor and older than
/// the first request, and nothing was left uncommitted. `changed`: one differs,
/// there or where the run was resumed. `unproven`: neither can be shown. Exits
/// with 1 unless frozen.
///
/// git's times are what their authors' clocks said, and signatures are seen,
/// not verified. `docs/protocol.md` says what each verdict proves.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The repository, bare or not, or a folder in it
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub repo: PathBuf,

    /// The tag or commit of the registration [default: the protocol's]
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,

    /// The protocol's files and folders, from the top of the repository
    /// [default: the protocol's]
    #[arg(long, value_name = "PATH,…", value_delimiter = ',', num_args = 1..)]
    pub paths: Vec<String>,

    #[command(flatten)]
    pub run: OneRun,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let (registered, measurement) = match &args.run.run {
        Some(name) => {
            let (session, run) = session::open_run(global, name)?;
            let protocol = session.judged().iter().find(|judged| judged.run == run);
            let registered = protocol.and_then(|judged| judged.selected.protocol.prereg.clone());
            (registered, Some(measurement(&session, run)?))
        }
        None => {
            let protocol = global.rule.protocol.as_deref().map(Protocol::read).transpose()?;
            (protocol.and_then(|protocol| protocol.prereg), None)
        }
    };
    let Prereg { r#ref, commit, paths } = registered.unwrap_or_default();
    // A commit that is on record is that of the protocol's own tag.
    let is_own = args.tag.is_none() || args.tag == r#ref;
    let Some(reference) = args.tag.clone().or(r#ref) else {
        bail!("no tag: give --tag, or a protocol that has `ref` in its [prereg]");
    };
    let examination = examine(&Claim {
        repository: &args.repo,
        reference: &reference,
        commit: commit.as_deref().filter(|_| is_own),
        paths: if args.paths.is_empty() { &paths } else { &args.paths },
        run: measurement.as_ref(),
    })?;
    let output = Output::open(&global.output)?;
    output.document(&prereg_page(&examination), &examination)?;
    Ok(Answer::of(examination.verdict == Verdict::Frozen))
}

/// The pre-registration of a session's one run, in that repository, by that tag
/// or commit or else the protocol's; nothing where there is neither.
pub(super) fn examination(
    session: &Session,
    run: &str,
    repository: &Path,
    tag: Option<&str>,
) -> Result<Option<Examination>> {
    let judged = session.judged().iter().find(|judged| judged.run == run);
    let prereg = judged.and_then(|judged| judged.selected.protocol.prereg.clone());
    let Prereg { r#ref, commit, paths } = prereg.unwrap_or_default();
    let is_own = tag.is_none() || tag == r#ref.as_deref();
    let Some(reference) = tag.or(r#ref.as_deref()) else {
        return Ok(None);
    };
    let measurement = measurement(session, run.to_owned())?;
    Ok(Some(examine(&Claim {
        repository,
        reference,
        commit: commit.as_deref().filter(|_| is_own),
        paths: &paths,
        run: Some(&measurement),
    })?))
}

/// What a run recorded, from the store.
fn measurement(session: &Session, run: String) -> Result<Measurement> {
    let row = session::view(
        session,
        "runs",
        "SELECT git_sha, git_dirty, git_describe, started_at FROM runs",
    )?;
    let text = |column| Ok::<_, anyhow::Error>(row.texts(column)?.into_iter().flatten().next());
    Ok(Measurement {
        run,
        commit: text("git_sha")?,
        dirty: row.flags("git_dirty")?.into_iter().flatten().next(),
        describe: text("git_describe")?,
        start: start(session)?,
        resumed: resumed(session)?,
    })
}

/// When measuring began, by the best that the store has. A resume is no
/// beginning: something was measured before it.
fn start(session: &Session) -> Result<Option<Start>> {
    let first_event = format!("SELECT min(t) AS t FROM events WHERE kind <> '{RESUMED}'");
    for (basis, sql) in [
        (StartBasis::Request, "SELECT min(started_at) AS t FROM rungs"),
        (StartBasis::Environment, "SELECT min(started_at) AS t FROM runs"),
        (StartBasis::Event, &first_event),
    ] {
        let times = session::view(session, "runs", sql)?.floats("t")?;
        if let Some(time) = times.into_iter().flatten().next() {
            return Ok(Some(Start { time, basis }));
        }
    }
    Ok(None)
}

/// The `resumed` entries of the environment; where there are none, the events of
/// that name. An entry of the environment has its time within it, if it has one;
/// an event has it beside its detail, where the entry needs it.
fn resumed(session: &Session) -> Result<Vec<String>> {
    let sql = format!("SELECT t, detail FROM events WHERE kind = '{RESUMED}' ORDER BY t");
    let events = session::view(session, "events", &sql)?;
    let entries: Vec<(Option<f64>, String)> = events
        .floats("t")?
        .into_iter()
        .zip(events.texts("detail")?)
        .map(|(t, detail)| (t, detail.unwrap_or_default()))
        .collect();
    let is_of_environment =
        |(t, detail): &&(Option<f64>, String)| t.is_none() || ResumeEntry::parse(detail).time == *t;
    let of_environment: Vec<String> =
        entries.iter().filter(is_of_environment).map(|(_, detail)| detail.clone()).collect();
    if !of_environment.is_empty() {
        return Ok(of_environment);
    }
    Ok(entries.into_iter().map(|(t, detail)| timed(t, detail)).collect())
}

/// The detail of an event with the event's time in it, where it is an object.
fn timed(t: Option<f64>, detail: String) -> String {
    match serde_json::from_str(&detail) {
        Ok(Value::Object(mut entry)) => {
            entry.insert("t".to_owned(), t.into());
            Value::Object(entry).to_string()
        }
        _ => detail,
    }
}
