//! The keys of an operation map that have a meaning of their own.

/// The keys that every operation may have.
pub(super) const TYPE: u8 = 1;
pub(super) const PROCESS: u8 = 2;
pub(super) const F: u8 = 4;
pub(super) const VALUE: u8 = 8;
pub(super) const INDEX: u8 = 16;
pub(super) const TIME: u8 = 32;

/// The bit of a key, 0 for any other.
#[inline]
pub(super) fn key_bit(name: &[u8]) -> u8 {
    match name {
        b"type" => TYPE,
        b"process" => PROCESS,
        b"f" => F,
        b"value" => VALUE,
        b"index" => INDEX,
        b"time" => TIME,
        _ => 0,
    }
}

/// Whether an operation's key is one of those that every operation may have.
pub(crate) fn is_common_key(name: &str) -> bool {
    key_bit(name.as_bytes()) != 0
}

/// The key under which a transaction's label is kept where it is not the index.
pub(super) const LABEL_KEY: &str = "isolde/label";
