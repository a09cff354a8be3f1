//! Bakes the git revision into the program.
//!
//! `TAPSTAT_REVISION` overrides it, for builds from an archive; outside a git
//! work tree it is `unknown`. Git is asked through its own program: a library
//! for one line would cost every build more than that.

use std::path::Path;
use std::process::Command;

/// Digits of the revision: enough to be unique, few enough to read.
const DIGITS: usize = 12;

fn main() {
    println!("cargo::rerun-if-env-changed=TAPSTAT_REVISION");
    let revision = std::env::var("TAPSTAT_REVISION")
        .ok()
        .filter(|revision| !revision.trim().is_empty())
        .or_else(from_git)
        .unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=TAPSTAT_REVISION={}", revision.trim());
    fold();
}

/// Has the linker keep one copy of functions whose code is the same: 4% of the
/// program. Only where it is the one that comes with the compiler, which can.
fn fold() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let is_given = |name: &str| std::env::var(name).is_ok_and(|found| !found.is_empty());
    let comes_with_lld = is("TARGET", "x86_64-unknown-linux-gnu");
    if comes_with_lld && !is_given("CARGO_ENCODED_RUSTFLAGS") && !is_given("RUSTC_LINKER") {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}

/// The commit that is checked out, with `-dirty` where tracked files differ
/// from it.
fn from_git() -> Option<String> {
    // A crate unpacked inside somebody else's repository has not its revision.
    let prefix = git(&["rev-parse", "--show-prefix"])?;
    if !prefix.is_empty() {
        return None;
    }
    let mut revision = git(&["rev-parse", "HEAD"])?;
    revision.truncate(DIGITS);
    watch();
    if !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty() {
        revision.push_str("-dirty");
    }
    Some(revision)
}

/// Runs again when another commit is checked out, a commit is made, or a
/// source is edited.
fn watch() {
    let mut watched = vec!["HEAD".to_owned(), "packed-refs".to_owned(), "index".to_owned()];
    watched.extend(git(&["symbolic-ref", "--quiet", "HEAD"]));
    for name in watched {
        if let Some(path) = git(&["rev-parse", "--git-path", &name]) {
            // A path that does not exist would make every build run again.
            if Path::new(&path).exists() {
                println!("cargo::rerun-if-changed={path}");
            }
        }
    }
    for source in ["src", "queries", "Cargo.toml", "Cargo.lock", "build.rs"] {
        if Path::new(source).exists() {
            println!("cargo::rerun-if-changed={source}");
        }
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
