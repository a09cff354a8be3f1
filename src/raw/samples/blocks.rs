//! A file of JSON lines as blocks of whole lines, hashed and unpacked on the way.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::raw::RawError;
use crate::raw::input::HashingReader;

/// How a file of JSON lines is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    Plain,
    Gzip,
    Zstd,
}

/// The longest line that is read: no request takes this much.
const LONGEST_LINE: usize = 64 << 20;
/// What is read at once, to be hashed while the processor still has it at hand.
const PIECE: usize = 256 << 10;

/// Buffers of blocks that were read, to be filled again: fresh memory is slow.
#[derive(Debug, Clone, Default)]
pub struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

impl Buffers {
    fn take(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Gives a buffer back.
    pub(super) fn put(&self, buffer: Vec<u8>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }
}

enum Source {
    Plain(HashingReader<File>),
    Gzip(Box<flate2::bufread::MultiGzDecoder<BufReader<HashingReader<File>>>>),
    Zstd(zstd::stream::read::Decoder<'static, BufReader<HashingReader<File>>>),
}

impl Source {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(file) => {
                let length = buffer.len().min(PIECE);
                file.read(&mut buffer[..length])
            }
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
        }
    }

    fn hashed(&self) -> &HashingReader<File> {
        match self {
            Self::Plain(file) => file,
            Self::Gzip(decoder) => decoder.get_ref().get_ref(),
            Self::Zstd(decoder) => decoder.get_ref().get_ref(),
        }
    }

    /// The file, read to its end.
    fn finish(self) -> std::io::Result<HashingReader<File>> {
        let mut rest = match self {
            Self::Plain(file) => return Ok(file),
            Self::Gzip(decoder) => decoder.into_inner(),
            Self::Zstd(decoder) => decoder.finish(),
        };
        loop {
            let length = rest.fill_buf()?.len();
            if length == 0 {
                return Ok(rest.into_inner());
            }
            rest.consume(length);
        }
    }
}

/// Reads a file as blocks that end with a line.
pub(super) struct Blocks {
    source: Source,
    buffers: Buffers,
    size: usize,
    /// The beginning of a line that the last block did not take.
    rest: Vec<u8>,
    ended: bool,
}

/// Some whole lines of a file.
#[derive(Debug)]
pub(super) struct Lines {
    /// The lines and nothing else.
    pub bytes: Vec<u8>,
    /// Whether the file ends here; the last line may lack its newline then.
    pub last: bool,
}

impl Blocks {
    /// Opens a file, to be read in blocks of about `size` bytes.
    pub(super) fn open(
        path: &Path,
        packing: Packing,
        size: usize,
        buffers: Buffers,
    ) -> Result<Self, RawError> {
        let io = |source| RawError::io(path, source);
        let file = HashingReader::open(path)?;
        let source = match packing {
            Packing::Plain => Source::Plain(file),
            Packing::Gzip => Source::Gzip(Box::new(flate2::bufread::MultiGzDecoder::new(
                BufReader::with_capacity(PIECE, file),
            ))),
            Packing::Zstd => Source::Zstd(
                zstd::stream::read::Decoder::with_buffer(BufReader::with_capacity(PIECE, file))
                    .map_err(io)?,
            ),
        };
        Ok(Self { source, buffers, size, rest: Vec::new(), ended: false })
    }

    /// Bytes of the file that were read so far.
    pub(super) fn position(&self) -> u64 {
        self.source.hashed().size()
    }

    /// The next lines; none at the end of the file.
    pub(super) fn next(&mut self) -> std::io::Result<Option<Lines>> {
        if self.ended {
            return Ok(None);
        }
        let mut bytes = self.buffers.take();
        let mut filled = self.rest.len();
        let mut size = self.size.max(2 * filled);
        bytes.resize(size, 0);
        bytes[..filled].copy_from_slice(&self.rest);
        self.rest.clear();
        loop {
            while filled < size {
                match self.source.read(&mut bytes[filled..]) {
                    Ok(0) => {
                        self.ended = true;
                        bytes.truncate(filled);
                        return Ok(Some(Lines { bytes, last: true }));
                    }
                    Ok(length) => filled += length,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            if let Some(end) = memchr::memrchr(b'\n', &bytes) {
                self.rest.extend_from_slice(&bytes[end + 1..]);
                bytes.truncate(end + 1);
                return Ok(Some(Lines { bytes, last: false }));
            }
            if size >= LONGEST_LINE {
                let message = format!("a line of more than {} MiB", LONGEST_LINE >> 20);
                return Err(std::io::Error::new(ErrorKind::InvalidData, message));
            }
            size *= 2;
            bytes.resize(size, 0);
        }
    }

    /// Size and sha256 of the file, when it was read to its end.
    pub(super) fn finish(self) -> std::io::Result<(u64, String)> {
        Ok(self.source.finish()?.finish())
    }
}
