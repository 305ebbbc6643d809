//! The initial transaction: it did not run, it says what was there before.

use hashbrown::HashSet;

use crate::attributes::Entity;
use crate::draft::TxnDraft;
use crate::error::Fault;
use crate::formats::viper::operation::ViperOperation;
use crate::ids::Key;
use crate::op::{Effect, OpKind};
use crate::pool::Pool;
use crate::value::Value;

/// The initial state that the transaction in the draft describes: by writes, or by one range query
/// over everything that was there. `last` is the last operation that was read.
pub(super) fn initial_state(
    at: usize,
    draft: &TxnDraft,
    last: &ViperOperation,
    pool: &mut Pool,
) -> Result<Vec<(Key, Value)>, Fault> {
    let is_write =
        |code: &crate::op::OpCode| code.kind() == OpKind::Write && code.effect() == Effect::Done;
    let given: Vec<(Key, Value)> = if draft.codes.iter().all(is_write) {
        let values = draft.payloads.iter().map(|&word| Value::from_trusted_bits(word));
        draft.keys.iter().copied().zip(values).collect()
    } else if let Some(rows) = last.whole_range(draft, pool) {
        rows.iter().map(|row| (pool.key(row.id), row.value)).collect()
    } else {
        let complaint = "the initial transaction does not say what was there";
        return Err(Fault::wrong(at, complaint).hint(
            "it has nothing but writes that were done, or one range from \"nil\" to \"nil\"",
        ));
    };
    let mut known = HashSet::new();
    match given.iter().find(|(key, _)| !known.insert(*key)) {
        Some(_) => Err(Fault::wrong(at, "the initial transaction has a key twice")),
        None => Ok(given),
    }
}

/// What the initial transaction says beyond the initial state, as a row if there is anything: its
/// times, the tombstones that were there, members of other versions. The second part of the result
/// says whether that is all.
pub(super) fn remarks(draft: &TxnDraft, pool: &mut Pool) -> (Option<Value>, bool) {
    let begin = draft.interval.begin.map(|t| (pool.text("begin"), pool.int(t)));
    let end = draft.interval.end.map(|t| (pool.text("end"), pool.int(t)));
    let mut facts: Vec<(Value, Value)> = begin.into_iter().chain(end).collect();
    // Of a single operation the attributes can be told apart by their names; of many they cannot.
    let alone = draft.op_count() == 1;
    let kept = |entity: Entity| entity == Entity::Txn || alone;
    let attrs = draft.attrs.iter().filter(|(entity, ..)| kept(*entity));
    facts.extend(attrs.map(|&(_, _, name, value)| (name, value)));
    let row = (!facts.is_empty()).then(|| pool.row(&facts));
    let all = draft.attrs.iter().all(|(entity, ..)| kept(*entity));
    (row, all && draft.stmt_intervals.is_empty())
}
