//! What happened when, as data: sessions side by side, row after row.

use isolde_history::Timestamp;

/// What the order of rows rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The clients' clocks, in nanoseconds.
    Nanoseconds,
    /// Positions in the log.
    Events,
    /// The server's timestamps of starts and commits.
    Timestamps,
    /// The order in the history: there are no times.
    Order,
}

/// The sessions side by side.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// What the order of rows rests on.
    pub basis: Basis,
    /// The sessions, each a column: its name. By the server's timestamps, transactions of a session may overlap:
    /// then it has several.
    pub columns: Vec<String>,
    /// The node of the cluster on which each of them ran, if it was one.
    pub nodes: Vec<Option<String>>,
    /// What happened, in order.
    pub rows: Vec<Row>,
}

impl Timeline {
    /// A session by its name, and where it ran.
    pub fn column_name(&self, column: usize) -> String {
        let session = self.columns.get(column).map_or("", String::as_str);
        match self.nodes.get(column) {
            Some(Some(node)) => format!("{session} on {node}"),
            _ => session.to_owned(),
        }
    }
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// When, if that is known; clients' clocks have no logical part.
    pub time: Option<Timestamp>,
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
    /// So many operations that show nothing, and are too many to be kept.
    LeftOut(usize),
    /// The transaction ended, as its outcome says.
    End,
    /// An event of the whole system, such as a fault, in words.
    Event(String),
}
