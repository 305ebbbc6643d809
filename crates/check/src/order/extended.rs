//! Which version of a list each transaction extended.
//!
//! A list read is from its last foreign element, also if own elements follow it. So a transaction that
//! read a list only after its own append shows as well which version it extended.

use hashbrown::HashMap;
use isolde_history::TxnId;

use crate::keys::key_facts::KeyFacts;

/// The reads of a list that came after an append of the reader.
pub(crate) struct Extended {
    /// The last read of each transaction.
    last: HashMap<TxnId, usize>,
}

impl Extended {
    /// Of the facts of a list, to be asked about so many of its versions.
    pub(crate) fn of(facts: &KeyFacts, versions: usize) -> Extended {
        let reads = facts.reads.iter().enumerate().filter(|_| facts.is_list && versions > 0);
        Extended { last: reads.map(|(at, read)| (read.txn, at)).collect() }
    }

    /// The read that shows what the writer of a version extended: the last one before its first append
    /// or, without any, the last one after it.
    pub(crate) fn by(&self, facts: &KeyFacts, version: u32) -> Option<usize> {
        let write = &facts.writes[version as usize];
        write.read_before.get().or_else(|| self.last.get(&write.txn).copied())
    }
}
