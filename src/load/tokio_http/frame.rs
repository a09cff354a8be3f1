//! Frames of HTTP/2 (RFC 9113, section 4): their heads, and what is cut out of the
//! bytes that come.

/// Bytes of a frame's head.
pub const HEAD: usize = 9;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH_PROMISE: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const ACK: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const PADDED: u8 = 8;
pub const PRIORITY: u8 = 0x20;

/// What begins a connection.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The largest payload other than DATA that is taken: SETTINGS, header blocks.
const LARGEST: usize = 1 << 20;

/// A frame's head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Head {
    pub length: usize,
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
}

impl Head {
    fn read(bytes: &[u8; HEAD]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = *bytes;
        Self {
            length: usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c),
            kind,
            flags,
            stream: u32::from_be_bytes(stream) & 0x7fff_ffff,
        }
    }

    /// Whether its payload is given as it comes, in parts.
    fn is_parted(&self) -> bool {
        self.kind == DATA && !self.has(PADDED)
    }

    /// Whether a flag is set.
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Puts a frame's head.
pub fn put_head(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    out.extend_from_slice(&(length as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
}

/// Puts a frame of one number of 32 bits: RST_STREAM, WINDOW_UPDATE.
pub fn put_number(out: &mut Vec<u8>, kind: u8, stream: u32, number: u32) {
    put_head(out, 4, kind, 0, stream);
    out.extend_from_slice(&number.to_be_bytes());
}

/// What was cut out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A part of the payload of DATA without padding; whether it is the last.
    Data(Head, &'a [u8], bool),
    /// Any other frame, whole.
    Frame(Head, &'a [u8]),
}

/// A frame that is too long to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// Cuts what comes into frames. Frames that lie whole in one piece are not copied.
#[derive(Debug, Default)]
pub struct Cutter {
    head: [u8; HEAD],
    head_len: usize,
    frame: Head,
    /// Bytes left of the payload.
    left: usize,
    /// Of a frame other than DATA that did not come whole.
    payload: Vec<u8>,
}

impl Cutter {
    /// Cuts `bytes`, and gives each piece to `take`.
    ///
    /// # Errors
    /// If a frame is too long, or that of `take`.
    pub fn cut<E: From<TooLong>>(
        &mut self,
        mut bytes: &[u8],
        mut take: impl FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            if self.head_len < HEAD {
                let taken = (HEAD - self.head_len).min(bytes.len());
                self.head[self.head_len..][..taken].copy_from_slice(&bytes[..taken]);
                self.head_len += taken;
                bytes = &bytes[taken..];
                if self.head_len < HEAD {
                    return Ok(());
                }
                self.frame = Head::read(&self.head);
                self.left = self.frame.length;
                if !self.frame.is_parted() && self.left > LARGEST {
                    return Err(TooLong.into());
                }
            }
            if bytes.is_empty() && self.left > 0 {
                return Ok(());
            }
            let (own, rest) = bytes.split_at(self.left.min(bytes.len()));
            bytes = rest;
            self.left -= own.len();
            let is_last = self.left == 0;
            if self.frame.is_parted() {
                take(Piece::Data(self.frame, own, is_last))?;
            } else if is_last && self.payload.is_empty() {
                take(Piece::Frame(self.frame, own))?;
            } else {
                self.payload.extend_from_slice(own);
                if is_last {
                    let payload = std::mem::take(&mut self.payload);
                    take(Piece::Frame(self.frame, &payload))?;
                }
            }
            if is_last {
                self.head_len = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_however_they_are_cut() {
        let mut bytes = Vec::new();
        put_head(&mut bytes, 0, SETTINGS, ACK, 0);
        put_head(&mut bytes, 200, DATA, END_STREAM, 1);
        bytes.extend([7; 200]);
        put_number(&mut bytes, RST_STREAM, 3, 7);
        put_head(&mut bytes, 0, DATA, 0, 5);
        put_number(&mut bytes, WINDOW_UPDATE, 0, 1 << 20);
        for size in 1..250 {
            let mut cutter = Cutter::default();
            let (mut data, mut ends, mut frames) = (0, 0, Vec::new());
            for part in bytes.chunks(size) {
                let cut: Result<(), TooLong> = cutter.cut(part, |piece| {
                    match piece {
                        Piece::Data(head, part, is_last) => {
                            assert_eq!(head.has(END_STREAM), head.stream == 1);
                            data += part.len();
                            ends += usize::from(is_last);
                        }
                        Piece::Frame(head, payload) => frames.push((head.kind, payload.to_vec())),
                    }
                    Ok(())
                });
                cut.unwrap();
            }
            assert_eq!((data, ends), (200, 2), "{size}");
            let update = (WINDOW_UPDATE, vec![0, 16, 0, 0]);
            assert_eq!(frames, [(SETTINGS, vec![]), (RST_STREAM, vec![0, 0, 0, 7]), update]);
        }
    }

    #[test]
    fn a_frame_without_end_is_refused() {
        let mut bytes = Vec::new();
        put_head(&mut bytes, LARGEST + 1, GOAWAY, 0, 0);
        let cut: Result<(), TooLong> = Cutter::default().cut(&bytes, |_| Ok(()));
        assert_eq!(cut, Err(TooLong));
    }
}
