//! What the registration is called by, and how much that proves.

use git2::ObjectType;

use super::super::{Claim, Kind, PreregError, SignatureForm, Verdict, examine};
use super::fixture::{Fixture, codes};

#[test]
fn an_annotated_tag_has_a_tagger_and_a_time() {
    let fixture = Fixture::new();
    let tag = fixture.tag("v1", 2_000);
    let found = fixture.examine("v1", &Fixture::run_at(fixture.head())).unwrap();
    let registered = found.registered.unwrap();
    assert_eq!((registered.kind, registered.name.as_str()), (Kind::Annotated, "v1"));
    assert_eq!(registered.commit, fixture.head().to_string());
    assert_eq!(registered.tag_object, Some(tag.to_string()));
    assert_eq!(registered.by.as_deref(), Some("Ada <ada@example.org>"));
    assert_eq!((registered.time, registered.signature), (Some(2_000), None));
    // By its full name, and by the id of the tag object.
    for name in ["refs/tags/v1".to_owned(), tag.to_string()] {
        let found = fixture.examine(&name, &Fixture::run_at(fixture.head())).unwrap();
        assert_eq!(found.registered.unwrap().name, "v1");
        assert_eq!((found.verdict, found.reasons), (Verdict::Frozen, vec![]));
    }
}

#[test]
fn signatures_are_seen() {
    let fixture = Fixture::new();
    let message =
        "The protocol\n-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n";
    fixture.tag_with("v1", 2_000, message);
    let run = Fixture::run_at(fixture.head());
    let signature = |name: &str| fixture.examine(name, &run).unwrap().registered.unwrap().signature;
    assert_eq!(signature("v1"), Some(SignatureForm::Ssh));
    assert_eq!(signature("HEAD"), None);

    let unsigned = fixture.repo.find_commit(fixture.head()).unwrap();
    let text = fixture
        .repo
        .commit_create_buffer(
            &unsigned.author(),
            &unsigned.committer(),
            "Signed\n",
            &unsigned.tree().unwrap(),
            &[&unsigned],
        )
        .unwrap();
    let armour = "-----BEGIN PGP SIGNATURE-----\n\nAAAA\n-----END PGP SIGNATURE-----\n";
    let signed = fixture.repo.commit_signed(text.as_str().unwrap(), armour, None).unwrap();
    assert_eq!(signature(&signed.to_string()), Some(SignatureForm::OpenPgp));
}

#[test]
fn a_lightweight_tag_proves_less() {
    let fixture = Fixture::new();
    let head = fixture.repo.find_object(fixture.head(), None).unwrap();
    fixture.repo.tag_lightweight("v1", &head, false).unwrap();
    let found = fixture.examine("v1", &Fixture::run_at(fixture.head())).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Frozen, vec!["lightweight_tag"]));
    let registered = found.registered.unwrap();
    assert_eq!((registered.kind, registered.time), (Kind::Lightweight, Some(1_000)));
    assert_eq!(registered.tag_object, None);
}

#[test]
fn a_commit_proves_less() {
    let fixture = Fixture::new();
    let id = fixture.head().to_string();
    let measured = fixture.commit(3_000, &[("driver.py", "print(2)\n")]);
    for name in [&id[..], &id[..8]] {
        let found = fixture.examine(name, &Fixture::run_at(measured)).unwrap();
        assert_eq!((found.verdict, codes(&found)), (Verdict::Frozen, vec!["bare_commit"]));
        assert_eq!(found.registered.unwrap().kind, Kind::Commit);
    }
}

#[test]
fn a_branch_moves() {
    let fixture = Fixture::new();
    let run = Fixture::run_at(fixture.head());
    for name in ["main", "HEAD"] {
        let found = fixture.examine(name, &run).unwrap();
        assert_eq!(codes(&found), ["bare_commit", "name_moves"], "{name}");
    }
}

#[test]
fn a_tag_comes_before_a_branch_of_its_name() {
    let fixture = Fixture::new();
    fixture.tag("main", 2_000);
    let measured = fixture.commit(3_000, &[("protocol.toml", "[rule]\n")]);
    let found = fixture.examine("main", &Fixture::run_at(measured)).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Changed, vec!["protocol_changed"]));
}

#[test]
fn a_tag_without_a_tagger_has_no_time() {
    let fixture = Fixture::new();
    let tag = format!("object {}\ntype commit\ntag v1\n\nOld\n", fixture.head());
    let odb = fixture.repo.odb().unwrap();
    let id = odb.write(ObjectType::Tag, tag.as_bytes()).unwrap();
    fixture.repo.reference("refs/tags/v1", id, true, "test").unwrap();
    let found = fixture.examine("v1", &Fixture::run_at(fixture.head())).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Unproven, vec!["no_time"]));
    assert_eq!((found.before, found.registered.unwrap().by), (None, None));
}

#[test]
fn a_tag_that_moved_is_found_by_what_the_run_described() {
    let fixture = Fixture::new();
    fixture.tag("v1", 2_000);
    fixture.commit(3_000, &[("driver.py", "print(2)\n")]);
    let measured = fixture.commit(3_500, &[("driver.py", "print(3)\n")]);
    let mut run = Fixture::run_at(measured);
    run.describe = Some(format!("v1-2-g{}", &measured.to_string()[..7]));
    assert_eq!(fixture.examine("v1", &run).unwrap().verdict, Verdict::Frozen);

    fixture.tag("v1", 4_000);
    let found = fixture.examine("v1", &run).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Unproven, vec!["tag_moved"]));
    let told = found.reasons[0].to_string();
    assert!(told.contains("2 commits before the measured one"), "{told}");

    fixture.commit(4_500, &[("driver.py", "print(4)\n")]);
    fixture.tag("v1", 9_000);
    let found = fixture.examine("v1", &run).unwrap();
    let expected = ["not_ancestor", "not_before", "tag_moved"];
    assert_eq!((found.verdict, codes(&found)), (Verdict::Unproven, expected.to_vec()));
}

#[test]
fn a_tag_that_moved_is_found_by_the_commit_in_the_protocol() {
    let fixture = Fixture::new();
    let first = fixture.head().to_string();
    fixture.commit(1_500, &[("driver.py", "print(2)\n")]);
    fixture.tag("v1", 2_000);
    let run = Fixture::run_at(fixture.head());
    let paths = ["pins".to_owned()];
    let path = fixture.path();
    let claim =
        Claim { repository: &path, reference: "v1", commit: None, paths: &paths, run: Some(&run) };
    let is = fixture.head().to_string();
    let found = examine(&Claim { commit: Some(&is[..7]), ..claim }).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Frozen, vec![]));
    let found = examine(&Claim { commit: Some(&first[..7]), ..claim }).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Unproven, vec!["tag_moved"]));
}

#[test]
fn a_tag_that_was_not_described_is_told() {
    let fixture = Fixture::new();
    fixture.commit(1_500, &[("driver.py", "print(2)\n")]);
    fixture.tag("v1", 2_000);
    let measured = fixture.commit(3_000, &[("driver.py", "print(3)\n")]);
    let mut run = Fixture::run_at(measured);
    run.describe = Some("v0-26-gd43b538".to_owned());
    let found = fixture.examine("v1", &run).unwrap();
    assert_eq!((found.verdict, codes(&found)), (Verdict::Frozen, vec!["not_described"]));
    // A nearer tag is what describe names.
    run.describe = Some("v2-0-gd43b538".to_owned());
    assert_eq!(codes(&fixture.examine("v1", &run).unwrap()), [""; 0]);
}

#[test]
fn names_that_mean_nothing_are_errors() {
    let fixture = Fixture::new();
    fixture.tag("scaling-prereg-v1", 2_000);
    let run = Fixture::run_at(fixture.head());
    let error = fixture.examine("scaling-prereg-v2", &run).unwrap_err().to_string();
    assert!(error.contains("did you mean `scaling-prereg-v1`?"), "{error}");
    let error = fixture.examine("HEAD..HEAD", &run).unwrap_err();
    assert!(matches!(error, PreregError::BadRef { .. }), "{error}");

    let tree = fixture.repo.head().unwrap().peel_to_tree().unwrap();
    fixture.repo.tag_lightweight("tree", tree.as_object(), false).unwrap();
    let error = fixture.examine("tree", &run).unwrap_err().to_string();
    assert_eq!(error, "`tree` is a tag of a tree: expected one of a commit");
}
