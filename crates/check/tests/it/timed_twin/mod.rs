//! The brute-force twin of promises by timestamps: the axioms taken literally, for tiny histories.
//!
//! Every transaction is run once more against the versions that its place shows. Transactions of unknown
//! outcome are left out, or commit in every gap between two timestamps: a promise is kept if some choice
//! breaks no rule.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part of the twin")]

mod content;
pub mod random;

use std::collections::{BTreeMap, BTreeSet};

use isolde_history::{
    Effect, History, InitialState, Op, OpId, OpKind, Outcome, Timestamp, TxnId, Value, info,
};
use isolde_spec::{Level, Promise};

pub use content::seen_before_writing;
use content::{Content, contents_seen, fits, observed, write, written_value};

/// A time: timestamps are far apart, so that commits fit between them.
pub type Time = i128;

/// What the twin says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Twin {
    /// Whether the promise was kept; `None` where the order of equal timestamps is open, or a
    /// transaction is missing.
    pub holds: Option<bool>,
    /// What is broken if all transactions of unknown outcome are left out.
    pub broken: BTreeSet<Broken>,
    /// Then, too: what a wrong read of a register may be called, by its operation.
    pub names: BTreeMap<usize, BTreeSet<&'static str>>,
}

/// A broken rule. Transactions and operations by their positions.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Broken {
    /// The timestamps of a transaction.
    Stamps(usize),
    /// Two writers of a key with one commit timestamp: the later one by position.
    Tie(usize),
    /// A transaction does not see what its session did before.
    Session(usize),
    /// A read, or an operation that was refused, does not fit.
    Read(usize),
    /// The first writer of a conflict, and the first of its opponents.
    Conflict(usize, usize, u32),
}

struct Txn<'h> {
    session: usize,
    outcome: Outcome,
    start: Option<Time>,
    commit: Option<Time>,
    ops: Vec<Op<'h>>,
    wrote: bool,
}

/// What a predicate read says of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Said {
    /// It saw this, if only that there is nothing.
    Saw(Value),
    /// Nothing.
    Nothing,
    /// Perhaps something.
    Undecided,
}

struct Case<'h> {
    history: &'h History,
    promise: Promise,
    txns: Vec<Txn<'h>>,
    serial: bool,
    reads_at_commit: bool,
    complete: bool,
}

const STEP: Time = 1 << 20;

fn time(stamp: Timestamp) -> Time {
    (Time::from(stamp.physical) * 1000 + Time::from(stamp.logical)) * STEP
}

/// What the axioms say of a history.
pub fn decide(history: &History, promise: Promise) -> Twin {
    let fact = |name| history.info(name).and_then(|value| history.pool().as_text(value));
    let txns = history.txns().map(|txn| {
        let ops: Vec<Op<'_>> = txn.ops().collect();
        let wrote = |op: &Op<'_>| op.kind().writes() && op.effect() == Effect::Done && !op.undone();
        Txn {
            session: txn.session().index(),
            outcome: txn.outcome(),
            start: txn.start_ts().map(time),
            commit: txn.commit_ts().map(time),
            wrote: ops.iter().any(wrote),
            ops,
        }
    });
    let case = Case {
        history,
        promise,
        txns: txns.collect(),
        serial: promise.level == Level::Serializable,
        reads_at_commit: fact(info::READS_AT) == Some(info::AT_COMMIT),
        complete: history.meta().complete && !has_gap(history),
    };
    case.decide()
}

/// Whether a transaction is missing between two of a session, by their sequence numbers.
fn has_gap(history: &History) -> bool {
    let sessions = 0..history.session_count() as u32;
    sessions.into_iter().any(|session| {
        let of = |(txn, _): &(TxnId, i64)| history.txn(*txn).session().0 == session;
        let numbers: Vec<i64> = history.seqs().filter(of).map(|(_, number)| number).collect();
        numbers.windows(2).any(|pair| pair[1] != pair[0] + 1)
    })
}

/// When each transaction committed; `None` if it did not.
type Commits = Vec<Option<Option<Time>>>;

impl Case<'_> {
    fn decide(&self) -> Twin {
        let unknown: Vec<usize> = (0..self.txns.len())
            .filter(|t| self.txns[*t].outcome == Outcome::Unknown && self.txns[*t].wrote)
            .collect();
        let certain: Commits = self
            .txns
            .iter()
            .map(|txn| (txn.outcome == Outcome::Committed).then_some(txn.commit))
            .collect();
        let (broken, _) = self.broken(&certain);
        let undecided = self.scans().any(|scan| {
            (0..self.history.key_count() as u32).any(|key| self.said(&scan, key) == Said::Undecided)
        });
        let reads = broken.iter().filter_map(|broken| match broken {
            Broken::Read(op) => Some((*op, self.names(&certain, *op))),
            _ => None,
        });
        let names = reads.collect();
        let mut best = Some(false);
        let mut all = vec![certain];
        for (nth, txn) in unknown.iter().enumerate() {
            let points = self.points(*txn, nth, unknown.len());
            let more = all.iter().flat_map(|commits| {
                points.iter().map(|point| {
                    let mut commits = commits.clone();
                    commits[*txn] = Some(Some(*point));
                    commits
                })
            });
            let more: Vec<Commits> = more.collect();
            all.extend(more);
        }
        for commits in all {
            let (broken, open) = self.broken(&commits);
            if broken.is_empty() {
                best = if open || undecided {
                    best.and(None).or(best.filter(|b| *b))
                } else {
                    Some(true)
                };
                if best == Some(true) {
                    break;
                }
            }
        }
        Twin { holds: best, broken, names }
    }

    /// When a transaction of unknown outcome may have committed. Several of them may lie in one gap, in any
    /// order.
    fn points(&self, txn: usize, nth: usize, count: usize) -> Vec<Time> {
        let of = &self.txns[txn];
        if let Some(commit) = of.commit {
            return vec![commit];
        }
        let stamps = self.txns.iter().flat_map(|t| [t.start, t.commit]).flatten();
        let mut gaps: BTreeSet<Time> = stamps.collect();
        gaps.extend(gaps.first().map(|first| first - STEP).or(Some(0)));
        let after = of.start.unwrap_or(Time::MIN);
        let gaps = gaps.into_iter().filter(|gap| *gap >= after);
        // No two of them at the same point.
        gaps.flat_map(|gap| (1..=count as Time).map(move |k| gap + 100 * k + nth as Time + 1))
            .collect()
    }

    /// The predicate reads of transactions that may have committed.
    fn scans(&self) -> impl Iterator<Item = Op<'_>> {
        let txns = self.txns.iter().filter(|txn| txn.outcome != Outcome::Aborted);
        txns.flat_map(|txn| &txn.ops).filter(|op| op.kind() == OpKind::PredicateRead).copied()
    }

    /// What a predicate read says of a key. There is one predicate.
    fn said(&self, scan: &Op<'_>, key: u32) -> Said {
        let rows = |op: &Op<'_>| -> Vec<Value> {
            let rows = op.result_set().into_iter().flatten();
            rows.filter(|(row, _)| row.0 == key).map(|(_, value)| value).collect()
        };
        if let Some(value) = rows(scan).first() {
            return Said::Saw(*value);
        }
        let writes = |op: &&Op<'_>| op.key().0 == key && op.kind().writes();
        let live = self.txns.iter().filter(|txn| txn.outcome != Outcome::Aborted);
        let written = live.flat_map(|txn| &txn.ops).filter(writes);
        let written = written.filter(|op| op.effect() == Effect::Done).map(written_value);
        let initial = match self.initial(key) {
            Content::One(value) => Some(value),
            Content::List(_) => None,
        };
        let values: Vec<Value> =
            written.chain(initial).filter(|value| *value != Value::ABSENT).collect();
        let all = self.txns.iter().flat_map(|txn| &txn.ops);
        let known: Vec<Value> =
            all.filter(|op| op.kind() == OpKind::PredicateRead).flat_map(rows).collect();
        if !values.iter().any(|value| known.contains(value)) {
            return Said::Nothing;
        }
        let reader = self.history.txn_of(scan.id()).index();
        let mut own = self.txns[reader].ops.iter().filter(|op| op.id() < scan.id());
        let own = own.any(|op| writes(&op) && op.effect() == Effect::Done);
        if own || !values.iter().all(|value| known.contains(value)) {
            return Said::Undecided;
        }
        Said::Saw(Value::ABSENT)
    }

    fn commit(&self, commits: &Commits, txn: usize) -> Option<Time> {
        commits[txn].flatten()
    }

    /// Where a transaction stands: the time, and whether it sees what was committed just then.
    fn place(&self, commits: &Commits, txn: usize) -> Option<(Time, bool)> {
        let of = &self.txns[txn];
        let commit = self.commit(commits, txn);
        if !self.serial {
            return of.start.map(|at| (at, true));
        }
        if of.wrote {
            return commit.map(|at| (at, false));
        }
        let at = if self.reads_at_commit { commit.or(of.start) } else { of.start.or(commit) };
        at.map(|at| (at, true))
    }

    fn writes(&self, txn: usize, key: u32) -> bool {
        let of_key = |op: &&Op<'_>| op.key().0 == key && op.kind().writes();
        let mut ops = self.txns[txn].ops.iter().filter(of_key);
        ops.any(|op| op.effect() == Effect::Done && !op.undone())
    }

    /// The rules that are broken if transactions committed then, and whether equal timestamps or missing
    /// transactions leave something open.
    fn broken(&self, commits: &Commits) -> (BTreeSet<Broken>, bool) {
        let mut broken = BTreeSet::new();
        let mut open = false;
        let counted: Vec<usize> = (0..commits.len()).filter(|t| commits[*t].is_some()).collect();
        for &t in &counted {
            let of = &self.txns[t];
            if let (false, Some(start), Some(commit)) =
                (self.serial, of.start, self.commit(commits, t))
                && (start > commit || (start == commit && of.wrote))
            {
                broken.insert(Broken::Stamps(t));
            }
            if self.promise.session_order && self.misses_its_session(commits, &counted, t) {
                broken.insert(Broken::Session(t));
            }
            self.run(commits, &counted, t, &mut broken, &mut open);
        }
        self.writers(commits, &counted, &mut broken, &mut open);
        (broken, open)
    }

    fn misses_its_session(&self, commits: &Commits, counted: &[usize], t: usize) -> bool {
        let Some((at, inclusive)) = self.place(commits, t) else { return false };
        let before =
            counted.iter().filter(|b| **b < t && self.txns[**b].session == self.txns[t].session);
        // One of unknown outcome may have committed later than what its session did next.
        let mut before = before.filter(|b| self.txns[**b].outcome == Outcome::Committed);
        before.any(|b| {
            let bound = if self.serial {
                self.place(commits, *b).map(|place| place.0)
            } else {
                self.commit(commits, *b).or(self.txns[*b].start)
            };
            bound.is_some_and(|bound| if inclusive { bound > at } else { bound >= at })
        })
    }

    /// Conflicts and ties between writers of one key.
    fn writers(
        &self,
        commits: &Commits,
        counted: &[usize],
        broken: &mut BTreeSet<Broken>,
        open: &mut bool,
    ) {
        for key in 0..self.history.key_count() as u32 {
            let writers = counted.iter().copied().filter(|t| self.writes(*t, key));
            let mut writers: Vec<(Time, usize)> =
                writers.filter_map(|t| Some((self.commit(commits, t)?, t))).collect();
            writers.sort_unstable();
            for pair in writers.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
                if self.serial {
                    *open = true;
                } else {
                    broken.insert(Broken::Tie(pair[1].1));
                }
            }
            if self.serial {
                continue;
            }
            let good =
                |(commit, t): &&(Time, usize)| self.txns[*t].start.is_some_and(|s| s < *commit);
            let good: Vec<(Time, usize)> = writers.iter().filter(good).copied().collect();
            for (i, (commit, t)) in good.iter().enumerate() {
                let overlaps =
                    |(_, o): &&(Time, usize)| self.txns[*o].start.is_some_and(|s| s < *commit);
                if let Some((_, other)) = good[i + 1..].iter().find(overlaps) {
                    broken.insert(Broken::Conflict(*t, *other, key));
                }
            }
        }
    }

    /// What the key may hold at the place of a transaction: several contents if timestamps are equal.
    fn contents(
        &self,
        commits: &Commits,
        counted: &[usize],
        t: usize,
        key: u32,
        open: &mut bool,
    ) -> Option<Vec<Content>> {
        let (at, inclusive) = self.place(commits, t)?;
        let others = counted.iter().copied().filter(|o| *o != t && self.writes(*o, key));
        let mut seen: BTreeMap<Time, Vec<usize>> = BTreeMap::new();
        let mut tied: Vec<usize> = Vec::new();
        for other in others {
            let Some(commit) = self.commit(commits, other) else { continue };
            if commit < at || (inclusive && commit == at) {
                seen.entry(commit).or_default().push(other);
            } else if commit == at {
                tied.push(other);
            }
        }
        *open |= !tied.is_empty();
        let mut contents = vec![self.initial(key)];
        for writers in seen.values() {
            contents = self.after_all(&contents, writers, key);
        }
        // A writer may stand on either side of another one with its timestamp.
        let mut either = contents.clone();
        for subset in 1_u32..1 << tied.len() {
            let some = (0..tied.len()).filter(|i| subset & (1 << i) != 0).map(|i| tied[i]);
            either.extend(self.after_all(&contents, &some.collect::<Vec<_>>(), key));
        }
        Some(either)
    }

    /// The contents after writers that come in any order.
    fn after_all(&self, contents: &[Content], writers: &[usize], key: u32) -> Vec<Content> {
        let mut all = Vec::new();
        for order in permutations(writers) {
            for content in contents {
                let mut content = content.clone();
                order.iter().for_each(|w| self.apply(&mut content, *w, key));
                all.push(content);
            }
        }
        all
    }

    fn apply(&self, content: &mut Content, writer: usize, key: u32) {
        let ops = self.txns[writer].ops.iter().filter(|op| op.key().0 == key);
        for op in ops.filter(|op| op.effect() == Effect::Done && !op.undone()) {
            write(content, op);
        }
    }

    fn initial(&self, key: u32) -> Content {
        let InitialState { default, given } = &self.history.meta().initial;
        let value = given.iter().find(|(k, _)| k.0 == key).map(|(_, v)| *v).or(*default);
        let is_list = |op: Op<'_>| matches!(op.kind(), OpKind::Append | OpKind::ListRead);
        let list = self.history.ops().any(|op| op.key().0 == key && is_list(op));
        if list { Content::List(Vec::new()) } else { Content::One(value.unwrap_or(Value::ABSENT)) }
    }

    /// Runs a transaction against what its place shows.
    fn run(
        &self,
        commits: &Commits,
        counted: &[usize],
        t: usize,
        broken: &mut BTreeSet<Broken>,
        open: &mut bool,
    ) {
        let of = &self.txns[t];
        let mut buffer: Vec<(u32, &Op<'_>)> = Vec::new();
        let mut savepoints: Vec<(Value, usize)> = Vec::new();
        let mut wrote: BTreeSet<u32> = BTreeSet::new();
        // What was read of each key since it was last written, if only to be rolled back.
        let mut looked: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
        for op in &of.ops {
            match op.kind() {
                OpKind::Savepoint => savepoints.push((op.value(), buffer.len())),
                OpKind::RollbackTo => {
                    let at = savepoints.iter().rposition(|s| s.0 == op.value()).unwrap();
                    buffer.truncate(savepoints[at].1);
                    savepoints.truncate(at + 1);
                }
                OpKind::Release => {
                    let at = savepoints.iter().rposition(|s| s.0 == op.value()).unwrap();
                    savepoints.truncate(at);
                }
                OpKind::PredicateRead => {
                    for key in 0..self.history.key_count() as u32 {
                        let Said::Saw(value) = self.said(op, key) else { continue };
                        let contents = self.contents(commits, counted, t, key, open);
                        let Some(mut contents) = contents else { continue };
                        for content in &mut contents {
                            let own = buffer.iter().filter(|(k, _)| *k == key);
                            own.for_each(|(_, op)| write(content, op));
                        }
                        let differs = looked.get(&key).is_some_and(|v| *v != [value]);
                        if differs || !contents.contains(&Content::One(value)) {
                            broken.insert(Broken::Read(op.id().index()));
                        }
                        looked.insert(key, vec![value]);
                    }
                }
                _ => {
                    let key = op.key().0;
                    // Equal timestamps matter only to operations that look.
                    let looks =
                        !matches!(op.kind(), OpKind::Write | OpKind::Append | OpKind::Delete);
                    let open = if looks { &mut *open } else { &mut false };
                    let Some(mut contents) = self.contents(commits, counted, t, key, open) else {
                        continue;
                    };
                    for content in &mut contents {
                        buffer
                            .iter()
                            .filter(|(k, _)| *k == key)
                            .for_each(|(_, op)| write(content, op));
                    }
                    let refused = op.effect() == Effect::Failed;
                    // What an operation was refused for after an own write that may be undone is not looked at.
                    let undoes = of.ops.iter().any(|op| op.kind() == OpKind::Savepoint);
                    let judged = !(refused && wrote.contains(&key) && undoes);
                    let own = buffer.iter().any(|(k, _)| *k == key);
                    let differs = looked
                        .get(&key)
                        .is_some_and(|v| contents_seen(op).is_some_and(|seen| seen != *v));
                    let wrong = judged && !contents.iter().any(|content| fits(op, content));
                    if differs || (wrong && (own || !self.may_be_missing(op))) {
                        broken.insert(Broken::Read(op.id().index()));
                    } else if wrong {
                        *open = true;
                    }
                    looked.extend(contents_seen(op).map(|seen| (key, seen)));
                    if op.kind().writes() && !refused {
                        looked.remove(&key);
                        wrote.insert(key);
                        buffer.push((key, op));
                    }
                }
            }
        }
    }

    /// What a wrong read of a register may be called: one name for each write of the value that it returned.
    fn names(&self, commits: &Commits, op: usize) -> BTreeSet<&'static str> {
        let read = self.history.op(OpId(op as u32));
        let reader = self.history.txn_of(read.id()).index();
        let (Some(value), Some((at, inclusive))) = (observed(&read), self.place(commits, reader))
        else {
            return BTreeSet::new();
        };
        let mut names = BTreeSet::new();
        if self.initial(read.key().0) == Content::One(value) {
            names.insert("StaleRead");
        }
        for (t, txn) in self.txns.iter().enumerate() {
            let on_key = |op: &&Op<'_>| op.key() == read.key() && op.kind().writes();
            let done: Vec<&Op<'_>> =
                txn.ops.iter().filter(on_key).filter(|o| o.effect() == Effect::Done).collect();
            let last = done.iter().rfind(|o| !o.undone()).map(|o| o.id());
            for write in done.iter().filter(|o| written_value(o) == value) {
                let committed = self.commit(commits, t);
                names.insert(match () {
                    () if t == reader && write.id() > read.id() => "FutureRead",
                    () if t == reader || commits[t].is_none() || write.undone() => "AbortedRead",
                    () if Some(write.id()) != last => "IntermediateRead",
                    () if committed.is_some_and(|c| c > at || (c == at && !inclusive)) => {
                        "UncommittedVersionRead"
                    }
                    () => "StaleRead",
                });
            }
        }
        if names.is_empty() {
            names.insert("ThinAirRead");
        }
        names
    }

    /// Whether a transaction that is not in the history may have written what was read.
    fn may_be_missing(&self, op: &Op<'_>) -> bool {
        if self.complete {
            return false;
        }
        let value = match op.kind() {
            OpKind::Read => op.value(),
            OpKind::Cas => op.expected().unwrap(),
            _ => Value::ABSENT,
        };
        if op.effect() == Effect::Failed {
            return true;
        }
        let wrote = |o: Op<'_>| {
            let done = o.effect() == Effect::Done && o.kind().writes() && o.key() == op.key();
            done.then(|| written_value(&o))
        };
        let all: Vec<Value> = self.history.ops().filter_map(wrote).collect();
        let unique: BTreeSet<u64> = all.iter().map(|v| v.to_bits()).collect();
        let initial = self.initial(op.key().0) == Content::One(value);
        let count = all.iter().filter(|v| **v == value).count() + usize::from(initial);
        let deletes = self.history.ops().any(|o| o.kind() == OpKind::Delete);
        let once = count == 1 && unique.len() == all.len() && !(deletes && value == Value::ABSENT);
        !once
    }
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in items {
        let longer = |p: &Vec<usize>| {
            let left = items.iter().filter(|i| !p.contains(i));
            left.map(|i| [&p[..], &[*i]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}
