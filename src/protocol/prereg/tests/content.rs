//! Whether the protocol's files are what was registered.

use super::super::{Change, Examination, PathState, Verdict};
use super::fixture::{Fixture, codes};

fn states(examination: &Examination) -> Vec<PathState> {
    examination.paths.iter().map(|path| path.state.clone().unwrap()).collect()
}

#[test]
fn nothing_since_is_frozen() {
    let fixture = Fixture::new();
    fixture.tag("v1", 2_000);
    let found = fixture.examine("v1", &Fixture::run_at(fixture.head())).unwrap();
    assert_eq!(found.verdict, Verdict::Frozen);
    assert_eq!(codes(&found), [""; 0]);
    assert_eq!((found.ancestor, found.before, found.dirty), (Some(true), Some(true), Some(false)));
    assert_eq!((found.files, found.commits), (Some(vec![]), Some(vec![])));
}

#[test]
fn commits_to_other_paths_leave_it_frozen() {
    let fixture = Fixture::new();
    fixture.tag("v1", 2_000);
    let first = fixture.commit(3_000, &[("driver.py", "print(2)\n"), ("notes.md", "x\n")]);
    let second = fixture.commit(4_000, &[("pins-old/8.yaml", "cpus: 4\n")]);
    let found = fixture.examine("v1", &Fixture::run_at(second)).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Frozen, vec![]));
    assert_eq!(found.files, Some(vec![]));
    let commits = found.commits.unwrap();
    let listed: Vec<_> =
        commits.iter().map(|commit| (commit.commit.clone(), commit.paths.clone())).collect();
    let paths = |paths: &[&str]| Some(paths.iter().map(|&path| path.to_owned()).collect());
    assert_eq!(
        listed,
        [
            (first.to_string(), paths(&["driver.py", "notes.md"])),
            (second.to_string(), paths(&["pins-old/8.yaml"])),
        ]
    );
    assert_eq!((commits[0].time, commits[0].summary.as_str()), (3_000, "Commit at 3000"));
    assert!(commits.iter().all(|commit| commit.protocol_paths.is_empty()));
}

#[test]
fn one_byte_is_a_change() {
    let fixture = Fixture::new();
    fixture.tag("v1", 2_000);
    let commit = fixture.commit(3_000, &[("protocol.toml", "[rule]\ntie_floor = 0.11\n")]);
    let found = fixture.examine("v1", &Fixture::run_at(commit)).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Changed, vec!["protocol_changed"]));
    assert_eq!(states(&found), [PathState::Differs, PathState::Same]);
    let [file] = &found.files.unwrap()[..] else { panic!("one file") };
    assert_eq!((file.change, file.path().as_str()), (Change::Modified, "protocol.toml"));
    assert_eq!((file.added, file.deleted, file.binary), (1, 1, false));
    let [hunk] = &file.hunks[..] else { panic!("one hunk") };
    assert_eq!((hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines), (1, 2, 1, 2));
    assert_eq!(hunk.lines, [" [rule]", "-tie_floor = 0.10", "+tie_floor = 0.11"]);
    assert_eq!(found.commits.unwrap()[0].protocol_paths, ["protocol.toml"]);
}

#[test]
fn files_that_come_and_go_change_a_folder() {
    let fixture = Fixture::new();
    fixture.tag("v1", 2_000);
    let commit = fixture.commit(3_000, &[("pins/8.yaml", ""), ("pins/24.yaml", "a\nb\n")]);
    let found = fixture.examine("v1", &Fixture::run_at(commit)).unwrap();
    assert_eq!(found.verdict, Verdict::Changed);
    let files: Vec<_> = found
        .files
        .unwrap()
        .iter()
        .map(|file| (file.change, file.path(), file.added, file.deleted))
        .collect();
    assert_eq!(
        files,
        [
            (Change::Added, "pins/24.yaml".to_owned(), 2, 0),
            (Change::Deleted, "pins/8.yaml".to_owned(), 0, 3),
        ]
    );
}

#[test]
fn a_binary_file_has_no_hunks() {
    let fixture = Fixture::new();
    fixture.commit(1_500, &[("pins/blob", "a\0b")]);
    fixture.tag("v1", 2_000);
    let commit = fixture.commit(3_000, &[("pins/blob", "a\0c")]);
    let found = fixture.examine("v1", &Fixture::run_at(commit)).unwrap();
    assert_eq!(found.verdict, Verdict::Changed);
    let file = &found.files.unwrap()[0];
    assert!(file.binary && file.hunks.is_empty());
}

#[test]
fn a_missing_newline_is_told() {
    let fixture = Fixture::new();
    fixture.tag("v1", 2_000);
    let commit = fixture.commit(3_000, &[("protocol.toml", "[rule]\ntie_floor = 0.10")]);
    let found = fixture.examine("v1", &Fixture::run_at(commit)).unwrap();
    assert_eq!(found.verdict, Verdict::Changed);
    let lines = &found.files.unwrap()[0].hunks[0].lines;
    assert!(lines.iter().any(|line| line == "\\ No newline at end of file"), "{lines:?}");
}

#[test]
fn a_moved_file_or_folder_is_followed() {
    let fixture = Fixture::new();
    fixture.tag("v1", 2_000);
    let read = |path: &str| {
        let tree = fixture.repo.head().unwrap().peel_to_tree().unwrap();
        let object = tree.get_path(std::path::Path::new(path)).unwrap().to_object(&fixture.repo);
        String::from_utf8(object.unwrap().as_blob().unwrap().content().to_owned()).unwrap()
    };
    let (protocol, eight, sixteen) =
        (read("protocol.toml"), read("pins/8.yaml"), read("pins/16.yaml"));
    let commit = fixture.commit(
        3_000,
        &[
            ("protocol.toml", ""),
            ("pins/8.yaml", ""),
            ("pins/16.yaml", ""),
            ("bench/protocol.toml", &protocol),
            ("bench/pins/8.yaml", &eight),
            ("bench/pins/16.yaml", &sixteen),
        ],
    );
    let run = Fixture::run_at(commit);
    let moved = |from: &str, to: &str| PathState::Moved { from: from.into(), to: to.into() };
    let expected = [moved("protocol.toml", "bench/protocol.toml"), moved("pins", "bench/pins")];

    let found = fixture.examine("v1", &run).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Frozen, vec!["path_moved"; 2]));
    assert_eq!(states(&found), expected);
    let files = found.files.unwrap();
    assert_eq!(files[0].path(), "pins/16.yaml → bench/pins/16.yaml");
    assert!(files.iter().all(|file| file.change == Change::Renamed && file.hunks.is_empty()));
    assert_eq!(found.commits.unwrap()[0].protocol_paths.len(), 6);

    // The protocol may know the new names only.
    let found = fixture.examine_paths("v1", &run, &["bench/protocol.toml", "bench/pins"]).unwrap();
    assert_eq!(found.verdict, Verdict::Frozen);
    assert_eq!(states(&found), expected);
}

#[test]
fn a_file_that_moved_and_changed_is_a_change() {
    let fixture = Fixture::new();
    let text: String = (1..30).map(|line| format!("line {line}\n")).collect();
    fixture.commit(1_500, &[("protocol.toml", &text)]);
    fixture.tag("v1", 2_000);
    let other = text.replace("line 9\n", "line nine\n");
    fixture.commit(3_000, &[("protocol.toml", ""), ("bench/protocol.toml", &text)]);
    let commit = fixture.commit(4_000, &[("bench/protocol.toml", &other)]);
    let found = fixture.examine("v1", &Fixture::run_at(commit)).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Changed, vec!["protocol_changed"]));
    let file = &found.files.unwrap()[0];
    assert_eq!(file.change, Change::Renamed);
    assert_eq!((file.added, file.deleted, file.hunks.len()), (1, 1, 1));
    // Under its new name the commits are the protocol's too.
    assert_eq!(found.commits.unwrap()[1].protocol_paths, ["bench/protocol.toml"]);
}

#[test]
fn pins_that_swap_names_are_a_change() {
    let fixture = Fixture::new();
    fixture.tag("v1", 2_000);
    let commit = fixture.commit(
        3_000,
        &[("pins/8.yaml", ""), ("pins/4.yaml", "cpus: 8\nmemory: 8 GiB\nswap: 0\n")],
    );
    let found = fixture.examine("v1", &Fixture::run_at(commit)).unwrap();
    assert_eq!(found.verdict, Verdict::Changed);
    assert_eq!(found.files.unwrap()[0].change, Change::Renamed);
}

#[test]
fn a_path_that_is_nowhere_proves_nothing() {
    let fixture = Fixture::new();
    fixture.tag("v1", 2_000);
    let run = Fixture::run_at(fixture.head());
    // A name is a name, never a pattern.
    let found = fixture.examine_paths("v1", &run, &["pins", "*.toml"]).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Unproven, vec!["path_missing"]));
    assert_eq!(states(&found), [PathState::Same, PathState::Missing]);
}

#[test]
fn the_whole_repository_can_be_the_protocol() {
    let fixture = Fixture::new();
    fixture.tag("v1", 2_000);
    let frozen = fixture.examine_paths("v1", &Fixture::run_at(fixture.head()), &["."]).unwrap();
    assert_eq!(frozen.verdict, Verdict::Frozen);
    let commit = fixture.commit(3_000, &[("driver.py", "print(2)\n")]);
    let found = fixture.examine_paths("v1", &Fixture::run_at(commit), &["."]).unwrap();
    assert_eq!(found.verdict, Verdict::Changed);
}

#[test]
fn a_change_that_was_put_back_is_told() {
    let fixture = Fixture::new();
    fixture.tag("v1", 2_000);
    fixture.commit(3_000, &[("protocol.toml", "[rule]\ntie_floor = 0.2\n")]);
    let commit = fixture.commit(4_000, &[("protocol.toml", "[rule]\ntie_floor = 0.10\n")]);
    let found = fixture.examine("v1", &Fixture::run_at(commit)).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Frozen, vec!["put_back"]));
    assert!(found.reasons[0].to_string().starts_with("2 commits changed the protocol"));
}
