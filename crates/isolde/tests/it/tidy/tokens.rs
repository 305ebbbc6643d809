//! Rust code as words and signs, as far as the rules of the house need it.

/// A word or a sign of the code, and the line it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

impl Token<'_> {
    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// The code of a file without comments, literals, and everything under `#[cfg(test)]`.
pub(crate) fn code(text: &str) -> Vec<Token<'_>> {
    without_tests(&tokens(text))
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let skipped = literal(rest);
        let length = skipped.unwrap_or(match word {
            0 if rest.starts_with("::") => 2,
            0 => first.len_utf8(),
            _ => word,
        });
        if skipped.is_none() && !first.is_whitespace() {
            found.push(Token { text: &rest[..length], line });
        }
        line += rest[..length].matches('\n').count();
        at += length;
    }
    found
}

/// How long the comment, text, character or lifetime is that begins here, if one does.
fn literal(rest: &str) -> Option<usize> {
    let until = |end: &str, from: usize| {
        Some(rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len()))
    };
    let mut chars = rest.chars();
    match (chars.next()?, chars.next().unwrap_or(' ')) {
        ('/', '/') => until("\n", 2),
        ('/', '*') => until("*/", 2),
        ('"', _) => Some(quoted(rest)),
        ('b', '"') => Some(1 + quoted(&rest[1..])),
        ('b', '\'') => literal(&rest[1..]).map(|length| 1 + length),
        ('r', '"' | '#') | ('b', 'r') => {
            let marks = rest.trim_start_matches(['b', 'r']);
            let hashes = marks.len() - marks.trim_start_matches('#').len();
            let begins = rest.len() - marks.len() + hashes + 1;
            let raw = marks[hashes..].starts_with('"');
            raw.then(|| until(&format!("\"{}", "#".repeat(hashes)), begins))?
        }
        ('\'', '\\') => until("'", 3),
        ('\'', c) if rest[1 + c.len_utf8()..].starts_with('\'') => Some(2 + c.len_utf8()),
        ('\'', _) => Some(1),
        _ => None,
    }
}

/// The length of a text in quotes, in which a quote may stand behind a backslash.
fn quoted(rest: &str) -> usize {
    let mut escaped = true;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'"' if !escaped => return at + 1,
            _ => escaped = byte == b'\\' && !escaped,
        }
    }
    rest.len()
}

/// Drops each item that is there for tests only: up to its semicolon or its last brace.
fn without_tests<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mark = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let marked = tokens[at..].iter().map(|t| t.text).take(mark.len()).eq(mark);
        if !marked {
            kept.push(tokens[at]);
            at += 1;
            continue;
        }
        let mut depth = 0;
        at += mark.len();
        while at < tokens.len() {
            let text = tokens[at].text;
            at += 1;
            match text {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => (),
            }
            if depth == 0 && matches!(text, ";" | "}") {
                break;
            }
        }
    }
    kept
}

#[test]
fn comments_literals_and_tests_are_no_code() {
    let text = r##"
//! use crate::a;
use crate::b; /* use crate::c; */
const TEXT: &'static str = "use crate::d \" ; { \\";
const RAW: &[u8] = br#"use "crate"::e"#;
const MARKS: [char; 3] = ['"', '\'', '{'];
#[cfg(test)]
mod tests {
    fn f() { g(); }
}
#[cfg(test)]
use crate::f;
fn raw(r: u8) {}
"##;
    let words: Vec<_> = code(text).into_iter().filter(Token::is_word).map(|t| t.text).collect();
    let expected = "use crate b const TEXT static str const RAW u8 const MARKS char fn raw r u8";
    assert_eq!(words.join(" "), expected);
    let last = code(text).pop().map(|token| (token.text, token.line));
    assert_eq!(last, Some(("}", 13)));
}
