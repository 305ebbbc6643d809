//! Evidence that attributes hold, typed: what is written and read beside every transaction.
//!
//! Names and values of such evidence are a few texts, interned once; from then on, writing and
//! reading it compares words.

use crate::attributes::{Entity, names};
use crate::draft::TxnDraft;
use crate::draft_view::DraftStmt;
use crate::evidence::{EndedAt, ErrorClass, Interval, LockMode};
use crate::pool::Pool;
use crate::value::Value;

/// The words of the evidence beside values, as one pool has them: for recorders that write it by the
/// million, and for sinks that read it from drafts.
///
/// ```
/// use isolde_history::{EndedAt, EvidenceNames, Interval, Pool, TxnDraft, Value};
/// let mut pool = Pool::new();
/// let names = EvidenceNames::new(&mut pool);
/// let mut txn = TxnDraft::default();
/// txn.reset(pool.session(Value::from_u32(1)));
/// txn.interval = Interval::new(10, 50);
/// names.set_end_sent(&mut txn, &mut pool, 40);
/// assert_eq!(names.ending(&txn, &pool), Interval::new(40, 50));
/// names.set_ended_at(&mut txn, EndedAt::Commit);
/// assert_eq!(names.ended_at(&txn), Some(EndedAt::Commit));
/// ```
#[derive(Clone, Debug)]
pub struct EvidenceNames {
    end_sent: Value,
    ended_at: Value,
    at_begin: Value,
    at_commit: Value,
    error_class: Value,
    read_only: Value,
    lock: Value,
    classes: [Value; ErrorClass::ALL.len()],
    locks: [Value; LockMode::ALL.len()],
}

impl EvidenceNames {
    /// The words of a pool.
    pub fn new(pool: &mut Pool) -> EvidenceNames {
        EvidenceNames {
            end_sent: pool.text(names::END_SENT),
            ended_at: pool.text(names::SERVER_ENDED_AT),
            at_begin: pool.text(names::AT_BEGIN),
            at_commit: pool.text(names::AT_COMMIT),
            error_class: pool.text(names::ERROR_CLASS),
            read_only: pool.text(names::READ_ONLY),
            lock: pool.text(names::LOCK),
            classes: ErrorClass::ALL.map(|class| pool.text(class.name())),
            locks: LockMode::ALL.map(|mode| pool.text(mode.name())),
        }
    }

    /// Says when COMMIT or ROLLBACK was sent.
    pub fn set_end_sent(&self, txn: &mut TxnDraft, pool: &mut Pool, at: i64) {
        let at = pool.int(at);
        txn.attr(self.end_sent, at);
    }

    /// Says where the server ended the transaction by itself.
    pub fn set_ended_at(&self, txn: &mut TxnDraft, at: EndedAt) {
        let at = match at {
            EndedAt::Begin => self.at_begin,
            EndedAt::Statement(number) => Value::from_u32(number),
            EndedAt::Commit => self.at_commit,
        };
        txn.attr(self.ended_at, at);
    }

    /// Says what kind of error ended the transaction.
    pub fn set_error_class(&self, txn: &mut TxnDraft, class: ErrorClass) {
        let at = ErrorClass::ALL.iter().position(|c| *c == class).unwrap_or(0);
        txn.attr(self.error_class, self.classes[at]);
    }

    /// Says whether the transaction was declared read-only.
    pub fn set_read_only(&self, txn: &mut TxnDraft, read_only: bool) {
        txn.attr(self.read_only, if read_only { Value::TRUE } else { Value::FALSE });
    }

    /// Says which lock the last statement asked for.
    pub fn set_lock(&self, txn: &mut TxnDraft, mode: LockMode) {
        let at = LockMode::ALL.iter().position(|m| *m == mode).unwrap_or(0);
        txn.stmt_attr(self.lock, self.locks[at]);
    }

    /// The interval of COMMIT or ROLLBACK itself, as far as it is known.
    pub fn ending(&self, txn: &TxnDraft, pool: &Pool) -> Interval {
        ending(pool, txn.last_attr(Entity::Txn, 0, self.end_sent), txn.interval)
    }

    /// Where the server ended the transaction by itself, if it did.
    pub fn ended_at(&self, txn: &TxnDraft) -> Option<EndedAt> {
        match txn.last_attr(Entity::Txn, 0, self.ended_at)? {
            at if at == self.at_begin => Some(EndedAt::Begin),
            at if at == self.at_commit => Some(EndedAt::Commit),
            number => statement(number, txn.stmt_count()),
        }
    }

    /// What kind of error ended the transaction.
    pub fn error_class(&self, txn: &TxnDraft) -> Option<ErrorClass> {
        let class = txn.last_attr(Entity::Txn, 0, self.error_class)?;
        let at = self.classes.iter().position(|c| *c == class)?;
        ErrorClass::ALL.get(at).copied()
    }

    /// Whether the transaction was declared read-only.
    pub fn read_only(&self, txn: &TxnDraft) -> Option<bool> {
        txn.last_attr(Entity::Txn, 0, self.read_only)?.as_bool()
    }

    /// Which lock a statement asked for.
    pub fn lock(&self, stmt: &DraftStmt<'_>) -> Option<LockMode> {
        let mode = stmt.last_attr(self.lock)?;
        let at = self.locks.iter().position(|m| *m == mode)?;
        LockMode::ALL.get(at).copied()
    }
}

/// The interval of the ending: from when it was sent until the transaction's own interval ends, since
/// that is when the ending was answered.
pub(crate) fn ending(pool: &Pool, end_sent: Option<Value>, txn: Interval) -> Interval {
    let sent = end_sent.and_then(|at| pool.as_wide_int(at));
    match sent.and_then(|at| i64::try_from(at).ok()) {
        Some(begin) => Interval { begin: Some(begin), end: txn.end },
        None => Interval::default(),
    }
}

/// Where a server ended a transaction of so many statements, as an attribute says it.
pub(crate) fn ended_at(pool: &Pool, at: Value, stmts: usize) -> Option<EndedAt> {
    match pool.as_text(at) {
        Some(names::AT_BEGIN) => Some(EndedAt::Begin),
        Some(names::AT_COMMIT) => Some(EndedAt::Commit),
        Some(_) => None,
        None => statement(at, stmts),
    }
}

/// A statement that the transaction has.
fn statement(number: Value, stmts: usize) -> Option<EndedAt> {
    let number = u32::try_from(number.as_int()?).ok()?;
    ((number as usize) < stmts).then_some(EndedAt::Statement(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::parse;

    #[test]
    fn what_makes_no_sense_is_not_known() {
        let text = "a: w(x,1) abort @[1,9] {end-sent=soon,server-ended-at=1,error-class=bad}\n\
                    a: abort @[1,_] {end-sent=5,server-ended-at=begin,error-class=deadlock}\n\
                    a: w(x,1) abort {server-ended-at=0}\na: abort {server-ended-at=-1}";
        let history = parse(text).unwrap();
        let said: Vec<_> =
            history.txns().map(|t| (t.ending(), t.ended_at(), t.error_class())).collect();
        let nothing = (Interval::default(), None, None);
        let open = Interval { begin: Some(5), end: None };
        assert_eq!(said[0], nothing);
        assert_eq!(said[1], (open, Some(EndedAt::Begin), Some(ErrorClass::Deadlock)));
        assert_eq!(said[2], (Interval::default(), Some(EndedAt::Statement(0)), None));
        assert_eq!(said[3], nothing);
    }

    #[test]
    fn every_class_has_its_name() {
        for class in ErrorClass::ALL {
            assert_eq!(ErrorClass::from_name(class.name()), Some(class));
        }
    }
}
