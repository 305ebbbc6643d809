//! Lists: each read shows the order of everything appended so far.
//!
//! The longest read of a key gives its order; every other read must be a prefix of it. A read is from
//! the writer of its last foreign element, an empty one from the initial state.

use hashbrown::{HashMap, HashSet};
use isolde_history::{Effect, History, Key, Op, OpId, OpKind, TxnId, Value};
use isolde_spec::Anomaly;

use crate::order::ListOrder;
use crate::provenance::{Doubt, Provenance};
use crate::scan::{LocalFinding, WriteFact};

/// What a list read saw of others: everything before the transaction's own elements at the end.
pub(crate) fn foreign<'h>(history: &'h History, txn: TxnId, op: &Op<'h>) -> Option<&'h [Value]> {
    let elements = op.elements()?;
    let own = own_appends(history, txn, op);
    let tail = elements.len().checked_sub(own.len())?;
    (elements[tail..] == own[..]).then_some(&elements[..tail])
}

/// What the transaction had appended to the list before the read, less what it had rolled back.
fn own_appends(history: &History, txn: TxnId, read: &Op<'_>) -> Vec<Value> {
    let mut own = Vec::new();
    let mut savepoints: Vec<(Value, usize)> = Vec::new();
    for op in history.txn(txn).ops().take_while(|op| op.id() < read.id()) {
        match op.kind() {
            OpKind::Append if op.key() == read.key() && op.effect() != Effect::Failed => {
                own.push(op.value());
            }
            OpKind::Savepoint => savepoints.push((op.value(), own.len())),
            OpKind::RollbackTo => {
                if let Some(at) = savepoints.iter().rposition(|s| s.0 == op.value()) {
                    own.truncate(savepoints[at].1);
                    savepoints.truncate(at + 1);
                }
            }
            _ => {}
        }
    }
    own
}

/// Whether nobody knows what the transaction had appended to the list before the read.
pub(crate) fn own_unsure(history: &History, txn: TxnId, read: &Op<'_>) -> bool {
    let before = history.txn(txn).ops().take_while(|op| op.id() < read.id());
    let mut appends = before.filter(|op| op.kind() == OpKind::Append && op.key() == read.key());
    appends.any(|op| op.effect() == Effect::Unknown)
}

/// What is wrong with a read that does not end with the transaction's own elements.
#[cold]
pub(crate) fn misses_own(history: &History, txn: TxnId, op: &Op<'_>) -> Anomaly {
    let own = own_appends(history, txn, op);
    let elements = op.elements().unwrap_or_default();
    let some = own.iter().any(|v| elements.contains(v));
    if some { Anomaly::NotMyLastWrite } else { Anomaly::NotMyOwnWrite }
}

/// An element of a list that its own transaction appends only later, and nobody else at all. (The
/// last element is matched with its writer like any other read.)
fn future_element(
    history: &History,
    p: &Provenance,
    txn: TxnId,
    key: Key,
    read: OpId,
    elements: &[Value],
) -> Option<OpId> {
    let under = elements.split_last()?.1;
    let after = history.txn(txn).ops().skip_while(|other| other.id() <= read);
    let mut later = after.filter(|o| o.kind() == OpKind::Append && o.key() == key);
    let once = |value: Value| {
        let writes = p.by_key.of(key.index()).iter();
        writes.filter(|&&w| p.writes[w as usize].value == value).count() == 1
    };
    later.find(|o| under.contains(&o.value()) && once(o.value())).map(|o| o.id())
}

/// The longest read of every key that holds lists, without what the reader had appended itself.
pub(crate) struct Longest<'h> {
    pub(crate) by_key: HashMap<Key, (OpId, &'h [Value])>,
}

/// Finds the longest read of each key and compares the others with it.
pub(crate) fn compare<'h>(history: &'h History, p: &mut Provenance) -> Longest<'h> {
    let mut reads: Vec<(TxnId, Key, OpId, &[Value])> = Vec::new();
    for &(id, txn, len) in p.list_reads.iter().filter(|(_, txn, _)| p.counts(*txn)) {
        let op = history.op(id);
        let foreign = op.elements().and_then(|elements| elements.get(..len as usize));
        reads.extend(foreign.map(|elements| (txn, op.key(), id, elements)));
    }
    let mut by_key: HashMap<Key, (OpId, &[Value])> = HashMap::new();
    for &(_, key, op, elements) in &reads {
        let longest = by_key.entry(key).or_insert((op, elements));
        if elements.len() > longest.1.len() {
            *longest = (op, elements);
        }
    }
    for &(txn, key, op, elements) in &reads {
        if let Some(later) = future_element(history, p, txn, key, op, elements) {
            let ops = vec![op, later];
            p.findings.push(LocalFinding { anomaly: Anomaly::FutureRead, txn, ops });
        }
        if let Some(&(longest_op, longest)) = by_key.get(&key)
            && longest.get(..elements.len()) != Some(elements)
            && (history.meta().complete || all_known(p, key, longest, elements))
        {
            let ops = vec![longest_op, op];
            p.findings.push(LocalFinding { anomaly: Anomaly::IncompatibleOrder, txn, ops });
        }
    }
    for (&key, &(op, elements)) in &by_key {
        duplicates(history, p, key, op, elements);
    }
    let prefixes: HashMap<Key, Prefixes> = by_key
        .iter()
        .map(|(key, (_, elements))| (*key, Prefixes::new(p, *key, elements)))
        .collect();
    for (txn, key, op, elements) in reads {
        let Some(at) = elements.len().checked_sub(1) else { continue };
        let Some(prefixes) = prefixes.get(&key) else { continue };
        if by_key.get(&key).is_none_or(|(_, longest)| !longest.starts_with(elements)) {
            continue;
        }
        let mut find = |anomaly: Anomaly| {
            p.findings.push(LocalFinding { anomaly, txn, ops: vec![op] });
        };
        // The last element is matched with its writer like any other read.
        if at > 0 && prefixes.dirty.get(at - 1).is_some_and(|dirty| *dirty) {
            find(Anomaly::DirtyUpdate);
        } else if prefixes.partial.get(at).is_some_and(|partial| *partial) {
            find(Anomaly::IntermediateRead);
        } else if prefixes.shuffled.get(at).is_some_and(|shuffled| *shuffled) {
            find(Anomaly::IncompatibleOrder);
        }
    }
    Longest { by_key }
}

/// What is wrong with the prefixes of a list.
struct Prefixes {
    /// Whether the prefix up to a position holds an element that was rolled back.
    dirty: Vec<bool>,
    /// Whether it holds some, but not all, of what a transaction appended.
    partial: Vec<bool>,
    /// Whether it holds elements of a transaction in another order than it appended them.
    shuffled: Vec<bool>,
}

impl Prefixes {
    fn new(p: &Provenance, key: Key, elements: &[Value]) -> Prefixes {
        let mut writer: HashMap<Value, Option<&WriteFact>> = HashMap::new();
        // How many elements each transaction left in the list, as far as that is certain.
        let mut left: HashMap<TxnId, Option<u32>> = HashMap::new();
        for write in p.by_key.of(key.index()).iter().map(|&w| &p.writes[w as usize]) {
            writer.entry(write.value).and_modify(|w| *w = None).or_insert(Some(write));
            if !write.undone {
                let count = left.entry(write.txn).or_insert(Some(0));
                *count = count.filter(|_| write.certain).map(|n| n + 1);
            }
        }
        let (mut dirty, mut partial, mut shuffled) = (Vec::new(), Vec::new(), Vec::new());
        if writer.values().any(Option::is_none) {
            // Which of the equal elements is which, nobody can tell.
            return Prefixes { dirty, partial, shuffled };
        }
        let (mut is_dirty, mut is_shuffled, mut open) = (false, false, 0usize);
        let mut seen: HashMap<TxnId, (u32, OpId)> = HashMap::new();
        for element in elements {
            if let Some(Some(write)) = writer.get(element) {
                is_dirty |= write.certain && (write.undone || !p.counts(write.txn));
                let (seen, last) = seen.entry(write.txn).or_insert((0, write.op));
                *seen += 1;
                is_shuffled |= write.op < *last;
                *last = write.op;
                if let Some(&Some(total)) = left.get(&write.txn) {
                    open += usize::from(*seen == 1);
                    open -= usize::from(*seen == total);
                }
            }
            dirty.push(is_dirty);
            partial.push(open > 0);
            shuffled.push(is_shuffled);
        }
        Prefixes { dirty, partial, shuffled }
    }
}

/// Whether somebody appended each element of two lists. In an incomplete history, who knows what the
/// transactions did that are missing.
fn all_known(p: &Provenance, key: Key, a: &[Value], b: &[Value]) -> bool {
    let writes = p.by_key.of(key.index()).iter().map(|&w| &p.writes[w as usize]);
    let appended: HashSet<Value> = writes.filter(|w| w.certain).map(|w| w.value).collect();
    a.iter().chain(b).all(|v| appended.contains(v))
}

/// An element that is in a list more often than it was appended.
fn duplicates(history: &History, p: &mut Provenance, key: Key, op: OpId, elements: &[Value]) {
    let mut counts: HashMap<Value, i64> = HashMap::with_capacity(elements.len());
    elements.iter().for_each(|v| *counts.entry(*v).or_default() += 1);
    for &w in p.by_key.of(key.index()) {
        if let Some(count) = counts.get_mut(&p.writes[w as usize].value) {
            *count -= 1;
        }
    }
    // What nobody appended at all is a read from nowhere, whatever its number.
    let appended = |value: Value| {
        let writes = p.by_key.of(key.index()).iter();
        writes.map(|&w| p.writes[w as usize].value).any(|v| v == value)
    };
    if counts.iter().any(|(value, count)| *count > 0 && appended(*value)) {
        let txn = history.txn_of(op);
        let anomaly = Anomaly::DuplicateElements;
        p.findings.push(LocalFinding { anomaly, txn, ops: vec![op] });
    }
}

/// The versions of a list in their order: the last element of each transaction that counts. What
/// was appended and never read comes after all of them, in an order that nobody knows.
pub(crate) fn versions(p: &mut Provenance, key: Key, read: OpId, elements: &[Value]) -> ListOrder {
    let mut position: HashMap<Value, usize> = HashMap::with_capacity(elements.len());
    position.extend(elements.iter().enumerate().map(|(i, v)| (*v, i)));
    let (mut seen, mut unseen): (Vec<(usize, u32)>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut known = HashSet::new();
    let (mut twice, mut unsure) = (false, None);
    let mut all: Vec<(usize, TxnId)> = Vec::new();
    for &w in p.by_key.of(key.index()) {
        let write = &p.writes[w as usize];
        twice |= !known.insert(write.value);
        if !write.certain && position.contains_key(&write.value) {
            unsure = Some(write.op);
        }
        if let Some(&at) = position.get(&write.value)
            && p.counts(write.txn)
            && write.certain
            && !write.undone
        {
            all.push((at, write.txn));
        }
        if p.is_version(write) {
            match position.get(&write.value) {
                Some(&at) => seen.push((at, w)),
                None => unseen.push(w),
            }
        }
    }
    p.doubts.extend(unsure.map(Doubt::Unsure));
    if elements.iter().any(|v| !known.contains(v)) {
        // Elements under the last one are not read from anybody, but they must come from somewhere.
        p.doubts.push(Doubt::UnknownWriter(read));
    }
    if twice {
        // Which of the equal elements is which, nobody can tell.
        p.doubts.push(Doubt::AmbiguousRead(read));
        unseen.extend(seen.drain(..).map(|(_, w)| w));
        all.clear();
    }
    seen.sort_unstable();
    all.sort_unstable();
    ListOrder {
        key,
        seen: seen.into_iter().map(|(_, w)| w).collect(),
        elements: all.into_iter().map(|(_, txn)| txn).collect(),
        unseen,
        unseen_last: true,
    }
}
