//! The two servers that the demonstration measures: children of this program.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How long a server has to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(10);

/// `tapstat serve` as a process of its own, so that what it costs is not the
/// generator's. It ends with its standard input, whose other end only this value
/// holds: with the value, and also where this program is killed.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// Kept open while the server shall run.
    stdin: Option<ChildStdin>,
    /// The URL of its TAP service.
    pub base_url: String,
    /// What every query waits.
    pub delay: &'static str,
    /// The file with its number, which goes with it.
    pub pid_file: Option<PathBuf>,
}

impl Server {
    /// Serves a corpus on a free port of the loopback, and waits until it answers.
    ///
    /// # Errors
    /// If it cannot be started, or ends instead of answering.
    pub fn start(corpus: &Path, delay: &'static str) -> Result<Self> {
        let program = std::env::current_exe().context("where is this program?")?;
        let mut command = Command::new(program);
        command.arg("serve").arg("--corpus").arg(corpus);
        command.args(["--delay", delay, "--until-eof"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C is for this program, which ends them when it is done with them.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().context("a server cannot be started")?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("it is piped");
        let mut server = Self { child, stdin, base_url: String::new(), delay, pid_file: None };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        line.trim().clone_into(&mut server.base_url);
        if server.base_url.is_empty() {
            bail!("a server ended before it answered");
        }
        Ok(server)
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its port, as its URL has it.
    pub fn port(&self) -> &str {
        let host = self.base_url.trim_end_matches("/tap");
        host.rsplit(':').next().unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stdin.take();
        if let Some(path) = &self.pid_file {
            // The targets' `stop` takes it away, too.
            let _ = std::fs::remove_file(path);
        }
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(20)),
                _ => return,
            }
        }
        // Whatever keeps it: it must not outlive the demonstration.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
