//! What the kinds of an edge have to be: a set of at most eight.

use std::fmt::Debug;

/// A set of kinds of edge, one bit for each kind.
pub trait Kinds: Copy + Eq + Ord + Debug + Send + Sync {
    /// The set without any kind.
    const NONE: Self;

    /// The set as bits.
    fn bits(self) -> u8;

    /// The set with these bits; only those that [`Kinds::bits`] returned are asked for.
    fn from_bits(bits: u8) -> Self;

    /// Whether the two sets have a kind in common.
    #[inline]
    fn has_any(self, other: Self) -> bool {
        self.bits() & other.bits() != 0
    }

    /// Whether the set has all kinds of the other one.
    #[inline]
    fn has_all(self, other: Self) -> bool {
        self.bits() & other.bits() == other.bits()
    }
}

impl Kinds for u8 {
    const NONE: u8 = 0;

    #[inline]
    fn bits(self) -> u8 {
        self
    }

    #[inline]
    fn from_bits(bits: u8) -> u8 {
        bits
    }
}
