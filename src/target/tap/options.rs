//! How a server is set up.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// How a server is set up; the default listens on the loopback only.
#[derive(Debug, Clone)]
pub struct Options {
    /// The address to listen on.
    pub listen: IpAddr,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// The URL that documents and redirects name, where it is not that of the
    /// address: `http://…/tap`.
    pub base_url: Option<String>,
    /// Queries that are answered at the same time; others wait.
    pub pool: usize,
    /// Queries that may wait; more are refused with status 503.
    pub queue: usize,
    /// What every query waits once it has its place, as if for a database far
    /// away.
    pub delay: Duration,
    /// Whether sync answers with a redirect (303) to the answer.
    pub redirect: bool,
    /// Whether errors have the status 200, as DaCHS has it.
    pub errors_as_ok: bool,
    /// Rows of an answer where MAXREC is not given.
    pub default_rows: usize,
    /// Rows of an answer at most.
    pub max_rows: usize,
    /// How long a sync query may take, the writing of its answer included; the
    /// longest, and the usual, duration of an async one.
    pub timeout: Duration,
    /// How long a client may take to send the head of a request, and a
    /// connection may lie idle.
    pub header_timeout: Duration,
    /// How long a client may take to send the body of a request.
    pub body_timeout: Duration,
    /// Bytes of the body of a request at most.
    pub body: usize,
    /// Connections at most; others wait to be accepted.
    pub connections: usize,
    /// Bytes that all queries together may use for what they sort, join and
    /// group.
    pub memory: usize,
    /// Async jobs that are kept at most.
    pub jobs: usize,
    /// Bytes of the results of all async jobs at most.
    pub results: usize,
    /// How long an async job is kept.
    pub keep: Duration,
    /// Threads that answer; 0 for one a processor.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
            base_url: None,
            pool: 16,
            queue: 4096,
            delay: Duration::ZERO,
            redirect: false,
            errors_as_ok: false,
            default_rows: 20_000,
            max_rows: 1_000_000,
            timeout: Duration::from_secs(60),
            header_timeout: Duration::from_secs(60),
            body_timeout: Duration::from_secs(30),
            body: 1 << 20,
            connections: 8192,
            memory: 1 << 30,
            jobs: 1000,
            results: 512 << 20,
            keep: Duration::from_secs(86_400),
            threads: 0,
        }
    }
}
