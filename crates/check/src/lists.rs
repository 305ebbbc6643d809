//! Lists: each read shows the order of everything appended so far.
//!
//! The longest read of a key gives its order; every other read must be a prefix of it. A read is from
//! the writer of its last foreign element, an empty one from the initial state.

use hashbrown::{HashMap, HashSet};
use isolde_history::{History, Key, Op, OpId, OpKind, TxnId, Value};
use isolde_spec::Anomaly;

use crate::provenance::{Doubt, Provenance};
use crate::scan::LocalFinding;

/// What a list read saw of others: everything before the transaction's own elements at the end.
pub(crate) fn foreign<'h>(history: &'h History, txn: TxnId, op: &Op<'h>) -> Option<&'h [Value]> {
    let elements = op.elements()?;
    let own = own_appends(history, txn, op);
    let tail = elements.len().checked_sub(own.len())?;
    (elements[tail..] == own[..]).then_some(&elements[..tail])
}

/// What the transaction had appended to the list before the read.
fn own_appends(history: &History, txn: TxnId, read: &Op<'_>) -> Vec<Value> {
    let before = history.txn(txn).ops().take_while(|op| op.id() < read.id());
    let appends = before.filter(|op| op.kind() == OpKind::Append && op.key() == read.key());
    appends.filter(|op| !op.undone() || read.undone()).map(|op| op.value()).collect()
}

/// What is wrong with a read that does not end with the transaction's own elements.
#[cold]
pub(crate) fn misses_own(history: &History, txn: TxnId, op: &Op<'_>) -> Anomaly {
    let own = own_appends(history, txn, op);
    let elements = op.elements().unwrap_or_default();
    let some = own.iter().any(|v| elements.contains(v));
    if some { Anomaly::NotMyLastWrite } else { Anomaly::NotMyOwnWrite }
}

/// Whether a list holds an element that its own transaction appends only later.
pub(crate) fn holds_future(history: &History, txn: TxnId, op: &Op<'_>) -> Option<OpId> {
    let after = history.txn(txn).ops().skip_while(|other| other.id() <= op.id());
    let mut later = after.filter(|o| o.kind() == OpKind::Append && o.key() == op.key());
    let elements = op.elements()?;
    later.find(|append| elements.contains(&append.value())).map(|append| append.id())
}

/// The longest read of every key that holds lists.
pub(crate) struct Longest<'h> {
    pub(crate) by_key: HashMap<Key, (OpId, &'h [Value])>,
}

/// Finds the longest read of each key and compares the others with it.
pub(crate) fn compare<'h>(history: &'h History, p: &mut Provenance) -> Longest<'h> {
    let mut by_key: HashMap<Key, (OpId, &[Value])> = HashMap::new();
    let reads = || {
        let counted = history.txns().filter(|t| t.outcome() != isolde_history::Outcome::Aborted);
        counted.flat_map(|t| t.ops().map(move |op| (t.id(), op)))
    };
    for (txn, op) in reads() {
        if let Some(elements) = op.elements()
            && p.counts(txn)
        {
            let longest = by_key.entry(op.key()).or_insert((op.id(), elements));
            if elements.len() > longest.1.len() {
                *longest = (op.id(), elements);
            }
        }
    }
    for (txn, op) in reads() {
        if let Some(elements) = op.elements()
            && p.counts(txn)
            && let Some(&(longest_op, longest)) = by_key.get(&op.key())
            && longest.get(..elements.len()) != Some(elements)
        {
            let ops = vec![longest_op, op.id()];
            p.findings.push(LocalFinding { anomaly: Anomaly::IncompatibleOrder, txn, ops });
        }
    }
    for &(op, elements) in by_key.values() {
        duplicates(history, p, op, elements);
    }
    Longest { by_key }
}

fn duplicates(history: &History, p: &mut Provenance, op: OpId, elements: &[Value]) {
    let mut seen = HashSet::with_capacity(elements.len());
    if elements.iter().any(|v| !seen.insert(*v)) {
        let txn = history.txn_of(op);
        let anomaly = Anomaly::DuplicateElements;
        p.findings.push(LocalFinding { anomaly, txn, ops: vec![op] });
    }
}

/// The versions of a list in their order: the last element of each transaction that counts. What
/// was appended and never read comes after all of them, in an order that nobody knows.
pub(crate) fn versions(
    p: &mut Provenance,
    key: Key,
    read: OpId,
    elements: &[Value],
) -> (Vec<u32>, Vec<u32>) {
    let mut position: HashMap<Value, usize> = HashMap::with_capacity(elements.len());
    position.extend(elements.iter().enumerate().map(|(i, v)| (*v, i)));
    let (mut seen, mut unseen): (Vec<(usize, u32)>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut known = HashSet::new();
    for &w in p.by_key.of(key.index()) {
        let write = &p.writes[w as usize];
        known.insert(write.value);
        if write.last && p.counts(write.txn) {
            match position.get(&write.value) {
                Some(&at) => seen.push((at, w)),
                None => unseen.push(w),
            }
        }
    }
    if elements.iter().any(|v| !known.contains(v)) {
        // Elements under the last one are not read from anybody, but they must come from somewhere.
        p.doubts.push(Doubt::UnknownWriter(read));
    }
    seen.sort_unstable();
    (seen.into_iter().map(|(_, w)| w).collect(), unseen)
}
