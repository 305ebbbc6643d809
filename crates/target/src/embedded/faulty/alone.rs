//! Anomalies inside one transaction: a read of its own is answered wrongly, and if it turns out at
//! commit that the transaction was not of the shape for it, it is told of a conflict.

use isolde_spec::Anomaly;

use super::store::{Key, RowValue, Store};
use super::txn::{Did, FaultyTxn};

/// The first of the values that no transaction writes.
const THIN_AIR: i64 = 1 << 60;

/// What a session wrote last, to guess what it writes next: sessions take turns with the integers, so
/// the difference stays the same.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Habit {
    last: Option<i64>,
    step: Option<i64>,
}

impl Habit {
    /// Notes a value.
    pub(super) fn note(&mut self, value: i64) {
        self.step = self.last.and_then(|last| value.checked_sub(last));
        self.last = Some(value);
    }

    /// What it writes next, if it goes on like that.
    fn next(self) -> Option<i64> {
        self.last?.checked_add(self.step?)
    }
}

/// The wrong answer to a read, where there is one to give.
pub(super) fn mislead(
    anomaly: Anomaly,
    txn: &FaultyTxn,
    key: Key,
    habit: Habit,
    store: &Store,
) -> Option<RowValue> {
    let own = |did: &Did| match did {
        Did::Write(k, value) if *k == key => Some(*value),
        _ => None,
    };
    let mut own = txn.log.iter().filter_map(own);
    let value = match anomaly {
        Anomaly::ThinAirRead if txn.log.is_empty() => {
            THIN_AIR.checked_add(i64::try_from(txn.number).ok()?)?
        }
        // The second read is right: it tells what the write overwrites.
        Anomaly::FutureRead if txn.log.is_empty() => habit.next()?,
        Anomaly::NotMyLastWrite => {
            let first = own.next()?;
            own.next()?;
            first
        }
        Anomaly::NotMyOwnWrite => {
            own.next()?;
            return Some(Some(store.read(key, txn.snapshot)?));
        }
        _ => return None,
    };
    Some(Some(vec![value]))
}

/// Whether a transaction that was misled is of the shape that makes it just this anomaly.
pub(super) fn fits(anomaly: Anomaly, txn: &FaultyTxn) -> bool {
    match (anomaly, txn.log.as_slice()) {
        (Anomaly::ThinAirRead, [Did::Read(_)]) => true,
        (Anomaly::FutureRead, [Did::Read(a), Did::Read(b), Did::Write(c, value)]) => {
            [a, b] == [b, c] && txn.misled == Some(*value)
        }
        (
            Anomaly::NotMyLastWrite,
            [Did::Read(a), Did::Write(b, _), Did::Write(c, _), Did::Read(d)],
        ) => [a, b, c] == [b, c, d],
        (Anomaly::NotMyOwnWrite, [Did::Read(a), Did::Write(b, _), Did::Read(c)]) => {
            [a, b] == [b, c]
        }
        _ => false,
    }
}
