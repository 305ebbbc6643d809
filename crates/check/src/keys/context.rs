//! What every part of a check needs to know of the history.

use hashbrown::HashMap;
use isolde_history::{History, OpId, TxnId, Value, info};

use crate::graph::edges::EdgeList;
use crate::keys::index::Index;
use crate::keys::outcomes::{self, Play};
use crate::keys::predicates::Predicates;
use crate::keys::provenance::Origin;
use crate::keys::savepoints::Savepoints;

/// Which writes ambiguous reads are taken to be from.
pub(crate) type Choices = HashMap<OpId, Origin>;

/// A history, sorted by keys, with what is known of its transactions.
pub(crate) struct Context<'h> {
    pub(crate) history: &'h History,
    pub(crate) index: Index,
    pub(crate) savepoints: Savepoints,
    pub(crate) predicates: Predicates,
    /// Whether an explicit write of the initial value is the initial write.
    pub(crate) explicit_initial: bool,
    /// The values that keys start with, where they differ from the default.
    initial: HashMap<usize, Value>,
    /// Where each key's given order of versions stands, in [`History::version_orders`].
    pub(crate) given: HashMap<usize, usize>,
    /// Which transactions count.
    pub(crate) play: Vec<Play>,
    /// Who shows that a transaction of unknown outcome committed.
    pub(crate) proved_by: HashMap<TxnId, TxnId>,
    pub(crate) choices: Choices,
    /// See [`crate::Options`].
    pub(crate) direct_pairs: usize,
}

impl<'h> Context<'h> {
    pub(crate) fn new(history: &'h History) -> Context<'h> {
        Context::with_choices(history, Choices::new())
    }

    /// The same, if some ambiguous reads are taken to be from certain writes.
    pub(crate) fn with_choices(history: &'h History, choices: Choices) -> Context<'h> {
        let initial = history.meta().initial.given.iter();
        let given = history.version_orders().iter().enumerate();
        let play = outcomes::at_first(history);
        let mut context = Context {
            history,
            index: Index::new(history),
            savepoints: Savepoints::new(history),
            predicates: Predicates::new(history, &play),
            explicit_initial: history.info(info::EXPLICIT_INITIAL) == Some(Value::TRUE),
            initial: initial.map(|(key, value)| (key.index(), *value)).collect(),
            given: given.map(|(at, (key, _))| (key.index(), at)).collect(),
            play,
            proved_by: HashMap::new(),
            choices,
            direct_pairs: 64,
        };
        outcomes::prove(&mut context);
        context
    }

    /// Whether a transaction counts.
    #[inline]
    pub(crate) fn counts(&self, txn: TxnId) -> bool {
        self.play[txn.index()].counts()
    }

    /// A list for edges between transactions, the helpers of real time, which are as many at most, and
    /// those of keys, one each.
    pub(crate) fn edges(&self) -> EdgeList {
        EdgeList::with_helpers(self.all_nodes(), 2 * self.play.len())
    }

    /// How many nodes there are with all helpers.
    pub(crate) fn all_nodes(&self) -> usize {
        2 * self.play.len() + self.history.key_count()
    }

    /// What a key starts with, if the history says so.
    pub(crate) fn initial(&self, key: usize) -> Option<Value> {
        let given = if self.initial.is_empty() { None } else { self.initial.get(&key).copied() };
        given.or(self.history.meta().initial.default)
    }

    /// What a key starts with: without a first version it is absent until somebody writes it.
    pub(crate) fn first_value(&self, key: usize) -> Value {
        self.initial(key).unwrap_or(Value::ABSENT)
    }
}
