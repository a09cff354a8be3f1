//! What is sent: requests prepared before the window, and the seeded draw of them.
//!
//! The generator of every draw is ChaCha8 (`rand_chacha::ChaCha8Rng`), seeded by
//! `seed_from_u64(seed)`. Its stream 0 draws the warm-up's requests, stream 1 the
//! window's, streams 2 and 3 the gaps of Poisson arrivals; so the window's draws
//! are the same for every target, however many requests its warm-up took. Draw k
//! of a stream belongs to worker k mod W: workers have distinct shares, and all
//! shares together are the same stream whatever W is.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::error::LoadError;

/// The most requests a workload has: a record numbers them in 16 bits.
pub const MOST: usize = 1 << 16;

/// A query as it is asked of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub query_id: String,
    pub query_class: String,
    pub ask: Ask,
    pub expect: Expect,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// ADQL, to be wrapped in a TAP request.
    Adql(String),
    /// A plain HTTP request; the path may have a query, and follows the base path.
    Http { method: String, path: String, headers: Vec<(String, String)>, body: Vec<u8> },
}

/// What a checked response must be; whatever is none is not looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expect {
    pub status: Option<u16>,
    /// SHA-256 of the body, in lower-case hexadecimal digits.
    pub sha256: Option<String>,
    /// Rows of the table in the body: CSV, TSV, or a VOTable.
    pub rows: Option<u64>,
}

/// How a TAP request is built of ADQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TapOptions {
    /// Form in the body (POST), or parameters in the URL (GET).
    pub method: TapMethod,
    /// RESPONSEFORMAT.
    pub response_format: Option<String>,
    /// MAXREC.
    pub maxrec: Option<u64>,
    /// Whether it goes to `/async` and not to `/sync`.
    pub asynchronous: bool,
    /// Whether PHASE=RUN goes with it; for `asynchronous` alone.
    pub run_at_once: bool,
}

impl Default for TapOptions {
    fn default() -> Self {
        Self {
            method: TapMethod::Post,
            response_format: None,
            maxrec: None,
            asynchronous: false,
            run_at_once: true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TapMethod {
    Get,
    #[default]
    Post,
}

/// A request as it is sent, whatever carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    pub query_id: String,
    pub query_class: String,
    pub method: String,
    /// Path and query, without the endpoint's base path: `/…`.
    pub target: String,
    /// Without Host, Content-Length, Connection.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub expect: Expect,
}

impl Query {
    /// The request for it.
    pub fn prepare(&self, tap: &TapOptions) -> Prepared {
        let (method, target, headers, body) = match &self.ask {
            Ask::Http { method, path, headers, body } => {
                let target = if path.starts_with('/') { path.clone() } else { format!("/{path}") };
                (method.clone(), target, headers.clone(), body.clone())
            }
            Ask::Adql(adql) => tap.request(adql),
        };
        Prepared {
            query_id: self.query_id.clone(),
            query_class: self.query_class.clone(),
            method,
            target,
            headers,
            body,
            expect: self.expect.clone(),
        }
    }
}

impl TapOptions {
    fn request(&self, adql: &str) -> (String, String, Vec<(String, String)>, Vec<u8>) {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("REQUEST", "doQuery").append_pair("LANG", "ADQL");
        if let Some(format) = &self.response_format {
            form.append_pair("RESPONSEFORMAT", format);
        }
        if let Some(maxrec) = self.maxrec {
            form.append_pair("MAXREC", &maxrec.to_string());
        }
        if self.asynchronous && self.run_at_once {
            form.append_pair("PHASE", "RUN");
        }
        let form = form.append_pair("QUERY", adql).finish();
        let path = if self.asynchronous { "/async" } else { "/sync" };
        match self.method {
            TapMethod::Get => ("GET".to_owned(), format!("{path}?{form}"), Vec::new(), Vec::new()),
            TapMethod::Post => {
                let kind = "application/x-www-form-urlencoded".to_owned();
                let headers = vec![("Content-Type".to_owned(), kind)];
                ("POST".to_owned(), path.to_owned(), headers, form.into_bytes())
            }
        }
    }
}

/// The requests of a rung, and how often each is drawn.
#[derive(Debug, Clone)]
pub struct Workload {
    requests: Vec<Prepared>,
    /// Where each request's share of the draws ends; the last one's is 2^64 − 1.
    ends: Vec<u64>,
}

impl Workload {
    /// Requests that are all drawn alike.
    ///
    /// # Errors
    /// If there are too many, or one cannot be sent.
    pub fn uniform(requests: Vec<Prepared>) -> Result<Self, LoadError> {
        let weights = vec![1.0; requests.len()];
        Self::weighted(requests, &weights)
    }

    /// Requests of several classes: a class is drawn by its weight, then one of its
    /// requests. Those of a class without a weight are left out.
    ///
    /// # Errors
    /// If a class has no request, a weight is none, or as for [`Workload::uniform`].
    pub fn mix(requests: Vec<Prepared>, weights: &[(String, f64)]) -> Result<Self, LoadError> {
        let (mut chosen, mut shares) = (Vec::new(), Vec::new());
        for (class, weight) in weights {
            let members: Vec<_> =
                requests.iter().filter(|request| request.query_class == *class).cloned().collect();
            if members.is_empty() {
                return Err(LoadError::Setting {
                    field: "mix",
                    value: class.clone(),
                    expected: "a query class of the corpus",
                });
            }
            shares.extend(std::iter::repeat_n(weight / members.len() as f64, members.len()));
            chosen.extend(members);
        }
        Self::weighted(chosen, &shares)
    }

    fn weighted(requests: Vec<Prepared>, weights: &[f64]) -> Result<Self, LoadError> {
        let wrong = |field, value: String, expected| LoadError::Setting { field, value, expected };
        if requests.len() > MOST {
            return Err(wrong("workload", requests.len().to_string(), "65536 requests or fewer"));
        }
        for request in &requests {
            check(request)?;
        }
        if let Some(weight) = weights.iter().find(|weight| !(weight.is_finite() && **weight > 0.0))
        {
            return Err(wrong("weight", weight.to_string(), "a number above 0"));
        }
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let mut ends: Vec<u64> = weights
            .iter()
            .map(|weight| {
                sum += weight;
                // The cast stops at the largest number.
                (sum / total * 2_f64.powi(64)) as u64
            })
            .collect();
        if let Some(last) = ends.last_mut() {
            *last = u64::MAX;
        }
        Ok(Self { requests, ends })
    }

    /// Fills in what is expected of responses, where a request does not say it.
    pub fn expect(&mut self, of: impl Fn(&Prepared) -> Option<Expect>) {
        for request in &mut self.requests {
            let Some(Expect { status, sha256, rows }) = of(request) else { continue };
            let own = &mut request.expect;
            own.status = own.status.or(status);
            own.rows = own.rows.or(rows);
            own.sha256 = own.sha256.take().or(sha256);
        }
    }

    /// The requests, by number.
    pub fn requests(&self) -> &[Prepared] {
        &self.requests
    }

    pub fn len(&self) -> usize {
        self.requests.len()
    }

    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// The request that a random number stands for.
    #[inline]
    fn pick(&self, number: u64) -> u16 {
        if self.requests.len() == 1 {
            return 0;
        }
        let at = self.ends.partition_point(|end| *end <= number);
        // The last end is the largest number, which belongs to it.
        at.min(self.requests.len() - 1) as u16
    }
}

/// Refuses what would not be one request on the wire.
fn check(request: &Prepared) -> Result<(), LoadError> {
    let wrong = |field, value: &str, expected| {
        Err(LoadError::Setting { field, value: format!("`{value}`"), expected })
    };
    let is_token = |text: &str| {
        let mark = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || mark(byte))
    };
    if !is_token(&request.method) {
        return wrong("method", &request.method, "a method such as GET");
    }
    if !request.target.starts_with('/')
        || !request.target.bytes().all(|byte| byte.is_ascii_graphic())
    {
        return wrong("path", &request.target, "a path without blanks, other bytes as %XX");
    }
    for (name, value) in &request.headers {
        if !is_token(name) {
            return wrong("header", name, "a header's name");
        }
        if value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
            return wrong("header", value, "a value on one line");
        }
        let ours = ["host", "content-length", "connection", "transfer-encoding"];
        if ours.iter().any(|ours| ours.eq_ignore_ascii_case(name)) {
            return wrong("header", name, "a header that the generator does not set itself");
        }
    }
    Ok(())
}

/// A share of a stream of random numbers: those that belong to one worker.
#[derive(Debug)]
struct Share {
    numbers: ChaCha8Rng,
    /// Numbers of the other workers between two of ours.
    skipped: usize,
}

impl Share {
    fn new(seed: u64, stream: u64, worker: usize, workers: usize) -> Self {
        let mut numbers = ChaCha8Rng::seed_from_u64(seed);
        numbers.set_stream(stream);
        for _ in 0..worker {
            numbers.next_u64();
        }
        Self { numbers, skipped: workers - 1 }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        let number = self.numbers.next_u64();
        for _ in 0..self.skipped {
            self.numbers.next_u64();
        }
        number
    }
}

/// The part of the rung that a draw is for: each has its own streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Warmup,
    Window,
}

/// One worker's draws of requests.
#[derive(Debug)]
pub struct Draws {
    share: Share,
}

impl Draws {
    /// The draws of `worker` (from 0) of `workers`.
    pub fn new(seed: u64, part: Part, worker: usize, workers: usize) -> Self {
        Self { share: Share::new(seed, part as u64, worker, workers) }
    }

    /// The number of the next request.
    #[inline]
    pub fn draw(&mut self, workload: &Workload) -> u16 {
        workload.pick(self.share.next())
    }
}

/// One worker's arrivals of an open loop, in nanoseconds from the part's start.
#[derive(Debug)]
pub enum Arrivals {
    /// Arrival k at k / rate.
    Constant { next: u64, step: u64, rate: f64 },
    /// Exponential gaps, drawn for all workers and taken in turn.
    Poisson { gaps: Box<ChaCha8Rng>, at: f64, skipped: usize, rate: f64 },
}

impl Arrivals {
    /// The arrivals of `worker` (from 0) of `workers`, at `rate` per second over
    /// all workers, evenly spaced.
    pub fn constant(rate: f64, worker: usize, workers: usize) -> Self {
        Self::Constant { next: worker as u64, step: workers as u64, rate }
    }

    /// The same as a Poisson process.
    pub fn poisson(rate: f64, seed: u64, part: Part, worker: usize, workers: usize) -> Self {
        let mut gaps = Box::new(ChaCha8Rng::seed_from_u64(seed));
        gaps.set_stream(2 + part as u64);
        let mut at = 0.0;
        for _ in 0..worker {
            at += gap(&mut gaps, rate);
        }
        Self::Poisson { gaps, at, skipped: workers - 1, rate }
    }

    /// The next arrival.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        match self {
            Self::Constant { next, step, rate } => {
                let at = (*next as f64 * 1e9 / *rate).round();
                *next += *step;
                at as u64
            }
            Self::Poisson { gaps, at, skipped, rate } => {
                *at += gap(gaps, *rate);
                let now = *at;
                for _ in 0..*skipped {
                    *at += gap(gaps, *rate);
                }
                (now * 1e9) as u64
            }
        }
    }
}

/// An exponentially distributed gap in seconds.
#[inline]
fn gap(numbers: &mut ChaCha8Rng, rate: f64) -> f64 {
    // 53 bits, above 0 and at most 1.
    let uniform = ((numbers.next_u64() >> 11) + 1) as f64 / 2_f64.powi(53);
    -uniform.ln() / rate
}

#[cfg(test)]
mod tests;
