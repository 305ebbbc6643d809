//! Snapshot isolation by snapshots of transactions.

use std::collections::{BTreeMap, BTreeSet};

use isolde_history::{Effect, Op, OpKind, Outcome, Snapshot, Value};

use super::case::{Buffer, Case, fits, left, observed};
use super::{Broken, Twin};

/// Which snapshot shows which transaction: `[reader][writer]`.
type Table = Vec<Vec<bool>>;

impl Case<'_> {
    /// Whether a write may have inserted its row.
    fn is_upsert(&self, op: &Op<'_>) -> bool {
        let txn = self.history.txn(self.history.txn_of(op.id()));
        let mut stmts = txn.stmts();
        let stmt = stmts.find(|stmt| stmt.ops().any(|own| own.id() == op.id()));
        let path = stmt.and_then(|stmt| stmt.attr("path"));
        path.and_then(|path| self.history.pool().as_text(path)) == Some("upsert")
    }

    pub(super) fn snapshot_isolation(&self) -> Twin {
        let nothing = Twin { holds: None, broken: BTreeSet::new(), lenient: false };
        let short = self.txns.iter().any(|t| {
            let no_xid = t.wrote && t.xid.is_none();
            let no_snapshot = t.snapshot.is_none() && t.ops().next().is_some();
            t.outcome == Outcome::Committed && (no_xid || no_snapshot)
        });
        if short {
            return nothing;
        }
        let live = self.txns.iter().enumerate().filter(|(_, t)| t.outcome != Outcome::Aborted);
        let snapshots: Vec<(usize, &Snapshot)> =
            live.filter_map(|(t, of)| Some((t, of.snapshot.as_ref()?))).collect();
        if self.apart(&snapshots) {
            let broken = BTreeSet::from([Broken::Apart]);
            return Twin { holds: Some(false), broken, lenient: false };
        }
        let committed: Vec<usize> =
            (0..self.txns.len()).filter(|t| self.txns[*t].outcome == Outcome::Committed).collect();
        let (broken, _) = self.broken(&self.table(&snapshots), &committed);
        let mut best = Some(false);
        for (table, counted) in self.choices(&snapshots, &committed) {
            let (broken, open) = self.broken(&table, &counted);
            if broken.is_empty() {
                best = if open && best != Some(true) { None } else { Some(true) };
            }
        }
        Twin { holds: best, broken, lenient: false }
    }

    fn table(&self, snapshots: &[(usize, &Snapshot)]) -> Table {
        let count = self.txns.len();
        let mut table = vec![vec![false; count]; count];
        for (t, snapshot) in snapshots {
            table[*t] = (0..count).map(|w| self.shows(snapshot, *t, w)).collect();
        }
        table
    }

    /// Every way in which transactions of unknown outcome committed or not. Those without a number commit
    /// between any two places of the row. Snapshots that show the same numbered transactions stand in the
    /// order of all numbers that they show.
    fn choices(
        &self,
        snapshots: &[(usize, &Snapshot)],
        committed: &[usize],
    ) -> Vec<(Table, Vec<usize>)> {
        let place: BTreeMap<usize, (i64, usize, i64, i64)> = snapshots
            .iter()
            .map(|(t, s)| {
                let hidden = s.in_progress.iter().filter(|id| **id >= s.xmin && **id < s.xmax);
                let hidden = -(hidden.count() as i64);
                let restart = self.txns[*t].restart;
                (*t, (restart, self.shown(s, *t).len(), s.xmax.max(s.xmin), hidden))
            })
            .collect();
        let mut all = vec![(self.table(snapshots), committed.to_vec())];
        for u in 0..self.txns.len() {
            let of = &self.txns[u];
            if of.outcome != Outcome::Unknown || !of.wrote {
                continue;
            }
            let mut more = Vec::new();
            for (table, counted) in &all {
                let counted = [&counted[..], &[u]].concat();
                if of.xid.is_some() {
                    more.push((table.clone(), counted));
                    continue;
                }
                let after = place.get(&u).copied();
                let mut from: BTreeSet<_> = place.values().copied().collect();
                from.insert((i64::MAX, 0, 0, 0));
                for from in from.into_iter().filter(|p| after.is_none_or(|a| *p > a)) {
                    let mut table = table.clone();
                    for (t, p) in &place {
                        table[*t][u] = *p >= from;
                    }
                    more.push((table, counted.clone()));
                }
            }
            all.extend(more);
        }
        all
    }

    fn broken(&self, table: &Table, counted: &[usize]) -> (BTreeSet<Broken>, bool) {
        let mut broken = BTreeSet::new();
        let mut open = false;
        for &t in counted {
            if self.txns[t].snapshot.is_none() {
                continue;
            }
            if self.txns[t].xid.is_some() && table[t][t] {
                broken.insert(Broken::Own(t));
            }
            if self.promise.session_order && self.misses_its_session(table, t) {
                broken.insert(Broken::Session(t));
            }
            if self.is_stale(table, t) {
                broken.insert(Broken::Fresh(t));
            }
            self.run(table, counted, t, &mut broken, &mut open);
        }
        for key in self.keys() {
            let last = |t: &usize| self.txns[*t].writes(key).next_back().map(Op::kind);
            let deleted = counted.iter().any(|t| last(t) == Some(OpKind::Delete));
            let updated = |t: &&usize| {
                let first = self.txns[**t].writes(key).next();
                let inserts = |op: &Op<'_>| match op.kind() {
                    OpKind::InsertIfAbsent => true,
                    OpKind::Write => deleted && self.is_upsert(op),
                    _ => false,
                };
                first.is_some_and(|op| !inserts(op))
            };
            let writers: Vec<usize> = counted.iter().filter(updated).copied().collect();
            for (i, a) in writers.iter().enumerate() {
                for b in &writers[i + 1..] {
                    if !table[*a][*b] && !table[*b][*a] {
                        broken.insert(Broken::Conflict(*a.min(b), *a.max(b), key));
                    }
                }
            }
        }
        (broken, open)
    }

    fn misses_its_session(&self, table: &Table, t: usize) -> bool {
        let earlier = |b: &usize| {
            self.txns[*b].session == self.txns[t].session
                && self.txns[*b].outcome == Outcome::Committed
        };
        (0..t).filter(earlier).any(|b| {
            let missed = self.txns[b].wrote && !table[t][b];
            let smaller = self.numbered().into_iter().any(|w| table[b][w] && !table[t][w]);
            // What is after a restart shows more than anything before it.
            let back =
                self.txns[b].snapshot.is_some() && self.txns[b].restart > self.txns[t].restart;
            missed || smaller || back
        })
    }

    fn is_stale(&self, table: &Table, t: usize) -> bool {
        let of = &self.txns[t];
        let first = of.begin.or(of.stmts.first().and_then(|stmt| stmt.begin));
        let Some(first) = first else { return false };
        (0..self.txns.len()).any(|w| {
            let writer = &self.txns[w];
            let before = writer.end.is_some_and(|end| end + self.skew < first);
            w != t && writer.outcome == Outcome::Committed && writer.wrote && before && !table[t][w]
        })
    }

    /// The versions of a key that a transaction may read first: those that nothing it sees overwrote.
    fn newest(&self, table: &Table, visible: &[usize]) -> Vec<usize> {
        // If their own snapshots do not say which came first, another one may.
        let between = |w: usize, n: usize| {
            let live = |t: &usize| self.txns[*t].outcome != Outcome::Aborted;
            let apart = !table[n][w] && !table[w][n];
            apart && (0..table.len()).filter(live).any(|t| table[t][w] && !table[t][n])
        };
        let before = |w: usize, n: usize| (table[n][w] && !table[w][n]) || between(w, n);
        let over = |w: &usize| visible.iter().any(|n| n != w && before(*w, *n));
        visible.iter().filter(|w| !over(w)).copied().collect()
    }

    /// Every order of the visible appends that their snapshots allow.
    fn lists(&self, table: &Table, visible: &[usize], key: u32) -> Vec<Vec<Value>> {
        if visible.is_empty() {
            return vec![Vec::new()];
        }
        let mut all = Vec::new();
        for last in self.newest(table, visible) {
            let rest: Vec<usize> = visible.iter().filter(|w| **w != last).copied().collect();
            for mut list in self.lists(table, &rest, key) {
                list.extend(self.txns[last].writes(key).map(left));
                all.push(list);
            }
        }
        all
    }

    fn run(
        &self,
        table: &Table,
        counted: &[usize],
        t: usize,
        broken: &mut BTreeSet<Broken>,
        open: &mut bool,
    ) {
        let of = &self.txns[t];
        let undoes = of.ops().any(|op| op.kind() == OpKind::Savepoint);
        let mut buffer = Buffer::default();
        let mut looked: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
        for op in of.ops() {
            if !op.kind().has_key() {
                buffer.run(op);
                continue;
            }
            let key = op.key().0;
            let writes = |w: &&usize| **w != t && self.txns[**w].writes(key).next().is_some();
            let visible: Vec<usize> =
                counted.iter().filter(|w| table[t][**w]).filter(writes).copied().collect();
            let own = buffer.of(key);
            let refused = op.effect() == Effect::Failed;
            let right = if let Some(elements) = op.elements() {
                let mut lists = self.lists(table, &visible, key);
                lists.iter_mut().for_each(|list| list.extend(&own));
                lists.iter().any(|list| elements == &list[..])
            } else if refused && undoes && buffer.touched(key) {
                // Why it was refused after an own write that may be undone is not looked at.
                true
            } else if let Some(last) = own.last() {
                fits(op, *last)
            } else {
                let last = |w: &usize| self.txns[*w].writes(key).next_back().map(left);
                let mut values: Vec<Value> =
                    self.newest(table, &visible).iter().filter_map(last).collect();
                if visible.is_empty() {
                    values.extend(self.initial(key));
                }
                let fit = values.iter().any(|value| fits(op, *value));
                // There is no first version, so that there is nothing to compare with.
                let unsaid = values.is_empty() && refused;
                fit || unsaid || !looks(op) || self.inserts_after_delete(table, counted, t, op)
            };
            let seen = op.elements().map(<[Value]>::to_vec).or(observed(op).map(|v| vec![v]));
            // What a successful insert saw is not what the snapshot shows.
            let seen = seen.filter(|_| op.kind() != OpKind::InsertIfAbsent);
            let differs =
                looked.get(&key).is_some_and(|v| seen.as_ref().is_some_and(|seen| seen != v));
            if differs || (!right && (!own.is_empty() || !self.may_be_missing(op))) {
                broken.insert(Broken::Read(op.id().index()));
            } else if !right {
                *open = true;
            }
            looked.extend(seen.map(|seen| (key, seen)));
            if op.kind().writes() && !refused {
                looked.remove(&key);
            }
            buffer.run(op);
        }
    }

    /// A row that a transaction deleted which the snapshot does not show may be inserted.
    fn inserts_after_delete(
        &self,
        table: &Table,
        counted: &[usize],
        t: usize,
        op: &Op<'_>,
    ) -> bool {
        let inserts = op.kind() == OpKind::InsertIfAbsent && op.effect() == Effect::Done;
        let deletes = |w: &usize| {
            let last = self.txns[*w].writes(op.key().0).next_back();
            last.is_some_and(|op| op.kind() == OpKind::Delete)
        };
        inserts && counted.iter().any(|w| *w != t && !table[t][*w] && deletes(w))
    }
}

fn looks(op: &Op<'_>) -> bool {
    matches!(op.kind(), OpKind::Read | OpKind::Cas | OpKind::InsertIfAbsent)
}
