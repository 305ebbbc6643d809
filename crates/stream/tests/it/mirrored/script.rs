//! What clients did and saw, and when: a tiny trace that can be written down as a history, acted out, or explained.

use std::fmt::Write as _;

use isolde_history::LockMode;

/// The rows: two with columns, and a list.
pub(crate) const ROWS: [&str; 3] = ["x", "y", "l"];
/// The row that is a list.
pub(crate) const LIST: usize = 2;

/// What is in a row.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Held {
    Absent,
    /// Two columns; where values are whole, the first one is the value.
    Row([i64; 2]),
    List(Vec<i64>),
}

/// What a statement does to a row.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Act {
    Read(usize),
    Write(usize, [Option<i64>; 2]),
    Insert(usize, [i64; 2]),
    Delete(usize),
    Cas(usize, i64, i64),
    Append(i64),
    Savepoint(u8),
    RollbackTo(u8),
    /// A read of all rows with an even value. What it returned is a list of [`looked`].
    Look,
}

/// A row that a predicate read returned, as one number.
pub(crate) fn looked(row: usize, value: i64) -> i64 {
    row as i64 * 10_000 + value
}

/// An operation, and for a read what it returned and which columns it asked for.
#[derive(Clone, Debug)]
pub(crate) struct MadeOp {
    pub(crate) act: Act,
    pub(crate) saw: Option<Held>,
    pub(crate) asked: [bool; 2],
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) struct MadeStmt {
    pub(crate) ops: Vec<MadeOp>,
    pub(crate) lock: LockMode,
    pub(crate) sent: i64,
    pub(crate) answered: i64,
}

/// What became of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Committed,
    Aborted,
    Unknown,
}

/// A transaction.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) session: usize,
    pub(crate) began: i64,
    /// When BEGIN was answered, if it was sent alone.
    pub(crate) begun: Option<i64>,
    pub(crate) stmts: Vec<MadeStmt>,
    /// The statement at which the server ended it.
    pub(crate) fails_at: Option<usize>,
    /// Whether it is one statement, with which BEGIN and COMMIT travel.
    pub(crate) is_alone: bool,
    pub(crate) end_sent: i64,
    pub(crate) ended: i64,
    pub(crate) end: End,
}

/// All of them, and what rows held at first.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) by_column: bool,
    pub(crate) initial: [Held; 3],
    pub(crate) txns: Vec<Made>,
}

impl Script {
    /// The trace as the notation has it.
    pub(crate) fn text(&self) -> String {
        let mut text = if self.by_column { "meta rows by-column\n" } else { "" }.to_owned();
        for (row, held) in ROWS.iter().zip(&self.initial) {
            if !matches!(held, Held::Absent) && *row != ROWS[LIST] {
                let _ = writeln!(text, "given {row} {}", self.shown(held, [true; 2]));
            }
        }
        for (number, txn) in self.txns.iter().enumerate() {
            self.txn(number, txn, &mut text);
        }
        text
    }

    fn txn(&self, number: usize, txn: &Made, text: &mut String) {
        let _ = write!(text, "s{} t{number}:", txn.session);
        for (at, stmt) in txn.stmts.iter().enumerate() {
            let failed = txn.fails_at == Some(at);
            let ops: Vec<String> = stmt.ops.iter().map(|op| self.op(op, failed)).collect();
            let _ = write!(text, " [{}]@[{},{}]", ops.join(" "), stmt.sent, stmt.answered);
            let _ = write!(text, "{{lock={}}}", stmt.lock.name());
        }
        let (word, ended) = match txn.end {
            End::Committed => ("", txn.ended.to_string()),
            End::Aborted => (" abort", txn.ended.to_string()),
            End::Unknown => (" unknown", "_".to_owned()),
        };
        let _ = write!(text, "{word} @[{},{ended}]", txn.began);
        if txn.is_alone {
            text.push('\n');
            return;
        }
        let _ = write!(text, " {{end-sent={}", txn.end_sent);
        if let Some(begun) = txn.begun {
            let _ = write!(text, ",begin-answered={begun}");
        }
        if let Some(at) = txn.fails_at {
            let _ = write!(text, ",server-ended-at={at},error=\"40001\"");
        }
        text.push_str("}\n");
    }

    fn op(&self, op: &MadeOp, failed: bool) -> String {
        let sign = if failed { "!" } else { "" };
        let cells = |cells: &[Option<i64>; 2]| match self.by_column {
            true => {
                let each = ["a", "b"].iter().zip(cells);
                let each = each.filter_map(|(name, cell)| Some(format!("{name}:{}", (*cell)?)));
                format!("{{{}}}", each.collect::<Vec<_>>().join(","))
            }
            false => cells[0].unwrap_or_default().to_string(),
        };
        match &op.act {
            Act::Read(LIST) => match &op.saw {
                Some(Held::Absent) => "list(l,[])".to_owned(),
                Some(saw) => format!("list(l,{})", self.shown(saw, op.asked)),
                None => "list(l,_)".to_owned(),
            },
            Act::Read(row) => match &op.saw {
                Some(saw) => format!("r({},{})", ROWS[*row], self.shown(saw, op.asked)),
                None => format!("r({},_)", ROWS[*row]),
            },
            Act::Look => match &op.saw {
                Some(Held::List(rows)) => {
                    let row =
                        |one: &i64| format!(",{}={}", ROWS[(one / 10_000) as usize], one % 10_000);
                    format!("pred(even{})", rows.iter().map(row).collect::<String>())
                }
                _ => "pred(even,_)".to_owned(),
            },
            Act::Write(row, new) => format!("w{sign}({},{})", ROWS[*row], cells(new)),
            Act::Insert(row, new) => {
                format!("insert{sign}({},{})", ROWS[*row], cells(&new.map(Some)))
            }
            Act::Delete(row) => format!("delete{sign}({})", ROWS[*row]),
            Act::Cas(row, old, new) => format!("cas{sign}({},{old},{new})", ROWS[*row]),
            Act::Append(element) => format!("append{sign}(l,{element})"),
            Act::Savepoint(name) => format!("savepoint({name})"),
            Act::RollbackTo(name) => format!("rollback({name})"),
        }
    }

    fn shown(&self, held: &Held, asked: [bool; 2]) -> String {
        match held {
            Held::Absent => "absent".to_owned(),
            Held::Row([a, b]) if self.by_column => match asked {
                [true, false] => format!("{{a:{a}}}"),
                [false, true] => format!("{{b:{b}}}"),
                _ => format!("{{a:{a},b:{b}}}"),
            },
            Held::Row([a, _]) => a.to_string(),
            Held::List(list) => {
                let each: Vec<String> = list.iter().map(i64::to_string).collect();
                format!("[{}]", each.join(","))
            }
        }
    }
}

/// What happens to a transaction on the server, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    Begin,
    /// A statement begins, and takes its snapshot.
    Snapshot(usize),
    /// An operation of a statement.
    Op(usize, usize),
    /// The server ends the transaction in the middle of a statement.
    Fail(usize),
    End,
}

impl Made {
    /// All that happens to it.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events = vec![Event::Begin];
        for (number, stmt) in self.stmts.iter().enumerate() {
            events.push(Event::Snapshot(number));
            if self.fails_at == Some(number) {
                events.push(Event::Fail(number));
                return events;
            }
            events.extend((0..stmt.ops.len()).map(|op| Event::Op(number, op)));
        }
        events.push(Event::End);
        events
    }

    /// Between which times it happens.
    pub(crate) fn window(&self, event: Event) -> (i64, i64) {
        match event {
            Event::Begin => {
                let first = self.stmts.first().map_or(self.ended, |stmt| stmt.answered);
                (self.began, self.begun.unwrap_or(first))
            }
            Event::Snapshot(stmt) | Event::Op(stmt, _) | Event::Fail(stmt) => {
                (self.stmts[stmt].sent, self.stmts[stmt].answered)
            }
            Event::End if self.end == End::Unknown => (self.end_sent, i64::MAX),
            Event::End if self.is_alone => (self.stmts[0].sent, self.stmts[0].answered),
            Event::End => (self.end_sent, self.ended),
        }
    }
}
