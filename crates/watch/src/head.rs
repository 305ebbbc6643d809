//! The header of a source, which holds for all that follows.

use isolde_history::{History, HistoryBuilder};

/// What the header of a source says.
pub(crate) struct Head {
    history: History,
    /// Whether it says what keys hold at first.
    says_initial: bool,
}

impl Head {
    pub(crate) fn new(history: History, says_initial: bool) -> Head {
        Head { history, says_initial }
    }

    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// Whether it says what keys hold at first.
    pub(crate) fn says_initial(&self) -> bool {
        self.says_initial
    }

    /// Whether it says that transactions are missing: a recorder says so until it is through.
    pub(crate) fn is_open(&self) -> bool {
        !self.history.meta().complete
    }

    /// Says it of a batch, but for the initial values of single keys: there may be millions, and the stream knows them
    /// from its beginning.
    pub(crate) fn say(&self, builder: &mut HistoryBuilder) {
        self.history.copy_meta(&[], builder);
    }
}
