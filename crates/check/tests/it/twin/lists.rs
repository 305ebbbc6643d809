//! Lists: what their reads say about the order of versions.

use isolde_history::Value;

use super::explain::{Explained, Explanation, Origin};
use super::model::Content;

/// An element and where it comes from.
type Element = (Origin, Value);

/// Whether a list holds an element more often than anybody appended it: forbidden at every level.
/// An element that nobody ever appended is thin air rather than a duplicate.
pub(crate) fn has_duplicates(explanation: &Explanation<'_>) -> bool {
    explanation.reads.iter().any(|explained| {
        let list = &explained.read.whole_list;
        list.iter().any(|v| {
            let held = list.iter().filter(|w| *w == v).count();
            let appended = appended(explanation, explained.read.key, *v);
            appended > 0 && held > appended
        })
    })
}

fn appended(explanation: &Explanation<'_>, key: usize, value: Value) -> usize {
    let attempts = explanation.model.txns.iter().flat_map(|t| &t.attempts);
    let by_txns = attempts.filter(|a| a.key == key && a.value == value).count();
    let Content::List(initial) = &explanation.model.initial[key] else { return by_txns };
    by_txns + initial.iter().filter(|v| **v == value).count()
}

/// Whether a list shows a part of what a transaction appended to it, or its elements out of order:
/// the list was then never a committed version ("a value its writer overwrote before committing").
pub(crate) fn is_intermediate(explanation: &Explanation<'_>, explained: &Explained<'_>) -> bool {
    let elements = elements_of(explained);
    elements.iter().any(|(origin, _)| {
        let shown = elements.iter().filter(|(o, _)| o == origin).map(|(_, v)| *v);
        let shown: Vec<Value> = shown.collect();
        let left = match origin {
            Origin::Initial => Some(&explanation.model.initial[explained.read.key]),
            Origin::Txn(t) => explanation.model.txns[*t].left(explained.read.key),
            _ => None,
        };
        left.is_some_and(|left| *left != Content::List(shown))
    })
}

fn elements_of(explained: &Explained<'_>) -> Vec<Element> {
    match &explained.read.seen {
        Content::Value(_) => Vec::new(),
        Content::List(list) => explained.origins.iter().copied().zip(list.clone()).collect(),
    }
}

/// The pairs of transactions (`Initial` or `Txn`) that the lists put one before the other; `None`
/// if two lists are incompatible, which every level forbids.
///
/// "Fixed by lists" is taken to mean: all foreign parts of lists are prefixes of one list, and what
/// is not in the longest of them comes after it, because appends do not vanish. Elements that never
/// were committed are left out of the comparison: read uncommitted may show them. The own elements
/// at the end of a list say nothing about what others append between.
pub(crate) fn fixed_order(explanation: &Explanation<'_>) -> Option<Vec<(Origin, Origin)>> {
    let mut pairs = Vec::new();
    for key in 0..explanation.model.initial.len() {
        let mut longest: Vec<Element> = Vec::new();
        let mut observed = false;
        for explained in explanation.reads.iter().filter(|e| e.read.key == key) {
            let mut list = elements_of(explained);
            list.retain(|(o, _)| matches!(o, Origin::Initial | Origin::Txn(_)));
            observed |= matches!(explained.read.seen, Content::List(_));
            let shorter = longest.len().min(list.len());
            if longest[..shorter] != list[..shorter] {
                return None;
            }
            if list.len() > longest.len() {
                longest = list;
            }
        }
        let order: Vec<Origin> = longest.iter().map(|(o, _)| *o).collect();
        pairs.extend(order.windows(2).map(|w| (w[0], w[1])).filter(|(a, b)| a != b));
        if let (true, Some(last)) = (observed, order.last()) {
            let appends = |t: &usize| explanation.model.txns[*t].left(key).is_some();
            let rest = explanation.txns.iter().filter(|t| appends(t)).map(|t| Origin::Txn(*t));
            pairs.extend(rest.filter(|o| !order.contains(o)).map(|o| (*last, o)));
        }
    }
    Some(pairs)
}

/// Whether two transactions read the same version of a list and both extended it.
pub(crate) fn extended_twice(explanation: &Explanation<'_>) -> bool {
    let extended = |t: usize, key: usize| {
        let facts = &explanation.model.txns[t];
        let is_list = matches!(facts.left(key), Some(Content::List(_)));
        let first = facts.first_writes.iter().find(|(k, _)| *k == key).filter(|_| is_list)?.1;
        let reads = explanation.reads.iter().filter(|e| e.txn == t && e.read.key == key);
        let reads: Vec<&Explained<'_>> = reads.collect();
        let before = reads.iter().rev().find(|e| e.read.position <= first);
        before.or(reads.last()).map(|e| e.from())
    };
    let keys = 0..explanation.model.initial.len();
    keys.into_iter().any(|key| {
        let sources = explanation.txns.iter().filter_map(|t| extended(*t, key));
        let known: Vec<Origin> =
            sources.filter(|o| matches!(o, Origin::Initial | Origin::Txn(_))).collect();
        known.iter().enumerate().any(|(i, origin)| known[..i].contains(origin))
    })
}
