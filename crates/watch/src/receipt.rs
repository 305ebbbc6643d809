//! Receipts: a source that has sent something asks to be told when it is safe.

use std::sync::mpsc::{Receiver, Sender, channel};

/// Asks to be told when everything that was sent before it is safe. If it is dropped, that is never told.
pub(crate) struct Receipt {
    to: Sender<u64>,
    number: u64,
}

impl Receipt {
    /// Everything is safe. Who asked may have gone away.
    pub(crate) fn confirm(self) {
        let _ = self.to.send(self.number);
    }
}

/// Where receipts come back to.
pub(crate) struct Receipts {
    to: Sender<u64>,
    back: Receiver<u64>,
    /// What was asked for last.
    asked: u64,
    told: u64,
}

impl Receipts {
    pub(crate) fn new() -> Receipts {
        let (to, back) = channel();
        Receipts { to, back, asked: 0, told: 0 }
    }

    /// A receipt for so much, if there is none yet.
    pub(crate) fn ask(&mut self, number: u64) -> Option<Receipt> {
        let is_new = number > self.asked;
        self.asked = self.asked.max(number);
        is_new.then(|| Receipt { to: self.to.clone(), number })
    }

    /// How much is safe, if more is than last time.
    pub(crate) fn safe(&mut self) -> Option<u64> {
        let before = self.told;
        self.told = self.back.try_iter().fold(before, u64::max);
        (self.told > before).then_some(self.told)
    }

    /// Waits until all is safe that was asked for, and says how much that is; nothing if it never will be, or if it has
    /// been told.
    pub(crate) fn wait(self) -> Option<u64> {
        // Only receipts that are on their way can still be confirmed.
        let Receipts { to, back, asked, told } = self;
        drop(to);
        let safe = back.iter().find(|number| *number >= asked);
        safe.filter(|number| *number > told)
    }
}
