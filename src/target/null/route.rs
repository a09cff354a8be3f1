//! What a path asks for. `docs/null-target.md` is the list for readers.

use std::time::Duration;

use super::body::Body;
use super::tap;

/// The bytes of a body whose path does not say how many.
const DEFAULT_BYTES: u64 = 1024;

/// The bytes of the largest body: 16 GiB.
const MOST_BYTES: u64 = 16 << 30;

/// How the end of a body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// By Content-Length.
    Length,
    /// In chunks.
    Chunked,
    /// In chunks, with a trailer field after the last.
    Trailers,
    /// By the end of the connection.
    UntilClose,
}

/// What goes wrong with an answer, on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection is reset before a byte of the answer.
    ResetNow,
    /// It is reset within the head.
    ResetHead,
    /// It is reset half-way through the body.
    ResetBody,
    /// It is closed before a byte of the answer.
    CloseBefore,
    /// The server's side is shut half-way through the body; the other stays open.
    CloseHalf,
    /// It is closed after the answer, which did not say so.
    CloseAfter,
    /// Content-Length promises twice what is sent before the connection is closed.
    LengthShort,
    /// More is sent than Content-Length says.
    LengthLong,
    /// The head never comes.
    NoHead,
    /// What comes is no HTTP.
    Garbage,
}

/// One answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// How long it is held back.
    pub wait: Duration,
    pub status: u16,
    /// Fields beside those of the framing.
    pub fields: Vec<(&'static str, String)>,
    pub body: Body,
    /// The body begins again whenever it ends.
    pub is_endless: bool,
    pub framing: Framing,
    /// The body comes in pieces of so many bytes, with so long a pause after each.
    pub pace: Option<(Duration, usize)>,
    /// The answer says HTTP/1.0.
    pub is_http10: bool,
    pub fault: Option<Fault>,
}

impl Reply {
    pub fn new(status: u16, content_type: &str, body: Body) -> Self {
        Self {
            wait: Duration::ZERO,
            status,
            fields: vec![("content-type", content_type.to_owned())],
            body,
            is_endless: false,
            framing: Framing::Length,
            pace: None,
            is_http10: false,
            fault: None,
        }
    }

    pub fn text(status: u16, text: impl Into<String>) -> Self {
        Self::new(status, "text/plain", Body::text(text.into()))
    }

    fn filler(len: u64) -> Self {
        Self::new(200, "text/plain", Body::filler(len))
    }

    pub fn redirect(status: u16, location: String) -> Self {
        let mut reply = Self::new(status, "text/plain", Body::default());
        reply.fields.push(("location", location));
        reply
    }
}

/// What a path asks for, over all its requests.
#[derive(Debug, Clone)]
pub enum Route {
    /// The same answer each time.
    Fixed(Reply),
    /// Requests that come `at` to `at + length` after the first of this path
    /// are held back to the end of that time.
    Stall { at: Duration, length: Duration, then: Reply },
    /// Of every `every` requests of this path, the first `burst` get `first`.
    Burst { burst: u64, every: u64, first: Reply, then: Reply },
}

/// A request, as far as routes care.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Path and query.
    pub target: &'a str,
    /// The body of a POST.
    pub body: &'a [u8],
    pub is_post: bool,
    /// Milliseconds since the server began.
    pub now_ms: u64,
}

/// The route of a request. What no route knows is answered by 404 and a
/// sentence that says why.
pub fn route(request: &Request) -> Route {
    let (path, query) = request.target.split_once('?').unwrap_or((request.target, ""));
    let parser = Parser { request, query };
    match parser.parse(path, path) {
        Ok(route) => route,
        Err(reason) => Route::Fixed(Reply::text(404, format!("{reason}\n"))),
    }
}

struct Parser<'a> {
    request: &'a Request<'a>,
    query: &'a str,
}

impl Parser<'_> {
    /// `rest` is what is left of `path` to be parsed.
    fn parse(&self, path: &str, whole: &str) -> Result<Route, String> {
        let (word, rest) = split(whole);
        match word {
            "stall" => Ok(Route::Stall {
                at: self.duration("at")?,
                length: self.duration("for")?,
                then: self.reply(path, rest)?,
            }),
            "status" if self.number("burst")?.is_some() => {
                let (code, rest) = split(rest);
                let burst = self.number("burst")?.unwrap_or_default();
                Ok(Route::Burst {
                    burst,
                    every: self.number("every")?.unwrap_or(u64::MAX).max(1),
                    first: status(number("status", code)?)?,
                    then: self.reply(path, rest)?,
                })
            }
            // A wait before a stall or a burst is added to both its answers.
            "delay" => {
                let (wait, rest) = split(rest);
                let wait = duration(wait)?;
                let mut route = self.parse(path, rest)?;
                match &mut route {
                    Route::Fixed(reply) | Route::Stall { then: reply, .. } => reply.wait += wait,
                    Route::Burst { first, then, .. } => {
                        first.wait += wait;
                        then.wait += wait;
                    }
                }
                Ok(route)
            }
            _ => self.reply(path, whole).map(Route::Fixed),
        }
    }

    /// The answer that the rest of a path asks for.
    fn reply(&self, path: &str, rest: &str) -> Result<Reply, String> {
        let (word, after) = split(rest);
        let prefix = path[..path.len() - after.len()].trim_end_matches('/');
        let prefix = &prefix[..prefix.len() - word.len()];
        let then = || self.reply(path, after);
        match word {
            "" => Ok(Reply::filler(DEFAULT_BYTES)),
            "bytes" => match number("bytes", split(after).0)? {
                bytes if bytes <= MOST_BYTES => Ok(Reply::filler(bytes)),
                bytes => Err(format!("bytes: {bytes} is more than {MOST_BYTES}")),
            },
            "delay" => {
                let (wait, after) = split(after);
                let mut reply = self.reply(path, after)?;
                reply.wait += duration(wait)?;
                Ok(reply)
            }
            "chunked" => then().map(|reply| Reply { framing: Framing::Chunked, ..reply }),
            "trailers" => then().map(|reply| Reply { framing: Framing::Trailers, ..reply }),
            "until-close" => then().map(|reply| Reply { framing: Framing::UntilClose, ..reply }),
            "http10" => {
                then().map(|reply| Reply { framing: Framing::UntilClose, is_http10: true, ..reply })
            }
            "slow" => {
                let (pause, after) = split(after);
                let (piece, after) = split(after);
                let piece = number::<usize>("piece", piece)?.max(1);
                let pace = Some((duration(pause)?, piece));
                self.reply(path, after).map(|reply| Reply { pace, ..reply })
            }
            "redirect" => {
                let (code, after) = split(after);
                let (hops, after) = split(after);
                let code = number::<u16>("redirect", code)?;
                if !(300..400).contains(&code) {
                    return Err(format!("redirect: {code} is no status of 300 to 399"));
                }
                match number::<u64>("hops", hops)? {
                    0 => self.reply(path, after),
                    hops => {
                        let mark = if self.query.is_empty() { "" } else { "?" };
                        let query = self.query;
                        let left = hops - 1;
                        let location =
                            format!("{prefix}redirect/{code}/{left}/{after}{mark}{query}");
                        Ok(Reply::redirect(code, location))
                    }
                }
            }
            "status" => status(number("status", split(after).0)?),
            "never" => match split(after).0 {
                "head" => Ok(faulty(Reply::filler(0), Fault::NoHead)),
                "fast" => Ok(endless(None)),
                "" => Ok(endless(Some((Duration::from_millis(10), 1024)))),
                other => Err(format!("never: {other:?} is none of head, fast")),
            },
            "garbage" => Ok(faulty(Reply::filler(0), Fault::Garbage)),
            "reset" | "close" | "length" => {
                let (how, after) = split(after);
                let fault = match (word, how) {
                    ("reset", "now") => Fault::ResetNow,
                    ("reset", "head") => Fault::ResetHead,
                    ("reset", "body") => Fault::ResetBody,
                    ("close", "before") => Fault::CloseBefore,
                    ("close", "half") => Fault::CloseHalf,
                    ("close", "after") => Fault::CloseAfter,
                    ("length", "wrong" | "short") => Fault::LengthShort,
                    ("length", "long") => Fault::LengthLong,
                    _ => return Err(format!("{word}: {how:?} is not known")),
                };
                self.reply(path, after).map(|reply| faulty(reply, fault))
            }
            "tap" | "tap303" => {
                let base = format!("{prefix}{word}");
                tap::reply(self.request, self.query, &base, after, word == "tap303")
            }
            other => Err(format!("{other:?} is no route of the null target")),
        }
    }

    /// A value of the query.
    fn value(&self, name: &str) -> Option<String> {
        form_urlencoded::parse(self.query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }

    fn duration(&self, name: &str) -> Result<Duration, String> {
        let value = self.value(name).ok_or_else(|| format!("?{name}=…: not given"))?;
        duration(&value)
    }

    fn number(&self, name: &str) -> Result<Option<u64>, String> {
        self.value(name).map(|value| number(name, &value)).transpose()
    }
}

fn faulty(reply: Reply, fault: Fault) -> Reply {
    Reply { fault: Some(fault), ..reply }
}

fn endless(pace: Option<(Duration, usize)>) -> Reply {
    let reply = Reply::filler(1 << 16);
    Reply { is_endless: true, framing: Framing::Chunked, pace, ..reply }
}

fn status(code: u16) -> Result<Reply, String> {
    if !(200..600).contains(&code) {
        return Err(format!("status: {code} is no status of 200 to 599"));
    }
    let mut reply = Reply::text(code, format!("{code}\n"));
    if code == 429 || code == 503 {
        reply.fields.push(("retry-after", "1".to_owned()));
    }
    if code == 204 || code == 304 {
        reply.body = Body::default();
    }
    Ok(reply)
}

/// The first word of a path, and what follows it without its slash.
fn split(path: &str) -> (&str, &str) {
    let path = path.trim_start_matches('/');
    path.split_once('/').unwrap_or((path, ""))
}

fn number<T: std::str::FromStr>(what: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{what}: {text:?} is not a number that fits"))
}

/// A duration such as `5ms`, `2s`, `100us`.
///
/// # Errors
/// If it has no such unit or no number.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no duration such as 100us, 5ms or 2s");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let value: f64 = digits.parse().map_err(|_| wrong())?;
    let scale = match &text[digits.len()..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return Err(wrong()),
    };
    Duration::try_from_secs_f64(value * scale).map_err(|_| wrong())
}
