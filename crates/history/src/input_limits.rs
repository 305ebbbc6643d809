//! How much an input may have.

use crate::error::ReadError;
use crate::source::whole;

/// How many bytes of text an input may have once it is unpacked, and how much memory there is for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InputLimits {
    /// Bytes of text.
    pub text: u64,
    /// Bytes of memory for the text.
    pub memory: u64,
}

impl Default for InputLimits {
    /// 64 GiB of text, and all memory that there is.
    fn default() -> InputLimits {
        InputLimits { text: 64 << 30, memory: u64::MAX }
    }
}

impl InputLimits {
    /// What both limits allow.
    pub(crate) fn most(self) -> u64 {
        self.text.min(self.memory)
    }

    /// What is left of them after so many bytes.
    pub(crate) fn after(self, bytes: u64) -> InputLimits {
        let left = |limit: u64| limit.saturating_sub(bytes);
        InputLimits { text: left(self.text), memory: left(self.memory) }
    }

    /// Which option allows more.
    fn option(self) -> &'static str {
        if self.memory < self.text { "--memory" } else { "--max-input" }
    }
}

/// The complaint about an input that has, or unpacks to, more than is allowed.
pub(crate) fn too_large(name: &str, packed: bool, limits: InputLimits) -> ReadError {
    let most = bytes_in_words(limits.most());
    let has = if packed { "unpacks to" } else { "has" };
    let mut error = whole(name, format!("the input {has} more than {most}"));
    error.hint = Some(format!("{} allows more", limits.option()));
    error
}

/// A number of bytes in words.
pub(crate) fn bytes_in_words(bytes: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) if bytes.is_multiple_of(unit) => format!("{} {name}", bytes / unit),
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None => format!("{bytes} bytes"),
    }
}
