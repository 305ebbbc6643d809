//! Keys whose versions are not known to be in one order.

use hashbrown::HashMap;
use isolde_history::{Key, Value};

use crate::graph::node::Node;
use crate::keys::accesses::Source;
use crate::keys::context::Context;
use crate::keys::findings::Findings;
use crate::keys::key_facts::KeyFacts;
use crate::keys::provenance;
use crate::limits::{Limit, Limits};
use crate::maybe_index::MaybeIndex;

/// A version of an unordered key: the initial state, or what one of its writers made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Version(u32);

impl Version {
    pub(crate) const INITIAL: Version = Version(0);

    /// The version of a writer, by its place among the writers.
    pub(crate) fn of_writer(at: usize) -> Version {
        Version(at as u32 + 1)
    }

    /// Its number among all versions of the key, the initial state included.
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }
}

/// A set of versions that have the same value, which readers of it cannot tell apart.
pub(crate) type ValueClass = u32;

/// The transactions that wrote and read a key.
#[derive(Default)]
pub(crate) struct UnorderedKey {
    /// The transactions that made a version each.
    pub(crate) writers: Vec<Node>,
    /// Each reader, and which version it read.
    pub(crate) reads: Vec<(Node, Version)>,
    /// Each reader of a value that several wrote, and the class of the versions that it may have read.
    /// There may be as many readers as versions, so no reader has a list of its own.
    pub(crate) ambiguous: Vec<(Node, ValueClass)>,
    /// The class of each version that an ambiguous read may have returned; empty without such reads.
    pub(crate) classes: Vec<MaybeIndex>,
    pub(crate) class_count: usize,
}

impl UnorderedKey {
    /// The writers and readers of all keys that need an order.
    pub(crate) fn all(
        context: &Context<'_>,
        limits: &Limits<'_>,
        keys: &[Key],
    ) -> Result<Vec<UnorderedKey>, Limit> {
        UnorderedKey::each(context, limits, keys, |_| ())
    }

    /// The same with those reads only that came last before the reader overwrote the key: what cursor
    /// stability protects.
    pub(crate) fn all_updates(
        context: &Context<'_>,
        limits: &Limits<'_>,
        keys: &[Key],
    ) -> Result<Vec<UnorderedKey>, Limit> {
        let mut updates = UnorderedKey::each(context, limits, keys, |facts| {
            let versions = facts.writes.iter().filter(|w| w.is_version());
            let mut updated = vec![false; facts.reads.len()];
            versions.filter_map(|w| w.read_before.get()).for_each(|read| updated[read] = true);
            for (source, _) in facts.sources.iter_mut().zip(updated).filter(|(_, is)| !is) {
                *source = Source::None;
            }
        })?;
        updates.iter_mut().for_each(|key| key.ambiguous.clear());
        Ok(updates)
    }

    /// Each key, with what `change` makes of its facts.
    fn each(
        context: &Context<'_>,
        limits: &Limits<'_>,
        keys: &[Key],
        change: impl Fn(&mut KeyFacts),
    ) -> Result<Vec<UnorderedKey>, Limit> {
        let mut facts = KeyFacts::default();
        let mut all = Vec::with_capacity(keys.len());
        for key in keys {
            limits.go_on()?;
            context.load(&mut facts, key.index());
            provenance::settle(context, &mut facts, &mut Findings::default());
            change(&mut facts);
            all.push(UnorderedKey::new(context, &facts));
        }
        Ok(all)
    }

    fn new(context: &Context<'_>, facts: &KeyFacts) -> UnorderedKey {
        let mut place: HashMap<u32, Version> = HashMap::with_capacity(facts.writes.len());
        let mut key = UnorderedKey::default();
        for (i, write) in facts.writes.iter().enumerate().filter(|(_, w)| w.is_version()) {
            place.insert(i as u32, Version::of_writer(key.writers.len()));
            key.writers.push(write.txn.into());
        }
        let version = |source: &Source| match source {
            Source::Initial => Some(Version::INITIAL),
            Source::Write(w) => place.get(w).copied(),
            Source::None => None,
        };
        let mut wanted: HashMap<Value, ValueClass> = HashMap::new();
        for (read, source) in facts.reads.iter().zip(&facts.sources) {
            let binds = facts.missing_binds || !read.missing;
            if let Some(version) = version(source) {
                if !binds {
                    continue;
                }
                key.reads.push((read.txn.into(), version));
            } else if read.standing.counts() {
                let next = wanted.len() as ValueClass;
                let class = *wanted.entry(read.value).or_insert(next);
                key.ambiguous.push((read.txn.into(), class));
            }
        }
        key.classify(context, facts, &wanted);
        key
    }

    /// Finds the class of every version. An empty list reads as absent, whatever a list starts with.
    fn classify(
        &mut self,
        context: &Context<'_>,
        facts: &KeyFacts,
        wanted: &HashMap<Value, ValueClass>,
    ) {
        if wanted.is_empty() {
            return;
        }
        let initial = if facts.is_list { Value::ABSENT } else { context.first_value(facts.key) };
        let versions = facts.writes.iter().filter(|w| w.is_version()).map(|w| w.value);
        let class = |value: Value| wanted.get(&value).map(|class| MaybeIndex::of(*class as usize));
        let all = std::iter::once(initial).chain(versions);
        self.classes = all.map(|value| class(value).unwrap_or_default()).collect();
        self.class_count = wanted.len();
    }

    /// The writer of a version, if it is not the initial state.
    pub(crate) fn writer(&self, version: Version) -> Option<Node> {
        version.number().checked_sub(1).map(|at| self.writers[at])
    }

    /// How many pairs of a writer with another writer or a reader there are.
    pub(crate) fn pairs(&self) -> usize {
        self.writers.len().saturating_mul(self.writers.len() + self.reads.len())
    }
}
