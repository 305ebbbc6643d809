//! Operations by key: what was done to one key lies together, in the order of the history.
//!
//! Nearly everything that values tell is told key by key, so this is what lets the work be cut into
//! pieces for all cores, each of which stays in a cache.

use std::ops::Range;

use isolde_graph::parallel::{self, Work};
use isolde_history::{History, Key, Op, OpId, TxnId};

/// An operation on a key, and the transaction that made it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) op: OpId,
    pub(crate) txn: TxnId,
}

/// The operations of every key.
pub(crate) struct Index {
    /// One for each run of transactions that was sorted on its own.
    parts: Vec<IndexPart>,
    keys: usize,
    pub(crate) size: Work,
}

struct IndexPart {
    touches: Vec<Touch>,
    /// The keys before this have no touches.
    first: usize,
    /// Where the touches of each key from there on end; no later key has any.
    ends: Vec<u32>,
}

impl Index {
    pub(crate) fn new(history: &History) -> Index {
        Index::where_wanted(history, |_| true)
    }

    /// The operations of some keys only.
    pub(crate) fn of_some(history: &History, wanted: &[bool]) -> Index {
        if !wanted.contains(&true) {
            return Index { parts: Vec::new(), keys: history.key_count(), size: Work::Small };
        }
        Index::where_wanted(history, |key| wanted[key])
    }

    /// The operations of one key only.
    pub(crate) fn of_one(history: &History, wanted: Key) -> Index {
        let ops = ops_on(history, wanted).into_iter();
        let touch = |op: OpId| Touch { op, txn: history.txn_of(op) };
        Index::with_touches(history, wanted, ops.map(touch).collect())
    }

    /// The same, and of these only the operations of transactions that made one which is looked for.
    pub(crate) fn of_one_by(
        history: &History,
        wanted: Key,
        is_looked_for: impl Fn(&Op<'_>) -> bool,
    ) -> Index {
        let ops = ops_on(history, wanted);
        let mut touches: Vec<Touch> = Vec::new();
        let mut left = &ops[..];
        while let Some(at) = left.iter().position(|op| is_looked_for(&history.op(*op))) {
            let txn = history.txn_of(left[at]);
            let of_txn = history.txn(txn).op_range();
            let begin = left.partition_point(|op| op.index() < of_txn.start);
            let end = left.partition_point(|op| op.index() < of_txn.end);
            touches.extend(left[begin..end].iter().map(|op| Touch { op: *op, txn }));
            left = &left[end..];
        }
        Index::with_touches(history, wanted, touches)
    }

    /// Of one key these operations.
    fn with_touches(history: &History, wanted: Key, touches: Vec<Touch>) -> Index {
        let (first, ends) = (wanted.index(), vec![touches.len() as u32]);
        let parts = vec![IndexPart { touches, first, ends }];
        Index { parts, keys: history.key_count(), size: Work::Small }
    }

    fn where_wanted(history: &History, wanted: impl Fn(usize) -> bool + Sync) -> Index {
        let (ops, keys) = (history.op_count(), history.key_count());
        // Every part has a table of all keys, which should stay small beside the operations.
        let most = (ops / keys.max(1)).clamp(1, 8);
        let size = Work::of(ops);
        let parts = if size == Work::Small { 1 } else { parallel::cores().clamp(1, most) };
        let first_op = |txn: usize| match txn.checked_sub(1) {
            None => 0,
            Some(before) => history.txn(TxnId(before as u32)).op_range().end,
        };
        let pieces = parallel::cut(history.txn_count(), parts, first_op);
        let parts = parallel::map(size, &pieces, |txns| {
            IndexPart::new(history, txns.clone(), keys, &wanted)
        });
        Index { parts, keys, size }
    }

    /// The operations on a key, in the order of the history.
    #[inline]
    pub(crate) fn of(&self, key: usize) -> impl Iterator<Item = Touch> + '_ {
        self.parts.iter().flat_map(move |part| part.of(key)).copied()
    }

    /// The same, in the pieces in which they lie.
    #[inline]
    pub(crate) fn parts_of(&self, key: usize) -> impl Iterator<Item = &[Touch]> + '_ {
        self.parts.iter().map(move |part| part.of(key))
    }

    /// How many operations lie before those of a key.
    pub(crate) fn before(&self, key: usize) -> usize {
        self.parts.iter().map(|part| part.start(key)).sum()
    }

    /// The keys, cut into pieces of about equal work.
    pub(crate) fn pieces(&self) -> Vec<Range<usize>> {
        let pieces = if self.size == Work::Small { 1 } else { 8 * parallel::cores() };
        parallel::cut(self.keys, pieces, |key| self.before(key))
    }
}

/// The operations on a key.
fn ops_on(history: &History, wanted: Key) -> Vec<OpId> {
    /// So many keys are compared at a time, without asking in between.
    const LANES: usize = 64;
    let mut found = Vec::new();
    for (chunk, first) in history.op_keys().chunks(LANES).zip((0_u32..).step_by(LANES)) {
        if chunk.iter().fold(false, |is_in, key| is_in | (*key == wanted)) {
            let ops = (first..).zip(chunk).filter(|(_, key)| **key == wanted);
            found.extend(ops.map(|(op, _)| OpId(op)));
        }
    }
    found
}

impl IndexPart {
    /// A counting sort of the operations of some transactions.
    fn new(
        history: &History,
        txns: Range<usize>,
        keys: usize,
        wanted: impl Fn(usize) -> bool,
    ) -> IndexPart {
        let range = |t: usize| history.txn(TxnId(t as u32)).op_range();
        let first = if txns.is_empty() { 0 } else { range(txns.start).start };
        let last = if txns.is_empty() { 0 } else { range(txns.end - 1).end };
        let column = history.op_keys();
        let mut ends = vec![0u32; keys];
        for key in &column[first..last] {
            // Operations without a key have one beyond all.
            if let Some(count) = ends.get_mut(key.index())
                && wanted(key.index())
            {
                *count += 1;
            }
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut touches = vec![Touch { op: OpId(0), txn: TxnId(0) }; sum as usize];
        for txn in txns {
            for op in range(txn) {
                if let Some(at) = ends.get_mut(column[op].index())
                    && wanted(column[op].index())
                {
                    touches[*at as usize] = Touch { op: OpId(op as u32), txn: TxnId(txn as u32) };
                    *at += 1;
                }
            }
        }
        IndexPart { touches, first: 0, ends }
    }

    /// How many touches there are of keys before this.
    fn start(&self, key: usize) -> usize {
        match key.checked_sub(self.first + 1) {
            None => 0,
            Some(before) => self.ends.get(before).map_or(self.touches.len(), |end| *end as usize),
        }
    }

    #[inline]
    fn of(&self, key: usize) -> &[Touch] {
        &self.touches[self.start(key)..self.start(key + 1)]
    }
}
