//! Who read from whom, by key and by transaction: all that the weak levels need of a history.
//!
//! Their axioms speak of single reads, never of the order of versions beyond what lists and the
//! recorder show. So the walk over all keys keeps the reads with their sources and the writers, as
//! columns, and nothing else.

use std::ops::Range;

use isolde_history::{Key, OpId, TxnId};
use isolde_spec::Edges;

use crate::keys::context::Context;
use crate::graph::edges::EdgeList;
use crate::keys::key_facts::KeyFacts;
use crate::keys::findings::Findings;
use crate::order::dependency::{Dependencies, Dependency};
use crate::order::orderer::Orderer;
use crate::parallel;
use crate::keys::accesses::Source;
use crate::keys::provenance;

/// What a transaction saw of a key, perhaps several times in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    /// The reader.
    pub(crate) txn: u32,
    pub(crate) key: u32,
    /// Whoever wrote it, or [`INITIAL`].
    pub(crate) source: u32,
    /// The first and the last of the reads.
    pub(crate) first: OpId,
    pub(crate) last: OpId,
}

/// The source of what was there from the beginning.
pub(crate) const INITIAL: u32 = u32::MAX;

/// ReadTable with their sources, and writers, by key.
pub(crate) struct ReadTable {
    pub(crate) found: Findings,
    /// The orders of versions that lists and the recorder show.
    pub(crate) orders: Vec<EdgeList>,
    reads: Rows<Seen>,
    writers: Rows<u32>,
}

/// What belongs to each of many rows, one after another.
pub(crate) struct Rows<T> {
    items: Vec<T>,
    ends: Vec<u32>,
}

impl<T> Rows<T> {
    fn new() -> Rows<T> {
        Rows { items: Vec::new(), ends: Vec::new() }
    }

    #[inline]
    fn range(&self, row: usize) -> Range<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        start..self.ends[row] as usize
    }

    #[inline]
    pub(crate) fn of(&self, row: usize) -> &[T] {
        &self.items[self.range(row)]
    }

    fn end_row(&mut self) {
        self.ends.push(self.items.len() as u32);
    }

    fn append(&mut self, mut other: Rows<T>) {
        let before = self.items.len() as u32;
        self.items.append(&mut other.items);
        self.ends.extend(other.ends.iter().map(|end| before + end));
    }
}

impl ReadTable {
    /// Walks over all keys, on all cores.
    pub(crate) fn find(context: &Context<'_>) -> ReadTable {
        let pieces = context.index.pieces();
        let parts = parallel::map(context.index.size, &pieces, |keys| {
            ReadTable::of_keys(context, keys.clone())
        });
        let mut parts = parts.into_iter();
        let mut all = parts.next().unwrap_or_else(|| ReadTable::of_keys(context, 0..0));
        for mut part in parts {
            all.found.append(part.found);
            all.orders.append(&mut part.orders);
            all.reads.append(part.reads);
            all.writers.append(part.writers);
        }
        all
    }

    fn of_keys(context: &Context<'_>, keys: Range<usize>) -> ReadTable {
        let mut found = Findings::default();
        let mut shown = ShownOrders(context.edges());
        let (mut reads, mut writers) = (Rows::new(), Rows::new());
        let (mut facts, mut orderer) = (KeyFacts::default(), Orderer::default());
        for key in keys {
            facts.load(context, &context.standings, key);
            provenance::settle(context, &mut facts, &mut found);
            if facts.is_list || context.given.contains_key(&key) {
                orderer.key(context, &facts, None, &mut found, &mut shown);
            }
            for (read, source) in facts.reads.iter().zip(&facts.sources) {
                let source = match source {
                    Source::Write(w) => facts.writes[*w as usize].txn.0,
                    Source::Initial => INITIAL,
                    Source::None => continue,
                };
                let (txn, key) = (read.txn.0, key as u32);
                reads.items.push(Seen { txn, key, source, first: read.op, last: read.last });
            }
            let versions = facts.writes.iter().filter(|w| w.is_version());
            writers.items.extend(versions.map(|w| w.txn.0));
            reads.end_row();
            writers.end_row();
        }
        let orders = if shown.0.len() == 0 { Vec::new() } else { vec![shown.0] };
        ReadTable { found, orders, reads, writers }
    }

    /// What was seen of a key, in the order of the history.
    pub(crate) fn of_key(&self, key: Key) -> &[Seen] {
        self.reads.of(key.index())
    }

    /// Who wrote a key, in the order of the history.
    pub(crate) fn writers_of(&self, key: Key) -> &[u32] {
        self.writers.of(key.index())
    }

    /// How many reads there are.
    pub(crate) fn len(&self) -> usize {
        self.reads.items.len()
    }

    pub(crate) fn key_count(&self) -> usize {
        self.reads.ends.len()
    }

    /// Write-read dependencies.
    pub(crate) fn edges(&self, context: &Context<'_>) -> Vec<EdgeList> {
        let parts = parallel::cut(self.reads.items.len(), 2 * parallel::cores(), |i| i);
        parallel::map(context.index.size, &parts, |part| {
            let mut edges = context.edges();
            for seen in self.reads.items[part.clone()].iter().filter(|s| s.source != INITIAL) {
                edges.push(seen.source, seen.txn, Edges::WR);
            }
            edges
        })
    }
}

/// Keeps the orders of versions that were shown. What follows from reading a version and overwriting
/// it proves no more than that its writer came before, below snapshot isolation.
struct ShownOrders(EdgeList);

impl Dependencies for ShownOrders {
    fn add(&mut self, d: Dependency) {
        if d.kind == Edges::WW {
            self.0.push(d.from.0, d.to.0, d.kind);
        }
    }

    fn all(&mut self, _: usize, _: &[TxnId], _: &[TxnId]) {}

    fn add_both(&mut self, _: Dependency, _: Dependency) {}
}

/// The same by transaction. Those of one transaction are in the order of their keys, and of a key in
/// their own.
pub(crate) struct ByTxn {
    reads: Rows<Seen>,
    keys: Rows<u32>,
}

impl ByTxn {
    pub(crate) fn new(reads: &ReadTable, txns: usize) -> ByTxn {
        let by_reader = sorted(&reads.reads.items, txns, |seen| seen.txn as usize);
        let mut written: Vec<(u32, u32)> = Vec::with_capacity(reads.writers.items.len());
        for key in 0..reads.key_count() {
            written.extend(reads.writers.of(key).iter().map(|txn| (*txn, key as u32)));
        }
        let by_writer = sorted(&written, txns, |(txn, _)| *txn as usize);
        let keys = by_writer.items.iter().map(|(_, key)| *key).collect();
        ByTxn { reads: by_reader, keys: Rows { items: keys, ends: by_writer.ends } }
    }

    /// What a transaction saw.
    #[inline]
    pub(crate) fn seen_by(&self, txn: u32) -> &[Seen] {
        self.reads.of(txn as usize)
    }

    /// The keys that a transaction wrote.
    #[inline]
    pub(crate) fn written_by(&self, txn: u32) -> &[u32] {
        self.keys.of(txn as usize)
    }
}

/// A counting sort that keeps the order of what goes to the same row.
fn sorted<T: Copy>(items: &[T], rows: usize, row: impl Fn(&T) -> usize) -> Rows<T> {
    let Some(&any) = items.first() else {
        return Rows { items: Vec::new(), ends: vec![0; rows] };
    };
    let mut ends = vec![0u32; rows];
    items.iter().for_each(|item| ends[row(item)] += 1);
    let mut sum = 0;
    for end in &mut ends {
        sum += std::mem::replace(end, sum);
    }
    let mut sorted = vec![any; items.len()];
    for item in items {
        let at = &mut ends[row(item)];
        sorted[*at as usize] = *item;
        *at += 1;
    }
    Rows { items: sorted, ends }
}
