//! Read committed by snapshots: every statement has a snapshot of its own.
//!
//! - A plain read returns the newest version that the snapshot of its statement shows.
//! - A locking read, and a write that looks at what it replaces, may have waited for another writer and then
//!   sees a newer version: any from the snapshot's to the newest that was committed when it was answered.
//!
//! A snapshot does not list the transaction that asks for it, even if that has a number already: it never shows
//! that transaction.
//!
//! Which of two versions is the newer one snapshots do not say in general: a writer that waited for another one
//! replaces a version that its own snapshot does not show. One thing is certain: a statement that writes a row
//! replaces every version that its snapshot shows. So a version is certainly older than another one if the
//! snapshot of a statement that wrote the other one shows it. Nothing else is used.
//!
//! A locking read that found no row says little if the row was ever deleted: the transaction that it waited for may have
//! deleted the row and put another one in its place. PostgreSQL does not look for that one.

use isolde_history::{
    Effect, History, LockMode, Op, OpId, OpKind, Outcome, Txn, TxnId, Value, names,
};
use isolde_spec::{Anomaly, Axiom};

use super::chain::{Named, SnapshotRow};
use crate::keys::accesses::{ReadFact, WriteFact};
use crate::keys::findings::{Doubt, LocalFinding};
use crate::keys::key_facts::{KeyFacts, what_it_read};
use crate::keys::origin::Choices;
use crate::keys::outcomes;
use crate::keys::sorted_keys::SortedKeys;
use crate::keys::standing::Standing;
use crate::timestamps::finding::{TimedFinding, TimedFindings};
use crate::timestamps::ticks::Tick;

/// Of a value that more writes have, no single one is looked for.
const MANY: usize = 64;

/// When an operation looked at the database, as far as it is known.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    /// The snapshot of its statement.
    snapshot: Tick,
    /// When its statement was answered.
    answered: Option<i64>,
    /// Whether it may see what was committed after its snapshot.
    locks: bool,
}

/// A snapshot that shows nothing.
const NOTHING: Tick = Tick(Tick::NEVER.0 + 1);

/// A question about read committed by snapshots.
pub(crate) struct StatementCase<'c, 'h> {
    pub(crate) keys: &'c SortedKeys<'h>,
    pub(crate) standings: Vec<Standing>,
    chain: &'c SnapshotRow,
    looks: Vec<Look>,
    /// When COMMIT was sent, or a time before that, where one is known.
    commit_sent: Vec<Option<i64>>,
    complete: bool,
    skew: i64,
}

/// The snapshots of statements of transactions that may have committed, each once.
pub(crate) fn named(history: &History) -> Vec<Named> {
    let mut named: Vec<Named> = Vec::new();
    let mut shown = history.stmt_attrs(names::SNAPSHOT).peekable();
    for txn in history.txns() {
        let mut own = None;
        for stmt in txn.stmts() {
            while let Some((_, value)) = shown.next_if(|(id, _)| *id <= stmt.id()) {
                if txn.outcome() != Outcome::Aborted {
                    let (restart, number) = *own.get_or_insert_with(|| numbers(&txn));
                    named.push((restart, value, number));
                }
            }
        }
    }
    named.sort_unstable();
    named.dedup();
    named
}

/// How often the server had been started again before a transaction, and its number.
fn numbers(txn: &Txn<'_>) -> (i64, Option<i64>) {
    (txn.restart(), txn.xid())
}

impl<'c, 'h> StatementCase<'c, 'h> {
    pub(crate) fn new(
        keys: &'c SortedKeys<'h>,
        chain: &'c SnapshotRow,
        skew: i64,
        complete: bool,
    ) -> StatementCase<'c, 'h> {
        let history = keys.history;
        let mut commit_sent: Vec<Option<i64>> =
            history.txns().map(|txn| txn.interval().begin).collect();
        for (txn, sent) in history.txn_ints(names::END_SENT) {
            commit_sent[txn.index()] = Some(sent);
        }
        let looks = looks(history, chain);
        // Reads of the same that follow each other are one fact.
        let locks = |op: OpId| looks[op.0 as usize].locks;
        let says =
            |read: &ReadFact| read.value != Value::ABSENT || !locks(read.op) || !locks(read.last);
        let standings = outcomes::prove_by(keys, &Choices::new(), says).standings;
        StatementCase { keys, standings, chain, looks, commit_sent, complete, skew }
    }

    fn look(&self, op: OpId) -> Look {
        self.looks[op.0 as usize]
    }

    fn commit(&self, txn: TxnId) -> Tick {
        self.chain.commits[txn.index()]
    }
}

/// When each operation looked.
fn looks(history: &History, chain: &SnapshotRow) -> Vec<Look> {
    let mut looks = Vec::with_capacity(history.op_count());
    let mut shown = history.stmt_attrs(names::SNAPSHOT).peekable();
    let mut locks = history.stmt_attrs(names::LOCK).peekable();
    let plain = |mode: Value| history.pool().as_text(mode) == Some(LockMode::None.name());
    for txn in history.txns() {
        let mut own = None;
        for stmt in txn.stmts() {
            let mut snapshot = Tick::NEVER;
            while let Some((id, value)) = shown.next_if(|(id, _)| *id <= stmt.id()) {
                let (restart, number) = *own.get_or_insert_with(|| numbers(&txn));
                if id == stmt.id() {
                    snapshot = chain.place((restart, value, number));
                }
            }
            let mut locking = false;
            while let Some((id, mode)) = locks.next_if(|(id, _)| *id <= stmt.id()) {
                locking = id == stmt.id() && !plain(mode);
            }
            let answered = stmt.interval().end;
            let wrote = stmt.ops().any(|op| op.kind().writes());
            let locks = locking || wrote;
            if snapshot == Tick::NEVER && locks {
                snapshot = NOTHING;
            }
            let look = Look { snapshot, answered, locks };
            looks.extend(stmt.ops().map(|_| look));
        }
    }
    looks
}

/// A version of a key.
#[derive(Clone, Copy)]
struct StatementVersion {
    commit: Tick,
    /// Up to where the statements that wrote it saw, and so replaced, versions.
    saw: Tick,
    /// An index of the key's writes.
    write: u32,
}

/// A key under examination, in memory that the next key uses again.
#[derive(Default)]
pub(crate) struct StatementKey {
    facts: KeyFacts,
    /// In the order of commits.
    versions: Vec<StatementVersion>,
    /// Of the first so many versions and one, the one whose statements saw furthest.
    furthest: Vec<u32>,
    /// How many elements the first so many versions of a list have.
    elements: Vec<usize>,
    /// Whether the row may have been deleted at some time.
    deleted: bool,
}

/// Why a version cannot be what was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrong {
    /// It was not committed when it was read.
    Uncommitted,
    /// This version, an index of versions, is shown, and newer.
    Overwritten(usize),
}

impl StatementKey {
    /// Finds everything that is wrong with a key.
    pub(crate) fn judge(
        &mut self,
        case: &StatementCase<'_, '_>,
        key: usize,
        out: &mut TimedFindings,
    ) {
        self.facts.missing_binds = true;
        self.facts.load(case.keys, &case.standings, key);
        let deletes = |write: &WriteFact| {
            let done = write.standing != Standing::RolledBack && !write.undone;
            done && write.value == Value::ABSENT
        };
        self.deleted = self.facts.writes.iter().any(deletes);
        self.inside_transactions(case, out);
        if self.has_doubts(out) {
            return;
        }
        self.load_versions(case);
        for touch in case.keys.index.of(key) {
            if case.standings[touch.txn.index()].counts() {
                let op = case.keys.history.op(touch.op);
                self.operation(case, touch.txn, &op, out);
            }
        }
    }

    /// INT. Two reads of one transaction may differ here.
    fn inside_transactions(&self, case: &StatementCase<'_, '_>, out: &mut TimedFindings) {
        let counts = |breach: &&LocalFinding| breach.anomaly != Anomaly::NonRepeatableReads;
        for breach in self.facts.breaches.iter().filter(counts) {
            let [first, ..] = breach.ops() else { continue };
            let txn = case.keys.history.txn_of(*first);
            if case.standings[txn.index()].counts() {
                let finding = TimedFinding::new(breach.anomaly, Axiom::Int, txn);
                let (op, other) = (breach.ops().last().copied(), Some(*first));
                let other = other.filter(|other| Some(*other) != op);
                let key = Some(self.facts.key());
                out.findings.push(TimedFinding { op, other, key, ..finding });
            }
        }
        for &(own, op) in &self.facts.refused_own {
            let txn = case.keys.history.txn_of(op);
            if case.standings[txn.index()].counts() {
                let finding = TimedFinding::new(Anomaly::NotMyOwnWrite, Axiom::Int, txn);
                let (op, other, key) = (Some(op), Some(own), Some(self.facts.key()));
                out.findings.push(TimedFinding { op, other, key, ..finding });
            }
        }
    }

    fn has_doubts(&self, out: &mut TimedFindings) -> bool {
        let doubts = self.facts.doubts();
        doubts.into_iter().flatten().for_each(|doubt| out.doubt(doubt));
        doubts.iter().any(Option::is_some)
    }

    fn load_versions(&mut self, case: &StatementCase<'_, '_>) {
        self.versions.clear();
        self.furthest.clear();
        self.elements.clear();
        let writes = &self.facts.writes;
        for (i, write) in writes.iter().enumerate().filter(|(_, write)| write.is_version()) {
            let own = writes[..=i].iter().rev().take_while(|w| w.txn == write.txn);
            let own = own.filter(|w| !w.undone).map(|w| case.look(w.op).snapshot);
            let saw = own.max().unwrap_or(Tick::NEVER);
            let commit = case.commit(write.txn);
            // Of unknown outcome and without a number: which snapshots show it nobody knows.
            if commit == Tick::NEVER {
                continue;
            }
            self.versions.push(StatementVersion { commit, saw, write: i as u32 });
        }
        self.versions.sort_by_key(|version| version.commit);
        let (mut furthest, mut elements) = (0, 0);
        for (i, version) in self.versions.iter().enumerate() {
            if version.saw > self.versions[furthest].saw {
                furthest = i;
            }
            self.furthest.push(furthest as u32);
            if self.facts.is_list {
                elements += self.appended(version).count();
                self.elements.push(elements);
            }
        }
    }

    /// The elements that a version of a list added.
    fn appended(&self, version: &StatementVersion) -> impl Iterator<Item = &WriteFact> {
        let writes = &self.facts.writes;
        let txn = writes[version.write as usize].txn;
        let own = writes[..=version.write as usize].iter().rev();
        own.take_while(move |w| w.txn == txn).filter(|w| !w.undone)
    }

    fn operation(
        &self,
        case: &StatementCase<'_, '_>,
        txn: TxnId,
        op: &Op<'_>,
        out: &mut TimedFindings,
    ) {
        let look = case.look(op.id());
        if look.snapshot == Tick::NEVER {
            return;
        }
        if op.kind() == OpKind::ListRead {
            return self.list(case, txn, op, look, out);
        }
        if self.wrote_before(txn, op.id()) {
            return;
        }
        let read = (op.effect() == Effect::Done).then(|| what_it_read(op)).flatten();
        let Some(value) = read.filter(|value| *value != Value::UNOBSERVED) else { return };
        if value == Value::ABSENT && look.locks && self.deleted {
            // It may have been deleted while the statement waited.
            return;
        }
        self.value(case, txn, op.id(), (value, look), out);
    }

    /// Whether a transaction had written the key before; then it sees that.
    fn wrote_before(&self, txn: TxnId, op: OpId) -> bool {
        let writes = &self.facts.writes;
        // Writes are in the order of their operations, and those of a transaction follow each other.
        let at = writes.partition_point(|write| write.op < op);
        at.checked_sub(1).is_some_and(|before| writes[before].txn == txn)
    }

    /// How many versions a snapshot shows.
    fn count(&self, snapshot: Tick) -> usize {
        self.versions.partition_point(|version| version.commit <= snapshot)
    }

    /// A version that a snapshot shows and that is certainly newer than one that was committed then.
    fn newer(&self, than: Tick, snapshot: Tick) -> Option<usize> {
        let last = self.count(snapshot).checked_sub(1)?;
        let furthest = self.furthest[last] as usize;
        (self.versions[furthest].saw >= than).then_some(furthest)
    }

    /// Why a write cannot be what was read, if it cannot.
    fn wrong(&self, case: &StatementCase<'_, '_>, write: &WriteFact, look: Look) -> Option<Wrong> {
        let commit = case.commit(write.txn);
        let late = match look.locks {
            false => commit != Tick::NEVER && commit > look.snapshot,
            // Its COMMIT was sent when the reader already had its answer.
            true => {
                let sent = case.commit_sent[write.txn.index()];
                let known = sent.zip(look.answered);
                known.is_some_and(|(sent, answered)| sent > answered.saturating_add(case.skew))
            }
        };
        if late {
            return Some(Wrong::Uncommitted);
        }
        commit.known().and_then(|commit| self.newer(commit, look.snapshot)).map(Wrong::Overwritten)
    }

    fn value(
        &self,
        case: &StatementCase<'_, '_>,
        txn: TxnId,
        op: OpId,
        (value, look): (Value, Look),
        out: &mut TimedFindings,
    ) {
        let facts = &self.facts;
        let writes = || facts.values.chain(&facts.writes, value).map(|w| &facts.writes[w as usize]);
        let mut wrong: Option<(Wrong, Option<OpId>)> = None;
        if value == case.keys.first_value(facts.key) {
            match self.count(look.snapshot).checked_sub(1) {
                None => return,
                Some(last) => {
                    wrong = Some((Wrong::Overwritten(self.furthest[last] as usize), None));
                }
            }
        }
        let visible = writes().filter(|write| write.may_be_seen(txn));
        for (i, write) in visible.enumerate() {
            match self.wrong(case, write, look) {
                Some(why) => wrong = wrong.or(Some((why, Some(write.op)))),
                None => return,
            }
            if i >= MANY {
                return out.doubt(Doubt::AmbiguousRead(op));
            }
        }
        if !case.complete {
            return out.doubt(Doubt::UnknownWriter(op));
        }
        let (anomaly, other, newer) = match wrong {
            Some((Wrong::Uncommitted, other)) => (Anomaly::UncommittedVersionRead, other, None),
            Some((Wrong::Overwritten(by), other)) => (Anomaly::StaleRead, other, Some(by)),
            None => match writes().find(|write| write.txn != txn) {
                Some(write) if write.standing == Standing::RolledBack || write.undone => {
                    (Anomaly::AbortedRead, Some(write.op), None)
                }
                Some(write) => (Anomaly::IntermediateRead, Some(write.op), None),
                // Its own write comes later: after an own write, this is not looked at.
                None => match writes().next() {
                    Some(write) => (Anomaly::FutureRead, Some(write.op), None),
                    None => (Anomaly::ThinAirRead, None, None),
                },
            },
        };
        self.find(anomaly, (txn, op), other, newer, out);
    }

    fn find(
        &self,
        anomaly: Anomaly,
        (txn, op): (TxnId, OpId),
        other: Option<OpId>,
        newer: Option<usize>,
        out: &mut TimedFindings,
    ) {
        let write = newer.map(|at| &self.facts.writes[self.versions[at].write as usize]);
        out.findings.push(TimedFinding {
            op: Some(op),
            other,
            opponent: write.map(|write| write.txn),
            key: Some(self.facts.key()),
            ..TimedFinding::new(anomaly, Axiom::Ext, txn)
        });
    }

    /// A list has every element that its snapshot shows, and a plain read of it has no other but those that the
    /// transaction itself appended.
    fn list(
        &self,
        case: &StatementCase<'_, '_>,
        txn: TxnId,
        op: &Op<'_>,
        look: Look,
        out: &mut TimedFindings,
    ) {
        let Some(list) = op.elements() else { return };
        let facts = &self.facts;
        let mut shown = 0;
        let mut had = hashbrown::HashSet::with_capacity(list.len());
        for element in list {
            let mut writes = facts.values.chain(&facts.writes, *element);
            let write = writes.next().map(|w| &facts.writes[w as usize]);
            let Some(write) = write else {
                if case.complete {
                    self.find(Anomaly::ThinAirRead, (txn, op.id()), None, None, out);
                } else {
                    out.doubt(Doubt::UnknownWriter(op.id()));
                }
                return;
            };
            if writes.next().is_some() {
                return out.doubt(Doubt::EqualElements(op.id()));
            }
            if !had.insert(*element) {
                let anomaly = Anomaly::DuplicateElements;
                return self.find(anomaly, (txn, op.id()), Some(write.op), None, out);
            }
            if write.txn == txn {
                // What it had appended before, and perhaps taken back, is a matter of INT.
                if write.op > op.id() {
                    let anomaly = Anomaly::FutureRead;
                    return self.find(anomaly, (txn, op.id()), Some(write.op), None, out);
                }
                continue;
            }
            if write.standing == Standing::RolledBack || write.undone {
                return self.find(Anomaly::AbortedRead, (txn, op.id()), Some(write.op), None, out);
            }
            let late = self.wrong(case, write, look) == Some(Wrong::Uncommitted);
            if late {
                let anomaly = Anomaly::UncommittedVersionRead;
                return self.find(anomaly, (txn, op.id()), Some(write.op), None, out);
            }
            let commit = case.commit(write.txn).known();
            shown += usize::from(commit.is_some_and(|commit| commit <= look.snapshot));
        }
        let Some(last) = self.count(look.snapshot).checked_sub(1) else { return };
        if shown < self.elements[last] {
            let missed = self.missed(last, list);
            let source = list.last().and_then(|value| facts.values.first(&facts.writes, *value));
            let source = source.map(|write| facts.writes[write as usize].op);
            self.find(Anomaly::StaleRead, (txn, op.id()), source, missed, out);
        }
    }

    /// The first version up to the last that is shown of which an element is not in a list.
    fn missed(&self, last: usize, list: &[Value]) -> Option<usize> {
        let has = hashbrown::HashSet::<Value>::from_iter(list.iter().copied());
        let lacks = |version: &StatementVersion| {
            self.appended(version).any(|write| !has.contains(&write.value))
        };
        self.versions[..=last].iter().position(lacks)
    }
}
