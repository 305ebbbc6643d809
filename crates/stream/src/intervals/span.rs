//! When something happened on the server, as far as a client knows: after it was sent, and before the answer came.
//!
//! Two things are in a certain order only if the answer to one had come before the other was sent. Where both times are
//! equal, they may be in either order: clocks are coarse.

/// Between these two times something happened, at one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Span {
    /// Not earlier than this: the client sent it then.
    pub(crate) sent: i64,
    /// Not later than this: the client had the answer then. The latest time of all if it never came.
    pub(crate) answered: i64,
}

impl Span {
    /// Nothing is known.
    pub(crate) const ANY: Span = Span { sent: i64::MIN, answered: i64::MAX };

    /// Whether this certainly happened before the other.
    #[inline]
    pub(crate) const fn must_precede(self, other: Span) -> bool {
        self.answered < other.sent
    }

    /// Whether this can have happened before the other.
    #[inline]
    pub(crate) const fn may_precede(self, other: Span) -> bool {
        self.sent <= other.answered
    }

    /// From the beginning of the one to the end of the other: either of them happened in it.
    pub(crate) fn hull(self, other: Span) -> Span {
        Span { sent: self.sent.min(other.sent), answered: self.answered.max(other.answered) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_may_be_in_either_order() {
        let (a, b) = (Span { sent: 1, answered: 5 }, Span { sent: 5, answered: 9 });
        assert!(!a.must_precede(b) && a.may_precede(b) && b.may_precede(a));
        let later = Span { sent: 6, answered: 9 };
        assert!(a.must_precede(later) && !later.may_precede(a));
        assert!(!Span::ANY.must_precede(a) && Span::ANY.may_precede(a));
    }
}
