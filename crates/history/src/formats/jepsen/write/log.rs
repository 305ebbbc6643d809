//! The order of the lines, and the process of each transaction.

use crate::attributes::names;
use crate::error::SinkError;
use crate::evidence::Outcome;
use crate::formats::jepsen::write::literal::describe;
use crate::formats::jepsen::write::refusal::refused;
use crate::history::History;
use crate::ids::{SessionId, TxnId};
use crate::meta::Clock;
use crate::value::Value;

/// What a line of the log is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// An event of the history, by its number.
    Event(usize),
    Invoke(TxnId),
    Complete(TxnId),
}

/// When something happens: times that are equal are told apart by a rank.
type Moment = (i64, u32);

/// A line of the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogLine {
    moment: Moment,
    pub(super) what: What,
}

/// The whole log.
pub(super) struct Log {
    pub(super) lines: Vec<LogLine>,
    /// The process of each transaction.
    pub(super) processes: Vec<i64>,
    /// Whether each transaction has a completion.
    pub(super) completed: Vec<bool>,
    /// When at the latest a transaction of unknown outcome has to complete, because its session
    /// goes on then.
    latest: Vec<Option<Moment>>,
}

impl Log {
    pub(super) fn of(history: &History) -> Result<Log, SinkError> {
        let mut log = Log {
            lines: Vec::new(),
            processes: processes(history),
            completed: vec![true; history.txn_count()],
            latest: vec![None; history.txn_count()],
        };
        if history.txns().all(|txn| txn.interval().is_empty()) && history.events().is_empty() {
            log.completions_only(history);
            return Ok(log);
        }
        log.events(history)?;
        for session in 0..history.session_count() as u32 {
            log.session(history, SessionId(session))?;
        }
        log.unfinished(history);
        log.lines.sort_by_key(|line| line.moment);
        Ok(log)
    }

    fn push(&mut self, moment: Moment, what: What) {
        self.lines.push(LogLine { moment, what });
    }

    /// Nothing is known of when transactions ran: invocations would make up an order in real time.
    fn completions_only(&mut self, history: &History) {
        for txn in history.txns() {
            self.push((0, 0), What::Complete(txn.id()));
        }
    }

    fn events(&mut self, history: &History) -> Result<(), SinkError> {
        for (i, event) in history.events().iter().enumerate() {
            match (event.begin, event.end) {
                (Some(begin), None) => self.push((begin, 0), What::Event(i)),
                _ => return refused("events that last, or that have no time"),
            }
        }
        Ok(())
    }

    /// The transactions of a session that have ended. A process that completes and invokes at the
    /// same time does so in this order; of different processes the invocation comes first, since
    /// the two overlap. A line after a transaction of unknown outcome leaves room before itself for
    /// that transaction's completion.
    fn session(&mut self, history: &History, session: SessionId) -> Result<(), SinkError> {
        let mut last: Option<Moment> = None;
        let mut open: Vec<TxnId> = Vec::new();
        for &id in history.session(session) {
            let interval = history.txn(id).interval();
            let ended = history.txn(id).outcome() != Outcome::Unknown;
            if interval.end.is_some() != ended {
                let txn = describe(history, id);
                return refused(format!("the interval of {txn}, which does not fit its outcome"));
            }
            for (time, what) in
                [(interval.begin, What::Invoke(id)), (interval.end, What::Complete(id))]
            {
                let Some(time) = time else { continue };
                let room = u32::from(!open.is_empty());
                let first = if matches!(what, What::Complete(_)) { 2 } else { room };
                let rank = match last {
                    Some((before, _)) if before > time => {
                        let txn = describe(history, id);
                        return refused(format!(
                            "{txn}, which overlaps the one before it in its session"
                        ));
                    }
                    Some((before, rank)) if before == time => {
                        first.max(rank.saturating_add(1 + room))
                    }
                    _ => first,
                };
                last = Some((time, rank));
                for open in open.drain(..) {
                    self.latest[open.index()] = Some((time, rank.saturating_sub(1)));
                }
                self.push((time, rank), what);
            }
            if !ended {
                open.push(id);
            }
        }
        Ok(())
    }

    /// Completions for transactions whose end is unknown. A log of Jepsen's had them in its gaps; beyond
    /// its last completion, no completion is needed at all.
    fn unfinished(&mut self, history: &History) {
        let mut gaps = Gaps::of(history, &self.lines);
        let mut last = -1;
        let last_ended = history.txns().rev().find(|txn| txn.interval().end.is_some());
        let next_ends = next_ends(history);
        for txn in history.txns() {
            if let Some(end) = txn.interval().end {
                last = last.max(end);
                continue;
            }
            let begin = txn.interval().begin;
            let after = last.max(begin.unwrap_or(-1));
            let next = next_ends[txn.id().index()];
            let what = What::Complete(txn.id());
            let latest = self.latest[txn.id().index()];
            let in_time = |moment: Moment| latest.map_or(moment, |latest| latest.min(moment));
            if let Some(gap) = gaps.take(after, next) {
                last = gap;
                self.push(in_time((gap, 0)), what);
            } else if latest.is_some()
                || last_ended.is_some_and(|ended| ended.id() > txn.id())
                || txn.attr(names::WALL_END).is_some()
                || begin.is_none()
                // It is called after a line that came later than its invocation.
                || txn.label().and_then(Value::as_int) > begin
            {
                self.push(in_time((after, u32::MAX)), what);
            } else {
                self.completed[txn.id().index()] = false;
            }
        }
    }
}

/// For each transaction, when the next one that has an end ends.
fn next_ends(history: &History) -> Vec<i64> {
    let mut ends = vec![i64::MAX; history.txn_count()];
    let mut next = i64::MAX;
    for txn in history.txns().rev() {
        ends[txn.id().index()] = next;
        next = txn.interval().end.unwrap_or(next);
    }
    ends
}

/// Positions of the original log that nothing claims, asked for in ascending order.
struct Gaps {
    taken: Vec<i64>,
    /// The first claimed position that has not been passed.
    next: usize,
}

impl Gaps {
    fn of(history: &History, lines: &[LogLine]) -> Gaps {
        let is_log = history.meta().clock == Clock::Events;
        let positions = lines.iter().filter(|_| is_log).map(|line| line.moment.0);
        let mut taken: Vec<i64> = positions.collect();
        taken.sort_unstable();
        Gaps { taken, next: 0 }
    }

    /// The first gap between two times; earlier ones are never asked for again.
    fn take(&mut self, after: i64, before: i64) -> Option<i64> {
        let mut gap = after.saturating_add(1);
        loop {
            // Beyond the last claimed position there are no gaps, only the end.
            let claimed = *self.taken.get(self.next)?;
            if claimed > gap {
                return (gap < before).then_some(gap);
            }
            if claimed == gap {
                gap += 1;
            }
            self.next += 1;
        }
    }
}

/// The process of each transaction. Sessions with a number keep it, others get a new one. To Jepsen a
/// process is dead after an operation of unknown outcome; a session that goes on stays the same
/// process all the same, or else the order of its transactions would be lost.
fn processes(history: &History) -> Vec<i64> {
    let pool = history.pool();
    let numbers = pool.session_names().iter().map(|&name| {
        pool.as_wide_int(name).and_then(|i| i64::try_from(i).ok()).filter(|&i| i < i64::MAX >> 1)
    });
    let numbers: Vec<Option<i64>> = numbers.collect();
    let mut fresh = numbers.iter().flatten().copied().max().map_or(0, |max| max.max(-1) + 1);
    let mut processes = vec![0; history.txn_count()];
    for (session, number) in numbers.into_iter().enumerate() {
        let process = number.unwrap_or_else(|| {
            fresh += 1;
            fresh - 1
        });
        for &id in history.session(SessionId(session as u32)) {
            processes[id.index()] = process;
        }
    }
    processes
}
