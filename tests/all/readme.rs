//! What README shows is what the program prints: every console block is run.
//! `SNAPSHOTS=overwrite cargo test` writes the answers into it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{PROGRAM, Sandbox};

const OPEN: &str = "```console\n$ ";
const CLOSE: &str = "\n```";

#[test]
fn every_console_block_is_what_is_printed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let written = fs::read_to_string(&path).unwrap();
    let run = run_blocks(&written);
    if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
        fs::write(&path, &run).unwrap();
    } else {
        snapbox::assert_data_eq!(written, snapbox::Data::from(run).raw());
    }
}

/// The text with the answer of each block in it, from one store that the first
/// of them fills.
fn run_blocks(text: &str) -> String {
    let sandbox = Sandbox::new();
    let mut parts = text.split(OPEN);
    let mut run = parts.next().unwrap_or_default().to_owned();
    let mut blocks = 0;
    for part in parts {
        let (block, after) = part.split_once(CLOSE).expect("a block that is closed");
        let command = block.lines().next().expect("a command");
        run += &format!("{OPEN}{command}\n{}{CLOSE}{after}", answer(command, &sandbox));
        blocks += 1;
    }
    assert!(blocks > 5, "README has {blocks} console blocks");
    run
}

/// What a shell prints for a command, both streams, without its last newline.
fn answer(command: &str, sandbox: &Sandbox) -> String {
    let folder = Path::new(PROGRAM).parent().unwrap();
    let mut path = vec![folder.to_owned()];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let output = Command::new("sh")
        .args(["-c", &format!("{command} 2>&1")])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("PATH", std::env::join_paths(path).unwrap())
        .env("TAPSTAT_STORE", sandbox.store_path())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}
