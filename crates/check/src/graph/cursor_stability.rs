//! The graph of cursor stability: no update of a key is lost.
//!
//! A transaction that read a version and overwrote it makes the next one: every other writer of the key
//! comes before the version or after the update. Of the anti-dependencies these count, and no others.

use isolde_graph::parallel;
use isolde_history::{OpId, TxnId};
use isolde_spec::Edges;

use crate::graph::edges::{TxnEdges, no_edges};
use crate::keys::context::Context;
use crate::keys::findings::Findings;
use crate::keys::key_facts::KeyFacts;
use crate::keys::provenance;
use crate::order::dependency::{Dependencies, Dependency};
use crate::order::orderer::Orderer;

/// The edges of all keys.
pub(crate) fn edges(context: &Context<'_>) -> Vec<TxnEdges> {
    parallel::map(context.index.size, &context.index.pieces(), |keys| {
        let mut updates = Updates { edges: no_edges(context), overwritten: Vec::new() };
        let (mut facts, mut orderer) = (KeyFacts::default(), Orderer::default());
        for key in keys.clone() {
            facts.load(context, &context.standings, key);
            provenance::settle(context, &mut facts, &mut Findings::default());
            let versions = facts.writes.iter().filter(|w| w.is_version());
            let last = versions.filter_map(|w| w.read_before.get());
            updates.overwritten.clear();
            updates.overwritten.extend(last.map(|read| facts.reads[read].op));
            orderer.key(context, &facts, &mut Findings::default(), &mut updates);
        }
        updates.edges
    })
}

/// Keeps what matters to those who overwrite what they read.
struct Updates {
    edges: TxnEdges,
    /// The last reads of the key before their transactions wrote it, in the order of the history: an
    /// update that follows a second look loses nothing.
    overwritten: Vec<OpId>,
}

impl Dependencies for Updates {
    fn add(&mut self, d: Dependency) {
        if d.kind != Edges::RW || self.overwritten.binary_search(&d.from_op).is_ok() {
            self.edges.push(d.from.into(), d.to.into(), d.kind.into());
        }
    }

    /// Transactions that read and overwrote are told one by one.
    fn all(&mut self, _: usize, _: &[TxnId], _: &[TxnId]) {}
}
