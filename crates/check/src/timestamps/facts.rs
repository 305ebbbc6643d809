//! What a few transactions did to their keys, for a stream: the facts that whole histories are judged by.
//!
//! Which reads are of other transactions, which writes leave a version, and what breaks the rules inside a transaction
//! depends on that transaction alone. So the facts of an endless stream are made batch by batch.

use isolde_history::{History, Key, Op, OpId, TxnId, Value};

use crate::keys::accesses::WriteFact;
use crate::keys::key_facts::{KeyFacts, asked_for, what_it_wrote};
use crate::keys::sorted_keys::SortedKeys;
use crate::keys::standing::{self, Standing};
use crate::timestamps::{judged_key, supply};

/// The facts of a batch of transactions, key by key.
pub struct BatchFacts<'h> {
    keys: SortedKeys<'h>,
    standings: Vec<Standing>,
    facts: KeyFacts,
}

/// What a transaction saw of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Saw<'h> {
    /// This value.
    Value(Value),
    /// Some other value than this: it was refused.
    NotValue(Value),
    /// A list that begins with these elements; what follows is the transaction's own.
    List(&'h [Value]),
}

/// A read that says something about other transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchRead<'h> {
    /// The transaction.
    pub txn: TxnId,
    /// The operation.
    pub op: OpId,
    /// What it saw.
    pub saw: Saw<'h>,
}

/// What became of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteFate {
    /// It made the version that its transaction left behind; of a list, an element that is there now.
    Version,
    /// Its transaction overwrote it.
    Overwritten,
    /// It was rolled back.
    Undone,
    /// The outcome of its transaction is unknown.
    Unknown,
}

/// A write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchWrite {
    /// The transaction.
    pub txn: TxnId,
    /// The operation.
    pub op: OpId,
    /// What was written; [`Value::ABSENT`] by a delete.
    pub value: Value,
    /// What became of it.
    pub fate: WriteFate,
    /// Of a list: whether it is the last element that its transaction appended.
    pub last: bool,
}

impl<'h> BatchFacts<'h> {
    /// Sorts a batch by keys.
    pub fn new(history: &'h History) -> BatchFacts<'h> {
        let facts = KeyFacts::default();
        let standings = standing::at_first(history);
        BatchFacts { keys: SortedKeys::new(history), standings, facts }
    }

    /// The same for one key only: the others are as if nothing had been done to them.
    pub fn of_one(history: &'h History, key: Key) -> BatchFacts<'h> {
        let (facts, standings) = (KeyFacts::default(), standing::at_first(history));
        BatchFacts { keys: SortedKeys::of_one(history, key), standings, facts }
    }

    /// The same, and of that key only what those transactions did that wrote a value which is looked for.
    pub fn of_writers(
        history: &'h History,
        key: Key,
        is_looked_for: impl Fn(Value) -> bool,
    ) -> BatchFacts<'h> {
        let (facts, standings) = (KeyFacts::default(), standing::at_first(history));
        let writes = |op: &Op<'_>| what_it_wrote(op).is_some_and(&is_looked_for);
        BatchFacts { keys: SortedKeys::of_one_by(history, key, writes), standings, facts }
    }

    /// Makes the facts of a key.
    pub fn of(&mut self, key: Key) -> BatchKey<'_, 'h> {
        self.facts.load_unindexed(&self.keys, &self.standings, key.index());
        BatchKey { facts: &self.facts, keys: &self.keys }
    }
}

/// The facts of one key.
pub struct BatchKey<'b, 'h> {
    facts: &'b KeyFacts,
    keys: &'b SortedKeys<'h>,
}

impl<'b, 'h> BatchKey<'b, 'h> {
    /// Whether the key holds a list.
    pub fn is_list(&self) -> bool {
        self.facts.is_list
    }

    /// Whether the key is used as a list and as something else.
    pub fn is_mixed(&self) -> bool {
        self.facts.mixed.is_some()
    }

    /// An operation that makes it unknown which versions the key had.
    pub fn doubt(&self) -> Option<OpId> {
        let facts = self.facts;
        facts.mixed.or(facts.unsure).or(facts.unlearned).or(facts.undecided)
    }

    /// What transactions that committed saw of others. What predicate reads did not return is left out: a batch does
    /// not show which rows they might have returned.
    pub fn reads(&self) -> impl Iterator<Item = BatchRead<'h>> + use<'b, 'h> {
        let (facts, history) = (self.facts, self.keys.history);
        let plain: &[_] = if facts.is_list { &[] } else { &facts.reads };
        let plain = plain.iter().filter(|read| read.standing.counts() && !read.missing);
        let plain = plain.map(|r| BatchRead { txn: r.txn, op: r.op, saw: Saw::Value(r.value) });
        let lists = facts.list_reads.iter().map(move |read| {
            let elements = history.op(read.op).elements().unwrap_or_default();
            let foreign = &elements[..read.foreign as usize];
            BatchRead { txn: read.txn, op: read.op, saw: Saw::List(foreign) }
        });
        let refused = facts.refused.iter().filter_map(move |&(op, txn)| {
            let saw = Saw::NotValue(asked_for(&history.op(op))?);
            Some(BatchRead { txn, op, saw })
        });
        let committed = |txn| history.txn(txn).outcome() == isolde_history::Outcome::Committed;
        plain.chain(lists.chain(refused).filter(move |read| committed(read.txn)))
    }

    /// All writes, in the order of the batch.
    pub fn writes(&self) -> impl Iterator<Item = BatchWrite> + use<'b, 'h> {
        let is_list = self.facts.is_list;
        self.facts.writes.iter().map(move |write| BatchWrite {
            txn: write.txn,
            op: write.op,
            value: write.value,
            fate: fate(write, is_list),
            last: write.is_version(),
        })
    }

    /// Operations that break the rules inside their transactions, and those transactions.
    pub fn breaches(&self) -> impl Iterator<Item = (TxnId, OpId)> + use<'b, 'h> {
        let history = self.keys.history;
        let breaches = self.facts.breaches.iter().filter_map(|breach| breach.ops().last().copied());
        let refused = self.facts.refused_own.iter().map(|(_, op)| *op);
        breaches.chain(refused).map(move |op| (history.txn_of(op), op))
    }
}

fn fate(write: &WriteFact, is_list: bool) -> WriteFate {
    match write.standing {
        _ if write.undone => WriteFate::Undone,
        Standing::RolledBack => WriteFate::Undone,
        Standing::Unproved => WriteFate::Unknown,
        Standing::Committed | Standing::Proved if is_list || write.last => WriteFate::Version,
        Standing::Committed | Standing::Proved => WriteFate::Overwritten,
    }
}

/// Whether a write may have inserted its row, as the recorder says.
pub fn upserts(history: &History, op: OpId) -> bool {
    judged_key::upserts(history, op)
}

/// Whether a transaction wrote something that was not rolled back to a savepoint.
pub fn wrote(txn: &isolde_history::Txn<'_>) -> bool {
    supply::wrote(txn)
}
