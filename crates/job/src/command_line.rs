//! The command that a job came from, so that it can be typed again.

use isolde_target::without_password;

/// What was typed, without passwords.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CommandLine {
    words: Vec<String>,
}

impl CommandLine {
    /// The words after the name of the program.
    pub fn new(words: impl IntoIterator<Item = String>) -> CommandLine {
        CommandLine { words: words.into_iter().map(|word| without_password(&word)).collect() }
    }

    /// As it was typed.
    pub fn typed(&self) -> String {
        self.quoted(None)
    }

    /// The same with that seed.
    pub fn with_seed(&self, seed: u64) -> String {
        self.quoted(Some(seed))
    }

    fn quoted(&self, seed: Option<u64>) -> String {
        let mut words = vec!["isolde".to_owned()];
        let mut typed = self.words.iter();
        while let Some(word) = typed.next() {
            if seed.is_some() && word == "--seed" {
                typed.next();
            } else if seed.is_none() || !word.starts_with("--seed=") {
                words.push(quoted(word));
            }
        }
        words.extend(seed.map(|seed| format!("--seed {seed}")));
        words.join(" ")
    }
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if word.contains(char::is_control) {
        // A terminal must not obey a name; shells read these escapes.
        let escaped = |c: char| match c {
            '\'' | '\\' => format!("\\{c}"),
            c if c.is_ascii_control() => format!("\\x{:02x}", u32::from(c)),
            c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        };
        return format!("$'{}'", word.chars().map(escaped).collect::<String>());
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_odd_words_are_quoted() {
        assert_eq!(quoted("logs/history-1.edn"), "logs/history-1.edn");
        assert_eq!(quoted("my history.edn"), "'my history.edn'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a\x1b]0;it's\n"), r"$'a\x1b]0;it\'s\x0a'");
    }

    #[test]
    fn a_seed_replaces_the_one_that_was_typed() {
        let typed = |words: &str| CommandLine::new(words.split(' ').map(str::to_owned));
        let command = typed("test fjall --seed 1 --txns 5k");
        assert_eq!(command.typed(), "isolde test fjall --seed 1 --txns 5k");
        assert_eq!(command.with_seed(7), "isolde test fjall --txns 5k --seed 7");
        assert_eq!(typed("test x --seed=1").with_seed(7), "isolde test x --seed 7");
    }

    #[test]
    fn passwords_are_not_shown() {
        let command = CommandLine::new(["postgres://me:secret@host/db".to_owned()]);
        assert_eq!(command.typed(), "isolde 'postgres://me:***@host/db'");
    }
}
