//! Queries that are answered in the background: the life of a job.

use std::time::{Duration, Instant};

use tapstat::target::tap::Options;

use super::client::Response;
use super::{Served, votable, within};

const SLOW: &str = "SELECT COUNT(*) FROM ivoa.obscore a, ivoa.obscore b, ivoa.obscore c \
    WHERE a.s_ra + b.s_ra + c.s_ra > 1";

/// The path that a response sends on to.
fn sent_on(served: &Served, response: &Response) -> String {
    assert_eq!(response.status, 303, "{}", response.text());
    let url = response.header("location").unwrap();
    let path = url.strip_prefix(served.server.base_url()).unwrap();
    format!("/tap{path}")
}

fn create(served: &Served, query: &str, others: &[(&str, &str)]) -> String {
    let mut form = vec![("QUERY", query), ("LANG", "ADQL"), ("RESPONSEFORMAT", "csv")];
    form.extend(others);
    sent_on(served, &served.client.post("/tap/async", &form))
}

fn phase(served: &Served, job: &str) -> String {
    served.client.get(&format!("{job}/phase")).text()
}

/// The first text in an element of a job's document.
fn element(document: &str, name: &str) -> Option<String> {
    let (_, rest) = document.split_once(&format!("<uws:{name}>"))?;
    Some(rest.split_once('<')?.0.to_owned())
}

#[test]
fn a_job_goes_from_pending_to_completed() {
    let served = Served::new();
    let job = create(
        &served,
        "SELECT TOP 2 obs_id FROM ivoa.obscore ORDER BY obs_id",
        &[("RUNID", "first")],
    );
    assert_eq!(phase(&served, &job), "PENDING");
    let document = served.client.get(&job).text();
    assert_eq!(element(&document, "runId").as_deref(), Some("first"));
    assert_eq!(element(&document, "startTime"), None);
    assert_eq!(served.client.get(&format!("{job}/results/result")).status, 404);
    // Parameters can be changed as long as it is pending.
    let form = [("MAXREC", "1")];
    let changed = served.client.post(&format!("{job}/parameters"), &form);
    assert_eq!(sent_on(&served, &changed), job);
    let started = served.client.post(&format!("{job}/phase"), &[("PHASE", "RUN")]);
    assert_eq!(sent_on(&served, &started), job);
    let document = served.client.get(&format!("{job}?WAIT=30")).text();
    assert_eq!(element(&document, "phase").as_deref(), Some("COMPLETED"), "{document}");
    assert!(element(&document, "startTime").is_some() && element(&document, "endTime").is_some());
    assert!(document.contains("/results/result\""), "{document}");
    let result = served.client.get(&format!("{job}/results/result"));
    assert_eq!(result.text(), "obs_id\r\nobs-00000\r\n");
    assert_eq!(result.header("content-type"), Some("text/csv;header=present;charset=UTF-8"));
    for (part, expected) in [("quote", ""), ("owner", ""), ("executionduration", "60")] {
        assert_eq!(served.client.get(&format!("{job}/{part}")).text(), expected, "{part}");
    }
    assert!(served.client.get(&format!("{job}/results")).text().contains("results/result"));
    assert!(served.client.get(&format!("{job}/parameters")).text().contains("obs_id"));
    assert_eq!(served.client.get(&format!("{job}/error")).status, 404);
    let late = served.client.post(&format!("{job}/parameters"), &form);
    assert_eq!(late.status, 400);
    assert_eq!(served.client.post(&format!("{job}/phase"), &[("PHASE", "RUN")]).status, 400);
    assert_eq!(served.client.post(&format!("{job}/phase"), &[("PHASE", "GO")]).status, 400);
}

#[test]
fn a_job_that_fails_says_why() {
    let served = Served::new();
    let job = create(&served, "SELECT nothing FROM ivoa.obscore", &[("PHASE", "RUN")]);
    let document = served.client.get(&format!("{job}?WAIT=30")).text();
    assert_eq!(element(&document, "phase").as_deref(), Some("ERROR"));
    assert!(element(&document, "message").unwrap().starts_with("No field named nothing."));
    let error = served.client.get(&format!("{job}/error")).text();
    assert!(votable::status(&error).unwrap().1.starts_with("No field named nothing."));
}

#[test]
fn a_job_is_aborted_while_it_runs() {
    let served = Served::with(Options { pool: 1, ..Options::default() });
    let job = create(&served, SLOW, &[("PHASE", "RUN")]);
    while phase(&served, &job) != "EXECUTING" {
        assert_eq!(phase(&served, &job), "QUEUED");
    }
    // Another waits for the only place.
    let waiting = create(&served, "SELECT COUNT(*) FROM ivoa.obscore", &[("PHASE", "RUN")]);
    assert_eq!(phase(&served, &waiting), "QUEUED");
    let aborted = served.client.post(&format!("{job}/phase"), &[("PHASE", "ABORT")]);
    assert_eq!(sent_on(&served, &aborted), job);
    assert_eq!(phase(&served, &job), "ABORTED");
    // Its place is free.
    let document = served.client.get(&format!("{waiting}?WAIT=30&PHASE=QUEUED")).text();
    let document = match element(&document, "phase").as_deref() {
        Some("EXECUTING") => served.client.get(&format!("{waiting}?WAIT=30")).text(),
        _ => document,
    };
    assert_eq!(element(&document, "phase").as_deref(), Some("COMPLETED"));
}

#[test]
fn jobs_are_deleted_and_forgotten() {
    let served = Served::new();
    let jobs: Vec<String> =
        (0..3).map(|_| create(&served, "SELECT 1 AS a", &[("PHASE", "RUN")])).collect();
    assert_eq!(sent_on(&served, &served.client.delete(&jobs[0])), "/tap/async");
    let deleted = served.client.post(&jobs[1], &[("ACTION", "DELETE")]);
    assert_eq!(sent_on(&served, &deleted), "/tap/async");
    for job in &jobs[..2] {
        assert_eq!(served.client.get(job).status, 404);
    }
    // A job whose time has come goes by itself.
    let past = [("DESTRUCTION", "2020-01-01T00:00:00Z")];
    served.client.post(&format!("{}/destruction", jobs[2]), &past);
    let patience = Instant::now() + Duration::from_secs(30);
    while served.client.get(&jobs[2]).status != 404 {
        assert!(Instant::now() < patience, "the job is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_list_is_filtered() {
    let served = Served::new();
    let first = create(&served, "SELECT 1 AS a", &[]);
    let second = create(&served, "SELECT 2 AS a", &[("PHASE", "RUN")]);
    served.client.get(&format!("{second}?WAIT=30"));
    let listed = |filter: &str| {
        let document = served.client.get(&format!("/tap/async{filter}")).text();
        [&first, &second].map(|job| document.contains(job.rsplit('/').next().unwrap()))
    };
    assert_eq!(listed(""), [true, true]);
    assert_eq!(listed("?PHASE=PENDING"), [true, false]);
    assert_eq!(listed("?PHASE=COMPLETED&PHASE=ERROR"), [false, true]);
    assert_eq!(listed("?PHASE=HELD"), [false, false]);
    assert_eq!(listed("?LAST=1"), [false, true]);
    assert_eq!(listed("?AFTER=2100-01-01T00:00:00Z"), [false, false]);
    assert_eq!(listed("?AFTER=2020-01-01"), [true, true]);
    assert_eq!(served.client.get("/tap/async?PHASE=NONE").status, 400);
    assert_eq!(served.client.get("/tap/async?LAST=0").status, 400);
}

#[test]
fn waiting_ends_when_there_is_nothing_to_wait_for() {
    let served = Served::new();
    let job = create(&served, "SELECT 1 AS a", &[]);
    // In another phase already, or no time at all.
    for wait in ["?WAIT=60&PHASE=EXECUTING", "?WAIT=0"] {
        let document = served.client.get(&format!("{job}{wait}")).text();
        assert_eq!(element(&document, "phase").as_deref(), Some("PENDING"));
    }
    assert_eq!(served.client.get(&format!("{job}?WAIT=soon")).status, 400);
}

#[test]
fn a_job_has_its_own_time() {
    let served = Served::with(within(Duration::from_secs(50)));
    let job = create(&served, SLOW, &[]);
    served.client.post(&format!("{job}/executionduration"), &[("EXECUTIONDURATION", "1")]);
    assert_eq!(served.client.get(&format!("{job}/executionduration")).text(), "1");
    served.client.post(&format!("{job}/phase"), &[("PHASE", "RUN")]);
    let mut document = String::new();
    for _ in 0..3 {
        document = served.client.get(&format!("{job}?WAIT=40")).text();
    }
    assert_eq!(element(&document, "phase").as_deref(), Some("ERROR"));
    assert_eq!(element(&document, "message").as_deref(), Some("the query took too long"));
    // No longer than the server allows.
    let other = create(&served, "SELECT 1 AS a", &[]);
    served.client.post(&format!("{other}/executionduration"), &[("EXECUTIONDURATION", "99999")]);
    assert_eq!(served.client.get(&format!("{other}/executionduration")).text(), "50");
}

#[test]
fn jobs_and_their_results_are_bounded() {
    let served = Served::with(Options { jobs: 2, results: 20_000, ..Options::default() });
    let large = create(&served, "SELECT * FROM ivoa.obscore", &[("PHASE", "RUN")]);
    let document = served.client.get(&format!("{large}?WAIT=30")).text();
    let document = match element(&document, "phase").as_deref() {
        Some("QUEUED" | "EXECUTING") => served.client.get(&format!("{large}?WAIT=30")).text(),
        _ => document,
    };
    assert!(element(&document, "message").unwrap().contains("no room"), "{document}");
    let second = create(&served, "SELECT 1 AS a", &[]);
    // The one that has ended makes room for a third; then none has.
    let third = create(&served, "SELECT 1 AS a", &[]);
    assert_eq!(served.client.get(&large).status, 404);
    assert_eq!(served.client.get(&second).status, 200);
    assert_eq!(served.client.post("/tap/async", &[("QUERY", "SELECT 1 AS a")]).status, 503);
    served.client.delete(&third);
    create(&served, "SELECT 1 AS a", &[]);
}
