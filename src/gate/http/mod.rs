//! A small HTTP client for the gates: one request at a time, a bound on time
//! and size, and an exact word for whatever goes wrong.
//!
//! The generator has a client of its own, which is made to be fast; this one is
//! made to notice.

use std::fmt;
use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, LOCATION};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncReadExt;
use tokio::runtime::Runtime;
use tokio::time::{Instant, timeout, timeout_at};

mod connect;
#[cfg(test)]
mod tests;

pub use connect::Reach;
use connect::{Connector, Stream};

/// How long a connection that should have been closed is listened to.
const LINGER: Duration = Duration::from_millis(50);

/// Redirects followed for one request.
const REDIRECTS: usize = 5;

/// The bounds of a request.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For a whole answer, redirects included.
    pub time: Duration,
    /// Of a body.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_secs(60), bytes: 256 << 20 }
    }
}

/// What is asked.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    pub method: Method,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Ask {
    /// A GET.
    pub fn get(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }

    /// A POST of a form.
    pub fn form(url: impl Into<String>, pairs: &[(&str, &str)]) -> Self {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(pairs);
        Self {
            method: Method::POST,
            url: url.into(),
            headers: vec![("content-type".into(), "application/x-www-form-urlencoded".into())],
            body: body.finish().into_bytes(),
        }
    }
}

/// An answer that came whole.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Reply {
    /// A header, if it is there and text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("`{url}` is no URL to ask: {reason}")]
    Url { url: String, reason: String },
    #[error("no connection to {host}: {reason}")]
    Connect { host: String, reason: String },
    #[error("no TLS with {host}: {reason}")]
    Tls { host: String, reason: String },
    #[error("no whole answer within {} s{}", .limit.as_secs_f64(), So(*.bytes))]
    Slow { limit: Duration, bytes: usize },
    #[error("the connection was closed before an answer came")]
    Closed,
    #[error(
        "the connection was closed after {came} of the {promised} bytes that Content-Length promised"
    )]
    Short { promised: u64, came: usize },
    #[error("the connection was closed inside the body, after {0} bytes")]
    Cut(usize),
    #[error("more bytes came than the {0} that Content-Length promised")]
    Long(u64),
    #[error("bytes came after the end of the answer")]
    Trailing,
    #[error("a body of more than {0} bytes")]
    Large(usize),
    #[error("more than {REDIRECTS} redirects")]
    Redirects,
    #[error("no HTTP: {0}")]
    Protocol(String),
}

/// How far a slow answer had come.
struct So(usize);

impl fmt::Display for So {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { Ok(()) } else { write!(f, " ({} bytes of it came)", self.0) }
    }
}

/// The client.
#[derive(Debug)]
pub struct Client {
    runtime: Runtime,
    limits: Limits,
}

impl Client {
    /// A client with these bounds.
    ///
    /// # Errors
    /// If the system gives it no event queue.
    pub fn new(limits: Limits) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, limits })
    }

    /// Asks, and follows redirects.
    ///
    /// # Errors
    /// Whatever keeps the answer from being whole; a status of 400 or more is
    /// an answer.
    pub fn ask(&self, ask: &Ask, reach: &Reach) -> Result<Reply, HttpError> {
        let until = Instant::now() + self.limits.time;
        self.runtime.block_on(async {
            let mut ask = ask.clone();
            for _ in 0..=REDIRECTS {
                let reply = self.once(&ask, reach, until).await?;
                match (reply.status, reply.header(LOCATION.as_str())) {
                    (301 | 302 | 303 | 307 | 308, Some(location)) => {
                        ask.url = join(&ask.url, location);
                        if reply.status <= 303 && ask.method == Method::POST {
                            ask.method = Method::GET;
                            ask.body.clear();
                            ask.headers
                                .retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
                        }
                    }
                    _ => return Ok(reply),
                }
            }
            Err(HttpError::Redirects)
        })
    }

    async fn once(&self, ask: &Ask, reach: &Reach, until: Instant) -> Result<Reply, HttpError> {
        let limit = self.limits.time;
        let connector = Connector::new(&ask.url)?;
        let request = request(ask, &connector.uri)?;
        let slow = |bytes| HttpError::Slow { limit, bytes };
        let stream = timeout_at(until, connector.connect(reach)).await.map_err(|_| slow(0))??;
        self.exchange(stream, request, until).await
    }

    /// One request on a connection of its own.
    async fn exchange(
        &self,
        stream: Box<dyn Stream>,
        request: Request<Full<Bytes>>,
        until: Instant,
    ) -> Result<Reply, HttpError> {
        let limit = self.limits.time;
        let (mut sender, mut connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| describe(&error))?;
        let driver = tokio::spawn(async move {
            let result = poll_fn(|context| connection.poll_without_shutdown(context)).await;
            (result, connection.into_parts())
        });
        let slow = |bytes| HttpError::Slow { limit, bytes };
        let sent = timeout_at(until, sender.send_request(request)).await;
        let (parts, mut body) =
            sent.map_err(|_| slow(0))?.map_err(|error| describe(&error))?.into_parts();
        let promised = parts
            .headers
            .get(CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok()?.trim().parse::<u64>().ok());
        let mut bytes = Vec::new();
        loop {
            let next = timeout_at(until, body.frame()).await.map_err(|_| slow(bytes.len()))?;
            match next {
                None => break,
                Some(Ok(frame)) => {
                    let Ok(data) = frame.into_data() else { continue };
                    bytes.extend_from_slice(&data);
                    if bytes.len() > self.limits.bytes {
                        return Err(HttpError::Large(self.limits.bytes));
                    }
                }
                Some(Err(_)) => {
                    let came = bytes.len();
                    return Err(match promised {
                        Some(promised) => HttpError::Short { promised, came },
                        None => HttpError::Cut(came),
                    });
                }
            }
        }
        drop((sender, body));
        if let Ok(Ok((_, parts))) = timeout(LINGER, driver).await {
            let mut more = [0];
            let mut io = parts.io.into_inner();
            let reads = !parts.read_buf.is_empty()
                || matches!(timeout(LINGER, io.read(&mut more)).await, Ok(Ok(1)));
            if reads {
                return Err(promised.map_or(HttpError::Trailing, HttpError::Long));
            }
        }
        Ok(Reply { status: parts.status.as_u16(), headers: parts.headers, body: bytes })
    }
}

fn request(ask: &Ask, uri: &Uri) -> Result<Request<Full<Bytes>>, HttpError> {
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let host = uri.authority().map_or("", |authority| authority.as_str());
    let mut request = Request::builder()
        .method(ask.method.clone())
        .uri(target)
        .header(HOST, host)
        // One connection for one answer: what comes after it is not ours.
        .header(CONNECTION, "close")
        .header("user-agent", concat!("tapstat/", env!("CARGO_PKG_VERSION")));
    for (name, value) in &ask.headers {
        request = request.header(name, value);
    }
    request
        .body(Full::from(ask.body.clone()))
        .map_err(|error| HttpError::Url { url: ask.url.clone(), reason: error.to_string() })
}

fn describe(error: &hyper::Error) -> HttpError {
    if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        return HttpError::Closed;
    }
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = error.to_string();
        if error.downcast_ref::<std::io::Error>().is_some() {
            return HttpError::Closed;
        }
        cause = error.source();
    }
    HttpError::Protocol(text)
}

/// Where a redirect leads.
fn join(base: &str, location: &str) -> String {
    if location.starts_with("http://") || location.starts_with("https://") {
        return location.to_owned();
    }
    let scheme = base.find("://").map_or(0, |at| at + 3);
    if let Some(rest) = location.strip_prefix("//") {
        return format!("{}{rest}", &base[..scheme]);
    }
    let root = base[scheme..].find('/').map_or(base.len(), |at| scheme + at);
    if location.starts_with('/') {
        return format!("{}{location}", &base[..root]);
    }
    let path = base.find(['?', '#']).map_or(base, |end| &base[..end]);
    let folder = path.rfind('/').filter(|at| *at >= root).map_or(root, |at| at);
    format!("{}/{location}", &path[..folder])
}
