//! Read committed by snapshots of statements.

use std::collections::BTreeSet;

use isolde_history::{Effect, Op, OpKind, Outcome, Snapshot, Value};

use super::case::{Buffer, Case, Stmt, fits, left, observed, stands};
use super::{Broken, Twin};

impl Case<'_> {
    pub(super) fn read_committed(&self) -> Twin {
        let nothing = Twin { holds: None, broken: BTreeSet::new(), lenient: false };
        let committed = |t: &usize| self.txns[*t].outcome == Outcome::Committed;
        let plain = |stmt: &Stmt<'_>| {
            !stmt.locks
                && stmt.ops.iter().any(|op| matches!(op.kind(), OpKind::Read | OpKind::ListRead))
        };
        let short = self.txns.iter().any(|t| {
            // A write that found no row is recorded as a read of nothing before it.
            let of_write = |stmt: &Stmt<'_>| {
                let Some(last) = stmt.ops.last() else { return false };
                let next = t.ops().find(|op| op.id() > last.id());
                let refused = |op: &Op<'_>| op.kind().writes() && op.effect() == Effect::Failed;
                last.value() == Value::ABSENT
                    && next.is_some_and(|op| refused(op) && op.key() == last.key())
            };
            let bare = |stmt: &Stmt<'_>| plain(stmt) && stmt.snapshot.is_none() && !of_write(stmt);
            let bare = t.stmts.iter().any(bare);
            t.outcome == Outcome::Committed && ((t.wrote && t.xid.is_none()) || bare)
        });
        let mut stmts = self.txns.iter().flat_map(|t| &t.stmts);
        if short || stmts.all(|stmt| stmt.snapshot.is_none()) {
            return nothing;
        }
        let live = self.txns.iter().enumerate().filter(|(_, t)| t.outcome != Outcome::Aborted);
        let snapshots: Vec<(usize, &Snapshot)> = live
            .flat_map(|(t, of)| {
                of.stmts.iter().filter_map(move |s| Some((t, s.snapshot.as_ref()?)))
            })
            .collect();
        if self.apart(&snapshots) {
            let broken = BTreeSet::from([Broken::Apart]);
            return Twin { holds: Some(false), broken, lenient: false };
        }
        let sure: Vec<usize> = (0..self.txns.len()).filter(committed).collect();
        let mut counted = sure.clone();
        while let Some(u) = self.must_have_committed(&counted) {
            counted.push(u);
        }
        let (broken, open) = self.broken_by_statements(&counted);
        let holds = if !broken.is_empty() { Some(false) } else { (!open).then_some(true) };
        // Whether any choice breaks no rule.
        let maybe = |t: &usize| self.txns[*t].outcome == Outcome::Unknown && self.txns[*t].wrote;
        let mut choices = vec![sure];
        for u in (0..self.txns.len()).filter(maybe) {
            let more: Vec<Vec<usize>> = choices.iter().map(|c| [&c[..], &[u]].concat()).collect();
            choices.extend(more);
        }
        let right = |c: &Vec<usize>| {
            let (broken, open) = self.broken_by_statements(c);
            broken.is_empty() && !open
        };
        let lenient = holds != Some(true) && choices.iter().any(right);
        Twin { holds, broken, lenient }
    }

    /// A transaction of unknown outcome that alone can have written what a counted one saw.
    fn must_have_committed(&self, counted: &[usize]) -> Option<usize> {
        let maybe = |u: &usize| {
            self.txns[*u].outcome == Outcome::Unknown && self.txns[*u].wrote && !counted.contains(u)
        };
        for &t in counted {
            let mut buffer = Buffer::default();
            let stmts = self.txns[t].stmts.iter();
            let ops = stmts.flat_map(|stmt| stmt.ops.iter().map(move |op| (stmt, op)));
            for (stmt, op) in ops {
                let key = op.key().0;
                let seen: Vec<Value> = match op.elements() {
                    Some(elements) => elements.to_vec(),
                    None if buffer.of(key).is_empty() => observed(op).into_iter().collect(),
                    None => Vec::new(),
                };
                let own = buffer.of(key);
                buffer.run(op);
                let locks = stmt.locks || stmt.ops.iter().any(|op| op.kind().writes());
                for value in seen {
                    // It may have waited for one that put another row in the place of this.
                    if locks && value == Value::ABSENT {
                        continue;
                    }
                    let writes = |w: &usize| {
                        let list = self.is_list(key);
                        let mut writes = self.txns[*w].writes(key).map(left);
                        let last = self.txns[*w].writes(key).next_back().map(left);
                        if list { writes.any(|v| v == value) } else { last == Some(value) }
                    };
                    if !self.is_list(key) && self.initial(key) == Some(value) {
                        continue;
                    }
                    let elements = op.elements().unwrap_or_default();
                    let times = elements.iter().filter(|v| **v == value).count();
                    let others = counted.iter().filter(|w| **w != t);
                    let known = others.flat_map(|w| self.txns[*w].writes(key).map(left));
                    let known = known.chain(own.clone()).filter(|v| *v == value).count();
                    let sources = counted.iter().any(|w| writes(w) && *w != t);
                    if if self.is_list(key) { known >= times } else { sources } {
                        continue;
                    }
                    let open: Vec<usize> =
                        (0..self.txns.len()).filter(maybe).filter(|u| writes(u)).collect();
                    if let [only] = open[..] {
                        return Some(only);
                    }
                }
            }
        }
        None
    }

    /// Whether a version of a key is certainly newer than another one.
    fn newer(&self, new: usize, old: usize, key: u32) -> bool {
        let writes = |op: &Op<'_>| op.key().0 == key && stands(op);
        self.txns[new].stmts.iter().any(|stmt| {
            let shows = stmt.snapshot.as_ref().is_some_and(|s| self.shows(s, new, old));
            shows && stmt.ops.iter().any(writes)
        })
    }

    fn broken_by_statements(&self, counted: &[usize]) -> (BTreeSet<Broken>, bool) {
        let mut broken = BTreeSet::new();
        let mut open = false;
        for &t in counted {
            let mut buffer = Buffer::default();
            for stmt in &self.txns[t].stmts {
                for op in &stmt.ops {
                    let own = if op.kind().has_key() { buffer.of(op.key().0) } else { Vec::new() };
                    if !self.is_right(counted, t, stmt, op, (&own, buffer.touched(op.key().0))) {
                        if own.is_empty() && self.may_be_missing(op) {
                            open = true;
                        } else {
                            broken.insert(Broken::Read(op.id().index()));
                        }
                    }
                    buffer.run(op);
                }
            }
        }
        (broken, open)
    }

    fn is_right(
        &self,
        counted: &[usize],
        t: usize,
        stmt: &Stmt<'_>,
        op: &Op<'_>,
        (own, touched): (&[Value], bool),
    ) -> bool {
        let looks = matches!(
            op.kind(),
            OpKind::Read | OpKind::ListRead | OpKind::Cas | OpKind::InsertIfAbsent
        );
        if !looks {
            return true;
        }
        let key = op.key().0;
        // Why it was refused after an own write that may be undone is not looked at.
        let undoes = self.txns[t].ops().any(|op| op.kind() == OpKind::Savepoint);
        if op.effect() == Effect::Failed && undoes && touched {
            return true;
        }
        if let (None, Some(last)) = (op.elements(), own.last()) {
            return fits(op, *last);
        }
        // What is under a key after an own write was undone is not judged.
        if op.effect() != Effect::Done || (touched && op.elements().is_none()) {
            return true;
        }
        // Own appends come last.
        if op.elements().is_some_and(|elements| touched && !elements.ends_with(own)) {
            return false;
        }
        let plain = !stmt.locks && !stmt.ops.iter().any(|op| op.kind().writes());
        if plain && stmt.snapshot.is_none() {
            return true;
        }
        let wrote = |w: &&usize| **w != t && self.txns[**w].writes(key).next().is_some();
        let versions: Vec<usize> = counted.iter().filter(wrote).copied().collect();
        let shows = |w: &usize| stmt.snapshot.as_ref().is_some_and(|s| self.shows(s, t, *w));
        let shown: Vec<usize> = versions.iter().filter(|w| shows(w)).copied().collect();
        // Without a number, nobody knows which snapshots show it.
        let unplaced = |w: &usize| self.txns[*w].xid.is_none();
        // Versions whose COMMIT was sent after the answer cannot have been read.
        let in_time = |w: &usize| {
            let answered = stmt.end.map(|end| end + self.skew);
            !matches!((self.txns[*w].commit_sent, answered), (Some(sent), Some(end)) if sent > end)
        };
        if let Some(elements) = op.elements() {
            let of = |set: &[usize]| -> Vec<Value> {
                set.iter().flat_map(|w| self.txns[*w].writes(key).map(left)).collect()
            };
            let may =
                |w: &&usize| if plain { shown.contains(w) || unplaced(w) } else { in_time(w) };
            let may: Vec<usize> = versions.iter().filter(may).copied().collect();
            let elements = elements.strip_suffix(own).unwrap_or(elements);
            return within(&of(&shown), elements) && within(elements, &of(&may));
        }
        let overwritten = |w: &usize| shown.iter().any(|n| n != w && self.newer(*n, *w, key));
        let last = |w: &usize| self.txns[*w].writes(key).next_back().map(left);
        let initial = if shown.is_empty() { self.initial(key) } else { None };
        if plain {
            let visible = versions.iter().filter(|w| shown.contains(w) || unplaced(w));
            let newest = visible.filter(|w| !overwritten(w)).filter_map(last);
            return newest.chain(initial).any(|value| fits(op, value));
        }
        let deleted = |txn: &super::case::Txn<'_>| {
            let gone = txn.writes(key).any(|op| op.kind() == OpKind::Delete);
            gone && txn.outcome != Outcome::Aborted
        };
        let deletes = self.txns.iter().any(deleted);
        if observed(op) == Some(Value::ABSENT) && deletes {
            return true;
        }
        let may = versions.iter().filter(|w| !overwritten(w) && in_time(w)).filter_map(last);
        may.chain(initial).any(|value| fits(op, value))
    }
}

/// Whether the elements are among the others, each as often.
fn within(some: &[Value], all: &[Value]) -> bool {
    let count = |list: &[Value], value: &Value| list.iter().filter(|v| *v == value).count();
    some.iter().all(|value| count(some, value) <= count(all, value))
}
