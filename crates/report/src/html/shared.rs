//! Texts that are kept once, however often they are used.

use std::collections::HashMap;

use serde_json::Value;

/// A list of different texts.
#[derive(Default)]
pub(super) struct Shared {
    numbers: HashMap<String, usize>,
    texts: Vec<String>,
}

impl Shared {
    /// The number of a text, which is kept if it is new.
    pub(super) fn number(&mut self, text: &str) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len();
        self.numbers.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// All texts as JSON strings.
    pub(super) fn into_strings(self) -> String {
        let quoted: Vec<String> =
            self.texts.into_iter().map(|text| Value::String(text).to_string()).collect();
        format!("[{}]", quoted.join(","))
    }

    /// All texts, which are JSON already.
    pub(super) fn into_json(self) -> String {
        format!("[{}]", self.texts.join(","))
    }
}
