//! A client that speaks HTTP/1.1 by itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A client of one address: a connection for each request.
pub struct Client {
    pub address: SocketAddr,
}

/// A response, whole.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether the body came to its end as HTTP has it.
    pub whole: bool,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        header.map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

/// Parameters as the body of a form, or the query of a URL.
pub fn form(parameters: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish()
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Self { address }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    pub fn get(&self, path: &str) -> Response {
        self.send("GET", path, "", "")
    }

    pub fn delete(&self, path: &str) -> Response {
        self.send("DELETE", path, "", "")
    }

    pub fn post(&self, path: &str, parameters: &[(&str, &str)]) -> Response {
        self.send("POST", path, "application/x-www-form-urlencoded", &form(parameters))
    }

    pub fn send(&self, method: &str, path: &str, media_type: &str, body: &str) -> Response {
        let mut stream = self.connect();
        let kind = if media_type.is_empty() {
            String::new()
        } else {
            format!("Content-Type: {media_type}\r\n")
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{kind}\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses a body may have stopped reading.
        let _ = stream.write_all(body.as_bytes());
        read(stream)
    }
}

/// Reads one response from a connection.
pub fn read(stream: TcpStream) -> Response {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no status: {line:?}"));
    let status = status.parse().unwrap();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
            None => break,
        }
    }
    let mut response = Response { status, headers, body: Vec::new(), whole: true };
    if response.header("transfer-encoding") == Some("chunked") {
        response.whole = chunks(&mut reader, &mut response.body);
    } else {
        let length = response.header("content-length").unwrap().parse().unwrap();
        response.body.resize(length, 0);
        reader.read_exact(&mut response.body).unwrap();
    }
    response
}

/// Reads chunks; false where the last of them is missing.
fn chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> bool {
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).is_err() || line.is_empty() {
            return false;
        }
        let length = usize::from_str_radix(line.trim(), 16).unwrap();
        let mut chunk = vec![0; length + 2];
        if reader.read_exact(&mut chunk).is_err() {
            return false;
        }
        chunk.truncate(length);
        body.extend(chunk);
        if length == 0 {
            return true;
        }
    }
}
