//! Parse, dispatch, exit code: nothing else.

use std::process::ExitCode;

/// Queries are walked recursively, as deep as they are long.
const STACK: usize = 256 << 20;

fn main() -> ExitCode {
    let command = std::thread::Builder::new().stack_size(STACK).spawn(tapstat::cmd::main);
    // A panic has said what it has to say.
    command.map_or(ExitCode::from(2), |command| command.join().unwrap_or(ExitCode::from(2)))
}
