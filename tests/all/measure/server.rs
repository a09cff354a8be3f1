//! A loopback server that takes its time.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Answers every request after a fixed delay, until it is dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    delay: Duration,
    status: &'static str,
    stop: AtomicBool,
    answered: AtomicUsize,
}

impl Server {
    /// A server whose answers are fine.
    pub fn start(delay_ms: u64) -> Self {
        Self::with_status(delay_ms, "200 OK")
    }

    /// A server whose answers have this status.
    pub fn with_status(delay_ms: u64, status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let delay = Duration::from_millis(delay_ms);
        let (stop, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
        let shared = Arc::new(Shared { delay, status, stop, answered });
        let its = Arc::clone(&shared);
        let accepting = Some(thread::spawn(move || {
            for stream in listener.incoming() {
                if its.stop.load(Ordering::Relaxed) {
                    break;
                }
                let its = Arc::clone(&its);
                // It ends when the client closes, as every client here does.
                thread::spawn(move || _ = its.serve(stream.unwrap()));
            }
        }));
        Self { address, shared, accepting }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Requests that were answered.
    pub fn answered(&self) -> usize {
        self.shared.answered.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        loop {
            let mut length = 0;
            loop {
                line.clear();
                if reader.read_line(&mut line)? == 0 {
                    return Ok(());
                }
                let field = line.trim_end();
                if field.is_empty() {
                    break;
                }
                if let Some((name, value)) = field.split_once(':')
                    && name.eq_ignore_ascii_case("content-length")
                {
                    length = value.trim().parse().unwrap();
                }
            }
            std::io::copy(&mut std::io::Read::take(&mut reader, length), &mut std::io::sink())?;
            thread::sleep(self.delay);
            let head = format!("HTTP/1.1 {}\r\nContent-Length: 5\r\n\r\n", self.status);
            stream.write_all(format!("{head}a\n1\n\n").as_bytes())?;
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Wakes who accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            accepting.join().unwrap();
        }
    }
}
