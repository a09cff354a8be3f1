//! Processes and their descendants, read from /proc.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use super::source::{Memory, Source};
use super::{Reading, glob};

/// A process that is told from another of the same number by its start.
type Id = (u32, u64);

/// One process, as `/proc/<pid>/stat` has it. Times are in clock ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    name: String,
    parent: u32,
    started: u64,
    /// Its own time and that of the children that it waited for.
    total: u64,
    /// The part that is its children's.
    children: u64,
}

/// All processes at one moment.
#[derive(Debug, Default)]
pub struct Snapshot(BTreeMap<u32, Process>);

impl Snapshot {
    /// Looks at all processes.
    pub fn take() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        Self(pids.filter_map(|pid| Some((pid, read(pid)?))).collect())
    }
}

fn read(pid: u32) -> Option<Process> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses a line of `stat`. The name stands in parentheses and may hold some.
fn parse(stat: &str) -> Option<Process> {
    let (head, rest) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The first of these fields is the third of the line.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let children = number(16)? + number(17)?;
    Some(Process {
        name,
        parent: u32::try_from(number(4)?).ok()?,
        started: number(22)?,
        total: number(14)? + number(15)? + children,
        children,
    })
}

/// The kernel's clock ticks per second, from what it tells every program.
fn ticks_per_second() -> u64 {
    const AT_CLKTCK: usize = 17;
    static TICKS: OnceLock<u64> = OnceLock::new();
    *TICKS.get_or_init(|| {
        const WORD: usize = size_of::<usize>();
        let vector = fs::read("/proc/self/auxv").unwrap_or_default();
        let words: Vec<usize> = vector
            .chunks_exact(WORD)
            .map(|chunk| usize::from_ne_bytes(chunk.try_into().expect("a chunk is one word")))
            .collect();
        let found = words.chunks_exact(2).find(|pair| pair[0] == AT_CLKTCK).map(|pair| pair[1]);
        found.filter(|ticks| *ticks > 0).unwrap_or(100) as u64
    })
}

/// The processes of one container.
#[derive(Debug)]
pub struct Processes {
    source: Source,
    members: BTreeMap<Id, Process>,
    /// Ticks of those that are gone and that nobody among the others waited for.
    gone: u64,
    /// The last figure: it never falls.
    last: u64,
}

impl Processes {
    /// The processes that a source names.
    pub fn new(source: &Source) -> Self {
        Self { source: source.clone(), members: BTreeMap::new(), gone: 0, last: 0 }
    }

    /// The processes that are there now: the roots, their descendants, and
    /// those that were members before, whoever their parent is now.
    pub fn pids(&self, all: &Snapshot) -> BTreeSet<u32> {
        let mut found: BTreeSet<u32> = self.roots(all).into_iter().collect();
        if self.source.children != Some(false) {
            let known = self.members.keys().filter(|(pid, started)| {
                all.0.get(pid).is_some_and(|process| process.started == *started)
            });
            found.extend(known.map(|(pid, _)| *pid));
            loop {
                let before = found.len();
                let children = all.0.iter().filter(|(_, process)| found.contains(&process.parent));
                let children: Vec<u32> = children.map(|(pid, _)| *pid).collect();
                found.extend(children);
                if found.len() == before {
                    break;
                }
            }
        }
        found
    }

    fn roots(&self, all: &Snapshot) -> Vec<u32> {
        let number = |path: &PathBuf| fs::read_to_string(path).ok()?.trim().parse().ok();
        let named = self.source.pid.or_else(|| number(self.source.pid_file.as_ref()?));
        if let Some(pid) = named {
            return all.0.contains_key(&pid).then_some(pid).into_iter().collect();
        }
        let Some(pattern) = &self.source.process else { return Vec::new() };
        // The kernel keeps 15 bytes of a name.
        let short: String = pattern.chars().take(15).collect();
        let is_meant = |process: &Process| {
            glob::fits(pattern, &process.name)
                || (!pattern.contains(['*', '?']) && process.name == short)
        };
        all.0.iter().filter(|(_, process)| is_meant(process)).map(|(pid, _)| *pid).collect()
    }

    /// What the processes used; none where there is none now.
    pub fn read(&mut self, all: &Snapshot) -> Option<Reading> {
        let pids = self.pids(all);
        let now: BTreeMap<Id, Process> = pids
            .iter()
            .filter_map(|pid| {
                let process = all.0.get(pid)?;
                Some(((*pid, process.started), process.clone()))
            })
            .collect();
        self.gone += self.lost(&now);
        let ticks: u64 = now.values().map(|process| process.total).sum();
        self.last = self.last.max(self.gone + ticks);
        let count = self.source.count.as_deref();
        let is_counted =
            |process: &&Process| count.is_none_or(|name| glob::fits(name, &process.name));
        let processes = now.values().filter(is_counted).count() as u64;
        self.members = now;
        if self.members.is_empty() {
            return None;
        }
        let memory = self.members.keys().map(|(pid, _)| self.memory(*pid)).sum();
        let cpu_usec = self.last * 1_000_000 / ticks_per_second();
        Some(Reading { cpu_usec, mem_bytes: memory, processes })
    }

    /// Ticks of members that are gone now, but for what a member that lives on
    /// has taken over by waiting for them.
    fn lost(&self, now: &BTreeMap<Id, Process>) -> u64 {
        let before: BTreeMap<u32, (&Id, &Process)> =
            self.members.iter().map(|(id, process)| (id.0, (id, process))).collect();
        let mut credit: BTreeMap<Id, u64> = now
            .iter()
            .map(|(id, process)| {
                let known = self.members.get(id).map_or(0, |before| before.children);
                (*id, process.children.saturating_sub(known))
            })
            .collect();
        let mut lost = 0;
        for (_, process) in self.members.iter().filter(|(id, _)| !now.contains_key(id)) {
            // Its parent, or whoever waited for that one.
            let mut heir = before.get(&process.parent);
            while let Some((id, parent)) = heir
                && !now.contains_key(id)
            {
                heir = before.get(&parent.parent);
            }
            let taken = heir.and_then(|(id, _)| credit.get_mut(id)).map_or(0, |credit| {
                let taken = process.total.min(*credit);
                *credit -= taken;
                taken
            });
            lost += process.total - taken;
        }
        lost
    }

    fn memory(&self, pid: u32) -> u64 {
        let kib = |file: &str, field: &str| {
            let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
            let value = text.lines().find_map(|line| line.strip_prefix(field))?;
            value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
        };
        let pss = match self.source.memory.unwrap_or_default() {
            Memory::Pss => kib("smaps_rollup", "Pss:"),
            Memory::Rss => None,
        };
        pss.or_else(|| kib("status", "VmRSS:")).unwrap_or(0) * 1024
    }

    /// What the memory figure is: `rss` also where the other may not be read.
    pub fn memory_kind(&self, all: &Snapshot) -> &'static str {
        let readable = |pid: &u32| fs::read(format!("/proc/{pid}/smaps_rollup")).is_ok();
        match self.source.memory.unwrap_or_default() {
            Memory::Pss if self.pids(all).iter().all(readable) => "pss",
            _ => "rss",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let fields = "S 7 1 1 0 -1 0 0 0 0 0 10 20 3 4 20 0 1 0 99 0 0";
        let process = parse(&format!("42 (a) b (c) {fields}")).unwrap();
        let expected =
            Process { name: "a) b (c".into(), parent: 7, started: 99, total: 37, children: 7 };
        assert_eq!(process, expected);
        assert_eq!(parse("42 (a) S 1"), None);
    }

    fn process(parent: u32, total: u64, children: u64) -> Process {
        Process { name: "x".into(), parent, started: 1, total, children }
    }

    fn ticks(processes: &mut Processes, all: &[(u32, Process)]) -> u64 {
        processes.read(&Snapshot(all.iter().cloned().collect()));
        processes.last
    }

    #[test]
    fn children_that_exit_are_kept_once() {
        let mut group = Processes::new(&Source { pid: Some(1), ..Source::default() });
        let child = (2, process(1, 50, 0));
        assert_eq!(ticks(&mut group, &[(1, process(0, 10, 0)), child.clone()]), 60);
        // Waited for by its parent, which has all of it and a little more.
        assert_eq!(ticks(&mut group, &[(1, process(0, 65, 53))]), 65);
        assert_eq!(ticks(&mut group, &[(1, process(0, 65, 53)), (3, process(1, 9, 0))]), 74);
        // Reaped by nobody of the group.
        assert_eq!(ticks(&mut group, &[(1, process(0, 66, 53))]), 75);
        // A child with a grandchild, both gone, and waited for in turn.
        let family = [(1, process(0, 66, 53)), (4, process(1, 5, 0)), (5, process(4, 7, 0))];
        assert_eq!(ticks(&mut group, &family), 87);
        assert_eq!(ticks(&mut group, &[(1, process(0, 78, 65))]), 87);
    }

    #[test]
    fn what_was_a_member_stays_one() {
        let mut group = Processes::new(&Source { pid: Some(1), ..Source::default() });
        ticks(&mut group, &[(1, process(0, 10, 0)), (2, process(1, 5, 0))]);
        // The root is gone; its child belongs to another now, and works on.
        assert_eq!(ticks(&mut group, &[(2, process(9, 8, 0)), (9, process(0, 100, 0))]), 18);
        // Without descendants, a child is none of it.
        let source = Source { pid: Some(1), children: Some(false), ..Source::default() };
        let mut alone = Processes::new(&source);
        assert_eq!(ticks(&mut alone, &[(1, process(0, 10, 0)), (2, process(1, 5, 0))]), 10);
    }

    #[test]
    fn processes_are_found_by_name() {
        let mut named = process(0, 1, 0);
        named.name = "a-very-long-nam".into();
        let all = Snapshot([(1, named), (2, process(0, 1, 0))].into());
        let roots = |name: &str| {
            Processes::new(&Source { process: Some(name.into()), ..Source::default() }).pids(&all)
        };
        assert_eq!(roots("a-very-long-name").len(), 1);
        assert_eq!(roots("a-*").len(), 1);
        assert_eq!(roots("x").len(), 1);
        assert_eq!(roots("y").len(), 0);
    }
}
