//! Which reads returned each version of a key.

use crate::keys::accesses::Source;
use crate::keys::key_facts::KeyFacts;
use crate::maybe_index::MaybeIndex;

/// The reads of each version: chains through the reads, one for each version and one for the initial
/// state, which comes after all writes.
#[derive(Default)]
pub(crate) struct Readers {
    heads: Vec<MaybeIndex>,
    next: Vec<MaybeIndex>,
}

impl Readers {
    pub(crate) fn load(&mut self, facts: &KeyFacts) {
        let initial = facts.writes.len();
        self.heads.clear();
        self.heads.resize(initial + 1, MaybeIndex::NONE);
        self.next.clear();
        self.next.resize(facts.reads.len(), MaybeIndex::NONE);
        // From the last to the first, so that each goes before those that it links to.
        for (i, source) in facts.sources.iter().enumerate().rev() {
            if facts.reads[i].missing && !facts.missing_binds {
                continue;
            }
            let version = match source {
                Source::Write(w) => *w as usize,
                Source::Initial => initial,
                Source::None => continue,
            };
            self.next[i] = std::mem::replace(&mut self.heads[version], MaybeIndex::of(i));
        }
    }

    pub(crate) fn of(&self, version: usize) -> impl Iterator<Item = usize> + '_ {
        let mut next = self.heads[version];
        std::iter::from_fn(move || {
            let at = next.get()?;
            next = self.next[at];
            Some(at)
        })
    }

    pub(crate) fn any(&self, version: usize) -> bool {
        self.heads[version].is_some()
    }
}
