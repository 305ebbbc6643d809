//! The commit-order edges that causal consistency forces.
//!
//! A transaction reads a key from t1 although t2, which wrote it too, came before the reader by a path
//! of reads and session order: then t2 committed before t1. Of each chain of transactions
//! ([`super::chains`]) only the last writer of the key before the reader matters; the other
//! writers came before it. So every read asks once for each chain, which is n*k.
//!
//! What comes before each transaction would be n*k numbers. They are made for a few chains at a time,
//! and used before the next ones are made, so that memory stays linear.

use std::sync::{Mutex, PoisonError};

use isolde_graph::{Node as _, parallel};
use isolde_history::{Key, OpId};

use super::chains::Chains;
use super::forced::Forcing;
use super::reads::{INITIAL, ReadTable, Seen};
use crate::graph::edges::TxnGraph;
use crate::graph::node::Node;
use crate::keys::context::Context;
use crate::limits::{Limit, Limits};

/// How many chains are looked at together.
const LANES: usize = 16;

/// For some chains, how many of their transactions come before a transaction.
type LaneCounts = [u32; LANES];

/// A history whose transactions stand on chains.
pub(crate) struct Causal<'c> {
    pub(crate) reads: &'c ReadTable,
    pub(crate) chains: &'c Chains,
    /// Session order and write-read dependencies, without a cycle.
    pub(crate) graph: &'c TxnGraph,
    /// The transactions, each before those that it leads to.
    pub(crate) order: &'c [Node],
}

impl Causal<'_> {
    /// Tells what is forced: a receiver for each group of chains, on all cores.
    pub(crate) fn force<F: Forcing + Send>(
        &self,
        context: &Context<'_>,
        limits: &Limits<'_>,
        receiver: impl Fn() -> F + Sync,
    ) -> Result<Vec<F>, Limit> {
        let size = context.index.size;
        let keys = self.by_chain(context);
        let groups: Vec<u32> = (0..self.chains.count as u32).step_by(LANES).collect();
        let bytes = self.graph.node_count() * size_of::<LaneCounts>();
        // Each core has a table of its own, unless there is no room for all of them: then one at a time.
        let together = limits.hold(bytes.saturating_mul(parallel::cores())).is_ok();
        let turn = Mutex::new(());
        let told = parallel::map(size, &groups, |first| {
            limits.go_on()?;
            let _turn = (!together).then(|| turn.lock().unwrap_or_else(PoisonError::into_inner));
            let _held = limits.hold(bytes)?;
            let mut to = receiver();
            let before = ChainRows { first: *first, rows: self.rows(*first) };
            keys.iter().flatten().for_each(|key| key.force(&before, &mut to));
            Ok(to)
        });
        told.into_iter().collect()
    }

    /// What comes before each transaction in the chains from one on.
    fn rows(&self, first: u32) -> Vec<LaneCounts> {
        let mut rows = vec![[0; LANES]; self.graph.node_count()];
        for &node in self.order {
            let mut row = rows[node.at()];
            let (chain, place) = self.chains.of(node.index());
            if let Some(own) = row.get_mut(chain.wrapping_sub(first) as usize) {
                *own = place + 1;
            }
            if row == [0; LANES] {
                continue;
            }
            for (to, _) in self.graph.edges(node) {
                let theirs = &mut rows[to.at()];
                theirs.iter_mut().zip(&row).for_each(|(theirs, own)| *theirs = (*theirs).max(*own));
            }
        }
        rows
    }

    /// The keys with several writers that were read, sorted by chains, in a few pieces.
    fn by_chain(&self, context: &Context<'_>) -> Vec<Vec<ByChain>> {
        let pieces = context.index.pieces();
        parallel::map(context.index.size, &pieces, |keys| {
            let keys = keys.clone().map(|key| Key(key as u32));
            keys.filter_map(|key| ByChain::new(self.reads, self.chains, key)).collect()
        })
    }
}

/// What comes before each transaction in some chains.
struct ChainRows {
    first: u32,
    rows: Vec<LaneCounts>,
}

impl ChainRows {
    /// Whether a transaction of these chains comes before another one.
    #[inline]
    fn leads(&self, (lane, place): (usize, u32), to: u32) -> bool {
        self.rows[to as usize][lane] > place
    }
}

/// The writers and readers of a key, by chain and place.
struct ByChain {
    key: u32,
    /// Chain, place and transaction.
    writers: Vec<(u32, u32, u32)>,
    /// Each reader with its source and its read.
    readers: Vec<Reader>,
}

struct Reader {
    chain: u32,
    place: u32,
    txn: u32,
    source: u32,
    op: OpId,
}

impl ByChain {
    fn new(reads: &ReadTable, chains: &Chains, key: Key) -> Option<ByChain> {
        let (seen, writers) = (reads.of_key(key), reads.writers_of(key));
        if seen.is_empty() || writers.is_empty() {
            return None;
        }
        let mut readers: Vec<Reader> = seen
            .iter()
            .map(|s| {
                let (chain, place) = chains.of(s.txn);
                Reader { chain, place, txn: s.txn, source: s.source, op: s.last }
            })
            .collect();
        readers.sort_unstable_by_key(|r| (r.chain, r.place));
        let placed = |txn: &u32| {
            let (chain, place) = chains.of(*txn);
            (chain, place, *txn)
        };
        let mut writers: Vec<(u32, u32, u32)> = writers.iter().map(placed).collect();
        writers.sort_unstable();
        Some(ByChain { key: key.0, writers, readers })
    }

    /// For every read, the last writer in each chain that comes before the reader.
    fn force(&self, before: &ChainRows, to: &mut impl Forcing) {
        let start = self.writers.partition_point(|w| w.0 < before.first);
        let end = self.writers.partition_point(|w| w.0 < before.first + LANES as u32);
        let writers = &self.writers[start..end];
        if writers.is_empty() {
            return;
        }
        // Where the writers of each chain begin, and how many of them come before the reader: along
        // the reader's chain these numbers only grow.
        let mut lanes: [(u32, u32, u32); LANES] = [(0, 0, 0); LANES];
        let mut used = 0;
        for run in writers.chunk_by(|a, b| a.0 == b.0) {
            let begin = if used == 0 { 0 } else { lanes[used - 1].1 };
            lanes[used] = (run[0].0 - before.first, begin + run.len() as u32, begin);
            used += 1;
        }
        let begins = lanes.map(|lane| lane.2);
        let mut at = begins;
        let mut chain = None;
        for reader in &self.readers {
            if chain != Some(reader.chain) {
                (chain, at) = (Some(reader.chain), begins);
            }
            let row = &before.rows[reader.txn as usize];
            for (i, (lane, end, begin)) in lanes[..used].iter().enumerate() {
                let (lane, limit) = (*lane as usize, row[*lane as usize]);
                while at[i] < *end && writers[at[i] as usize].1 < limit {
                    at[i] += 1;
                }
                if at[i] > *begin {
                    let (_, place, writer) = writers[at[i] as usize - 1];
                    self.consider(before, (lane, place), writer, reader, to);
                }
            }
        }
    }

    /// A writer that comes before a reader: what follows is told unless it is known.
    #[inline]
    fn consider(
        &self,
        before: &ChainRows,
        place: (usize, u32),
        writer: u32,
        reader: &Reader,
        to: &mut impl Forcing,
    ) {
        let source = reader.source;
        if source == writer || (source != INITIAL && before.leads(place, source)) {
            return;
        }
        let (txn, key, op) = (reader.txn, self.key, reader.op);
        to.force(writer, &Seen { txn, key, source, first: op, last: op, missing: false });
    }
}
