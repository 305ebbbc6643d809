//! Names from outside, as a terminal may show them.

use std::borrow::Cow;
use std::fmt::Write as _;

/// What would move the cursor of a terminal, or turn around the text beside it.
pub(crate) fn is_treacherous(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// A name with escapes instead of the characters that a terminal would obey, as in keys.
///
/// ```
/// assert_eq!(isolde_history::printable("a b.edn"), "a b.edn");
/// assert_eq!(isolde_history::printable("\x1b[31mred\n"), r"\u001b[31mred\n");
/// ```
pub fn printable(name: &str) -> Cow<'_, str> {
    if !name.contains(is_treacherous) {
        return Cow::Borrowed(name);
    }
    let mut text = String::new();
    for c in name.chars() {
        match c {
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            c if is_treacherous(c) => {
                // Writing to a String cannot fail.
                let _ = write!(text, "\\u{:04x}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    Cow::Owned(text)
}
