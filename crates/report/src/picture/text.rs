//! Texts in a picture: how wide they are, and where they are cut.

/// How wide a character of 12 px is in a monospace font.
const CHARACTER: f64 = 7.2;
/// Widths are multiples of this, so that witnesses with other names have the same picture.
const CLASS: f64 = 24.0;

/// How many columns a text takes. Unlike a terminal, a browser gives some room to what should have
/// none, so that nothing counts as less than one.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(c: char) -> usize {
    let wide = matches!(u32::from(c),
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f
        | 0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f000..=0x1faff | 0x20000..=0x3fffd);
    1 + usize::from(wide)
}

/// How wide a text of that size is.
pub(super) fn width(text: &str, size: f64) -> f64 {
    columns(text) as f64 * CHARACTER * size / 12.0
}

/// The next multiple.
pub(super) fn width_class(width: f64) -> f64 {
    (width / CLASS).ceil() * CLASS
}

/// A text of at most so many columns, on one line: a longer one loses its middle.
pub(super) fn cut(text: &str, most: usize) -> String {
    let half = most * 2;
    // What is far too long is not even looked at as a whole.
    let text = crate::wrap::shorten(text, half.max(4));
    let text: String = text.chars().map(visible).collect();
    if columns(&text) <= most {
        return text;
    }
    let tail_columns = most.saturating_sub(1) / 3;
    let take = |chars: &mut dyn Iterator<Item = char>, room: usize| {
        let mut used = 0;
        let mut taken = Vec::new();
        for c in chars {
            used += columns_of(c);
            if used > room {
                break;
            }
            taken.push(c);
        }
        taken
    };
    let mut tail = take(&mut text.chars().rev(), tail_columns);
    tail.reverse();
    let head = take(&mut text.chars(), most.saturating_sub(1 + tail_columns));
    head.into_iter().chain(['…']).chain(tail).collect()
}

/// A text of several lines, of at most so many characters.
pub(super) fn long(text: &str, most: usize) -> String {
    crate::wrap::shorten(text, most)
}

/// Control characters as their pictures, and what turns text around as what cannot be shown.
fn visible(c: char) -> char {
    match u32::from(c) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or('\u{fffd}'),
        0x7f => '\u{2421}',
        0x80..0xa0 | 0x2028 | 0x2029 => '\u{fffd}',
        _ => crate::xml::harmless(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_keeps_both_ends() {
        assert_eq!(cut("short", 28), "short");
        assert_eq!(cut("abcdefghijklmnop", 10), "abcdef…nop");
        assert_eq!(columns(&cut(&"漢字".repeat(20), 10)), 9);
        assert_eq!(cut("a\0b\nc", 28), "a␀b␊c");
        assert_eq!(columns(&cut(&"x".repeat(100_000), 28)), 28);
    }
}
