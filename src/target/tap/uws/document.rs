//! Jobs as XML.

use std::sync::Arc;
use std::time::SystemTime;

use super::job::{Job, State};
use crate::target::tap::time;
use crate::target::tap::xml::escape;

const NAMESPACES: &str = "xmlns:uws=\"http://www.ivoa.net/xml/UWS/v1.0\" \
    xmlns:xlink=\"http://www.w3.org/1999/xlink\" \
    xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";
const START: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

fn or_nil(name: &str, value: Option<String>) -> String {
    match value {
        Some(value) => format!("<uws:{name}>{}</uws:{name}>\n", escape(&value)),
        None => format!("<uws:{name} xsi:nil=\"true\"/>\n"),
    }
}

fn run_id(state: &State) -> Option<&str> {
    state.params.all("RUNID").last()
}

/// A list of jobs.
pub fn list(jobs: &[Arc<Job>], base_url: &str) -> String {
    let references = jobs.iter().map(|job| {
        let state = job.state();
        let run_id = run_id(&state).map(|id| format!("<uws:runId>{}</uws:runId>", escape(id)));
        format!(
            "<uws:jobref id=\"{}\" xlink:href=\"{}\"><uws:phase>{}</uws:phase>{}\
             <uws:ownerId xsi:nil=\"true\"/><uws:creationTime>{}</uws:creationTime></uws:jobref>\n",
            job.id,
            escape(&url(base_url, job)),
            state.phase,
            run_id.unwrap_or_default(),
            time::format(job.created)
        )
    });
    let references: String = references.collect();
    format!("{START}<uws:jobs {NAMESPACES} version=\"1.1\">\n{references}</uws:jobs>\n")
}

/// Where a job is.
pub fn url(base_url: &str, job: &Job) -> String {
    format!("{base_url}/async/{}", job.id)
}

/// A job, whole.
pub fn job(job: &Job, base_url: &str) -> String {
    let state = job.state();
    let at = |time: Option<SystemTime>| time.map(time::format);
    let mut text = format!("{START}<uws:job {NAMESPACES} version=\"1.1\">\n");
    text += &format!("<uws:jobId>{}</uws:jobId>\n", job.id);
    if let Some(id) = run_id(&state) {
        text += &format!("<uws:runId>{}</uws:runId>\n", escape(id));
    }
    text += &or_nil("ownerId", None);
    text += &format!("<uws:phase>{}</uws:phase>\n", state.phase);
    text += &or_nil("quote", None);
    text += &or_nil("creationTime", at(Some(job.created)));
    text += &or_nil("startTime", at(state.started));
    text += &or_nil("endTime", at(state.ended));
    let duration = state.duration.as_secs();
    text += &format!("<uws:executionDuration>{duration}</uws:executionDuration>\n");
    text += &or_nil("destruction", at(Some(state.destruction)));
    text += &parameters_element(&state, "");
    text += &results_element(job, &state, base_url, "");
    if let Some(message) = &state.error {
        text += &format!(
            "<uws:errorSummary type=\"fatal\" hasDetail=\"true\"><uws:message>{}</uws:message></uws:errorSummary>\n",
            escape(message)
        );
    }
    text + "</uws:job>\n"
}

fn parameters_element(state: &State, attributes: &str) -> String {
    let parameters = state.params.iter().map(|(name, value)| {
        format!("<uws:parameter id=\"{}\">{}</uws:parameter>\n", escape(name), escape(value))
    });
    let parameters: String = parameters.collect();
    format!("<uws:parameters{attributes}>\n{parameters}</uws:parameters>\n")
}

fn results_element(job: &Job, state: &State, base_url: &str, attributes: &str) -> String {
    let result = state.result.as_ref().map(|result| {
        format!(
            "<uws:result id=\"result\" xlink:type=\"simple\" xlink:href=\"{}/results/result\" \
             mime-type=\"{}\" size=\"{}\"/>\n",
            escape(&url(base_url, job)),
            escape(result.media_type),
            result.bytes.len()
        )
    });
    format!("<uws:results{attributes}>\n{}</uws:results>\n", result.unwrap_or_default())
}

/// The parameters of a job.
pub fn parameters(job: &Job) -> String {
    START.to_owned() + &parameters_element(&job.state(), &format!(" {NAMESPACES}"))
}

/// The results of a job.
pub fn results(job: &Job, base_url: &str) -> String {
    let attributes = format!(" {NAMESPACES}");
    START.to_owned() + &results_element(job, &job.state(), base_url, &attributes)
}
