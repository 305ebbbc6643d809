//! Keys whose versions are not known to be in one order.

use hashbrown::HashMap;
use isolde_history::Key;

use crate::keys::context::Context;
use crate::keys::key_facts::KeyFacts;
use crate::keys::findings::Findings;
use crate::keys::accesses::Source;
use crate::keys::origin::Origin;
use crate::keys::provenance;

/// Who wrote and read a key.
pub(crate) struct UnorderedKey {
    /// The transactions that made a version each.
    pub(crate) writers: Vec<u32>,
    /// Each reader, and which version it read: one more than an index of writers, 0 for the initial
    /// state.
    pub(crate) reads: Vec<(u32, u32)>,
    /// Each reader of a value that several wrote, with the versions that it may have read.
    pub(crate) ambiguous: Vec<(u32, Vec<u32>)>,
}

impl UnorderedKey {
    /// The writers and readers of all open keys.
    pub(crate) fn all(context: &Context<'_>, keys: &[Key]) -> Vec<UnorderedKey> {
        let mut facts = KeyFacts::default();
        let mut all = Vec::with_capacity(keys.len());
        for key in keys {
            facts.load(context, &context.standings, key.index());
            provenance::settle(context, &mut facts, &mut Findings::default());
            all.push(UnorderedKey::new(context, &facts));
        }
        all
    }

    fn new(context: &Context<'_>, facts: &KeyFacts) -> UnorderedKey {
        let mut place: HashMap<u32, u32> = HashMap::with_capacity(facts.writes.len());
        let mut writers = Vec::new();
        for (i, write) in facts.writes.iter().enumerate().filter(|(_, w)| w.is_version()) {
            writers.push(write.txn.0);
            place.insert(i as u32, writers.len() as u32);
        }
        let version = |source: &Source| match source {
            Source::Initial => Some(0),
            Source::Write(w) => place.get(w).copied(),
            Source::None => None,
        };
        let (mut reads, mut ambiguous) = (Vec::new(), Vec::new());
        for (read, source) in facts.reads.iter().zip(&facts.sources) {
            if let Some(version) = version(source) {
                reads.push((read.txn.0, version));
            } else if read.standing.counts() {
                let origins = provenance::origins(context, facts, read);
                let versions = origins.iter().filter_map(|origin| match origin {
                    Origin::Initial => Some(0),
                    Origin::Write(op) => {
                        let w = facts.writes.binary_search_by_key(op, |w| w.op).ok()?;
                        place.get(&(w as u32)).copied()
                    }
                });
                ambiguous.push((read.txn.0, versions.collect()));
            }
        }
        UnorderedKey { reads, ambiguous, writers }
    }

    /// The writer of a version, if it is not the initial state.
    pub(crate) fn writer(&self, version: u32) -> Option<u32> {
        version.checked_sub(1).map(|at| self.writers[at as usize])
    }
}
