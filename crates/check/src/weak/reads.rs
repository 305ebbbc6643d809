//! Reads with the transactions that they returned values of, by key and by transaction: all that the
//! weak levels need of a history.
//!
//! Their axioms speak of single reads, never of the version order beyond what lists and the
//! recorder show. So the walk over all keys keeps the reads with their sources and the writers, as
//! columns, and nothing else.

use std::ops::Range;

use isolde_graph::{Rows, parallel};
use isolde_history::{Key, OpId, TxnId};
use isolde_spec::Edges;

use crate::graph::edges::{TxnEdges, no_edges};
use crate::keys::accesses::Source;
use crate::keys::context::Context;
use crate::keys::findings::Findings;
use crate::keys::key_facts::KeyFacts;
use crate::keys::provenance;
use crate::limits::{Held, Limit, Limits};
use crate::order::dependency::{Dependencies, Dependency};
use crate::order::orderer::Orderer;

/// What a transaction saw of a key, perhaps several times in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    /// The reader.
    pub(crate) txn: u32,
    pub(crate) key: u32,
    /// The transaction that wrote it, or [`INITIAL`].
    pub(crate) source: u32,
    /// The first and the last of the reads.
    pub(crate) first: OpId,
    pub(crate) last: OpId,
    /// Whether a predicate read saw it by not returning the row.
    pub(crate) missing: bool,
}

/// The source of what was there from the beginning.
pub(crate) const INITIAL: u32 = u32::MAX;

/// Reads with their sources, and writers, by key.
pub(crate) struct ReadTable {
    pub(crate) findings: Findings,
    /// The version orders that lists and the recorder show.
    pub(crate) orders: Vec<TxnEdges>,
    reads: Rows<Seen>,
    writers: Rows<u32>,
    held: Vec<Held>,
}

impl ReadTable {
    /// Walks over all keys, on all cores.
    pub(crate) fn find(context: &Context<'_>, limits: &Limits<'_>) -> Result<ReadTable, Limit> {
        let pieces = context.index.pieces();
        let parts = parallel::map(context.index.size, &pieces, |keys| {
            limits.go_on()?;
            let mut part = ReadTable::of_keys(context, keys.clone());
            let orders: usize = part.orders.iter().map(TxnEdges::bytes).sum();
            part.held.push(limits.hold(orders + part.reads.bytes() + part.writers.bytes())?);
            Ok(part)
        });
        let mut all = ReadTable::of_keys(context, 0..0);
        for part in parts {
            let mut part: ReadTable = part?;
            all.findings.append(part.findings);
            all.orders.append(&mut part.orders);
            all.reads.append(part.reads);
            all.writers.append(part.writers);
            all.held.append(&mut part.held);
        }
        Ok(all)
    }

    fn of_keys(context: &Context<'_>, keys: Range<usize>) -> ReadTable {
        let mut findings = Findings::default();
        let mut shown = ShownOrders(no_edges(context));
        let (mut reads, mut writers) = (Rows::new(), Rows::new());
        let (mut facts, mut orderer) = (KeyFacts::default(), Orderer::default());
        for key in keys {
            context.load(&mut facts, key);
            provenance::settle(context, &mut facts, &mut findings);
            if facts.is_list || context.given.contains_key(&key) {
                orderer.key(context, &facts, &mut findings, &mut shown);
            }
            for (read, source) in facts.reads.iter().zip(&facts.sources) {
                let source = match source {
                    Source::Write(w) => facts.writes[*w as usize].txn.0,
                    Source::Initial => INITIAL,
                    Source::None => continue,
                };
                let (txn, key) = (read.txn.0, key as u32);
                let (first, last, missing) = (read.op, read.last, read.missing);
                reads.push(Seen { txn, key, source, first, last, missing });
            }
            let versions = facts.writes.iter().filter(|w| w.is_version());
            writers.extend(versions.map(|w| w.txn.0));
            reads.end_row();
            writers.end_row();
        }
        let orders = if shown.0.is_empty() { Vec::new() } else { vec![shown.0] };
        ReadTable { findings, orders, reads, writers, held: Vec::new() }
    }

    /// What was seen of a key, in the order of the history.
    pub(crate) fn of_key(&self, key: Key) -> &[Seen] {
        self.reads.of(key.index())
    }

    /// The transactions that wrote a key, in the order of the history.
    pub(crate) fn writers_of(&self, key: Key) -> &[u32] {
        self.writers.of(key.index())
    }

    /// How many reads there are.
    pub(crate) fn len(&self) -> usize {
        self.reads.items().len()
    }

    pub(crate) fn key_count(&self) -> usize {
        self.reads.row_count()
    }

    /// Write-read dependencies.
    pub(crate) fn edges(&self, context: &Context<'_>) -> Vec<TxnEdges> {
        let parts = parallel::cut(self.reads.items().len(), 2 * parallel::cores(), |i| i);
        parallel::map(context.index.size, &parts, |part| {
            let mut edges = no_edges(context);
            for seen in self.reads.items()[part.clone()].iter().filter(|s| s.source != INITIAL) {
                edges.push(TxnId(seen.source).into(), TxnId(seen.txn).into(), Edges::WR.into());
            }
            edges
        })
    }
}

/// Keeps the version orders that were shown. What follows from reading a version and overwriting
/// it proves no more than that its writer came before, below snapshot isolation.
struct ShownOrders(TxnEdges);

impl Dependencies for ShownOrders {
    fn add(&mut self, d: Dependency) {
        if d.kind == Edges::WW {
            self.0.push(d.from.into(), d.to.into(), d.kind.into());
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
        let by_reader = Rows::sorted(reads.reads.items(), txns, |seen| seen.txn as usize);
        let mut written: Vec<(u32, u32)> = Vec::with_capacity(reads.writers.items().len());
        for key in 0..reads.key_count() {
            written.extend(reads.writers.of(key).iter().map(|txn| (*txn, key as u32)));
        }
        let by_writer = Rows::sorted(&written, txns, |(txn, _)| *txn as usize);
        ByTxn { reads: by_reader, keys: by_writer.map(|(_, key)| key) }
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
