//! An object that grows at its end: a list to which elements are appended, a text to which pieces are.
//!
//! Only what was read matters. What the object holds is therefore a prefix of something that was read,
//! or something that no call saw. Of the latter it is only known that no call sees it before it is
//! replaced.

use super::model::Model;

/// An object that grows.
pub(crate) struct Sequence<'h, T> {
    initial: Grown,
    /// Everything that was read, sorted.
    read: Vec<&'h [T]>,
    /// Whether some call replaces what is there.
    replaced: bool,
}

/// What the object holds: so much of the first of the things read that begin with it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Grown {
    read: u32,
    len: u32,
}

/// A content that is no prefix of anything that a call read.
const UNSEEN: Grown = Grown { read: u32::MAX, len: 0 };

/// What is done to the object.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Grow<'h, T> {
    Append(Box<[T]>),
    Replace(Box<[T]>),
    Read(&'h [T]),
}

impl<'h, T: Ord> Sequence<'h, T> {
    /// An object to which these calls are made.
    pub(crate) fn new<'c>(
        initial: &[T],
        calls: impl Iterator<Item = &'c Grow<'h, T>>,
    ) -> Sequence<'h, T>
    where
        'h: 'c,
        T: 'c,
    {
        let (mut read, mut replaced): (Vec<&'h [T]>, bool) = (Vec::new(), false);
        for call in calls {
            match call {
                Grow::Read(all) => read.push(all),
                Grow::Replace(_) => replaced = true,
                Grow::Append(_) => {}
            }
        }
        read.sort_unstable();
        read.dedup();
        let mut sequence = Sequence { initial: UNSEEN, read, replaced };
        sequence.initial = sequence.grown(&[], initial);
        sequence
    }

    /// The state in which one thing is followed by another.
    fn grown(&self, one: &[T], other: &[T]) -> Grown {
        let before = |read: &&[T]| read.iter().cmp(one.iter().chain(other)).is_lt();
        let at = self.read.partition_point(before);
        let whole = |read: &&&[T]| {
            let rest = read.strip_prefix(one).and_then(|rest| rest.strip_prefix(other));
            rest.is_some()
        };
        match self.read.get(at).filter(whole) {
            Some(_) => Grown { read: at as u32, len: (one.len() + other.len()) as u32 },
            None => UNSEEN,
        }
    }

    /// The content, if some call saw it.
    pub(crate) fn content(&self, state: Grown) -> Option<&'h [T]> {
        self.read.get(state.read as usize).map(|read| &read[..state.len as usize])
    }
}

impl<'h, T: Ord + std::hash::Hash> Model for Sequence<'h, T>
where
    Grow<'h, T>: Eq,
{
    type State = Grown;
    type Call = Grow<'h, T>;

    fn initial(&self) -> Grown {
        self.initial
    }

    fn step(&self, state: &Grown, call: &Grow<'h, T>) -> Option<Grown> {
        match call {
            Grow::Replace(all) => Some(self.grown(&[], all)),
            Grow::Append(piece) => {
                Some(self.content(*state).map_or(UNSEEN, |held| self.grown(held, piece)))
            }
            Grow::Read(all) => (self.content(*state) == Some(*all)).then_some(*state),
        }
    }

    fn reads_only(&self, call: &Grow<'h, T>) -> bool {
        matches!(call, Grow::Read(_))
    }

    /// A content that no call saw never grows to one that a call saw.
    fn hopeless(&self, state: &Grown) -> bool {
        *state == UNSEEN && !self.replaced
    }
}
