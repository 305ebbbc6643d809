//! What the server is asked when all sessions are gone: what it has lost, and which version of each key came
//! after which.

use std::sync::Arc;

use isolde_history::{LostCommit, SinkError};
use isolde_target::{Failure, ServerTxn, Target};

use crate::shared::Shared;
use crate::tape::Tape;
use crate::version_orders::{AtTheEnd, Writers};
use crate::within::{Stuck, within};

/// Asks, and writes the answers on the tape. What the user should know beside them.
pub(crate) fn tell(
    shared: &Shared,
    mut writers: Writers,
    tape: &mut dyn Tape,
) -> Result<Vec<String>, SinkError> {
    let txns = writers.txns();
    if txns.is_empty() {
        return Ok(Vec::new());
    }
    let mut notices = Vec::new();
    let mut unanswered = |what: &str, why: String| notices.push(format!("{what}: {why}"));
    let mut lost = ask(shared, &txns, |target, txns| target.lost(txns))
        .map_err(|why| unanswered("what the server has lost could not be asked", why))
        .ok();
    lost.iter_mut().for_each(|lost| lost.sort_unstable());
    let at = shared.clock.now();
    for txn in lost.iter().flatten() {
        let lost = LostCommit::ByXid { restart: txn.restart, xid: txn.id };
        let event = lost.to_event(tape.pool(), at);
        tape.event(event)?;
    }
    let times = ask(shared, &txns, |target, txns| target.commit_times(txns))
        .map_err(|why| unanswered("when transactions were committed could not be asked", why))
        .unwrap_or_default();
    let known = AtTheEnd { lost: lost.as_deref(), times: times.as_deref() };
    let mut versions = Vec::new();
    let contradicted = writers.orders(known, |key, values| {
        let pool = tape.pool();
        versions.clear();
        versions.extend(values.iter().map(|value| pool.int(*value)));
        let key = pool.int_key(key as i64);
        tape.version_order(key, &versions)
    })?;
    if contradicted > 0 {
        notices.push(format!(
            "the server's commit times contradict the version order that its snapshots show, on {contradicted} \
             keys: none was recorded for those"
        ));
    }
    tape.save()?;
    Ok(notices)
}

/// Asks the server something about transactions, on a thread that can be left behind.
fn ask<T: Send + 'static>(
    shared: &Shared,
    txns: &[ServerTxn],
    question: fn(&dyn Target, &[ServerTxn]) -> Result<T, Failure>,
) -> Result<T, String> {
    let (target, txns) = (Arc::clone(&shared.target), txns.to_vec());
    match within(shared.options.hang_after, move || question(&*target, &txns)) {
        Ok(answer) => answer.map_err(|failure| failure.to_string()),
        Err(Stuck::Hangs) => Err("the server hangs".to_owned()),
        Err(Stuck::Panicked(text)) => Err(text),
    }
}
