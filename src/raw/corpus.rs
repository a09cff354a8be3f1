//! `corpus.json` and `corpus.jsonl`: the queries that were sent.

use serde_json::Value;

use super::error::{Place, RawError};
use super::fields::{Fields, LABEL, TEXT};
use super::input::Source;
use super::json;
use super::once::Once;

/// Checks a corpus: each query has an id of its own, a class, and either ADQL
/// or a method and a path. What it holds otherwise is its own affair. Gives the
/// file's sha256, if there is a file.
pub(super) fn check(source: &mut Source<'_>, files: &[String]) -> Result<Option<String>, RawError> {
    match files {
        [] => Ok(None),
        [file] => {
            check_file(source, file)?;
            Ok(source.inputs.last().map(|input| input.sha256.clone()))
        }
        [file, others @ ..] => Err(RawError::Other {
            place: Place::file(file),
            message: format!("expected one corpus, found {} too", others.join(", ")),
        }),
    }
}

fn check_file(source: &mut Source<'_>, file: &str) -> Result<(), RawError> {
    let bytes = source.bytes(file)?;
    let queries = if file.ends_with(".jsonl") {
        let (lines, warning) = json::lines(file, &bytes)?;
        source.warnings.extend(warning);
        lines
    } else {
        json::array(file, &bytes)?
    };
    let mut once = Once::default();
    queries.into_iter().try_for_each(|(place, query)| check_query(place, query, &mut once))
}

fn check_query(place: Place, query: Value, once: &mut Once) -> Result<(), RawError> {
    let mut fields = Fields::of_object(place, query, &[])?;
    let id = fields.need(&["query_id"], LABEL)?;
    fields.need(&["query_class"], LABEL)?;
    let adql = fields.take(&["adql"], TEXT)?;
    let method = fields.take(&["method"], TEXT)?;
    let path = fields.take(&["path"], TEXT)?;
    match (adql, method, path) {
        (Some(_), _, _) | (None, Some(_), Some(_)) => {}
        (None, None, None) => {
            return Err(fields.missing("adql", "this, or `method` and `path`"));
        }
        (None, None, _) => return Err(fields.missing("method", "a method beside `path`")),
        (None, Some(_), None) => return Err(fields.missing("path", "a path beside `method`")),
    }
    once.check(format!("query `{id}`"), fields.place())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(file: &str, text: &str) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(file), text).unwrap();
        let mut source = Source::new(folder.path());
        let sha256 = check(&mut source, &[file.to_owned()]).map_err(|error| error.to_string())?;
        assert_eq!(sha256.as_ref(), source.inputs.first().map(|input| &input.sha256));
        Ok(source.warnings.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn both_forms_and_both_kinds_of_query() {
        let adql = r#"{"query_id": "a", "query_class": "Q01", "adql": "SELECT 1"}"#;
        let http = r#"{"query_id": 2, "query_class": "static", "method": "GET", "path": "/"}"#;
        check_text("corpus.json", &format!("[{adql},\n{http}]")).unwrap();
        let warnings = check_text("corpus.jsonl", &format!("{adql}\n{http}\n{{")).unwrap();
        assert_eq!(warnings, ["corpus.jsonl:3: the last line is half-written, left out"]);
    }

    #[test]
    fn two_corpora_are_refused() {
        let files = ["corpus.json".to_owned(), "corpus.jsonl".to_owned()];
        let message = check(&mut Source::new(".".as_ref()), &files).unwrap_err().to_string();
        assert_eq!(message, "corpus.json: expected one corpus, found corpus.jsonl too");
    }

    #[test]
    fn bad_queries_are_named() {
        for (query, expected) in [
            (r#"{"query_class": "Q"}"#, "corpus.jsonl:1: field `query_id` is missing"),
            (r#"{"query_id": "a"}"#, "corpus.jsonl:1: field `query_class` is missing"),
            (r#"{"query_id": "a", "query_class": "Q"}"#, "field `adql` is missing: expected this"),
            (r#"{"query_id": "a", "query_class": "Q", "path": "/"}"#, "field `method` is missing"),
            (
                r#"{"query_id": "a", "query_class": "Q", "method": "GET"}"#,
                "field `path` is missing",
            ),
        ] {
            let message = check_text("corpus.jsonl", &format!("{query}\n")).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
        let query = r#"{"query_id": "a", "query_class": "Q", "adql": "x"}"#;
        let message = check_text("corpus.jsonl", &format!("{query}\n{query}\n")).unwrap_err();
        assert_eq!(
            message,
            "corpus.jsonl:2: query `a` stands at corpus.jsonl:1 already: expected it once"
        );
    }
}
