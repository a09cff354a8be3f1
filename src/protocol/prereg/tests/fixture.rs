//! Repositories made for a test, with fixed people and times.

use std::path::{Path, PathBuf};

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Oid, Repository, Signature, Time};
use tempfile::TempDir;

use super::super::{Claim, Examination, Measurement, PreregError, Start, StartBasis, examine};

/// When the run of every test began.
pub(super) const START: f64 = 5_000.0;

/// A repository in a folder of its own.
pub(super) struct Fixture {
    pub(super) dir: TempDir,
    pub(super) repo: Repository,
}

fn signature(seconds: i64) -> Signature<'static> {
    Signature::new("Ada", "ada@example.org", &Time::new(seconds, 120)).unwrap()
}

impl Fixture {
    /// A repository with one commit, at 1000 s: a protocol, two pins, a driver.
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init(dir.path()).unwrap();
        let fixture = Self { dir, repo };
        fixture.commit(
            1_000,
            &[
                ("protocol.toml", "[rule]\ntie_floor = 0.10\n"),
                ("pins/8.yaml", "cpus: 8\nmemory: 8 GiB\nswap: 0\n"),
                ("pins/16.yaml", "cpus: 16\nmemory: 16 GiB\nswap: none\n"),
                ("driver.py", "print(1)\n"),
            ],
        );
        fixture
    }

    /// The path of the repository's folder.
    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// Commits files on top of HEAD; those without content are removed.
    pub(super) fn commit(&self, seconds: i64, files: &[(&str, &str)]) -> Oid {
        let parent = self.repo.head().ok().map(|head| head.peel_to_commit().unwrap());
        let parents: Vec<Oid> = parent.iter().map(git2::Commit::id).collect();
        let id = self.commit_on(&parents, seconds, files);
        self.set_head(id);
        id
    }

    /// Commits files on top of the first of the parents, leaving HEAD alone.
    pub(super) fn commit_on(&self, parents: &[Oid], seconds: i64, files: &[(&str, &str)]) -> Oid {
        let parents: Vec<_> =
            parents.iter().map(|&id| self.repo.find_commit(id).unwrap()).collect();
        let baseline = match parents.first() {
            Some(parent) => parent.tree().unwrap(),
            None => {
                let empty = self.repo.treebuilder(None).unwrap().write().unwrap();
                self.repo.find_tree(empty).unwrap()
            }
        };
        let mut update = TreeUpdateBuilder::new();
        for (path, content) in files {
            if content.is_empty() {
                update.remove(*path);
            } else {
                let blob = self.repo.blob(content.as_bytes()).unwrap();
                update.upsert(*path, blob, FileMode::Blob);
            }
        }
        let tree = update.create_updated(&self.repo, &baseline).unwrap();
        let tree = self.repo.find_tree(tree).unwrap();
        let signature = signature(seconds);
        let message = format!("Commit at {seconds}");
        let parents: Vec<&git2::Commit<'_>> = parents.iter().collect();
        self.repo.commit(None, &signature, &signature, &message, &tree, &parents).unwrap()
    }

    /// Lets HEAD's branch be at a commit.
    pub(super) fn set_head(&self, commit: Oid) {
        self.repo.reference("refs/heads/main", commit, true, "test").unwrap();
        self.repo.set_head("refs/heads/main").unwrap();
    }

    /// The commit of HEAD.
    pub(super) fn head(&self) -> Oid {
        self.repo.head().unwrap().target().unwrap()
    }

    /// Sets an annotated tag on HEAD, moving it if it is there.
    pub(super) fn tag(&self, name: &str, seconds: i64) -> Oid {
        self.tag_with(name, seconds, "The protocol\n")
    }

    /// Sets an annotated tag with a message on HEAD.
    pub(super) fn tag_with(&self, name: &str, seconds: i64, message: &str) -> Oid {
        let head = self.repo.find_object(self.head(), None).unwrap();
        self.repo.tag(name, &head, &signature(seconds), message, true).unwrap()
    }

    /// Makes the repository shallow, cut at a commit: whatever only older ones
    /// have stays, as if it had been fetched by its id.
    pub(super) fn cut_at(&mut self, commit: Oid) {
        std::fs::write(self.repo.path().join("shallow"), format!("{commit}\n")).unwrap();
        self.repo = Repository::open(self.dir.path()).unwrap();
    }

    /// Removes an object, as a shallow clone lacks those behind its cut.
    pub(super) fn forget(&mut self, id: Oid) {
        let id = id.to_string();
        let (folder, file) = id.split_at(2);
        std::fs::remove_file(self.repo.path().join("objects").join(folder).join(file)).unwrap();
        self.repo = Repository::open(self.dir.path()).unwrap();
    }

    /// A clean measurement at a commit, begun at [`START`].
    pub(super) fn run_at(commit: Oid) -> Measurement {
        Measurement {
            run: "run-1".to_owned(),
            commit: Some(commit.to_string()),
            dirty: Some(false),
            describe: None,
            start: Some(Start { time: START, basis: StartBasis::Request }),
            resumed: Vec::new(),
        }
    }

    /// Examines `protocol.toml` and `pins` as registered by a name.
    pub(super) fn examine(
        &self,
        reference: &str,
        run: &Measurement,
    ) -> Result<Examination, PreregError> {
        self.examine_paths(reference, run, &["protocol.toml", "pins"])
    }

    /// Examines those paths.
    pub(super) fn examine_paths(
        &self,
        reference: &str,
        run: &Measurement,
        paths: &[&str],
    ) -> Result<Examination, PreregError> {
        examine_in(self.dir.path(), reference, Some(run), paths)
    }
}

/// Examines paths in a repository.
pub(super) fn examine_in(
    repository: &Path,
    reference: &str,
    run: Option<&Measurement>,
    paths: &[&str],
) -> Result<Examination, PreregError> {
    let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
    examine(&Claim { repository, reference, commit: None, paths: &paths, run })
}

/// The codes of the reasons, in their order.
pub(super) fn codes(examination: &Examination) -> Vec<&'static str> {
    examination.reasons.iter().map(super::super::Reason::code).collect()
}
