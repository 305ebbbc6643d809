//! A simulated transaction between the database and the stream, in no pool.

use isolde_history::{
    HistoryBuilder, OpKind, Outcome, Pool, Sink as _, SinkError, Timestamp, TxnDraft, Value,
};

/// A transaction. Keys and values of simulations are integers that fit a word, which mean the same in every pool.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) session: Value,
    pub(super) start: Option<Timestamp>,
    pub(super) commit: Option<Timestamp>,
    pub(super) outcome: Outcome,
    pub(super) accesses: Vec<HeldAccess>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct HeldAccess {
    pub(super) writes: bool,
    pub(super) key: Value,
    pub(super) value: Value,
}

impl Held {
    /// What a draft says; `None` if it does anything but read and write.
    pub(super) fn of(draft: &TxnDraft, pool: &Pool, mut accesses: Vec<HeldAccess>) -> Option<Held> {
        accesses.clear();
        for op in draft.ops() {
            let writes = match op.kind() {
                OpKind::Read => false,
                OpKind::Write => true,
                _ => return None,
            };
            let key = pool.key_name(op.key());
            accesses.push(HeldAccess { writes, key, value: op.value() });
        }
        let session = pool.session_name(draft.session);
        let (start, commit, outcome) = (draft.start, draft.commit, draft.outcome);
        Some(Held { session, start, commit, outcome, accesses })
    }

    /// Where it stands in the order of timestamps: what sessions promise about.
    pub(super) fn stamp(&self) -> Option<Timestamp> {
        self.commit.or(self.start)
    }

    /// Puts it into a batch.
    pub(super) fn put(
        &self,
        draft: &mut TxnDraft,
        batch: &mut HistoryBuilder,
    ) -> Result<(), SinkError> {
        draft.reset(batch.pool().session(self.session));
        (draft.start, draft.commit, draft.outcome) = (self.start, self.commit, self.outcome);
        for access in &self.accesses {
            let key = batch.pool().key(access.key);
            match access.writes {
                true => draft.write(key, access.value),
                false => draft.read(key, access.value),
            }
        }
        batch.transaction(draft)
    }
}
