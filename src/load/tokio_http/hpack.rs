//! HPACK (RFC 7541) without a dynamic table: our SETTINGS allow the server none, and
//! requests use none, so that each is the same bytes whenever it is sent.

use std::sync::LazyLock;

/// Bits of the Huffman code of each byte (RFC 7541, appendix B). The code is the
/// canonical one: lengths are all there is to it.
const LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];

/// The longest code.
const LONGEST: usize = 30;

/// The canonical code: the symbols in the order of their codes, and for each length
/// its first code and where its symbols begin.
struct Canon {
    symbols: Vec<u8>,
    first: [u32; LONGEST + 1],
    start: [usize; LONGEST + 2],
}

static CANON: LazyLock<Canon> = LazyLock::new(|| {
    let mut symbols: Vec<u8> = (0..=u8::MAX).collect();
    symbols.sort_by_key(|symbol| (LENGTHS[usize::from(*symbol)], *symbol));
    let mut first = [0; LONGEST + 1];
    let mut start = [0; LONGEST + 2];
    let mut code = 0;
    for length in 1..=LONGEST {
        let count = LENGTHS.iter().filter(|own| usize::from(**own) == length).count();
        first[length] = code;
        start[length + 1] = start[length] + count;
        code = (code + count as u32) << 1;
    }
    Canon { symbols, first, start }
});

/// A header block that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadBlock;

/// Takes a Huffman code off.
fn huffman(bytes: &[u8]) -> Result<Vec<u8>, BadBlock> {
    let canon = &*CANON;
    let mut text = Vec::with_capacity(bytes.len() * 2);
    let (mut code, mut length) = (0_u32, 0_usize);
    for byte in bytes {
        for bit in (0..8).rev() {
            code = code << 1 | u32::from(byte >> bit & 1);
            length += 1;
            if length > LONGEST {
                return Err(BadBlock);
            }
            let count = canon.start[length + 1] - canon.start[length];
            let at = code.wrapping_sub(canon.first[length]) as usize;
            if code >= canon.first[length] && at < count {
                text.push(canon.symbols[canon.start[length] + at]);
                (code, length) = (0, 0);
            }
        }
    }
    // What is left over are the first bits of the end of a string: all ones.
    if length < 8 && code == (1 << length) - 1 { Ok(text) } else { Err(BadBlock) }
}

/// A string as it stands in a block.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    bytes: &'a [u8],
    is_huffman: bool,
}

impl Text<'_> {
    /// What it says.
    ///
    /// # Errors
    /// If its code is none.
    pub fn read(&self) -> Result<Vec<u8>, BadBlock> {
        if self.is_huffman { huffman(self.bytes) } else { Ok(self.bytes.to_vec()) }
    }
}

/// A field of a response that matters here.
#[derive(Debug, Clone, Copy)]
pub enum Field<'a> {
    /// `:status`, from the static table.
    Status(u16),
    StatusText(Text<'a>),
    ContentLength(Text<'a>),
    ContentType(Text<'a>),
    Location(Text<'a>),
    Other,
}

/// The fields of a block, one after the other.
#[derive(Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn new(block: &'a [u8]) -> Self {
        Self { rest: block }
    }

    /// The next field; none at the end.
    ///
    /// # Errors
    /// If the block cannot be read, or refers to a table that does not exist.
    pub fn next(&mut self) -> Result<Option<Field<'a>>, BadBlock> {
        loop {
            let Some(first) = self.rest.first().copied() else { return Ok(None) };
            if first & 0x80 != 0 {
                return match self.integer(7)? {
                    0 | 62.. => Err(BadBlock),
                    index @ 8..=14 => {
                        const STATUS: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
                        Ok(Some(Field::Status(STATUS[index - 8])))
                    }
                    _ => Ok(Some(Field::Other)),
                };
            }
            if first & 0xe0 == 0x20 {
                // The table's size: we allow none.
                if self.integer(5)? != 0 {
                    return Err(BadBlock);
                }
                continue;
            }
            let index = self.integer(if first & 0x40 != 0 { 6 } else { 4 })?;
            let name = if index == 0 { Some(self.text()?) } else { None };
            let value = self.text()?;
            let field = match (index, name) {
                (_, Some(name)) => match &*name.read()? {
                    b":status" => Field::StatusText(value),
                    b"content-length" => Field::ContentLength(value),
                    b"content-type" => Field::ContentType(value),
                    b"location" => Field::Location(value),
                    _ => Field::Other,
                },
                (8..=14, None) => Field::StatusText(value),
                (28, None) => Field::ContentLength(value),
                (31, None) => Field::ContentType(value),
                (46, None) => Field::Location(value),
                (62.., None) => return Err(BadBlock),
                _ => Field::Other,
            };
            return Ok(Some(field));
        }
    }

    fn byte(&mut self) -> Result<u8, BadBlock> {
        let (first, rest) = self.rest.split_first().ok_or(BadBlock)?;
        self.rest = rest;
        Ok(*first)
    }

    /// An integer with a prefix of so many bits (RFC 7541, 5.1).
    fn integer(&mut self, prefix: u32) -> Result<usize, BadBlock> {
        let most = (1_usize << prefix) - 1;
        let mut value = usize::from(self.byte()?) & most;
        if value < most {
            return Ok(value);
        }
        for shift in (0..28).step_by(7) {
            let byte = self.byte()?;
            value += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(BadBlock)
    }

    fn text(&mut self) -> Result<Text<'a>, BadBlock> {
        let is_huffman = self.rest.first().ok_or(BadBlock)? & 0x80 != 0;
        let length = self.integer(7)?;
        let bytes = self.rest.get(..length).ok_or(BadBlock)?;
        self.rest = &self.rest[length..];
        Ok(Text { bytes, is_huffman })
    }
}

/// The block of a request: method, scheme, authority, path, then the fields.
pub fn request(
    method: &str,
    scheme: &str,
    authority: &str,
    path: &str,
    fields: &[(String, String)],
) -> Vec<u8> {
    let mut block = Vec::new();
    match method {
        "GET" => block.push(0x82),
        "POST" => block.push(0x83),
        // By the names of the static table, never to be indexed by us.
        other => literal(&mut block, 2, other),
    }
    block.push(if scheme == "https" { 0x87 } else { 0x86 });
    literal(&mut block, 1, authority);
    literal(&mut block, 4, path);
    for (name, value) in fields {
        block.push(0);
        string(&mut block, &name.to_ascii_lowercase());
        string(&mut block, value);
    }
    block
}

fn literal(block: &mut Vec<u8>, name: u8, value: &str) {
    block.push(name);
    string(block, value);
}

fn string(block: &mut Vec<u8>, text: &str) {
    let mut length = text.len();
    if length < 127 {
        block.push(length as u8);
    } else {
        block.push(127);
        length -= 127;
        while length >= 128 {
            block.push(length as u8 & 0x7f | 0x80);
            length >>= 7;
        }
        block.push(length as u8);
    }
    block.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let hex: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        hex.chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    /// The examples of RFC 7541, appendix C.6.1 and C.4.1.
    #[test]
    fn huffman_is_that_of_the_rfc() {
        for (hex, text) in [
            ("f1e3 c2e5 f23a 6ba0 ab90 f4ff", "www.example.com"),
            ("9d29 ad17 1863 c78f 0b97 c8e9 ae82 ae43 d3", "https://www.example.com"),
            (
                "d07a be94 1054 d444 a820 0595 040b 8166 e082 a62d 1bff",
                "Mon, 21 Oct 2013 20:13:21 GMT",
            ),
            ("6402", "302"),
        ] {
            assert_eq!(huffman(&bytes(hex)).unwrap(), text.as_bytes());
        }
        // Eight and more bits of padding, or bits that are not ones.
        assert_eq!(huffman(&[0xff, 0xff]), Err(BadBlock));
        assert_eq!(huffman(&[0b0000_0000]), Err(BadBlock));
    }

    #[test]
    fn a_response_is_read_without_a_table() {
        // Size 0; :status 302 by a literal with Huffman; content-length; location;
        // a new name; :status 200 by index.
        let mut block = bytes("20 48 82 6402 0f0d 03");
        block.extend(b"123");
        block.extend(bytes("6e 91 9d29 ad17 1863 c78f 0b97 c8e9 ae82 ae43 d3 00 01 78 01 79 88"));
        let mut fields = Fields::new(&block);
        let mut found = Vec::new();
        while let Some(field) = fields.next().unwrap() {
            found.push(match field {
                Field::Status(status) => status.to_string(),
                Field::StatusText(text) | Field::Location(text) | Field::ContentLength(text) => {
                    String::from_utf8(text.read().unwrap()).unwrap()
                }
                Field::ContentType(_) | Field::Other => "other".to_owned(),
            });
        }
        assert_eq!(found, ["302", "123", "https://www.example.com", "other", "200"]);
        for wrong in ["be", "80", "3f e1 1f", "40 05 61", "48 ff ff ff ff ff ff"] {
            let block = bytes(wrong);
            let mut fields = Fields::new(&block);
            assert_eq!(fields.next().err(), Some(BadBlock), "{wrong}");
        }
    }

    #[test]
    fn a_request_reads_back() {
        let fields = [("X-Long".to_owned(), "v".repeat(500))];
        let block = request("DELETE", "https", "host:1", "/path?q", &fields);
        let mut read = Fields::new(&block);
        let mut count = 0;
        while read.next().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, 5);
        assert!(block.windows(6).any(|part| part == b"x-long"));
    }
}
