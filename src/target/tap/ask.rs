//! What a query's parameters ask for.

use super::error::Refusal;
use super::format::Format;
use super::options::Options;
use super::params::Params;

/// A query, and how its answer is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The query in ADQL.
    pub query: String,
    /// The format of the answer.
    pub format: Format,
    /// Rows of the answer at most; none for its columns alone.
    pub rows: usize,
}

impl Ask {
    /// Reads the parameters.
    ///
    /// # Errors
    /// If one of them is not understood, or there is no query.
    pub fn new(params: &Params, options: &Options) -> Result<Self, Refusal> {
        if let Some(request) = params.one("REQUEST")?
            && !request.eq_ignore_ascii_case("doQuery")
        {
            return Err(Refusal::bad(format!("unknown REQUEST '{request}': expected doQuery")));
        }
        if let Some(version) = params.one("VERSION")?
            && !["1.0", "1.1"].contains(&version)
        {
            return Err(Refusal::bad(format!("unknown VERSION '{version}': expected 1.0 or 1.1")));
        }
        if let Some(language) = params.one("LANG")?
            && !["ADQL", "ADQL-2.0", "ADQL-2.1"]
                .iter()
                .any(|known| language.eq_ignore_ascii_case(known))
        {
            return Err(Refusal::bad(format!(
                "unknown LANG '{language}': expected ADQL, ADQL-2.0 or ADQL-2.1"
            )));
        }
        if params.all("UPLOAD").any(|upload| !upload.is_empty()) {
            return Err(Refusal::bad("UPLOAD: this server takes no tables of its clients"));
        }
        let format = match params.one("RESPONSEFORMAT")?.or(params.one("FORMAT")?) {
            None | Some("") => Format::DEFAULT,
            Some(text) => Format::parse(text).ok_or_else(|| {
                Refusal::bad(format!(
                    "unknown RESPONSEFORMAT '{text}': expected csv, tsv, votable, votable/td or \
                     votable/b2, or one of their media types"
                ))
            })?,
        };
        let rows = match params.one("MAXREC")? {
            None | Some("") => options.default_rows,
            Some(text) => text.trim().parse::<usize>().map_err(|_| {
                Refusal::bad(format!("MAXREC '{text}': expected a number of rows from 0 up"))
            })?,
        };
        let query = params.one("QUERY")?.filter(|query| !query.trim().is_empty());
        let query = query.ok_or_else(|| Refusal::bad("QUERY is missing"))?.to_owned();
        Ok(Self { query, format, rows: rows.min(options.max_rows) })
    }
}
