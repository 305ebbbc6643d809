//! Texts that fit a terminal.

use std::fmt::Display;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How wide a line may be.
pub(crate) const WIDTH: usize = 100;

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
pub fn paragraph(out: &mut String, prefix: &str, hang: usize, most: usize, text: &str) {
    let mut line = prefix.to_owned();
    let mut room = WIDTH.saturating_sub(width(&line));
    let (mut lines, mut fresh) = (1, true);
    for word in text.split(' ') {
        // The caller that kept words together has kept them short.
        let word = if word.contains(HARD_SPACE) { word.to_owned() } else { shorten(word, WORD) };
        let length = width(&word) + usize::from(!fresh);
        if length > room && !fresh {
            if lines == most {
                line.push_str(" ...");
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
        room = room.saturating_sub(length);
        fresh = false;
    }
    out.push_str(&line);
    out.push('\n');
}

/// How many columns a text takes on a terminal. Colours take none.
pub(crate) fn width(text: &str) -> usize {
    let Some((plain, coloured)) = text.split_once('\x1b') else { return text.width() };
    let rest =
        coloured.split('\x1b').map(|part| part.split_once('m').map_or(0, |(_, t)| t.width()));
    plain.width() + rest.sum::<usize>()
}

/// A text without its middle, if it takes more than `most` columns.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(CUT.len());
    let tail = room / 3;
    let head = fitting(text.chars(), room - tail);
    let tail: Vec<char> = fitting(text.chars().rev(), tail).chars().rev().collect();
    format!("{head}{CUT}{}", tail.into_iter().collect::<String>())
}

/// What stands where a middle was left out. Plain ASCII, so that every terminal has it.
const CUT: &str = "...";

/// As many characters as fit into so many columns.
fn fitting(chars: impl Iterator<Item = char>, most: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= most
    };
    chars.take_while(fits).collect()
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
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH + 4), "{out}");
        assert!(lines[1].starts_with("      w(x,1)") && lines[1].ends_with(" ..."), "{out}");
    }

    #[test]
    fn a_long_word_keeps_both_ends() {
        let list: Vec<String> = (0..500).map(|n| n.to_string()).collect();
        let mut out = String::new();
        paragraph(&mut out, "", 2, 3, &format!("list(x,[{}]) w(y,1)", list.join(",")));
        assert!(out.starts_with("list(x,[0,1,2") && out.ends_with("498,499]) w(y,1)\n"), "{out}");
        assert!(out.chars().count() < WIDTH, "{out}");
    }

    #[test]
    fn widths_are_those_of_a_terminal() {
        assert_eq!(width("\x1b[1mT1\x1b[0m read"), 7);
        assert_eq!(width("漢字"), 4);
        assert_eq!(shorten("漢字漢字漢字漢字", 9), "漢字...字");
        assert_eq!(shorten("abcdefghijkl", 9), "abcd...kl");
    }
}
