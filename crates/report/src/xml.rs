//! Text inside XML and HTML.

/// A text that XML can hold, in content and in attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape_into(text, &mut out);
    out
}

/// The same, appended.
pub(crate) fn escape_into(text: &str, out: &mut String) {
    for c in text.chars() {
        match harmless(c) {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

/// What XML 1.0 can hold, and what does not turn around the text beside it; the rest becomes the
/// replacement character.
pub(crate) fn harmless(c: char) -> char {
    match u32::from(c) {
        0x9 | 0xa => c,
        0..0x20 | 0x7f..0xa0 | 0x200e | 0x200f | 0x202a..=0x202e | 0x2066..=0x2069 => '\u{fffd}',
        code if code & 0xfffe == 0xfffe => '\u{fffd}',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn xml_cannot_hold_everything() {
        let escaped = escape("<a b=\"c\">&'\0\u{202e}]]>");
        assert_eq!(escaped, "&lt;a b=&quot;c&quot;&gt;&amp;&#39;\u{fffd}\u{fffd}]]&gt;");
    }
}
