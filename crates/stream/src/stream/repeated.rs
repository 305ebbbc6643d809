//! Transactions that have come before are left out, by the numbers that the source gave them.

use isolde_history::{History, HistoryBuilder, TxnId};

use super::Stream;
use crate::content::name_id;
use crate::event::{Told, Trouble};
use crate::fingerprint::Fingerprints;
use crate::numbers::Numbered;
use crate::timestamps::excerpt::name_of;

impl Stream {
    /// The batch without transactions that have come before.
    pub(super) fn without_repeated(&mut self, batch: History) -> History {
        let mut seqs = batch.seqs().peekable();
        if seqs.peek().is_none() {
            drop(seqs);
            return batch;
        }
        let mut left_out = Vec::new();
        let said = Fingerprints::new(&batch);
        let pool = batch.pool();
        for (txn, seq) in seqs {
            let session = name_id(pool, pool.session_name(batch.txn(txn).session()));
            let numbered = self.numbers.note(session, seq, said.of(txn));
            if !matches!(numbered, Numbered::Next | Numbered::Gap) {
                left_out.push(txn);
            }
            self.numbered(numbered, || name_of(&batch, txn));
        }
        if left_out.is_empty() { batch } else { without(&batch, left_out) }
    }

    /// Counts and tells what a number says.
    fn numbered(&mut self, numbered: Numbered, name: impl Fn() -> String) {
        match numbered {
            Numbered::Next => {}
            Numbered::Gap => {
                if self.missing.is_none() {
                    let name = name();
                    self.is_incomplete(&format!(
                        "what came before {name} in its session is missing"
                    ));
                }
            }
            Numbered::Again => self.left_out.repeated += 1,
            Numbered::Taken => {
                self.left_out.taken += 1;
                self.trouble(Trouble::SameNumber(name()));
                self.is_incomplete("two transactions have one number");
            }
            Numbered::Old => {
                self.left_out.old += 1;
                if self.left_out.old == 1 {
                    self.trouble(Trouble::OldNumber(name()));
                }
                // It may have written what others read.
                self.is_incomplete("transactions with old numbers are left out");
            }
        }
    }

    fn trouble(&mut self, trouble: Trouble) {
        self.tell(Told::Trouble(trouble));
    }
}

/// A batch without some of its transactions.
fn without(batch: &History, mut left_out: Vec<TxnId>) -> History {
    left_out.sort_unstable();
    let mut rest = HistoryBuilder::new();
    batch.copy_meta(&batch.meta().initial.given, &mut rest);
    for txn in batch.txns().filter(|txn| left_out.binary_search(&txn.id()).is_err()) {
        // What a history holds a copy of it can hold, too.
        let _ = batch.copy_txn(txn.id(), &mut |_| true, &mut rest);
    }
    rest.finish()
}
