//! Who wrote what was read.
//!
//! Every external read is matched with the write of its value. What cannot be matched is an anomaly
//! (thin air, aborted, intermediate, future) or, where the history does not say enough, a reason to
//! answer "unknown".

use isolde_history::{History, InitialState, Key, OpId, TxnId, Value, info};
use isolde_spec::Anomaly;

use crate::group::Groups;
use crate::play::{self, Play};
use crate::scan::{LocalFinding, ReadFact, Scan, WriteFact};

/// Where a read value came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// The initial state.
    Initial,
    /// A write that others may see: an index of [`Provenance::writes`].
    Write(u32),
    /// Nowhere that counts; a finding or a doubt says why.
    None,
}

/// Something that keeps a verdict from being certain.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Doubt {
    /// The value was written more than once, or is also the initial one.
    AmbiguousRead(OpId),
    /// Nobody in the history wrote it, but the history is not complete.
    UnknownWriter(OpId),
    /// A predicate read.
    Predicate(OpId),
    /// Nobody knows whether the operation was done.
    Unsure(OpId),
    /// The key is used as a list and as something else.
    Mixed(OpId),
    /// The order of versions that the recorder gave names a value that several wrote.
    AmbiguousOrder(Key),
    /// The order of versions that the recorder gave puts the initial state after others.
    InitialNotFirst(Key),
}

/// The result of matching.
pub(crate) struct Provenance {
    pub(crate) play: Vec<Play>,
    pub(crate) reads: Vec<ReadFact>,
    /// The source of every read.
    pub(crate) sources: Vec<Source>,
    pub(crate) writes: Vec<WriteFact>,
    /// The writes of each key.
    pub(crate) by_key: Groups,
    pub(crate) findings: Vec<LocalFinding>,
    pub(crate) doubts: Vec<Doubt>,
    /// List reads, and how many of the elements are not the reader's own.
    pub(crate) list_reads: Vec<(OpId, TxnId, u32)>,
}

/// Matches reads with writes.
pub(crate) fn trace(history: &History, scan: Scan) -> Provenance {
    let Scan { reads, mut writes, list_reads, findings, predicate, unsure, mixed } = scan;
    let keys = history.key_count();
    if history.info(info::EXPLICIT_INITIAL) == Some(Value::TRUE) {
        let initial = initial_values(&history.meta().initial, keys);
        writes.retain(|w| initial[w.key.index()] != Some(w.value));
    }
    let mut by_key = Groups::new(writes.len(), keys, |i| writes[i].key.index());
    let values = sort_by_value(&mut by_key, &writes, keys);
    let initial = initial_values(&history.meta().initial, keys);
    let found = all_candidates(&reads, &by_key, &values, &initial);
    let play = prove(history, &reads, &writes, &by_key, &found);
    let mut p = Provenance {
        play,
        sources: Vec::with_capacity(reads.len()),
        reads,
        writes,
        by_key,
        findings,
        doubts: Vec::new(),
        list_reads,
    };
    for (i, candidates) in found.into_iter().enumerate() {
        let source = p.settle(history, i, candidates);
        p.sources.push(source);
    }
    p.findings.retain(|f| p.play[f.txn.index()].counts());
    p.doubts.extend(predicate.map(Doubt::Predicate));
    p.doubts.extend(unsure.map(Doubt::Unsure));
    p.doubts.extend(mixed.map(Doubt::Mixed));
    p
}

/// Sorts the writes of each key by value; returns the values in that order, which lie together where
/// the writes themselves do not.
fn sort_by_value(by_key: &mut Groups, writes: &[WriteFact], keys: usize) -> Vec<Value> {
    let mut values = Vec::with_capacity(writes.len());
    let mut scratch: Vec<(Value, u32)> = Vec::new();
    for key in 0..keys {
        let range = by_key.range(key);
        let group = &mut by_key.items[range];
        scratch.clear();
        scratch.extend(group.iter().map(|&w| (writes[w as usize].value, w)));
        scratch.sort_unstable();
        for (item, &(value, write)) in group.iter_mut().zip(&scratch) {
            *item = write;
            values.push(value);
        }
    }
    values
}

fn initial_values(initial: &InitialState, keys: usize) -> Vec<Option<Value>> {
    let mut values = vec![initial.default; keys];
    for &(key, value) in &initial.given {
        values[key.index()] = Some(value);
    }
    values
}

/// Who may have written a value that was read.
#[derive(Clone, Copy)]
struct Candidates {
    /// The writes of that value, as a range of the key's sorted writes.
    from: u32,
    to: u32,
    initial: bool,
}

/// The candidates of every read, found key by key so that the values stay in the cache.
fn all_candidates(
    reads: &[ReadFact],
    by_key: &Groups,
    values: &[Value],
    initial: &[Option<Value>],
) -> Vec<Candidates> {
    let grouped = Groups::new(reads.len(), initial.len(), |i| reads[i].key.index());
    let nobody = Candidates { from: 0, to: 0, initial: false };
    let mut found = vec![nobody; reads.len()];
    for (key, initial) in initial.iter().enumerate() {
        let range = by_key.range(key);
        let group = &values[range.clone()];
        for &r in grouped.of(key) {
            let read = &reads[r as usize];
            let from = group.partition_point(|v| *v < read.value);
            let len = group[from..].iter().take_while(|v| **v == read.value).count();
            let from = (range.start + from) as u32;
            // A key without a first version is absent until somebody writes it.
            let first = initial.unwrap_or(Value::ABSENT);
            let initial = read.empty_list.unwrap_or(read.value == first);
            found[r as usize] = Candidates { from, to: from + len as u32, initial };
        }
    }
    found
}

/// A transaction of unknown outcome counts if one that counts has read from it, and from nobody else
/// could it have read that. A fixpoint, since the reader may be such a transaction itself.
fn prove(
    history: &History,
    reads: &[ReadFact],
    writes: &[WriteFact],
    by_key: &Groups,
    found: &[Candidates],
) -> Vec<Play> {
    let sorted = &by_key.items[..];
    let mut play = play::at_first(history);
    if !play.contains(&Play::Open) {
        return play;
    }
    let by_txn = Groups::new(reads.len(), history.txn_count(), |i| reads[i].txn.index());
    let mut todo: Vec<u32> =
        (0..play.len() as u32).filter(|&t| play[t as usize].counts()).collect();
    while let Some(txn) = todo.pop() {
        for &read in by_txn.of(txn as usize) {
            let c = found[read as usize];
            let writers = &sorted[c.from as usize..c.to as usize];
            let possible = |&&w: &&u32| may_be_seen(&writes[w as usize], TxnId(txn), &play);
            let mut possible = writers.iter().filter(possible);
            let (Some(&only), None) = (possible.next(), possible.next()) else { continue };
            let writer = writes[only as usize].txn;
            // In an incomplete history, somebody else may have written it.
            let sure = writes[only as usize].certain || history.meta().complete;
            if !c.initial && sure && play[writer.index()] == Play::Open {
                play[writer.index()] = Play::Proved;
                todo.push(writer.0);
            }
        }
        for writer in appenders(history, TxnId(txn), writes, sorted, by_key) {
            if play[writer.index()] == Play::Open {
                play[writer.index()] = Play::Proved;
                todo.push(writer.0);
            }
        }
    }
    play
}

/// Who appended the elements of the lists that a transaction read, where only one can have.
fn appenders(
    history: &History,
    txn: TxnId,
    writes: &[WriteFact],
    sorted: &[u32],
    by_key: &Groups,
) -> Vec<TxnId> {
    let mut found = Vec::new();
    for op in history.txn(txn).ops() {
        for element in op.elements().unwrap_or_default() {
            let group = &sorted[by_key.range(op.key().index())];
            let value = |w: &u32| writes[*w as usize].value;
            let from = group.partition_point(|w| value(w) < *element);
            let mut same = group[from..].iter().take_while(|w| value(w) == *element);
            if let (Some(&only), None) = (same.next(), same.next()) {
                found.push(writes[only as usize].txn);
            }
        }
    }
    found
}

/// Whether a transaction may have read this write and be right: the last of its transaction, which
/// committed or may have; or perhaps the last, where nobody knows which writes were done.
fn may_be_seen(write: &WriteFact, reader: TxnId, play: &[Play]) -> bool {
    let visible = write.last || (!write.certain && !write.undone);
    visible && write.txn != reader && play[write.txn.index()] != Play::Out
}

impl Provenance {
    /// Whether a transaction counts.
    #[inline]
    pub(crate) fn counts(&self, txn: TxnId) -> bool {
        self.play[txn.index()].counts()
    }

    fn settle(&mut self, history: &History, read: usize, c: Candidates) -> Source {
        let fact = self.reads[read];
        if !self.counts(fact.txn) {
            return Source::None;
        }
        let writers = &self.by_key.items[c.from as usize..c.to as usize];
        match (writers, c.initial) {
            ([], true) => Source::Initial,
            ([], false) => self.nobody_wrote(history, fact),
            (&[only], false) => self.one_wrote(fact, only),
            _ => self.several_wrote(fact, c),
        }
    }

    fn nobody_wrote(&mut self, history: &History, fact: ReadFact) -> Source {
        if history.meta().complete {
            self.find(Anomaly::ThinAirRead, fact.txn, vec![fact.op]);
        } else {
            self.doubts.push(Doubt::UnknownWriter(fact.op));
        }
        Source::None
    }

    #[inline]
    fn one_wrote(&mut self, fact: ReadFact, index: u32) -> Source {
        let write = self.writes[index as usize];
        if !write.certain {
            self.doubts.push(Doubt::Unsure(write.op));
            return Source::None;
        }
        if write.txn == fact.txn {
            // Before the read, it was rolled back, or the read would be no external one.
            let future = write.op > fact.op;
            let anomaly = if future { Anomaly::FutureRead } else { Anomaly::AbortedRead };
            self.find(anomaly, fact.txn, vec![fact.op, write.op]);
            return Source::None;
        }
        if write.undone || !self.counts(write.txn) {
            self.find(Anomaly::AbortedRead, fact.txn, vec![write.op, fact.op]);
            return Source::None;
        }
        if !write.last {
            self.find(Anomaly::IntermediateRead, fact.txn, vec![write.op, fact.op]);
            return Source::None;
        }
        Source::Write(index)
    }

    /// Several writes of the value. If none of them may be seen, the read is wrong whichever it was.
    fn several_wrote(&mut self, fact: ReadFact, c: Candidates) -> Source {
        let writers = &self.by_key.items[c.from as usize..c.to as usize];
        let visible = |&w: &u32| may_be_seen(&self.writes[w as usize], fact.txn, &self.play);
        let mut visible = writers.iter().copied().filter(visible);
        match (visible.next(), visible.next(), c.initial) {
            (None, _, true) => Source::Initial,
            (Some(only), None, false) => self.one_wrote(fact, only),
            (None, _, false) => {
                let op = self.writes[writers[0] as usize].op;
                self.find(Anomaly::AbortedRead, fact.txn, vec![op, fact.op]);
                Source::None
            }
            _ => {
                self.doubts.push(Doubt::AmbiguousRead(fact.op));
                Source::None
            }
        }
    }

    fn find(&mut self, anomaly: Anomaly, txn: TxnId, ops: Vec<OpId>) {
        self.findings.push(LocalFinding { anomaly, txn, ops });
    }

    /// Whether a write made a version of its key that all may see.
    pub(crate) fn is_version(&self, write: &WriteFact) -> bool {
        write.last && write.certain && self.counts(write.txn)
    }

    /// Whether a write may have taken place, as far as anyone but its transaction can tell.
    pub(crate) fn may_have_happened(&self, write: &WriteFact) -> bool {
        !write.undone && self.play[write.txn.index()] != Play::Out
    }

    /// The key of a write.
    pub(crate) fn key(&self, write: u32) -> Key {
        self.writes[write as usize].key
    }
}
