//! Whether each key can be asked alone.

use isolde_history::{Effect, OpKind, SessionId, TxnId};

use super::call;
use crate::graph::real_time::RealTime;
use crate::keys::context::Context;
use crate::keys::standing::Standing;
use crate::question::Question;

/// What stands against asking each key alone.
pub(crate) struct KeysApart {
    /// Whether every transaction is one operation.
    pub(crate) single: bool,
    /// Whether operations failed and thereby saw something.
    pub(crate) failed: bool,
    /// Whether sessions say more than real time.
    pub(crate) sessions: bool,
    /// Whether there are predicate reads.
    pub(crate) predicates: bool,
    /// Why keys cannot be asked one by one, if they cannot.
    pub(crate) connected: Option<&'static str>,
}

impl KeysApart {
    pub(crate) fn of(question: &Question<'_, '_>) -> KeysApart {
        let context = question.context();
        let history = context.history;
        let counted = |txn: TxnId| context.standing(txn) != Standing::RolledBack;
        let single = history.txns().filter(|t| counted(t.id())).all(|t| t.ops().len() <= 1);
        let failed = history.ops().any(|op| {
            op.effect() == Effect::Failed
                && matches!(op.kind(), OpKind::Cas | OpKind::InsertIfAbsent)
                && counted(history.txn_of(op.id()))
        });
        let sessions = question.promise.session_order
            && !question.real_time.is_some_and(|time| sessions_follow_time(context, time));
        let predicates = history.has_ops(OpKind::PredicateRead);
        let connected = if !single {
            Some("transactions have several operations")
        } else if predicates {
            Some("there are predicate reads")
        } else if sessions {
            Some("sessions say more than real time")
        } else if !history.version_orders().is_empty() {
            Some("the recorder gave a version order")
        } else {
            None
        };
        KeysApart { single, failed, sessions, predicates, connected }
    }
}

/// Whether every transaction had ended before the next one of its session began.
fn sessions_follow_time(context: &Context<'_>, time: &RealTime<'_>) -> bool {
    let history = context.history;
    (0..history.session_count() as u32).all(|session| {
        let txns = history.session(SessionId(session)).iter();
        let mut ended: Option<TxnId> = None;
        for &txn in txns.filter(|txn| context.standing(**txn) != Standing::RolledBack) {
            let interval = |txn: TxnId| call::interval(context, time, txn);
            if ended.is_some_and(|before| interval(before).1 >= interval(txn).0) {
                return false;
            }
            if context.standing(txn) == Standing::Committed {
                ended = Some(txn);
            }
        }
        true
    })
}
