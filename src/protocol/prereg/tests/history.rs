//! Where the registration stands in the history, and what cannot be seen of it.

use git2::Repository;
use git2::build::RepoBuilder;

use super::super::{PreregError, Verdict};
use super::fixture::{Fixture, codes, examine_in};

#[test]
fn a_tag_after_the_measured_commit_is_no_ancestor() {
    let fixture = Fixture::new();
    let measured = fixture.head();
    fixture.commit(1_500, &[("driver.py", "print(2)\n")]);
    fixture.tag("v1", 2_000);
    let found = fixture.examine("v1", &Fixture::run_at(measured)).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Unproven, vec!["not_ancestor"]));
    assert_eq!(found.ancestor, Some(false));
    assert!(found.reasons[0].to_string().contains("comes after"));
    assert_eq!(found.commits, Some(vec![]));
}

#[test]
fn a_tag_on_another_branch_is_no_ancestor() {
    let fixture = Fixture::new();
    let root = fixture.head();
    fixture.commit(1_500, &[("driver.py", "print(2)\n")]);
    fixture.tag("v1", 2_000);
    let measured = fixture.commit_on(&[root], 3_000, &[("driver.py", "print(3)\n")]);
    let found = fixture.examine("v1", &Fixture::run_at(measured)).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Unproven, vec!["not_ancestor"]));
    assert!(found.reasons[0].to_string().contains("not an ancestor"));
    assert_eq!(found.commits.unwrap().len(), 1);
}

#[test]
fn a_merge_touches_what_is_as_in_no_parent() {
    let fixture = Fixture::new();
    let root = fixture.head();
    fixture.tag("v1", 2_000);
    let left = fixture.commit_on(&[root], 2_500, &[("driver.py", "print(2)\n")]);
    let right = fixture.commit_on(&[root], 2_600, &[("notes.md", "x\n")]);
    let clean = fixture.commit_on(&[left, right], 3_000, &[("notes.md", "x\n")]);
    let found = fixture.examine("v1", &Fixture::run_at(clean)).unwrap();
    assert_eq!(found.verdict, Verdict::Frozen);
    let commits = found.commits.unwrap();
    assert_eq!(commits.len(), 3);
    assert_eq!(
        (commits[2].commit.as_str(), &commits[2].paths),
        (&*clean.to_string(), &Some(vec![]))
    );

    let evil = [("notes.md", "x\n"), ("protocol.toml", "[rule]\n")];
    let evil = fixture.commit_on(&[left, right], 3_000, &evil);
    let found = fixture.examine("v1", &Fixture::run_at(evil)).unwrap();
    assert_eq!(found.verdict, Verdict::Changed);
    assert_eq!(found.commits.unwrap()[2].protocol_paths, ["protocol.toml"]);
}

#[test]
fn a_bare_repository_will_do() {
    let fixture = Fixture::new();
    fixture.tag("v1", 2_000);
    let commit = fixture.commit(3_000, &[("driver.py", "print(2)\n")]);
    let bare = tempfile::tempdir().unwrap();
    let url = fixture.path().display().to_string();
    RepoBuilder::new().bare(true).clone(&url, bare.path()).unwrap();
    let run = Fixture::run_at(commit);
    let found = examine_in(bare.path(), "v1", Some(&run), &["protocol.toml", "pins"]).unwrap();
    assert!(found.bare && !found.shallow);
    assert_eq!((found.verdict, codes(&found)), (Verdict::Frozen, vec![]));
}

#[test]
fn a_folder_of_the_work_tree_will_do() {
    let fixture = Fixture::new();
    fixture.tag("v1", 2_000);
    let folder = fixture.path().join("pins/deep");
    std::fs::create_dir_all(&folder).unwrap();
    let run = Fixture::run_at(fixture.head());
    // Paths are from the top all the same.
    let found = examine_in(&folder, "v1", Some(&run), &["pins"]).unwrap();
    assert_eq!(found.verdict, Verdict::Frozen);
}

#[test]
fn a_shallow_clone_says_what_it_cannot_see() {
    let mut fixture = Fixture::new();
    let registered = fixture.head();
    let tag = fixture.tag("v1", 2_000);
    let middle = fixture.commit(3_000, &[("driver.py", "print(2)\n")]);
    let measured = fixture.commit(4_000, &[("driver.py", "print(3)\n")]);
    fixture.cut_at(middle);
    let run = Fixture::run_at(measured);

    // The tag was fetched by itself: contents can be compared, the way to it
    // cannot be seen, nor what the commit at the cut touched.
    let found = fixture.examine("v1", &run).unwrap();
    assert!(found.shallow);
    assert_eq!((found.verdict, codes(&found)), (Verdict::Unproven, vec!["ancestry_unseen"]));
    assert_eq!((found.ancestor, &found.files), (None, &Some(vec![])));
    let commits = found.commits.unwrap();
    assert_eq!(commits.len(), 2);
    assert_eq!(commits[0].paths, None);
    assert_eq!(commits[1].paths, Some(vec!["driver.py".to_owned()]));

    // What changed since is a change, however little else is seen.
    let changed = fixture.commit(4_500, &[("protocol.toml", "[rule]\n")]);
    let found = fixture.examine("v1", &Fixture::run_at(changed)).unwrap();
    assert_eq!(found.verdict, Verdict::Changed);

    // The tag was not fetched.
    fixture.forget(registered);
    let found = fixture.examine("v1", &run).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Unproven, vec!["registration_unseen"]));
    assert_eq!((found.registered, found.files, found.commits), (None, None, None));
    fixture.forget(tag);
    assert_eq!(codes(&fixture.examine("v1", &run).unwrap()), ["registration_unseen"]);
    let found = fixture.examine(&registered.to_string(), &run).unwrap();
    assert_eq!(codes(&found), ["registration_unseen"]);
}

#[test]
fn a_shallow_clone_shows_an_ancestor_that_it_has() {
    let mut fixture = Fixture::new();
    let cut = fixture.commit(1_500, &[("driver.py", "print(2)\n")]);
    fixture.tag("v1", 2_000);
    let measured = fixture.commit(3_000, &[("driver.py", "print(3)\n")]);
    fixture.cut_at(cut);
    let found = fixture.examine("v1", &Fixture::run_at(measured)).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Frozen, vec![]));
}

#[test]
fn a_measured_commit_that_is_not_there_proves_nothing() {
    let mut fixture = Fixture::new();
    fixture.tag("v1", 2_000);
    let elsewhere = Fixture::new();
    let measured = elsewhere.commit(3_000, &[("driver.py", "print(2)\n")]);
    let found = fixture.examine("v1", &Fixture::run_at(measured)).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Unproven, vec!["commit_unseen"]));
    assert_eq!(found.measured, Some(measured.to_string()));
    assert!(!found.reasons[0].to_string().contains("shallow"));
    assert!(found.paths.iter().all(|path| path.state.is_none()));

    fixture.cut_at(fixture.head());
    let found = fixture.examine("v1", &Fixture::run_at(measured)).unwrap();
    assert!(found.reasons[0].to_string().contains("shallow"));
}

#[test]
fn no_repository_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new();
    let run = Fixture::run_at(fixture.head());
    let error = examine_in(folder.path(), "v1", Some(&run), &["pins"]).unwrap_err();
    assert!(matches!(error, PreregError::NoRepository { .. }), "{error}");
    // One without any commit has no such tag.
    let empty = Repository::init(folder.path()).unwrap();
    let error = examine_in(empty.path(), "v1", Some(&run), &["pins"]).unwrap_err();
    assert!(matches!(error, PreregError::UnknownRef { near: None, .. }), "{error}");
}
