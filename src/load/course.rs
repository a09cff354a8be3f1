//! What one logical request takes: redirects that are followed, and the requests
//! of an asynchronous TAP job. It knows responses, not what carried them.
//!
//! A job (UWS 1.1) is created by a POST, which answers with a redirect to it;
//! started, unless PHASE=RUN went with the POST; its phase is polled until it is
//! terminal; its result fetched. The time of the request ends with the result's
//! last byte, or with the news that there is none. The job is deleted afterwards.

use super::clock::nanos;
use super::record::{Fault, Nanos};
use super::spec::{Kind, Polling, RungSpec, Scheme};
use super::workload::Prepared;

/// The longest body of a response that is read for what it says, as a phase.
pub const LONGEST: usize = 64 << 10;

/// A response, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    pub status: u16,
    pub location: Option<&'a str>,
    /// Its body where [`Follow::keep_body`] asked for it.
    pub body: &'a [u8],
}

/// What follows a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Then {
    /// The logical request has ended: with this response, or by a fault.
    Finish(Fault),
    Follow(Box<Follow>),
}

/// The next request of a logical one, on the same host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follow {
    /// Method, path, headers and body; the path is whole, base path and all.
    pub request: Prepared,
    pub port: u16,
    /// To wait before it is sent.
    pub wait: Nanos,
    /// Whether [`Reply::body`] is needed.
    pub keep_body: bool,
    /// Whether its response may be the one whose body is checked.
    pub is_result: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// One request and its redirects.
    Plain,
    Create,
    Start,
    Poll,
    Result,
}

/// One logical request under way.
#[derive(Debug)]
pub struct Course {
    scheme: Scheme,
    host: String,
    /// Whether every host is this one: behind a Unix socket.
    any_host: bool,
    most: u32,
    polling: Polling,
    stage: Stage,
    redirects: u32,
    /// What was sent last.
    sent: Prepared,
    port: u16,
    /// Of a job.
    job: Option<(u16, String)>,
    pause: Nanos,
}

/// Whether a status sends the client elsewhere.
#[inline]
pub fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Whether more than one response may belong to a logical request that was
/// answered with this status: only then a [`Course`] is needed.
#[inline]
pub fn goes_on(spec: &RungSpec, status: u16) -> bool {
    matches!(spec.kind, Kind::TapAsync(_)) || is_redirect(status) && spec.max_redirects > 0
}

impl Course {
    /// The course of a request of the workload, after it was sent.
    pub fn new(spec: &RungSpec, request: &Prepared) -> Self {
        let (stage, polling) = match spec.kind {
            Kind::TapAsync(polling) => (Stage::Create, polling),
            Kind::Http | Kind::TapSync => (Stage::Plain, Polling::default()),
        };
        let mut sent = request.clone();
        sent.target.insert_str(0, &spec.endpoint.base_path);
        Self {
            scheme: spec.endpoint.scheme,
            host: spec.endpoint.host.clone(),
            any_host: spec.endpoint.unix.is_some(),
            most: spec.max_redirects,
            polling,
            stage,
            redirects: 0,
            sent,
            port: spec.endpoint.port,
            job: None,
            pause: nanos(polling.first),
        }
    }

    /// What follows this response.
    pub fn after(&mut self, reply: Reply<'_>) -> Then {
        match self.stage {
            Stage::Create => self.created(reply),
            Stage::Start if reply.status < 400 => self.poll(),
            Stage::Poll if reply.status < 300 => self.polled(reply.body),
            Stage::Plain | Stage::Poll | Stage::Result if is_redirect(reply.status) => {
                self.redirect(reply)
            }
            _ => Then::Finish(Fault::None),
        }
    }

    /// The request that removes the job, if there is one. Its response is of no
    /// interest.
    pub fn clean_up(&mut self) -> Option<Follow> {
        let (port, target) = self.job.take()?;
        Some(Follow { keep_body: false, ..self.get("DELETE", port, target, 0) })
    }

    fn created(&mut self, reply: Reply<'_>) -> Then {
        if reply.status >= 400 {
            return Then::Finish(Fault::None);
        }
        // A job is announced by 303; some say 201.
        let place =
            if reply.status == 303 || reply.status == 201 { self.place(reply) } else { None };
        let Some((port, target)) = place else { return Then::Finish(Fault::JobProtocol) };
        let target = target.split('?').next().unwrap_or_default().trim_end_matches('/').to_owned();
        self.job = Some((port, target.clone()));
        if self.polling.run_at_once {
            return self.poll();
        }
        self.stage = Stage::Start;
        let mut follow = self.get("POST", port, format!("{target}/phase"), 0);
        let form = "application/x-www-form-urlencoded".to_owned();
        follow.request.headers.push(("Content-Type".to_owned(), form));
        follow.request.body = b"PHASE=RUN".to_vec();
        self.follow(follow)
    }

    fn poll(&mut self) -> Then {
        let Some((port, target)) = self.job.clone() else {
            return Then::Finish(Fault::JobProtocol);
        };
        self.stage = Stage::Poll;
        self.redirects = 0;
        let wait = self.pause;
        let longer = self.pause.saturating_mul(self.polling.factor_percent.into()) / 100;
        self.pause = longer.min(nanos(self.polling.longest)).max(self.pause.min(longer));
        let follow = self.get("GET", port, format!("{target}/phase"), wait);
        self.follow(Follow { keep_body: true, ..follow })
    }

    fn polled(&mut self, body: &[u8]) -> Then {
        match body.trim_ascii() {
            b"PENDING" | b"QUEUED" | b"EXECUTING" | b"SUSPENDED" | b"UNKNOWN" => self.poll(),
            b"COMPLETED" => {
                let Some((port, target)) = self.job.clone() else {
                    return Then::Finish(Fault::JobProtocol);
                };
                self.stage = Stage::Result;
                self.redirects = 0;
                let follow = self.get("GET", port, format!("{target}/results/result"), 0);
                self.follow(Follow { is_result: true, ..follow })
            }
            b"ERROR" => Then::Finish(Fault::JobError),
            b"ABORTED" | b"HELD" | b"ARCHIVED" => Then::Finish(Fault::JobAborted),
            _ => Then::Finish(Fault::JobProtocol),
        }
    }

    fn redirect(&mut self, reply: Reply<'_>) -> Then {
        self.redirects += 1;
        if self.redirects > self.most {
            return Then::Finish(Fault::Redirects);
        }
        let Some((port, target)) = self.place(reply) else {
            return Then::Finish(Fault::RedirectTarget);
        };
        let mut request = self.sent.clone();
        request.target = target;
        let keeps_method = matches!(reply.status, 307 | 308) || request.method == "HEAD";
        if !keeps_method && request.method != "GET" {
            "GET".clone_into(&mut request.method);
            request.body.clear();
            request.headers.retain(|(name, _)| !name.to_ascii_lowercase().starts_with("content-"));
        }
        let keep_body = self.stage == Stage::Poll;
        let is_result = matches!(self.stage, Stage::Plain | Stage::Result);
        self.follow(Follow { request, port, wait: 0, keep_body, is_result })
    }

    /// A request without a body to a place of the same host, its headers those of
    /// the first request but for what they say of its body.
    fn get(&self, method: &str, port: u16, target: String, wait: Nanos) -> Follow {
        let mut request = self.sent.clone();
        method.clone_into(&mut request.method);
        request.target = target;
        request.body.clear();
        request.headers.retain(|(name, _)| !name.to_ascii_lowercase().starts_with("content-"));
        Follow { request, port, wait, keep_body: false, is_result: false }
    }

    fn follow(&mut self, follow: Follow) -> Then {
        self.sent.clone_from(&follow.request);
        self.port = follow.port;
        Then::Follow(Box::new(follow))
    }

    /// Port and path that a reply points to, if they are of this host and scheme.
    fn place(&self, reply: Reply<'_>) -> Option<(u16, String)> {
        let location = reply.location?.trim();
        let location = location.split('#').next().unwrap_or_default();
        if location.bytes().any(|byte| !byte.is_ascii_graphic()) {
            return None;
        }
        let scheme = match self.scheme {
            Scheme::Http => "http:",
            Scheme::Https => "https:",
        };
        let has_scheme =
            location.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
        let rest = if has_scheme { &location[scheme.len()..] } else { location };
        if let Some(rest) = rest.strip_prefix("//") {
            let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            let port = self.port_of(authority)?;
            let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
            return Some((port, path));
        }
        // Another scheme, as `https:` or `mailto:`.
        let before_path = rest.split(['/', '?']).next().unwrap_or_default();
        if has_scheme || before_path.contains(':') {
            return None;
        }
        Some((self.port, resolve(&self.sent.target, rest)))
    }

    /// The port of an authority, if its host is ours.
    fn port_of(&self, authority: &str) -> Option<u16> {
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']')?;
                (host, port.strip_prefix(':').unwrap_or_default())
            }
            None => authority.split_once(':').unwrap_or((authority, "")),
        };
        if !self.any_host && !host.eq_ignore_ascii_case(&self.host) {
            return None;
        }
        if port.is_empty() { Some(self.scheme.port()) } else { port.parse().ok() }
    }
}

/// A reference relative to a path (RFC 3986, 5.2), dots taken out.
fn resolve(base: &str, reference: &str) -> String {
    let path = base.split('?').next().unwrap_or_default();
    if reference.is_empty() {
        return base.to_owned();
    }
    if reference.starts_with('?') {
        return format!("{path}{reference}");
    }
    let joined = if reference.starts_with('/') {
        reference.to_owned()
    } else {
        format!("{}{reference}", &path[..=path.rfind('/').unwrap_or(0)])
    };
    let (path, query) = joined.split_at(joined.find('?').unwrap_or(joined.len()));
    let mut segments: Vec<&str> = Vec::new();
    let mut parts = path.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        match part {
            "." | ".." => {
                if part == ".." {
                    segments.pop();
                }
                if is_last {
                    segments.push("");
                }
            }
            part => segments.push(part),
        }
    }
    format!("/{}{query}", segments.join("/"))
}

#[cfg(test)]
mod tests {
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
            assert_eq!(
                (request.method.as_str(), request.body.len()),
                expected,
                "{status} {method}"
            );
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
        for (phase, fault) in [
            ("ERROR", Fault::JobError),
            ("ABORTED", Fault::JobAborted),
            ("<html>", Fault::JobProtocol),
        ] {
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
}
