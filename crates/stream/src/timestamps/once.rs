//! What is known of a key: whether every word was written to it once. [`super::uniqueness`] finds it out.

use hashbrown::HashSet;

use crate::content::Word;

/// Whether every word of a key was written once.
#[derive(Default, Debug)]
pub(crate) enum Uniqueness {
    /// Nobody has asked.
    #[default]
    Unasked,
    /// No: and it stays so.
    Twice,
    /// Yes, of a register.
    Once,
    /// Yes, of a list, which has these elements.
    Elements(HashSet<Word>),
}

impl Uniqueness {
    /// Whether anybody has asked.
    pub(crate) fn is_asked(&self) -> bool {
        !matches!(self, Uniqueness::Unasked)
    }

    /// Whether a word was written twice.
    pub(crate) fn is_refuted(&self) -> bool {
        matches!(self, Uniqueness::Twice)
    }

    /// The bytes that it takes beside itself.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Uniqueness::Elements(elements) => elements.capacity() * (size_of::<Word>() + 1),
            _ => 0,
        }
    }
}
