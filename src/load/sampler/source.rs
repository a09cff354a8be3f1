//! What a sampled container is: a control group, or processes.

use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Where a container's figures come from: just one of `docker`, `cgroup`,
/// `process`, `pid` and `pid_file`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Source {
    /// A Docker container, by name or id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docker: Option<String>,
    /// Control groups (v2): a path or glob, from where they are mounted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// Processes of this name, which may be a glob.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// One process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The process whose number is in this file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid_file: Option<PathBuf>,
    /// Whether the descendants of processes count as well: they do, unless this
    /// is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub children: Option<bool>,
    /// The names, as a glob, of those that are counted: all, if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<String>,
    /// What the memory of processes is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// What the memory of processes is. That of a control group is what the kernel
/// accounts to it (`memory.current`), which counts the page cache too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// The proportional set: pages that several processes share are divided
    /// among them. Where it may not be read, the resident set.
    #[default]
    Pss,
    /// The resident set: shared pages count once for each process.
    Rss,
}

impl Source {
    /// Refuses what does not say just one thing.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&self) -> Result<(), String> {
        let given = [
            self.docker.is_some(),
            self.cgroup.is_some(),
            self.process.is_some(),
            self.pid.is_some(),
            self.pid_file.is_some(),
        ];
        if given.iter().filter(|given| **given).count() != 1 {
            return Err("needs one of `docker`, `cgroup`, `process`, `pid` and `pid_file`".into());
        }
        let texts = [&self.docker, &self.cgroup, &self.process, &self.count];
        if texts.into_iter().flatten().any(|text| text.trim().is_empty()) {
            return Err("has an empty name".to_owned());
        }
        if self.is_group() && (self.memory.is_some() || self.children.is_some()) {
            return Err("is a control group: `memory` and `children` are for processes".to_owned());
        }
        Ok(())
    }

    /// Whether it is a control group, not processes.
    pub fn is_group(&self) -> bool {
        self.docker.is_some() || self.cgroup.is_some()
    }
}

/// A container as the command line names it: `NAME`, a Docker container, or
/// `NAME=KIND:VALUE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// Its name in the samples.
    pub name: String,
    /// What it is.
    pub source: Source,
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected NAME, or NAME=KIND:VALUE with one of the kinds docker, \
                                cgroup, process, pid, pid-file";
        let (name, what) = text.split_once('=').unwrap_or((text, ""));
        let (kind, value) = match what.split_once(':') {
            Some((kind, value)) => (kind, value.to_owned()),
            None if what.is_empty() && !text.contains('=') => ("docker", name.to_owned()),
            None => return Err(EXPECTED.to_owned()),
        };
        let mut source = Source::default();
        match kind {
            "docker" => source.docker = Some(value),
            "cgroup" => source.cgroup = Some(value),
            "process" => source.process = Some(value),
            "pid-file" => source.pid_file = Some(value.into()),
            "pid" => {
                let pid = value.parse().map_err(|_| format!("`{value}` is no process number"))?;
                source.pid = Some(pid);
            }
            _ => return Err(EXPECTED.to_owned()),
        }
        if name.is_empty() {
            return Err(EXPECTED.to_owned());
        }
        source.check()?;
        Ok(Self { name: name.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_of_the_command_line() {
        let named: Named = "db=cgroup:system.slice/db-*.scope".parse().unwrap();
        assert_eq!(named.name, "db");
        assert_eq!(named.source.cgroup.as_deref(), Some("system.slice/db-*.scope"));
        let named: Named = "egernia-db-1".parse().unwrap();
        assert_eq!(named.source.docker.as_deref(), Some("egernia-db-1"));
        assert_eq!("x=pid:7".parse::<Named>().unwrap().source.pid, Some(7));
        for bad in ["", "x=", "x=pid:y", "x=socket:1", "=pid:1", "x=process:"] {
            bad.parse::<Named>().unwrap_err();
        }
    }

    #[test]
    fn one_source_and_no_more() {
        Source::default().check().unwrap_err();
        let two = Source { pid: Some(1), process: Some("x".into()), ..Source::default() };
        two.check().unwrap_err();
        let group =
            Source { cgroup: Some("x".into()), memory: Some(Memory::Rss), ..Source::default() };
        assert!(group.check().unwrap_err().contains("control group"));
    }
}
