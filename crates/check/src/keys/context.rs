//! What every step of a check needs to know of the history: its keys, and which transactions count.

use std::ops::Deref;
use std::sync::Arc;

use hashbrown::HashMap;
use isolde_history::{History, TxnId};

use crate::keys::key_facts::KeyFacts;
use crate::keys::origin::Choices;
use crate::keys::outcomes;
use crate::keys::sorted_keys::SortedKeys;
use crate::keys::standing::Standing;

/// A history, sorted by keys, with what is known of its transactions.
///
/// The keys come first and depend on the history alone. Which transactions count is worked out from
/// them, and from how ambiguous reads are taken: a context for other choices shares the keys.
pub(crate) struct Context<'h> {
    keys: Arc<SortedKeys<'h>>,
    /// Which transactions count.
    pub(crate) standings: Vec<Standing>,
    /// The reader that shows that a transaction of unknown outcome committed.
    pub(crate) proved_by: HashMap<TxnId, TxnId>,
    pub(crate) choices: Choices,
    /// Whether rows that predicate reads did not return bind like rows that were read. They do not at
    /// cursor stability and repeatable read, which speak of items.
    pub(crate) missing_binds: bool,
    /// See [`crate::Options`].
    pub(crate) direct_pairs: usize,
}

impl<'h> Deref for Context<'h> {
    type Target = SortedKeys<'h>;

    fn deref(&self) -> &SortedKeys<'h> {
        &self.keys
    }
}

impl<'h> Context<'h> {
    pub(crate) fn new(history: &'h History, direct_pairs: usize) -> Context<'h> {
        Context::of(Arc::new(SortedKeys::new(history)), Choices::new(), direct_pairs)
    }

    /// The same, if some ambiguous reads are taken to be from certain writes.
    pub(crate) fn with_choices(&self, choices: Choices) -> Context<'h> {
        let other = Context::of(self.keys.clone(), choices, self.direct_pairs);
        Context { missing_binds: self.missing_binds, ..other }
    }

    /// The same, if rows that predicate reads did not return bind nothing.
    pub(crate) fn of_items(&self) -> Context<'h> {
        let same = Context::of(self.keys.clone(), self.choices.clone(), self.direct_pairs);
        Context { missing_binds: false, ..same }
    }

    fn of(keys: Arc<SortedKeys<'h>>, choices: Choices, direct_pairs: usize) -> Context<'h> {
        let outcomes::Proved { standings, proved_by } = outcomes::prove(&keys, &choices);
        Context { keys, standings, proved_by, choices, missing_binds: true, direct_pairs }
    }

    /// Makes the facts of a key.
    pub(crate) fn load(&self, facts: &mut KeyFacts, key: usize) {
        facts.missing_binds = self.missing_binds;
        facts.load(self, &self.standings, key);
    }

    /// How many transactions there are, whether they count or not.
    #[inline]
    pub(crate) fn txn_count(&self) -> usize {
        self.standings.len()
    }

    /// What is known of a transaction's outcome.
    #[inline]
    pub(crate) fn standing(&self, txn: TxnId) -> Standing {
        self.standings[txn.index()]
    }

    /// Whether a transaction counts.
    #[inline]
    pub(crate) fn counts(&self, txn: TxnId) -> bool {
        self.standing(txn).counts()
    }
}
