//! No password that was typed is printed, whatever went wrong with the word that it was in.

use isolde_target::without_password;

/// A text in which words of the command line appear without their passwords.
pub(crate) fn hidden(text: &str) -> String {
    std::env::args_os().skip(1).fold(text.to_owned(), |text, word| {
        let word = word.to_string_lossy();
        // `--option=VALUE` may be quoted by its value alone.
        let value = word.strip_prefix("--").and_then(|word| word.split_once('='));
        let words = [Some(&*word), value.map(|(_, value)| value)];
        words.into_iter().flatten().fold(text, |text, word| match without_password(word) {
            shown if shown == word => text,
            shown => text.replace(word, &shown),
        })
    })
}
