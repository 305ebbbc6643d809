//! Where a value that was read and should not have been can have come from.
//!
//! Values need not be unique. All writers of a value are looked at once, and what is needed of them is kept for
//! all its readers: a boolean that a thousand transactions wrote and read wrongly is no reason to look at a
//! million pairs.

use std::cell::{Cell, RefCell};

use hashbrown::HashMap;
use isolde_history::{OpId, TxnId, Value};
use isolde_spec::Anomaly;

use crate::keys::accesses::WriteFact;
use crate::keys::key_facts::KeyFacts;
use crate::keys::standing::Standing;
use crate::timestamps::case::TimedCase;
use crate::timestamps::rules::{self, WrongSource};
use crate::timestamps::ticks::Tick;

/// What is known of the writers of each value of one key, worked out as it is asked for.
#[derive(Default)]
pub(crate) struct WrittenValues {
    known: RefCell<HashMap<Value, Writers>>,
    unique: Cell<Option<bool>>,
}

/// The writers of a value.
#[derive(Clone, Copy, Default)]
pub(crate) struct Writers {
    /// How many writes there are.
    pub(crate) count: usize,
    /// Whether the commit point of one of them is still looked for.
    pub(crate) open: bool,
    /// Of versions, those that were committed first.
    committed: FirstTwo,
    /// Writes that their transactions overwrote.
    intermediate: FirstTwo,
    /// Writes that were rolled back.
    aborted: FirstTwo,
}

/// A write, by when it was committed.
type Written = (Tick, TxnId, OpId);

/// The first two writes of different transactions: one of them is not the reader's own.
#[derive(Clone, Copy, Default)]
struct FirstTwo([Option<Written>; 2]);

impl FirstTwo {
    fn add(&mut self, write: Written) {
        let [first, second] = &mut self.0;
        match *first {
            None => *first = Some(write),
            Some(least) if least.1 == write.1 => *first = Some(least.min(write)),
            Some(least) if write < least => (*first, *second) = (Some(write), Some(least)),
            Some(_) => *second = Some(second.map_or(write, |least| least.min(write))),
        }
    }

    fn not_of(&self, reader: TxnId) -> Option<Written> {
        self.0.into_iter().flatten().find(|write| write.1 != reader)
    }
}

impl WrittenValues {
    /// Forgets what is known of another key.
    pub(crate) fn clear(&mut self) {
        self.known.get_mut().clear();
        self.unique.set(None);
    }

    /// Whether no value was written twice.
    pub(crate) fn are_unique(&self, facts: &KeyFacts) -> bool {
        let unique = || facts.writes.iter().all(|write| write.next_equal.is_none());
        let answer = self.unique.get().unwrap_or_else(unique);
        self.unique.set(Some(answer));
        answer
    }

    /// The writers of a value. The facts are indexed by value.
    pub(crate) fn of(&self, case: &TimedCase<'_>, facts: &KeyFacts, value: Value) -> Writers {
        *self.known.borrow_mut().entry(value).or_insert_with(|| {
            let writes = facts.values.chain(&facts.writes, value);
            let mut writers = Writers::default();
            writes.for_each(|w| writers.add(case, facts, &facts.writes[w as usize]));
            writers
        })
    }
}

impl Writers {
    fn add(&mut self, case: &TimedCase<'_>, facts: &KeyFacts, write: &WriteFact) {
        self.count += 1;
        self.open |= case.is_open(write.txn);
        let commit = case.ticks.commit_of(write.txn);
        let written = (commit, write.txn, write.op);
        let unproved = matches!(write.standing, Standing::RolledBack | Standing::Unproved);
        if write.undone || unproved {
            self.aborted.add(written);
        } else if !write.last && !facts.is_list {
            // Every element of a list that was committed stays visible, not only the last.
            self.intermediate.add(written);
        } else {
            self.committed.add(written);
        }
    }

    /// What a read of the value is called that should have returned another one, and the write to show for it.
    /// Of several writers, the one counts that comes nearest to being right.
    pub(crate) fn name(
        &self,
        case: &TimedCase<'_>,
        facts: &KeyFacts,
        (reader, read): (TxnId, OpId),
        value: Value,
    ) -> Option<(Anomaly, OpId)> {
        let committed = self.committed.not_of(reader).map(|(commit, _, op)| match commit.known() {
            Some(commit) => (WrongSource::Committed(commit), op),
            None => (WrongSource::Overwritten, op),
        });
        let intermediate =
            self.intermediate.not_of(reader).map(|write| (WrongSource::Intermediate, write.2));
        let aborted = self.aborted.not_of(reader).map(|write| (WrongSource::Aborted, write.2));
        let others = [committed, intermediate, aborted].into_iter().flatten();
        let place = case.place_of(reader);
        let named = others.chain(own(case, facts, (reader, read), value));
        let named = named.map(|(source, op)| (source.name(place), op));
        named.min_by_key(|(anomaly, _)| rules::rank(*anomaly))
    }
}

/// A write of the value by the reader itself: later, or earlier and not standing any more.
fn own(
    case: &TimedCase<'_>,
    facts: &KeyFacts,
    (reader, read): (TxnId, OpId),
    value: Value,
) -> Option<(WrongSource<Tick>, OpId)> {
    let ops = case.keys.history.txn(reader).op_range();
    // Writes are in the order of their operations.
    let first = facts.writes.partition_point(|write| write.op.index() < ops.start);
    let own = facts.writes[first..].iter().take_while(|write| write.op.index() < ops.end);
    let mut own = own.filter(|write| write.txn == reader && write.value == value);
    let write = own.clone().find(|write| write.op < read).or(own.next())?;
    let source = if write.op > read { WrongSource::OwnLater } else { WrongSource::Aborted };
    Some((source, write.op))
}
