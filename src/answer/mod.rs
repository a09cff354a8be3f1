//! What a TAP server answered, read with a real CSV and a real XML reader, so
//! that answers of different servers can be compared, and an error, a web page
//! or half a document is never taken for a table.

mod binary;
mod canonical;
mod csv;
mod votable;

#[cfg(test)]
mod tests;

pub use canonical::canonical;

/// The format that an answer was asked for in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    Csv,
    Tsv,
    Votable,
}

impl Format {
    /// By the name that runs call it, `csv`, `tsv` or `votable`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            "votable" => Some(Self::Votable),
            _ => None,
        }
    }

    /// The name that runs call it, which is also TAP's RESPONSEFORMAT.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Votable => "votable",
        }
    }
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// CSV does not say.
    Unknown,
    Text,
    Int,
    Float,
}

/// A column of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
}

/// A value of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    /// Text, or, in CSV, anything.
    Text(String),
    Int(i64),
    Float(f64),
    /// One in single precision, whose shortest text is other than in double.
    Single(f32),
}

/// A table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Value>>,
    /// Whether the server says that there are more rows. CSV cannot.
    pub overflow: bool,
    /// Whether null and empty text are two things in this answer.
    pub tells_null: bool,
}

/// Why an answer is no table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("an empty body")]
    Empty,
    #[error("a web page ({0}) in place of an answer")]
    Html(String),
    #[error("the server refuses the query: {0}")]
    Refused(String),
    #[error("cut off: {0}")]
    Truncated(String),
    #[error("{0}")]
    Malformed(String),
}

impl AnswerError {
    fn malformed(message: impl Into<String>) -> Self {
        Self::Malformed(message.into())
    }

    fn truncated(message: impl Into<String>) -> Self {
        Self::Truncated(message.into())
    }
}

impl Answer {
    /// Reads a body that was asked for in a format.
    ///
    /// # Errors
    /// What the body is instead of a table: errors come as a VOTable whatever
    /// was asked for, and with status 200.
    pub fn parse(format: Format, body: &[u8]) -> Result<Self, AnswerError> {
        match (format, sniff(body)?) {
            (Format::Csv, Look::Text) => csv::parse(body, b','),
            (Format::Tsv, Look::Text) => csv::parse(body, b'\t'),
            (Format::Votable, Look::Xml) => votable::parse(body),
            (Format::Csv | Format::Tsv, Look::Xml) => match votable::parse(body) {
                Ok(_) => {
                    let asked = format.name().to_ascii_uppercase();
                    Err(AnswerError::malformed(format!("a VOTable in place of {asked}")))
                }
                Err(error) => Err(error),
            },
            (Format::Votable, Look::Text) => {
                Err(AnswerError::malformed(format!("no VOTable: it starts `{}`", start(body))))
            }
        }
    }

    /// The place of a column by its name in any case.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }
}

/// What a body looks like.
enum Look {
    Text,
    Xml,
}

fn sniff(body: &[u8]) -> Result<Look, AnswerError> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    if body.is_empty() {
        return Err(AnswerError::Empty);
    }
    if body[0] != b'<' {
        return Ok(Look::Text);
    }
    let head = String::from_utf8_lossy(&body[..body.len().min(2048)]).to_ascii_lowercase();
    match (head.find("<html").or_else(|| head.find("<!doctype html")), head.find("votable")) {
        (Some(html), votable) if votable.is_none_or(|votable| html < votable) => {
            Err(AnswerError::Html(title(body)))
        }
        _ => Ok(Look::Xml),
    }
}

/// The title of a web page, or that it has none.
pub fn title(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(1 << 16)]);
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|start| {
        let start = start + "<title>".len();
        let end = lower[start..].find('<')? + start;
        Some(text[start..end].trim().to_owned())
    });
    match title {
        Some(title) if !title.is_empty() => format!("`{title}`"),
        _ => "without a title".to_owned(),
    }
}

/// The first characters of a body, on one line.
pub fn start(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(240)]);
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(60).collect()
}
