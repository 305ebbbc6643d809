//! From a history to the notation.

use std::fmt::Write;

use hashbrown::HashSet;

use crate::attributes::names;
use crate::evidence::{Interval, Outcome, Timestamp};
use crate::history::{History, Stmt, Txn};
use crate::ids::{Key, OpId, TxnId};
use crate::meta::{Clock, Event};
use crate::notation::literal::write_value;
use crate::op::{Effect, Op, OpKind};
use crate::session_event::around_transactions;
use crate::value::Value;

/// Words that begin a line; a session of such a name is written in quotes.
pub(super) const LINE_WORDS: [&str; 7] =
    ["meta", "initial", "given", "clock", "incomplete", "order", "event"];

/// The whole history as a text.
pub fn to_text(history: &History) -> String {
    let mut text = String::new();
    NotationWriter { history, out: &mut text, hidden: &[], brief: false }.history();
    text
}

/// Some transactions of a history.
#[derive(Clone, Copy, Debug)]
pub struct Excerpt<'a> {
    /// Which.
    pub txns: &'a [TxnId],
    /// Whether to claim that nothing else ran.
    pub complete: bool,
    /// The operations whose results are left out, in their order.
    pub hidden: &'a [OpId],
}

/// Some transactions as a history of their own: with the initial state of their keys and the order of
/// the versions that they wrote, as far as it was given.
pub fn excerpt_to_text(history: &History, excerpt: &Excerpt<'_>) -> String {
    let mut text = String::new();
    NotationWriter { history, out: &mut text, hidden: excerpt.hidden, brief: false }
        .excerpt(excerpt);
    text
}

/// What a transaction is called in reports: by the name that its source gave it, or by its number in
/// the history.
pub fn txn_name(history: &History, id: TxnId) -> String {
    let Some(label) = history.txn(id).label() else { return format!("#{}", id.0) };
    let text = history.pool().as_text(label);
    let is_name = text.is_some_and(|text| !text.starts_with(|c: char| c.is_ascii_digit()));
    let mut name = if is_name { String::new() } else { "T".to_owned() };
    write_value(history.pool(), label, &mut name);
    name
}

/// Appends one transaction to a text, as a line without its end.
pub fn write_txn(history: &History, txn: Txn<'_>, out: &mut String) {
    NotationWriter { history, out, hidden: &[], brief: false }.txn(txn);
}

/// The same for people who look at a few transactions: without the times of statements and of COMMIT,
/// unless those are the only ones, and without locks that access paths tell of.
pub fn write_txn_briefly(history: &History, txn: Txn<'_>, out: &mut String) {
    let brief = !txn.interval().is_empty();
    NotationWriter { history, out, hidden: &[], brief }.txn(txn);
}

/// Appends one operation to a text, without its attributes.
pub fn write_op(history: &History, op: Op<'_>, out: &mut String) {
    NotationWriter { history, out, hidden: &[], brief: false }.bare_op(op);
}

struct NotationWriter<'h, 'o> {
    history: &'h History,
    out: &'o mut String,
    hidden: &'h [OpId],
    /// Leaves out when statements were sent and answered.
    brief: bool,
}

impl NotationWriter<'_, '_> {
    fn excerpt(&mut self, excerpt: &Excerpt<'_>) {
        let txns = || excerpt.txns.iter().map(|txn| self.history.txn(*txn));
        let ops = || txns().flat_map(|txn| txn.ops());
        let keys: HashSet<Key> = ops().map(|op| op.key()).collect();
        let written = |op: Op<'_>| match op.kind() {
            OpKind::Delete => (op.key(), Value::ABSENT),
            _ => (op.key(), op.value()),
        };
        let written: HashSet<(Key, Value)> = ops().map(written).collect();
        let meta = self.history.meta();
        self.meta(excerpt.complete && meta.complete, |key| keys.contains(&key));
        for txn in txns() {
            self.txn(txn);
            self.out.push('\n');
        }
        for (txn, event) in self.history.lost_txns() {
            if excerpt.txns.contains(&txn) {
                self.event(event);
            }
        }
        for (key, versions) in self.history.version_orders() {
            let first = meta.initial.of(*key);
            let known = |v: &&Value| written.contains(&(*key, **v)) || first == Some(**v);
            let versions: Vec<Value> = versions.iter().filter(known).copied().collect();
            if keys.contains(key) && !versions.is_empty() {
                self.order(*key, &versions);
            }
        }
    }

    fn order(&mut self, key: Key, versions: &[Value]) {
        self.out.push_str("order ");
        self.key(key);
        self.out.push(':');
        for &version in versions {
            self.out.push(' ');
            self.value(version);
        }
        self.out.push('\n');
    }

    fn history(&mut self) {
        self.meta(self.history.meta().complete, |_| true);
        let (first, last) = around_transactions(self.history.pool(), self.history.events());
        first.iter().for_each(|event| self.event(event));
        for txn in self.history.txns() {
            self.txn(txn);
            self.out.push('\n');
        }
        last.iter().for_each(|event| self.event(event));
        for (key, versions) in self.history.version_orders() {
            self.order(*key, versions);
        }
    }

    fn event(&mut self, event: &Event) {
        self.out.push_str("event ");
        self.value(event.name);
        self.interval(" ", Interval { begin: event.begin, end: event.end });
        if event.detail != Value::ABSENT {
            self.out.push(' ');
            self.value(event.detail);
        }
        self.out.push('\n');
    }

    fn meta(&mut self, complete: bool, wanted: impl Fn(Key) -> bool) {
        let meta = self.history.meta();
        for &(name, value) in &meta.info {
            self.out.push_str("meta ");
            self.value(name);
            self.out.push(' ');
            self.value(value);
            self.out.push('\n');
        }
        if meta.clock != Clock::default() {
            let _ = writeln!(self.out, "clock {}", meta.clock.name());
        }
        if !complete {
            self.out.push_str("incomplete\n");
        }
        match meta.initial.default {
            Some(Value::ABSENT) => {}
            None => self.out.push_str("initial none\n"),
            Some(value) => {
                self.out.push_str("initial ");
                self.value(value);
                self.out.push('\n');
            }
        }
        for &(key, value) in meta.initial.given.iter().filter(|(key, _)| wanted(*key)) {
            self.out.push_str("given ");
            self.key(key);
            self.out.push(' ');
            self.value(value);
            self.out.push('\n');
        }
    }

    fn txn(&mut self, txn: Txn<'_>) {
        self.session(self.history.pool().session_name(txn.session()));
        if let Some(label) = txn.label() {
            self.out.push(' ');
            self.value(label);
        }
        self.out.push(':');
        for stmt in txn.stmts() {
            self.out.push(' ');
            self.stmt(stmt);
        }
        match txn.outcome() {
            Outcome::Committed => {}
            Outcome::Aborted => self.out.push_str(" abort"),
            Outcome::Unknown => self.out.push_str(" unknown"),
        }
        self.interval(" ", txn.interval());
        if txn.start_ts().is_some() || txn.commit_ts().is_some() {
            self.out.push_str(" ts(");
            self.timestamp(txn.start_ts());
            self.out.push(',');
            self.timestamp(txn.commit_ts());
            self.out.push(')');
        }
        let (pool, brief) = (self.history.pool(), self.brief);
        let told = |name: Value| !brief || pool.as_text(name) != Some(names::END_SENT);
        self.attrs(" ", txn.attrs().filter(|(name, _)| told(*name)));
    }

    fn session(&mut self, name: Value) {
        match self.history.pool().as_text(name) {
            Some(text) if LINE_WORDS.contains(&text) => {
                let _ = write!(self.out, "\"{text}\"");
            }
            _ => self.value(name),
        }
    }

    fn stmt(&mut self, stmt: Stmt<'_>) {
        let (history, brief) = (self.history, self.brief);
        // The path that a read took says which lock it asked for.
        let by_path = |op: Op<'_>| history.op_attr(op.id(), names::PATH).is_some();
        let is_lock = |name: Value| history.pool().as_text(name) == Some(names::LOCK);
        let told = |name: Value| !(brief && is_lock(name) && stmt.ops().any(by_path));
        let attrs = || stmt.attrs().filter(|(name, _)| told(*name));
        let plain = stmt.ops().len() == 1 && attrs().next().is_none();
        if plain {
            for op in stmt.ops() {
                self.op(op);
            }
        } else {
            self.out.push('[');
            for (i, op) in stmt.ops().enumerate() {
                if i > 0 {
                    self.out.push(' ');
                }
                self.op(op);
            }
            self.out.push(']');
        }
        if !self.brief {
            self.interval("", stmt.interval());
        }
        self.attrs("", attrs());
    }

    fn op(&mut self, op: Op<'_>) {
        self.bare_op(op);
        self.attrs("", self.history.op_attrs(op.id()));
    }

    fn bare_op(&mut self, op: Op<'_>) {
        self.out.push_str(op.kind().name());
        match op.effect() {
            Effect::Done => {}
            Effect::Failed => self.out.push('!'),
            Effect::Unknown => self.out.push('?'),
        }
        self.out.push('(');
        if op.kind().has_key() {
            self.key(op.key());
            if op.kind() != OpKind::Delete {
                self.out.push(',');
            }
        }
        self.op_values(op);
        self.out.push(')');
    }

    fn op_values(&mut self, op: Op<'_>) {
        match op.kind() {
            OpKind::Delete => {}
            OpKind::Read | OpKind::ListRead if self.hidden.binary_search(&op.id()).is_ok() => {
                self.out.push('_');
            }
            OpKind::ListRead => match op.elements() {
                None => self.out.push('_'),
                Some(elements) => {
                    self.out.push('[');
                    for (i, &element) in elements.iter().enumerate() {
                        if i > 0 {
                            self.out.push(',');
                        }
                        self.value(element);
                    }
                    self.out.push(']');
                }
            },
            OpKind::Cas => {
                self.value(op.expected().unwrap_or(Value::UNOBSERVED));
                self.out.push(',');
                self.value(op.value());
            }
            OpKind::PredicateRead => {
                self.value(op.value());
                match op.result_set() {
                    None => self.out.push_str(",_"),
                    Some(rows) => {
                        for (key, value) in rows {
                            self.out.push(',');
                            self.key(key);
                            self.out.push('=');
                            self.value(value);
                        }
                    }
                }
            }
            _ => self.value(op.value()),
        }
    }

    fn key(&mut self, key: Key) {
        self.value(self.history.pool().key_name(key));
    }

    fn value(&mut self, value: Value) {
        write_value(self.history.pool(), value, self.out);
    }

    fn interval(&mut self, before: &str, interval: Interval) {
        if interval.is_empty() {
            return;
        }
        let side = |t: Option<i64>| t.map_or_else(|| "_".to_owned(), |t| t.to_string());
        let (begin, end) = (side(interval.begin), side(interval.end));
        let _ = write!(self.out, "{before}@[{begin},{end}]");
    }

    fn timestamp(&mut self, ts: Option<Timestamp>) {
        let _ = match ts {
            None => write!(self.out, "_"),
            Some(Timestamp { physical, logical: 0 }) => write!(self.out, "{physical}"),
            Some(ts) => write!(self.out, "{}.{}", ts.physical, ts.logical),
        };
    }

    fn attrs(&mut self, before: &str, attrs: impl Iterator<Item = (Value, Value)>) {
        let mut open = false;
        for (name, value) in attrs {
            self.out.push_str(if open { "," } else { before });
            if !open {
                self.out.push('{');
            }
            open = true;
            self.value(name);
            self.out.push('=');
            self.value(value);
        }
        if open {
            self.out.push('}');
        }
    }
}
