//! A history made anew in another guise: other names, another order, transactions added that nobody
//! notices.

use isolde_history::{Clock, Datum, Effect, History, HistoryBuilder, InitialState, Interval, Key};
use isolde_history::{Op, OpKind, Outcome, Pool, SessionId, Sink, TxnDraft, TxnId, Value};

/// How a history is made anew.
#[derive(Clone, Debug)]
pub struct Guise {
    /// The transactions in their new order.
    pub order: Vec<TxnId>,
    /// The keys and the sessions in the order in which they get their new numbers; the names are new
    /// too.
    pub keys: Vec<Key>,
    pub sessions: Vec<SessionId>,
    /// Whether values get new names, and which.
    pub values: Option<i64>,
    /// Whether every operation becomes a statement of its own.
    pub split: bool,
    /// What times are multiplied with, and what is added then.
    pub times: (i64, i64),
    /// Whether times count events.
    pub clock: Clock,
    pub added: Vec<Added>,
}

/// A transaction that was not there.
#[derive(Clone, Debug)]
pub struct Added {
    /// Before how many of the others it comes from the end.
    pub from_end: usize,
    /// Its session, if it is not a new one.
    pub session: Option<SessionId>,
    /// The key that it writes, if it is not a new one.
    pub key: Option<Key>,
    pub outcome: Outcome,
    pub interval: Interval,
}

impl Guise {
    /// The guise in which a history is what it was.
    pub fn of(history: &History) -> Guise {
        Guise {
            order: history.txns().map(|t| t.id()).collect(),
            keys: (0..history.key_count() as u32).map(Key).collect(),
            sessions: (0..history.session_count() as u32).map(SessionId).collect(),
            values: None,
            split: false,
            times: (1, 0),
            clock: history.meta().clock,
            added: Vec::new(),
        }
    }

    /// The history in this guise.
    pub fn remake(&self, history: &History) -> History {
        let mut remaking = Remaking {
            guise: self,
            history,
            builder: HistoryBuilder::new(),
            keys: vec![Key(0); history.key_count()],
            sessions: vec![SessionId(0); history.session_count()],
            draft: TxnDraft::default(),
        };
        remaking.names();
        remaking.meta();
        for (i, &txn) in self.order.iter().enumerate() {
            remaking.add(self.order.len() - i);
            remaking.txn(txn);
        }
        remaking.add(0);
        remaking.orders();
        remaking.builder.finish()
    }
}

struct Remaking<'a> {
    guise: &'a Guise,
    history: &'a History,
    builder: HistoryBuilder,
    /// The new key of each old one.
    keys: Vec<Key>,
    sessions: Vec<SessionId>,
    draft: TxnDraft,
}

impl Remaking<'_> {
    fn names(&mut self) {
        for (i, key) in self.guise.keys.iter().enumerate() {
            self.keys[key.index()] = self.builder.pool().text_key(&format!("key{i}"));
        }
        for (i, session) in self.guise.sessions.iter().enumerate() {
            let name = self.builder.pool().text(&format!("session{i}"));
            self.sessions[session.index()] = self.builder.pool().session(name);
        }
    }

    /// A value of the old history in the new one. What has a meaning of its own (absent, never learned)
    /// keeps it.
    fn value(&mut self, value: Value) -> Value {
        let datum = self.history.pool().datum(value);
        let pool = self.builder.pool();
        match (datum, self.guise.values) {
            (Datum::Absent | Datum::Null | Datum::Unobserved | Datum::Bool(_), _) => value,
            (Datum::Int(i), Some(salt)) => rename(pool, i, salt),
            (Datum::Int(i), None) => pool.big(i),
            (Datum::Text(text), Some(salt)) => pool.text(&format!("{salt} {text}")),
            (Datum::Text(text), None) => pool.text(text),
            (other, _) => panic!("no such value in these histories: {other:?}"),
        }
    }

    fn meta(&mut self) {
        let old = self.history.meta();
        let default = old.initial.default.map(|v| self.value(v));
        let given = old.initial.given.iter().map(|&(k, v)| (self.keys[k.index()], self.value(v)));
        let given = given.collect();
        let info = old.info.iter().map(|&(name, value)| {
            let name = self.history.pool().as_text(name).unwrap_or_default();
            (self.builder.pool().text(name), value)
        });
        let info: Vec<(Value, Value)> = info.collect();
        let info = info.into_iter().map(|(name, value)| (name, self.value(value))).collect();
        let meta = self.builder.meta();
        meta.initial = InitialState { default, given };
        meta.clock = self.guise.clock;
        meta.complete = old.complete;
        meta.info = info;
    }

    fn orders(&mut self) {
        for (key, versions) in self.history.version_orders() {
            let versions: Vec<Value> = versions.iter().map(|v| self.value(*v)).collect();
            self.builder.version_order(self.keys[key.index()], &versions).unwrap();
        }
    }

    fn interval(&self, interval: Interval) -> Interval {
        let (factor, offset) = self.guise.times;
        let time = |t: Option<i64>| t.map(|t| t * factor + offset);
        Interval { begin: time(interval.begin), end: time(interval.end) }
    }

    fn txn(&mut self, id: TxnId) {
        let txn = self.history.txn(id);
        self.draft.reset(self.sessions[txn.session().index()]);
        self.draft.outcome = txn.outcome();
        self.draft.interval = self.interval(txn.interval());
        self.draft.label = txn.label().map(|label| {
            let name = self.history.pool().as_text(label).unwrap_or_default();
            self.builder.pool().text(name)
        });
        for stmt in txn.stmts() {
            if !self.guise.split {
                self.draft.begin_statement();
            }
            for op in stmt.ops() {
                self.op(op);
            }
            if !self.guise.split {
                self.draft.end_statement();
            }
        }
        self.builder.transaction(&self.draft).unwrap();
    }

    fn op(&mut self, op: Op<'_>) {
        let key = self.keys.get(op.key().index()).copied().unwrap_or(Key::NONE);
        let value = self.value(op.value());
        let effect = op.effect();
        match op.kind() {
            OpKind::Read => self.draft.read(key, value),
            OpKind::Write => self.draft.write(key, value),
            OpKind::Append => self.draft.append(key, value),
            OpKind::ListRead => {
                let elements: Option<Vec<Value>> =
                    op.elements().map(|list| list.iter().map(|v| self.value(*v)).collect());
                self.draft.list_read(key, elements.as_deref()).unwrap();
            }
            OpKind::Cas => {
                let expected = self.value(op.expected().unwrap_or(Value::UNOBSERVED));
                self.draft.cas(key, expected, value, effect);
            }
            OpKind::InsertIfAbsent => self.draft.insert_if_absent(key, value, effect),
            OpKind::Delete => self.draft.delete(key, effect),
            OpKind::Savepoint => self.draft.savepoint(value),
            OpKind::RollbackTo => assert!(self.draft.rollback_to(value)),
            OpKind::Release => assert!(self.draft.release(value)),
            OpKind::PredicateRead => {
                let rows: Option<Vec<(Key, Value)>> = op.result_set().map(|rows| {
                    rows.map(|(key, value)| (self.keys[key.index()], self.value(value))).collect()
                });
                self.draft.predicate_read(value, rows.as_deref()).unwrap();
            }
        }
        if effect != Effect::Done {
            self.draft.set_effect(effect);
        }
    }

    /// Adds what comes so far from the end.
    fn add(&mut self, from_end: usize) {
        for (i, added) in self.guise.added.iter().enumerate() {
            if added.from_end != from_end {
                continue;
            }
            let pool = self.builder.pool();
            let (session, value) = (pool.text(&format!("added{i}")), pool.text(&format!("new{i}")));
            let session = pool.session(session);
            let key = pool.text_key(&format!("added{i}"));
            self.draft.reset(added.session.map_or(session, |s| self.sessions[s.index()]));
            self.draft.outcome = added.outcome;
            self.draft.interval = self.interval(added.interval);
            let list = added.key.is_some_and(|key| is_list(self.history, key));
            let key = added.key.map_or(key, |key| self.keys[key.index()]);
            if list {
                self.draft.append(key, value);
            } else {
                self.draft.write(key, value);
            }
            self.builder.transaction(&self.draft).unwrap();
        }
    }
}

/// Another name for an integer, one for each: a text or an integer, in no order of any sense.
fn rename(pool: &mut Pool, i: i128, salt: i64) -> Value {
    if (i + i128::from(salt)) % 2 == 0 {
        pool.text(&format!("{}", (i * 7919) ^ i128::from(salt)))
    } else {
        pool.big(i128::from(salt) - i * 3)
    }
}

/// Whether a key holds a list.
pub fn is_list(history: &History, key: Key) -> bool {
    let list = |op: &Op<'_>| matches!(op.kind(), OpKind::Append | OpKind::ListRead);
    history.ops().any(|op| op.key() == key && list(&op))
}
