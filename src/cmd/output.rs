//! Where an answer goes and in what form, by the flags.

use std::fmt::Display;
use std::io::{ErrorKind, Write};

use anyhow::{Error, Result, bail};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use comfy_table::Table;

use super::args::{ColourChoice, OutputArgs};
use crate::report::{Form, Format, Page, ReportError, Sink, Style, write_rows};

/// An answer's destination and form.
#[derive(Debug)]
pub struct Output {
    /// The form.
    pub format: Format,
    sink: Sink,
    style: Style,
}

impl Output {
    /// The output that the flags ask for.
    ///
    /// # Errors
    /// If the file cannot be made, its suffix says nothing, or bytes would go
    /// to a terminal.
    pub fn open(args: &OutputArgs) -> Result<Self> {
        let format = match (args.format, &args.output) {
            (Some(format), _) => format,
            (None, Some(path)) => {
                Format::from_suffix(path).ok_or_else(|| ReportError::Suffix(path.clone()))?
            }
            (None, None) => Format::Table,
        };
        Self::open_as(format, args)
    }

    /// The output for text that has one form only, whatever the file is called.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn open_text(args: &OutputArgs) -> Result<Self> {
        Self::open_as(Format::Table, args)
    }

    fn open_as(format: Format, args: &OutputArgs) -> Result<Self> {
        let sink = match &args.output {
            Some(path) => Sink::file(path)
                .map_err(|source| ReportError::File { path: path.clone(), source })?,
            None => Sink::stdout(),
        };
        let is_terminal = sink.is_terminal();
        if is_terminal && format.is_binary() {
            let format = if format == Format::Arrow { "Arrow" } else { "Parquet" };
            return Err(ReportError::Terminal { format }.into());
        }
        let style = Style {
            // Nothing is folded for a file or a pipe.
            width: if is_terminal && sink.is_stdout() { Table::new().width() } else { None },
            colour: match args.color {
                ColourChoice::Always => true,
                ColourChoice::Never => false,
                ColourChoice::Auto => is_terminal && !is_colour_refused(),
            },
        };
        Ok(Self { format, sink, style })
    }

    /// Writes a page.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn page(mut self, page: &Page) -> Result<()> {
        let text = page.render(self.format, self.style);
        self.sink.write_all(text.as_bytes()).map_err(ReportError::from)?;
        self.finish()
    }

    /// Writes text as it is.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn text(mut self, text: &str) -> Result<()> {
        self.sink.write_all(text.as_bytes()).map_err(ReportError::from)?;
        self.finish()
    }

    /// Writes rows. Nothing is written where the first of them is an error.
    ///
    /// # Errors
    /// Those of the rows, and whatever keeps them from being written.
    pub fn rows(
        mut self,
        schema: &SchemaRef,
        rows: impl IntoIterator<Item = Result<RecordBatch>>,
    ) -> Result<()> {
        let mut rows = rows.into_iter();
        let first = rows.next().transpose()?;
        let form =
            Form { format: self.format, style: self.style, arrow_file: !self.sink.is_stdout() };
        write_rows::<_, Error>(
            &mut self.sink,
            form,
            schema,
            first.map(Ok).into_iter().chain(rows),
        )?;
        self.finish()
    }

    fn finish(self) -> Result<()> {
        Ok(self.sink.finish().map_err(ReportError::from)?)
    }
}

/// Says something on standard error. Nobody may be listening there, which is no
/// reason to fail.
pub fn say(message: impl Display) {
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// Whether the environment asks for no colour.
fn is_colour_refused() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    is_set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Whether an error only says that nobody reads any more, as after `| head`.
pub fn is_broken_pipe(error: &Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}

/// Refuses `--format` for a command whose answer has one form only.
///
/// # Errors
/// If it is given.
pub fn refuse_format(args: &OutputArgs, command: &str) -> Result<()> {
    if args.format.is_some() {
        bail!("--format has no effect on `tapstat {command}`, which prints lines of text");
    }
    Ok(())
}

/// Refuses output flags for a command that has no answer, only messages.
///
/// # Errors
/// If one is given.
pub fn refuse(args: &OutputArgs, command: &str) -> Result<()> {
    refuse_format(args, command)?;
    if args.output.is_some() {
        bail!("--output has no effect on `tapstat {command}`, which prints messages only");
    }
    Ok(())
}
