//! Texts that fit a terminal.

use std::fmt::Display;

/// How wide a line may be.
const WIDTH: usize = 100;

/// A word longer than this loses its middle: a list of a thousand elements says no more than its
/// ends.
const WORD: usize = 60;

/// A space at which no line is broken.
const HARD_SPACE: &str = "\u{a0}";

/// A text that stays on one line, if it fits on one.
pub(crate) fn unbroken(text: &str) -> String {
    text.replace(' ', HARD_SPACE)
}

/// Appends a text as lines that fit, broken at spaces. The first begins with `prefix`, the others
/// with `hang` spaces; what needs more than `most` lines is cut.
pub(crate) fn paragraph(out: &mut String, prefix: &str, hang: usize, most: usize, text: &str) {
    let mut line = prefix.to_owned();
    let mut room = WIDTH.saturating_sub(line.chars().count());
    let (mut lines, mut fresh) = (1, true);
    for word in text.split(' ') {
        // What was kept together was kept short by whoever did.
        let word = if word.contains(HARD_SPACE) { word.to_owned() } else { shorten(word, WORD) };
        let length = word.chars().count() + usize::from(!fresh);
        if length > room && !fresh {
            if lines == most {
                line.push_str(" …");
                break;
            }
            out.push_str(&line);
            out.push('\n');
            line = " ".repeat(hang);
            (lines, room, fresh) = (lines + 1, WIDTH.saturating_sub(hang), true);
        }
        if !fresh {
            line.push(' ');
        }
        line.push_str(&word.replace(HARD_SPACE, " "));
        room = room.saturating_sub(word.chars().count() + usize::from(!fresh));
        fresh = false;
    }
    out.push_str(&line);
    out.push('\n');
}

/// A text without its middle, if it is longer than `most`.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let tail = most / 3;
    let head: String = text.chars().take(most - tail - 1).collect();
    let tail: String = text.chars().skip(length - tail).collect();
    format!("{head}…{tail}")
}

/// A number with its thousands apart.
///
/// ```
/// assert_eq!(isolde_report::number(2_000_000), "2,000,000");
/// ```
pub fn number(n: impl Display) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// "a", "a and b", "a, b and c".
pub(crate) fn all_of(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_break_and_very_long_ones_are_cut() {
        let mut out = String::new();
        paragraph(&mut out, "  T1  ", 6, 2, &"w(x,1) ".repeat(60));
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH + 2), "{out}");
        assert!(lines[1].starts_with("      w(x,1)") && lines[1].ends_with(" …"), "{out}");
    }

    #[test]
    fn a_long_word_keeps_both_ends() {
        let list: Vec<String> = (0..500).map(|n| n.to_string()).collect();
        let mut out = String::new();
        paragraph(&mut out, "", 2, 3, &format!("list(x,[{}]) w(y,1)", list.join(",")));
        assert!(out.starts_with("list(x,[0,1,2") && out.ends_with("498,499]) w(y,1)\n"), "{out}");
        assert!(out.chars().count() < WIDTH, "{out}");
    }
}
