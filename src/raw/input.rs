//! The files that were read, and their hashes.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::{Place, RawError, Warning};
use super::fields::Unknown;

/// Bytes that a streamed file is read in at a time.
pub(super) const CHUNK: usize = 1 << 20;

/// One file of a run directory that was read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct InputFile {
    /// Path relative to the run directory, with `/` between its parts.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Its sha256 in lower-case hexadecimal.
    pub sha256: String,
}

/// A sha256 in the making.
#[derive(Debug, Clone, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// The hash of nothing, so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes in.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash as 64 lower-case hexadecimal digits.
    pub fn finish(self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.0
            .finalize()
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 15])
            .map(|digit| char::from(DIGITS[usize::from(digit)]))
            .collect()
    }
}

/// Size in bytes and sha256 of a file, read in constant memory.
///
/// # Errors
///
/// [`RawError::Io`] where the file cannot be read.
pub fn hash_file(path: &Path) -> Result<(u64, String), RawError> {
    let mut reader = HashingReader::open(path)?;
    let mut chunk = vec![0; CHUNK];
    while reader.read(&mut chunk).map_err(|source| RawError::io(path, source))? > 0 {}
    Ok(reader.finish())
}

/// A reader that hashes what passes through it.
#[derive(Debug)]
pub(super) struct HashingReader<R> {
    inner: R,
    size: u64,
    hasher: Hasher,
}

impl HashingReader<File> {
    pub(super) fn open(path: &Path) -> Result<Self, RawError> {
        let inner = File::open(path).map_err(|source| RawError::io(path, source))?;
        Ok(Self { inner, size: 0, hasher: Hasher::new() })
    }
}

impl<R> HashingReader<R> {
    /// Bytes read so far.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Size and sha256 of everything that was read.
    pub(super) fn finish(self) -> (u64, String) {
        (self.size, self.hasher.finish())
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.size += read as u64;
        Ok(read)
    }
}

/// The small files of a run directory: each is read whole and hashed once, and
/// what was read past is noted.
#[derive(Debug)]
pub(super) struct Source<'a> {
    root: &'a Path,
    pub(super) inputs: Vec<InputFile>,
    pub(super) warnings: Vec<Warning>,
}

impl<'a> Source<'a> {
    pub(super) fn new(root: &'a Path) -> Self {
        Self { root, inputs: Vec::new(), warnings: Vec::new() }
    }

    /// The bytes of a file, by its path relative to the run directory.
    pub(super) fn bytes(&mut self, name: &str) -> Result<Vec<u8>, RawError> {
        let path = self.root.join(name);
        let bytes = fs::read(&path).map_err(|source| RawError::io(&path, source))?;
        let mut hasher = Hasher::new();
        hasher.update(&bytes);
        self.inputs.push(InputFile {
            path: name.to_owned(),
            size: bytes.len() as u64,
            sha256: hasher.finish(),
        });
        Ok(bytes)
    }

    /// The text of a file.
    pub(super) fn text(&mut self, name: &str) -> Result<String, RawError> {
        String::from_utf8(self.bytes(name)?).map_err(|error| RawError::Other {
            place: Place::file(name),
            message: format!("expected UTF-8 text, found {error}"),
        })
    }

    /// Size in bytes of a file that was not read yet.
    pub(super) fn size(&self, name: &str) -> Result<u64, RawError> {
        let path = self.root.join(name);
        Ok(fs::metadata(&path).map_err(|source| RawError::io(&path, source))?.len())
    }

    /// Notes which fields of a kind of file were left out.
    pub(super) fn left_out(&mut self, kind: &str, unknown: Unknown) {
        self.warnings.extend(unknown.warning(kind));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_file_hashes_as_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        fs::write(&path, "abc").unwrap();
        assert_eq!(hash_file(&path).unwrap(), (3, ABC.to_owned()));

        let mut source = Source::new(folder.path());
        assert_eq!(source.text("abc").unwrap(), "abc");
        let input = InputFile { path: "abc".into(), size: 3, sha256: ABC.into() };
        assert_eq!(source.inputs, [input]);
    }

    #[test]
    fn a_missing_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let message = hash_file(&folder.path().join("none")).unwrap_err().to_string();
        assert!(message.contains("none: "), "{message}");
    }

    #[test]
    fn text_must_be_utf8() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("t"), [0xff]).unwrap();
        let message = Source::new(folder.path()).text("t").unwrap_err().to_string();
        assert!(message.starts_with("t: expected UTF-8 text"), "{message}");
    }
}
