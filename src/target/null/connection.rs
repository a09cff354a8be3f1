//! One connection of HTTP/1.1, in the clear or over TLS: requests in, the steps
//! of their answers out. It never blocks.

use std::collections::HashMap;
use std::io::{IoSlice, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use memchr::memmem;
use rustix::io::Errno;
use rustix::net::{RecvFlags, Shutdown, recv, shutdown, sockopt};
use rustls::ServerConnection;

use super::prepared::{Prepared, Shared};
use super::route::{Request, Route, route};
use super::script::{After, Script, Step, script};

/// Slices handed to one write.
const SLICES: usize = 64;

/// Bytes of requests that are kept while an answer is under way.
const MOST_INPUT: usize = 8 << 20;

/// Paths that a thread keeps the answers of.
const MOST_PREPARED: usize = 4096;

/// What a thread keeps for all its connections.
pub struct Kitchen {
    pub shared: Arc<Shared>,
    /// The delay of every answer.
    pub delay: Duration,
    prepared: HashMap<Box<[u8]>, Arc<Prepared<Script>>>,
    buffer: Box<[u8]>,
}

impl Kitchen {
    pub fn new(shared: Arc<Shared>, delay: Duration) -> Self {
        let buffer = vec![0; 64 << 10].into_boxed_slice();
        Self { shared, delay, prepared: HashMap::new(), buffer }
    }

    /// The answers to what `key` stands for.
    fn prepared(
        &mut self,
        key: &[u8],
        build: impl FnOnce(&Self) -> Prepared<Script>,
    ) -> Arc<Prepared<Script>> {
        if let Some(found) = self.prepared.get(key) {
            return Arc::clone(found);
        }
        if self.prepared.len() >= MOST_PREPARED {
            self.prepared.clear();
        }
        let made = Arc::new(build(self));
        self.prepared.insert(key.into(), Arc::clone(&made));
        made
    }
}

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// More of a request.
    Read,
    /// Room to write.
    Write,
    /// A time.
    Until(Instant),
    /// Nothing: it is to be dropped.
    Gone,
}

/// An answer under way.
#[derive(Debug)]
struct Playing {
    script: Script,
    at: usize,
    /// Bytes of the step that are sent.
    sent: usize,
    hold: Duration,
}

/// A request that was the last of its connection, byte for byte.
struct Last {
    head: Vec<u8>,
    prepared: Arc<Prepared<Script>>,
}

pub struct Connection {
    socket: OwnedFd,
    tls: Option<Box<ServerConnection>>,
    input: Vec<u8>,
    playing: Option<Playing>,
    last: Option<Last>,
    until: Option<Instant>,
    /// Close after the answer that is under way.
    is_last: bool,
    is_mute: bool,
}

impl Connection {
    pub fn new(socket: OwnedFd, tls: Option<ServerConnection>) -> Self {
        Self {
            socket,
            tls: tls.map(Box::new),
            input: Vec::new(),
            playing: None,
            last: None,
            until: None,
            is_last: false,
            is_mute: false,
        }
    }

    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Whether no answer is under way and none is owed.
    pub fn is_idle(&self) -> bool {
        self.playing.is_none() && self.input.is_empty()
    }

    /// The answer under way becomes the last.
    pub fn finish(&mut self) {
        self.is_last = true;
    }

    /// Takes what has come, and goes on.
    pub fn readable(&mut self, kitchen: &mut Kitchen) -> Turn {
        loop {
            let got = match self.receive(&mut kitchen.buffer) {
                Ok(0) | Err(Errno::CONNRESET) => return Turn::Gone,
                Ok(got) => got,
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(_) => return Turn::Gone,
            };
            if self.input.len() + got > MOST_INPUT {
                return Turn::Gone;
            }
            self.input.extend_from_slice(&kitchen.buffer[..got]);
            // A buffer that was not filled has taken all there was; TLS may
            // hold more of it.
            if got < kitchen.buffer.len() && self.tls.is_none() {
                break;
            }
        }
        self.advance(kitchen)
    }

    /// Goes on with the answer under way, and with the requests after it.
    pub fn advance(&mut self, kitchen: &mut Kitchen) -> Turn {
        if let Some(until) = self.until {
            if Instant::now() < until {
                return Turn::Until(until);
            }
            self.until = None;
        }
        loop {
            if self.playing.is_none() {
                if self.is_mute {
                    return Turn::Read;
                }
                match self.next_request(kitchen) {
                    Ok(Some(playing)) => self.playing = Some(playing),
                    Ok(None) if self.is_last => return Turn::Gone,
                    Ok(None) => return self.flush().unwrap_or(Turn::Read),
                    Err(Bad) => return Turn::Gone,
                }
            }
            if let Some(turn) = self.play(kitchen) {
                return turn;
            }
            kitchen.shared.answers.fetch_add(1, Ordering::Relaxed);
            self.playing = None;
            if self.is_last {
                return self.flush().unwrap_or(Turn::Gone);
            }
        }
    }

    /// Plays the answer: what it then waits for, or nothing where it is done.
    fn play(&mut self, kitchen: &Kitchen) -> Option<Turn> {
        loop {
            let playing = self.playing.as_mut()?;
            if !playing.hold.is_zero() {
                return Some(self.pause());
            }
            match playing.script.get(playing.at) {
                None => return self.flush(),
                Some(Step::Send(_)) => match self.send() {
                    Ok(()) => {}
                    Err(Errno::AGAIN) => return Some(Turn::Write),
                    Err(_) => return Some(Turn::Gone),
                },
                Some(step) => {
                    let step = step.clone();
                    if let Some(turn) = self.flush() {
                        return Some(turn);
                    }
                    self.playing.as_mut()?.at += 1;
                    if matches!(step, Step::CloseWhole) {
                        kitchen.shared.answers.fetch_add(1, Ordering::Relaxed);
                    }
                    if let Some(turn) = self.step(&step) {
                        return Some(turn);
                    }
                }
            }
        }
    }

    /// A step that sends nothing.
    fn step(&mut self, step: &Step) -> Option<Turn> {
        match step {
            Step::Send(_) => None,
            Step::Pause(pause) => {
                self.playing.as_mut()?.hold = *pause;
                None
            }
            Step::Again(at) => {
                self.playing.as_mut()?.at = *at;
                None
            }
            Step::FinishWriting => {
                self.say_farewell();
                let _ = shutdown(&self.socket, Shutdown::Write);
                self.hang()
            }
            Step::Hang => self.hang(),
            Step::Close | Step::CloseWhole => {
                self.say_farewell();
                Some(Turn::Gone)
            }
            Step::Reset => {
                let _ = sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
                Some(Turn::Gone)
            }
        }
    }

    /// Holds back what follows.
    fn pause(&mut self) -> Turn {
        let hold = self.playing.as_mut().map(|playing| std::mem::take(&mut playing.hold));
        let until = Instant::now() + hold.unwrap_or_default();
        self.until = Some(until);
        Turn::Until(until)
    }

    /// Over TLS, an end that is meant is told.
    fn say_farewell(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            let _ = flush(tls, &self.socket);
        }
    }

    fn hang(&mut self) -> Option<Turn> {
        self.is_mute = true;
        self.playing = None;
        Some(Turn::Read)
    }

    /// Writes as many of the next bytes as one call takes.
    fn send(&mut self) -> Result<(), Errno> {
        let Some(playing) = &mut self.playing else { return Ok(()) };
        let mut slices = [IoSlice::new(&[]); SLICES];
        let mut count = 0;
        for step in playing.script[playing.at..].iter().take(SLICES) {
            let Step::Send(bytes) = step else { break };
            let skip = if count == 0 { playing.sent } else { 0 };
            slices[count] = IoSlice::new(&bytes[skip..]);
            count += 1;
        }
        let slices = &slices[..count];
        let mut written = match &mut self.tls {
            None => rustix::io::writev(&self.socket, slices)?,
            Some(tls) => {
                // What rustls has no room for yet waits for the socket.
                match tls.writer().write_vectored(slices) {
                    Ok(0) | Err(_) => 0,
                    Ok(taken) => taken,
                }
            }
        };
        if let Some(tls) = &mut self.tls {
            let flushed = flush(tls, &self.socket);
            if written == 0 {
                flushed?;
            }
        }
        while written > 0 {
            let Some(Step::Send(bytes)) = playing.script.get(playing.at) else { break };
            let left = bytes.len() - playing.sent;
            if written < left {
                playing.sent += written;
                break;
            }
            written -= left;
            playing.sent = 0;
            playing.at += 1;
        }
        Ok(())
    }

    /// Writes what TLS still holds; where that has to wait, says for what.
    fn flush(&mut self) -> Option<Turn> {
        let tls = self.tls.as_mut()?;
        match flush(tls, &self.socket) {
            Ok(()) => None,
            Err(Errno::AGAIN) => Some(Turn::Write),
            Err(_) => Some(Turn::Gone),
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        let Some(tls) = &mut self.tls else {
            return recv(&self.socket, buffer, RecvFlags::empty()).map(|(got, _)| got);
        };
        loop {
            match tls.reader().read(buffer) {
                Ok(got) => return Ok(got),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return Ok(0),
            }
            let mut socket = Socket(&self.socket);
            match tls.read_tls(&mut socket) {
                Ok(0) => return Ok(0),
                Ok(_) => {}
                Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            }
            let processed = tls.process_new_packets();
            // An alert says what was wrong.
            match flush(tls, &self.socket) {
                Ok(()) | Err(Errno::AGAIN) => {}
                Err(error) => return Err(error),
            }
            processed.map_err(|_| Errno::PROTO)?;
        }
    }

    /// The next request, if it has come whole.
    fn next_request(&mut self, kitchen: &mut Kitchen) -> Result<Option<Playing>, Bad> {
        if self.input.is_empty() {
            return Ok(None);
        }
        let again = self.last.as_ref();
        let again = again.filter(|last| !self.is_last && self.input.starts_with(&last.head));
        let (len, prepared) = match again {
            Some(last) => (last.head.len(), Arc::clone(&last.prepared)),
            None => {
                let Some(mut read) = read(&self.input)? else { return Ok(None) };
                // A server that drains says so in its last answer.
                if self.is_last {
                    read.after = After::Close;
                }
                self.is_last |= read.after == After::Close;
                let len = read.len;
                let prepared = read.prepared(kitchen);
                let is_kept = read.is_kept() && !self.is_last;
                let head = self.input[..len].to_vec();
                self.last = is_kept.then(|| Last { head, prepared: Arc::clone(&prepared) });
                (len, prepared)
            }
        };
        if self.input.len() == len {
            self.input.clear();
        } else {
            self.input.drain(..len);
        }
        kitchen.shared.requests.fetch_add(1, Ordering::Relaxed);
        let (hold, script) = prepared.next();
        Ok(Some(Playing { script, at: 0, sent: 0, hold: hold + kitchen.delay }))
    }
}

/// A request that cannot be understood.
#[derive(Debug)]
struct Bad;

/// A request that has come whole.
struct Whole<'a> {
    target: &'a str,
    body: &'a [u8],
    after: After,
    is_head: bool,
    is_post: bool,
    /// Its bytes, the body's included.
    len: usize,
}

fn read(input: &[u8]) -> Result<Option<Whole<'_>>, Bad> {
    let Some(end) = memmem::find(input, b"\r\n\r\n") else { return Ok(None) };
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Request::new(&mut fields);
    head.parse(&input[..end + 4]).map_err(|_| Bad)?;
    let is_old = head.version == Some(0);
    let mut after = if is_old { After::Close } else { After::Keep };
    let mut body = 0;
    for field in head.headers.iter() {
        if field.name.eq_ignore_ascii_case("content-length") {
            let text = std::str::from_utf8(field.value).map_err(|_| Bad)?;
            body = text.trim().parse::<usize>().map_err(|_| Bad)?;
        } else if field.name.eq_ignore_ascii_case("connection") {
            if field.value.eq_ignore_ascii_case(b"close") {
                after = After::Close;
            } else if is_old && field.value.eq_ignore_ascii_case(b"keep-alive") {
                after = After::KeepAndSay;
            }
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            // Requests in chunks are nothing that a load generator sends.
            return Err(Bad);
        }
    }
    let start = end + 4;
    let Some(body) = input.get(start..start.checked_add(body).ok_or(Bad)?) else { return Ok(None) };
    let method = head.method.unwrap_or_default();
    let len = start + body.len();
    let (is_head, is_post) = (method == "HEAD", method == "POST");
    Ok(Some(Whole { target: head.path.unwrap_or("/"), body, after, is_head, is_post, len }))
}

impl Whole<'_> {
    /// Whether the next answer is the same: those of jobs depend on the time.
    fn is_kept(&self) -> bool {
        !self.target.contains("/async")
    }

    fn prepared(&self, kitchen: &mut Kitchen) -> Arc<Prepared<Script>> {
        let make = |kitchen: &Kitchen| {
            let request = Request {
                target: self.target,
                body: self.body,
                is_post: self.is_post,
                now_ms: kitchen.shared.now_ms(),
            };
            let route: Route = route(&request);
            Prepared::new(&route, self.target, &kitchen.shared, |reply| {
                script(reply, self.after, self.is_head)
            })
        };
        if !self.is_kept() {
            return Arc::new(make(kitchen));
        }
        let mut key = self.target.as_bytes().to_vec();
        key.push(b' ');
        key.push(self.after as u8 | u8::from(self.is_head) << 2 | u8::from(self.is_post) << 3);
        key.extend_from_slice(self.body);
        kitchen.prepared(&key, make)
    }
}

/// A socket as rustls wants it.
struct Socket<'a>(&'a OwnedFd);

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        Ok(recv(self.0, buffer, RecvFlags::empty())?.0)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(rustix::io::write(self.0, bytes)?)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> std::io::Result<usize> {
        Ok(rustix::io::writev(self.0, slices)?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn flush(tls: &mut ServerConnection, socket: &OwnedFd) -> Result<(), Errno> {
    while tls.wants_write() {
        tls.write_tls(&mut Socket(socket))
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    }
    Ok(())
}
