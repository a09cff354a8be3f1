//! The bodies of requests over HTTP/2, as far as the server takes them.

use super::super::frame;
use super::Mux;
use super::stream::Broken;

/// The most that a window can be.
const MOST_WINDOW: i64 = (1 << 31) - 1;

impl Mux {
    /// The server takes more of our bodies.
    pub(super) fn open(&mut self, number: u32, more: i64) -> Result<(), Broken> {
        if number == 0 {
            self.window += more;
            if self.window > MOST_WINDOW {
                return Err(Broken);
            }
            self.send_bodies();
        } else if let Some(stream) = self.stream(number) {
            stream.window += more;
            self.send_body(number);
        }
        Ok(())
    }

    pub(super) fn send_bodies(&mut self) {
        for index in 0..self.streams.len() {
            self.send_body(self.base + 2 * index as u32);
        }
    }

    /// Sends as much of a request's body as the server takes.
    pub(super) fn send_body(&mut self, number: u32) {
        loop {
            let (most_frame, window) = (self.most_frame as i64, self.window);
            let Some(stream) = self.stream(number) else { return };
            let Some(body) = &mut stream.body else { return };
            let most = most_frame.min(window).min(stream.window).min(body.len() as i64);
            if most <= 0 || stream.ended.is_some() {
                return;
            }
            let part = body.split_to(most as usize);
            let is_last = body.is_empty();
            stream.window -= most;
            if is_last {
                stream.body = None;
            }
            self.window -= most;
            let flags = if is_last { frame::END_STREAM } else { 0 };
            frame::put_head(&mut self.out, part.len(), frame::DATA, flags, number);
            self.out.extend_from_slice(&part);
        }
    }
}
