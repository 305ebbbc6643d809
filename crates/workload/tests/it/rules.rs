//! The rules of timestamps, taken literally: transactions are executed in the order that their timestamps
//! say, and what each saw is compared with what it should have seen.

use std::collections::{BTreeMap, HashMap};

use isolde_history::{Effect, History, Key, Op, OpKind, Outcome, Timestamp, Txn, Value};

/// A rule that timestamps break.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Rule {
    /// A writer commits when it starts, or before.
    Backwards,
    /// A transaction did not see what its place says.
    Sees,
    /// A transaction comes before an earlier one of its session.
    SessionOrder,
    /// Two writers of a key overlap.
    Overlap,
    /// Two writers of a key have the same commit timestamp.
    Tie,
}

/// What is under a key: the versions of a register (only the last counts) or the elements of a list.
type State = HashMap<Key, Vec<Value>>;

fn committed(history: &History) -> Vec<Txn<'_>> {
    history.txns().filter(|txn| txn.outcome() == Outcome::Committed).collect()
}

fn is_write(op: &Op<'_>) -> bool {
    let writes = [OpKind::Write, OpKind::Append, OpKind::Cas, OpKind::InsertIfAbsent];
    writes.contains(&op.kind()) && op.effect() == Effect::Done
}

pub(crate) fn wrote(txn: &Txn<'_>) -> bool {
    txn.ops().any(|op| is_write(&op))
}

fn start(txn: &Txn<'_>) -> Timestamp {
    txn.start_ts().unwrap()
}

fn commit(txn: &Txn<'_>) -> Timestamp {
    txn.commit_ts().unwrap_or(start(txn))
}

/// Whether a transaction saw the state and its own writes; the state with its writes.
fn sees(history: &History, txn: &Txn<'_>, state: &State) -> (bool, State) {
    let initial = history.meta().initial.default.unwrap();
    let mut own = State::new();
    let mut right = true;
    for op in txn.ops() {
        let key = op.key();
        let now = own.get(&key).or_else(|| state.get(&key)).cloned().unwrap_or_default();
        let last = now.last().copied().unwrap_or(initial);
        right &= match op.kind() {
            OpKind::Read => op.value() == last,
            OpKind::ListRead => op.elements() == Some(&now[..]),
            OpKind::Cas => (op.expected() == Some(last)) == (op.effect() == Effect::Done),
            OpKind::InsertIfAbsent => (last == Value::ABSENT) == (op.effect() == Effect::Done),
            _ => true,
        };
        if is_write(&op) {
            own.insert(key, [&now[..], &[op.value()]].concat());
        }
    }
    (right, own)
}

/// Which rules of snapshot isolation are broken, and how often.
pub(crate) fn snapshot(history: &History) -> BTreeMap<Rule, usize> {
    let mut broken = BTreeMap::new();
    let mut breaks = |rule| *broken.entry(rule).or_insert(0) += 1;
    let txns = committed(history);
    // At the same timestamp, a commit is visible to a start.
    let starts = txns.iter().enumerate().map(|(at, txn)| (start(txn), 1, at));
    let commits = txns.iter().enumerate().map(|(at, txn)| (commit(txn), 0, at));
    let mut events: Vec<_> = starts.chain(commits.filter(|c| wrote(&txns[c.2]))).collect();
    events.sort_unstable();
    let mut state = State::new();
    for (_, starts, at) in events {
        if starts == 1 {
            if !sees(history, &txns[at], &state).0 {
                breaks(Rule::Sees);
            }
            continue;
        }
        // Of lists, what others appended in the meantime stays.
        for op in txns[at].ops().filter(is_write) {
            state.entry(op.key()).or_default().push(op.value());
        }
    }
    for txn in txns.iter().filter(|txn| wrote(txn) && start(txn) >= commit(txn)) {
        assert!(txn.commit_ts().is_some());
        breaks(Rule::Backwards);
    }
    in_sessions(&txns, |before, txn| {
        if start(txn) < commit(before) {
            breaks(Rule::SessionOrder);
        }
    });
    for writers in writers(&txns).values() {
        for (at, a) in writers.iter().enumerate() {
            for b in &writers[at + 1..] {
                let apart = commit(a) <= start(b) || commit(b) <= start(a);
                if !apart {
                    breaks(Rule::Overlap);
                }
                if commit(a) == commit(b) {
                    breaks(Rule::Tie);
                }
            }
        }
    }
    broken
}

/// Which rules of a serial order of commits are broken, and how often.
pub(crate) fn serial(history: &History) -> BTreeMap<Rule, usize> {
    let mut broken = BTreeMap::new();
    let mut breaks = |rule| *broken.entry(rule).or_insert(0) += 1;
    let txns = committed(history);
    let place = |txn: &Txn<'_>| if wrote(txn) { commit(txn) } else { start(txn) };
    let mut order: Vec<_> = txns.iter().map(|txn| (place(txn), !wrote(txn), txn)).collect();
    order.sort_by_key(|(place, reads, _)| (*place, *reads));
    let mut state = State::new();
    // Transactions of one place do not see each other.
    for same in order.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let seen: Vec<_> = same.iter().map(|(_, _, txn)| sees(history, txn, &state)).collect();
        for (right, own) in seen {
            if !right {
                breaks(Rule::Sees);
            }
            state.extend(own);
        }
    }
    in_sessions(&txns, |before, txn| {
        let (before, here) = (place(before), place(txn));
        if here < before || (here == before && wrote(txn)) {
            breaks(Rule::SessionOrder);
        }
    });
    broken
}

/// Every two transactions of a session that follow each other.
fn in_sessions(txns: &[Txn<'_>], mut found: impl FnMut(&Txn<'_>, &Txn<'_>)) {
    let mut last: HashMap<_, &Txn<'_>> = HashMap::new();
    for txn in txns {
        if let Some(before) = last.insert(txn.session(), txn) {
            found(before, txn);
        }
    }
}

/// The writers of each key, each once.
fn writers<'t, 'h>(txns: &'t [Txn<'h>]) -> HashMap<Key, Vec<&'t Txn<'h>>> {
    let mut writers: HashMap<Key, Vec<&Txn<'_>>> = HashMap::new();
    for txn in txns {
        for op in txn.ops().filter(is_write) {
            let all = writers.entry(op.key()).or_default();
            if all.last().is_none_or(|last| last.id() != txn.id()) {
                all.push(txn);
            }
        }
    }
    writers
}
