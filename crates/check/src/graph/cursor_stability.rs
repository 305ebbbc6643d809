//! The graph of cursor stability: no update of a key is lost.
//!
//! A transaction that read a version and overwrote it makes the next one: every other writer of the key
//! comes before the version or after the update. Of the anti-dependencies these count, and no others.

use isolde_graph::parallel;
use isolde_history::{OpId, TxnId};
use isolde_spec::Edges;

use crate::graph::edges::{TxnEdges, no_edges};
use crate::keys::accesses::Source;
use crate::keys::context::Context;
use crate::keys::findings::Findings;
use crate::keys::key_facts::KeyFacts;
use crate::keys::provenance;
use crate::order::dependency::{Dependencies, Dependency};
use crate::order::extended::Extended;
use crate::order::orderer::Orderer;

/// The edges of all keys.
pub(crate) fn edges(context: &Context<'_>) -> Vec<TxnEdges> {
    parallel::map(context.index.size, &context.index.pieces(), |keys| {
        let mut updates = Updates { edges: no_edges(context), overwritten: Vec::new() };
        let (mut facts, mut orderer) = (KeyFacts::default(), Orderer::default());
        for key in keys.clone() {
            context.load(&mut facts, key);
            provenance::settle(context, &mut facts, &mut Findings::default());
            updates.load(&facts);
            orderer.key(context, &facts, &mut Findings::default(), &mut updates);
        }
        updates.edges
    })
}

/// Keeps what matters to transactions that overwrite a version that they read.
struct Updates {
    edges: TxnEdges,
    /// The last reads of the key before their transactions wrote it, in the order of the history: an
    /// update that follows a second look loses nothing. With them, reads of lists that came after the
    /// reader's own append, if another transaction extended the same version: one of the two updates
    /// was lost. Alone, such a read proves nothing at this level.
    overwritten: Vec<OpId>,
}

impl Updates {
    /// Finds the reads that were overwritten.
    fn load(&mut self, facts: &KeyFacts) {
        let versions = facts.writes.iter().filter(|w| w.is_version());
        let last = versions.filter_map(|w| w.read_before.get());
        self.overwritten.clear();
        self.overwritten.extend(last.map(|read| facts.reads[read].op));
        if facts.is_list {
            self.extended(facts);
            self.overwritten.sort_unstable();
        }
    }

    /// Adds the reads of lists after own appends, where several transactions extended one version.
    fn extended(&mut self, facts: &KeyFacts) {
        let versions = facts.writes.iter().enumerate().filter(|(_, w)| w.is_version());
        let read = Extended::of(facts, facts.writes.len());
        let extended = versions.filter_map(|(v, write)| {
            let read = read.by(facts, v as u32)?;
            let source = match facts.sources[read] {
                Source::Initial => None,
                Source::Write(version) => Some(version),
                Source::None => return None,
            };
            Some((source, write.read_before.is_none(), facts.reads[read].op))
        });
        let mut extended: Vec<(Option<u32>, bool, OpId)> = extended.collect();
        extended.sort_unstable();
        for same in extended.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            let after = same.iter().filter(|(_, after, _)| *after);
            self.overwritten.extend(after.map(|(.., op)| *op));
        }
    }
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
