//! `tapstat figure`: a figure as SVG, PNG or PDF; or all that runs can give.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::args::{CellFilter, Global, RunFilter};
use super::output::{Output, refuse_format, say};
use super::{Answer, session};
use crate::figure::{DPI, Drawn, Figure, Filter, Name, Request, Width, draw};
use crate::report::{ReportError, Sink};
use crate::sql::Session;

const EXAMPLES: &str = "\
Examples:
  tapstat figure vertical-scaling --run scaling -o scaling.pdf --width column
  tapstat figure reproduction --run 20260912 --against 20260911 -o reproduction.svg
  tapstat figure --all -o figures
  tapstat figure --all --check figures";

/// Draw a figure as SVG, PNG or PDF, the same bytes on every machine
///
/// The suffix of --output says which. What a run cannot give is said on
/// standard error, with what it lacks. Marks carry their value, so that a
/// browser shows it under the pointer.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The figure
    #[arg(value_enum, required_unless_present_any = ["all", "list"], hide_possible_values = true)]
    pub name: Option<Name>,

    /// List the figures
    #[arg(long, conflicts_with_all = ["name", "all"])]
    pub list: bool,

    /// Draw every figure that the runs can give, as SVG into a folder for each
    /// run below --output; the figure `vertical-scaling` also as PDF
    #[arg(long, conflicts_with = "name")]
    pub all: bool,

    /// With --all, write nothing, but exit with 1 if the folder's figures are
    /// not what would be drawn
    #[arg(long, value_name = "DIR", requires = "all")]
    pub check: Option<PathBuf>,

    /// The run that `reproduction` sets the run against
    #[arg(long, value_name = "RUN")]
    pub against: Option<String>,

    /// How wide it is printed: a column of 85 mm or a page of 178 mm
    #[arg(long, value_enum, default_value_t = Width::Page)]
    pub width: Width,

    /// Dots an inch, for PNG
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u16).range(10..=1200))]
    pub dpi: u16,

    #[command(flatten)]
    pub run: RunFilter,

    #[command(flatten)]
    pub cell: CellFilter,
}

/// What a file is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Svg,
    Png,
    Pdf,
}

impl Kind {
    fn of(path: &Path) -> Result<Self> {
        let suffix = path.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
        Ok(match suffix.to_ascii_lowercase().as_str() {
            "svg" => Self::Svg,
            "png" => Self::Png,
            "pdf" => Self::Pdf,
            _ => bail!(
                "{}: its suffix names no kind of figure: expected .svg, .png or .pdf",
                path.display()
            ),
        })
    }

    fn bytes(self, figure: &Figure, dpi: u16) -> Result<Vec<u8>> {
        Ok(match self {
            Self::Svg => figure.svg().into_bytes(),
            Self::Png => figure.png(f32::from(dpi) / DPI)?,
            Self::Pdf => figure.pdf()?,
        })
    }
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    refuse_format(&global.output, "figure")?;
    if args.list {
        let line = |name: &Name| format!("{:<17} {}\n", name.as_str(), name.about());
        let lines: String = Name::ALL.iter().map(line).collect();
        Output::open_text(&global.output)?.text(&lines)?;
        return Ok(Answer::Yes);
    }
    match args.name {
        Some(name) => one(args, global, name),
        None => all(args, global),
    }
}

/// Opens the session over the runs that are drawn and the one that they are set
/// against; gives the ids of the first, and that of the other.
fn open(args: &Args, global: &Global) -> Result<(Session, Vec<String>, Option<String>)> {
    let store = session::open_store(global)?;
    if let Some(output) = &global.output.output {
        session::refuse_within(&store, output)?;
    }
    let drawn = session::run_ids(&store, &args.run)?;
    let drawn = drawn
        .unwrap_or_else(|| store.manifests().iter().map(|manifest| manifest.run.clone()).collect());
    let find = |name: &String| Ok::<_, anyhow::Error>(store.find_run(name)?.run.clone());
    let against = args.against.as_ref().map(find).transpose()?;
    let opened = drawn.iter().chain(&against).cloned().collect::<BTreeSet<_>>();
    let session = session::open(global, store, Some(opened.into_iter().collect()))?;
    Ok((session, drawn, against))
}

fn request<'a>(
    args: &Args,
    session: &'a Session,
    run: &'a str,
    against: Option<&'a String>,
) -> Request<'a> {
    let filter = Filter {
        tiers: args.cell.tiers.clone(),
        classes: args.cell.classes.clone(),
        formats: args.cell.formats.clone(),
        concurrencies: args.cell.concurrencies.clone(),
        targets: args.cell.targets.clone(),
    };
    Request { session, run, against: against.map(String::as_str), filter, width: args.width }
}

/// Draws one figure of one run.
fn one(args: &Args, global: &Global, name: Name) -> Result<Answer> {
    let Some(path) = &global.output.output else {
        bail!("a figure needs --output FILE, which ends in .svg, .png or .pdf");
    };
    let kind = Kind::of(path)?;
    let (session, runs, against) = open(args, global)?;
    let run = match runs.as_slice() {
        [run] => run,
        [] => bail!("the store has no runs"),
        several => bail!(
            "a figure is about one run: expected --run, to choose among {}",
            several.join(", ")
        ),
    };
    match draw(name, &request(args, &session, run, against.as_ref()))? {
        Drawn::Unavailable(why) => bail!("{name} of {run}: {why}"),
        Drawn::Figure(figure) => {
            write(path, &kind.bytes(&figure, args.dpi)?)?;
            for note in &figure.notes {
                say(format_args!("tapstat: note: {note}"));
            }
            Ok(Answer::Yes)
        }
    }
}

/// Draws all figures of all runs, or says which of those there differ.
fn all(args: &Args, global: &Global) -> Result<Answer> {
    let folder = match (&args.check, &global.output.output) {
        (Some(folder), None) | (None, Some(folder)) => folder,
        (Some(_), Some(_)) => bail!("--check writes nothing: --output has no effect"),
        (None, None) => bail!("--all needs --output DIR"),
    };
    if args.check.is_some() && !folder.is_dir() {
        bail!("{}: no such folder", folder.display());
    }
    let (session, runs, against) = open(args, global)?;
    let mut files = BTreeMap::new();
    for run in &runs {
        for name in Name::ALL {
            match draw(name, &request(args, &session, run, against.as_ref()))? {
                Drawn::Unavailable(why) => {
                    say(format_args!("tapstat: note: {run}: no figure {name}: {why}"));
                }
                Drawn::Figure(figure) => {
                    for (suffix, kind) in [("svg", Kind::Svg), ("pdf", Kind::Pdf)] {
                        // The paper's figure is what journals ask for as PDF.
                        if kind == Kind::Svg || name == Name::VerticalScaling {
                            let file = PathBuf::from(run).join(format!("{name}.{suffix}"));
                            files.insert(file, kind.bytes(&figure, args.dpi)?);
                        }
                    }
                }
            }
        }
    }
    if args.check.is_some() {
        return check(folder, &runs, &files);
    }
    for (file, bytes) in &files {
        let path = folder.join(file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        }
        write(&path, bytes)?;
    }
    for stale in superfluous(folder, &runs, &files)? {
        say(format_args!(
            "tapstat: note: {}: the runs do not give this figure (any more)",
            folder.join(stale).display()
        ));
    }
    Ok(Answer::Yes)
}

/// Whether a folder has these figures, and no others of these runs.
fn check(folder: &Path, runs: &[String], files: &BTreeMap<PathBuf, Vec<u8>>) -> Result<Answer> {
    let mut lines = Vec::new();
    for (file, bytes) in files {
        let path = folder.join(file);
        match fs::read(&path) {
            Ok(found) if found == *bytes => {}
            Ok(_) => lines.push(format!("{}: differs", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                lines.push(format!("{}: missing", path.display()));
            }
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        }
    }
    for stale in superfluous(folder, runs, files)? {
        let path = folder.join(stale);
        lines.push(format!("{}: the runs do not give this figure", path.display()));
    }
    let mut stdout = Sink::stdout();
    for line in &lines {
        writeln!(stdout, "{line}").map_err(ReportError::from)?;
    }
    stdout.finish().map_err(ReportError::from)?;
    Ok(Answer::of(lines.is_empty()))
}

/// The figures in the folders of these runs that are none of the files.
fn superfluous(
    folder: &Path,
    runs: &[String],
    files: &BTreeMap<PathBuf, Vec<u8>>,
) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for run in runs {
        let path = folder.join(run);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        for entry in entries {
            let file = PathBuf::from(run).join(entry?.file_name());
            if Kind::of(&file).is_ok() && !files.contains_key(&file) {
                found.push(file);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Writes a file, which is replaced only when all is written.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |source| ReportError::File { path: path.to_owned(), source };
    let mut sink = Sink::file(path).map_err(failed)?;
    sink.write_all(bytes).map_err(failed)?;
    sink.finish().map_err(failed)?;
    Ok(())
}
