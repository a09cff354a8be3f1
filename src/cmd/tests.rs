//! What the command line takes and refuses.

use clap::CommandFactory;

use super::*;
use crate::protocol::Estimator;
use crate::report::Format;

fn parse(line: &str) -> Cli {
    Cli::try_parse_from(line.split_whitespace()).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn refusal(line: &str) -> String {
    match Cli::try_parse_from(line.split_whitespace()) {
        Ok(cli) => panic!("{line}: accepted as {cli:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_command_tree_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_says_what_it_is_for_and_shows_an_example() {
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        assert!(command.get_about().is_some(), "{name}");
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(examples.contains(&format!("  tapstat {name}")), "{name}: {examples}");
    }
}

#[test]
fn global_options_stand_before_and_after_the_command() {
    let global = "--store s --queries q --protocol p --tie-floor 0.2 --confidence 0.9 \
                  --error-ceiling 0 --guard-max 0.5 --estimator median --format csv -o out --color never";
    for line in [format!("tapstat {global} cells"), format!("tapstat cells {global}")] {
        let cli = parse(&line);
        assert_eq!(cli.global.store.path(), std::path::Path::new("s"));
        assert_eq!(cli.global.store.queries.as_deref(), Some("q".as_ref()));
        assert_eq!(cli.global.rule.protocol.as_deref(), Some("p".as_ref()));
        let flags = cli.global.rule.flags();
        assert_eq!(flags.tie_floor, Some(0.2));
        assert_eq!(flags.confidence, Some(0.9));
        assert_eq!(flags.error_ceiling, Some(0.0));
        assert_eq!(flags.guard_max, Some(0.5));
        assert_eq!(flags.estimator, Some(Estimator::Median));
        assert_eq!(cli.global.output.format, Some(Format::Csv));
        assert_eq!(cli.global.output.output.as_deref(), Some("out".as_ref()));
        assert_eq!(cli.global.output.color, args::ColourChoice::Never);
    }
}

#[test]
fn filters_take_lists_and_are_repeatable() {
    let cli = parse(
        "tapstat cells --run a,b --run c --tier 8,- --class Q0?,mix --response-format - \
         --concurrency 8,3* --target argus*",
    );
    let Command::Cells(args) = cli.command else { panic!("{cli:?}") };
    assert_eq!(args.filters.run.runs, ["a", "b", "c"]);
    assert_eq!(args.filters.cell.tiers, ["8", "-"]);
    assert_eq!(args.filters.cell.classes, ["Q0?", "mix"]);
    assert_eq!(args.filters.cell.formats, ["-"]);
    assert_eq!(args.filters.cell.concurrencies, ["8", "3*"]);
    assert_eq!(args.filters.cell.targets, ["argus*"]);
}

#[test]
fn figures_out_of_their_range_are_refused() {
    for (flag, value, expected) in [
        ("--tie-floor", "-0.1", "a number from 0 up"),
        ("--tie-floor", "nan", "a number from 0 up"),
        ("--tie-floor", "inf", "a number from 0 up"),
        ("--confidence", "1", "a number between 0 and 1, both excluded"),
        ("--confidence", "95", "a number between 0 and 1, both excluded"),
        ("--error-ceiling", "1.5", "a fraction from 0 to 1"),
        ("--guard-max", "0", "a number above 0"),
        ("--concurrency", "eight", "a number of connections, or a glob of one"),
    ] {
        let error = refusal(&format!("tapstat cells {flag} {value}"));
        assert!(error.contains(flag) && error.contains(expected), "{error}");
    }
    assert!(refusal("tapstat cells --estimator mode").contains("mean, median"));
}

#[test]
fn what_does_not_go_together_is_refused() {
    refusal("tapstat");
    refusal("tapstat verdict");
    refusal("tapstat ingest");
    refusal("tapstat reproduce a");
    refusal("tapstat remove");
    refusal("tapstat sql --tables --show cells");
    refusal("tapstat sql -f file SELECT");
    refusal("tapstat ingest dir --run a");
}

#[test]
fn causes_are_said_once() {
    #[derive(Debug, thiserror::Error)]
    #[error("file: {source}")]
    struct Quoting {
        source: std::io::Error,
    }
    let source = || std::io::Error::other("no luck");
    assert_eq!(explain(&Error::from(Quoting { source: source() })), "file: no luck");
    let wrapped = Error::from(source()).context("reading the file");
    assert_eq!(explain(&wrapped), "reading the file: no luck");
}

#[test]
fn a_reader_who_went_away_is_no_error() {
    use crate::report::ReportError;
    let gone = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
    let arrow = arrow::error::ArrowError::from(gone());
    let parquet = parquet::errors::ParquetError::from(gone());
    for error in [ReportError::from(gone()), ReportError::from(arrow), ReportError::from(parquet)] {
        assert!(output::is_broken_pipe(&Error::from(error)));
    }
    assert!(!output::is_broken_pipe(&Error::msg("something else")));
}
