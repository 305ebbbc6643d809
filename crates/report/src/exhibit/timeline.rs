//! What happened when: the sessions of an exhibit side by side, row after row.

use isolde_history::{Clock, History};

use super::Part;

/// What the order of rows rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The clients' clocks, in nanoseconds.
    Nanoseconds,
    /// Positions in the log.
    Events,
    /// The order in the history: there are no times.
    Order,
}

/// The sessions side by side.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// What the order of rows rests on.
    pub basis: Basis,
    /// The sessions, each a column: its name.
    pub columns: Vec<String>,
    /// What happened, in order.
    pub rows: Vec<Row>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// When, if that is known.
    pub time: Option<i64>,
    /// In which column; `None` for an event of the whole system, such as a fault.
    pub column: Option<usize>,
    /// To which transaction it belongs: its number among the parts.
    pub part: Option<usize>,
    /// What it was.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The transaction began.
    Begin,
    /// An operation: its number among those of its part.
    Op(usize),
    /// So many operations that show nothing, from this number on.
    Folded(usize, usize),
    /// The transaction ended, as its outcome says.
    End,
    /// An event of the whole system, such as a fault, in words.
    Event(String),
}

/// The time line of some transactions: by the clients' clocks where all are known, else in the order
/// of the history. Of each transaction, what shows nothing is folded.
pub(super) fn of(history: &History, parts: &[Part]) -> Timeline {
    let mut columns: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    let timed = parts.iter().all(|part| part.begin.is_some() || part.end.is_some());
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| parts[*at].txn);
    if timed {
        order.sort_by_key(|at| parts[*at].begin.or(parts[*at].end));
    }
    for at in order {
        let part = &parts[at];
        let column = columns.iter().position(|name| *name == part.session).unwrap_or_else(|| {
            columns.push(part.session.clone());
            columns.len() - 1
        });
        let mut push =
            |time, what| rows.push(Row { time, column: Some(column), part: Some(at), what });
        push(part.begin, What::Begin);
        for op in 0..part.ops.len() {
            push(None, What::Op(op));
        }
        push(part.end, What::End);
    }
    let basis = match (timed, history.meta().clock) {
        (false, _) => Basis::Order,
        (true, Clock::Events) => Basis::Events,
        (true, Clock::Nanoseconds) => Basis::Nanoseconds,
    };
    Timeline { basis, columns, rows }
}
