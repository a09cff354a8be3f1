//! `resources.jsonl`: what the sampler saw of each container.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde::Deserialize;

use super::error::{RawError, Warning};
use super::fields::{COUNT, Fields, TEXT, TIME, Unknown};
use super::input::{CHUNK, HashingReader, InputFile};
use super::json::JsonLines;

/// One container at one tick.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceSample {
    /// Unix seconds.
    pub t: f64,
    pub container: String,
    /// CPU time used since the container started, in microseconds.
    pub cpu_usec: i64,
    pub mem_bytes: i64,
    /// Processes, where they were counted.
    pub python_procs: Option<i64>,
}

/// A line as samplers write it. What does not fit is read again, slowly, by the
/// rules of [`Fields`]: for its message, or because it is right after all.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    t: f64,
    container: &'a str,
    cpu_usec: i64,
    mem_bytes: i64,
    python_procs: Option<i64>,
}

impl Line<'_> {
    fn sample(&self) -> Option<ResourceSample> {
        let counts = [self.cpu_usec, self.mem_bytes, self.python_procs.unwrap_or(0)];
        let right = !self.container.is_empty() && counts.iter().all(|count| *count >= 0);
        right.then(|| ResourceSample {
            t: self.t,
            container: self.container.to_owned(),
            cpu_usec: self.cpu_usec,
            mem_bytes: self.mem_bytes,
            python_procs: self.python_procs,
        })
    }
}

/// The samples of a `resources.jsonl`, one at a time and in constant memory.
///
/// The file is hashed as it is read: once the iterator has ended,
/// [`ResourcesReader::finish`] gives the hash. After an error it ends.
#[derive(Debug)]
pub struct ResourcesReader {
    name: String,
    lines: JsonLines<BufReader<HashingReader<File>>>,
    unknown: Unknown,
    ended: bool,
}

impl ResourcesReader {
    /// Opens a file of samples.
    ///
    /// # Errors
    ///
    /// [`RawError::Io`] where it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, RawError> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let reader = BufReader::with_capacity(CHUNK, HashingReader::open(path)?);
        let lines = JsonLines::new(&name, reader);
        Ok(Self { name, lines, unknown: Unknown::default(), ended: false })
    }

    /// Bytes read from the file so far.
    pub fn bytes_read(&self) -> u64 {
        self.lines.reader().get_ref().size()
    }

    /// The file that was read and what was read past. To be called once the
    /// iterator has ended: the hash is of what was read.
    pub fn finish(self) -> (InputFile, Vec<Warning>) {
        let (reader, half_written) = self.lines.finish();
        let (size, sha256) = reader.into_inner().finish();
        let warnings = half_written.into_iter().chain(self.unknown.warning(&self.name)).collect();
        (InputFile { path: self.name, size, sha256 }, warnings)
    }

    fn read(&mut self) -> Result<Option<ResourceSample>, RawError> {
        if !self.lines.advance()? {
            return Ok(None);
        }
        let line: Option<Line<'_>> = serde_json::from_slice(self.lines.bytes()).ok();
        match line.and_then(|line| line.sample()) {
            Some(sample) => Ok(Some(sample)),
            None => self.read_slowly(),
        }
    }

    fn read_slowly(&mut self) -> Result<Option<ResourceSample>, RawError> {
        let Some(value) = self.lines.value()? else { return Ok(None) };
        let mut fields = Fields::of_object(self.lines.place(), value, &[])?;
        let sample = ResourceSample {
            t: fields.need(&["t"], TIME)?,
            container: fields.need(&["container"], TEXT)?,
            cpu_usec: fields.need(&["cpu_usec"], COUNT)?,
            mem_bytes: fields.need(&["mem_bytes"], COUNT)?,
            python_procs: fields.take(&["python_procs"], COUNT)?,
        };
        self.unknown.note(fields);
        Ok(Some(sample))
    }
}

impl Iterator for ResourcesReader {
    type Item = Result<ResourceSample, RawError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = self.read().transpose();
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}

#[cfg(test)]
mod tests {
    use super::super::input::hash_file;
    use super::*;

    type Read = (Vec<ResourceSample>, InputFile, Vec<String>);

    fn read(text: &str) -> Result<Read, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("resources.jsonl");
        std::fs::write(&path, text).unwrap();
        let mut reader = ResourcesReader::open(&path).unwrap();
        let samples = reader.by_ref().collect::<Result<_, _>>().map_err(|e| e.to_string())?;
        assert_eq!(reader.bytes_read(), text.len() as u64);
        let (input, warnings) = reader.finish();
        let (size, sha256) = hash_file(&path).unwrap();
        assert_eq!((input.size, &input.sha256), (size, &sha256));
        Ok((samples, input, warnings.iter().map(ToString::to_string).collect()))
    }

    fn sample(t: f64, python_procs: Option<i64>) -> ResourceSample {
        ResourceSample { t, container: "api".into(), cpu_usec: 7, mem_bytes: 9, python_procs }
    }

    #[test]
    fn fast_and_slow_lines_read_alike() {
        let text = concat!(
            r#"{"t": 1, "container": "api", "cpu_usec": 7, "mem_bytes": 9, "python_procs": 3}"#,
            "\n\n",
            r#"{"mem_bytes": 9.0, "container": "a\u0070i", "cpu_usec": 7, "t": 2.5, "pids": 1}"#,
            "\n",
            r#"{"t": 3, "container": "api", "cpu_usec": 7, "mem_bytes": 9, "python_procs": null}"#,
        );
        let (samples, input, warnings) = read(text).unwrap();
        assert_eq!(samples, [sample(1.0, Some(3)), sample(2.5, None), sample(3.0, None)]);
        assert_eq!(input.path, "resources.jsonl");
        assert_eq!(warnings, ["resources.jsonl: fields not known, left out: pids"]);
    }

    #[test]
    fn a_half_written_last_line_is_left_out() {
        let whole = r#"{"t": 1, "container": "api", "cpu_usec": 7, "mem_bytes": 9}"#;
        let (samples, _, warnings) = read(&format!("{whole}\n{}", &whole[..30])).unwrap();
        assert_eq!(samples, [sample(1.0, None)]);
        assert_eq!(warnings, ["resources.jsonl:2: the last line is half-written, left out"]);
    }

    #[test]
    fn bad_lines_are_named() {
        for (line, expected) in [
            (
                r#"{"t": 1, "container": "api", "cpu_usec": -7, "mem_bytes": 9}"#,
                "resources.jsonl:1: field `cpu_usec`: expected a whole number of at least 0, found -7",
            ),
            (
                r#"{"t": 1, "container": "", "cpu_usec": 7, "mem_bytes": 9}"#,
                "resources.jsonl:1: field `container` is missing: expected text",
            ),
            (
                r#"{"t": NaN, "container": "api", "cpu_usec": 7, "mem_bytes": 9}"#,
                r#"resources.jsonl:1: field `t`: expected a number from -1e18 to 1e18, found "NaN""#,
            ),
            ("[]", "resources.jsonl:1: expected a JSON object, found []"),
        ] {
            assert_eq!(read(&format!("{line}\n")).unwrap_err(), expected);
        }
        let message = read("{\n{}\n").unwrap_err();
        assert!(message.starts_with("resources.jsonl:1: not valid JSON"), "{message}");
    }
}
