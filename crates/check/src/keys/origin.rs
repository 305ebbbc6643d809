//! Where a read of a value that several transactions wrote is taken to come from.

use hashbrown::HashMap;
use isolde_history::OpId;

/// Where an ambiguous read may have come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    Initial,
    Write(OpId),
}

impl Origin {
    /// The write, if it is one.
    pub(crate) fn write(self) -> Option<OpId> {
        match self {
            Origin::Initial => None,
            Origin::Write(op) => Some(op),
        }
    }
}

/// Which writes ambiguous reads are taken to be from.
pub(crate) type Choices = HashMap<OpId, Origin>;
