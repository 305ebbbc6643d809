//! What doubts, operations and keys are called in a reason.

use isolde_history::{History, Key, OpId, TxnId, Value};

use crate::keys::findings::Doubt;

/// Speaks of a history.
pub(crate) struct Wording<'h>(pub(crate) &'h History);

impl Wording<'_> {
    /// That predicate reads say nothing of some keys, if there are such.
    pub(crate) fn unsaid(&self, keys: u64) -> Option<String> {
        let what = if keys == 1 { "key" } else { "keys" };
        (keys > 0).then(|| {
            format!(
                "predicate reads are taken to say nothing of {keys} {what} that the reads of some \
                 predicate never returned"
            )
        })
    }

    /// The first doubt, and how many more there are.
    pub(crate) fn doubts(&self, first: &Doubt, all: &[Doubt]) -> String {
        let kind = std::mem::discriminant(first);
        let same = all.iter().filter(|d| std::mem::discriminant(*d) == kind).count();
        let more =
            if same > 1 { format!(" (and {} more like it)", same - 1) } else { String::new() };
        format!("{}{more}", self.doubt(first))
    }

    pub(crate) fn doubt(&self, doubt: &Doubt) -> String {
        match doubt {
            Doubt::AmbiguousRead(op) => {
                format!("{} read a value that was written more than once", self.place(*op))
            }
            Doubt::EqualElements(op) => {
                format!("{} read a list to which a value was appended twice", self.place(*op))
            }
            Doubt::UnknownWriter(op) => format!(
                "{} read a value that no transaction of the history wrote, but the history is incomplete",
                self.place(*op)
            ),
            Doubt::Predicate(op) => format!(
                "{} is a predicate read, and whether a row that it did not return satisfies the \
                 predicate is not known",
                self.place(*op)
            ),
            Doubt::Unlearned(op) => format!("the value of {} was never learned", self.place(*op)),
            Doubt::Mixed(op) => {
                format!("the key of {} is used as a list and as something else", self.place(*op))
            }
            Doubt::AmbiguousOrder(key) => format!(
                "the given order of key {} names a value that several transactions wrote",
                self.key(*key)
            ),
            Doubt::InitialNotFirst(key) => format!(
                "the given order of key {} puts the initial state after others",
                self.key(*key)
            ),
            Doubt::Unsure(op) => format!("it is not known whether {} was done", self.place(*op)),
        }
    }

    pub(crate) fn contradiction(&self, txn: TxnId) -> String {
        format!(
            "the interval of transaction {} contradicts the order of its session",
            self.txn(txn)
        )
    }

    /// Where the user finds an operation: "operation 2 of transaction T7 (key x)".
    pub(crate) fn place(&self, op: OpId) -> String {
        let txn = self.0.txn(self.0.txn_of(op));
        let number = op.index() - txn.op_range().start + 1;
        let key = self.0.op(op).key();
        let key =
            if key == Key::NONE { String::new() } else { format!(" (key {})", self.key(key)) };
        format!("operation {number} of transaction {}{key}", self.txn(txn.id()))
    }

    pub(crate) fn txn(&self, id: TxnId) -> String {
        isolde_history::notation::txn_name(self.0, id)
    }

    pub(crate) fn key(&self, key: Key) -> String {
        self.value(self.0.pool().key_name(key))
    }

    fn value(&self, value: Value) -> String {
        let mut text = String::new();
        isolde_history::notation::write_value(self.0.pool(), value, &mut text);
        text
    }
}
