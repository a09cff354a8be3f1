//! The head of a response, and the bytes of a request.

use crate::load::workload::Prepared;

/// The longest head that is taken for one.
pub const LONGEST: usize = 64 << 10;

/// Header fields that a head may have.
const FIELDS: usize = 100;

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// So many bytes; 0 where there is no body.
    Length(u64),
    Chunked,
    /// The connection's end.
    Close,
}

/// What a head says, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head<'a> {
    pub status: u16,
    pub framing: Framing,
    /// Whether the connection can take another request afterwards.
    pub keep: bool,
    pub location: Option<&'a [u8]>,
    pub content_type: Option<&'a [u8]>,
    /// Bytes of the head itself.
    pub length: usize,
}

/// A head that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadHead;

/// Reads a head; none where there is more to come.
pub fn parse(data: &[u8], is_head_request: bool) -> Result<Option<Head<'_>>, BadHead> {
    let mut fields = [const { std::mem::MaybeUninit::uninit() }; FIELDS];
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let length = match config.parse_response_with_uninit_headers(&mut response, data, &mut fields) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if data.len() < LONGEST => return Ok(None),
        Ok(httparse::Status::Partial) | Err(_) => return Err(BadHead),
    };
    let status = response.code.ok_or(BadHead)?;
    let mut head = Head {
        status,
        framing: Framing::Close,
        keep: response.version == Some(1),
        location: None,
        content_type: None,
        length,
    };
    let (mut announced, mut chunked) = (None, false);
    for field in response.headers.iter() {
        // Most names are told apart by their length.
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        match field.name.len() {
            14 if is("content-length") => {
                let found = number(field.value).ok_or(BadHead)?;
                if announced.is_some_and(|announced| announced != found) {
                    return Err(BadHead);
                }
                announced = Some(found);
            }
            17 if is("transfer-encoding") => chunked = has_token(field.value, b"chunked"),
            10 if is("connection") => {
                if has_token(field.value, b"close") {
                    head.keep = false;
                } else if has_token(field.value, b"keep-alive") {
                    head.keep = true;
                }
            }
            8 if is("location") => head.location = Some(field.value),
            12 if is("content-type") => head.content_type = Some(field.value),
            _ => {}
        }
    }
    let bodiless = is_head_request || status < 200 || status == 204 || status == 304;
    head.framing = match announced {
        _ if bodiless => Framing::Length(0),
        _ if chunked => Framing::Chunked,
        Some(length) => Framing::Length(length),
        None => Framing::Close,
    };
    head.keep &= head.framing != Framing::Close;
    Ok(Some(head))
}

/// A Content-Length; a list of the same number is that number.
fn number(value: &[u8]) -> Option<u64> {
    let mut numbers = value.split(|byte| *byte == b',').map(|part| {
        let part = part.trim_ascii();
        let digits = !part.is_empty() && part.iter().all(u8::is_ascii_digit);
        digits.then(|| std::str::from_utf8(part).ok()?.parse().ok()).flatten()
    });
    let first = numbers.next()??;
    numbers.all(|number| number == Some(first)).then_some(first)
}

fn has_token(value: &[u8], token: &[u8]) -> bool {
    value.split(|byte| *byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

/// A request as bytes. `target` stands as it is in the first line.
pub fn request(authority: &str, target: &str, request: &Prepared, keep_alive: bool) -> Vec<u8> {
    let mut text = format!("{} {target} HTTP/1.1\r\nHost: {authority}\r\n", request.method);
    let has = |name: &str| request.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    if !has("user-agent") {
        text += concat!("User-Agent: tapstat/", env!("CARGO_PKG_VERSION"), "\r\n");
    }
    if !has("accept") {
        text += "Accept: */*\r\n";
    }
    for (name, value) in &request.headers {
        text += &format!("{name}: {value}\r\n");
    }
    let may_have_body = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
    if may_have_body || !request.body.is_empty() {
        text += &format!("Content-Length: {}\r\n", request.body.len());
    }
    if !keep_alive {
        text += "Connection: close\r\n";
    }
    text += "\r\n";
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(&request.body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing(text: &str) -> Result<Option<(u16, Framing, bool)>, BadHead> {
        let head = parse(text.as_bytes(), false)?;
        Ok(head.map(|head| (head.status, head.framing, head.keep)))
    }

    #[test]
    fn the_framing_is_found() {
        for (text, expected) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n", (200, Framing::Length(12), true)),
            ("HTTP/1.1 200\r\ncontent-length: 5, 5\r\n\r\n", (200, Framing::Length(5), true)),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\nContent-Length: 3\r\n\r\n",
                (200, Framing::Chunked, true),
            ),
            ("HTTP/1.1 200 OK\r\n\r\n", (200, Framing::Close, false)),
            ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", (200, Framing::Length(1), false)),
            (
                "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\n",
                (200, Framing::Length(1), true),
            ),
            (
                "HTTP/1.1 500 No\r\nConnection: x, close\r\nContent-Length: 1\r\n\r\n",
                (500, Framing::Length(1), false),
            ),
            ("HTTP/1.1 204 No\r\nContent-Length: 9\r\n\r\n", (204, Framing::Length(0), true)),
            ("HTTP/1.1 304 No\r\n\r\n", (304, Framing::Length(0), true)),
            ("HTTP/1.1 100 Continue\r\n\r\n", (100, Framing::Length(0), true)),
        ] {
            assert_eq!(framing(text), Ok(Some(expected)), "{text}");
        }
        let head = parse(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n", true).unwrap().unwrap();
        assert_eq!(head.framing, Framing::Length(0));
        let head = parse(b"HTTP/1.1 303 See\r\nLocation: /x\r\n\r\nabc", false).unwrap().unwrap();
        assert_eq!((head.location, head.length), (Some(&b"/x"[..]), 34));
    }

    #[test]
    fn half_a_head_is_waited_for() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n";
        for length in 0..text.len() {
            assert_eq!(framing(&text[..length]), Ok(None), "{length}");
        }
    }

    #[test]
    fn bad_heads_are_refused() {
        for text in [
            "SSH-2.0-OpenSSH\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        ] {
            assert_eq!(framing(text), Err(BadHead), "{text}");
        }
        let long = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(LONGEST));
        assert_eq!(framing(&long), Err(BadHead));
    }
}
