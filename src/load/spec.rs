//! Everything that one rung needs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::error::LoadError;
use super::workload::Workload;

/// The most connections of one worker: a record numbers them in 16 bits.
const MOST_CONNECTIONS: usize = 1 << 16;

/// One rung, as it is to be measured.
#[derive(Debug, Clone)]
pub struct RungSpec {
    pub endpoint: Endpoint,
    pub kind: Kind,
    pub workload: Arc<Workload>,
    pub pacing: Pacing,
    /// Connections held, over all workers: 1 or more.
    pub connections: usize,
    /// Requests at once on each connection; above 1 on HTTP/2 alone.
    pub streams: usize,
    /// Threads that send, each with its own share of the connections: 1 to `connections`.
    pub workers: usize,
    /// Whether a connection takes more than one request.
    pub keep_alive: bool,
    /// Cores that the workers are pinned to, one after the other; none: not pinned.
    pub pins: Vec<usize>,
    /// Load before the window: what starts in it is not recorded.
    pub warmup: Duration,
    /// The window in which requests are started.
    pub measure: Duration,
    /// How long after the window its stragglers are waited for; then they are aborted.
    pub drain: Duration,
    /// From the start of a request to its last byte, redirects included.
    pub request_timeout: Duration,
    pub connect_timeout: Duration,
    /// The first response of each query is read whole and checked, and one in so many; 0: none.
    pub check_every: u32,
    /// A slow reader: bytes per second that each connection takes from its responses.
    pub read_rate: Option<u64>,
    /// Seeds the draws of queries and of Poisson arrivals.
    pub seed: u64,
    /// CPU of one worker, in cores, at which the rung is void.
    pub guard_max: f64,
    /// Redirects that are followed inside one request.
    pub max_redirects: u32,
}

/// What a logical request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Request and response.
    Http,
    /// A synchronous TAP query: request and response, redirects followed.
    TapSync,
    /// An asynchronous TAP query (UWS): created, run, polled, its result fetched,
    /// timed from the first request to the last byte of the result; deleted
    /// afterwards, outside of the time.
    TapAsync(Polling),
}

/// How a job is polled: after `first`, then after `factor` times as long, up to `longest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Polling {
    pub first: Duration,
    /// In percent: 150 waits half as long again each time.
    pub factor_percent: u32,
    pub longest: Duration,
    /// Whether the job is made with PHASE=RUN already, or started by a request of its own.
    pub run_at_once: bool,
}

impl Default for Polling {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(20),
            factor_percent: 150,
            longest: Duration::from_secs(1),
            run_at_once: true,
        }
    }
}

/// When requests are started.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pacing {
    /// On each connection the next when the last has returned.
    Closed,
    /// At a rate over all workers, whatever the server does.
    Open {
        /// Requests per second.
        rate: f64,
        spacing: Spacing,
    },
    /// Idle, then a closed loop, again and again until the window ends. Every
    /// burst begins on new connections.
    Burst { idle: Duration, on: Duration },
}

/// How an open loop spaces its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spacing {
    /// Evenly.
    #[default]
    Constant,
    /// As independent clients do: exponentially distributed gaps.
    Poisson,
}

/// Where requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub scheme: Scheme,
    /// Name or address, an IPv6 address without brackets.
    pub host: String,
    pub port: u16,
    /// A socket in the file system that is connected to in place of host and port.
    pub unix: Option<PathBuf>,
    /// Which addresses of the host are taken.
    pub family: Family,
    /// Path that every request's path follows: empty, or `/…` without a slash at its end.
    pub base_path: String,
    pub http: HttpVersion,
    pub tls: TlsOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    /// The port where the URL names none.
    pub fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// A family of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    /// The first that the resolver gives.
    #[default]
    Any,
    V4,
    V6,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HttpVersion {
    #[default]
    Http1,
    /// By prior knowledge in the plain, by ALPN over TLS.
    Http2,
}

/// How a server's certificate is judged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TlsOptions {
    /// Certificates (PEM) that are trusted beside the system's.
    pub roots: Option<PathBuf>,
    /// Takes any certificate.
    pub insecure: bool,
    /// The name that is asked for and must be certified, where it is not the host.
    pub server_name: Option<String>,
}

impl Endpoint {
    /// Reads `http://host:port/base`, `https://…`, or `unix:/path/of/socket` with an
    /// optional `:/base` after it.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn parse(url: &str) -> Result<Self, LoadError> {
        let wrong =
            |reason: &str| LoadError::Url { url: url.to_owned(), reason: reason.to_owned() };
        let mut endpoint = Self {
            scheme: Scheme::Http,
            host: "localhost".to_owned(),
            port: 80,
            unix: None,
            family: Family::Any,
            base_path: String::new(),
            http: HttpVersion::Http1,
            tls: TlsOptions::default(),
        };
        if url.bytes().any(|byte| byte.is_ascii_control() || byte == b' ') {
            return Err(wrong("expected no blanks in it"));
        }
        if let Some(rest) = url.strip_prefix("unix:") {
            let (socket, base) = rest.split_once(":/").unwrap_or((rest, ""));
            if socket.is_empty() {
                return Err(wrong("expected the path of a socket after `unix:`"));
            }
            endpoint.unix = Some(PathBuf::from(socket));
            endpoint.base_path = base_path(base);
            return Ok(endpoint);
        }
        let rest = if let Some(rest) = url.strip_prefix("http://") {
            rest
        } else if let Some(rest) = url.strip_prefix("https://") {
            endpoint.scheme = Scheme::Https;
            rest
        } else {
            return Err(wrong("expected it to begin with http://, https:// or unix:"));
        };
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let (authority, path) = match rest.find(['/', '?']) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        if authority.contains('@') {
            return Err(wrong("expected no user in it: send an Authorization header"));
        }
        let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
            let (host, port) =
                rest.split_once(']').ok_or_else(|| wrong("expected `]` after an address"))?;
            (host, port.strip_prefix(':').or(port.is_empty().then_some("")))
        } else {
            match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, Some("")),
            }
        };
        let port = port.ok_or_else(|| wrong("expected `:port` after the host"))?;
        if host.is_empty() {
            return Err(wrong("expected a host in it"));
        }
        host.clone_into(&mut endpoint.host);
        endpoint.port = match port {
            "" => endpoint.scheme.port(),
            port => port
                .parse()
                .ok()
                .filter(|port| *port > 0)
                .ok_or_else(|| wrong("expected a port from 1 to 65535"))?,
        };
        endpoint.base_path = base_path(path.trim_start_matches('/'));
        Ok(endpoint)
    }

    /// What stands in a Host header: host and port, the port where it is not the scheme's.
    pub fn authority(&self) -> String {
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == self.scheme.port() { host } else { format!("{host}:{}", self.port) }
    }
}

/// A base path as [`Endpoint::base_path`] holds it.
fn base_path(path: &str) -> String {
    let path = path.trim_end_matches('/');
    if path.is_empty() { String::new() } else { format!("/{path}") }
}

impl RungSpec {
    /// Refuses what makes no sense.
    ///
    /// # Errors
    /// The first setting that is out of its range.
    pub fn check(&self) -> Result<(), LoadError> {
        let wrong =
            |field, value: String, expected| Err(LoadError::Setting { field, value, expected });
        let counts = [
            ("connections", self.connections, 1_000_000),
            ("streams", self.streams, 1_000),
            ("workers", self.workers, self.connections),
        ];
        for (field, value, most) in counts {
            if value == 0 || value > most {
                let expected = match field {
                    "workers" => "a number from 1 to that of the connections",
                    "streams" => "a number from 1 to 1000",
                    _ => "a number from 1 to 1000000",
                };
                return wrong(field, value.to_string(), expected);
            }
        }
        if self.connections.div_ceil(self.workers) > MOST_CONNECTIONS {
            let value = format!("{} on {} workers", self.connections, self.workers);
            return wrong("connections", value, "65536 or fewer on each worker");
        }
        if self.streams > 1 && self.endpoint.http != HttpVersion::Http2 {
            return wrong("streams", self.streams.to_string(), "1 without HTTP/2");
        }
        if self.workload.is_empty() {
            return wrong("workload", "empty".to_owned(), "one request or more");
        }
        if self.measure.is_zero() {
            return wrong("measure", "0 s".to_owned(), "a window longer than nothing");
        }
        if self.request_timeout.is_zero() || self.connect_timeout.is_zero() {
            return wrong("timeout", "0 s".to_owned(), "a time-out longer than nothing");
        }
        if let Pacing::Open { rate, .. } = self.pacing
            && !(rate > 0.0 && rate <= 1e8)
        {
            return wrong("rate", rate.to_string(), "a number above 0 of requests per second");
        }
        if let Pacing::Burst { on, .. } = self.pacing
            && on.is_zero()
        {
            return wrong("burst", "0 s".to_owned(), "a burst longer than nothing");
        }
        if self.read_rate == Some(0) {
            return wrong("read rate", "0".to_owned(), "a number above 0 of bytes per second");
        }
        if self.guard_max.is_nan() || self.guard_max <= 0.0 {
            return wrong("guard_max", self.guard_max.to_string(), "a number of cores above 0");
        }
        Ok(())
    }
}
