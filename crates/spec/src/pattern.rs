//! What cycles of dependencies look like.

use crate::edge::Edges;

/// The anti-dependencies of a cycle, the most basic first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reads {
    /// None.
    None,
    /// Exactly one.
    One,
    /// Several, of which no two follow each other.
    Apart,
    /// Two follow each other.
    Adjacent,
}

impl Reads {
    /// The anti-dependencies of a cycle whose dependencies are of these kinds, in their order.
    ///
    /// ```
    /// use isolde_spec::{Edges, Reads};
    /// assert_eq!(Reads::of(&[Edges::RW, Edges::WR]), Reads::One);
    /// assert_eq!(Reads::of(&[Edges::RW, Edges::WR, Edges::RW]), Reads::Adjacent);
    /// ```
    pub fn of(kinds: &[Edges]) -> Reads {
        let anti = |i: usize| kinds[i % kinds.len()] == Edges::RW;
        match (0..kinds.len()).filter(|i| anti(*i)).count() {
            0 => Reads::None,
            1 => Reads::One,
            _ if (0..kinds.len()).any(|i| anti(i) && anti(i + 1)) => Reads::Adjacent,
            _ => Reads::Apart,
        }
    }
}

/// A kind of cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// Its anti-dependencies.
    pub reads: Reads,
    /// The kinds that its other dependencies may be of.
    pub others: Edges,
    /// How many transactions it has, if that matters.
    pub len: Option<usize>,
    /// Whether all its dependencies are on one key.
    pub same_key: bool,
    /// Whether the transaction that missed something saw something of the same writer in an earlier
    /// statement.
    pub saw_before: bool,
}

impl Pattern {
    /// Cycles of any length, on any keys.
    pub(crate) const fn any(reads: Reads, others: Edges) -> Pattern {
        Pattern { reads, others, len: None, same_key: false, saw_before: false }
    }

    /// Cycles of so many transactions.
    pub(crate) const fn of_len(self, len: usize) -> Pattern {
        Pattern { len: Some(len), ..self }
    }

    /// Cycles on one key.
    pub(crate) const fn on_one_key(self) -> Pattern {
        Pattern { same_key: true, ..self }
    }

    /// Cycles whose reader saw the writer before it missed something.
    pub(crate) const fn after_it_saw(self) -> Pattern {
        Pattern { saw_before: true, ..self }
    }
}
