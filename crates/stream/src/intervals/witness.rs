//! From what was found to witnesses and a verdict.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};
use isolde_check::{Options, name_of_cycle};
use isolde_history::{History, Key, Op, OpId, Outcome, TxnId, Value};
use isolde_spec::{
    Anomaly, Answer, Because, Counted, Edges, Mechanism, Mirrored, Procedure, Profile, Seen, Step,
    Stretch, StretchOf, Verdict, Witness,
};

use super::breach::{Breach, Broken, Dependency, Tally};
use super::content::{Content, Match, Observed};
use super::sources::{Origin, Sought, is_initial};
use super::span::Span;
use super::tracer::Tracer;
use crate::bodies::TxnRef;
use crate::content::{NameId, name_id};

/// The verdict on a whole history.
pub(super) fn verdict(
    history: &History,
    profile: &Profile,
    found: &[Breach],
    tally: Tally,
    options: &Options,
    share: f64,
) -> Verdict {
    let tracer = Tracer::new(history, profile, 0);
    let explainer = Explainer::new(&tracer, found);
    let (mut counts, mut kept): (BTreeMap<usize, Counted>, Vec<Witness>) = Default::default();
    let mut doubtful = 0;
    for breach in found {
        let Some(witness) = explainer.witness(breach) else {
            doubtful += 1;
            continue;
        };
        let anomaly = witness.anomaly;
        let counted = counts.entry(anomaly.rank()).or_insert_with(|| Counted {
            anomaly,
            count: 0,
            at_least: false,
            positions: Vec::new(),
        });
        counted.count += 1;
        counted.positions.push(witness.position() as u32);
        if counted.count <= options.witnesses.max(1) as u64 {
            kept.push(witness);
        }
    }
    let mut counts: Vec<Counted> = counts.into_values().collect();
    counts.iter_mut().for_each(|counted| counted.positions.sort_unstable());
    kept.sort_by_key(|witness| witness.anomaly.rank());
    let answer = answer(history, kept, doubtful, tally, share);
    let procedure = procedure(profile, tally);
    Verdict { promise: profile.promise(), answer, counts, notes: notes(profile), procedure }
}

fn answer(
    history: &History,
    kept: Vec<Witness>,
    doubtful: u64,
    tally: Tally,
    share: f64,
) -> Answer {
    let unknown = |why: &str| Answer::Unknown(why.to_owned());
    if !kept.is_empty() {
        return Answer::Violated(kept);
    }
    if tally.committed == 0 {
        return unknown("no transaction of the history committed: there is nothing to check");
    }
    if !history.txns().any(|txn| txn.interval().begin.is_some()) {
        return unknown("the history does not say when anything was sent and answered");
    }
    if doubtful > 0 {
        return unknown(
            "the history is incomplete: what its reads show may be the doing of transactions that are missing",
        );
    }
    let all = tally.all();
    let enough = all.of > 0 && all.decided as f64 >= share * all.of as f64;
    Answer::NoViolation { decided: all.decided, of: all.of, enough }
}

pub(super) fn notes(profile: &Profile) -> Vec<String> {
    match profile.known_by {
        isolde_spec::KnownBy::Runs => Vec::new(),
        isolde_spec::KnownBy::Documentation => vec![format!(
            "how {} works is known from its documentation alone: what is told may be the profile's fault",
            profile.name()
        )],
    }
}

pub(super) fn procedure(profile: &Profile, tally: Tally) -> Procedure {
    let before = tally.overlapped;
    Procedure {
        name: "intervals",
        evidence: vec!["client intervals".to_owned(), format!("profile {}", profile.name())],
        why: "when statements were sent and answered says what the server can have done".to_owned(),
        figures: vec![
            ("transactions", tally.txns),
            ("reads", tally.reads.of),
            ("reads decided", tally.reads.decided),
            ("adjacent versions", tally.pairs.of),
            ("adjacent versions decided", tally.pairs.decided),
            ("anti-dependencies", tally.anti.of),
            ("anti-dependencies decided", tally.anti.decided),
            ("overlapping before deduction", before),
            ("overlapping after deduction", tally.all().of - tally.all().decided),
        ],
        places: Vec::new(),
    }
}

/// Makes witnesses of one history.
pub(super) struct Explainer<'t, 'h> {
    history: &'h History,
    tracer: &'t Tracer<'h>,
    /// Whether the writer of what was read may not be there any more.
    forgetful: bool,
    keys: HashMap<NameId, Key>,
    /// The writes of the rows that something was found about.
    writes: HashMap<Key, Vec<OpId>>,
}

impl<'t, 'h> Explainer<'t, 'h> {
    pub(super) fn new(tracer: &'t Tracer<'h>, found: &[Breach]) -> Explainer<'t, 'h> {
        let history = tracer.history();
        let pool = history.pool();
        let (keys, writes) = (HashMap::new(), HashMap::new());
        let mut explainer = Explainer { history, tracer, forgetful: false, keys, writes };
        if found.is_empty() {
            return explainer;
        }
        let names = pool.key_names().iter().enumerate();
        explainer.keys = names.map(|(key, name)| (name_id(pool, *name), Key(key as u32))).collect();
        let read = |breach: &Breach| match &breach.what {
            Broken::Read { row, .. } => explainer.keys.get(row).copied(),
            _ => None,
        };
        let wanted: HashSet<Key> = found.iter().filter_map(read).collect();
        for op in history.ops().filter(|op| op.kind().writes() && wanted.contains(&op.key())) {
            explainer.writes.entry(op.key()).or_default().push(op.id());
        }
        explainer
    }

    /// The same where the writer of what was read may not be there any more.
    pub(super) fn forgetful(self, forgetful: bool) -> Explainer<'t, 'h> {
        Explainer { forgetful, ..self }
    }

    /// What was found, as a witness. Nothing if transactions that are missing may explain it.
    pub(super) fn witness(&self, breach: &Breach) -> Option<Witness> {
        if breach.needs_all() && !self.history.meta().complete {
            return None;
        }
        Some(match &breach.what {
            Broken::Read { row, op, snapshot, possible } => {
                let sought = Sought::of(self.tracer, OpId(*op), *row, *snapshot);
                self.wrong_read(breach, (*op, *row, sought.as_ref()), *snapshot, possible)
            }
            Broken::Own { op, .. } => self.own(breach, *op),
            Broken::Torn { op, others, snapshot, .. } => self.torn(breach, *op, others, *snapshot),
            Broken::Locks { op, held, other, other_op, other_held, .. } => {
                self.locks(breach, [(*op, *held), (*other_op, *other_held)], *other)
            }
            Broken::Range { op, held, is_range, other, other_op, other_held } => {
                let held = [(*op, *held), (*other_op, *other_held)];
                self.range(breach, *other, held, *is_range)
            }
            Broken::BothWrote { op, other, other_op, span, other_span, .. } => {
                self.both_wrote(breach, [(*op, *span), (*other_op, *other_span)], *other)
            }
            Broken::Cycle(steps) => self.cycle(breach, steps),
            Broken::Refused { from, to, dependency } => {
                self.certified(breach, Anomaly::SkippedValidation, &[(*from, *to, *dependency)])
            }
            Broken::Dangerous { first, pivot, last, rows, ops } => {
                let dependency =
                    |at: usize| Dependency { kind: Edges::RW, row: rows[at], ops: ops[at] };
                let steps = [(*first, *pivot, dependency(0)), (*pivot, *last, dependency(1))];
                self.certified(breach, Anomaly::DangerousStructure, &steps)
            }
        })
    }

    fn mirrored(&self, breach: &Breach, mechanism: Mechanism) -> Mirrored {
        Mirrored {
            mechanism,
            txn: breach.txn.txn(),
            opponent: None,
            row: None,
            possible: Vec::new(),
            read: None,
            stretches: Vec::new(),
            semantic: false,
        }
    }

    fn wrong_read(
        &self,
        breach: &Breach,
        (op, row, sought): (u32, NameId, Option<&Sought>),
        snapshot: Option<Span>,
        possible: &[Option<(TxnRef, u32)>],
    ) -> Witness {
        let read = OpId(op);
        let reader = breach.txn.txn();
        let (anomaly, source) = self.name_of_read(sought, reader);
        let row = self.keys.get(&row).copied().unwrap_or(self.history.op(read).key());
        let mut mirrored = self.mirrored(breach, Mechanism::ConsistentRead);
        mirrored.possible = possible.iter().map(|write| self.seen(row, *write)).collect();
        mirrored.read = self.observed(read, row, source);
        let is_predicate = self.history.op(read).kind() == isolde_history::OpKind::PredicateRead;
        mirrored.row = Some(row).filter(|row| is_predicate && *row != Key::NONE);
        mirrored
            .stretches
            .extend(snapshot.map(|span| stretch(reader, Some(read), StretchOf::Snapshot, span)));
        let writers = possible.iter().flatten().map(|(txn, _)| txn.txn());
        let source = source.map(|write| self.history.txn_of(write));
        mirrored.opponent = source;
        let mut support: Vec<TxnId> = source.into_iter().chain(writers).collect();
        support.retain(|txn| *txn != reader);
        dedup(&mut support);
        mirrored.stretches.extend(support.iter().filter_map(|txn| self.commit(*txn)));
        Witness {
            ops: vec![read],
            txns: vec![reader],
            support,
            mirrored: Some(mirrored),
            ..Witness::of(anomaly)
        }
    }

    /// What a read that saw none of its candidates is called, and the write of what it saw.
    fn name_of_read(&self, sought: Option<&Sought>, reader: TxnId) -> (Anomaly, Option<OpId>) {
        let history = self.history;
        let Some(sought) = sought else { return (Anomaly::StaleRead, None) };
        let row = self.keys.get(&sought.row).and_then(|row| self.writes.get(row));
        let writes = row.into_iter().flatten().map(|write| history.op(*write));
        let others: Vec<Op<'h>> =
            writes.filter(|write| history.txn_of(write.id()) != reader).collect();
        match sought.best(self.tracer, others.iter().copied()) {
            Some((Origin::Overwritten, write)) => (Anomaly::StaleRead, Some(write)),
            Some((Origin::TooNew, write)) => (Anomaly::UncommittedVersionRead, Some(write)),
            Some((Origin::Intermediate, write)) => (Anomaly::IntermediateRead, Some(write)),
            Some((Origin::Aborted, write)) => (Anomaly::AbortedRead, Some(write)),
            None if is_initial(self.tracer, sought) => (Anomaly::StaleRead, None),
            None => self.name_by_column(sought, &others),
        }
    }

    /// The same of a row that no write alone left as it was seen: its columns may be of several.
    fn name_by_column(&self, sought: &Sought, writes: &[Op<'h>]) -> (Anomaly, Option<OpId>) {
        let cells = sought.cells();
        let mut name = (Anomaly::StaleRead, None);
        if cells.is_empty() && !self.forgetful {
            // Nobody had written it by then; that somebody did so later helps to understand it.
            let later = sought.ever().best(self.tracer, writes.iter().copied());
            return (Anomaly::ThinAirRead, later.map(|(_, write)| write));
        }
        for cell in cells {
            if is_initial(self.tracer, &cell) {
                continue;
            }
            match cell.best(self.tracer, writes.iter().copied()) {
                None if self.forgetful => {}
                None => return (Anomaly::ThinAirRead, None),
                Some((Origin::TooNew, write)) => {
                    name = (Anomaly::UncommittedVersionRead, Some(write));
                }
                Some((Origin::Aborted, write)) => name = (Anomaly::AbortedRead, Some(write)),
                Some((Origin::Overwritten | Origin::Intermediate, _)) => {}
            }
        }
        name
    }

    fn saw(&self, op: &Op<'_>) -> Option<Observed> {
        let pool = self.history.pool();
        let by_column = self.tracer.by_column();
        match op.kind() {
            isolde_history::OpKind::Cas => Observed::of(pool, op.expected()?, by_column),
            isolde_history::OpKind::InsertIfAbsent => Some(Observed::Absent),
            _ => Observed::read(pool, op, by_column),
        }
    }

    fn is_initial(&self, read: OpId, row: Key) -> bool {
        if row == Key::NONE {
            return false;
        }
        let row = name_id(self.history.pool(), self.history.pool().key_name(row));
        let sought = Sought::of(self.tracer, read, row, None);
        sought.is_some_and(|sought| is_initial(self.tracer, &sought))
    }

    fn own(&self, breach: &Breach, op: u32) -> Witness {
        let (read, reader) = (OpId(op), breach.txn.txn());
        let mut mirrored = self.mirrored(breach, Mechanism::ConsistentRead);
        mirrored.semantic = true;
        let key = self.history.op(read).key();
        let own = self.history.txn(reader).ops().take_while(|op| op.id() < read);
        let own = own.filter(|op| op.key() == key && op.kind().writes());
        let write = own.last().map(|op| op.id());
        mirrored.possible = write.map(|write| self.seen_of(write)).into_iter().collect();
        mirrored.read = self.observed(read, key, None);
        let ops = [Some(read), write].into_iter().flatten().collect();
        Witness {
            ops,
            txns: vec![reader],
            mirrored: Some(mirrored),
            ..Witness::of(Anomaly::NotMyOwnWrite)
        }
    }

    fn torn(&self, breach: &Breach, op: u32, others: &[u32], snapshot: Span) -> Witness {
        let reader = breach.txn.txn();
        let mut mirrored = self.mirrored(breach, Mechanism::ConsistentRead);
        mirrored.stretches.push(stretch(reader, Some(OpId(op)), StretchOf::Snapshot, snapshot));
        let ops: Vec<OpId> = others.iter().chain([&op]).map(|op| OpId(*op)).collect();
        let mut support = Vec::new();
        for read in &ops {
            support.extend(self.source(*read).map(|write| self.history.txn_of(write)));
        }
        support.retain(|txn| *txn != reader);
        dedup(&mut support);
        mirrored.stretches.extend(support.iter().filter_map(|txn| self.commit(*txn)));
        Witness {
            ops,
            txns: vec![reader],
            support,
            mirrored: Some(mirrored),
            ..Witness::of(Anomaly::TornSnapshot)
        }
    }

    fn locks(&self, breach: &Breach, held: [(u32, Span); 2], other: TxnRef) -> Witness {
        let what = (Mechanism::MutualExclusion, StretchOf::Held);
        self.of_two(breach, other, held, what, Anomaly::BrokenLock)
    }

    fn range(
        &self,
        breach: &Breach,
        other: TxnRef,
        held: [(u32, Span); 2],
        is_range: bool,
    ) -> Witness {
        let mut witness = self.locks(breach, held, other);
        let stretches = witness.mirrored.iter_mut().flat_map(|mirrored| &mut mirrored.stretches);
        if let Some(range) = stretches.into_iter().nth(usize::from(!is_range)) {
            range.what = StretchOf::Range;
        }
        witness
    }

    fn both_wrote(&self, breach: &Breach, open: [(u32, Span); 2], other: TxnRef) -> Witness {
        let what = (Mechanism::FirstUpdaterWins, StretchOf::Open);
        self.of_two(breach, other, open, what, Anomaly::ConcurrentWrites)
    }

    fn of_two(
        &self,
        breach: &Breach,
        other: TxnRef,
        spans: [(u32, Span); 2],
        (mechanism, what): (Mechanism, StretchOf),
        anomaly: Anomaly,
    ) -> Witness {
        let txns = [breach.txn.txn(), other.txn()];
        let mut mirrored = self.mirrored(breach, mechanism);
        mirrored.opponent = Some(txns[1]);
        let each = txns.into_iter().zip(spans);
        let each = each.map(|(txn, (op, span))| stretch(txn, self.op(op), what, span));
        mirrored.stretches = each.collect();
        let ops = spans.iter().filter_map(|(op, _)| self.op(*op)).collect();
        Witness { ops, txns: txns.to_vec(), mirrored: Some(mirrored), ..Witness::of(anomaly) }
    }

    fn cycle(&self, breach: &Breach, steps: &[(TxnRef, TxnRef, Dependency)]) -> Witness {
        let steps: Vec<Step> = steps.iter().map(|step| self.step(step)).collect();
        let anomaly = name_of_cycle(self.history, &steps);
        let mirrored = Mirrored { semantic: true, ..self.mirrored(breach, Mechanism::Certifier) };
        let txns = steps.iter().map(|step| step.from).collect();
        Witness { steps, txns, mirrored: Some(mirrored), ..Witness::of(anomaly) }
    }

    fn certified(
        &self,
        breach: &Breach,
        anomaly: Anomaly,
        steps: &[(TxnRef, TxnRef, Dependency)],
    ) -> Witness {
        let mut mirrored = self.mirrored(breach, Mechanism::Certifier);
        let mut txns: Vec<TxnId> =
            steps.iter().flat_map(|(from, to, _)| [from.txn(), to.txn()]).collect();
        dedup(&mut txns);
        mirrored.stretches = txns.iter().filter_map(|txn| self.commit(*txn)).collect();
        let ops = steps.iter().flat_map(|(.., dependency)| [dependency.ops.0, dependency.ops.1]);
        let ops = ops.filter_map(|op| self.op(op)).collect();
        Witness { ops, txns, mirrored: Some(mirrored), ..Witness::of(anomaly) }
    }

    fn step(&self, (from, to, dependency): &(TxnRef, TxnRef, Dependency)) -> Step {
        let because = Because {
            key: self.keys.get(&dependency.row).copied(),
            from_op: self.op(dependency.ops.0),
            to_op: self.op(dependency.ops.1),
            inferred: false,
        };
        Step { from: from.txn(), to: to.txn(), kind: dependency.kind, because }
    }

    fn op(&self, op: u32) -> Option<OpId> {
        ((op as usize) < self.history.op_count()).then_some(OpId(op))
    }

    /// The write of what a read saw, if there is only one.
    fn source(&self, read: OpId) -> Option<OpId> {
        let history = self.history;
        let op = history.op(read);
        let observed = self.saw(&op)?;
        let by_column = self.tracer.by_column();
        let mut same = history.ops().filter(|write| {
            write.kind().writes()
                && write.key() == op.key()
                && Content::written(history.pool(), write, by_column)
                    .is_some_and(|content| content.matches(&observed, |_| None) == Match::Yes)
        });
        let first = same.next()?;
        same.next().is_none().then(|| first.id())
    }

    fn seen(&self, row: Key, write: Option<(TxnRef, u32)>) -> Seen {
        match write.and_then(|(_, op)| self.op(op)) {
            Some(write) => self.seen_of(write),
            None => {
                let first = self.history.meta().initial.of(row);
                let value = first.unwrap_or(Value::ABSENT);
                Seen { value, list: None, write: None, initial: true }
            }
        }
    }

    fn seen_of(&self, write: OpId) -> Seen {
        let op = self.history.op(write);
        let deleted = op.kind() == isolde_history::OpKind::Delete;
        let value = if deleted { Value::ABSENT } else { op.value() };
        Seen { value, list: None, write: Some(write), initial: false }
    }

    fn observed(&self, read: OpId, row: Key, write: Option<OpId>) -> Option<Seen> {
        let op = self.history.op(read);
        let initial = write.is_none() && self.is_initial(read, row);
        let (value, list) = match op.kind() {
            isolde_history::OpKind::ListRead => {
                let elements = op.elements()?;
                let last = elements.last().copied();
                (last.unwrap_or(Value::ABSENT), Some(elements.to_vec()))
            }
            isolde_history::OpKind::Cas => (op.expected()?, None),
            isolde_history::OpKind::InsertIfAbsent => (Value::ABSENT, None),
            isolde_history::OpKind::PredicateRead => {
                let returned = op.result_set()?.find(|(key, _)| *key == row);
                (returned.map_or(Value::ABSENT, |(_, value)| value), None)
            }
            _ => (op.value(), None),
        };
        Some(Seen { value, list, write, initial })
    }

    fn commit_span(&self, txn: TxnId) -> Span {
        self.tracer.trace(txn).commit
    }

    /// When a transaction committed, if it may have.
    fn commit(&self, txn: TxnId) -> Option<Stretch> {
        let committed = self.history.txn(txn).outcome() != Outcome::Aborted;
        committed.then(|| stretch(txn, None, StretchOf::Commit, self.commit_span(txn)))
    }
}

fn stretch(txn: TxnId, op: Option<OpId>, what: StretchOf, span: Span) -> Stretch {
    let from = (span.sent > i64::MIN).then_some(span.sent);
    let until = (span.answered < i64::MAX).then_some(span.answered);
    Stretch { txn, op, what, from, until }
}

/// Each once, where it stands first.
fn dedup(txns: &mut Vec<TxnId>) {
    let mut known = HashSet::new();
    txns.retain(|txn| known.insert(*txn));
}
