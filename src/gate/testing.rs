//! Tiny servers for the tests: each connection is answered by a function.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub struct Came {
    pub method: String,
    pub target: String,
    pub body: String,
}

impl Came {
    /// The path without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// A parameter of the form.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs = form_urlencoded::parse(self.body.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }
}

/// A server on a port of its own, which ends with the value.
pub struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// A server that writes what `answer` writes, and closes.
    pub fn start(answer: impl Fn(&Came, &mut TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(mut stream) = stream else { continue };
                if let Some(came) = read(&stream) {
                    answer(&came, &mut stream);
                }
            }
        });
        Self { address, stop, thread: Some(thread) }
    }

    /// One that answers 200 with a body and its length.
    pub fn of(answer: impl Fn(&Came) -> (u16, &'static str, String) + Send + 'static) -> Self {
        Self::start(move |came, stream| {
            let (status, content_type, body) = answer(came);
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status} X\r\nServer: tiny/1\r\nContent-Type: {content_type}\r\n\
                 Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        })
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The URL of a port where nobody listens.
pub fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/tap", listener.local_addr().unwrap())
}

fn read(stream: &TcpStream) -> Option<Came> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Came { method, target, body: String::from_utf8(body).ok()? })
}
