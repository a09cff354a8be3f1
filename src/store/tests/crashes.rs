//! Writers that die: between any two changes they make, the store is the old
//! one or the new one to whoever comes next.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::time::Duration;

use super::{Rows, content, id, put, store_of};
use crate::store::disk::{self, crash};
use crate::store::{Store, StoreError, commit, lock};

type Content = BTreeMap<String, Vec<u8>>;

/// What a writer does, and what the store then holds.
struct Case {
    before: &'static [(&'static str, Rows)],
    act: fn(&Store) -> Result<(), StoreError>,
    after: &'static [(&'static str, Rows)],
}

const FIRST: Case = Case {
    before: &[],
    act: |store| put(store, "r1", Rows::Old).map(drop),
    after: &[("r1", Rows::Old)],
};

const ADDITION: Case = Case {
    before: &[("r2", Rows::New)],
    act: |store| put(store, "r1", Rows::Old).map(drop),
    after: &[("r1", Rows::Old), ("r2", Rows::New)],
};

const REPLACEMENT: Case = Case {
    before: &[("r1", Rows::Old), ("r2", Rows::New)],
    act: |store| put(store, "r1", Rows::New).map(drop),
    after: &[("r1", Rows::New), ("r2", Rows::New)],
};

const REMOVAL: Case = Case {
    before: &[("r1", Rows::Old), ("r2", Rows::New)],
    act: |store| match store.remove(&id("r1")) {
        Err(StoreError::NoMatch { .. }) => Ok(()),
        other => other,
    },
    after: &[("r2", Rows::New)],
};

impl Case {
    fn start(&self) -> tempfile::TempDir {
        store_of(self.before)
    }

    fn act(&self, root: &Path) -> Result<(), StoreError> {
        (self.act)(&Store::create(root)?)
    }

    /// Kills a writer after each number of changes; then one reads, and one
    /// writes again.
    fn kill_everywhere(&self) {
        let (old, new) = (content(self.start().path()), content(store_of(self.after).path()));
        assert_ne!(old, new);
        let mut became_new = Vec::new();
        for changes in 0.. {
            let folder = self.start();
            let root = folder.path();
            let (result, died) = crash::after(changes, || self.act(root));
            if !died {
                result.unwrap();
                assert_eq!(content(root), new);
                break;
            }
            read(root, &old, &new);
            became_new.push(content(root) == new);

            self.act(root).unwrap();
            assert_eq!(content(root), new, "written again after {changes} changes");
            expect_nothing_in_flight(root);
        }
        // Decided once, at one of the changes, and never undone.
        assert!(became_new.is_sorted(), "{became_new:?}");
        assert!(became_new.contains(&false) && became_new.contains(&true), "{became_new:?}");
    }

    /// After how many changes the writer's change is decided.
    fn decided_after(&self) -> usize {
        let decided = |changes: &usize| {
            let (folder, _) = self.killed_after(*changes);
            !disk::list(&folder.path().join(".journal")).unwrap().is_empty()
        };
        (0..).find(decided).unwrap()
    }

    /// A store whose writer was killed, and a handle on it from before.
    fn killed_after(&self, changes: usize) -> (tempfile::TempDir, Store) {
        let folder = self.start();
        let early = Store::create(folder.path()).unwrap();
        let (_, died) = crash::after(changes, || self.act(folder.path()));
        assert!(died, "it ended within {changes} changes");
        (folder, early)
    }

    /// Kills the one who finishes the commit, too.
    fn kill_twice(&self) {
        let new = content(store_of(self.after).path());
        let decided = self.decided_after();
        for changes in 0.. {
            let (folder, _) = self.killed_after(decided);
            let root = folder.path();
            let (opened, died) = crash::after(changes, || Store::open(root).map(drop));
            if !died {
                opened.unwrap();
                break;
            }
            read(root, &new, &new);
            expect_nothing_in_flight(root);
        }
    }
}

/// Opens the store: it is one of the two, and sound.
fn read(root: &Path, old: &Content, new: &Content) {
    match Store::open(root) {
        Ok(store) => {
            let report = store.check(None).unwrap();
            assert!(report.is_clean(), "{:?}", report.findings);
        }
        Err(StoreError::NoStore(_)) => assert!(old.is_empty()),
        Err(error) => panic!("{error}"),
    }
    let found = content(root);
    assert!(found == *old || found == *new, "{:?}", found.keys());
}

fn expect_nothing_in_flight(root: &Path) {
    for folder in [".staging", ".journal"] {
        assert_eq!(disk::list(&root.join(folder)).unwrap(), [], "{folder}");
    }
}

#[test]
fn the_first_run_is_there_or_not() {
    FIRST.kill_everywhere();
}

#[test]
fn an_added_run_is_there_or_not() {
    ADDITION.kill_everywhere();
}

#[test]
fn a_replaced_run_is_the_old_or_the_new() {
    REPLACEMENT.kill_everywhere();
}

#[test]
fn a_removed_run_is_whole_or_gone() {
    REMOVAL.kill_everywhere();
}

#[test]
fn who_finishes_a_commit_may_die_too() {
    for case in [FIRST, REPLACEMENT, REMOVAL] {
        case.kill_twice();
    }
}

#[test]
fn a_handle_that_was_there_before_finishes_the_commit() {
    let (folder, early) = REPLACEMENT.killed_after(REPLACEMENT.decided_after());
    let lock = early.lock_run(&id("r1")).unwrap();
    assert_eq!(lock.manifest().unwrap().rows("gates"), 3);
    assert_eq!(content(folder.path()), content(store_of(REPLACEMENT.after).path()));
}

#[test]
fn a_commit_that_fails_once_decided_is_finished_later() {
    let folder = ADDITION.start();
    let obstacle = folder.path().join("gates/run=r1/part-0.parquet");
    fs::create_dir_all(obstacle.join("in the way")).unwrap();
    let message = ADDITION.act(folder.path()).unwrap_err().to_string();
    assert!(message.starts_with(&obstacle.display().to_string()), "{message}");
    assert!(Store::open(folder.path()).is_err(), "neither the old store nor the new one");

    fs::remove_dir_all(&obstacle).unwrap();
    Store::open(folder.path()).unwrap();
    assert_eq!(content(folder.path()), content(store_of(ADDITION.after).path()));
}

#[test]
fn what_was_decided_is_not_swept() {
    let (folder, _) = ADDITION.killed_after(ADDITION.decided_after());
    commit::sweep(folder.path()).unwrap();
    Store::open(folder.path()).unwrap();
    assert_eq!(content(folder.path()), content(store_of(ADDITION.after).path()));
}

#[test]
fn a_sweep_is_not_taken_for_a_writer() {
    let folder = ADDITION.start();
    let (root, started) = (folder.path(), Barrier::new(2));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let store = Store::create(root).unwrap();
            started.wait();
            store.lock_run(&id("r1")).map(drop)
        });
        lock::sweep(root, &[id("r1")], |_| {
            started.wait();
            // Time for the writer to come and find the lock taken.
            std::thread::sleep(Duration::from_millis(50));
            Ok(())
        })
        .unwrap();
        writer.join().unwrap().unwrap();
    });
}

#[test]
fn what_a_living_writer_staged_is_not_swept() {
    let folder = ADDITION.start();
    let store = Store::create(folder.path()).unwrap();
    let staging = store.stage(store.lock_run(&id("r1")).unwrap()).unwrap();
    let dead = folder.path().join(".staging/r3");
    fs::create_dir(&dead).unwrap();
    Store::create(folder.path()).unwrap();
    assert!(!dead.exists());
    staging.commit("rungs.jsonl", Vec::new()).unwrap();
}

#[test]
fn a_commit_that_lost_a_file_says_which() {
    let (folder, early) = ADDITION.killed_after(ADDITION.decided_after());
    fs::remove_file(folder.path().join(".staging/r1/pins.parquet")).unwrap();
    let journal = folder.path().join(".journal/r1.json");
    let expected = format!(
        "{}: an interrupted commit of run r1 cannot be finished, pins/run=r1/part-0.parquet is \
         neither staged nor in place: remove this journal and ingest the run again",
        journal.display()
    );
    assert_eq!(Store::open(folder.path()).unwrap_err().to_string(), expected);
    assert_eq!(Store::create(folder.path()).unwrap_err().to_string(), expected);

    fs::remove_file(&journal).unwrap();
    put(&early, "r1", Rows::Old).unwrap();
    assert_eq!(content(folder.path()), content(store_of(ADDITION.after).path()));
}

#[test]
fn a_journal_that_cannot_be_read_is_named() {
    let folder = ADDITION.start();
    let journal = folder.path().join(".journal/r1.json");
    fs::write(&journal, r#"{"run": "r2", "change": "remove"}"#).unwrap();
    assert_eq!(
        Store::open(folder.path()).unwrap_err().to_string(),
        format!(
            "{}: not a journal: it names run r2: remove this file and ingest run r1 again",
            journal.display()
        )
    );
}
