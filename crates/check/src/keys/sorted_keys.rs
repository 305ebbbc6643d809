//! A history sorted by keys: what depends on nothing but the history itself.

use hashbrown::HashMap;
use isolde_history::{History, Key, Op, Value, info};

use crate::keys::index::Index;
use crate::keys::predicates::Predicates;
use crate::keys::savepoints::Savepoints;

/// A history, sorted by keys.
pub(crate) struct SortedKeys<'h> {
    pub(crate) history: &'h History,
    pub(crate) index: Index,
    pub(crate) savepoints: Savepoints,
    pub(crate) predicates: Predicates,
    /// Whether an explicit write of the initial value is the initial write.
    pub(crate) explicit_initial: bool,
    /// The values that keys start with, where they differ from the default.
    initial: HashMap<usize, Value>,
    /// Where each key's given version order stands, in [`History::version_orders`].
    pub(crate) given: HashMap<usize, usize>,
}

impl<'h> SortedKeys<'h> {
    pub(crate) fn new(history: &'h History) -> SortedKeys<'h> {
        SortedKeys::with(history, Index::new(history))
    }

    /// The same, of some keys only: the others are as if nothing had been done to them.
    pub(crate) fn of_some(history: &'h History, wanted: &[bool]) -> SortedKeys<'h> {
        SortedKeys::with(history, Index::of_some(history, wanted))
    }

    /// The same, of one key only.
    pub(crate) fn of_one(history: &'h History, wanted: Key) -> SortedKeys<'h> {
        SortedKeys::with(history, Index::of_one(history, wanted))
    }

    /// The same, and of these only the operations of transactions that made one which is looked for.
    pub(crate) fn of_one_by(
        history: &'h History,
        wanted: Key,
        is_looked_for: impl Fn(&Op<'_>) -> bool,
    ) -> SortedKeys<'h> {
        SortedKeys::with(history, Index::of_one_by(history, wanted, is_looked_for))
    }

    fn with(history: &'h History, index: Index) -> SortedKeys<'h> {
        let initial = history.meta().initial.given.iter();
        let given = history.version_orders().iter().enumerate();
        SortedKeys {
            history,
            index,
            savepoints: Savepoints::new(history),
            predicates: Predicates::new(history),
            explicit_initial: history.info(info::EXPLICIT_INITIAL) == Some(Value::TRUE),
            initial: initial.map(|(key, value)| (key.index(), *value)).collect(),
            given: given.map(|(at, (key, _))| (key.index(), at)).collect(),
        }
    }

    /// What a key starts with, if the history says so.
    pub(crate) fn initial(&self, key: usize) -> Option<Value> {
        let given = if self.initial.is_empty() { None } else { self.initial.get(&key).copied() };
        given.or(self.history.meta().initial.default)
    }

    /// What a key starts with: without a first version it is absent until a transaction writes it.
    pub(crate) fn first_value(&self, key: usize) -> Value {
        self.initial(key).unwrap_or(Value::ABSENT)
    }
}
