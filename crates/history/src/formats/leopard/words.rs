//! The words of the traces, for reading and writing: each has one meaning both ways.

use crate::error::Fault;
use crate::evidence::{Interval, LockMode};
use crate::pool::Pool;
use crate::value::{Datum, Value};

/// What an operation of a trace is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TraceKind {
    Select,
    Update,
    Insert,
    Delete,
    Start,
    Commit,
    Rollback,
    SetSnapshot,
    Ddl,
    DistributeSchedule,
    Fault,
}

/// Each kind, its word in traces, and its name in histories.
const KINDS: [(TraceKind, &str, &str); 11] = [
    (TraceKind::Select, "SELECT", "select"),
    (TraceKind::Update, "UPDATE", "update"),
    (TraceKind::Insert, "INSERT", "insert"),
    (TraceKind::Delete, "DELETE", "delete"),
    (TraceKind::Start, "START", "start"),
    (TraceKind::Commit, "COMMIT", "commit"),
    (TraceKind::Rollback, "ROLLBACK", "rollback"),
    (TraceKind::SetSnapshot, "SET_SNAPSHOT", "set-snapshot"),
    (TraceKind::Ddl, "DDL", "ddl"),
    (TraceKind::DistributeSchedule, "DistributeSchedule", "distribute-schedule"),
    (TraceKind::Fault, "FAULT", "fault"),
];

impl TraceKind {
    pub(super) fn from_word(word: &str) -> Option<TraceKind> {
        KINDS.iter().find(|kind| kind.1 == word).map(|kind| kind.0)
    }

    pub(super) fn from_name(name: &str) -> Option<TraceKind> {
        KINDS.iter().find(|kind| kind.2 == name).map(|kind| kind.0)
    }

    pub(super) fn word(self) -> &'static str {
        KINDS[self as usize].1
    }

    pub(super) fn name(self) -> &'static str {
        KINDS[self as usize].2
    }

    /// Whether it is no operation of a transaction.
    pub(super) const fn is_event(self) -> bool {
        matches!(self, TraceKind::Ddl | TraceKind::DistributeSchedule | TraceKind::Fault)
    }

    /// Whether it reads or writes rows.
    pub(super) const fn has_rows(self) -> bool {
        matches!(
            self,
            TraceKind::Select | TraceKind::Update | TraceKind::Insert | TraceKind::Delete
        )
    }
}

/// Attributes that only these traces have.
pub(super) mod attributes {
    /// Statement: what it was, where its operations do not say it.
    pub(in super::super) const KIND: &str = "kind";
    /// Statement: its savepoint, where no operation names it.
    pub(in super::super) const SAVEPOINT: &str = "savepoint";
    /// Statement: the tables that it locked as a whole.
    pub(in super::super) const LOCKED_TABLES: &str = "locked-tables";
    /// Statement: the row of which a snapshot is said, if it is one.
    pub(in super::super) const SNAPSHOT_OF: &str = "snapshot-of";
    /// Transaction: what else the trace says of its COMMIT or ROLLBACK.
    pub(in super::super) const ENDING: &str = "ending";
    /// Operation: what the trace has as `realValueMap`.
    pub(in super::super) const REAL_VALUES: &str = "real-values";
    /// Delete: the columns that the trace tells of it.
    pub(in super::super) const VALUES: &str = "values";
}

/// The members of an operation that have a meaning.
pub(super) const MEMBERS: [&str; 15] = [
    "operationTraceType",
    "threadID",
    "transactionID",
    "operationID",
    "startTimestamp",
    "finishTimestamp",
    "isolationLevel",
    "readTupleList",
    "writeTupleList",
    "savepoint",
    "predicateLock",
    "traceLockMode",
    "readMode",
    "exception",
    "sql",
];
/// Those of a tuple.
pub(super) const TUPLE_MEMBERS: [&str; 4] = ["table", "primaryKey", "valueMap", "realValueMap"];
/// The column of a `SET_SNAPSHOT`.
pub(super) const SNAPSHOT_COLUMN: &str = "SNAPSHOT";

pub(super) const LOCKS: [(&str, LockMode); 3] = [
    ("NON_LOCK", LockMode::None),
    ("SHARE_LOCK", LockMode::Share),
    ("EXCLUSIVE_LOCK", LockMode::Exclusive),
];
/// How a statement reads: the word in traces, and the name in histories.
pub(super) const READ_MODES: [(&str, &str); 3] = [
    ("UNCOMMITTED_READ", "uncommitted"),
    ("CONSISTENT_READ", "consistent"),
    ("LOCKING_READ", "locking"),
];

/// The number that a text is, written as numbers usually are.
pub(super) fn whole_number(text: &str) -> Option<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let usual = match digits.as_bytes() {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    usual.then(|| text.parse().ok()).flatten()
}

/// A text of a trace: a number where it is one.
pub(super) fn word(pool: &mut Pool, text: &str) -> Value {
    match whole_number(text) {
        Some(number) => pool.big(number),
        None => pool.text(text),
    }
}

/// The text that a name has in a trace, if it is read back as that name.
pub(super) fn text_of_word(pool: &Pool, name: Value) -> Option<String> {
    match pool.datum(name) {
        Datum::Int(number) => Some(number.to_string()),
        Datum::Text(text) if whole_number(text).is_none() => Some(text.to_owned()),
        _ => None,
    }
}

/// The name of a table: `3` and `table3` are the same one.
pub(super) fn table_word(pool: &mut Pool, text: &str) -> Value {
    word(pool, numbered_table(text).unwrap_or(text))
}

/// The text that a table has in a trace, if it is read back as that table.
pub(super) fn text_of_table(pool: &Pool, table: Value) -> Option<String> {
    text_of_word(pool, table).filter(|text| numbered_table(text).is_none())
}

fn numbered_table(text: &str) -> Option<&str> {
    text.strip_prefix("table").filter(|rest| whole_number(rest).is_some())
}

/// `REPEATABLE_READ` is the level `repeatable read`; what is written otherwise stays as it is.
pub(super) fn level_of_word(word: &str) -> String {
    if is_shouted(word) { word.to_ascii_lowercase().replace('_', " ") } else { word.to_owned() }
}

/// The word of a level, if it is read back as that level.
pub(super) fn word_of_level(level: &str) -> Option<String> {
    let word = level.to_ascii_uppercase().replace(' ', "_");
    [word, level.to_owned()].into_iter().find(|word| level_of_word(word) == level)
}

fn is_shouted(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// The two times of a `SET_SNAPSHOT`.
pub(super) fn snapshot_times(text: &str) -> Option<(i64, i64)> {
    let (begin, end) = text.split_once(',')?;
    Some((begin.trim().parse().ok()?, end.trim().parse().ok()?))
}

/// The clock of one thread: what it does is in the order in which it did it.
#[derive(Clone, Copy, Default)]
pub(super) struct ThreadClock {
    begin: Option<i64>,
    end: Option<i64>,
}

impl ThreadClock {
    /// Notes the next operation, or says what is wrong with its times.
    pub(super) fn advance(&mut self, interval: Interval) -> Result<(), &'static str> {
        let Interval { begin, end } = interval;
        if end.is_some() && end < begin {
            return Err("the operation is finished before it is started");
        }
        if begin < self.begin {
            return Err("the operation is started before an earlier one of its thread");
        }
        if end.is_some() && end < self.end {
            return Err("the operation is finished before an earlier one of its thread");
        }
        *self = ThreadClock { begin, end: end.max(self.end) };
        Ok(())
    }
}

/// When `START` was answered if nothing says otherwise: BEGIN travels with the first statement.
pub(super) fn usual_start_end(begin: Option<i64>, first: Interval) -> Option<i64> {
    first.end.or(begin)
}

/// The complaint about a word that is none of these.
pub(super) fn one_of<'w>(at: usize, words: impl Iterator<Item = &'w str>) -> Fault {
    let words: Vec<&str> = words.collect();
    Fault::expected(at, format_args!("one of {}", words.join(", ")))
}

pub(super) fn unknown_kind(at: usize) -> Fault {
    one_of(at, KINDS.iter().map(|kind| kind.1))
}
