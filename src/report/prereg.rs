//! The page of the command `prereg`: what was registered, what was measured,
//! and what lies between.

use super::figure::{counted, fixed};
use super::grid::{Align, Cell, Grid, Tone};
use super::{MISSING, Page};
use crate::protocol::prereg::{
    Between, Change, Effect, Examination, FileChange, PathState, Registered, Resume, Verdict, utc,
};

/// The most rows of a list that a page shows; JSON has all.
const ROWS: usize = 20;

/// The most lines of a hunk that a page shows.
const LINES: usize = 12;

/// The most paths of a commit that a page shows.
const PATHS: usize = 4;

/// The page of an examination.
pub fn prereg_page(found: &Examination) -> Page {
    let mut page = Page::new();
    let run = found.run.as_ref().map_or_else(String::new, |run| format!(" of run {run}"));
    page.heading(1, format!("pre-registration{run}"));
    page.table(facts(found));
    page.list(
        found
            .reasons
            .iter()
            .map(|reason| match reason.effect() {
                Effect::Changed => format!("changed: {reason}"),
                Effect::Unproven => format!("unproven: {reason}"),
                Effect::Caveat => format!("caveat: {reason}"),
            })
            .collect(),
    );
    page.heading(2, "paths of the protocol");
    page.table(paths(found));
    if let Some(files) = found.files.as_ref().filter(|files| !files.is_empty()) {
        page.heading(2, format!("{} from the registered to the measured commit", differ(files)));
        page.table(hunks(files));
        page.notes(left_out(rows_of(files).count(), "places"));
    }
    if let Some(commits) = &found.commits {
        commits_between(&mut page, commits);
    }
    if !found.resumed.is_empty() {
        page.heading(2, "resumed");
        page.table(resumed(&found.resumed));
        page.notes(left_out(found.resumed.len(), "entries"));
    }
    page
}

/// `2 files differ`.
fn differ(files: &[FileChange]) -> String {
    let verb = if files.len() == 1 { "differs" } else { "differ" };
    format!("{} {verb}", counted(files.len(), "file"))
}

/// What is left out of a list of that many.
fn left_out(count: usize, things: &str) -> Vec<String> {
    if count <= ROWS {
        return Vec::new();
    }
    vec![format!("{ROWS} of {count} {things} are shown; --format json has all of them")]
}

fn facts(found: &Examination) -> Grid {
    let mut grid = Grid::new([("asked", Align::Left), ("found", Align::Left)]);
    let tone = match found.verdict {
        Verdict::Frozen => Tone::Good,
        Verdict::Unproven => Tone::Even,
        Verdict::Changed => Tone::Bad,
    };
    let mut row = |name: &str, value: Cell| grid.push(vec![name.into(), value]);
    row("verdict", Cell::toned(found.verdict.to_string(), tone));
    match &found.registered {
        Some(registered) => {
            let Registered { name, kind, commit, .. } = registered;
            let title = if name == commit {
                kind.name().to_owned()
            } else {
                format!("{}, {}", name, kind.name())
            };
            row("registered by", format!("{title}, {}", signature(registered)).into());
            row("  commit", commit.as_str().into());
            row("  by", registered.by.as_deref().unwrap_or(MISSING).into());
            row("  at", registered.time.map_or_else(|| MISSING.to_owned(), utc).into());
        }
        None => row("registered by", format!("{}, not seen", found.reference).into()),
    }
    let measured = match (&found.measured, &found.run) {
        (Some(commit), Some(_)) => commit.clone(),
        (Some(commit), None) => format!("{commit} (HEAD)"),
        (None, _) => MISSING.to_owned(),
    };
    row("measured commit", measured.into());
    let yes_or_no = |answer: Option<bool>, unknown: &str| {
        answer.map_or(unknown.to_owned(), |yes| if yes { "yes" } else { "no" }.to_owned())
    };
    if found.run.is_some() {
        let clean = found.dirty.map(|dirty| !dirty);
        row("  all committed", yes_or_no(clean, "not recorded").into());
    }
    row("  descends from it", yes_or_no(found.ancestor, "cannot be seen").into());
    if let Some(start) = found.start {
        let when = format!("{} ({})", utc(start.time.floor() as i64), start.basis.name());
        row("run began", when.into());
    }
    if found.run.is_some() {
        row("  registered before", yes_or_no(found.before, "cannot be said").into());
    }
    let kind = match (found.bare, found.shallow) {
        (false, false) => "whole",
        (true, false) => "whole, bare",
        (false, true) => "shallow",
        (true, true) => "shallow, bare",
    };
    row("repository", kind.into());
    grid
}

fn signature(registered: &Registered) -> String {
    match registered.signature {
        Some(form) => format!("signed ({}, not verified here)", form.name()),
        None => "not signed".to_owned(),
    }
}

fn paths(found: &Examination) -> Grid {
    let mut grid = Grid::new([("path", Align::Left), ("since", Align::Left)]);
    for path in &found.paths {
        let state = match &path.state {
            Some(PathState::Same) => Cell::toned("the same", Tone::Good),
            Some(PathState::Moved { from, to }) => {
                Cell::toned(format!("the same, moved from {from} to {to}"), Tone::Good)
            }
            Some(PathState::Differs) => Cell::toned("differs", Tone::Bad),
            Some(PathState::Missing) => Cell::toned("at neither commit", Tone::Even),
            None => Cell::toned("cannot be seen", Tone::Even),
        };
        let name = if path.path.is_empty() { "(the whole repository)" } else { &path.path };
        grid.push(vec![name.into(), state]);
    }
    grid
}

/// A row for every hunk, and one for a file without.
fn rows_of(files: &[FileChange]) -> impl Iterator<Item = (&FileChange, Option<usize>)> {
    files.iter().flat_map(|file| {
        let hunks = file.hunks.len();
        let none = (hunks == 0).then_some((file, None));
        none.into_iter().chain((0..hunks).map(move |hunk| (file, Some(hunk))))
    })
}

fn hunks(files: &[FileChange]) -> Grid {
    let mut grid = Grid::new([
        ("file", Align::Left),
        ("change", Align::Left),
        ("lines", Align::Right),
        ("hunk", Align::Left),
        ("text", Align::Left),
    ]);
    for (file, hunk) in rows_of(files).take(ROWS) {
        let mut row: Vec<Cell> = if hunk.is_none_or(|hunk| hunk == 0) {
            let lines = format!("+{} −{}", file.added, file.deleted);
            vec![file.path().into(), file.change.name().into(), lines.into()]
        } else {
            vec!["".into(), "".into(), "".into()]
        };
        match hunk.and_then(|hunk| file.hunks.get(hunk)) {
            Some(hunk) => {
                let place = format!(
                    "@@ -{},{} +{},{} @@",
                    hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines
                );
                row.extend([place.into(), changed_lines(&hunk.lines).into()]);
            }
            None => row.extend([MISSING.into(), without_lines(file).into()]),
        }
        grid.push(row);
    }
    grid
}

/// The lines of a hunk that differ.
fn changed_lines(lines: &[String]) -> String {
    let changed: Vec<&str> =
        lines.iter().map(String::as_str).filter(|line| !line.starts_with(' ')).collect();
    let mut text = changed[..changed.len().min(LINES)].join("\n");
    if changed.len() > LINES {
        text += &format!("\n… {} more", counted(changed.len() - LINES, "line"));
    }
    text
}

/// What is to say of a file without a hunk.
fn without_lines(file: &FileChange) -> String {
    match (&file.old_mode, &file.new_mode) {
        _ if file.binary => "binary".to_owned(),
        (Some(old), Some(new)) if old != new => format!("mode {old} → {new}"),
        _ if file.change == Change::Renamed => "the same content".to_owned(),
        _ => "empty".to_owned(),
    }
}

fn commits_between(page: &mut Page, commits: &[Between]) {
    let touching = commits.iter().filter(|commit| !commit.protocol_paths.is_empty()).count();
    let all_seen = commits.iter().all(|commit| commit.paths.is_some());
    let touching = match touching {
        0 if all_seen => "none touches the protocol".to_owned(),
        0 => "none is seen to touch the protocol".to_owned(),
        1 => "one touches the protocol".to_owned(),
        touching => format!("{touching} touch the protocol"),
    };
    if commits.is_empty() {
        page.heading(2, "no commits between");
        return;
    }
    page.heading(2, format!("{} between, of which {touching}", counted(commits.len(), "commit")));
    let mut grid = Grid::new([
        ("commit", Align::Left),
        ("at", Align::Left),
        ("message", Align::Left),
        ("protocol", Align::Left),
        ("paths", Align::Left),
    ]);
    for commit in commits.iter().take(ROWS) {
        let touches = match (&commit.paths, commit.protocol_paths.is_empty()) {
            (None, _) => Cell::toned("cannot be seen", Tone::Even),
            (Some(_), true) => Cell::from("no"),
            (Some(_), false) => Cell::toned("yes", Tone::Bad),
        };
        grid.push(vec![
            commit.commit.get(..10).unwrap_or(&commit.commit).into(),
            utc(commit.time).into(),
            commit.summary.as_str().into(),
            touches,
            touched(commit).into(),
        ]);
    }
    page.table(grid);
    page.notes(left_out(commits.len(), "commits"));
}

/// The paths of a commit, the protocol's first.
fn touched(commit: &Between) -> String {
    let Some(paths) = &commit.paths else { return MISSING.to_owned() };
    let others = paths.iter().filter(|path| !commit.protocol_paths.contains(path));
    let names: Vec<&str> = commit.protocol_paths.iter().chain(others).map(String::as_str).collect();
    let mut text = names[..names.len().min(PATHS)].join("\n");
    if names.len() > PATHS {
        text += &format!("\n… {} more", names.len() - PATHS);
    }
    if text.is_empty() { MISSING.to_owned() } else { text }
}

fn resumed(entries: &[Resume]) -> Grid {
    let mut grid = Grid::new([
        ("at", Align::Left),
        ("commit", Align::Left),
        ("protocol", Align::Left),
        ("entry", Align::Left),
    ]);
    for entry in entries.iter().take(ROWS) {
        let changed = match entry.changed {
            Some(true) => Cell::toned(differ(&entry.files), Tone::Bad),
            Some(false) => Cell::toned("the same", Tone::Good),
            None => Cell::toned("cannot be said", Tone::Even),
        };
        let commit = entry.commit.as_deref().unwrap_or(MISSING);
        let at = entry.time.filter(|time| time.is_finite());
        grid.push(vec![
            at.map_or_else(|| fixed(None, 0), |time| utc(time.floor() as i64)).into(),
            commit.get(..10).unwrap_or(commit).into(),
            changed,
            entry.entry.as_str().into(),
        ]);
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::prereg::{
        Hunk, Kind, ProtocolPath, Reason, SignatureForm, Start, StartBasis,
    };
    use crate::report::{Format, Style};

    fn text(found: &Examination) -> String {
        prereg_page(found).render(Format::Table, Style::default())
    }

    fn file(lines: usize) -> FileChange {
        let lines: Vec<String> = (0..lines).map(|line| format!("+line {line}")).collect();
        FileChange {
            change: Change::Modified,
            old_path: Some("pins/8.yaml".into()),
            new_path: Some("pins/8.yaml".into()),
            old_mode: Some("100644".into()),
            new_mode: Some("100644".into()),
            binary: false,
            added: lines.len(),
            deleted: 0,
            hunks: vec![Hunk { old_start: 1, old_lines: 0, new_start: 1, new_lines: 2, lines }],
        }
    }

    fn between(paths: &[&str], protocol: &[&str]) -> Between {
        let owned = |paths: &[&str]| paths.iter().map(|&path| path.to_owned()).collect();
        Between {
            commit: "0123456789abcdef".into(),
            time: 3_000,
            summary: "Tighten the driver".into(),
            paths: Some(owned(paths)),
            protocol_paths: owned(protocol),
        }
    }

    fn examination() -> Examination {
        let repo = tempfile::tempdir().unwrap();
        let repository = git2::Repository::init(repo.path()).unwrap();
        let signature = git2::Signature::new("Ada", "ada@x", &git2::Time::new(2_000, 0)).unwrap();
        let blob = repository.blob(b"x\n").unwrap();
        let mut tree = repository.treebuilder(None).unwrap();
        tree.insert("p", blob, 0o100_644).unwrap();
        let tree = repository.find_tree(tree.write().unwrap()).unwrap();
        let commit = repository.commit(None, &signature, &signature, "One", &tree, &[]).unwrap();
        let object = repository.find_object(commit, None).unwrap();
        repository.tag("v1", &object, &signature, "Protocol", false).unwrap();
        let run = crate::protocol::prereg::Measurement {
            run: "r1".into(),
            commit: Some(commit.to_string()),
            dirty: Some(false),
            start: Some(Start { time: 9_000.5, basis: StartBasis::Request }),
            ..Default::default()
        };
        crate::protocol::prereg::examine(&crate::protocol::prereg::Claim {
            repository: repo.path(),
            reference: "v1",
            commit: None,
            paths: &["p".to_owned()],
            run: Some(&run),
        })
        .unwrap()
    }

    #[test]
    fn a_frozen_protocol() {
        let found = examination();
        let id = found.measured.clone().unwrap();
        let expected = format!(
            "\
pre-registration of run r1
──────────────────────────────────────────────────────────────
asked                found
──────────────────────────────────────────────────────────────
verdict              frozen
registered by        v1, annotated tag, not signed
  commit             {id}
  by                 Ada <ada@x>
  at                 1970-01-01 00:33:20 UTC
measured commit      {id}
  all committed      yes
  descends from it   yes
run began            1970-01-01 02:30:00 UTC (first request)
  registered before  yes
repository           whole
──────────────────────────────────────────────────────────────

paths of the protocol
───────────────
path  since
───────────────
p     the same
───────────────

no commits between
"
        );
        assert_eq!(text(&found), expected);
    }

    #[test]
    fn reasons_say_what_they_do() {
        let mut found = examination();
        found.reasons = vec![
            Reason::ProtocolChanged { paths: vec!["p".into()] },
            Reason::Dirty,
            Reason::BareCommit,
        ];
        let text = text(&found);
        for part in [
            "- changed: `p` differs between the registered and the measured commit\n",
            "- unproven: the work tree had changes",
            "- caveat: a commit proves less",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn files_and_commits_are_told_and_capped() {
        let mut found = examination();
        found.files = Some(vec![file(2), file(20)]);
        found.commits =
            Some(vec![
                between(&["a", "b", "c", "d", "e", "pins/8.yaml"], &["pins/8.yaml"]);
                ROWS + 1
            ]);
        let text = text(&found);
        for part in [
            "2 files differ from the registered to the measured commit\n",
            "pins/8.yaml  modified   +2 −0  @@ -1,0 +1,2 @@  +line 0\n",
            "… 8 lines more",
            "21 commits between, of which 21 touch the protocol\n",
            "0123456789  1970-01-01 00:50:00 UTC  Tighten the driver  yes       pins/8.yaml\n",
            "… 2 more",
            "20 of 21 commits are shown; --format json has all of them\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn what_a_commit_touched_may_not_be_seen() {
        let mut found = examination();
        found.commits = Some(vec![Between { paths: None, ..between(&[], &[]) }]);
        let text = text(&found);
        for part in [
            "1 commit between, of which none is seen to touch the protocol\n",
            "Tighten the driver  cannot be seen  —\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn what_cannot_be_seen_is_said() {
        let mut found = examination();
        found.registered = None;
        found.shallow = true;
        found.ancestor = None;
        found.before = None;
        found.dirty = None;
        found.paths = vec![ProtocolPath { path: String::new(), state: None }];
        (found.files, found.commits) = (None, None);
        let text = text(&found);
        for part in [
            "v1, not seen\n",
            "cannot be said\n",
            "cannot be seen\n",
            "not recorded\n",
            "shallow\n",
            "(the whole repository)  cannot be seen\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn signatures_and_resumes_are_shown() {
        let mut found = examination();
        if let Some(registered) = &mut found.registered {
            registered.signature = Some(SignatureForm::Ssh);
            registered.kind = Kind::Commit;
            registered.name.clone_from(&registered.commit);
        }
        let resume = |changed| Resume {
            entry: "{\"t\":7}".into(),
            time: Some(7.9),
            commit: None,
            dirty: None,
            changed,
            files: vec![file(1)],
        };
        found.resumed = vec![resume(Some(true)), resume(None)];
        let text = text(&found);
        for part in [
            "registered by        commit, signed (SSH, not verified here)\n",
            "1970-01-01 00:00:07 UTC  —       1 file differs  {\"t\":7}\n",
            "cannot be said  {\"t\":7}\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
