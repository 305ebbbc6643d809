//! An index that may be missing, in four bytes.

use std::fmt;

/// An index below `u32::MAX`, or none. Tables of these start as zeros, which are all "none", and cost
/// half of what an `Option<u32>` does.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct MaybeIndex(u32);

impl MaybeIndex {
    pub(crate) const NONE: MaybeIndex = MaybeIndex(0);

    #[inline]
    pub(crate) fn of(index: usize) -> MaybeIndex {
        debug_assert!(index < u32::MAX as usize, "an index that does not fit: {index}");
        MaybeIndex(index as u32 + 1)
    }

    #[inline]
    pub(crate) fn get(self) -> Option<usize> {
        self.0.checked_sub(1).map(|index| index as usize)
    }

    #[inline]
    pub(crate) fn is_some(self) -> bool {
        self.0 != 0
    }

    #[inline]
    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for MaybeIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_what_memory_starts_as() {
        assert_eq!(MaybeIndex::default().get(), None);
        assert_eq!(MaybeIndex::of(0).get(), Some(0));
        assert!(MaybeIndex::of(7).is_some() && MaybeIndex::NONE.is_none());
        assert_eq!(size_of::<MaybeIndex>(), 4);
    }
}
