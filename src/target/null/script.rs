//! An answer of HTTP/1.1 as the steps that put it on a connection.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::body::Body;
use super::route::{Fault, Framing, Reply};

/// The bytes of a chunk, unless the pace says otherwise.
const CHUNK: usize = 16 << 10;

/// The bytes that one step sends at most.
const PIECE: usize = 1 << 20;

/// One step of an answer.
#[derive(Debug, Clone)]
pub enum Step {
    Send(Bytes),
    Pause(Duration),
    /// Goes back to an earlier step.
    Again(usize),
    /// Shuts the server's side of the connection, and waits for the other.
    FinishWriting,
    /// Sends nothing more, and waits for the client to go.
    Hang,
    Close,
    /// Closes after an answer that is whole.
    CloseWhole,
    Reset,
}

/// The steps of an answer.
pub type Script = Arc<[Step]>;

/// What the request said of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// HTTP/1.1, kept.
    Keep,
    /// Kept, though HTTP/1.0, which wants to be told.
    KeepAndSay,
    Close,
}

/// The steps of an answer. HEAD gets no body.
pub fn script(reply: &Reply, after: After, is_head: bool) -> Script {
    let mut steps = Vec::new();
    if !reply.wait.is_zero() {
        steps.push(Step::Pause(reply.wait));
    }
    match reply.fault {
        Some(Fault::ResetNow) => steps.push(Step::Reset),
        Some(Fault::CloseBefore) => steps.push(Step::Close),
        Some(Fault::NoHead) => steps.push(Step::Hang),
        Some(Fault::Garbage) => {
            steps.push(Step::Send(Bytes::from_static(b"\x00\x01 this is no HTTP\r\n\r\n")));
            steps.push(Step::Close);
        }
        Some(Fault::ResetHead) => {
            let head = head(reply, after);
            steps.push(Step::Send(head.slice(..head.len() / 2)));
            // The half is to arrive before the reset throws it away.
            steps.push(Step::Pause(Duration::from_millis(1)));
            steps.push(Step::Reset);
        }
        _ => answer(reply, after, is_head, &mut steps),
    }
    steps.into()
}

fn answer(reply: &Reply, after: After, is_head: bool, steps: &mut Vec<Step>) {
    let head = head(reply, after);
    let half = |body: &Body| body.truncated(body.len() / 2);
    let body = match reply.fault {
        Some(Fault::ResetBody | Fault::CloseHalf) => half(&reply.body),
        _ if is_head => Body::default(),
        _ => reply.body.clone(),
    };
    match (reply.framing, reply.pace) {
        // One write for a small answer.
        (Framing::Length | Framing::UntilClose, None) if body.len() <= CHUNK as u64 => {
            let mut joined = head.to_vec();
            body.pieces(PIECE).for_each(|piece| joined.extend_from_slice(&piece));
            steps.push(Step::Send(joined.into()));
        }
        (Framing::Length | Framing::UntilClose, pace) => {
            steps.push(Step::Send(head));
            let first = steps.len();
            for piece in body.pieces(pace.map_or(PIECE, |(_, piece)| piece)) {
                steps.push(Step::Send(piece));
                steps.extend(pace.map(|(pause, _)| Step::Pause(pause)));
            }
            if reply.is_endless {
                steps.push(Step::Again(first));
            }
        }
        (Framing::Chunked | Framing::Trailers, pace) => {
            steps.push(Step::Send(head));
            if !is_head {
                chunks(reply, &body, pace, steps);
            }
        }
    }
    match reply.fault {
        Some(Fault::ResetBody) => {
            steps.push(Step::Pause(Duration::from_millis(1)));
            steps.push(Step::Reset);
        }
        Some(Fault::CloseHalf) => steps.push(Step::FinishWriting),
        Some(Fault::LengthShort) => steps.push(Step::Close),
        Some(Fault::CloseAfter) => steps.push(Step::CloseWhole),
        _ if reply.framing == Framing::UntilClose || after == After::Close => {
            steps.push(Step::CloseWhole);
        }
        _ => {}
    }
}

fn chunks(reply: &Reply, body: &Body, pace: Option<(Duration, usize)>, steps: &mut Vec<Step>) {
    let first = steps.len();
    for piece in body.pieces(pace.map_or(CHUNK, |(_, piece)| piece)) {
        let size = format!("{:x}\r\n", piece.len());
        let end = Bytes::from_static(b"\r\n");
        steps.extend([Step::Send(size.into()), Step::Send(piece), Step::Send(end)]);
        steps.extend(pace.map(|(pause, _)| Step::Pause(pause)));
    }
    if reply.is_endless {
        steps.push(Step::Again(first));
        return;
    }
    if matches!(reply.fault, Some(Fault::ResetBody | Fault::CloseHalf)) {
        return;
    }
    steps.push(Step::Send(Bytes::from_static(match reply.framing {
        Framing::Trailers => b"0\r\nx-null: end\r\n\r\n",
        _ => b"0\r\n\r\n",
    })));
}

fn head(reply: &Reply, after: After) -> Bytes {
    let version = if reply.is_http10 { "HTTP/1.0" } else { "HTTP/1.1" };
    let mut head = format!("{version} {} {}\r\n", reply.status, reason(reply.status));
    let mut field = |name: &str, value: &str| {
        write!(head, "{name}: {value}\r\n").expect("a string takes all");
    };
    for (name, value) in &reply.fields {
        field(name, value);
    }
    match reply.framing {
        // A 204 and a 304 have no body, and a 204 no length either.
        Framing::Length if reply.status == 204 => {}
        Framing::Length => field("content-length", &length(reply).to_string()),
        Framing::Chunked => field("transfer-encoding", "chunked"),
        Framing::Trailers => {
            field("transfer-encoding", "chunked");
            field("trailer", "x-null");
        }
        Framing::UntilClose => {}
    }
    match after {
        _ if reply.framing == Framing::UntilClose && !reply.is_http10 => {
            field("connection", "close")
        }
        After::Keep => {}
        After::KeepAndSay => field("connection", "keep-alive"),
        After::Close => field("connection", "close"),
    }
    head.push_str("\r\n");
    head.into()
}

/// The length that is promised.
pub fn length(reply: &Reply) -> u64 {
    match reply.fault {
        Some(Fault::LengthShort) => reply.body.len() * 2,
        Some(Fault::LengthLong) => reply.body.len() / 2,
        _ => reply.body.len(),
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}
