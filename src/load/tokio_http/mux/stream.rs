//! A stream of a connection of HTTP/2: what is known of its response, and what is
//! left to be sent of its request.

use std::task::Waker;

use bytes::Bytes;

use super::super::frame::TooLong;
use super::super::hpack::{BadBlock, Field, Fields, Text};
use crate::load::record::{Fault, Nanos};

/// What is known of a response.
#[derive(Debug, Default)]
pub struct Answer {
    /// 0 before its head.
    pub status: u16,
    /// When its head came.
    pub first_byte: Nanos,
    pub bytes: u64,
    pub location: Option<String>,
    pub content_type: String,
    /// Its body, as far as it was to be kept.
    pub body: Vec<u8>,
    /// Whether that is all of it.
    pub is_whole: bool,
}

/// See the module.
#[derive(Debug)]
pub struct Stream {
    pub answer: Answer,
    /// Bytes of the body to be kept.
    pub most: usize,
    pub announced: Option<u64>,
    pub is_head: bool,
    /// Why it ended, once it did.
    pub ended: Option<Result<(), Fault>>,
    /// When it ended.
    pub at: Nanos,
    pub waker: Option<Waker>,
    /// What is left of the request's body.
    pub body: Option<Bytes>,
    /// Bytes that may be sent of it.
    pub window: i64,
    /// Bytes that came since the server's window was last opened.
    pub received: u32,
}

impl Stream {
    /// Takes the head of a response.
    ///
    /// # Errors
    /// If it is none.
    pub fn read(&mut self, block: &[u8], now: Nanos) -> Result<(), Broken> {
        let mut status = 0;
        let mut fields = Fields::new(block);
        while let Some(field) = fields.next()? {
            match field {
                Field::Status(code) => status = code,
                Field::StatusText(text) => status = whole(&text)?,
                Field::ContentLength(text) => self.announced = Some(whole(&text)?),
                Field::Location(text) => {
                    let text = String::from_utf8(text.read()?).map_err(|_| Broken)?;
                    self.answer.location = Some(text);
                }
                Field::ContentType(text) if self.most > 0 => {
                    let text = text.read()?;
                    self.answer.content_type = String::from_utf8_lossy(&text).into_owned();
                }
                Field::ContentType(_) | Field::Other => {}
            }
        }
        // An interim response: the real one follows.
        if status >= 200 {
            self.answer.status = status;
            self.answer.first_byte = now;
        }
        Ok(())
    }
}

/// What a server must not send.
#[derive(Debug, Clone, Copy)]
pub struct Broken;

impl From<TooLong> for Broken {
    fn from(_: TooLong) -> Self {
        Self
    }
}

impl From<BadBlock> for Broken {
    fn from(_: BadBlock) -> Self {
        Self
    }
}

/// A number in digits.
fn whole<T: std::str::FromStr>(text: &Text<'_>) -> Result<T, Broken> {
    let text = text.read()?;
    std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()).ok_or(Broken)
}
