//! Mutexes: `:acquire` and `:release`, of one object or of several (`[k v]`).
//!
//! An acquisition is a compare-and-set from `free` to `held`, a release one from `held` to `free`. What
//! such a history is about is its fact `model`.

use crate::draft::TxnDraft;
use crate::evidence::Outcome;
use crate::formats::jepsen::event::Function;
use crate::ids::Key;
use crate::op::Effect;
use crate::pool::Pool;
use crate::sink::Sink;

/// The key of a history about one mutex, which has no name in it.
pub(super) const MUTEX: &str = "mutex";

const FREE: &str = "free";
const HELD: &str = "held";

/// What is done to a mutex.
pub(super) fn lock(function: Function, key: Key, pool: &mut Pool, draft: &mut TxnDraft) {
    let (free, held) = (pool.text(FREE), pool.text(HELD));
    let (from, to) = if function == Function::Acquire { (free, held) } else { (held, free) };
    let effect = match draft.outcome {
        Outcome::Committed => Effect::Done,
        // A client may give up for any reason: nothing follows about the mutex.
        Outcome::Aborted => Effect::Failed,
        Outcome::Unknown => Effect::Unknown,
    };
    draft.cas(key, from, to, effect);
}

/// Says of the mutexes of a history that they are some, and free at first.
pub(super) fn declare(keys: Vec<Key>, sink: &mut dyn Sink) {
    let (name, model, free) = {
        let pool = sink.pool();
        (pool.text("model"), pool.text(MUTEX), pool.text(FREE))
    };
    let meta = sink.meta();
    meta.set(name, model);
    meta.initial.given.extend(keys.into_iter().map(|key| (key, free)));
}
