use super::*;
use crate::load::desk::tests::spec;
use crate::load::spec::{Endpoint, Pacing};

fn course(kind: Kind, method: &str, target: &str) -> Course {
    let spec = RungSpec {
        endpoint: Endpoint::parse("http://server:8080/tap").unwrap(),
        kind,
        max_redirects: 3,
        ..spec(Pacing::Closed, 1)
    };
    let mut request = spec.workload.requests()[0].clone();
    method.clone_into(&mut request.method);
    target.clone_into(&mut request.target);
    request.body = b"a=b".to_vec();
    request.headers = vec![
        ("Content-Type".to_owned(), "x".to_owned()),
        ("Authorization".to_owned(), "y".to_owned()),
    ];
    Course::new(&spec, &request)
}

fn reply<'a>(status: u16, location: &'a str, body: &'a str) -> Reply<'a> {
    let location = Some(location).filter(|location| !location.is_empty());
    Reply { status, location, body: body.as_bytes() }
}

fn next(course: &mut Course, reply: Reply<'_>) -> Follow {
    match course.after(reply) {
        Then::Follow(follow) => *follow,
        Then::Finish(fault) => panic!("finished by {fault:?} after {reply:?}"),
    }
}

#[test]
fn references_are_resolved() {
    for (reference, expected) in [
        ("g", "/b/c/g"),
        ("./g", "/b/c/g"),
        ("g/", "/b/c/g/"),
        ("/g", "/g"),
        ("?y", "/b/c/d?y"),
        ("g?y/../x", "/b/c/g?y/../x"),
        ("..", "/b/"),
        ("../..", "/"),
        ("../../../g", "/g"),
        ("", "/b/c/d?q"),
    ] {
        assert_eq!(resolve("/b/c/d?q", reference), expected, "{reference}");
    }
}

#[test]
fn redirects_lead_to_the_same_host() {
    for (location, expected) in [
        ("http://server:8080/a?b#c", Some((8080, "/a?b"))),
        ("HTTP://SERVER/a", Some((80, "/a"))),
        ("//server:9/", Some((9, "/"))),
        ("http://server?x", Some((80, "/?x"))),
        ("result/1", Some((8080, "/tap/result/1"))),
        ("http://other/a", None),
        ("https://server:8080/a", None),
        ("mailto:a", None),
        ("/a b", None),
        ("", None),
    ] {
        let course = course(Kind::Http, "GET", "/sync");
        let found = course.place(reply(303, location, ""));
        let found = found.as_ref().map(|(port, target)| (*port, target.as_str()));
        assert_eq!(found, expected, "{location}");
    }
}

#[test]
fn a_redirect_changes_the_method_where_it_must() {
    for (status, method, expected) in [
        (303, "POST", ("GET", 0)),
        (302, "POST", ("GET", 0)),
        (301, "GET", ("GET", 3)),
        (307, "POST", ("POST", 3)),
        (308, "POST", ("POST", 3)),
        (303, "HEAD", ("HEAD", 3)),
    ] {
        let follow = next(&mut course(Kind::TapSync, method, "/sync"), reply(status, "/x", ""));
        let request = &follow.request;
        assert_eq!((request.method.as_str(), request.body.len()), expected, "{status} {method}");
        assert_eq!(request.headers.len(), if expected.1 == 0 { 1 } else { 2 });
        assert!(follow.is_result);
    }
}

#[test]
fn redirects_end() {
    let mut course = course(Kind::Http, "GET", "/");
    for _ in 0..3 {
        next(&mut course, reply(302, "/", ""));
    }
    assert_eq!(course.after(reply(302, "/", "")), Then::Finish(Fault::Redirects));
    assert_eq!(course.after(reply(200, "", "")), Then::Finish(Fault::None));
}

#[test]
fn a_job_is_run_polled_fetched_and_deleted() {
    let polling = Polling { run_at_once: false, ..Polling::default() };
    let mut course = course(Kind::TapAsync(polling), "POST", "/async");
    let run = next(&mut course, reply(303, "http://server:8080/tap/async/7", ""));
    assert_eq!(
        (run.request.method.as_str(), run.request.target.as_str()),
        ("POST", "/tap/async/7/phase")
    );
    assert_eq!(run.request.body, b"PHASE=RUN");
    let mut waits = Vec::new();
    let mut follow = next(&mut course, reply(303, "/tap/async/7", ""));
    for phase in ["QUEUED", "EXECUTING\n", "EXECUTING"] {
        assert_eq!(follow.request.target, "/tap/async/7/phase");
        assert!(follow.keep_body && !follow.is_result);
        waits.push(follow.wait / 1_000_000);
        follow = next(&mut course, reply(200, "", phase));
    }
    assert_eq!(waits, [20, 30, 45]);
    let result = next(&mut course, reply(200, "", "COMPLETED"));
    assert_eq!(result.request.target, "/tap/async/7/results/result");
    let elsewhere = next(&mut course, reply(303, "/files/7", ""));
    assert!(elsewhere.is_result);
    assert_eq!(course.after(reply(200, "", "")), Then::Finish(Fault::None));
    let delete = course.clean_up().unwrap();
    assert_eq!(
        (delete.request.method.as_str(), delete.request.target.as_str()),
        ("DELETE", "/tap/async/7")
    );
    assert_eq!(course.clean_up(), None);
}

#[test]
fn jobs_that_fail_are_told_apart() {
    for (phase, fault) in
        [("ERROR", Fault::JobError), ("ABORTED", Fault::JobAborted), ("<html>", Fault::JobProtocol)]
    {
        let mut course = course(Kind::TapAsync(Polling::default()), "POST", "/async");
        next(&mut course, reply(303, "async/7", ""));
        assert_eq!(course.after(reply(200, "", phase)), Then::Finish(fault));
        assert!(course.clean_up().is_some());
    }
    let mut none = course(Kind::TapAsync(Polling::default()), "POST", "/async");
    assert_eq!(none.after(reply(200, "", "")), Then::Finish(Fault::JobProtocol));
    assert_eq!(none.clean_up(), None);
    let mut busy = course(Kind::TapAsync(Polling::default()), "POST", "/async");
    assert_eq!(busy.after(reply(503, "", "")), Then::Finish(Fault::None));
}
