//! What lists show: every element that is visible, in the order of commits, and no other.

use isolde_history::{OpId, TxnId, Value};
use isolde_spec::Anomaly;

use crate::keys::accesses::{ListRead, WriteFact};
use crate::keys::findings::Doubt;
use crate::keys::key_facts::KeyFacts;
use crate::timestamps::case::TimedCase;
use crate::timestamps::finding::TimedDoubt;
use crate::timestamps::rules;
use crate::timestamps::timeline::Timeline;
use crate::timestamps::written::WrittenValues;
use crate::timestamps::wrong_read::WrongRead;

/// A list, as it was written and read.
#[derive(Clone, Copy)]
pub(crate) struct ListKey<'j> {
    pub(crate) facts: &'j KeyFacts,
    pub(crate) timeline: &'j Timeline,
    pub(crate) written: &'j WrittenValues,
}

/// What is wrong with a list read, if anything is. The reader sees the first so many versions, and perhaps
/// some of as many tied ones after them.
pub(crate) fn wrong_read(
    case: &TimedCase<'_>,
    key: ListKey<'_>,
    read: &ListRead,
    elements: &[Value],
    seen: (usize, usize),
) -> Option<WrongRead> {
    let facts = key.facts;
    let written = |element: &&Value| facts.values.first(&facts.writes, **element).is_some();
    if elements.iter().any(|element| key.written.of(case, facts, *element).open) {
        return Some(WrongRead::Open);
    }
    let known: Vec<Value> = elements.iter().filter(written).copied().collect();
    let all_known = known.len() == elements.len();
    let in_doubt = WrongRead::InDoubt(TimedDoubt::Of(Doubt::UnknownWriter(read.op)));
    if case.complete && !all_known {
        return Some(WrongRead::Named(Anomaly::ThinAirRead, None));
    }
    if fits(key.timeline, &known, read.txn, seen) {
        return (!all_known).then_some(in_doubt);
    }
    if !case.complete && !key.written.are_unique(facts) {
        return Some(in_doubt);
    }
    let (anomaly, op) = name(case, key, read, &known, seen.0);
    Some(WrongRead::Named(anomaly, op))
}

/// Whether elements are those of the visible versions, whatever the order of those with one timestamp.
fn fits(
    timeline: &Timeline,
    elements: &[Value],
    reader: TxnId,
    (count, tied): (usize, usize),
) -> bool {
    let versions = &timeline.versions;
    let blocks_of = |from: usize, to: usize| -> Vec<&[Value]> {
        let foreign = (from..to).filter(|at| versions[*at].txn != reader);
        foreign.map(|at| timeline.block(at)).collect()
    };
    let (mut at, mut rest) = (0, elements);
    while at < count {
        let same = versions[at..count].partition_point(|v| v.commit <= versions[at].commit);
        let blocks = blocks_of(at, at + same);
        let len = blocks.iter().map(|block| block.len()).sum();
        let Some((these, after)) = rest.split_at_checked(len) else { return false };
        if !is_made_of(these, &blocks) {
            return false;
        }
        (at, rest) = (at + same, after);
    }
    rest.is_empty() || is_made_of(rest, &blocks_of(count, count + tied))
}

/// More blocks than this are not tried in every order; that two have one timestamp is told anyway.
const MANY_BLOCKS: usize = 6;

/// Whether elements are some of the blocks, each at most once, in any order.
fn is_made_of(elements: &[Value], blocks: &[&[Value]]) -> bool {
    if let [block] = blocks {
        return elements == *block;
    }
    if blocks.len() > MANY_BLOCKS {
        return true;
    }
    let mut todo: Vec<(&[Value], u8)> = vec![(elements, 0)];
    while let Some((rest, used)) = todo.pop() {
        if rest.is_empty() {
            return true;
        }
        for (i, block) in blocks.iter().enumerate().filter(|(i, _)| used & (1 << i) == 0) {
            if let Some(after) = rest.strip_prefix(*block).filter(|_| !block.is_empty()) {
                todo.push((after, used | 1 << i));
            }
        }
    }
    false
}

/// What a list is called that does not show what it should, and the write to look at.
fn name(
    case: &TimedCase<'_>,
    key: ListKey<'_>,
    read: &ListRead,
    elements: &[Value],
    count: usize,
) -> (Anomaly, Option<OpId>) {
    let mut worst: Option<(usize, Anomaly, OpId)> = None;
    for element in elements {
        // An element that is visible, and only in the wrong place, counts as overwritten here.
        let (anomaly, op) = source_of(case, key, read, *element);
        let rank = rules::rank(anomaly);
        if anomaly != Anomaly::StaleRead && worst.is_none_or(|(least, _, _)| rank > least) {
            worst = Some((rank, anomaly, op));
        }
    }
    if let Some((_, anomaly, op)) = worst.filter(|(_, a, _)| *a != Anomaly::IntermediateRead) {
        return (anomaly, Some(op));
    }
    let last = elements.last().map(|element| source_of(case, key, read, *element).1);
    let mut shown = elements.to_vec();
    shown.sort_unstable_by_key(|value| value.to_bits());
    let twice = shown.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    if twice.is_some_and(|value| key.written.of(case, key.facts, value).count < 2) {
        return (Anomaly::DuplicateElements, last);
    }
    if let Some(op) = last.filter(|op| cuts_its_writer(key, *op, elements)) {
        return (Anomaly::IntermediateRead, Some(op));
    }
    let is_shown = |element: &Value| {
        shown.binary_search_by_key(&element.to_bits(), |value| value.to_bits()).is_ok()
    };
    let missed = key.timeline.list(count).iter().any(|element| !is_shown(element));
    (if missed { Anomaly::StaleRead } else { Anomaly::IncompatibleOrder }, last)
}

/// Where an element came from: of equal ones, from the writer that comes nearest to being right.
fn source_of(
    case: &TimedCase<'_>,
    key: ListKey<'_>,
    read: &ListRead,
    element: Value,
) -> (Anomaly, OpId) {
    let writers = key.written.of(case, key.facts, element);
    let named = writers.name(case, key.facts, (read.txn, read.op), element);
    named.unwrap_or((Anomaly::ThinAirRead, read.op))
}

/// Whether a list ends amid the elements of one transaction: the next one is missing.
fn cuts_its_writer(key: ListKey<'_>, last: OpId, elements: &[Value]) -> bool {
    // Writes are in the order of their operations.
    let writes = &key.facts.writes;
    let at = writes.partition_point(|write| write.op < last);
    let Some((write, after)) = writes.get(at..).and_then(<[WriteFact]>::split_first) else {
        return false;
    };
    let mut own = after.iter().take_while(|w| w.txn == write.txn).filter(|w| !w.undone);
    own.next().is_some_and(|next| !elements.contains(&next.value))
}
