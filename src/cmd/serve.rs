//! `tapstat serve`: the embedded TAP server.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::args::Global;
use super::{Answer, output};
use crate::target::tap::{Options, TapServer};

const EXAMPLES: &str = "\
Examples:
  tapstat serve --corpus corpus --port 8080
  tapstat serve --corpus corpus --pool 2 --delay 5ms
  curl 'http://localhost:8080/tap/sync?LANG=ADQL&FORMAT=csv&QUERY=SELECT+TOP+5+*+FROM+ivoa.obscore'";

/// Serve a corpus by TAP, as a target to measure against
///
/// The URL of the service is printed on a line of its own once it answers. It
/// runs until Ctrl-C or SIGTERM.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The directory of the corpus, which holds `obscore.parquet`
    #[arg(long, value_name = "DIR")]
    pub corpus: PathBuf,

    /// The port; 0 for any that is free
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub port: u16,

    /// The address to listen on; others than the loopback's let in anybody
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub listen: IpAddr,

    /// The URL that documents and redirects name [default: http://localhost:N/tap]
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,

    /// Queries that are answered at the same time; others wait
    #[arg(long, value_name = "N", default_value_t = Options::default().pool)]
    pub pool: usize,

    /// Queries that may wait; more are refused with status 503
    #[arg(long, value_name = "N", default_value_t = Options::default().queue)]
    pub queue: usize,

    /// What every query waits once it has its place, such as 5ms or 0.2s
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    pub delay: Duration,

    /// Answer sync queries with a redirect (303) to the answer
    #[arg(long)]
    pub redirect: bool,

    /// Give errors the status 200, as some servers do
    #[arg(long)]
    pub errors_as_ok: bool,

    /// Rows of an answer where MAXREC is not given
    #[arg(long, value_name = "N", default_value_t = Options::default().default_rows)]
    pub default_rows: usize,

    /// Rows of an answer at most
    #[arg(long, value_name = "N", default_value_t = Options::default().max_rows)]
    pub max_rows: usize,

    /// How long a query may take
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub timeout: Duration,

    /// Threads that answer; 0 for one a processor
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,

    /// End as well when standard input does, and so with whoever started it
    #[arg(long)]
    pub until_eof: bool,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    output::refuse(&global.output, "serve")?;
    // Signals are caught before the first line is printed: whoever reads it may
    // send one at once.
    let mut stopped = signals(args.until_eof).context("cannot catch signals")?;
    let defaults = Options::default();
    let options = Options {
        listen: args.listen,
        port: args.port,
        base_url: args.base_url.clone(),
        pool: args.pool,
        queue: args.queue,
        delay: args.delay,
        redirect: args.redirect,
        errors_as_ok: args.errors_as_ok,
        default_rows: args.default_rows.min(args.max_rows),
        max_rows: args.max_rows,
        timeout: args.timeout,
        threads: args.threads,
        ..defaults
    };
    let server = TapServer::start(&args.corpus, options)?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", server.base_url())?;
    stdout.flush()?;
    drop(stdout);
    // Until a signal comes, or the end of standard input; nothing else is ever sent.
    let _ = stopped.read(&mut [0]);
    server.stop();
    Ok(Answer::Yes)
}

/// A stream from which a byte can be read once SIGINT or SIGTERM came, or
/// standard input ended, if that counts.
fn signals(until_eof: bool) -> std::io::Result<UnixStream> {
    let (receiver, sender) = UnixStream::pair()?;
    if until_eof {
        let mut sender = sender.try_clone()?;
        std::thread::spawn(move || {
            // What cannot be read any more has ended, too.
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            let _ = sender.write_all(&[0]);
        });
    }
    signal_hook::low_level::pipe::register(SIGINT, sender.try_clone()?)?;
    signal_hook::low_level::pipe::register(SIGTERM, sender)?;
    Ok(receiver)
}

/// Reads a duration: a number and its unit, `ms` or `s`.
fn duration(text: &str) -> Result<Duration, String> {
    let expected = || "expected a time such as 5ms or 0.2s".to_owned();
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => (text.strip_suffix('s').ok_or_else(expected)?, 1.0),
    };
    let number: f64 = number.parse().map_err(|_| expected())?;
    Duration::try_from_secs_f64(number * unit).map_err(|_| expected())
}

#[cfg(test)]
mod tests {
    use super::duration;
    use std::time::Duration;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("5ms"), Ok(Duration::from_millis(5)));
        assert_eq!(duration("0.2s"), Ok(Duration::from_millis(200)));
        for text in ["5", "ms", "-1s", "1h", "infs", ""] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
