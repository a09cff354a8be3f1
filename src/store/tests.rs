//! The store from outside: what is in it after each thing that can happen.

mod crashes;

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::schema::{EventRow, GateRow, PinRow, RungRow};
use super::*;
use crate::raw::InputFile;

/// Two contents of a run: with other rows, and in other tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// Two gates and a pin.
    Old,
    /// Three gates and an event.
    New,
}

pub(super) fn id(run: &str) -> RunId {
    RunId::new(run).unwrap()
}

/// Writes a run as `ingest` does.
pub(super) fn put(store: &Store, run: &str, rows: Rows) -> Result<Manifest, StoreError> {
    let mut staging = store.stage(store.lock_run(&id(run))?)?;
    let gate = |target: &str| GateRow { target: target.into(), ..GateRow::default() };
    match rows {
        Rows::Old => {
            staging.write_rows(&[gate("a"), gate("b")])?;
            staging.write_rows(&[PinRow { key: "cpus".into(), ..PinRow::default() }])?;
        }
        Rows::New => {
            staging.write_rows(&[gate("a"), gate("b"), gate("c")])?;
            staging.write_rows(&[EventRow { kind: "resume".into(), ..EventRow::default() }])?;
        }
    }
    staging.write_rows::<RungRow>(&[])?;
    let input = |path: &str| InputFile { path: path.into(), size: 1, sha256: "ab".into() };
    staging.commit("rungs.jsonl", vec![input("rungs.jsonl"), input("environment.json")])
}

/// A store with these runs.
pub(super) fn store_of(runs: &[(&str, Rows)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    for (run, rows) in runs {
        put(&store, run, *rows).unwrap();
    }
    folder
}

/// Every file and folder outside the dot folders, with the files' bytes.
pub(super) fn content(root: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(folder: &Path, prefix: &str, found: &mut BTreeMap<String, Vec<u8>>) {
        for (name, is_dir) in disk::list(folder).unwrap() {
            if name.starts_with('.') {
                continue;
            }
            let path = folder.join(&name);
            if is_dir {
                found.insert(format!("{prefix}{name}/"), Vec::new());
                walk(&path, &format!("{prefix}{name}/"), found);
            } else {
                found.insert(format!("{prefix}{name}"), fs::read(path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, "", &mut found);
    found
}

fn runs(store: &Store) -> Vec<&str> {
    store.manifests().iter().map(|manifest| manifest.run.as_str()).collect()
}

#[test]
fn a_committed_run_is_there_when_the_store_is_opened_again() {
    let folder = store_of(&[("r1", Rows::Old)]);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(runs(&store), ["r1"]);

    let manifest = store.manifest("r1").unwrap();
    let paths: Vec<&str> = manifest.outputs.iter().map(|output| output.path.as_str()).collect();
    assert_eq!(paths, ["gates/run=r1/part-0.parquet", "pins/run=r1/part-0.parquet"]);
    assert_eq!((manifest.rows("gates"), manifest.rows("pins"), manifest.rows("rungs")), (2, 1, 0));
    let inputs: Vec<&str> = manifest.inputs.iter().map(|input| input.path.as_str()).collect();
    assert_eq!(inputs, ["environment.json", "rungs.jsonl"]);

    let files: Vec<String> = content(folder.path()).into_keys().collect();
    assert_eq!(
        files,
        [
            "gates/",
            "gates/run=r1/",
            "gates/run=r1/part-0.parquet",
            "manifests/",
            "manifests/r1.json",
            "pins/",
            "pins/run=r1/",
            "pins/run=r1/part-0.parquet"
        ]
    );
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let (one, two) = (store_of(&[("r1", Rows::New)]), store_of(&[("r1", Rows::New)]));
    assert_eq!(content(one.path()), content(two.path()));
}

#[test]
fn a_replaced_run_leaves_nothing_of_what_it_was() {
    let folder = store_of(&[("r1", Rows::Old), ("r1", Rows::New)]);
    let fresh = store_of(&[("r1", Rows::New)]);
    assert_eq!(content(folder.path()), content(fresh.path()));
}

#[test]
fn a_removed_run_leaves_nothing() {
    let folder = store_of(&[("r1", Rows::Old), ("r2", Rows::New)]);
    // A handle for reading: it must not wait for itself.
    let store = Store::open(folder.path()).unwrap();
    store.remove(&id("r1")).unwrap();
    assert_eq!(content(folder.path()), content(store_of(&[("r2", Rows::New)]).path()));

    let message = store.remove(&id("r1")).unwrap_err().to_string();
    assert!(message.starts_with("no run matches `r1`"), "{message}");
}

#[test]
fn a_store_without_its_last_run_is_still_one() {
    let folder = store_of(&[("r1", Rows::Old)]);
    Store::open(folder.path()).unwrap().remove(&id("r1")).unwrap();
    assert!(Store::open(folder.path()).unwrap().manifests().is_empty());
}

#[test]
fn what_is_not_committed_was_never_there() {
    let folder = store_of(&[("r1", Rows::Old)]);
    let before = content(folder.path());
    let store = Store::create(folder.path()).unwrap();
    let mut staging = store.stage(store.lock_run(&id("r2")).unwrap()).unwrap();
    staging.write_rows(&[GateRow::default()]).unwrap();
    drop(staging);
    assert_eq!(content(folder.path()), before);
    assert!(disk::list(&folder.path().join(".staging")).unwrap().is_empty());
}

#[test]
fn a_table_has_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let mut staging = store.stage(store.lock_run(&id("r1")).unwrap()).unwrap();
    staging.write_rows(&[GateRow::default()]).unwrap();
    let message = staging.write_rows(&[GateRow::default()]).unwrap_err().to_string();
    assert!(message.contains("gates.parquet: "), "{message}");
}

#[test]
fn a_file_without_rows_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let mut staging = store.stage(store.lock_run(&id("r1")).unwrap()).unwrap();
    let table = schema::table("requests").unwrap();
    let file = staging.create_file(table).unwrap();
    staging.finish_file(file, 0).unwrap();
    assert_eq!(staging.commit("rungs.jsonl", Vec::new()).unwrap().outputs, []);
    assert_eq!(
        content(folder.path()).into_keys().collect::<Vec<_>>(),
        ["manifests/", "manifests/r1.json"]
    );
}

#[test]
fn one_run_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (Store::create(folder.path()).unwrap(), Store::create(folder.path()).unwrap());
    let staging = one.stage(one.lock_run(&id("r1")).unwrap()).unwrap();
    let busy = two.lock_run(&id("r1")).unwrap_err();
    assert!(matches!(&busy, StoreError::Busy { run } if run == "r1"), "{busy}");
    assert!(busy.to_string().contains("run r1"), "{busy}");
    // Neither another run nor what is staged suffers.
    put(&two, "r2", Rows::New).unwrap();
    let third = Store::create(folder.path()).unwrap();
    staging.commit("rungs.jsonl", Vec::new()).unwrap();
    assert!(third.lock_run(&id("r1")).unwrap().manifest().is_some());
}

#[test]
fn a_commit_that_waits_for_readers_says_so() {
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    store.when_waiting(|| _ = TOLD.fetch_add(1, Ordering::SeqCst));
    put(&store, "r1", Rows::Old).unwrap();
    assert_eq!(TOLD.load(Ordering::SeqCst), 0);
    let reader = Store::open(folder.path()).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| put(&store, "r2", Rows::Old).map(drop));
        let begun = Instant::now();
        while TOLD.load(Ordering::SeqCst) == 0 && begun.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(reader);
        writer.join().unwrap().unwrap();
    });
    assert_eq!(TOLD.load(Ordering::SeqCst), 1);
}

#[test]
fn two_runs_are_written_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let both = Barrier::new(2);
    std::thread::scope(|scope| {
        for (run, rows) in [("r1", Rows::Old), ("r2", Rows::New)] {
            let (folder, both) = (folder.path(), &both);
            scope.spawn(move || {
                both.wait();
                for _ in 0..5 {
                    put(&Store::create(folder).unwrap(), run, rows).unwrap();
                }
            });
        }
    });
    assert_eq!(
        content(folder.path()),
        content(store_of(&[("r1", Rows::Old), ("r2", Rows::New)]).path())
    );
    assert!(Store::open(folder.path()).unwrap().check(None).unwrap().is_clean());
}

#[test]
fn a_writer_learns_what_the_run_is_now() {
    let folder = tempfile::tempdir().unwrap();
    let early = Store::create(folder.path()).unwrap();
    let manifest = put(&Store::create(folder.path()).unwrap(), "r1", Rows::Old).unwrap();
    assert_eq!(early.manifest("r1"), None);
    assert_eq!(early.lock_run(&id("r1")).unwrap().manifest(), Some(&manifest));
}

#[test]
fn nothing_changes_while_the_store_is_read() {
    let folder = store_of(&[("r1", Rows::Old)]);
    let lock = File::open(folder.path().join(".lock")).unwrap();
    let readers = [Store::open(folder.path()).unwrap(), Store::open(folder.path()).unwrap()];
    assert!(matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
    drop(readers);
    let writer = Store::create(folder.path()).unwrap();
    lock.try_lock().unwrap();
    lock.unlock().unwrap();
    drop(writer);
}

#[test]
fn a_reader_that_writes_goes_on_reading() {
    let folder = store_of(&[("r1", Rows::Old)]);
    let store = Store::open(folder.path()).unwrap();
    put(&store, "r2", Rows::New).unwrap();
    let lock = File::open(folder.path().join(".lock")).unwrap();
    assert!(matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
}

#[cfg(unix)]
#[test]
fn a_store_that_cannot_be_written_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = store_of(&[("r1", Rows::Old)]);
    fs::remove_file(folder.path().join(".lock")).unwrap();
    let permit = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode));
    permit(0o555).unwrap();
    let opened = Store::open(folder.path()).map(|store| store.check(None));
    permit(0o755).unwrap();
    assert!(opened.unwrap().unwrap().is_clean());
}

#[test]
fn no_store_is_said_and_none_is_made() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("none")] {
        let message = Store::open(&path).unwrap_err().to_string();
        assert_eq!(
            message,
            format!(
                "no store at {}: ingest a run first (`tapstat ingest RUN-DIRECTORY`)",
                path.display()
            )
        );
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn runs_are_found_by_any_part_of_their_id() {
    let folder = store_of(&[("a-one", Rows::Old), ("a-one-b", Rows::Old), ("a-two", Rows::New)]);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(runs(&store), ["a-one", "a-one-b", "a-two"]);
    let find = |name: &str| store.find_run(name).map(|manifest| manifest.run.as_str());
    assert_eq!(find("tw").unwrap(), "a-two");
    assert_eq!(find("a-one").unwrap(), "a-one", "an exact id wins");
    assert_eq!(
        find("x").unwrap_err().to_string(),
        "no run matches `x`: the store has a-one, a-one-b, a-two"
    );
    assert_eq!(find("one").unwrap_err().to_string(), "`one` matches several runs: a-one, a-one-b");

    let empty = Store::create(&folder.path().join("empty")).unwrap();
    assert_eq!(
        empty.find_run("x").unwrap_err().to_string(),
        "no run matches `x`: the store has no runs"
    );
}

#[test]
fn a_run_of_another_schema_is_refused_and_can_be_rebuilt_or_removed() {
    let folder = store_of(&[("r1", Rows::Old), ("r2", Rows::Old)]);
    let path = folder.path().join("manifests/r1.json");
    fs::write(&path, r#"{"schema_version": 99, "shape": "unknown"}"#).unwrap();

    let expected = format!(
        "{}: run r1 was stored with schema version 99, this tapstat reads version 2: ingest the run again",
        path.display()
    );
    assert_eq!(Store::open(folder.path()).unwrap_err().to_string(), expected);

    let store = Store::create(folder.path()).unwrap();
    assert_eq!(runs(&store), ["r2"]);
    assert_eq!(store.unreadable()[0].run, "r1");
    assert_eq!(store.find_id("r1").unwrap(), "r1");
    assert_eq!(store.find_run("r1").unwrap_err().to_string(), expected);
    assert_eq!(store.lock_run(&id("r1")).unwrap().manifest(), None);
    put(&store, "r1", Rows::New).unwrap();
    assert_eq!(runs(&Store::open(folder.path()).unwrap()), ["r1", "r2"]);
    assert!(store.check(None).unwrap().is_clean());

    fs::write(&path, "{").unwrap();
    Store::inspect(folder.path()).unwrap().remove(&id("r1")).unwrap();
    assert_eq!(content(folder.path()), content(store_of(&[("r2", Rows::Old)]).path()));
}
