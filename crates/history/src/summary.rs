//! What is in a history, counted in one pass over each column.

use crate::attributes::{Entity, names};
use crate::evidence::Outcome;
use crate::group::grouped;
use crate::history::History;
use crate::ids::Key;
use crate::op::{Effect, OpKind};
use crate::session_event::SessionEvent;
use crate::value::Value;

/// What is in a history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// How many sessions there are.
    pub sessions: usize,
    /// How many transactions ended in each way, in the order of [`Outcome::ALL`].
    pub outcomes: [usize; Outcome::ALL.len()],
    /// How many statements there are.
    pub statements: usize,
    /// How many operations of each kind there are, in the order of [`OpKind::ALL`].
    pub ops: [usize; OpKind::ALL.len()],
    /// How many keys there are.
    pub keys: usize,
    /// How many elements the results of list and predicate reads have together.
    pub elements: usize,
    /// How many writes of a key there are (writes, appends, inserts, compare-and-sets, deletes).
    pub writes: usize,
    /// How many of them follow a read of the same key in the same transaction, or read it themselves.
    pub read_modify_writes: usize,
    /// Whether every transaction has at most two reads and two writes, and reads what it writes.
    pub mini: bool,
    /// How many pairs of key and value were written more than once, or are the key's initial state.
    pub duplicate_values: usize,
    /// One such pair.
    pub duplicate_example: Option<(Key, Value)>,
    /// The evidence beside the values.
    pub evidence: Evidence,
    /// The earliest and the latest time of any transaction.
    pub time_span: Option<(i64, i64)>,
}

/// How much evidence there is beside the values: numbers of transactions, unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Transactions with both ends of their interval.
    pub intervals: usize,
    /// Transactions with one end only.
    pub half_intervals: usize,
    /// Statements with an interval.
    pub statement_intervals: usize,
    /// Transactions with a start and a commit timestamp.
    pub timestamps: usize,
    /// Transactions with a start timestamp alone.
    pub start_timestamps: usize,
    /// Transactions with a commit timestamp alone.
    pub commit_timestamps: usize,
    /// Of all these, the ones with a logical part.
    pub hybrid_timestamps: usize,
    /// Transactions or statements with a snapshot.
    pub snapshots: usize,
    /// Keys whose version order the recorder gave.
    pub version_orders: usize,
    /// Transactions of which it is known when COMMIT or ROLLBACK was sent.
    pub endings: usize,
    /// Transactions that the server ended by itself, and it is known where.
    pub server_ends: usize,
    /// Transactions that were declared read-only.
    pub read_only: usize,
    /// Statements of which it is known which lock they asked for.
    pub locks: usize,
    /// Faults and other events that are not about sessions.
    pub events: usize,
    /// Heartbeats of sessions.
    pub heartbeats: usize,
    /// Ends of sessions.
    pub session_ends: usize,
    /// Attributes by name, with how many entities have each.
    pub attributes: Vec<(Entity, Value, usize)>,
}

impl Summary {
    /// Whether every write is a read-modify-write: then the version order follows from values.
    pub fn every_write_reads_first(&self) -> bool {
        self.writes == self.read_modify_writes
    }

    /// How many transactions there are.
    pub fn transactions(&self) -> usize {
        self.outcomes.iter().sum()
    }

    /// How many operations there are.
    pub fn operations(&self) -> usize {
        self.ops.iter().sum()
    }

    /// Counts.
    pub fn of(history: &History) -> Summary {
        let mut s = Summary {
            sessions: history.session_count(),
            statements: history.stmt_count(),
            ops: history.op_counts(),
            keys: history.key_count(),
            elements: history.element_count(),
            mini: true,
            ..Summary::default()
        };
        for outcome in history.txn_outcomes() {
            s.outcomes[*outcome as usize] += 1;
        }
        s.count_read_modify_writes(history);
        s.count_duplicates(history);
        s.count_evidence(history);
        s
    }

    fn count_read_modify_writes(&mut self, history: &History) {
        // For each key, one more than the transaction that last read it.
        let mut read_by = vec![0u32; history.key_count()];
        for txn in history.txns() {
            let stamp = txn.id().0 + 1;
            let (mut reads, mut writes, mut blind) = (0, 0, 0);
            for op in txn.ops() {
                match op.kind() {
                    OpKind::Read | OpKind::ListRead => {
                        reads += 1;
                        read_by[op.key().index()] = stamp;
                    }
                    OpKind::Cas | OpKind::InsertIfAbsent => {
                        writes += 1;
                        reads += 1;
                        read_by[op.key().index()] = stamp;
                    }
                    OpKind::Write | OpKind::Append | OpKind::Delete => {
                        writes += 1;
                        blind += usize::from(read_by[op.key().index()] != stamp);
                    }
                    OpKind::PredicateRead => self.mini = false,
                    OpKind::Savepoint | OpKind::RollbackTo | OpKind::Release => {}
                }
            }
            self.writes += writes;
            self.read_modify_writes += writes - blind;
            self.mini &= reads <= 2 && writes <= 2 && blind == 0;
        }
    }

    /// Groups what was written by key, then sorts each group.
    fn count_duplicates(&mut self, history: &History) {
        let writes = || {
            history.ops().filter(|op| {
                op.kind().writes() && op.kind() != OpKind::Delete && op.effect() != Effect::Failed
            })
        };
        let (mut values, ends) = grouped(history.key_count(), Value::ABSENT, || {
            writes().map(|op| (op.key().index(), op.value()))
        });
        let mut initial: Vec<Option<Value>> =
            vec![history.meta().initial.default; history.key_count()];
        for &(key, value) in &history.meta().initial.given {
            initial[key.index()] = Some(value);
        }
        let mut start = 0;
        for (key, &end) in ends.iter().enumerate() {
            let group = &mut values[start..end as usize];
            start = end as usize;
            group.sort_unstable();
            for run in group.chunk_by(|a, b| a == b) {
                if run.len() > 1 || initial[key] == Some(run[0]) {
                    self.duplicate_values += 1;
                    self.duplicate_example.get_or_insert((Key(key as u32), run[0]));
                }
            }
        }
    }

    fn count_evidence(&mut self, history: &History) {
        let e = &mut self.evidence;
        let mut span: Option<(i64, i64)> = None;
        for txn in history.txns() {
            let interval = txn.interval();
            e.intervals += usize::from(interval.begin.is_some() && interval.end.is_some());
            e.half_intervals += usize::from(interval.begin.is_some() != interval.end.is_some());
            for t in [interval.begin, interval.end].into_iter().flatten() {
                span = Some(span.map_or((t, t), |(a, b)| (a.min(t), b.max(t))));
            }
            let stamps = (txn.start_ts(), txn.commit_ts());
            match stamps {
                (Some(_), Some(_)) => e.timestamps += 1,
                (Some(_), None) => e.start_timestamps += 1,
                (None, Some(_)) => e.commit_timestamps += 1,
                (None, None) => {}
            }
            let mut stamps = [stamps.0, stamps.1].into_iter().flatten();
            e.hybrid_timestamps += usize::from(stamps.any(|stamp| stamp.logical != 0));
        }
        self.time_span = span;
        let columns = history.columns();
        let stmts = columns.stmt_begin.iter().map(|(i, _)| i);
        e.statement_intervals = stmts.count();
        e.version_orders = history.version_orders().len();
        for event in history.session_events() {
            match event {
                SessionEvent::Heartbeat { .. } => e.heartbeats += 1,
                SessionEvent::Ended { .. } => e.session_ends += 1,
            }
        }
        e.events = history.events().len() - e.heartbeats - e.session_ends;
        let column = |c: &crate::attributes::AttrColumn| (c.entity, c.name, c.ids.len());
        e.attributes = columns.attrs.columns.iter().map(column).collect();
        for &(entity, name, count) in &e.attributes {
            match (entity, history.pool().as_text(name)) {
                (Entity::Txn | Entity::Stmt, Some(names::SNAPSHOT)) => e.snapshots += count,
                (Entity::Txn, Some(names::END_SENT)) => e.endings = count,
                (Entity::Txn, Some(names::SERVER_ENDED_AT)) => e.server_ends = count,
                (Entity::Txn, Some(names::READ_ONLY)) => {
                    let declared = history.txns().filter(|txn| txn.read_only() == Some(true));
                    e.read_only = declared.count();
                }
                (Entity::Stmt, Some(names::LOCK)) => e.locks = count,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::parse;

    #[track_caller]
    fn summary(text: &str) -> Summary {
        Summary::of(&parse(text).unwrap())
    }

    #[test]
    fn read_modify_writes_are_told_from_blind_ones() {
        let s = summary("a: r(x,1) w(x,2) w(y,1)\nb: w(x,3)\nb: cas(x,1,4)");
        assert_eq!((s.writes, s.read_modify_writes, s.mini), (4, 2, false));
        assert!(summary("a: r(x,1) w(x,2) r(y,0) w(y,1)").mini);
        assert!(!summary("a: r(x,1) r(y,2) r(z,0)").mini);
    }

    #[test]
    fn a_read_of_an_earlier_transaction_does_not_count() {
        assert_eq!(summary("a: r(x,1)\na: w(x,2)").read_modify_writes, 0);
    }

    #[test]
    fn duplicates_are_counted_once_a_pair() {
        let s = summary("initial 0\na: w(x,1) w(x,1)\nb: w(x,1) w(y,1) w(y,0) w!(z,2) w(z,2)");
        assert_eq!(s.duplicate_values, 2);
    }

    #[test]
    fn evidence_is_counted() {
        let s = summary(
            "a: r(x,1)@[1,2] @[5,9] ts(1.1,2)\na: w(x,1) @[3,_] {snapshot={xmin:1,xmax:2,xip:[]}}",
        );
        let e = &s.evidence;
        assert_eq!((e.intervals, e.half_intervals, e.statement_intervals), (1, 1, 1));
        assert_eq!((e.timestamps, e.hybrid_timestamps, e.snapshots), (1, 1, 1));
        assert_eq!(s.time_span, Some((3, 9)));
    }

    #[test]
    fn timestamps_of_one_kind_are_counted() {
        let e = summary("a: ts(1,_)\na: ts(_,2.1)\na: ts(_,3)\na: r(x,1)").evidence;
        assert_eq!((e.timestamps, e.start_timestamps, e.commit_timestamps), (0, 1, 2));
        assert_eq!(e.hybrid_timestamps, 1);
    }

    #[test]
    fn what_a_recorder_notes_beside_transactions_is_counted() {
        let s = summary(
            "event kill @[1,2] n1\nevent heartbeat @[3,_] {session:a}\n\
             event session-end @[9,_] {session:a,next:b}\nevent heartbeat @[3,_] n1\n\
             a: r(x,1){sql=q} [r(y,1)]{lock=share} @[1,9] {end-sent=7,read-only=true}\n\
             a: w(x,1) abort @[1,9] {server-ended-at=0,error-class=deadlock,read-only=false}",
        );
        let e = &s.evidence;
        assert_eq!((e.endings, e.server_ends, e.read_only, e.locks), (1, 1, 1, 1));
        assert_eq!((e.events, e.heartbeats, e.session_ends), (2, 1, 1));
    }
}
