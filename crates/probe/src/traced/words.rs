//! SQL taken apart: words in small letters, numbers, texts, and marks.

/// A piece of a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// A word or a name, in small letters.
    Word(String),
    /// A number that is a whole one.
    Number(i64),
    /// A text in quotes.
    Text(String),
    /// Anything else, such as `=`.
    Mark(char),
}

impl Piece {
    pub(super) fn is(&self, word: &str) -> bool {
        matches!(self, Piece::Word(own) if own == word)
    }
}

/// The pieces of a statement; nothing if a quotation mark is left open, or a number is none.
pub(super) fn pieces(statement: &str) -> Option<Vec<Piece>> {
    let mut rest = statement.trim().trim_end_matches(';');
    let mut pieces = Vec::new();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' => {
                let end = rest[1..].find('\'')?;
                pieces.push(Piece::Text(rest[1..=end].to_owned()));
                end + 2
            }
            c if c.is_ascii_alphanumeric() || c == '_' => {
                let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
                let word = rest[..end].to_ascii_lowercase();
                pieces.push(match c.is_ascii_digit() {
                    true => Piece::Number(word.parse().ok()?),
                    false => Piece::Word(word),
                });
                end
            }
            c => {
                if !c.is_whitespace() {
                    pieces.push(Piece::Mark(c));
                }
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    Some(signed(pieces))
}

/// `- 5` after anything but a value is the number -5.
fn signed(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let is_sign = out.last() == Some(&Piece::Mark('-'));
        let before = out.len().checked_sub(2).and_then(|at| out.get(at));
        let after_value = matches!(before, Some(Piece::Number(_) | Piece::Word(_)))
            || before == Some(&Piece::Mark(')'));
        match piece {
            Piece::Number(number) if is_sign && !after_value => {
                out.pop();
                out.push(Piece::Number(-number));
            }
            piece => out.push(piece),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_fall_into_pieces() {
        let found = pieces("Update t SET v='a b', w=-1 where id = 2 - 1;").unwrap();
        let word = |word: &str| Piece::Word(word.to_owned());
        let mark = Piece::Mark;
        let text = Piece::Text("a b".to_owned());
        let set = [word("update"), word("t"), word("set"), word("v"), mark('='), text, mark(',')];
        let rest = [word("w"), mark('='), Piece::Number(-1), word("where"), word("id"), mark('=')];
        let end = [Piece::Number(2), mark('-'), Piece::Number(1)];
        assert_eq!(found, [&set[..], &rest, &end].concat());
        assert_eq!(pieces("select 'open"), None);
        assert_eq!(pieces("é"), Some(vec![Piece::Mark('é')]));
    }
}
