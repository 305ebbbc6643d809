//! Names and passwords that are used nowhere else.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Read;

/// A random text of letters and digits: 128 bits.
pub(crate) fn secret() -> String {
    let mut bytes = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut bytes));
    if read.is_err() {
        // Keys of hash maps are random too, from the same source by another way.
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&RandomState::new().build_hasher().finish().to_le_bytes());
        }
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The same, short enough for the name of a table or a folder.
pub(crate) fn tag() -> String {
    secret()[..12].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_are_different() {
        assert_ne!(secret(), secret());
        assert_eq!((secret().len(), tag().len()), (32, 12));
    }
}
