//! Answers as CSV (RFC 4180).

use csv::{ErrorKind, ReaderBuilder, StringRecord};

use super::{Answer, AnswerError, Column, Kind, Value};

/// Reads CSV, or what has another delimiter, with a header. An empty field is null: the format has no other way
/// to say so.
pub fn parse(body: &[u8], delimiter: u8) -> Result<Answer, AnswerError> {
    let mut reader = ReaderBuilder::new().delimiter(delimiter).from_reader(body);
    let headers = reader.headers().map_err(|error| problem(&error, body))?;
    let column = |name: &str| Column { name: name.trim().to_owned(), kind: Kind::Unknown };
    let columns: Vec<Column> = headers.iter().map(column).collect();
    let mut answer = Answer { columns, ..Answer::default() };
    let mut record = StringRecord::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => answer.rows.push(record.iter().map(value).collect()),
            Ok(false) => break,
            Err(error) => return Err(problem(&error, body)),
        }
    }
    // The reader takes the end of the body for the end of a quoted field.
    if memchr::memchr_iter(b'"', body).count() % 2 == 1 {
        let line = memchr::memchr_iter(b'\n', body.trim_ascii_end()).count() + 1;
        return Err(AnswerError::truncated(format!("line {line} ends inside quotes")));
    }
    Ok(answer)
}

fn value(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { Value::Text(text.to_owned()) }
}

fn problem(error: &csv::Error, body: &[u8]) -> AnswerError {
    match error.kind() {
        ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            let message = format!("line {line} has {len} fields, the header has {expected_len}");
            // Short and last: the rest of it was never sent.
            let at = pos.as_ref().map_or(0, |pos| pos.byte() as usize);
            let is_last =
                memchr::memchr(b'\n', body.get(at..).unwrap_or_default().trim_ascii()).is_none();
            if is_last && len < expected_len {
                AnswerError::Truncated(message)
            } else {
                AnswerError::Malformed(message)
            }
        }
        ErrorKind::Utf8 { pos, .. } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            AnswerError::malformed(format!("line {line} is not UTF-8"))
        }
        _ => AnswerError::malformed(error.to_string()),
    }
}
