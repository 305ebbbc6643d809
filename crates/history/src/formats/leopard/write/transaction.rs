//! One transaction: its beginning, its statements, its end.

use crate::attributes::names;
use crate::evidence::{Interval, Outcome};
use crate::formats::leopard::words::{
    ThreadClock, TraceKind, attributes, usual_start_end, word_of_level,
};
use crate::formats::leopard::write::members;
use crate::formats::leopard::write::slice::Slice;
use crate::formats::leopard::write::statement::StatementWriter;
use crate::history::{History, Txn};
use crate::pool::Pool;
use crate::value::{Datum, Value};

/// What START may say that is no attribute of another name.
const OF_START: [&str; 6] =
    ["operationID", "traceLockMode", "readMode", "predicateLock", "sql", "exception"];
/// What COMMIT and ROLLBACK may say beside their times and their error.
const OF_ENDING: [&str; 6] =
    ["operationID", "traceLockMode", "readMode", "predicateLock", "sql", "isolationLevel"];

/// Writes one transaction.
pub(super) struct TransactionWriter<'h, 'c> {
    history: &'h History,
    txn: Txn<'h>,
    thread: String,
    name: String,
    clock: &'c mut ThreadClock,
    number: u64,
}

impl<'h, 'c> TransactionWriter<'h, 'c> {
    pub(super) fn of(
        history: &'h History,
        txn: Txn<'h>,
        clock: &'c mut ThreadClock,
    ) -> Result<TransactionWriter<'h, 'c>, String> {
        let pool = history.pool();
        let thread = members::name(pool, pool.session_name(txn.session()), "its session")?;
        let name = match txn.label() {
            Some(label) => members::name(pool, label, "its name")?,
            None => format!("{thread},{}", txn.position()),
        };
        Ok(TransactionWriter { history, txn, thread, name, clock, number: 0 })
    }

    fn pool(&self) -> &'h Pool {
        self.history.pool()
    }

    pub(super) fn transaction(mut self, slice: &mut Slice<'_>) -> Result<(), String> {
        if self.txn.start_ts().is_some() || self.txn.commit_ts().is_some() {
            return Err("timestamps of the database".to_owned());
        }
        let ending = self.ending()?;
        self.start(slice.next(), ending.is_some())?;
        let mut refused_commit = false;
        for stmt in self.txn.stmts() {
            if refused_commit {
                return Err("a statement after a COMMIT that failed".to_owned());
            }
            let writer = StatementWriter::of(self.history, stmt)?;
            refused_commit = writer.kind == TraceKind::Commit && writer.savepoint.is_none();
            let out = slice.next();
            let named = writer.has_attr("operationID");
            self.open(out, writer.kind, stmt.interval(), named)?;
            writer.write(out)?;
            out.push(b'}');
        }
        match ending {
            Some(kind) if refused_commit && kind != TraceKind::Rollback => {
                Err("a COMMIT after a COMMIT that failed".to_owned())
            }
            None if refused_commit => Err("a COMMIT that failed, and no ROLLBACK".to_owned()),
            Some(kind) => self.end(slice.next(), kind),
            None => Ok(()),
        }
    }

    /// The operation that ended it, if one did; an error if its outcome cannot be told.
    fn ending(&self) -> Result<Option<TraceKind>, String> {
        let Interval { begin: sent, end: answered } = self.txn.ending();
        let answer_lost = self.txn.interval().end.is_none();
        match (self.txn.outcome(), sent) {
            (Outcome::Committed, Some(_)) if answered.is_some() => Ok(Some(TraceKind::Commit)),
            (Outcome::Committed, _) => {
                Err("it has committed, but when COMMIT was sent and answered is not said"
                    .to_owned())
            }
            (Outcome::Aborted, Some(_)) => Ok(Some(TraceKind::Rollback)),
            (Outcome::Aborted, None) => {
                Err("it has aborted, but when ROLLBACK was sent is not said".to_owned())
            }
            (Outcome::Unknown, Some(_)) if answer_lost || self.error().is_some() => {
                Ok(Some(TraceKind::Commit))
            }
            (Outcome::Unknown, None) if answer_lost => Ok(None),
            (Outcome::Unknown, _) => Err("it has an answer, but not what that said".to_owned()),
        }
    }

    fn error(&self) -> Option<Value> {
        self.txn.attr(names::ERROR)
    }

    /// Whether the error of the transaction is that of its end.
    fn ends_with_error(&self, has_ending: bool) -> bool {
        has_ending && self.txn.outcome() != Outcome::Committed && self.error().is_some()
    }

    fn start(&mut self, out: &mut Vec<u8>, has_ending: bool) -> Result<(), String> {
        let begin = self.txn.interval().begin;
        let first = self.txn.stmts().next().map_or(Interval::default(), |stmt| stmt.interval());
        let said = self.txn.attr(names::BEGIN_ANSWERED);
        let end = match said {
            Some(time) => Some(self.integer(time, names::BEGIN_ANSWERED)?),
            None => usual_start_end(begin, first),
        };
        if said.is_some() && end == usual_start_end(begin, first) {
            return Err(format!(
                "the attribute {}, which goes without saying",
                names::BEGIN_ANSWERED
            ));
        }
        let own = self.txn.attr("operationID").is_some();
        self.open(out, TraceKind::Start, Interval { begin, end }, own)?;
        let mut others = Vec::new();
        for (name, value) in self.txn.attrs() {
            match self.pool().as_text(name) {
                Some(names::LEVEL) => {
                    let word = self.pool().as_text(value).and_then(word_of_level);
                    let word = word.ok_or("its level, which is no name of one")?;
                    members::text(out, "isolationLevel", &word);
                }
                Some(names::BEGIN_ANSWERED | attributes::ENDING) => {}
                Some(names::END_SENT) if has_ending => {}
                Some(names::ERROR) if self.ends_with_error(has_ending) => {}
                _ => others.push((name, value)),
            }
        }
        let taken = members::taken(&[names::END_SENT]);
        members::attributes(out, self.pool(), &others, &OF_START, &taken)?;
        out.push(b'}');
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<u8>, kind: TraceKind) -> Result<(), String> {
        let row = self.txn.attr(attributes::ENDING);
        let members: Vec<(Value, Value)> = match row.map(|row| self.pool().datum(row)) {
            None => Vec::new(),
            Some(Datum::Row(row)) if !row.is_empty() => row.pairs().collect(),
            Some(_) => return Err("its attribute ending, which is no row".to_owned()),
        };
        let named = |member: &(Value, Value)| self.pool().as_text(member.0) == Some("operationID");
        let own = members.iter().any(named);
        self.open(out, kind, self.txn.ending(), own)?;
        if let Some(error) = self.error().filter(|_| self.ends_with_error(true)) {
            if self.pool().as_text(error) == Some("") {
                return Err("its error, which is an empty text".to_owned());
            }
            members::value(out, self.pool(), "exception", error)?;
        }
        members::attributes(out, self.pool(), &members, &OF_ENDING, &members::taken(&[]))?;
        out.push(b'}');
        Ok(())
    }

    /// What every operation has: its kind, its names, its times. Its own name may come later.
    fn open(
        &mut self,
        out: &mut Vec<u8>,
        kind: TraceKind,
        interval: Interval,
        own_name: bool,
    ) -> Result<(), String> {
        let begin = interval
            .begin
            .ok_or_else(|| format!("when its {} was sent is not known", kind.word()))?;
        self.clock.advance(interval)?;
        out.push(b'{');
        members::text(out, "operationTraceType", kind.word());
        members::text(out, "threadID", &self.thread);
        members::text(out, "transactionID", &self.name);
        if !own_name {
            members::text(out, "operationID", &format!("{},{}", self.name, self.number));
        }
        self.number += 1;
        members::time(out, "startTimestamp", begin);
        if let Some(end) = interval.end {
            members::time(out, "finishTimestamp", end);
        }
        Ok(())
    }

    fn integer(&self, value: Value, whose: &str) -> Result<i64, String> {
        let number = self.pool().as_wide_int(value).and_then(|i| i64::try_from(i).ok());
        number
            .filter(|time| *time != i64::MIN)
            .ok_or_else(|| format!("its {whose}, which is no time"))
    }
}
