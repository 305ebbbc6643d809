//! Words that a shell takes as they are.

/// A word as it must be typed.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn only_odd_words_are_quoted() {
        assert_eq!(quoted("logs/history-1.edn"), "logs/history-1.edn");
        assert_eq!(quoted("my history.edn"), "'my history.edn'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
