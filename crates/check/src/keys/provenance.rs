//! The writer of the version that each read returned.
//!
//! Every external read is matched with the write of its value. What cannot be matched is an anomaly
//! (thin air, aborted, intermediate, future) or, where the history does not say enough, a reason to
//! answer "unknown".

use isolde_history::{Effect, OpKind, Outcome, Value};
use isolde_spec::Anomaly;

use crate::keys::accesses::{ReadFact, Source};
use crate::keys::context::Context;
use crate::keys::findings::{Doubt, Findings, LocalFinding};
use crate::keys::key_facts::KeyFacts;
use crate::keys::origin::Origin;

/// All places where an ambiguous read may have come from.
pub(crate) fn origins(context: &Context<'_>, facts: &KeyFacts, read: &ReadFact) -> Vec<Origin> {
    let initial = read.is_of(context.first_value(facts.key));
    let writers = facts.values.chain(&facts.writes, read.value);
    let writers = writers.map(|w| &facts.writes[w as usize]).filter(|w| w.may_be_seen(read.txn));
    let writers = writers.map(|w| Origin::Write(w.op));
    initial.then_some(Origin::Initial).into_iter().chain(writers).collect()
}

/// Finds the source of every read of a key, and what is wrong inside its transactions.
pub(crate) fn settle(context: &Context<'_>, facts: &mut KeyFacts, found: &mut Findings) {
    let first = context.first_value(facts.key);
    for i in 0..facts.reads.len() {
        let read = facts.reads[i];
        let source = if read.standing.counts() {
            let initial = read.is_of(first);
            source(context, facts, &read, initial, found)
        } else {
            Source::None
        };
        facts.sources.push(source);
    }
    let counts = |f: &&LocalFinding| {
        f.ops().first().is_some_and(|op| context.counts(context.history.txn_of(*op)))
    };
    found.findings.extend(facts.breaches.iter().filter(counts));
    found.doubts.extend(facts.unsure.map(Doubt::Unsure));
    found.doubts.extend(facts.undecided.map(Doubt::Predicate));
    found.doubts.extend(facts.unlearned.map(Doubt::Unlearned));
    found.failed += facts.failed;
    found.unsaid += u64::from(facts.unsaid);
    found.doubts.extend(facts.mixed.map(Doubt::Mixed));
}

#[inline]
fn source(
    context: &Context<'_>,
    facts: &KeyFacts,
    read: &ReadFact,
    initial: bool,
    found: &mut Findings,
) -> Source {
    let writer = facts.values.first(&facts.writes, read.value);
    match (writer, initial) {
        (None, true) => Source::Initial,
        (None, false) => nobody_wrote(context, facts, read, found),
        (Some(only), false) if facts.writes[only as usize].next_equal.is_none() => {
            one_wrote(facts, read, only, found)
        }
        _ => several_wrote(context, facts, read, initial, found),
    }
}

#[cold]
fn nobody_wrote(
    context: &Context<'_>,
    facts: &KeyFacts,
    read: &ReadFact,
    found: &mut Findings,
) -> Source {
    if facts.unlearned.is_some() || read.value == Value::UNOBSERVED {
        found.doubt(Doubt::Unlearned(facts.unlearned.unwrap_or(read.op)));
    } else if context.history.meta().complete {
        found.findings.push(from_nowhere(context, facts, read, found.findings.len()));
    } else {
        found.doubt(Doubt::UnknownWriter(read.op));
    }
    Source::None
}

/// For how many findings the operation is looked for that tried to write the value.
const LOOKED_FOR: usize = 64;

/// A read of a value that was not written, as far as answers tell. Where an operation failed to write
/// it, the operation is named; if it failed with its transaction, the read is one of what was rolled
/// back.
fn from_nowhere(
    context: &Context<'_>,
    facts: &KeyFacts,
    read: &ReadFact,
    found: usize,
) -> LocalFinding {
    let history = context.history;
    let touches = context.index.of(facts.key).filter(|_| found < LOOKED_FOR);
    let tried = touches.map(|touch| history.op(touch.op)).find(|op| {
        let value = if op.kind() == OpKind::Delete { Value::ABSENT } else { op.value() };
        op.effect() == Effect::Failed && op.kind().writes() && value == read.value
    });
    let Some(tried) = tried else { return LocalFinding::new(Anomaly::ThinAirRead, &[read.op]) };
    // A compare-and-set that was refused did nothing, whatever became of its transaction.
    let refused = matches!(tried.kind(), OpKind::Cas | OpKind::InsertIfAbsent);
    let aborted = history.txn(history.txn_of(tried.id())).outcome() == Outcome::Aborted;
    if aborted && !refused {
        LocalFinding::new(Anomaly::AbortedRead, &[tried.id(), read.op])
    } else {
        LocalFinding::new(Anomaly::ThinAirRead, &[read.op, tried.id()])
    }
}

#[inline]
fn one_wrote(facts: &KeyFacts, read: &ReadFact, index: u32, found: &mut Findings) -> Source {
    let write = &facts.writes[index as usize];
    if write.certain && write.last && write.txn != read.txn && write.standing.counts() {
        return Source::Write(index);
    }
    if !write.certain {
        found.doubt(Doubt::Unsure(write.op));
    } else if write.txn == read.txn {
        // Before the read, it was rolled back, or the read would be no external one.
        let future = write.op > read.op;
        let anomaly = if future { Anomaly::FutureRead } else { Anomaly::AbortedRead };
        found.find(anomaly, &[read.op, write.op]);
    } else if write.undone || !write.standing.counts() {
        found.find(Anomaly::AbortedRead, &[write.op, read.op]);
    } else {
        found.find(Anomaly::IntermediateRead, &[write.op, read.op]);
    }
    Source::None
}

/// Several writes of the value. If none of them may be seen, the read is wrong whichever it was.
#[cold]
fn several_wrote(
    context: &Context<'_>,
    facts: &KeyFacts,
    read: &ReadFact,
    initial: bool,
    found: &mut Findings,
) -> Source {
    if let Some(origin) = context.choices.get(&read.op) {
        return chosen(facts, read, *origin, found);
    }
    let Some(equal) = facts.equal(read.value) else { return Source::None };
    let mut visible = equal.visible.iter().filter(|w| facts.writes[**w as usize].txn != read.txn);
    match (visible.next(), visible.next(), initial) {
        (None, _, true) => Source::Initial,
        (Some(&only), None, false) => one_wrote(facts, read, only, found),
        (None, _, false) => {
            let own = |w: u32| {
                let write = &facts.writes[w as usize];
                write.txn == read.txn && write.op > read.op
            };
            let (anomaly, write) = match equal.aborted {
                _ if facts.values.chain(&facts.writes, read.value).all(own) => {
                    (Anomaly::FutureRead, equal.first)
                }
                Some(write) => (Anomaly::AbortedRead, write),
                None => (Anomaly::IntermediateRead, equal.first),
            };
            found.find(anomaly, &[facts.writes[write as usize].op, read.op]);
            Source::None
        }
        _ => {
            found.doubt(Doubt::AmbiguousRead(read.op));
            Source::None
        }
    }
}

/// The source of a read whose origin was chosen.
fn chosen(facts: &KeyFacts, read: &ReadFact, origin: Origin, found: &mut Findings) -> Source {
    let Origin::Write(op) = origin else { return Source::Initial };
    let mut writers = facts.values.chain(&facts.writes, read.value);
    match writers.find(|w| facts.writes[*w as usize].op == op) {
        Some(w) => one_wrote(facts, read, w, found),
        None => Source::None,
    }
}
