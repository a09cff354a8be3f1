//! A TAP service as small as a shape: its answers have the rows that the query
//! asks for by TOP, and mean nothing.

use std::fmt::Write;
use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;

use super::body::Body;
use super::route::{Reply, Request};

/// Rows of an answer whose query has no TOP.
const DEFAULT_ROWS: u64 = 100;

/// Rows that are made; more of them begin again at the first.
const UNIT_ROWS: u64 = 4096;

const CSV_HEAD: &str = "id,ra,dec,mag\n";

const VOTABLE_HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<VOTABLE version="1.4" xmlns="http://www.ivoa.net/xml/VOTable/v1.3">
<RESOURCE type="results">
<INFO name="QUERY_STATUS" value="OK"/>
<TABLE>
<FIELD name="id" datatype="int"/>
<FIELD name="ra" datatype="double" unit="deg"/>
<FIELD name="dec" datatype="double" unit="deg"/>
<FIELD name="mag" datatype="float" unit="mag"/>
<DATA><TABLEDATA>
"#;
const VOTABLE_TAIL: &str = "</TABLEDATA></DATA>\n</TABLE>\n";
const OVERFLOW: &str = "<INFO name=\"QUERY_STATUS\" value=\"OVERFLOW\"/>\n";
const VOTABLE_END: &str = "</RESOURCE>\n</VOTABLE>\n";

const AVAILABILITY: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<vosi:availability xmlns:vosi="http://www.ivoa.net/xml/VOSIAvailability/v1.0"><vosi:available>true</vosi:available></vosi:availability>
"#;

static CSV_ROWS: LazyLock<Bytes> = LazyLock::new(|| {
    rows(|text, [id, ra, dec, mag]| writeln!(text, "{id:04},{ra:0>10.6},{dec:+011.6},{mag:.4}"))
});

static VOTABLE_ROWS: LazyLock<Bytes> = LazyLock::new(|| {
    rows(|text, [id, ra, dec, mag]| {
        let (open, next, end) = ("<TR><TD>", "</TD><TD>", "</TD></TR>");
        writeln!(text, "{open}{id:04}{next}{ra:0>10.6}{next}{dec:+011.6}{next}{mag:.4}{end}")
    })
});

/// The unit of rows, all of one width, so that a number of rows is a number of bytes.
fn rows(row: impl Fn(&mut String, [f64; 4]) -> std::fmt::Result) -> Bytes {
    let mut text = String::new();
    for id in 0..UNIT_ROWS {
        let step = id as f64 / UNIT_ROWS as f64;
        let values = [id as f64, 360.0 * step, 180.0 * step - 90.0, 10.0 + 9.0 * step];
        row(&mut text, values).expect("a string takes all");
    }
    Bytes::from(text)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Csv,
    Votable,
}

/// What a query asks for.
#[derive(Debug, Clone, Copy)]
struct Asked {
    rows: u64,
    form: Form,
    is_overflow: bool,
}

/// The answer of the service at `base` to a request for `rest` below it.
///
/// # Errors
/// If there is no such resource.
pub fn reply(
    request: &Request,
    query: &str,
    base: &str,
    rest: &str,
    is_303: bool,
) -> Result<Reply, String> {
    let mut parts = rest.trim_end_matches('/').split('/');
    let parts = [(); 4].map(|()| parts.next().unwrap_or_default());
    let asked = || asked(&parameters(request, query));
    let xml = |text: &'static str| Ok(Reply::new(200, "application/xml", Body::text(text)));
    match parts {
        ["availability", ..] => xml(AVAILABILITY),
        ["sync", ..] if is_303 => Ok(asked().map_or_else(refused, |asked| {
            Reply::redirect(303, format!("{base}/result/{}", asked.id()))
        })),
        ["sync", ..] => Ok(asked().map_or_else(refused, answer)),
        ["result", id, ..] => Asked::of(id).map(|(asked, _)| answer(asked)),
        ["async", "", ..] => Ok(asked().map_or_else(refused, |asked| {
            let work = pause(&parameters(request, query));
            let ready = request.now_ms + work.as_millis() as u64;
            Reply::redirect(303, format!("{base}/async/{}-{ready}", asked.id()))
        })),
        ["async", id, "phase", ..] if request.is_post => {
            Ok(Reply::redirect(303, format!("{base}/async/{id}")))
        }
        ["async", id, "phase", ..] => {
            let (_, ready) = Asked::of(id)?;
            Ok(Reply::text(200, phase(request.now_ms, ready)))
        }
        ["async", id, "results", "result"] => match Asked::of(id)? {
            (asked, ready) if request.now_ms >= ready => Ok(answer(asked)),
            _ => Ok(Reply::text(404, "the job is not done yet\n")),
        },
        ["async", id, "", ..] => {
            let (_, ready) = Asked::of(id)?;
            let phase = phase(request.now_ms, ready);
            let text = format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
                 <uws:job xmlns:uws=\"http://www.ivoa.net/xml/UWS/v1.0\" version=\"1.1\">\
                 <uws:jobId>{id}</uws:jobId><uws:phase>{phase}</uws:phase></uws:job>\n"
            );
            Ok(Reply::new(200, "application/xml", Body::text(text)))
        }
        _ => Err(format!("tap: {rest:?} is no resource")),
    }
}

/// A job runs as soon as it is made: nothing is kept of it but its name.
fn phase(now_ms: u64, ready_ms: u64) -> &'static str {
    if now_ms >= ready_ms { "COMPLETED" } else { "EXECUTING" }
}

/// The parameters of the query and of a form, names in capitals.
fn parameters(request: &Request, query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.as_bytes())
        .chain(form_urlencoded::parse(request.body))
        .map(|(name, value)| (name.to_ascii_uppercase(), value.into_owned()))
        .collect()
}

fn value<'a>(parameters: &'a [(String, String)], name: &str) -> Option<&'a str> {
    parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// How long a job takes: the parameter WORK, such as `50ms`.
fn pause(parameters: &[(String, String)]) -> Duration {
    value(parameters, "WORK").and_then(|work| super::route::duration(work).ok()).unwrap_or_default()
}

fn asked(parameters: &[(String, String)]) -> Result<Asked, String> {
    let adql = value(parameters, "QUERY").ok_or("QUERY is missing")?;
    let mut words = adql.split_ascii_whitespace();
    let wanted = match words.find(|word| word.eq_ignore_ascii_case("top")) {
        Some(_) => words
            .next()
            .and_then(|word| word.parse().ok())
            .ok_or("TOP: expected a number after it")?,
        None => DEFAULT_ROWS,
    };
    let most = match value(parameters, "MAXREC") {
        Some(most) => most.parse().map_err(|_| format!("MAXREC: {most:?} is no number"))?,
        None => u64::MAX,
    };
    let form = match value(parameters, "RESPONSEFORMAT").or(value(parameters, "FORMAT")) {
        Some(form) if form.contains("csv") => Form::Csv,
        Some(form) if form.contains("votable") => Form::Votable,
        None => Form::Votable,
        Some(form) => return Err(format!("RESPONSEFORMAT: {form:?} is neither csv nor votable")),
    };
    Ok(Asked { rows: wanted.min(most), form, is_overflow: wanted > most })
}

impl Asked {
    /// All of it in one word, so that nothing has to be kept.
    fn id(self) -> String {
        let form = if self.form == Form::Csv { "csv" } else { "votable" };
        let overflow = if self.is_overflow { "over" } else { "all" };
        format!("{}-{form}-{overflow}", self.rows)
    }

    /// What an id means, and when its job is ready in milliseconds.
    fn of(id: &str) -> Result<(Self, u64), String> {
        let wrong = || format!("tap: {id:?} is no job");
        let mut parts = id.split('-');
        let mut next = || parts.next();
        let rows = next().and_then(|rows| rows.parse().ok()).ok_or_else(wrong)?;
        let form = match next() {
            Some("csv") => Form::Csv,
            Some("votable") => Form::Votable,
            _ => return Err(wrong()),
        };
        let is_overflow = next() == Some("over");
        let ready = next().map_or(Ok(0), |ready| ready.parse().map_err(|_| wrong()))?;
        Ok((Self { rows, form, is_overflow }, ready))
    }
}

fn answer(asked: Asked) -> Reply {
    let (kind, head, unit, tail) = match asked.form {
        Form::Csv => ("text/csv", CSV_HEAD, &*CSV_ROWS, String::new()),
        Form::Votable => {
            let overflow = if asked.is_overflow { OVERFLOW } else { "" };
            let tail = format!("{VOTABLE_TAIL}{overflow}{VOTABLE_END}");
            ("application/x-votable+xml", VOTABLE_HEAD, &*VOTABLE_ROWS, tail)
        }
    };
    let repeat = asked.rows.saturating_mul(unit.len() as u64 / UNIT_ROWS);
    let body = Body {
        head: Bytes::from_static(head.as_bytes()),
        unit: unit.clone(),
        repeat,
        tail: tail.into(),
    };
    Reply::new(200, kind, body)
}

fn refused(reason: String) -> Reply {
    let reason = reason.replace('&', "&amp;").replace('<', "&lt;");
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <VOTABLE version=\"1.4\" xmlns=\"http://www.ivoa.net/xml/VOTable/v1.3\">\n\
         <RESOURCE type=\"results\"><INFO name=\"QUERY_STATUS\" value=\"ERROR\">{reason}</INFO>\
         </RESOURCE>\n</VOTABLE>\n"
    );
    Reply::new(400, "application/x-votable+xml", Body::text(text))
}
