//! Control groups of version 2, read from the files of the kernel.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};

use super::{Reading, glob};

/// Where the groups are mounted: as the system says, or the usual place.
pub fn mount() -> PathBuf {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let of_kind = |line: &str| {
        let mut words = line.split(' ');
        let place = words.nth(1)?;
        (words.next()? == "cgroup2").then(|| PathBuf::from(place))
    };
    mounts.lines().find_map(of_kind).unwrap_or_else(|| PathBuf::from("/sys/fs/cgroup"))
}

/// The groups that a pattern names, and what is known of those that are gone.
#[derive(Debug)]
pub struct Groups {
    pattern: Pattern,
    root: PathBuf,
    /// CPU time of each group when it was last seen, in microseconds.
    seen: BTreeMap<PathBuf, u64>,
    /// CPU time of groups that are gone, in microseconds.
    gone: u64,
}

#[derive(Debug)]
enum Pattern {
    Path(PathBuf),
    /// A Docker container by name or id, and where its group was found.
    Docker(String, Vec<PathBuf>),
}

impl Groups {
    /// Groups by the pattern of their path, below `root` or absolute.
    pub fn new(pattern: &str, root: PathBuf) -> Self {
        Self::of(Pattern::Path(root.join(pattern)), root)
    }

    /// The group of a Docker container.
    pub fn docker(container: &str, root: PathBuf) -> Self {
        Self::of(Pattern::Docker(container.to_owned(), Vec::new()), root)
    }

    fn of(pattern: Pattern, root: PathBuf) -> Self {
        Self { pattern, root, seen: BTreeMap::new(), gone: 0 }
    }

    /// The folders of the groups that are there now.
    pub fn folders(&mut self) -> Vec<PathBuf> {
        match &mut self.pattern {
            Pattern::Path(path) => glob::folders(path),
            Pattern::Docker(container, known) => {
                known.retain(|path| path.is_dir());
                if known.is_empty() {
                    *known = docker_folders(container, &self.root);
                }
                known.clone()
            }
        }
    }

    /// What the groups used; none where there is none now.
    pub fn read(&mut self, count: Option<&str>) -> Option<Reading> {
        let folders = self.folders();
        let mut now = BTreeMap::new();
        let (mut memory, mut processes) = (0, 0);
        for folder in &folders {
            // A group may go between its being found and its being read.
            let Some(usage) = usage_usec(folder) else { continue };
            now.insert(folder.clone(), usage);
            memory += number(&folder.join("memory.current")).unwrap_or(0);
            processes += self::processes(folder).filter(|pid| is_counted(*pid, count)).count();
        }
        for (folder, last) in &self.seen {
            // One that counts anew under the name of another is another.
            let is_gone = now.get(folder).is_none_or(|usage| usage < last);
            self.gone += if is_gone { *last } else { 0 };
        }
        let usage: u64 = now.values().sum();
        let is_there = !now.is_empty();
        self.seen = now;
        is_there.then(|| Reading {
            cpu_usec: self.gone + usage,
            mem_bytes: memory,
            processes: processes as u64,
        })
    }
}

/// The number that a file holds.
fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn usage_usec(folder: &Path) -> Option<u64> {
    let stat = fs::read_to_string(folder.join("cpu.stat")).ok()?;
    stat.lines().find_map(|line| line.strip_prefix("usage_usec ")?.trim().parse().ok())
}

/// The processes of a group and of the groups below it.
fn processes(folder: &Path) -> Box<dyn Iterator<Item = u32>> {
    let own = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    let own: Vec<u32> = own.lines().filter_map(|line| line.trim().parse().ok()).collect();
    let below = fs::read_dir(folder).into_iter().flatten().flatten();
    let below = below.map(|entry| entry.path()).filter(|path| path.is_dir());
    Box::new(own.into_iter().chain(below.flat_map(|folder| processes(&folder))))
}

fn is_counted(pid: u32, count: Option<&str>) -> bool {
    let Some(pattern) = count else { return true };
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    glob::fits(pattern, name.trim_end())
}

/// Where Docker and its kin put the group of a container: under systemd, under
/// the other driver, and without root.
fn docker_folders(container: &str, root: &Path) -> Vec<PathBuf> {
    let inspect = Command::new("docker")
        .args(["inspect", "--type", "container", "--format", "{{.Id}}", container])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let said = inspect.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let id = said.ok().filter(|id| !id.is_empty());
    let is_id = container.len() >= 12 && container.bytes().all(|byte| byte.is_ascii_hexdigit());
    let Some(id) = id.or_else(|| is_id.then(|| format!("{container}*"))) else { return Vec::new() };
    let places = [
        format!("system.slice/docker-{id}.scope"),
        format!("docker/{id}"),
        format!("user.slice/user-*.slice/user@*.service/*/docker-{id}.scope"),
    ];
    places
        .iter()
        .map(|place| glob::folders(&root.join(place)))
        .find(|f| !f.is_empty())
        .unwrap_or_default()
}

/// The limits of a group as the kernel applies them: what its files say, and
/// the tightest of its own and those of the groups above it.
pub fn limits(folder: &Path, root: &Path) -> Value {
    let mut limits = Map::new();
    for file in ["cpuset.cpus.effective", "cpu.max", "cpu.weight", "memory.max", "memory.high"] {
        if let Ok(text) = fs::read_to_string(folder.join(file)) {
            limits.insert(file.to_owned(), text.trim().into());
        }
    }
    let chain: Vec<&Path> = folder.ancestors().take_while(|path| path.starts_with(root)).collect();
    let cores = chain.iter().filter_map(|path| cores(&path.join("cpu.max")));
    if let Some(cores) = cores.reduce(f64::min) {
        limits.insert("cpu_cores_effective".to_owned(), json!(cores));
    }
    let memory = chain.iter().filter_map(|path| number(&path.join("memory.max")));
    if let Some(bytes) = memory.min() {
        limits.insert("memory_bytes_effective".to_owned(), json!(bytes));
    }
    Value::Object(limits)
}

/// The cores of `50000 100000`; none where there is no limit.
fn cores(path: &Path) -> Option<f64> {
    let text = fs::read_to_string(path).ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok().filter(|period| *period > 0.0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn group(&self, path: &str, usage: u64, memory: u64, processes: &str) {
            let folder = self.0.path().join(path);
            fs::create_dir_all(&folder).unwrap();
            let stat = format!("usage_usec {usage}\nuser_usec 1\nsystem_usec 1\n");
            fs::write(folder.join("cpu.stat"), stat).unwrap();
            fs::write(folder.join("memory.current"), format!("{memory}\n")).unwrap();
            fs::write(folder.join("cgroup.procs"), processes).unwrap();
        }
    }

    #[test]
    fn groups_are_added_up_and_never_go_backwards() {
        let tree = Tree(tempfile::tempdir().unwrap());
        let mut groups = Groups::new("x.slice/docker-*.scope", tree.0.path().to_owned());
        assert_eq!(groups.read(None), None);
        tree.group("x.slice/docker-a.scope", 100, 10, "1\n2\n");
        tree.group("x.slice/docker-b.scope", 50, 5, "");
        tree.group("x.slice/docker-b.scope/below", 40, 5, "3\n");
        tree.group("x.slice/other.scope", 1000, 1000, "4\n");
        let expected = Reading { cpu_usec: 150, mem_bytes: 15, processes: 3 };
        assert_eq!(groups.read(None), Some(expected));
        fs::remove_dir_all(tree.0.path().join("x.slice/docker-b.scope")).unwrap();
        tree.group("x.slice/docker-a.scope", 130, 10, "1\n");
        let expected = Reading { cpu_usec: 180, mem_bytes: 10, processes: 1 };
        assert_eq!(groups.read(None), Some(expected), "what is gone is kept");
        tree.group("x.slice/docker-a.scope", 7, 10, "1\n");
        assert_eq!(groups.read(None).unwrap().cpu_usec, 187, "a restart counts on");
    }

    #[test]
    fn limits_are_those_of_the_tightest_group() {
        let tree = tempfile::tempdir().unwrap();
        let inner = tree.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::write(tree.path().join("a/cpu.max"), "150000 100000\n").unwrap();
        fs::write(tree.path().join("a/memory.max"), "1000\n").unwrap();
        fs::write(inner.join("cpu.max"), "max 100000\n").unwrap();
        fs::write(inner.join("memory.max"), "max\n").unwrap();
        fs::write(inner.join("cpuset.cpus.effective"), "0-3\n").unwrap();
        let expected = json!({
            "cpuset.cpus.effective": "0-3", "cpu.max": "max 100000", "memory.max": "max",
            "cpu_cores_effective": 1.5, "memory_bytes_effective": 1000,
        });
        assert_eq!(limits(&inner, tree.path()), expected);
    }
}
