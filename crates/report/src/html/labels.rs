//! Sentences with the names taken out. Ten thousand lost updates are told in the same words about
//! other transactions: what is left without the names is kept once.

/// The first character that stands for a name; they are of Unicode's private area.
const FIRST: u32 = 0xE000;
/// The character that says that the next one stands for itself.
const LITERAL: char = '\u{F8FF}';
/// How many names there may be.
pub(super) const MOST: usize = 400;

/// The character that stands for the name of that number.
fn mark(number: usize) -> Option<char> {
    let number = u32::try_from(number).ok().filter(|n| (*n as usize) < MOST)?;
    char::from_u32(FIRST + number)
}

fn push(out: &mut String, c: char) {
    if (FIRST..=LITERAL as u32).contains(&(c as u32)) {
        out.push(LITERAL);
    }
    out.push(c);
}

/// The text with each of the names replaced by a mark, the longest first, where it stands as a word.
pub(super) fn without(text: &str, names: &[String]) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut before) = (text, None);
    while let Some(first) = rest.chars().next() {
        let found = names.iter().enumerate().take(MOST).filter(|(_, n)| is_word(rest, before, n));
        let longest = found.max_by_key(|(_, name)| name.len());
        if let Some((number, name)) = longest
            && let (Some(mark), Some(after)) = (mark(number), rest.strip_prefix(name.as_str()))
        {
            out.push(mark);
            (rest, before) = (after, name.chars().last());
        } else {
            push(&mut out, first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            before = Some(first);
        }
    }
    out
}

/// Whether a text begins with a name that does not end within a word.
fn is_word(text: &str, before: Option<char>, name: &str) -> bool {
    let joined = |a: Option<char>, b: Option<char>| matches!((a, b), (Some(a), Some(b)) if a.is_alphanumeric() && b.is_alphanumeric());
    !name.is_empty()
        && text.strip_prefix(name).is_some_and(|after| {
            !joined(before, name.chars().next())
                && !joined(name.chars().last(), after.chars().next())
        })
}

/// The text with parts that follow each other replaced by their marks. What is not found stays.
pub(super) fn without_in_order<'p>(text: &str, parts: impl Iterator<Item = &'p str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    for (number, part) in parts.enumerate() {
        let Some(mark) = mark(number) else { break };
        if let Some((before, after)) = rest.split_once(part) {
            before.chars().for_each(|c| push(&mut out, c));
            out.push(mark);
            rest = after;
        }
    }
    rest.chars().for_each(|c| push(&mut out, c));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn names_are_taken_out_where_they_are_words() {
        let names = names(&["T1", "T12", "x", "r(x,1)"]);
        let text = without("T12 read x of T1, next: r(x,1), T123", &names);
        assert_eq!(text, "\u{E001} read \u{E002} of \u{E000}, next: \u{E003}, T123");
    }

    #[test]
    fn what_looks_like_a_mark_is_none() {
        assert_eq!(without("\u{E000}", &names(&["x"])), "\u{F8FF}\u{E000}");
        assert_eq!(without("\u{F8FF}", &[]), "\u{F8FF}\u{F8FF}");
    }

    #[test]
    fn parts_are_found_in_their_order() {
        let text = without_in_order("a 1: r(x,1) r(x,1) w(y,2)", ["r(x,1)", "r(x,1)"].into_iter());
        assert_eq!(text, "a 1: \u{E000} \u{E001} w(y,2)");
    }
}
