//! Locks on ranges of keys: while a transaction holds one, no other inserts a row there.
//!
//! A statement that locks what it looks at, and the gaps between, waits for rows that others have inserted and not committed;
//! and an insert waits for such locks. So the time in which a range was certainly locked and that in which an inserted row
//! certainly was do not overlap. Keys are integers here: the order of texts depends on the server.

use hashbrown::HashMap;
use isolde_history::{Datum, Pool, Value};

use super::span::Span;
use crate::bodies::TxnRef;
use crate::content::{NameId, name_id};

/// A key as a place in the order of its table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TableKey {
    pub(crate) table: NameId,
    pub(crate) number: i64,
}

/// The table of keys that name none. No name has this number: the second word of a name is odd or 0.
const NO_TABLE: NameId = NameId(0, 4);

impl TableKey {
    /// A number, or a list of a table and a number.
    pub(crate) fn of(pool: &Pool, name: Value) -> Option<TableKey> {
        if let Some(number) = name.as_int() {
            return Some(TableKey { table: NO_TABLE, number });
        }
        let (table, number) = pair(pool, name)?;
        Some(TableKey { table: name_id(pool, table), number: number.as_int()? })
    }
}

/// The two items of a list of two.
pub(crate) fn pair(pool: &Pool, list: Value) -> Option<(Value, Value)> {
    let Datum::List(items) = pool.datum(list) else { return None };
    let mut items = items.iter();
    let both = (items.next()?, items.next()?);
    items.next().is_none().then_some(both)
}

/// A range that a transaction certainly had locked, or a row that it had inserted.
#[derive(Clone, Debug)]
pub(crate) struct KeyHold {
    pub(crate) first: TableKey,
    pub(crate) last: i64,
    /// What did it; the greatest number of all if the statement found no row.
    pub(crate) op: u32,
    pub(crate) from: i64,
    pub(crate) until: i64,
}

impl KeyHold {
    pub(super) fn meets(&self, other: &KeyHold) -> bool {
        let keys = self.first.number <= other.last && other.first.number <= self.last;
        keys && self.from.max(other.from) < self.until.min(other.until)
    }

    pub(super) fn span(&self) -> Span {
        Span { sent: self.from, answered: self.until }
    }
}

/// One of a transaction that has been decided.
#[derive(Clone, Debug)]
pub(super) struct DecidedHold {
    pub(super) txn: TxnRef,
    pub(super) hold: KeyHold,
}

/// Those of one table, in the order of their ends.
pub(super) type OfTable = HashMap<NameId, Vec<DecidedHold>>;

/// The ranges and the new rows of transactions that have been decided.
#[derive(Default, Debug)]
pub(crate) struct Ranges {
    pub(super) ranges: OfTable,
    pub(super) inserted: OfTable,
    /// Whether any statement has said which range it looked at.
    pub(crate) are_said: bool,
}

impl Ranges {
    /// Forgets what was let go of before a time.
    pub(crate) fn forget(&mut self, horizon: i64) {
        for table in [&mut self.ranges, &mut self.inserted] {
            table.retain(|_, all| {
                let gone = all.partition_point(|old| old.hold.until <= horizon);
                all.drain(..gone);
                !all.is_empty()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_one_table_are_in_the_order_of_their_numbers() {
        let mut pool = Pool::new();
        let (table, seven) = (pool.text("t"), pool.int(7));
        let listed = pool.list(&[table, seven]);
        let text = pool.list(&[table, table]);
        let of = |name| TableKey::of(&pool, name);
        assert_eq!(of(listed).map(|key| key.number), Some(7));
        assert_ne!(of(listed).map(|key| key.table), of(seven).map(|key| key.table));
        assert_eq!((of(text), of(table)), (None, None));
    }
}
