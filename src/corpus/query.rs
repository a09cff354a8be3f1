//! The lines of `corpus.jsonl`: queries with what is known about their answers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::CorpusError;

/// What an answer is made of, which decides how two of them are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Rows of the table, each with its identifier.
    Rows,
    /// Figures over many rows: no order can be asked for by identifier.
    Aggregate,
    /// What the server says of itself: it only has to answer.
    Metadata,
    /// A document of a plain HTTP server.
    Http,
}

/// A query of the corpus. Fields that a corpus from elsewhere lacks are filled
/// in by what its text shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Query {
    /// The first 16 hexadecimal digits of the sha256 of the text.
    #[serde(deserialize_with = "label")]
    pub query_id: String,
    #[serde(deserialize_with = "label")]
    pub query_class: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Whether every TAP server should give the same answer.
    #[serde(default = "yes")]
    pub portable: bool,
    /// The identifier by which the rows are put in order before answers are
    /// compared, as the query has to write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adql: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// What was drawn for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Value>,
    /// Rows that the answer has at least and at most, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_min: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_max: Option<u64>,
}

fn yes() -> bool {
    true
}

/// A text, or a number, which some corpora have for one.
fn label<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(de::Error::custom("expected a text or a number")),
    }
}

impl Query {
    /// What kind its answer is of.
    pub fn kind(&self) -> Kind {
        let Some(adql) = &self.adql else { return Kind::Http };
        self.kind.unwrap_or_else(|| {
            let text = adql.to_ascii_lowercase();
            if text.contains("tap_schema.") {
                Kind::Metadata
            } else if text.contains("group by") || !text.contains("from") {
                Kind::Aggregate
            } else {
                Kind::Rows
            }
        })
    }

    /// Whether a number of rows is one that the corpus expects.
    pub fn expects(&self, rows: u64) -> bool {
        self.rows_min.is_none_or(|least| rows >= least)
            && self.rows_max.is_none_or(|most| rows <= most)
    }
}

/// The id of a query with this text.
pub fn query_id(text: &str) -> String {
    let mut id = hex(&Sha256::digest(text));
    id.truncate(16);
    id
}

/// Bytes in lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The queries of a corpus, in its order.
#[derive(Debug, Clone, Default)]
pub struct Corpus {
    pub queries: Vec<Query>,
    /// Of the file.
    pub sha256: Option<String>,
}

impl Corpus {
    /// Reads `corpus.jsonl` or `corpus.json`.
    ///
    /// # Errors
    /// If it cannot be read, or a query in it lacks what it needs.
    pub fn read(path: &Path) -> Result<Self, CorpusError> {
        let error =
            |line, message: String| CorpusError::Query { path: path.to_owned(), line, message };
        let bytes = std::fs::read(path)
            .map_err(|source| CorpusError::Io { path: path.to_owned(), source })?;
        let text = std::str::from_utf8(&bytes).map_err(|_| error(1, "not UTF-8".to_owned()))?;
        let is_array = path.extension().is_some_and(|suffix| suffix == "json");
        let queries: Vec<(usize, Query)> = if is_array {
            let list: Vec<Query> = serde_json::from_str(text)
                .map_err(|found| error(found.line(), found.to_string()))?;
            list.into_iter().map(|query| (1, query)).collect()
        } else {
            let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
            let parse = |(index, line)| {
                let query = serde_json::from_str(line)
                    .map_err(|found| error(index + 1, found.to_string()))?;
                Ok((index + 1, query))
            };
            lines.map(parse).collect::<Result<_, CorpusError>>()?
        };
        let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
        for (line, query) in &queries {
            if query.adql.is_none() && query.path.is_none() {
                let message = format!("query `{}` has no `adql` and no `path`", query.query_id);
                return Err(error(*line, message));
            }
            if let Some(first) = lines.insert(&query.query_id, *line) {
                let message = format!("query `{}` is on line {first} already", query.query_id);
                return Err(error(*line, message));
            }
        }
        if queries.is_empty() {
            return Err(error(1, "no query in it".to_owned()));
        }
        let sha256 = Some(hex(&Sha256::digest(&bytes)));
        Ok(Self { queries: queries.into_iter().map(|(_, query)| query).collect(), sha256 })
    }

    /// The classes by name, each with its queries in their order.
    pub fn classes(&self) -> BTreeMap<&str, Vec<&Query>> {
        let mut classes: BTreeMap<&str, Vec<&Query>> = BTreeMap::new();
        for query in &self.queries {
            classes.entry(&query.query_class).or_default().push(query);
        }
        classes
    }
}

/// Where a corpus lies: the file itself, or the folder that `tapstat corpus`
/// made.
pub fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(super::QUERIES) } else { path.to_owned() }
}
