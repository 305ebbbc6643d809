//! The kinds of an edge of the dependency graph, as bits: all of them stand here.

use std::fmt;
use std::ops::{BitAnd, BitOr};

use isolde_spec::Edges;

/// A set of kinds: those of [`Edges`], and two that only the checker knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EdgeKinds(u8);

/// The first bit that [`Edges`] does not use.
const FIRST_FREE: u8 = Edges::ALL.0 + 1;

impl EdgeKinds {
    /// From a helper that stands between all that read a version and all that overwrote it: the second
    /// half of an anti-dependency, whose first half leads to the helper.
    pub(crate) const VIA: EdgeKinds = EdgeKinds(FIRST_FREE);
    /// An edge of the commit order that a weak level forces.
    pub(crate) const FORCED: EdgeKinds = EdgeKinds(FIRST_FREE << 1);

    pub(crate) const fn of(edges: Edges) -> EdgeKinds {
        EdgeKinds(edges.0)
    }

    /// Those kinds that a witness may name.
    #[inline]
    pub(crate) const fn edges(self) -> Edges {
        Edges(self.0 & Edges::ALL.0)
    }

    #[inline]
    pub(crate) const fn contains(self, edges: Edges) -> bool {
        self.edges().contains(edges)
    }

    #[inline]
    pub(crate) const fn intersects(self, edges: Edges) -> bool {
        self.edges().intersects(edges)
    }

    /// Whether the two sets have a kind in common.
    #[inline]
    pub(crate) const fn meets(self, other: EdgeKinds) -> bool {
        self.0 & other.0 != 0
    }
}

impl isolde_graph::Kinds for EdgeKinds {
    const NONE: EdgeKinds = EdgeKinds(0);

    #[inline]
    fn bits(self) -> u8 {
        self.0
    }

    #[inline]
    fn from_bits(bits: u8) -> EdgeKinds {
        EdgeKinds(bits)
    }
}

impl From<Edges> for EdgeKinds {
    #[inline]
    fn from(edges: Edges) -> EdgeKinds {
        EdgeKinds::of(edges)
    }
}

impl BitOr for EdgeKinds {
    type Output = EdgeKinds;
    fn bitor(self, other: EdgeKinds) -> EdgeKinds {
        EdgeKinds(self.0 | other.0)
    }
}

impl BitAnd for EdgeKinds {
    type Output = EdgeKinds;
    fn bitand(self, other: EdgeKinds) -> EdgeKinds {
        EdgeKinds(self.0 & other.0)
    }
}

impl fmt::Debug for EdgeKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let via = if self.meets(EdgeKinds::VIA) { "+via" } else { "" };
        let forced = if self.meets(EdgeKinds::FORCED) { "+forced" } else { "" };
        write!(f, "{}{via}{forced}", self.edges())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_kinds_share_a_bit() {
        let own = [EdgeKinds::VIA, EdgeKinds::FORCED];
        let all = own.into_iter().chain(Edges::ALL.each().map(|(kind, _)| EdgeKinds::of(kind)));
        let bits: Vec<u8> = all.map(|kinds| kinds.0).collect();
        assert_eq!(bits.iter().fold(0, |all, bit| all | bit).count_ones() as usize, bits.len());
        assert!(bits.iter().all(|bit| bit.is_power_of_two()));
        assert_eq!((EdgeKinds::VIA | EdgeKinds::of(Edges::RW)).edges(), Edges::RW);
    }
}
