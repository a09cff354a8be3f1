//! The sampler on processes of its own.

use std::fs::File;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use super::*;
use crate::raw::{ResourceSample, ResourcesReader};

/// A shell that does as it is told, and ends with the value.
struct Shell(Child);

impl Shell {
    /// Runs a script, and waits until it has printed a line.
    fn run(script: &str) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut byte = [0];
        child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
        Self(child)
    }

    fn source(&self) -> Source {
        Source { pid: Some(self.0.id()), ..Source::default() }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // Its input ends, and so does the `read` that it waits in.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Burns CPU until a tenth of a second is used, by what the shell is told.
const BURN: &str = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";

#[test]
fn cpu_of_a_child_that_exited_is_counted() {
    let shell = Shell::run(&format!("sh -c '{BURN}'; {BURN}; echo; read line"));
    let source = shell.source();
    let mut containers = Containers::new([("shell", &source)]);
    let reading = containers.read()["shell"];
    assert!(reading.cpu_usec >= 20_000, "{reading:?}");
    assert!(reading.mem_bytes > 100_000, "{reading:?}");
    assert_eq!(reading.processes, 1);
    let again = containers.read()["shell"];
    assert!(again.cpu_usec >= reading.cpu_usec);
}

#[test]
fn children_are_counted_unless_they_are_not_wanted() {
    let shell = Shell::run("sleep 100 & sleeper=$!; echo; read line; kill $sleeper");
    let all = shell.source();
    let counted = Source { count: Some("sleep".into()), ..all.clone() };
    let alone = Source { children: Some(false), ..all.clone() };
    let mut containers = Containers::new([("all", &all), ("alone", &alone), ("counted", &counted)]);
    // The child is a shell's, until it has become what it is to be.
    let begun = Instant::now();
    let mut readings = containers.read();
    while readings["counted"].processes == 0 && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
        readings = containers.read();
    }
    let processes = |name: &str| readings[name].processes;
    assert_eq!((processes("all"), processes("alone"), processes("counted")), (2, 1, 1));
    assert!(containers.limits()["all"]["cpus_allowed"].is_string());
}

#[test]
fn what_is_not_there_gives_no_line() {
    let gone = Source { pid_file: Some("/nowhere/pid".into()), ..Source::default() };
    let group = Source { cgroup: Some("nowhere-*.slice".into()), ..Source::default() };
    let mut containers = Containers::new([("gone", &gone), ("group", &group)]);
    assert!(containers.read().is_empty());
    assert_eq!(containers.lines(1.0), b"");
}

#[test]
fn lines_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("resources.jsonl");
    let own = Source { pid: Some(std::process::id()), ..Source::default() };
    let containers = Containers::new([("own", &own)]);
    let begun = now();
    let every = Duration::from_millis(5);
    let mut sampler = Sampler::start(containers, every, File::create(&path).unwrap()).unwrap();
    while std::fs::metadata(&path).unwrap().len() < 500 {
        std::thread::sleep(every);
    }
    assert!(sampler.read()["own"].processes >= 1);
    sampler.sync().unwrap();
    sampler.stop().unwrap();
    let mut reader = ResourcesReader::open(&path).unwrap();
    let samples: Vec<ResourceSample> = reader.by_ref().collect::<Result<_, _>>().unwrap();
    assert!(samples.len() >= 5 && samples[0].t >= begun, "{samples:?}");
    assert!(samples.is_sorted_by_key(|sample| sample.cpu_usec) && samples[0].container == "own");
    assert!(samples.iter().all(|sample| sample.python_procs.is_some_and(|count| count >= 1)));
    let (_, warnings) = reader.finish();
    assert!(warnings.is_empty());
}
