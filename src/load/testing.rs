//! A server that answers as a test says: threads on the loopback, gone with it.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// A request as the server reads it.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: String,
    pub target: String,
    pub head: String,
    pub body: Vec<u8>,
    /// Its place on its connection, from 0.
    pub place: usize,
}

/// Writes an answer; says whether the connection is kept.
pub trait Answer: Fn(&Asked, &mut TcpStream) -> io::Result<bool> + Send + Sync + 'static {}
impl<T: Fn(&Asked, &mut TcpStream) -> io::Result<bool> + Send + Sync + 'static> Answer for T {}

/// See the module.
pub struct Server {
    pub address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
    listener: Option<JoinHandle<()>>,
}

impl Server {
    /// On a free port of the loopback.
    pub fn start(answer: impl Answer) -> Self {
        Self::on(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), answer)
    }

    /// On an address.
    pub fn on(address: SocketAddr, answer: impl Answer) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (accepted, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let threads = Arc::new(Mutex::new(Vec::new()));
        let answer = Arc::new(answer);
        let accept = {
            let (accepted, over) = (Arc::clone(&accepted), Arc::clone(&over));
            let threads = Arc::clone(&threads);
            move || {
                for stream in listener.incoming() {
                    if over.load(Ordering::SeqCst) {
                        return;
                    }
                    let Ok(stream) = stream else { continue };
                    accepted.fetch_add(1, Ordering::SeqCst);
                    let _ = stream.set_nodelay(true);
                    let (answer, over) = (Arc::clone(&answer), Arc::clone(&over));
                    let serve = move || {
                        // A client that goes away is none of the server's business.
                        let _ = serve(stream, &*answer, &over);
                    };
                    threads.lock().unwrap().push(std::thread::spawn(serve));
                }
            }
        };
        let listener = Some(std::thread::spawn(accept));
        Self { address, accepted, over, threads, listener }
    }

    /// Connections that came.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.listener.take().map(JoinHandle::join);
        for thread in std::mem::take(&mut *self.threads.lock().unwrap()) {
            let _ = thread.join();
        }
    }
}

fn serve(mut stream: TcpStream, answer: &impl Answer, over: &AtomicBool) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    for place in 0.. {
        // Nobody waits for a client that is silent.
        stream.set_read_timeout(Some(Duration::from_millis(20)))?;
        while reader.buffer().is_empty() {
            match stream.peek(&mut [0]) {
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if over.load(Ordering::SeqCst) {
                        return Ok(());
                    }
                }
                Err(error) => return Err(error),
            }
        }
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let Some(asked) = read(&mut reader, place)? else { break };
        if !answer(&asked, &mut stream)? {
            break;
        }
    }
    Ok(())
}

fn read(reader: &mut BufReader<TcpStream>, place: usize) -> io::Result<Option<Asked>> {
    let mut head = String::new();
    loop {
        let start = head.len();
        if reader.read_line(&mut head)? == 0 {
            return Ok(None);
        }
        if head[start..].trim_end().is_empty() {
            break;
        }
    }
    let field = |name: &str| {
        head.lines().find_map(|line| {
            let (own, value) = line.split_once(':')?;
            own.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let length = field("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut words = head.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (method, target) = (method.to_owned(), target.to_owned());
    Ok(Some(Asked { method, target, head, body, place }))
}

/// A response with a length.
pub fn plain(status: u16, fields: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("HTTP/1.1 {status} X\r\n{fields}Content-Length: {}\r\n\r\n", body.len())
            .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A body of that length.
pub fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 % 251) as u8).collect()
}

/// A response in chunks of that size.
pub fn in_chunks(body: &[u8], size: usize, trailers: &str) -> Vec<u8> {
    let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for chunk in body.chunks(size.max(1)) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("0\r\n{trailers}\r\n").as_bytes());
    bytes
}

/// Makes the system send a reset when the stream is closed.
pub fn reset_on_close(stream: &TcpStream) {
    let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
}
