//! The transactions of a history whose commits the server has lost.

use std::collections::HashMap;

use crate::attributes::names;
use crate::evidence::Outcome;
use crate::history::History;
use crate::ids::TxnId;
use crate::lost_commit::LostCommit;
use crate::meta::Event;
use crate::value::Value;

/// What tells a lost transaction from all others.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Mark {
    Number { restart: i64, xid: i64 },
    Written { session: Value, key: Value, value: Value },
}

impl History {
    /// The committed transactions that the recorder says were lost, each with the event that says so, in the
    /// order of the history. What an event says of a transaction that is not here is left out.
    ///
    /// ```
    /// let text = "a: w(x,1) {xid=7}\na: w(x,2) {xid=8}\nevent lost-commit @[9,_] {restart:0,xid:8}";
    /// let history = isolde_history::notation::parse(text).unwrap();
    /// let lost: Vec<usize> = history.lost_txns().iter().map(|(txn, _)| txn.index()).collect();
    /// assert_eq!(lost, [1]);
    /// ```
    pub fn lost_txns(&self) -> Vec<(TxnId, &Event)> {
        let lost = |event| Some((mark(LostCommit::of(self.pool(), event)?), event));
        let lost: HashMap<Mark, &Event> = self.events().iter().filter_map(lost).collect();
        let mut found = Vec::new();
        if lost.is_empty() {
            return found;
        }
        let committed = |txn: TxnId| self.txn_outcomes()[txn.index()] == Outcome::Committed;
        for (txn, xid) in self.txn_ints(names::XID).filter(|(txn, _)| committed(*txn)) {
            let restart = self.txn(txn).restart();
            found.extend(lost.get(&Mark::Number { restart, xid }).map(|event| (txn, *event)));
        }
        for txn in self.txns().filter(|txn| committed(txn.id())) {
            let session = self.pool().session_name(txn.session());
            let written = txn.ops().filter(|op| op.kind().writes()).map(|op| {
                let key = self.pool().key_name(op.key());
                Mark::Written { session, key, value: op.value() }
            });
            found
                .extend(written.filter_map(|mark| lost.get(&mark)).map(|event| (txn.id(), *event)));
        }
        found.sort_by_key(|(txn, _)| *txn);
        found.dedup_by_key(|(txn, _)| *txn);
        found
    }
}

fn mark(lost: LostCommit) -> Mark {
    match lost {
        LostCommit::ByXid { restart, xid } => Mark::Number { restart: restart.into(), xid },
        LostCommit::ByValue { session, key, value } => Mark::Written { session, key, value },
    }
}
