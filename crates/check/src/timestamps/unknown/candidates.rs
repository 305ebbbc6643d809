//! Transactions of unknown outcome that may have been read, and what is certain of their keys.

use hashbrown::{HashMap, HashSet};
use isolde_history::{Effect, OpId, OpKind, TxnId, Value};
use isolde_spec::Axiom;

use super::points::LATEST;
use crate::keys::key_facts::what_it_read;
use crate::keys::standing::Standing;
use crate::limits::{Limit, Limits};
use crate::timestamps::case::TimedCase;
use crate::timestamps::finding::TimedFindings;
use crate::timestamps::judged_key::JudgedKey;
use crate::timestamps::rules::Ordering;
use crate::timestamps::sessions;
use crate::timestamps::supply::wrote;
use crate::timestamps::ticks::Tick;

/// A transaction of unknown outcome that may have been read.
pub(super) struct Candidate {
    pub(super) txn: TxnId,
    /// Whether it has to count: a transaction that counts has read from it, and can have read from no other.
    pub(super) proved: bool,
    /// The keys that it touched, ascending.
    pub(super) keys: Vec<usize>,
    /// After which tick it committed, if there is such a bound, and by which it had.
    pub(super) after: Option<Tick>,
    pub(super) until: Option<Tick>,
    /// The first reader that shows that it committed.
    pub(super) reader: Option<TxnId>,
}

/// What is wrong with a key whatever became of the candidates.
#[derive(Default)]
pub(super) struct Certain {
    pub(super) reads: HashSet<OpId>,
    pub(super) conflicts: HashSet<TxnId>,
    /// The values that candidates may have left under the key.
    pub(super) values: HashMap<Value, Vec<TxnId>>,
    /// The times that matter to the key, ascending: when transactions that touched it start, commit or look.
    pub(super) events: Vec<Tick>,
    /// Whether what an operation saw may be of one candidate or of another transaction: it read a list, or was
    /// refused, or a candidate wrote a value that is not its own alone.
    pub(super) mixes: bool,
}

impl Certain {
    /// Counts what was found as certain, unless a candidate that is still to be decided may explain it.
    fn add(
        &mut self,
        case: &TimedCase<'_>,
        key: usize,
        found: &TimedFindings,
        undecided: &dyn Fn(&TxnId) -> bool,
    ) {
        for finding in &found.findings {
            match (finding.axiom, finding.op) {
                (Axiom::Ext, Some(op))
                    if !may_be_from(case, (op, key), &self.values, undecided) =>
                {
                    self.reads.insert(op);
                }
                (Axiom::NoConflict, _) => _ = self.conflicts.insert(finding.txn),
                _ => {}
            }
        }
    }
}

/// The candidates, and what is certain of the keys that they touched.
pub(super) struct Candidates {
    pub(super) all: Vec<Candidate>,
    pub(super) certain: HashMap<usize, Certain>,
}

/// By when the writers of a key had committed, because of what was read of it.
#[derive(Default)]
struct ReadBy {
    first: HashMap<TxnId, (Tick, TxnId)>,
    /// Reads of one candidate by another one that show that the first had committed if the second had: writer
    /// and reader.
    by_candidates: Vec<(TxnId, TxnId)>,
}

impl ReadBy {
    fn add(&mut self, writer: TxnId, place: Tick, reader: TxnId) {
        let first = self.first.entry(writer).or_insert((place, reader));
        *first = (*first).min((place, reader));
    }
}

impl Candidates {
    /// All candidates, if there are any. From here on they are left out of the case, until a point is found.
    pub(super) fn new(
        case: &mut TimedCase<'_>,
        limits: &Limits<'_>,
    ) -> Result<Option<Candidates>, Limit> {
        let unknown = unknown(case);
        if unknown.is_empty() {
            return Ok(None);
        }
        let mut proved = Vec::new();
        for txn in &unknown {
            let standing = &mut case.standings[txn.index()];
            proved.push(*standing == Standing::Proved && case.complete);
            *standing = Standing::Unproved;
        }
        let all = unknown.into_iter().zip(proved);
        let all = all.map(|(txn, proved)| candidate(case, txn, proved)).collect();
        let mut candidates = Candidates { all, certain: HashMap::new() };
        candidates.look_at_keys(case, limits)?;
        // What no transaction can have read is left out.
        candidates.all.retain(|c| c.proved || c.until.is_some());
        Ok(Some(candidates).filter(|candidates| !candidates.all.is_empty()))
    }

    /// Finds out what is certain of the keys of candidates, and bounds for the candidates.
    fn look_at_keys(&mut self, case: &TimedCase<'_>, limits: &Limits<'_>) -> Result<(), Limit> {
        let mut at_key: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, candidate) in self.all.iter().enumerate() {
            candidate.keys.iter().for_each(|key| at_key.entry(*key).or_default().push(at));
        }
        let mut keys: Vec<usize> = at_key.keys().copied().collect();
        keys.sort_unstable();
        let mut judged = JudgedKey::default();
        let mut by_candidates = Vec::new();
        for key in keys {
            limits.go_on()?;
            by_candidates.extend(self.look_at(case, &mut judged, key, &at_key[&key]));
        }
        self.bind_by_candidates(case, &by_candidates);
        Ok(())
    }

    /// A candidate that was read by another one had committed by when that one looked; if it looked as it
    /// committed, by when it had committed itself.
    fn bind_by_candidates(&mut self, case: &TimedCase<'_>, reads: &[(TxnId, TxnId)]) {
        let number: HashMap<TxnId, usize> =
            self.all.iter().enumerate().map(|(at, candidate)| (candidate.txn, at)).collect();
        let mut writers: HashMap<usize, Vec<usize>> = HashMap::new();
        for (writer, reader) in reads {
            // One that only read is no candidate.
            if let (Some(&writer), Some(&reader)) = (number.get(writer), number.get(reader))
                && self.all[writer].proved
                && self.all[reader].proved
            {
                writers.entry(reader).or_default().push(writer);
            }
        }
        let mut todo: Vec<usize> = writers.keys().copied().collect();
        todo.sort_unstable();
        while let Some(reader) = todo.pop() {
            let of = &self.all[reader];
            let place = match case.ordering {
                Ordering::Snapshots => case.ticks.start_of(of.txn).known(),
                Ordering::Commits { .. } => of.until,
            };
            let (Some(place), reading) = (place, of.txn) else { continue };
            for &writer in writers.get(&reader).into_iter().flatten() {
                let candidate = &mut self.all[writer];
                if candidate.until.is_none_or(|until| place < until) {
                    (candidate.until, candidate.reader) = (Some(place), Some(reading));
                    todo.extend(
                        matches!(case.ordering, Ordering::Commits { .. }).then_some(writer),
                    );
                }
            }
        }
    }

    /// Finds out what is certain of one key. Returns reads of one candidate by another one.
    fn look_at(
        &mut self,
        case: &TimedCase<'_>,
        judged: &mut JudgedKey,
        key: usize,
        here: &[usize],
    ) -> Vec<(TxnId, TxnId)> {
        let mut certain = certain_of(case, judged, key);
        judged.index();
        certain.mixes = mixes(case, judged, &certain.values);
        let values = &certain.values;
        let mut events: Vec<Tick> = Vec::new();
        for version in &judged.timeline.versions {
            events.extend(version.start.known().into_iter().chain([version.commit]));
        }
        // One candidate may have to commit before another one starts, or after one whose commit timestamp is
        // known: the candidates are no versions yet.
        let stamps = |txn: &TxnId| [case.ticks.start_of(*txn), case.ticks.commit_of(*txn)];
        let others = values.values().flatten().flat_map(stamps);
        events.extend(others.filter_map(Tick::known));
        let until = read_by(case, judged, values, &mut events);
        for at in here {
            let candidate = &mut self.all[*at];
            if let Some((place, reader)) = until.first.get(&candidate.txn) {
                // What was not proved may be left out, so that no reader binds it.
                let place = if candidate.proved { *place } else { LATEST };
                if candidate.until.is_none_or(|until| place < until) {
                    (candidate.until, candidate.reader) = (Some(place), Some(*reader));
                }
            }
        }
        events.sort_unstable();
        events.dedup();
        certain.events = events;
        self.certain.insert(key, certain);
        until.by_candidates
    }

    /// The events of some keys, after a bound and up to another one, ascending.
    pub(super) fn events(&self, keys: &[usize], after: Option<Tick>, until: Tick) -> Vec<Tick> {
        let mut all: Vec<Tick> = Vec::new();
        for events in keys.iter().filter_map(|key| Some(&self.certain.get(key)?.events)) {
            let first = after.map_or(0, |after| events.partition_point(|e| *e <= after));
            let end = events.partition_point(|e| *e <= until).max(first);
            all.extend(&events[first..end]);
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The last event of some keys before a tick, or at it.
    pub(super) fn last_event(&self, keys: &[usize], end: Tick, inclusive: bool) -> Option<Tick> {
        let events = keys.iter().filter_map(|key| Some(&self.certain.get(key)?.events));
        let last = |events: &Vec<Tick>| {
            let before = |event: &Tick| *event < end || (inclusive && *event == end);
            events.partition_point(before).checked_sub(1).map(|last| events[last])
        };
        events.filter_map(last).max()
    }

    /// The last event of some keys before a point, and the first after it, that are timestamps.
    pub(super) fn around(
        &self,
        keys: &[usize],
        point: Tick,
        is_stamp: impl Fn(Tick) -> bool,
    ) -> (Option<Tick>, Option<Tick>) {
        let events = || keys.iter().filter_map(|key| Some(&self.certain.get(key)?.events));
        let before = |events: &Vec<Tick>| {
            let end = events.partition_point(|e| *e < point);
            events[..end].iter().copied().rfind(|e| is_stamp(*e))
        };
        let after = |events: &Vec<Tick>| {
            let start = events.partition_point(|e| *e <= point);
            events[start..].iter().copied().find(|e| is_stamp(*e))
        };
        (events().filter_map(before).max(), events().filter_map(after).min())
    }

    /// Counts as certain what is wrong with some keys now, unless a candidate may explain it that is still to
    /// be decided.
    pub(super) fn settle_for(
        &mut self,
        case: &TimedCase<'_>,
        judged: &mut JudgedKey,
        keys: &[usize],
        undecided: impl Fn(&TxnId) -> bool,
    ) {
        for key in keys {
            let Some(certain) = self.certain.get_mut(key) else { continue };
            let mut found = TimedFindings::default();
            judged.judge(case, *key, &mut found);
            certain.add(case, *key, &found, &undecided);
        }
    }
}

/// The transactions of unknown outcome that wrote, and of which it is open whether or when they committed.
/// What became of those that only read does not matter.
fn unknown(case: &TimedCase<'_>) -> Vec<TxnId> {
    let history = case.keys.history;
    let unknown = |txn: &TxnId| {
        let open = match case.standings[txn.index()] {
            Standing::Unproved => true,
            // What was read of it may be of a transaction that is missing.
            Standing::Proved => !case.complete || case.ticks.commit_of(*txn) == Tick::NEVER,
            Standing::Committed | Standing::RolledBack => false,
        };
        open && wrote(&history.txn(*txn))
    };
    (0..history.txn_count() as u32).map(TxnId).filter(unknown).collect()
}

/// Whether what an operation saw of a key may be of one candidate or of another transaction.
fn mixes(case: &TimedCase<'_>, judged: &JudgedKey, values: &HashMap<Value, Vec<TxnId>>) -> bool {
    let facts = &judged.facts;
    let first = case.keys.first_value(facts.key);
    let shared = |value: &Value| {
        *value == first || facts.values.chain(&facts.writes, *value).nth(1).is_some()
    };
    facts.is_list || !facts.refused.is_empty() || values.keys().any(shared)
}

/// What is certain of a key while all candidates are left out.
fn certain_of(case: &TimedCase<'_>, judged: &mut JudgedKey, key: usize) -> Certain {
    let mut found = TimedFindings::default();
    judged.judge(case, key, &mut found);
    let facts = &judged.facts;
    let mut certain = Certain::default();
    for write in facts.writes.iter().filter(|w| w.standing == Standing::Unproved) {
        // Every element of a list can be read, of a register only the last value.
        if write.may_have_happened() && (write.last || facts.is_list) {
            certain.values.entry(write.value).or_default().push(write.txn);
        }
    }
    certain.add(case, key, &found, &|_| true);
    certain
}

/// By when candidates had committed, and the places of all that looked at the key, which become events.
fn read_by(
    case: &TimedCase<'_>,
    judged: &JudgedKey,
    values: &HashMap<Value, Vec<TxnId>>,
    events: &mut Vec<Tick>,
) -> ReadBy {
    let facts = &judged.facts;
    let first = case.keys.first_value(facts.key);
    // A writer that reads sees what comes before its own commit.
    let place_of = |txn: TxnId| case.exclusive_place(txn).unwrap_or(case.limit(txn));
    let mut until = ReadBy::default();
    let reads = facts.reads.iter().map(|r| (r.txn, r.op));
    for (txn, op) in reads.chain(facts.list_reads.iter().map(|r| (r.txn, r.op))) {
        let place = place_of(txn);
        events.extend(place.known());
        for value in values_read(case, op, facts.key) {
            let Some(writers) = values.get(&value) else { continue };
            // It binds only if there is no other way to have read it.
            let only = writers.len() == 1
                && value != first
                && facts.values.chain(&facts.writes, value).nth(1).is_none();
            let place = if only && case.counts(txn) { place } else { LATEST };
            for writer in writers.iter().filter(|w| **w != txn) {
                until.add(*writer, place, txn);
                if only && case.standings[txn.index()] == Standing::Unproved {
                    until.by_candidates.push((*writer, txn));
                }
            }
        }
    }
    // What a refused operation saw may be anything.
    for (_, txn) in &facts.refused {
        events.extend(place_of(*txn).known());
        values.values().flatten().for_each(|writer| until.add(*writer, LATEST, *txn));
    }
    until
}

fn candidate(case: &TimedCase<'_>, txn: TxnId, proved: bool) -> Candidate {
    let history = case.keys.history;
    let ops = || history.txn(txn).ops();
    let keys = ops().map(|op| op.key().index());
    let mut keys: Vec<usize> = keys.filter(|key| *key < history.key_count()).collect();
    // A predicate read has seen each row, and that others are not there.
    if ops().any(|op| op.kind() == OpKind::PredicateRead) {
        keys.extend(case.keys.predicates.keys());
    }
    keys.sort_unstable();
    keys.dedup();
    let start = case.ticks.start_of(txn).known();
    // In commit order a place is greater than all earlier ones of the session.
    let in_order = matches!(case.ordering, Ordering::Commits { .. }) && case.promise.session_order;
    let bound = if in_order { session_bound(case, txn) } else { None };
    Candidate { txn, proved, keys, after: start.max(bound), until: None, reader: None }
}

/// What binds a transaction in its session.
pub(super) fn session_bound(case: &TimedCase<'_>, txn: TxnId) -> Option<Tick> {
    let history = case.keys.history;
    let of = history.txn(txn);
    let before = history.session(of.session())[..of.position()].iter();
    let before = before.filter(|t| case.standings[t.index()] == Standing::Committed);
    before.filter_map(|t| sessions::binds(case, *t)).max()
}

/// The values that an operation observed of a key. A predicate read that did not return the key saw nothing.
fn values_read(case: &TimedCase<'_>, op: OpId, key: usize) -> Vec<Value> {
    let op = case.keys.history.op(op);
    if let Some(rows) = op.result_set() {
        let of_key = rows.filter(|(row, _)| row.index() == key).map(|(_, value)| value);
        let seen: Vec<Value> = of_key.collect();
        return if seen.is_empty() { vec![Value::ABSENT] } else { seen };
    }
    match op.elements() {
        Some(elements) => elements.to_vec(),
        None => what_it_read(&op).into_iter().collect(),
    }
}

/// Whether an operation may have seen something of one of these candidates. What a refused operation saw may be
/// anything.
pub(super) fn may_be_from(
    case: &TimedCase<'_>,
    (op, key): (OpId, usize),
    values: &HashMap<Value, Vec<TxnId>>,
    candidate: impl Fn(&TxnId) -> bool,
) -> bool {
    if case.keys.history.op(op).effect() == Effect::Failed {
        return values.values().flatten().any(candidate);
    }
    let by_them = |value: Value| values.get(&value).is_some_and(|w| w.iter().any(&candidate));
    values_read(case, op, key).into_iter().any(by_them)
}
