//! The chunked transfer coding, taken off as it comes.

/// The longest that all trailers together, or the extensions of one chunk, may be.
const LONGEST: u32 = 64 << 10;

/// Where in the coding a response is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In a chunk's size, with so many digits so far.
    Size {
        value: u64,
        digits: u8,
    },
    /// After a size, before the line's end.
    Extension,
    SizeEnd,
    Data {
        left: u64,
    },
    DataCr,
    DataLf,
    /// At the start of a line of the trailers.
    Line,
    /// In such a line.
    Trailer,
    /// At the last line's end.
    LastLf,
    Done,
}

/// A decoder of one body.
#[derive(Debug, Clone, Copy)]
pub struct Chunked {
    state: State,
    /// Size of the chunk that begins after its line.
    size: u64,
    skipped: u32,
}

/// Framing that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadChunk;

impl Default for Chunked {
    fn default() -> Self {
        Self { state: State::Size { value: 0, digits: 0 }, size: 0, skipped: 0 }
    }
}

impl Chunked {
    /// Bytes of data that are to come before the next framing.
    pub fn left(&self) -> u64 {
        if let State::Data { left } = self.state { left } else { 0 }
    }

    /// Whether the body has ended.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Takes so many bytes of data that somebody else threw away: at most
    /// [`Chunked::left`].
    pub fn discarded(&mut self, bytes: u64) {
        if let State::Data { left } = &mut self.state {
            *left -= bytes.min(*left);
            if *left == 0 {
                self.state = State::DataCr;
            }
        }
    }

    /// Takes bytes, gives the data among them to `data`, and says how many bytes
    /// belonged to the body: all of them unless it has ended.
    ///
    /// # Errors
    /// If the framing is none.
    pub fn feed(&mut self, bytes: &[u8], mut data: impl FnMut(&[u8])) -> Result<usize, BadChunk> {
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            self.state = match self.state {
                State::Done => break,
                State::Data { left } => {
                    let take = (bytes.len() - at).min(usize::try_from(left).unwrap_or(usize::MAX));
                    data(&bytes[at..at + take]);
                    at += take;
                    let left = left - take as u64;
                    self.state = if left > 0 { State::Data { left } } else { State::DataCr };
                    continue;
                }
                State::Size { value, digits } => match (byte as char).to_digit(16) {
                    Some(digit) if digits < 16 => {
                        State::Size { value: value << 4 | u64::from(digit), digits: digits + 1 }
                    }
                    Some(_) => return Err(BadChunk),
                    None if digits == 0 => return Err(BadChunk),
                    None => {
                        self.size = value;
                        match byte {
                            b'\r' => State::SizeEnd,
                            b'\n' => self.begin(),
                            b';' | b' ' | b'\t' => State::Extension,
                            _ => return Err(BadChunk),
                        }
                    }
                },
                State::Extension => {
                    self.skip()?;
                    match byte {
                        b'\r' => State::SizeEnd,
                        b'\n' => self.begin(),
                        _ => State::Extension,
                    }
                }
                State::SizeEnd if byte == b'\n' => self.begin(),
                State::DataCr if byte == b'\r' => State::DataLf,
                State::DataCr | State::DataLf if byte == b'\n' => {
                    State::Size { value: 0, digits: 0 }
                }
                State::SizeEnd | State::DataCr | State::DataLf => return Err(BadChunk),
                State::Line => match byte {
                    b'\r' => State::LastLf,
                    b'\n' => State::Done,
                    _ => State::Trailer,
                },
                State::Trailer => {
                    self.skip()?;
                    if byte == b'\n' { State::Line } else { State::Trailer }
                }
                State::LastLf if byte == b'\n' => State::Done,
                State::LastLf => return Err(BadChunk),
            };
            at += 1;
        }
        Ok(at)
    }

    /// After the line of a chunk's size.
    fn begin(&mut self) -> State {
        self.skipped = 0;
        if self.size == 0 { State::Line } else { State::Data { left: self.size } }
    }

    fn skip(&mut self) -> Result<(), BadChunk> {
        self.skipped += 1;
        if self.skipped > LONGEST { Err(BadChunk) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&[u8]]) -> Result<(Vec<u8>, usize, bool), BadChunk> {
        let mut chunked = Chunked::default();
        let (mut body, mut taken) = (Vec::new(), 0);
        for piece in pieces {
            taken += chunked.feed(piece, |data| body.extend_from_slice(data))?;
        }
        Ok((body, taken, chunked.is_done()))
    }

    const BODY: &[u8] =
        b"5\r\nhello\r\n1; name=\"x\"\r\n \r\n00a\r\nworld12345\r\n0\r\nA: b\r\nC: d\r\n\r\n";

    #[test]
    fn the_data_is_the_same_however_it_comes() {
        let expected = (b"hello world12345".to_vec(), BODY.len(), true);
        assert_eq!(decode(&[BODY]), Ok(expected.clone()));
        for at in 0..BODY.len() {
            let (a, b) = BODY.split_at(at);
            assert_eq!(decode(&[a, b]), Ok(expected.clone()), "split at {at}");
        }
        let bytes: Vec<_> = BODY.chunks(1).collect();
        assert_eq!(decode(&bytes), Ok(expected));
    }

    #[test]
    fn what_follows_the_end_is_left() {
        assert_eq!(decode(&[b"1\r\na\r\n0\r\n\r\nHTTP"]), Ok((b"a".to_vec(), 11, true)));
    }

    #[test]
    fn data_can_be_thrown_away_by_others() {
        let mut chunked = Chunked::default();
        chunked.feed(b"10\r\n0123", |_| ()).unwrap();
        assert_eq!(chunked.left(), 12);
        chunked.discarded(12);
        assert_eq!(chunked.feed(b"\r\n0\r\n\r\n", |_| panic!("no data")), Ok(7));
        assert!(chunked.is_done());
    }

    #[test]
    fn bad_framing_is_refused() {
        for text in ["x\r\n", "\r\n", "5\r\nhelloX", "5\rX", "fffffffffffffffff\r\n", "0\r\n\rX"] {
            assert_eq!(decode(&[text.as_bytes()]), Err(BadChunk), "{text}");
        }
        let long = format!("1;{}", "x".repeat(LONGEST as usize + 1));
        assert_eq!(decode(&[long.as_bytes()]), Err(BadChunk));
        assert!(!decode(&[b"5\r\nhel"]).unwrap().2);
    }
}
