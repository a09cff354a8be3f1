//! The protocol and the targets file of the demonstration's campaign, written so
//! that a reader can measure it again.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::servers::Server;

/// The folder of the corpus, in that of the demonstration.
pub const CORPUS: &str = "corpus";

/// The classes that are measured: a filter by category, and a cone.
const CLASSES: [&str; 2] = ["Q03", "Q05"];

/// Writes the protocol into a folder, and gives its path.
///
/// # Errors
/// If it cannot be written.
pub fn protocol(folder: &Path, window_s: f64, dataset_sha256: &str) -> Result<PathBuf> {
    let warm_up = window_s / 2.0;
    // A window has to be covered by samples.
    let sample = window_s / 5.0;
    let [a, b] = CLASSES;
    let text = format!(
        r#"# What `tapstat demo` measures; `tapstat measure` measures it again.
name = "demo"
description = "The embedded TAP server twice, on one small corpus: queries wait 5 ms in the one, 20 ms in the other."

[grid]
targets = ["fast", "slow"]
classes = ["{a}", "{b}"]
formats = ["csv"]
concurrencies = [1, 4]
repetitions = 3

[window]
warmup_seconds = {warm_up}
measure_seconds = {window_s}
drain_seconds = 5

[workload]
maxrec = 20000
generator_workers = 1

[measure]
label = "demo"
corpus = "{CORPUS}/corpus.jsonl"
targets = "targets.toml"
dataset_sha256 = "{dataset_sha256}"
seed = 424242
check_every = 20
sample_seconds = {sample}

[containers.fast]
members = ["fast"]

[containers.slow]
members = ["slow"]

[report]
threats = [
  "Servers and generator share one machine, and nothing is pinned: the figures are not those of the server.",
  "Windows of {window_s} s show how a comparison is made. They are too short to be a measurement.",
]
notes = ["Both targets are the same program, and differ only in how long each query waits: who is faster is known beforehand."]
reproduce = ["tapstat demo"]
"#
    );
    write(folder, "protocol.toml", &text)
}

/// Writes the targets file, and for each server the file with its number.
///
/// # Errors
/// If they cannot be written.
pub fn targets(folder: &Path, servers: &mut [(&str, Server)]) -> Result<PathBuf> {
    let mut text = String::from(
        "# The servers of `tapstat demo`. `tapstat measure` finds them down, and starts and stops
# them by these hooks, with the `tapstat` on the path.
",
    );
    for (name, server) in servers {
        let (base_url, port, delay) = (&server.base_url, server.port(), server.delay);
        let is_up = is_up(name);
        text += &format!(
            r#"
[target.{name}]
server = "tapstat"
base_url = "{base_url}"
notes = "tapstat serve, {delay} in every query"

[target.{name}.hooks]
start = "{is_up} || {{ tapstat serve --corpus {CORPUS} --port {port} --delay {delay} >{name}.log 2>&1 & echo $! >{name}.pid; }}"
ready = "{base_url}/availability"
stop = "{is_up} && kill $(cat {name}.pid); rm -f {name}.pid"
"#
        );
        if cfg!(target_os = "linux") {
            text += &format!(
                "\n[target.{name}.containers]\n{name} = {{ pid_file = \"{name}.pid\" }}\n"
            );
        }
        let pid = format!("{}\n", server.id());
        server.pid_file = Some(write(folder, &format!("{name}.pid"), &pid)?);
    }
    write(folder, "targets.toml", &text)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    Ok(path)
}

/// The command that says whether a server runs by what its pid file says. A number that
/// was left there may have become another process's.
fn is_up(name: &str) -> String {
    if cfg!(target_os = "linux") {
        format!("grep -aqs -e --corpus /proc/$(cat {name}.pid 2>/dev/null)/cmdline")
    } else {
        format!("ps -p $(cat {name}.pid 2>/dev/null || echo 0) -o args= | grep -q -e --corpus")
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn only_a_server_is_taken_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let is_up = || {
            let mut command = Command::new("sh");
            command.args(["-c", &is_up("one")]).current_dir(&folder);
            command.status().unwrap().success()
        };
        assert!(!is_up(), "no file");
        for (name, expected) in [("--corpus", true), ("server", false)] {
            let mut process = Command::new("sh")
                .args(["-c", "read line", name])
                .stdin(Stdio::piped())
                .spawn()
                .unwrap();
            write(folder.path(), "one.pid", &format!("{}\n", process.id())).unwrap();
            assert_eq!(is_up(), expected, "{name}");
            drop(process.stdin.take());
            process.wait().unwrap();
            assert!(!is_up(), "{name} has ended");
        }
    }
}
