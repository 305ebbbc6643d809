//! The graph of cursor stability: no update of a key is lost.
//!
//! Who read a version and overwrote it makes the next one: every other writer of the key comes before
//! the version or after the update. Of the anti-dependencies these count, and no others.

use hashbrown::HashMap;
use isolde_history::{OpId, TxnId};
use isolde_spec::Edges;

use crate::keys::context::Context;
use crate::graph::edges::EdgeList;
use crate::keys::key_facts::KeyFacts;
use crate::keys::findings::Findings;
use crate::graph::csr::Graph;
use crate::unordered::unordered_key::UnorderedKey;
use crate::order::dependency::{Dependencies, Dependency};
use crate::order::orderer::Orderer;
use crate::parallel;
use crate::keys::provenance;
use crate::unordered::force;

/// The edges of all keys.
pub(crate) fn edges(context: &Context<'_>) -> Vec<EdgeList> {
    parallel::map(context.index.size, &context.index.pieces(), |keys| {
        let mut updates = Updates { edges: context.edges(), overwritten: Vec::new() };
        let (mut facts, mut orderer) = (KeyFacts::default(), Orderer::default());
        for key in keys.clone() {
            facts.load(context, &context.standings, key);
            provenance::settle(context, &mut facts, &mut Findings::default());
            let versions = facts.writes.iter().filter(|w| w.is_version());
            let last = versions.filter_map(|w| w.after.get());
            updates.overwritten.clear();
            updates.overwritten.extend(last.map(|read| facts.reads[read].op));
            orderer.key(context, &facts, None, &mut Findings::default(), &mut updates);
        }
        updates.edges
    })
}

/// Keeps what matters to those who overwrite what they read.
struct Updates {
    edges: EdgeList,
    /// The last reads of the key before their transactions wrote it, in the order of the history: an
    /// update that follows a second look loses nothing.
    overwritten: Vec<OpId>,
}

impl Dependencies for Updates {
    fn add(&mut self, d: Dependency) {
        if d.kind != Edges::RW || self.overwritten.binary_search(&d.from_op).is_ok() {
            self.edges.push(d.from.0, d.to.0, d.kind);
        }
    }

    /// Whoever read and overwrote is told one by one.
    fn all(&mut self, _: usize, _: &[TxnId], _: &[TxnId]) {}
}

/// Whether an order that the graph allows puts every update right behind what it read. That is a
/// proof; that it does not is none, since another order may.
pub(crate) fn explains(graph: &Graph, open: &[UnorderedKey]) -> bool {
    let Some(times) = force::topological_times(graph) else { return false };
    open.iter().all(|key| {
        let mut order: Vec<u32> = key.writers.clone();
        order.sort_unstable_by_key(|writer| times[*writer as usize]);
        let places: HashMap<u32, usize> = order.into_iter().zip(1..).collect();
        key.ambiguous.is_empty()
            && key.reads.iter().all(|(reader, version)| {
                let Some(place) = places.get(reader) else { return true };
                let read = key.writer(*version).and_then(|writer| places.get(&writer));
                *place == read.map_or(0, |read| *read) + 1
            })
    })
}
