//! The kinds of dependency between two transactions, as a set of bits.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

/// A set of kinds of dependency. One pair of transactions may have several.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Edges(pub u8);

impl Edges {
    /// No kind.
    pub const NONE: Edges = Edges(0);
    /// Session order: the same client ran one before the other.
    pub const SO: Edges = Edges(1);
    /// Real time: one had ended before the other began.
    pub const RT: Edges = Edges(2);
    /// Write-read: one read what the other wrote.
    pub const WR: Edges = Edges(4);
    /// Write-write: one overwrote what the other wrote.
    pub const WW: Edges = Edges(8);
    /// Read-write, the anti-dependency: one overwrote what the other had read.
    pub const RW: Edges = Edges(16);
    /// Everything that is not an anti-dependency.
    pub const DEPENDENCIES: Edges = Edges(Edges::SO.0 | Edges::RT.0 | Edges::WR.0 | Edges::WW.0);
    /// Every kind.
    pub const ALL: Edges = Edges(31);

    const NAMES: [(Edges, &'static str); 5] = [
        (Edges::SO, "so"),
        (Edges::RT, "rt"),
        (Edges::WR, "wr"),
        (Edges::WW, "ww"),
        (Edges::RW, "rw"),
    ];

    /// Whether it has all kinds of the other.
    pub const fn contains(self, other: Edges) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether it has any kind of the other.
    pub const fn intersects(self, other: Edges) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether it has no kind.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds one by one, with their names.
    pub fn each(self) -> impl Iterator<Item = (Edges, &'static str)> {
        Edges::NAMES.into_iter().filter(move |(kind, _)| self.contains(*kind))
    }
}

impl BitOr for Edges {
    type Output = Edges;
    fn bitor(self, other: Edges) -> Edges {
        Edges(self.0 | other.0)
    }
}

impl BitOrAssign for Edges {
    fn bitor_assign(&mut self, other: Edges) {
        self.0 |= other.0;
    }
}

impl BitAnd for Edges {
    type Output = Edges;
    fn bitand(self, other: Edges) -> Edges {
        Edges(self.0 & other.0)
    }
}

impl Not for Edges {
    type Output = Edges;
    fn not(self) -> Edges {
        Edges(!self.0 & Edges::ALL.0)
    }
}

impl fmt::Debug for Edges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.each().map(|(_, name)| name).collect();
        f.write_str(&names.join("+"))
    }
}

impl fmt::Display for Edges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
