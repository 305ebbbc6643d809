//! The ways to know the order of a key's versions.

/// How the order of a key's versions is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Known {
    /// There is one version at most.
    Single,
    /// Every transaction that wrote the key had read it.
    Updates,
    /// By the reads of a list.
    List,
    /// From the recorder.
    Given,
    /// One session wrote the key.
    Session,
    /// Versions that were never read may come in any order; the rest of the order is known.
    Unread,
    /// It is not.
    Not,
}

impl Known {
    /// The ways to know an order, in words.
    pub(crate) const WAYS: [(Known, &'static str); 7] = [
        (Known::Single, "one version"),
        (Known::Updates, "read-modify-write chains"),
        (Known::List, "list prefixes"),
        (Known::Given, "given by the recorder"),
        (Known::Session, "one session wrote the key"),
        (Known::Unread, "open only for versions that were never read"),
        (Known::Not, "not known"),
    ];

    pub(crate) fn is_open(self) -> bool {
        matches!(self, Known::Unread | Known::Not)
    }
}
