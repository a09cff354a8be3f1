//! The corpus: queries, and the requests that are made of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::error::CampaignError;
use super::targets::{Kind, Target};
use crate::load::Workload;
use crate::load::workload::{Ask, Expect, Query, TapOptions};
use crate::protocol::{Mode, Protocol};
use crate::raw::Hasher;

/// The query class that is a mix of the others.
pub const MIX: &str = "mix";

/// A corpus as it is read.
#[derive(Debug, Clone)]
pub struct Corpus {
    /// Its queries, in the file's order.
    pub queries: Vec<Query>,
    /// The file, byte for byte.
    pub bytes: Vec<u8>,
    /// sha256 of the file.
    pub sha256: String,
    /// `corpus.jsonl` or `corpus.json`: what it is called in the run directory.
    pub name: &'static str,
    path: PathBuf,
}

#[derive(Deserialize)]
struct Line {
    query_id: Value,
    query_class: Value,
    adql: Option<String>,
    method: Option<String>,
    path: Option<String>,
    headers: Option<BTreeMap<String, String>>,
    body: Option<String>,
    expect: Option<Expected>,
    rows_min: Option<u64>,
    rows_max: Option<u64>,
}

/// What a checked response must be.
#[derive(Deserialize)]
struct Expected {
    status: Option<u16>,
    sha256: Option<String>,
    rows: Option<u64>,
}

impl Corpus {
    /// Reads `*.jsonl`, one query a line, or else a JSON array of them.
    ///
    /// # Errors
    /// If it cannot be read, or a query lacks what is needed to send it.
    pub fn read(path: &Path) -> Result<Self, CampaignError> {
        let bytes = std::fs::read(path).map_err(CampaignError::io(path))?;
        let wrong = |message: String| CampaignError::Corpus { path: path.to_owned(), message };
        let is_lines = path.extension().is_some_and(|extension| extension == "jsonl");
        let lines: Vec<Line> = if is_lines {
            let lines = bytes.split(|byte| *byte == b'\n').enumerate();
            let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
            lines
                .map(|(at, line)| {
                    serde_json::from_slice(line)
                        .map_err(|error| wrong(format!("line {}: {error}", at + 1)))
                })
                .collect::<Result<_, _>>()?
        } else {
            serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?
        };
        let mut queries: Vec<Query> = Vec::with_capacity(lines.len());
        let mut ids = std::collections::BTreeSet::new();
        for (at, line) in lines.into_iter().enumerate() {
            let query =
                query(line).map_err(|message| wrong(format!("query {}: {message}", at + 1)))?;
            if !ids.insert(query.query_id.clone()) {
                return Err(wrong(format!(
                    "query {}: `{}` is there already",
                    at + 1,
                    query.query_id
                )));
            }
            queries.push(query);
        }
        if queries.is_empty() {
            return Err(wrong("has no query".to_owned()));
        }
        let mut hasher = Hasher::new();
        hasher.update(&bytes);
        let name = if is_lines { "corpus.jsonl" } else { "corpus.json" };
        Ok(Self { queries, bytes, sha256: hasher.finish(), name, path: path.to_owned() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses a corpus that lacks a class, or whose queries a target cannot be asked.
    ///
    /// # Errors
    /// The first thing that is missing.
    pub fn check(&self, protocol: &Protocol, target: (&str, &Target)) -> Result<(), CampaignError> {
        for format in &protocol.grid.formats {
            for class in &protocol.grid.classes {
                self.workload(protocol, target, class, format)?;
            }
        }
        Ok(())
    }

    /// The requests of a class, or of the mix, for a target.
    ///
    /// # Errors
    /// If there are none, or they cannot be sent.
    pub fn workload(
        &self,
        protocol: &Protocol,
        (name, target): (&str, &Target),
        class: &str,
        format: &str,
    ) -> Result<Arc<Workload>, CampaignError> {
        let wrong = |message: String| CampaignError::Corpus { path: self.path.clone(), message };
        let mix = &protocol.workload.mix;
        let weights: Vec<(String, f64)> = match class {
            MIX if !mix.is_empty() => mix.iter().map(|(class, w)| (class.clone(), *w)).collect(),
            class => vec![(class.to_owned(), 1.0)],
        };
        let asynchronous = protocol.measure.mode == Mode::Async;
        let options = TapOptions {
            response_format: (format != "-").then(|| format.to_owned()),
            maxrec: protocol.workload.maxrec.and_then(|maxrec| u64::try_from(maxrec).ok()),
            asynchronous,
            ..TapOptions::default()
        };
        let mut requests = Vec::new();
        for (class, _) in &weights {
            let members = self.queries.iter().filter(|query| query.query_class == *class);
            let before = requests.len();
            for query in members {
                let is_adql = matches!(query.ask, Ask::Adql(_));
                if is_adql != (target.kind == Kind::Tap) {
                    return Err(wrong(format!(
                        "query `{}` {}, which target `{name}` cannot be asked",
                        query.query_id,
                        if is_adql { "is ADQL" } else { "is plain HTTP" }
                    )));
                }
                let mut request = query.prepare(&options);
                let rows = request.expect.rows;
                request.expect.rows = rows.map(|rows| options.maxrec.map_or(rows, |m| rows.min(m)));
                for (header, value) in &target.headers {
                    if !request.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(header)) {
                        request.headers.push((header.clone(), value.clone()));
                    }
                }
                requests.push(request);
            }
            if requests.len() == before {
                return Err(wrong(format!("has no query of class `{class}`")));
            }
        }
        let workload = Workload::mix(requests, &weights);
        Ok(Arc::new(workload.map_err(|error| wrong(error.to_string()))?))
    }
}

fn query(line: Line) -> Result<Query, String> {
    let label = |value: Value, field: &str| match value {
        Value::String(text) if !text.is_empty() => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(format!("`{field}` is neither text nor a number")),
    };
    let ask = match (line.adql, line.method, line.path) {
        (Some(adql), _, _) => Ask::Adql(adql),
        (None, Some(method), Some(path)) => Ask::Http {
            method,
            path,
            headers: line.headers.unwrap_or_default().into_iter().collect(),
            body: line.body.unwrap_or_default().into_bytes(),
        },
        _ => return Err("expected `adql`, or `method` and `path`".to_owned()),
    };
    let mut expect = line.expect.map_or_else(Expect::default, |expected| Expect {
        status: expected.status,
        sha256: expected.sha256.map(|digits| digits.to_ascii_lowercase()),
        rows: expected.rows,
    });
    // Bounds that are one number say what to expect.
    expect.rows = expect.rows.or(line.rows_min.filter(|_| line.rows_min == line.rows_max));
    Ok(Query {
        query_id: label(line.query_id, "query_id")?,
        query_class: label(line.query_class, "query_class")?,
        ask,
        expect,
    })
}

#[cfg(test)]
mod tests {
    use super::super::targets::Targets;
    use super::*;

    fn read(text: &str) -> Result<Corpus, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corpus.jsonl");
        std::fs::write(&path, text).unwrap();
        Corpus::read(&path).map_err(|error| error.to_string())
    }

    const TWO: &str = r#"{"query_id": "a", "query_class": "Q01", "adql": "SELECT 1"}

{"query_id": 2, "query_class": "Q02", "adql": "SELECT 2", "expect": {"rows": 3}, "note": 1}
"#;

    fn protocol(grid: &str) -> Protocol {
        let text =
            format!("[workload]\nmaxrec = 9\nmix = {{ Q01 = 1, Q02 = 2 }}\n[grid]\n{grid}\n");
        Protocol::parse(&text, "p").unwrap()
    }

    fn target(more: &str) -> Target {
        let text = format!("[target.t]\nbase_url = \"http://localhost/tap\"\n{more}\n");
        Targets::parse(text, "t", Path::new(".")).unwrap().target["t"].clone()
    }

    #[test]
    fn tap_requests_have_maxrec_and_format() {
        let corpus = read(TWO).unwrap();
        let target = target("headers = { X-Key = \"k\" }");
        let workload = corpus.workload(&protocol(""), ("t", &target), "Q02", "csv").unwrap();
        let [request] = workload.requests() else { panic!("one query of the class") };
        let body = String::from_utf8(request.body.clone()).unwrap();
        assert!(body.contains("MAXREC=9") && body.contains("RESPONSEFORMAT=csv"), "{body}");
        assert!(body.contains("LANG=ADQL") && body.contains("REQUEST=doQuery"), "{body}");
        assert_eq!((request.query_id.as_str(), request.expect.rows), ("2", Some(3)));
        assert!(request.headers.contains(&("X-Key".to_owned(), "k".to_owned())));
        let mix = corpus.workload(&protocol(""), ("t", &target), "mix", "csv").unwrap();
        assert_eq!(mix.requests().len(), 2);
    }

    #[test]
    fn what_cannot_be_asked_is_named() {
        let corpus = read(TWO).unwrap();
        let grid = |classes: &str| protocol(&format!("formats = [\"csv\"]\nclasses = [{classes}]"));
        let said = |classes: &str, more: &str| {
            corpus.check(&grid(classes), ("t", &target(more))).unwrap_err().to_string()
        };
        assert!(said("\"Q01\", \"Q09\"", "").ends_with("has no query of class `Q09`"));
        assert!(said("\"Q01\"", "kind = \"http\"").contains("query `a` is ADQL"));
        corpus.check(&grid("\"Q01\", \"mix\""), ("t", &target(""))).unwrap();
    }

    #[test]
    fn bad_lines_are_named() {
        let twice = TWO.replace("\"query_id\": 2", "\"query_id\": \"a\"");
        for (text, expected) in [
            ("", "has no query"),
            ("{\n", "line 1: "),
            (r#"{"query_id": "a", "query_class": "Q"}"#, "query 1: expected `adql`, or"),
            (r#"{"query_id": [], "query_class": "Q", "adql": "x"}"#, "`query_id` is neither"),
            (&twice, "query 2: `a` is there already"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
