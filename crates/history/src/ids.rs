//! Dense identifiers: each is an index into a column of one [`History`](crate::History).

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $short:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The identifier as an index into a column.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($short, "{}"), self.0)
            }
        }
    };
}

id!(
    /// A session: one client that runs its transactions one after another.
    SessionId,
    "s"
);
id!(
    /// A transaction, numbered in the order in which the reader or recorder delivered it.
    /// Within a session that order is session order.
    TxnId,
    "t"
);
id!(
    /// A statement: the operations that one request to the server performed.
    StmtId,
    "st"
);
id!(
    /// An operation on one key (or one predicate).
    OpId,
    "o"
);
id!(
    /// A key: an object of the database, by whatever name the source gave it.
    Key,
    "k"
);

impl Key {
    /// The key of operations that have none: savepoints and predicate reads.
    pub const NONE: Key = Key(u32::MAX);
}
