//! JSON documents and JSON lines, with errors that say where.

use std::io::{BufRead, Read};
use std::path::Path;

use serde_json::Value;

use super::error::{Place, RawError, Warning};

/// The longest line that is read, in bytes: more is not a line of ours.
const LONGEST_LINE: u64 = 16 << 20;

/// Parses a whole file.
pub(super) fn document(file: &str, bytes: &[u8]) -> Result<Value, RawError> {
    parse(bytes).map_err(|error| {
        let line = u64::try_from(error.line()).unwrap_or(u64::MAX);
        json_error(Place::line(file, line), &error)
    })
}

/// The array that a file holds, each element with its place.
pub(super) fn array(file: &str, bytes: &[u8]) -> Result<Vec<(Place, Value)>, RawError> {
    match document(file, bytes)? {
        Value::Array(values) => Ok(placed(file, bytes, values)),
        _ => Err(RawError::Other {
            place: Place::file(file),
            message: "expected a JSON array, found something else".to_owned(),
        }),
    }
}

fn placed(file: &str, bytes: &[u8], values: Vec<Value>) -> Vec<(Place, Value)> {
    let lines = element_lines(bytes);
    let places = (0..).zip(lines).map(|(item, line)| Place::line(file, line).item(item));
    places.zip(values).collect()
}

/// The line, from 1, on which each element of the outermost array begins.
fn element_lines(bytes: &[u8]) -> Vec<u64> {
    let mut lines = Vec::new();
    let (mut line, mut depth, mut between) = (1, 0, false);
    for (byte, quoted) in tokens(bytes) {
        match byte {
            b'\n' => line += 1,
            byte if byte.is_ascii_whitespace() => {}
            b'[' if depth == 0 && !quoted => (depth, between) = (1, true),
            b',' if depth == 1 && !quoted => between = true,
            _ => {
                if between {
                    lines.push(line);
                    between = false;
                }
                match byte {
                    b'[' | b'{' if !quoted => depth += 1,
                    b']' | b'}' if !quoted => depth -= 1,
                    _ => {}
                }
            }
        }
    }
    lines
}

/// Each byte, and whether it belongs to a JSON string (its quotes do).
fn tokens(bytes: &[u8]) -> impl Iterator<Item = (u8, bool)> {
    let (mut inside, mut escaped) = (false, false);
    bytes.iter().map(move |&byte| {
        let quoted = inside || byte == b'"';
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            _ => {}
        }
        (byte, quoted)
    })
}

/// Parses JSON. Where only the words that Python writes for figures that are
/// not finite stand in the way, they come out as text, so that the reader of
/// the field can name it.
fn parse(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(bytes).or_else(|error| {
        let mended = quote_words(bytes);
        if mended == bytes { Err(error) } else { serde_json::from_slice(&mended) }
    })
}

fn quote_words(bytes: &[u8]) -> Vec<u8> {
    const WORDS: [&[u8]; 3] = [b"NaN", b"-Infinity", b"Infinity"];
    let quoted: Vec<bool> = tokens(bytes).map(|(_, quoted)| quoted).collect();
    let mut mended = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let word = WORDS.into_iter().find(|word| !quoted[at] && bytes[at..].starts_with(word));
        match word {
            Some(word) => {
                mended.extend([b"\"", word, b"\""].concat());
                at += word.len();
            }
            None => {
                mended.push(bytes[at]);
                at += 1;
            }
        }
    }
    mended
}

fn json_error(place: Place, error: &serde_json::Error) -> RawError {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let what = text.strip_suffix(&position).unwrap_or(&text);
    RawError::Json { place, message: format!("{what} (column {})", error.column()) }
}

/// A file of JSON lines. Blank lines are skipped, and a last line that was
/// never finished is passed over with a warning.
#[derive(Debug)]
pub(super) struct JsonLines<R> {
    reader: R,
    /// For messages about the file.
    file: String,
    line: u64,
    buffer: Vec<u8>,
    warning: Option<Warning>,
}

impl<R: BufRead> JsonLines<R> {
    pub(super) fn new(file: &str, reader: R) -> Self {
        Self { reader, file: file.to_owned(), line: 0, buffer: Vec::new(), warning: None }
    }

    /// Moves to the next line that is not blank; false at the end.
    pub(super) fn advance(&mut self) -> Result<bool, RawError> {
        loop {
            self.buffer.clear();
            let mut reader = self.reader.by_ref().take(LONGEST_LINE);
            let read = reader
                .read_until(b'\n', &mut self.buffer)
                .map_err(|source| RawError::io(Path::new(&self.file), source))?;
            if read == 0 {
                return Ok(false);
            }
            self.line += 1;
            if read as u64 == LONGEST_LINE && !self.is_whole() {
                return Err(RawError::Other {
                    place: self.place(),
                    message: format!("expected a line of at most {LONGEST_LINE} bytes"),
                });
            }
            if !self.buffer.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// The bytes of the line.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Where the line stands.
    pub(super) fn place(&self) -> Place {
        Place::line(&self.file, self.line)
    }

    /// The line as JSON; none, and a warning, where it was never finished.
    pub(super) fn value(&mut self) -> Result<Option<Value>, RawError> {
        match parse(&self.buffer) {
            Ok(value) => Ok(Some(value)),
            Err(_) if !self.is_whole() => {
                let message = "the last line is half-written, left out".to_owned();
                self.warning = Some(Warning { place: self.place(), message });
                Ok(None)
            }
            Err(error) => Err(json_error(self.place(), &error)),
        }
    }

    /// The next value with its place; none at the end.
    pub(super) fn next_value(&mut self) -> Result<Option<(Place, Value)>, RawError> {
        if !self.advance()? {
            return Ok(None);
        }
        Ok(self.value()?.map(|value| (self.place(), value)))
    }

    /// The reader, and the warning about a half-written last line if there was one.
    pub(super) fn finish(self) -> (R, Option<Warning>) {
        (self.reader, self.warning)
    }

    /// The reader below.
    pub(super) fn reader(&self) -> &R {
        &self.reader
    }

    fn is_whole(&self) -> bool {
        self.buffer.ends_with(b"\n")
    }
}

/// Every value of a small file of JSON lines, and the warning about its end.
pub(super) type Lines = (Vec<(Place, Value)>, Option<Warning>);

/// Reads a small file of JSON lines whole.
pub(super) fn lines(file: &str, bytes: &[u8]) -> Result<Lines, RawError> {
    let mut lines = JsonLines::new(file, bytes);
    let mut values = Vec::new();
    while let Some(value) = lines.next_value()? {
        values.push(value);
    }
    Ok((values, lines.finish().1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn elements_know_their_lines() {
        let text = "\n[ {\"a\": \"],[\\\"\"},\n\n {\"b\": [1,\n 2]}, 3\n,4]\n";
        let places: Vec<String> = array("f", text.as_bytes())
            .unwrap()
            .iter()
            .map(|(place, _)| place.to_string())
            .collect();
        assert_eq!(places, ["f:2 [0]", "f:4 [1]", "f:5 [2]", "f:6 [3]"]);
        assert_eq!(array("f", b"[]").unwrap(), []);
    }

    #[test]
    fn an_object_is_no_array() {
        let message = array("f", b"{}").unwrap_err().to_string();
        assert_eq!(message, "f: expected a JSON array, found something else");
    }

    #[test]
    fn errors_name_line_and_column() {
        let message = document("f", b"{\n  \"a\": x}").unwrap_err().to_string();
        assert_eq!(message, "f:2: not valid JSON: expected value (column 8)");
        let message = lines("f", b"{}\n\n{]\n{}\n").unwrap_err().to_string();
        assert!(message.starts_with("f:3: not valid JSON: "), "{message}");
    }

    #[test]
    fn words_of_python_come_out_as_text() {
        let value = document("f", br#"{"a": NaN, "b": [-Infinity], "c": "NaN \" NaN"}"#).unwrap();
        assert_eq!(value, json!({"a": "NaN", "b": ["-Infinity"], "c": "NaN \" NaN"}));
        document("f", br#"{"a": NaN, }"#).unwrap_err();
    }

    #[test]
    fn whole_lines_before_a_half_written_one() {
        let (values, warning) = lines("f", b"{\"a\":1}\r\n\n{\"a\":2}\n{\"a\":").unwrap();
        assert_eq!(values.len(), 2);
        assert_eq!(values[1], (Place::line("f", 3), json!({"a": 2})));
        let warning = warning.unwrap().to_string();
        assert_eq!(warning, "f:4: the last line is half-written, left out");
    }

    #[test]
    fn a_last_line_without_newline_counts_if_it_is_whole() {
        let (values, warning) = lines("f", b"{\"a\":1}").unwrap();
        assert_eq!((values.len(), warning), (1, None));
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let endless = std::io::BufReader::new(std::io::repeat(b'x'));
        let message = JsonLines::new("f", endless).advance().unwrap_err().to_string();
        assert_eq!(message, "f:1: expected a line of at most 16777216 bytes");
    }
}
