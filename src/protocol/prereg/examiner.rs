//! How a registration is judged.

use git2::{Commit, Repository};

use super::commits::{Ancestry, Between, History};
use super::error::PreregError;
use super::files::{self, Comparison, PathState};
use super::measured::{self, Described, Measurement, ResumeEntry, StartBasis};
use super::paths::Paths;
use super::reason::{Reason, ResumeGap};
use super::registered::{Kind, Registered};
use super::{Claim, Examination, ProtocolPath, Resume};

/// An examination under way.
pub(super) struct Examiner<'r> {
    pub(super) repo: &'r Repository,
    pub(super) history: History<'r>,
    pub(super) paths: Paths,
    pub(super) registered: Option<Registered>,
    pub(super) reasons: Vec<Reason>,
}

impl<'r> Examiner<'r> {
    /// Asks repository and run everything, and judges.
    pub(super) fn examine(mut self, claim: &Claim<'_>) -> Result<Examination, PreregError> {
        let registered = match &self.registered {
            Some(registered) => Some(self.commit(registered)?),
            None => {
                let name = claim.reference.to_owned();
                self.reasons.push(Reason::RegistrationUnseen { name });
                None
            }
        };
        let measured = self.measured(claim.run)?;
        let comparison = match (&registered, &measured) {
            (Some(old), Some(new)) => Some(files::compare(self.repo, old, new, &self.paths)?),
            _ => None,
        };
        let commits = match (&registered, &measured, &comparison) {
            (Some(old), Some(new), Some(comparison)) => {
                // A file that moved is followed to its other name.
                let names = comparison.files.iter();
                let names = names.flat_map(|file| [file.old_path.clone(), file.new_path.clone()]);
                let paths = self.paths.with(names.flatten());
                Some(self.history.between(old.id(), new.id(), &paths)?)
            }
            _ => None,
        };
        self.judge_paths(comparison.as_ref(), commits.as_deref());
        let ancestor = match (&registered, &measured) {
            (Some(old), Some(new)) => self.judge_ancestry(old, new)?,
            _ => None,
        };
        let before = self.judge_times(claim.run);
        let resumed = self.judge_resumed(claim.run, registered.as_ref())?;
        self.judge_name(claim, commits.as_deref(), ancestor);
        // The worst come first.
        self.reasons.sort_by_key(|reason| reason.effect() as u8);
        Ok(Examination {
            verdict: Reason::verdict(&self.reasons),
            run: claim.run.map(|run| run.run.clone()),
            bare: self.repo.is_bare(),
            shallow: self.repo.is_shallow(),
            reference: claim.reference.to_owned(),
            measured: measured
                .map(|commit| commit.id().to_string())
                .or_else(|| claim.run.and_then(|run| run.commit.clone())),
            dirty: claim.run.and_then(Measurement::is_dirty),
            ancestor,
            start: claim.run.and_then(|run| run.start),
            before,
            paths: path_states(&self.paths, comparison.as_ref()),
            reasons: self.reasons,
            registered: self.registered,
            files: comparison.map(|comparison| comparison.files),
            commits,
            resumed,
        })
    }

    fn commit(&self, registered: &Registered) -> Result<Commit<'r>, PreregError> {
        let doing = format!("reading commit {}", registered.commit);
        self.repo.find_commit(registered.id).map_err(PreregError::git(doing))
    }

    /// The measured commit, or HEAD where no run is named.
    fn measured(&mut self, run: Option<&Measurement>) -> Result<Option<Commit<'r>>, PreregError> {
        let Some(run) = run else {
            self.reasons.push(Reason::NoRun);
            let head = self.repo.head().and_then(|head| head.peel_to_commit());
            return head.map(Some).map_err(PreregError::git("reading HEAD"));
        };
        match run.is_dirty() {
            Some(true) => self.reasons.push(Reason::Dirty),
            None => self.reasons.push(Reason::DirtUnknown),
            Some(false) => {}
        }
        let Some(id) = &run.commit else {
            self.reasons.push(Reason::NoCommit);
            return Ok(None);
        };
        let commit = measured::find(self.repo, id)?;
        if commit.is_none() {
            let shallow = self.repo.is_shallow();
            self.reasons.push(Reason::CommitUnseen { commit: id.clone(), shallow });
        }
        Ok(commit)
    }

    fn judge_paths(&mut self, comparison: Option<&Comparison>, commits: Option<&[Between]>) {
        let Some(comparison) = comparison else { return };
        let mut changed = Vec::new();
        for (path, state) in &comparison.paths {
            match state {
                PathState::Same => {}
                PathState::Differs => changed.push(path.clone()),
                PathState::Missing => {
                    self.reasons.push(Reason::PathMissing { path: path.clone() });
                }
                PathState::Moved { from, to } => {
                    let (from, to) = (from.clone(), to.clone());
                    self.reasons.push(Reason::PathMoved { from, to });
                }
            }
        }
        let touching = commits
            .unwrap_or_default()
            .iter()
            .filter(|commit| !commit.protocol_paths.is_empty())
            .count();
        if !changed.is_empty() {
            self.reasons.push(Reason::ProtocolChanged { paths: changed });
        } else if comparison.files.is_empty() && touching > 0 {
            self.reasons.push(Reason::PutBack { commits: touching });
        }
    }

    fn judge_ancestry(
        &mut self,
        registered: &Commit<'_>,
        measured: &Commit<'_>,
    ) -> Result<Option<bool>, PreregError> {
        let ancestry = self.history.ancestry(registered.id(), measured.id())?;
        let (ancestor, reason) = match ancestry {
            Ancestry::Ancestor => (Some(true), None),
            Ancestry::Descendant => (Some(false), Some(Reason::NotAncestor { comes_after: true })),
            Ancestry::Apart => (Some(false), Some(Reason::NotAncestor { comes_after: false })),
            Ancestry::Unseen => (None, Some(Reason::AncestryUnseen)),
        };
        self.reasons.extend(reason);
        Ok(ancestor)
    }

    /// Whether the registration is older than the run.
    fn judge_times(&mut self, run: Option<&Measurement>) -> Option<bool> {
        let registered = self.registered.as_ref()?;
        let time = registered.time;
        if time.is_none() {
            self.reasons.push(Reason::NoTime);
        }
        let run = run?;
        let Some(start) = run.start else {
            self.reasons.push(Reason::NoStart);
            return None;
        };
        if start.basis != StartBasis::Request {
            self.reasons.push(Reason::StartByOther { basis: start.basis });
        }
        let registered = time?;
        // git counts whole seconds: only when this one is over was it before.
        let before = (registered + 1) as f64 <= start.time;
        if !before {
            self.reasons.push(Reason::NotBefore { registered, start });
        }
        Some(before)
    }

    fn judge_resumed(
        &mut self,
        run: Option<&Measurement>,
        registered: Option<&Commit<'_>>,
    ) -> Result<Vec<Resume>, PreregError> {
        let entries = run.map(|run| run.resumed.as_slice()).unwrap_or_default();
        let mut resumed = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let ResumeEntry { time, commit, dirty } = ResumeEntry::parse(entry);
            let mut resume = Resume {
                entry: entry.clone(),
                time,
                commit,
                dirty,
                changed: None,
                files: Vec::new(),
            };
            let mut gap = match dirty {
                Some(true) => Some(ResumeGap::Dirty),
                Some(false) => None,
                None => Some(ResumeGap::DirtUnknown),
            };
            match &resume.commit {
                None => gap = Some(ResumeGap::NoCommit),
                Some(id) => match measured::find(self.repo, id)? {
                    None => gap = Some(ResumeGap::CommitUnseen(id.clone())),
                    Some(commit) => {
                        resume.commit = Some(commit.id().to_string());
                        if let Some(registered) = registered {
                            self.compare_resumed(registered, &commit, &mut resume)?;
                        }
                    }
                },
            }
            if resume.changed != Some(true)
                && let Some(why) = gap
            {
                resume.changed = None;
                self.reasons.push(Reason::ResumeUnknown { number: index + 1, why });
            }
            resumed.push(resume);
        }
        Ok(resumed)
    }

    fn compare_resumed(
        &mut self,
        registered: &Commit<'_>,
        commit: &Commit<'_>,
        resume: &mut Resume,
    ) -> Result<(), PreregError> {
        let comparison = files::compare(self.repo, registered, commit, &self.paths)?;
        resume.changed = Some(comparison.differs());
        if comparison.differs() {
            let paths = comparison.paths.into_iter();
            let paths = paths.filter(|(_, state)| *state == PathState::Differs);
            self.reasons.push(Reason::ResumeChanged {
                commit: commit.id().to_string(),
                paths: paths.map(|(path, _)| path).collect(),
            });
        }
        resume.files = comparison.files;
        Ok(())
    }

    /// What kind of name the registration has, and whether it is where it was.
    fn judge_name(
        &mut self,
        claim: &Claim<'_>,
        commits: Option<&[Between]>,
        ancestor: Option<bool>,
    ) {
        let Some(registered) = &self.registered else { return };
        match registered.kind {
            Kind::Annotated => {}
            Kind::Lightweight => self.reasons.push(Reason::LightweightTag),
            Kind::Commit => self.reasons.push(Reason::BareCommit),
        }
        if registered.moves {
            self.reasons.push(Reason::NameMoves { name: registered.name.clone() });
        }
        if let Some(recorded) = claim.commit
            && !registered.commit.starts_with(&recorded.to_ascii_lowercase())
        {
            self.reasons.push(Reason::TagMoved {
                was: format!("{recorded} by the protocol"),
                is: registered.commit.clone(),
            });
        }
        let described = claim.run.and_then(|run| run.describe.as_deref()).map(Described::parse);
        let Some((described, commits)) = described.zip(commits) else { return };
        // The commits that a shallow clone has are not all there are.
        if self.repo.is_shallow() {
            return;
        }
        let distance = commits.len();
        if described.tag == registered.name {
            if described.commits != distance || ancestor == Some(false) {
                self.reasons.push(Reason::TagMoved {
                    was: format!("{} commits before the measured one", described.commits),
                    is: if ancestor == Some(false) {
                        "not among its ancestors".to_owned()
                    } else {
                        format!("{distance} commits before it")
                    },
                });
            }
        } else if registered.kind == Kind::Annotated
            && ancestor == Some(true)
            && distance < described.commits
        {
            let described = claim.run.and_then(|run| run.describe.clone()).unwrap_or_default();
            self.reasons.push(Reason::NotDescribed { described, commits: distance });
        }
    }
}

/// Each path with its state.
fn path_states(paths: &Paths, comparison: Option<&Comparison>) -> Vec<ProtocolPath> {
    let state = |index: usize| {
        comparison.and_then(|comparison| Some(comparison.paths.get(index)?.1.clone()))
    };
    paths
        .iter()
        .enumerate()
        .map(|(index, path)| ProtocolPath { path: path.to_owned(), state: state(index) })
        .collect()
}
