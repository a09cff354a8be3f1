//! `tapstat load`: one URL, one window, and what it took.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Serialize;

use super::Answer;
use super::args::Global;
use super::output::{self, Output};
use crate::load::outcome::{
    Checks, Connections, Counts, Figures, Guard, Live, Percentiles, Void, Window,
};
use crate::load::spec::{Endpoint, Family, HttpVersion, Kind, Pacing, Polling, Spacing};
use crate::load::workload::{Ask, Expect, Query, TapMethod, TapOptions};
use crate::load::{RungOutcome, RungSpec, Watch, Workload};
use crate::report::figure::{fixed, thousands};
use crate::report::{Align, Grid, Page};

const EXAMPLES: &str = "\
Examples:
  tapstat load http://127.0.0.1:8080/
  tapstat load http://127.0.0.1:8080/ --rate 1000 --spacing poisson --duration 30
  tapstat load http://127.0.0.1:8080/tap --adql 'SELECT TOP 1 * FROM t' --response-format csv
  tapstat load unix:/run/server.sock:/health --connections 2 --format json";

/// Measure one URL for a while
///
/// Nothing is stored: throughput, latencies and what the measuring itself took are
/// printed. A closed loop sends the next request on each connection when the last
/// has returned; with --rate, requests are sent at that rate whatever the server
/// does, and latencies count from when each should have been sent.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// http://…, https://…, or unix:SOCKET[:/path]
    pub url: String,

    /// Connections held
    #[arg(long, short, value_name = "N", default_value_t = 8)]
    pub connections: usize,

    /// Seconds to measure
    #[arg(long, short, value_name = "S", default_value = "10", value_parser = seconds)]
    pub duration: Duration,

    /// Seconds of load before, which are not measured
    #[arg(long, value_name = "S", default_value = "1", value_parser = seconds)]
    pub warmup: Duration,

    /// Seconds that stragglers are waited for afterwards
    #[arg(long, value_name = "S", default_value = "30", value_parser = seconds)]
    pub drain_timeout: Duration,

    /// Seconds that a request may take
    #[arg(long, value_name = "S", default_value = "30", value_parser = seconds)]
    pub timeout: Duration,

    /// Threads that send
    #[arg(long, short, value_name = "N", default_value_t = 1)]
    pub workers: usize,

    /// Pin the workers to these cores
    #[arg(long, value_name = "CORE,…", value_delimiter = ',')]
    pub pin: Vec<usize>,

    /// Requests per second, whatever the server does
    #[arg(long, short, value_name = "R")]
    pub rate: Option<f64>,

    /// How the requests of --rate are spaced
    #[arg(long, value_enum, default_value_t = SpacingChoice::Constant, requires = "rate")]
    pub spacing: SpacingChoice,

    /// Method of the request
    #[arg(long, short = 'X', value_name = "METHOD", default_value = "GET")]
    pub method: String,

    /// A header of the request, `Name: value`
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    pub headers: Vec<String>,

    /// Body of the request
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub body: String,

    /// Ask a TAP service (the URL is its base) this query
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["method", "body"])]
    pub adql: Option<String>,

    /// As an asynchronous job: created, polled, fetched, deleted
    #[arg(long, requires = "adql")]
    pub r#async: bool,

    /// RESPONSEFORMAT of the query
    #[arg(long, value_name = "FORMAT", requires = "adql")]
    pub response_format: Option<String>,

    /// MAXREC of the query
    #[arg(long, value_name = "N", requires = "adql")]
    pub maxrec: Option<u64>,

    /// Make a new connection for each request
    #[arg(long)]
    pub no_keep_alive: bool,

    /// Speak HTTP/2
    #[arg(long)]
    pub http2: bool,

    /// Requests at once on each HTTP/2 connection
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub streams: usize,

    /// Take any certificate
    #[arg(long)]
    pub insecure: bool,

    /// Trust the certificates of this file too (PEM)
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,

    /// Connect by IPv4 only
    #[arg(long, short = '4', conflicts_with = "ipv6")]
    pub ipv4: bool,

    /// Connect by IPv6 only
    #[arg(long, short = '6')]
    pub ipv6: bool,

    /// Redirects that are followed inside a request
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub max_redirects: u32,

    /// Read responses as slowly as this, in bytes per second and connection
    #[arg(long, value_name = "BYTES")]
    pub read_rate: Option<u64>,

    /// Read the first body whole, and one in so many: a VOTable that reports an error is one
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub check_every: u32,

    /// Seed of Poisson arrivals
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Write every request to this file (Parquet, columns as in the table `requests`)
    #[arg(long, value_name = "FILE")]
    pub samples: Option<PathBuf>,

    /// End with 1 if a request failed, or the measurement is void
    #[arg(long)]
    pub check: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SpacingChoice {
    /// Evenly.
    Constant,
    /// As independent clients do.
    Poisson,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let value = text.parse().ok().and_then(|value| Duration::try_from_secs_f64(value).ok());
    value.ok_or_else(|| "expected a number of seconds".to_owned())
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let output = Output::open(&global.output)?;
    let spec = args.spec(global)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&interrupted))?;
    let outcome = crate::load::run(&spec, &mut Interrupted(interrupted))?;
    if let Some(path) = &args.samples {
        outcome.samples.write("load", path)?;
    }
    if outcome.stopped {
        output::say("tapstat: interrupted: the figures are of the window so far");
    }
    let document = Document::new(args, &spec, &outcome);
    output.document(&page(args, &spec, &outcome), &document)?;
    let holds = outcome.guard_ok() && outcome.figures.errors == 0;
    Ok(if args.check { Answer::of(holds) } else { Answer::Yes })
}

/// Ends the measurement by Ctrl-C.
struct Interrupted(Arc<AtomicBool>);

impl Watch for Interrupted {
    fn tick(&mut self, _: &Live) -> ControlFlow<()> {
        if self.0.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

impl Args {
    fn spec(&self, global: &Global) -> Result<RungSpec> {
        let mut endpoint = Endpoint::parse(&self.url)?;
        endpoint.http = if self.http2 { HttpVersion::Http2 } else { HttpVersion::Http1 };
        endpoint.family = match (self.ipv4, self.ipv6) {
            (true, _) => Family::V4,
            (_, true) => Family::V6,
            _ => Family::Any,
        };
        endpoint.tls.insecure = self.insecure;
        endpoint.tls.roots.clone_from(&self.cacert);
        let tap = TapOptions {
            method: TapMethod::Post,
            response_format: self.response_format.clone(),
            maxrec: self.maxrec,
            asynchronous: self.r#async,
            run_at_once: true,
        };
        let query = Query {
            query_id: "load".to_owned(),
            query_class: "load".to_owned(),
            ask: self.ask(&mut endpoint)?,
            expect: Expect::default(),
        };
        let workload = Workload::uniform(vec![query.prepare(&tap)])?;
        let kind = match &self.adql {
            None => Kind::Http,
            Some(_) if self.r#async => Kind::TapAsync(Polling::default()),
            Some(_) => Kind::TapSync,
        };
        let spacing = match self.spacing {
            SpacingChoice::Constant => Spacing::Constant,
            SpacingChoice::Poisson => Spacing::Poisson,
        };
        Ok(RungSpec {
            endpoint,
            kind,
            workload: Arc::new(workload),
            pacing: self.rate.map_or(Pacing::Closed, |rate| Pacing::Open { rate, spacing }),
            connections: self.connections,
            streams: self.streams,
            workers: self.workers,
            keep_alive: !self.no_keep_alive,
            pins: self.pin.clone(),
            warmup: self.warmup,
            measure: self.duration,
            drain: self.drain_timeout,
            request_timeout: self.timeout,
            connect_timeout: self.timeout.min(Duration::from_secs(10)),
            check_every: self.check_every,
            read_rate: self.read_rate,
            seed: self.seed,
            guard_max: global.rule.guard_max.unwrap_or(crate::protocol::Rule::default().guard_max),
            max_redirects: self.max_redirects,
        })
    }

    /// What is asked; of a plain request the path moves from the endpoint to it.
    fn ask(&self, endpoint: &mut Endpoint) -> Result<Ask> {
        if let Some(adql) = &self.adql {
            return Ok(Ask::Adql(adql.clone()));
        }
        let mut path = self.path();
        if path.is_empty() {
            path.push('/');
        }
        endpoint.base_path.clear();
        let headers = self.headers.iter().map(|header| {
            let (name, value) = header
                .split_once(':')
                .with_context(|| format!("--header `{header}`: expected `Name: value`"))?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        });
        let headers = headers.collect::<Result<_>>()?;
        if self.body.is_empty() && self.method.eq_ignore_ascii_case("CONNECT") {
            bail!("--method CONNECT: expected a method with a response");
        }
        Ok(Ask::Http {
            method: self.method.clone(),
            path,
            headers,
            body: self.body.clone().into_bytes(),
        })
    }

    /// Path and query of the URL, as they are.
    fn path(&self) -> String {
        let url = self.url.split('#').next().unwrap_or_default();
        if let Some(rest) = url.strip_prefix("unix:") {
            return rest.find(":/").map_or_else(String::new, |at| rest[at + 1..].to_owned());
        }
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        match rest.find(['/', '?']) {
            Some(at) if rest[at..].starts_with('/') => rest[at..].to_owned(),
            Some(at) => format!("/{}", &rest[at..]),
            None => String::new(),
        }
    }
}

/// The answer as JSON. Times are seconds, sizes bytes.
#[derive(Serialize)]
struct Document<'a> {
    url: &'a str,
    r#loop: &'static str,
    connections: usize,
    streams: usize,
    workers: usize,
    requests_per_second: f64,
    mib_per_second: f64,
    cpu_s_per_request: Option<f64>,
    cpu_s_per_mib: Option<f64>,
    guard_ok: bool,
    stopped: bool,
    counts: &'a Counts,
    window: &'a Window,
    figures: &'a Figures,
    guard: &'a Guard,
    voids: &'a [Void],
    checks: &'a Checks,
    connection_figures: &'a Connections,
}

impl<'a> Document<'a> {
    fn new(args: &'a Args, spec: &RungSpec, outcome: &'a RungOutcome) -> Self {
        Self {
            url: &args.url,
            r#loop: if args.rate.is_some() { "open" } else { "closed" },
            connections: spec.connections,
            streams: spec.streams,
            workers: spec.workers,
            requests_per_second: outcome.figures.rps,
            mib_per_second: mib(outcome.figures.total_bytes) / outcome.window.elapsed_s,
            cpu_s_per_request: per(outcome.guard.cpu_s, outcome.figures.requests as f64),
            cpu_s_per_mib: per(outcome.guard.cpu_s, mib(outcome.figures.total_bytes)),
            guard_ok: outcome.guard_ok(),
            stopped: outcome.stopped,
            counts: &outcome.counts,
            window: &outcome.window,
            figures: &outcome.figures,
            guard: &outcome.guard,
            voids: &outcome.voids,
            checks: &outcome.checks,
            connection_figures: &outcome.connections,
        }
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn per(cost: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| cost / of)
}

fn page(args: &Args, spec: &RungSpec, outcome: &RungOutcome) -> Page {
    let RungOutcome { counts, window, figures, guard, .. } = outcome;
    let mut page = Page::new();
    page.heading(1, &args.url);
    let count = |count: u64| thousands(i64::try_from(count).unwrap_or(i64::MAX));
    let how = match args.rate {
        Some(rate) => format!("{rate} requests/s offered"),
        None => "closed loop".to_owned(),
    };
    page.text(format!(
        "{how}, {} connections, {} workers, {} s measured",
        spec.connections,
        spec.workers,
        fixed(Some(window.elapsed_s), 2)
    ));
    let mut grid = Grid::new([("", Align::Left), ("", Align::Right)]);
    let mut row = |name: &str, value: String| grid.push(vec![name.into(), value.into()]);
    row("requests", count(figures.requests));
    row("requests/s", fixed(Some(figures.rps), 1));
    row("MiB/s", fixed(Some(mib(figures.total_bytes) / window.elapsed_s), 2));
    row("errors", count(figures.errors));
    if args.rate.is_some() {
        row("offered", count(counts.offered));
        row("never sent", count(counts.never_sent));
    }
    row("client CPU per request", micro(per(guard.cpu_s, figures.requests as f64)));
    row("client CPU per MiB", micro(per(guard.cpu_s, mib(figures.total_bytes))));
    row("busiest worker", format!("{} of a core", fixed(Some(guard.cpu_peak), 2)));
    page.table(grid);
    page.table(latencies(args.rate.is_some(), figures));
    let faults = figures.faults.iter().map(|(name, n)| format!("{name}: {}", count(*n)));
    page.list(faults.collect());
    let mut notes = Vec::new();
    for void in &outcome.voids {
        notes.push(format!("VOID: {}. What helps: {}.", void.reason, void.advice));
    }
    for (query, failure) in &outcome.checks.failures {
        notes.push(format!("check of `{query}` failed: {failure}"));
    }
    page.notes(notes);
    page
}

fn latencies(open: bool, figures: &Figures) -> Grid {
    let names = ["", "mean", "p50", "p90", "p95", "p99", "p99.9", "max"];
    let align = |at: usize| if at == 0 { Align::Left } else { Align::Right };
    let mut grid = Grid::new(names.into_iter().enumerate().map(|(at, name)| (name, align(at))));
    let mut row = |name: &str, of: Option<Percentiles>| {
        let values =
            of.map(|of| [of.mean_s, of.p50_s, of.p90_s, of.p95_s, of.p99_s, of.p999_s, of.max_s]);
        let cell = |at: usize| fixed(values.map(|values| 1e3 * values[at]), 3);
        let cells = std::iter::once(name.to_owned()).chain((0..7).map(cell));
        grid.push(cells.map(Into::into).collect());
    };
    if open {
        row("response time, ms", figures.response);
        row("service time, ms", figures.service);
    } else {
        row("latency, ms", figures.response);
    }
    grid
}

/// Seconds as microseconds, `10.4 µs`.
fn micro(seconds: Option<f64>) -> String {
    seconds
        .map_or_else(|| fixed(None, 1), |seconds| format!("{} µs", fixed(Some(1e6 * seconds), 1)))
}
