//! Keys whose versions are not known to be in one order.

use hashbrown::HashMap;
use isolde_history::Key;

use crate::context::Context;
use crate::facts::KeyFacts;
use crate::found::Found;
use crate::provenance::{self, Source};

/// Who wrote and read a key.
pub(crate) struct OpenKey {
    /// The transactions that made a version each.
    pub(crate) writers: Vec<u32>,
    /// Each reader, and which version it read: one more than an index of writers, 0 for the initial
    /// state.
    pub(crate) reads: Vec<(u32, u32)>,
}

impl OpenKey {
    /// The writers and readers of all open keys.
    pub(crate) fn all(context: &Context<'_>, keys: &[Key]) -> Vec<OpenKey> {
        let mut facts = KeyFacts::default();
        let mut all = Vec::with_capacity(keys.len());
        for key in keys {
            facts.load(context, key.index());
            provenance::settle(context, &mut facts, &mut Found::default());
            all.push(OpenKey::new(&facts));
        }
        all
    }

    fn new(facts: &KeyFacts) -> OpenKey {
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
        let reads = facts.reads.iter().zip(&facts.sources);
        let reads = reads.filter_map(|(read, source)| Some((read.txn.0, version(source)?)));
        OpenKey { reads: reads.collect(), writers }
    }

    /// The writer of a version, if it is not the initial state.
    pub(crate) fn writer(&self, version: u32) -> Option<u32> {
        version.checked_sub(1).map(|at| self.writers[at as usize])
    }
}
