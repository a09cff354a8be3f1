//! Commands that are run around rungs, and what came of them.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Runs hooks in one folder, with the same words about where they are.
#[derive(Debug, Clone)]
pub struct Runner {
    /// The folder that commands run in.
    pub folder: PathBuf,
    /// `TAPSTAT_…` variables that commands see.
    pub variables: BTreeMap<&'static str, String>,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// Its exit code; none where a signal or the time-out ended it.
    pub code: Option<i32>,
    /// Whether it was ended for taking too long.
    pub timed_out: bool,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What it printed on standard output, then on standard error.
    pub output: String,
    /// The part of it that is standard output.
    pub stdout: String,
}

/// The most of a command's output that is kept, in bytes: 8 MiB.
const MOST: u64 = 8 << 20;

/// Lines of output that an event shows.
const SHOWN: usize = 10;

impl Done {
    /// Whether it ended by itself, with 0.
    pub fn is_ok(&self) -> bool {
        self.code == Some(0)
    }

    /// How it ended, in words.
    pub fn ending(&self) -> String {
        match (self.timed_out, self.code) {
            (true, _) => format!("was ended after {:.1} s, its time-out", self.seconds),
            (false, Some(code)) => format!("ended with exit code {code}"),
            (false, None) => "was ended by a signal".to_owned(),
        }
    }

    /// The last lines that it printed.
    pub fn last_lines(&self) -> String {
        let lines: Vec<&str> = self.output.lines().collect();
        lines[lines.len().saturating_sub(SHOWN)..].join("\n")
    }

    /// The event of a hook.
    pub fn event(&self, hook: &str, target: &str, run: &str) -> Value {
        json!({
            "hook": hook, "target": target, "run": run, "exit_code": self.code,
            "timed_out": self.timed_out, "seconds": (self.seconds * 1e3).round() / 1e3,
            "output": self.last_lines(),
        })
    }
}

impl Runner {
    /// Runs a command by `sh -c`, in a process group of its own: a Ctrl-C at the
    /// terminal does not reach it, and its time-out ends what it started, too.
    /// What it leaves running when it ends by itself is let be: a start hook may
    /// mean to.
    pub fn run(&self, command: &str, timeout: Duration) -> Done {
        let begun = Instant::now();
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", command])
            .current_dir(&self.folder)
            .envs(&self.variables)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        let mut child = match shell.spawn() {
            Ok(child) => child,
            Err(error) => {
                let output = format!("sh: {error}");
                let seconds = begun.elapsed().as_secs_f64();
                return Done {
                    code: None,
                    timed_out: false,
                    seconds,
                    stdout: String::new(),
                    output,
                };
            }
        };
        let stdout = collect(child.stdout.take());
        let stderr = collect(child.stderr.take());
        let status = wait(&mut child, begun + timeout);
        let seconds = begun.elapsed().as_secs_f64();
        let stdout = stdout.take();
        let output = format!("{stdout}{}", stderr.take());
        let code = status.and_then(|status| status.code());
        Done { code, timed_out: status.is_none(), seconds, output, stdout }
    }
}

/// Waits for a child until its time is over, and ends its group then.
fn wait(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => {
                thread::sleep(pause.min(deadline.saturating_duration_since(Instant::now())));
                pause = (pause * 2).min(Duration::from_millis(50));
            }
            _ => break,
        }
    }
    #[cfg(unix)]
    if let Some(group) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Output that is collected by a thread, so that no pipe fills up.
struct Output {
    text: std::sync::mpsc::Receiver<Vec<u8>>,
}

fn collect<R: Read + Send + 'static>(pipe: Option<R>) -> Output {
    let (sender, text) = std::sync::mpsc::channel();
    if let Some(mut pipe) = pipe {
        thread::spawn(move || {
            let mut chunk = vec![0; 16 << 10];
            let mut left = MOST;
            while let Ok(read) = pipe.read(&mut chunk)
                && read > 0
            {
                let kept = (read as u64).min(left);
                left -= kept;
                if kept > 0 {
                    // Whoever waited has gone: what a server that was left
                    // running prints is read on, lest it be ended by its pipe.
                    let _ = sender.send(chunk[..kept as usize].to_vec());
                }
            }
        });
    }
    Output { text }
}

impl Output {
    /// What was printed until the pipe closed. A server that a hook has left
    /// running may keep it open: then what comes within a moment counts.
    fn take(&self) -> String {
        const MOMENT: Duration = Duration::from_millis(200);
        let mut bytes = Vec::new();
        while let Ok(chunk) = self.text.recv_timeout(MOMENT) {
            bytes.extend(chunk);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The new lines of a log since it was last looked at.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    at: u64,
    rest: Vec<u8>,
}

impl Tail {
    /// Begins at the end of what is there now.
    pub fn new(path: &Path) -> Self {
        let at = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        Self { path: path.to_owned(), at, rest: Vec::new() }
    }

    /// Whole lines that were added since. A log that became shorter was begun anew.
    pub fn lines(&mut self) -> Vec<String> {
        use std::io::{Seek, SeekFrom};
        let Ok(mut file) = std::fs::File::open(&self.path) else { return Vec::new() };
        if file.metadata().is_ok_and(|metadata| metadata.len() < self.at) {
            self.at = 0;
            self.rest.clear();
        }
        let mut new = Vec::new();
        let read =
            file.seek(SeekFrom::Start(self.at)).and_then(|_| file.take(MOST).read_to_end(&mut new));
        self.at += read.unwrap_or(0) as u64;
        self.rest.append(&mut new);
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        String::from_utf8_lossy(&lines).lines().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn run(command: &str, timeout: f64) -> Done {
        let variables = BTreeMap::from([("TAPSTAT_TARGET", "a".to_owned())]);
        let folder = std::env::temp_dir();
        Runner { folder, variables }.run(command, Duration::from_secs_f64(timeout))
    }

    #[test]
    fn codes_and_output_are_kept() {
        let done = run("echo one; echo $TAPSTAT_TARGET; echo two >&2; exit 3", 60.0);
        assert_eq!((done.code, done.timed_out, done.is_ok()), (Some(3), false, false));
        assert_eq!((done.stdout.as_str(), done.output.as_str()), ("one\na\n", "one\na\ntwo\n"));
        assert_eq!(done.ending(), "ended with exit code 3");
        let event = done.event("start", "a", "x");
        assert_eq!((&event["exit_code"], &event["output"]), (&json!(3), &json!("one\na\ntwo")));
        let long = run("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i; done", 60.0);
        assert!(long.last_lines().starts_with("3\n") && long.last_lines().ends_with("12"));
    }

    #[test]
    fn a_time_out_ends_the_whole_group() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let done = run(&format!("sleep 300 & echo $! > {}; wait", file.display()), 0.3);
        assert!(done.timed_out && done.code.is_none() && done.seconds < 100.0, "{done:?}");
        let pid: u32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        let is_gone = || {
            // A zombie is gone as well: whoever inherits it may be slow to reap.
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.map_or(true, |stat| stat.contains(") Z"))
        };
        while !is_gone() {
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_a_hook_leaves_running_keeps_nobody_waiting() {
        let done = run("sleep 3 & echo started", 60.0);
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "started\n"));
        assert!(done.seconds < 3.0, "{done:?}");
    }

    #[test]
    fn new_lines_of_a_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "old\n").unwrap();
        let mut tail = Tail::new(&path);
        let add = |text: &str| {
            let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        add("one\ntw");
        assert_eq!(tail.lines(), ["one"]);
        add("o\n");
        assert_eq!(tail.lines(), ["two"]);
        std::fs::write(&path, "x\n").unwrap();
        assert_eq!(tail.lines(), ["x"]);
        assert_eq!(tail.lines(), [""; 0]);
    }
}
