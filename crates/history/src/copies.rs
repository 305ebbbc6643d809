//! What goes to one sink, handed to a second one that has a pool of its own.

use hashbrown::HashMap;

use crate::copy::Copier;
use crate::draft::TxnDraft;
use crate::error::SinkError;
use crate::meta::{Event, Meta};
use crate::pool::Pool;
use crate::sink::Sink;
use crate::value::Value;

/// Copies what goes to one sink into another one, whose pool learns the names and values that are needed, and no others: a
/// recorder writes a long tape, and its last few transactions go elsewhere, too.
///
/// It is for two pools, which stay the same as long as it is used.
///
/// ```
/// use isolde_history::{Copies, HistoryBuilder, Pool, Sink, TxnDraft, Value};
/// let mut tape = Pool::new();
/// tape.text_key("elsewhere");
/// let mut draft = TxnDraft::default();
/// draft.reset(tape.session(Value::from_u32(7)));
/// draft.write(tape.text_key("x"), Value::from_u32(1));
/// let (mut copies, mut batch) = (Copies::default(), HistoryBuilder::new());
/// copies.transaction(&draft, &tape, &mut batch)?;
/// assert_eq!(batch.finish().key_count(), 1);
/// # Ok::<(), isolde_history::SinkError>(())
/// ```
#[derive(Default)]
pub struct Copies {
    /// By their index in the one pool, what they are in the other.
    known: HashMap<u32, Value>,
    draft: TxnDraft,
}

impl Copies {
    /// A transaction, with all that is known of it.
    pub fn transaction(
        &mut self,
        txn: &TxnDraft,
        from: &Pool,
        sink: &mut dyn Sink,
    ) -> Result<(), SinkError> {
        let mut copier = Copier { from, to: sink.pool(), known: std::mem::take(&mut self.known) };
        let name = copier.value(from.session_name(txn.session));
        let draft = &mut self.draft;
        draft.reset(copier.to.session(name));
        draft.outcome = txn.outcome;
        draft.label = txn.label.map(|label| copier.value(label));
        draft.interval = txn.interval;
        (draft.start, draft.commit) = (txn.start, txn.commit);
        for op in txn.ops() {
            copier.operation(&op, draft);
        }
        draft.stmt_ends.extend_from_slice(&txn.stmt_ends);
        draft.stmt_intervals.extend_from_slice(&txn.stmt_intervals);
        for (entity, id, name, value) in txn.all_attrs() {
            draft.attrs.push((entity, id, copier.value(name), copier.value(value)));
        }
        self.known = copier.known;
        sink.transaction(&self.draft)
    }

    /// An event.
    pub fn event(
        &mut self,
        event: &Event,
        from: &Pool,
        sink: &mut dyn Sink,
    ) -> Result<(), SinkError> {
        let mut copier = Copier { from, to: sink.pool(), known: std::mem::take(&mut self.known) };
        let (name, detail) = (copier.value(event.name), copier.value(event.detail));
        self.known = copier.known;
        sink.event(Event { name, detail, ..event.clone() })
    }

    /// What is known of the run as a whole.
    pub fn meta(&mut self, meta: &Meta, from: &Pool, sink: &mut dyn Sink) {
        let mut copier = Copier { from, to: sink.pool(), known: std::mem::take(&mut self.known) };
        let copied = copier.meta(meta, &meta.initial.given);
        self.known = copier.known;
        *sink.meta() = copied;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, proptest};

    use super::*;
    use crate::error::Warning;
    use crate::ids::Key;
    use crate::{History, HistoryBuilder, arbitrary};

    /// A sink that passes on copies of what it gets.
    #[derive(Default)]
    struct Tee {
        pool: Pool,
        meta: Meta,
        copies: Copies,
        to: HistoryBuilder,
    }

    impl Sink for Tee {
        fn pool(&mut self) -> &mut Pool {
            &mut self.pool
        }

        fn meta(&mut self) -> &mut Meta {
            &mut self.meta
        }

        fn transaction(&mut self, txn: &TxnDraft) -> Result<(), SinkError> {
            self.copies.transaction(txn, &self.pool, &mut self.to)
        }

        fn event(&mut self, event: Event) -> Result<(), SinkError> {
            self.copies.event(&event, &self.pool, &mut self.to)
        }

        fn version_order(&mut self, key: Key, versions: &[Value]) -> Result<(), SinkError> {
            let mut copier = Copier { from: &self.pool, to: self.to.pool(), known: HashMap::new() };
            let versions: Vec<Value> = versions.iter().map(|v| copier.value(*v)).collect();
            let key = copier.key(key);
            self.to.version_order(key, &versions)
        }

        fn warn(&mut self, _: Warning) {}
    }

    fn copied(history: &History) -> History {
        let mut tee = Tee::default();
        // Identifiers that mean something else there.
        tee.to.pool().text("elsewhere");
        history.replay(&mut tee).unwrap();
        tee.copies.meta(&tee.meta, &tee.pool, &mut tee.to);
        tee.to.finish()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn a_copy_of_everything_is_the_same(recipe in arbitrary::recipe()) {
            let history = recipe.build();
            let copy = copied(&history);
            proptest::prop_assert!(history.same_as(&copy).is_ok(), "{:?}", history.same_as(&copy));
        }
    }
}
