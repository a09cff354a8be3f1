//! `tapstat null-target`: a loopback server to measure the generator against.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::args::Global;
use super::{Answer, output};
use crate::target::null::{Listen, NullTarget, Options, duration};

const EXAMPLES: &str = "\
Examples:
  tapstat null-target
  tapstat null-target --listen 127.0.0.1:9000 --delay 5ms
  tapstat null-target --tls --http2 --ca-file /tmp/ca.pem
  curl \"$URL/bytes/1024\"; curl \"$URL/delay/50ms/chunked/bytes/100000\"";

/// Serve a null target on the loopback, until Ctrl-C or SIGTERM
///
/// It answers faster than any client asks, and goes wrong on request: the path
/// says what comes (`docs/null-target.md` lists them). Its URL is the first line
/// of standard output. On the first signal it drains: answers under way are
/// finished, HTTP/2 clients get a GOAWAY; on the second it stops.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to listen: an address and a port (0: a free one), or unix:PATH
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: String,
    /// Threads of each instance
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// Hold every answer back for so long, such as 5ms
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0s")]
    pub delay: Duration,
    /// Speak TLS, with a certificate made at the start
    #[arg(long)]
    pub tls: bool,
    /// Write the certificate that clients have to trust to this file, in PEM
    #[arg(long, value_name = "FILE", requires = "tls")]
    pub ca_file: Option<PathBuf>,
    /// Speak HTTP/2 alone: by ALPN over TLS, by prior knowledge without
    #[arg(long)]
    pub http2: bool,
    /// Instances that share the port (SO_REUSEPORT), each with its own threads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub instances: u16,
    /// Let other processes share the port as well
    #[arg(long)]
    pub reuse_port: bool,
}

pub fn run(args: &Args, _: &Global) -> Result<Answer> {
    let mut options = Options {
        listen: listen(&args.listen)?,
        threads: args.threads.into(),
        delay: args.delay,
        tls: args.tls,
        http2: args.http2,
        reuse_port: args.reuse_port || args.instances > 1,
        cores: Vec::new(),
    };
    if args.tls && args.instances > 1 {
        bail!(
            "--tls: instances would each have a certificate of their own; expected --instances 1"
        );
    }
    if matches!(options.listen, Listen::Unix(_)) && (options.reuse_port || args.http2) {
        bail!("--listen: a Unix socket has one instance, and HTTP/1.1 alone");
    }
    // Before there is a URL that somebody waits for.
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("signals cannot be taken")?;
    let mut targets = Vec::new();
    for _ in 0..args.instances {
        let target = NullTarget::start(&options)
            .with_context(|| format!("{}: cannot be listened on", args.listen))?;
        if let Some(address) = target.address() {
            options.listen = Listen::Tcp(address);
        }
        targets.push(target);
    }
    let first = &targets[0];
    if let (Some(path), Some(pem)) = (&args.ca_file, first.ca_pem()) {
        std::fs::write(path, pem)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    // Not held back as answers are: somebody waits for it.
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", first.url()).and_then(|()| stdout.flush())?;
    drop(stdout);

    let (sender, receiver) = mpsc::channel();
    let done = sender.clone();
    let handle = signals.handle();
    let listening = std::thread::spawn(move || {
        signals.forever().take_while(|_| sender.send(Told::Signal).is_ok()).for_each(drop);
    });
    // An error would say that there is nobody left to tell.
    let _ = receiver.recv();
    targets.iter().for_each(NullTarget::drain);
    std::thread::spawn(move || {
        targets.into_iter().for_each(NullTarget::wait);
        let _ = done.send(Told::Drained);
    });
    // After a second signal, connections are cut by the end of the process.
    let told = receiver.recv();
    if matches!(told, Ok(Told::Signal)) {
        output::say("tapstat: stopped before all answers were given");
    }
    handle.close();
    let _ = listening.join();
    Ok(Answer::Yes)
}

/// What ends a server.
enum Told {
    Signal,
    Drained,
}

fn listen(text: &str) -> Result<Listen> {
    if let Some(path) = text.strip_prefix("unix:") {
        return Ok(Listen::Unix(path.into()));
    }
    let address: SocketAddr = text
        .parse()
        .with_context(|| format!("--listen: {text:?}: expected an address such as 127.0.0.1:0"))?;
    if !address.ip().is_loopback() {
        bail!("--listen: {address} is not on the loopback, and this server is for nobody else");
    }
    Ok(Listen::Tcp(address))
}
