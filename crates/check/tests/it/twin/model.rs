//! What each transaction wrote and saw, with the rules inside a transaction already applied.

use isolde_history::{Datum, Effect, History, Key, Op, OpKind, Outcome, Txn, Value};

use super::predicates::{Missing, Predicates, may_write};

/// What is under a key.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Content {
    /// A register; a deleted or missing one holds [`Value::ABSENT`].
    Value(Value),
    /// A list.
    List(Vec<Value>),
}

/// An external read: one that no own write answers.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) key: usize,
    /// The number of its statement in the transaction.
    pub(crate) statement: usize,
    /// The number of its operation in the transaction.
    pub(crate) position: usize,
    /// The value, or the foreign elements of the list.
    pub(crate) seen: Content,
    /// How often the transaction had tried to write the key before.
    pub(crate) own_writes_before: usize,
    /// How often each element of the whole list, own ones included, is in it.
    pub(crate) whole_list: Vec<Value>,
    /// Whether it is a row that a predicate read did not return.
    pub(crate) missing: bool,
}

/// A write that was tried, whatever became of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) key: usize,
    pub(crate) value: Value,
    pub(crate) position: usize,
}

/// One transaction.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) session: u32,
    pub(crate) outcome: Outcome,
    pub(crate) begin: Option<i64>,
    pub(crate) end: Option<i64>,
    pub(crate) reads: Vec<Read>,
    /// What it leaves behind under each key that it wrote.
    pub(crate) leaves: Vec<(usize, Content)>,
    pub(crate) attempts: Vec<Attempt>,
    /// Where the first write of each key stands that was not rolled back.
    pub(crate) first_writes: Vec<(usize, usize)>,
    /// Whether it breaks a rule inside a transaction, whoever else wrote what.
    pub(crate) broken: bool,
    /// Whether a predicate read leaves open what it saw of some key.
    pub(crate) undecided: bool,
}

impl Facts {
    /// What it leaves under the key, if it wrote it.
    pub(crate) fn left(&self, key: usize) -> Option<&Content> {
        self.leaves.iter().find(|(k, _)| *k == key).map(|(_, c)| c)
    }
}

/// The whole history.
pub(crate) struct Model {
    pub(crate) txns: Vec<Facts>,
    pub(crate) initial: Vec<Content>,
    pub(crate) complete: bool,
    /// The version orders that the recorder gave.
    pub(crate) orders: Vec<(usize, Vec<Value>)>,
}

/// The operations that may have had their effect or not: the client does not know.
pub(crate) fn unsure_ops(history: &History) -> u32 {
    history.ops().filter(is_unsure).count() as u32
}

fn is_unsure(op: &Op<'_>) -> bool {
    op.effect() == Effect::Unknown && op.kind().writes()
}

impl Model {
    /// Reads the history; bit `i` of `done` says whether the `i`-th unsure operation was done.
    pub(crate) fn new(history: &History, done: u32) -> Model {
        let lists = list_keys(history);
        let predicates = Predicates::new(history, &lists);
        let mut unsure = 0;
        let txns = history.txns().map(|txn| {
            let mut walk = Walk::new(txn, &lists, &predicates);
            for (number, stmt) in txn.stmts().enumerate() {
                for op in stmt.ops() {
                    let mut effect = op.effect();
                    if is_unsure(&op) {
                        let was_done = done >> unsure & 1 == 1;
                        effect = if was_done { Effect::Done } else { Effect::Failed };
                        unsure += 1;
                    }
                    walk.step(op, effect, number);
                }
            }
            walk.finish()
        });
        Model {
            txns: txns.collect(),
            initial: (0..lists.len()).map(|k| initial(history, k, lists[k])).collect(),
            complete: history.meta().complete,
            orders: history.version_orders().iter().map(|(k, v)| (k.index(), v.clone())).collect(),
        }
    }
}

/// The keys that are lists: those that something was appended to or that were read as one.
fn list_keys(history: &History) -> Vec<bool> {
    let mut lists = vec![false; history.key_count()];
    for op in history.ops().filter(|o| matches!(o.kind(), OpKind::Append | OpKind::ListRead)) {
        lists[op.key().index()] = true;
    }
    lists
}

/// A key without a first version (`initial none`) is taken as absent: "absent matches the initial
/// state", and no other value does in either case.
fn initial(history: &History, key: usize, list: bool) -> Content {
    let value = history.meta().initial.of(Key(key as u32)).unwrap_or(Value::ABSENT);
    match (list, history.pool().datum(value)) {
        (true, Datum::List(elements)) => Content::List(elements.iter().collect()),
        (true, _) => Content::List(Vec::new()),
        (false, _) => Content::Value(value),
    }
}

/// The way through one transaction.
struct Walk<'a> {
    facts: Facts,
    lists: &'a [bool],
    predicates: &'a Predicates,
    /// The keys that it wrote so far, or may have written.
    touched: Vec<usize>,
    /// The writes that no rollback has undone so far.
    live: Vec<(usize, Value, usize)>,
    /// The savepoints with the number of live writes at each.
    savepoints: Vec<(Value, usize)>,
    position: usize,
}

impl<'a> Walk<'a> {
    fn new(txn: Txn<'_>, lists: &'a [bool], predicates: &'a Predicates) -> Walk<'a> {
        let interval = txn.interval();
        let outcome = txn.outcome();
        // "A proved-committed one has an interval without an end."
        let end = interval.end.filter(|_| outcome == Outcome::Committed);
        let facts = Facts {
            session: txn.session().0,
            outcome,
            begin: interval.begin,
            end,
            reads: Vec::new(),
            leaves: Vec::new(),
            attempts: Vec::new(),
            first_writes: Vec::new(),
            broken: false,
            undecided: false,
        };
        Walk {
            facts,
            lists,
            predicates,
            touched: Vec::new(),
            live: Vec::new(),
            savepoints: Vec::new(),
            position: 0,
        }
    }

    fn step(&mut self, op: Op<'_>, effect: Effect, statement: usize) {
        let key = op.key().index();
        let done = effect == Effect::Done;
        match op.kind() {
            OpKind::Read if done => self.observe(key, op.value(), statement),
            OpKind::ListRead if done => {
                if let Some(elements) = op.elements() {
                    self.observe_list(key, elements, statement);
                }
            }
            OpKind::Write | OpKind::Append if done => self.write(op.kind(), key, op.value()),
            OpKind::Delete if done => self.write(op.kind(), key, Value::ABSENT),
            // Done, a compare-and-set is a read of what it expected and a write of the new value.
            OpKind::Cas if done => {
                self.observe(key, op.expected().unwrap_or(Value::UNOBSERVED), statement);
                self.write(op.kind(), key, op.value());
            }
            // Done, an insert is a read of absence and a write.
            OpKind::InsertIfAbsent if done => {
                self.observe(key, Value::ABSENT, statement);
                self.write(op.kind(), key, op.value());
            }
            OpKind::PredicateRead if done => self.observe_rows(op, statement),
            OpKind::Savepoint => self.savepoints.push((op.value(), self.live.len())),
            OpKind::RollbackTo => self.roll_back(op.value()),
            OpKind::Release => {
                let at = self.savepoints.iter().rposition(|s| s.0 == op.value());
                self.savepoints.truncate(at.unwrap_or(self.savepoints.len()));
            }
            // Failed ones saw some other value, nobody knows which, so they give no edge and prove
            // nothing.
            _ => {}
        }
        if may_write(&op) {
            self.touched.push(key);
        }
        self.position += 1;
    }

    fn roll_back(&mut self, name: Value) {
        if let Some(at) = self.savepoints.iter().rposition(|s| s.0 == name) {
            self.savepoints.truncate(at + 1);
            self.live.truncate(self.savepoints[at].1);
        }
    }

    fn write(&mut self, kind: OpKind, key: usize, value: Value) {
        let append = kind == OpKind::Append;
        assert!(append == self.lists[key], "a key is either a list or a register");
        self.live.push((key, value, self.position));
        self.facts.attempts.push(Attempt { key, value, position: self.position });
    }

    fn own(&self, key: usize) -> Vec<Value> {
        self.live.iter().filter(|(k, ..)| *k == key).map(|(_, v, _)| *v).collect()
    }

    /// "A read after an own write of the key returns the last own write."
    fn observe(&mut self, key: usize, value: Value, statement: usize) {
        if value == Value::UNOBSERVED {
            return;
        }
        if self.lists[key] {
            assert!(value == Value::ABSENT, "a list is read as a list");
            self.observe_list(key, &[], statement);
            return;
        }
        match self.own(key).last() {
            Some(own) => self.facts.broken |= *own != value,
            None => self.external(key, Content::Value(value), statement, Vec::new()),
        }
    }

    /// A list shows the own elements, all of them, at its end; the rest is an external read.
    fn observe_list(&mut self, key: usize, elements: &[Value], statement: usize) {
        match elements.strip_suffix(self.own(key).as_slice()) {
            None => self.facts.broken = true,
            Some(foreign) => {
                let seen = Content::List(foreign.to_vec());
                self.external(key, seen, statement, elements.to_vec());
            }
        }
    }

    /// The rows of a predicate read, and the keys that are known to have been absent. What the
    /// reader wrote itself may be missing because it does not match.
    fn observe_rows(&mut self, op: Op<'_>, statement: usize) {
        let Some(rows) = op.result_set() else { return };
        let rows: Vec<(Key, Value)> = rows.collect();
        for (key, value) in &rows {
            self.observe(key.index(), *value, statement);
        }
        for key in (0..self.lists.len()).filter(|k| rows.iter().all(|(r, _)| r.index() != *k)) {
            match self.predicates.missing(op.value(), key) {
                Missing::Nothing => {}
                Missing::Absent if !self.touched.contains(&key) => {
                    let before = self.facts.reads.len();
                    self.observe(key, Value::ABSENT, statement);
                    self.facts.reads[before..].iter_mut().for_each(|read| read.missing = true);
                }
                _ => self.facts.undecided = true,
            }
        }
    }

    fn external(&mut self, key: usize, seen: Content, statement: usize, whole_list: Vec<Value>) {
        let own_writes_before = self.facts.attempts.iter().filter(|a| a.key == key).count();
        let position = self.position;
        let (position, missing) = (position, false);
        let read = Read { key, statement, position, seen, own_writes_before, whole_list, missing };
        self.facts.reads.push(read);
    }

    fn finish(mut self) -> Facts {
        for key in 0..self.lists.len() {
            let own = self.own(key);
            let Some(last) = own.last() else { continue };
            let content = if self.lists[key] { Content::List(own) } else { Content::Value(*last) };
            self.facts.leaves.push((key, content));
            let first = self.live.iter().find(|(k, ..)| *k == key).map(|(.., at)| (key, *at));
            self.facts.first_writes.extend(first);
        }
        self.facts
    }
}
