//! Text inside XML.

/// Appends text so that XML reads it back; what XML cannot hold becomes U+FFFD.
pub fn escape_into(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let is_special = |byte: u8| matches!(byte, b'<' | b'>' | b'&' | b'"') || byte < 0x20;
    let mut start = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        // U+FFFE and U+FFFF are no characters of XML.
        let is_noncharacter = byte == 0xEF && matches!(bytes[index..], [_, 0xBF, 0xBE | 0xBF, ..]);
        if !is_special(byte) && !is_noncharacter {
            continue;
        }
        out.extend_from_slice(&bytes[start.min(index)..index]);
        start = index + 1;
        out.extend_from_slice(match byte {
            b'<' => b"&lt;".as_slice(),
            b'>' => b"&gt;",
            b'&' => b"&amp;",
            b'"' => b"&quot;",
            b'\t' => b"&#9;",
            b'\n' => b"&#10;",
            b'\r' => b"&#13;",
            0xEF => {
                start = index + 3;
                "\u{FFFD}".as_bytes()
            }
            _ => "\u{FFFD}".as_bytes(),
        });
    }
    out.extend_from_slice(&bytes[start.min(bytes.len())..]);
}

/// Text so that XML reads it back.
pub fn escape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    escape_into(text, &mut out);
    // Only whole characters were replaced, by whole characters.
    String::from_utf8(out).unwrap_or_default()
}

/// An element with text, nothing where the text is empty.
pub fn element(name: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<{name}>{}</{name}>", escape(text)) }
}

#[cfg(test)]
mod tests {
    use super::{element, escape};

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(escape("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
        assert_eq!(escape("α\u{1}β"), "α\u{FFFD}β");
        assert_eq!(escape("x\u{FFFE}y\u{FFFF}"), "x\u{FFFD}y\u{FFFD}");
        assert_eq!(escape("a\r\n\tb"), "a&#13;&#10;&#9;b");
        assert_eq!(element("a", ""), "");
        assert_eq!(element("a", "<"), "<a>&lt;</a>");
    }
}
