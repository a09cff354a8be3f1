//! `tapstat report`: a run as a paper shows it, in a folder of files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use super::args::{Global, OneRun};
use super::output::{Output, refuse_format, say};
use super::{Answer, hypotheses, pair, prereg, session};
use crate::figure::{self, Filter, Name, Request, Width};
use crate::protocol::RuleFlags;
use crate::report::Page;
use crate::report::document::{
    self, Beside, Data, Drawn, Extras, Fault, Files, PROVENANCE, Picture, Provenance, Registration,
    Source,
};
use crate::sql::Session;

const EXAMPLES: &str = "\
Examples:
  tapstat report --run scaling --output docs/reports/scaling
  tapstat report --run 20260912 --against 20260911 --shift 20260913 --repo ../egernia -o report
  tapstat report --check docs/reports/scaling";

/// Write the report of a run, or say whether one is still what the store gives
///
/// A folder with the report as Markdown (`index.md`) and as one page of HTML
/// that loads nothing (`index.html`), its rungs in the layout of a published run
/// (`summary.csv`, `resources.csv`), its figures, and how it was made
/// (`report.json`). The same store gives the same bytes.
///
/// `--check DIR` makes the report again by its `report.json` and names the files
/// that differ, are missing, or do not belong to it; exit with 1 if any.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub run: OneRun,

    /// Runs that this one may reproduce; A of `tapstat reproduce A RUN`
    #[arg(long, value_name = "RUN,…", value_delimiter = ',')]
    pub against: Vec<String>,

    /// Runs that measured the same by other apparatus; B of `tapstat shift RUN B`
    #[arg(long, value_name = "RUN,…", value_delimiter = ',')]
    pub shift: Vec<String>,

    /// The repository that the protocol was committed to, for its pre-registration
    #[arg(long, value_name = "DIR")]
    pub repo: Option<PathBuf>,

    /// The tag or commit of the registration [default: the protocol's]
    #[arg(long, value_name = "TAG", requires = "repo")]
    pub tag: Option<String>,

    /// Compare the report in a folder with what the store gives
    #[arg(long, value_name = "DIR", conflicts_with_all = ["run", "against", "shift", "tag"])]
    pub check: Option<PathBuf>,
}

/// What a report is made of and by.
struct Plan<'a> {
    run: String,
    against: Vec<String>,
    shift: Vec<String>,
    repo: Option<&'a Path>,
    tag: Option<String>,
    protocol: Option<PathBuf>,
    flags: RuleFlags,
    global: &'a Global,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    if let Some(folder) = &args.check {
        return check(folder, args, global);
    }
    refuse_format(&global.output, "report")?;
    let name = args.run.run.as_deref().context("no run: give --run RUN, or --check DIR")?;
    let folder = global.output.output.as_deref().context("no folder: give --output DIR")?;
    let store = session::open_store(global)?;
    session::refuse_within(&store, folder)?;
    let run = store.find_run(name)?.run.clone();
    let others = |names: &[String]| -> Result<Vec<String>> {
        let mut ids = Vec::new();
        for name in names {
            let id = store.find_run(name)?.run.clone();
            if id == run {
                bail!("`{name}` means run {run} itself: expected another run");
            }
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(ids)
    };
    let (against, shift) = (others(&args.against)?, others(&args.shift)?);
    drop(store);
    let plan = Plan {
        run,
        against,
        shift,
        repo: args.repo.as_deref(),
        tag: args.tag.clone(),
        protocol: given_protocol(global)?,
        flags: global.rule.flags(),
        global,
    };
    let files = plan.files()?;
    document::write(folder, &files)?;
    let figures = files.keys().filter(|name| name.starts_with("figures/")).count();
    say(format_args!(
        "tapstat: report of run {} in {}: {} files, {figures} of them figures",
        plan.run,
        folder.display(),
        files.len()
    ));
    Ok(Answer::Yes)
}

/// The answer of `--check` as a JSON document.
#[derive(Serialize)]
struct Checked<'a> {
    folder: String,
    run: Option<&'a str>,
    ok: bool,
    files: usize,
    faults: &'a [Fault],
}

fn check(folder: &Path, args: &Args, global: &Global) -> Result<Answer> {
    let path = folder.join(PROVENANCE);
    let bytes = std::fs::read(&path).with_context(|| {
        format!("{}: expected a report, whose {PROVENANCE} says how it was made", path.display())
    })?;
    if global.rule.flags() != RuleFlags::default() {
        bail!("the rule is that of {}: give none with --check", path.display());
    }
    let show = |run: Option<&str>, files: usize, faults: &[Fault], why: Option<String>| {
        let mut page = Page::new();
        page.list(faults.iter().map(Fault::to_string).collect());
        if let Some(why) = why {
            page.text(why);
        }
        let ok = faults.is_empty();
        if let Some(run) = run.filter(|_| ok) {
            page.text(format!("{files} files: all as the store gives them for run {run}"));
        }
        let folder = folder.display().to_string();
        let output = Output::open(&global.output)?;
        output.document(&page, &Checked { folder, run, ok, files, faults })?;
        Ok(Answer::of(ok))
    };
    let made = match Provenance::parse(&bytes) {
        Ok(made) => made,
        Err(error) => {
            let file = PROVENANCE.to_owned();
            let faults = [Fault { fault: "differs", file, line: None }];
            let why = format!("It cannot be read ({error}), so that nothing else was compared.");
            return show(None, 0, &faults, Some(why));
        }
    };
    let protocol = given_protocol(global)?;
    for (flag, was_given, is_given) in [
        ("--protocol FILE", made.protocol.is_some(), protocol.is_some()),
        ("--queries DIR", !made.queries.is_empty(), global.store.queries.is_some()),
        ("--repo DIR", made.repository, args.repo.is_some()),
    ] {
        match (was_given, is_given) {
            (true, false) => bail!("the report was made with {flag}: give it again"),
            (false, true) => bail!("the report was made without {flag}: leave it out"),
            _ => {}
        }
    }
    let plan = Plan {
        run: made.run,
        against: made.against,
        shift: made.shift,
        repo: args.repo.as_deref(),
        tag: made.tag,
        protocol,
        flags: made.rule.flags(),
        global,
    };
    let files = plan.files()?;
    let faults = document::faults(folder, &files)?;
    show(Some(&plan.run), files.len(), &faults, None)
}

/// The protocol that is given, by its full path: output names an absolute one
/// by its file alone, wherever it lies.
fn given_protocol(global: &Global) -> Result<Option<PathBuf>> {
    let full = |path: &PathBuf| path.canonicalize().with_context(|| path.display().to_string());
    global.rule.protocol.as_ref().map(full).transpose()
}

impl Plan<'_> {
    /// The files of the report.
    fn files(&self) -> Result<Files> {
        let global = &self.global.with_rule(self.protocol.clone(), &self.flags);
        let (registration, mut runs) = {
            let (session, run) = session::open_run(global, &self.run)?;
            (self.registration(&session, &run)?, hypotheses::runs(&session, &run))
        };
        runs.extend([&self.against, &self.shift].into_iter().flatten().cloned());
        runs.push(self.run.clone());
        let store = session::open_store(global)?;
        for run in self.against.iter().chain(&self.shift) {
            store.find_run(run)?;
        }
        let session = session::open(global, store, Some(runs))?;
        let extras = Extras {
            against: self.beside(&session, &self.against, true)?,
            shift: self.beside(&session, &self.shift, false)?,
            judgements: hypotheses::judgements(global, &session, &self.run)?,
            registration,
            figures: self.figures(&session)?,
            command: self.command(),
        };
        let data = Data::read(&session, &self.run, &session::stamps(&session), extras)?;
        let fonts = if data.has_pictures() {
            let dark = figure::dark_css();
            let dark =
                format!("@media (prefers-color-scheme:dark){{@media screen{{:root{{{dark}}}}}}}");
            format!("{}{dark}", figure::font_face_css())
        } else {
            String::new()
        };
        let mut files = document::pages(&data, &fonts)?;
        files.extend(document::tables(&session, &self.run)?);
        let provenance = self.provenance(&session)?.to_file(&files);
        files.insert(PROVENANCE.to_owned(), provenance);
        Ok(files)
    }

    fn registration(&self, session: &Session, run: &str) -> Result<Registration> {
        let Some(repo) = self.repo else {
            let judged = session.judged().iter().find(|judged| judged.run == run);
            let prereg = judged.and_then(|judged| judged.selected.protocol.prereg.as_ref());
            let is_named = prereg.is_some_and(|prereg| prereg.r#ref.is_some());
            return Ok(if is_named {
                Registration::NoRepository
            } else {
                Registration::NoReference
            });
        };
        let found = prereg::examination(session, run, repo, self.tag.as_deref())?;
        Ok(found.map_or(Registration::NoReference, |found| Registration::Examined(found.into())))
    }

    fn beside(&self, session: &Session, runs: &[String], reproduced: bool) -> Result<Vec<Beside>> {
        let beside = runs.iter().enumerate().map(|(index, other)| {
            // That which was there first is A.
            let (a, b) = if reproduced { (other, &self.run) } else { (&self.run, other) };
            let figure = if reproduced {
                let suffix = if index == 0 { String::new() } else { format!("-{}", index + 1) };
                Some(self.draw(session, Name::Reproduction, Some(other), &suffix)?)
            } else {
                None
            };
            Ok(Beside { run: other.clone(), differences: pair::compare(session, a, b)?, figure })
        });
        beside.collect()
    }

    fn figures(&self, session: &Session) -> Result<Vec<Drawn>> {
        let names = Name::ALL.into_iter().filter(|name| *name != Name::Reproduction);
        names.map(|name| self.draw(session, name, None, "")).collect()
    }

    fn draw(
        &self,
        session: &Session,
        name: Name,
        against: Option<&String>,
        suffix: &str,
    ) -> Result<Drawn> {
        let request = Request {
            session,
            run: &self.run,
            against: against.map(String::as_str),
            filter: Filter::default(),
            width: Width::Page,
        };
        let drawn = figure::draw(name, &request).with_context(|| format!("figure {name}"))?;
        let name = format!("{name}{suffix}");
        Ok(match drawn {
            figure::Drawn::Figure(figure) => Drawn::Picture(Picture {
                svg: figure.svg(),
                inline: figure.inline_svg(&format!("figure-{name}-")),
                title: figure.title,
                alt: figure.alt,
                notes: figure.notes,
                name,
            }),
            figure::Drawn::Unavailable(why) => Drawn::Unavailable { name, why },
        })
    }

    /// The command that makes the report, without its output.
    fn command(&self) -> String {
        let mut words = vec![format!("tapstat report --run {}", self.run)];
        for (flag, runs) in [("--against", &self.against), ("--shift", &self.shift)] {
            if !runs.is_empty() {
                words.push(format!("{flag} {}", runs.join(",")));
            }
        }
        words.extend(self.repo.map(|_| "--repo DIR".to_owned()));
        words.extend(self.tag.as_ref().map(|tag| format!("--tag {tag}")));
        let name =
            |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        words.extend(self.protocol.as_ref().map(|path| format!("--protocol {}", name(path))));
        words.extend(self.global.store.queries.as_ref().map(|_| "--queries DIR".to_owned()));
        words.extend(document::Rule::from(self.flags.clone()).words());
        words.join(" ")
    }

    fn provenance(&self, session: &Session) -> Result<Provenance> {
        let mut made = Provenance::new(&self.run);
        made.against.clone_from(&self.against);
        made.shift.clone_from(&self.shift);
        made.repository = self.repo.is_some();
        made.tag.clone_from(&self.tag);
        made.rule = self.flags.clone().into();
        if let Some(path) = &self.protocol {
            let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
            made.protocol = Some(Source::new(path, &bytes));
        }
        if let Some(folder) = &self.global.store.queries {
            made.queries = queries(folder)?;
        }
        for judged in session.judged() {
            if let Some(manifest) = session.store().manifest(&judged.run) {
                made.inputs.insert(judged.run.clone(), manifest.inputs.clone());
            }
        }
        Ok(made)
    }
}

/// The query files in a folder and in its folder of hypotheses, by name.
fn queries(folder: &Path) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for folder in [folder.to_owned(), folder.join("hypotheses")] {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.with_context(|| folder.display().to_string())?.path();
            if path.extension().is_some_and(|suffix| suffix == "sql") {
                let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
                sources.push(Source::new(&path, &bytes));
            }
        }
    }
    sources.sort_by(|a, b| (&a.name, &a.sha256).cmp(&(&b.name, &b.sha256)));
    Ok(sources)
}
