//! Registers and lists.

use isolde_history::OpKind;

use super::running::{Act, Running};
use super::store::{Access, Cell, Store};
use super::tables::Tables;

/// A value. Every value is written once, so it is its own version.
impl Cell for u64 {
    fn version(&self) -> u64 {
        *self
    }
}

/// A value under each key.
#[derive(Default, Debug)]
pub(crate) struct Registers {
    last_value: u64,
}

impl Registers {
    fn next_value(&mut self) -> u64 {
        self.last_value += 1;
        self.last_value
    }
}

impl Store for Registers {
    type Cell = u64;
    const LISTS: bool = false;

    #[inline]
    fn access(&mut self, tables: &mut Tables<u64>, access: Access, txn: &mut Running) {
        let Access { kind, row, expected } = access;
        let Some((key, &mut now)) = tables.cell(txn.round, row) else { return };
        let touch = txn.touch(row, key, now);
        let act = match kind {
            OpKind::Read if touch.wrote => Act::Read { key, value: own(&txn.acts, key, now) },
            OpKind::Read => {
                touch.read = true;
                Act::Read { key, value: now }
            }
            OpKind::Cas => {
                touch.wrote |= now == expected;
                let (value, done) = (self.next_value(), now == expected);
                Act::Cas { key, expected, value, done }
            }
            OpKind::InsertIfAbsent => {
                touch.wrote |= now == 0;
                Act::Insert { key, value: self.next_value(), done: now == 0 }
            }
            _ => {
                touch.wrote = true;
                Act::Write { key, value: self.next_value() }
            }
        };
        txn.acts.push(act);
    }

    #[inline]
    fn apply(&mut self, tables: &mut Tables<u64>, txn: &Running) {
        for touch in txn.touched.iter().filter(|t| t.wrote) {
            if let Some((key, cell)) = tables.cell(txn.round, touch.row) {
                *cell = own(&txn.acts, key, *cell);
            }
        }
    }

    fn fresh_values(&mut self, count: u64) -> u64 {
        self.last_value += count;
        self.last_value - count
    }

    fn last_read(_: u64) -> Option<Vec<u64>> {
        None
    }
}

/// What a transaction itself wrote last under a key.
fn own(acts: &[Act], key: u64, otherwise: u64) -> u64 {
    let wrote = |act: &Act| match *act {
        Act::Write { key: at, value }
        | Act::Cas { key: at, value, done: true, .. }
        | Act::Insert { key: at, value, done: true }
            if at == key =>
        {
            Some(value)
        }
        _ => None,
    };
    acts.iter().rev().find_map(wrote).unwrap_or(otherwise)
}

/// A list. It only grows, so its length is its version.
#[derive(Clone, Default, Debug)]
pub(crate) struct List {
    elements: Vec<u64>,
    /// The last element that a transaction has set out to append.
    last: u64,
}

impl Cell for List {
    fn version(&self) -> u64 {
        self.elements.len() as u64
    }
}

/// A list under each key.
#[derive(Default, Debug)]
pub(crate) struct Lists;

impl Store for Lists {
    type Cell = List;
    const LISTS: bool = true;

    fn access(&mut self, tables: &mut Tables<List>, access: Access, txn: &mut Running) {
        let Some((key, list)) = tables.cell(txn.round, access.row) else { return };
        let touch = txn.touch(access.row, key, list.version());
        if access.kind == OpKind::Append {
            // From here on, what others append comes before or after what this one does.
            if !touch.wrote {
                touch.version = list.version();
            }
            touch.wrote = true;
            list.last += 1;
            txn.acts.push(Act::Append { key, value: list.last });
            return;
        }
        touch.read = true;
        touch.read_own = touch.wrote;
        let start = txn.elements.len() as u32;
        txn.elements.extend(&list.elements);
        let own = txn.acts.iter().filter_map(|act| match *act {
            Act::Append { key: at, value } if at == key => Some(value),
            _ => None,
        });
        txn.elements.extend(own);
        txn.acts.push(Act::ListRead { key, start, end: txn.elements.len() as u32 });
    }

    fn apply(&mut self, tables: &mut Tables<List>, txn: &Running) {
        for act in &txn.acts {
            let Act::Append { key, value } = *act else { continue };
            // The keys of planted violations have no row: no other transaction reads them.
            let touch = txn.touched.iter().find(|t| t.key == key);
            if let Some(touch) = touch
                && let Some((_, list)) = tables.cell(txn.round, touch.row)
            {
                list.elements.push(value);
            }
        }
    }

    fn fresh_values(&mut self, _: u64) -> u64 {
        // An element is unique under its key, and planted violations have keys of their own.
        0
    }

    fn last_read(list: List) -> Option<Vec<u64>> {
        (!list.elements.is_empty()).then_some(list.elements)
    }
}
