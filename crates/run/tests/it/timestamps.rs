//! Timestamps that databases tell: by brute force, what each transaction read is what they say it should have.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use isolde_history::{
    Effect, Format, History, HistoryBuilder, Input, Key, Op, OpKind, Outcome, Source, Timestamp,
    Txn, Value, info, names,
};
use isolde_run::{Controls, Limits, Options, run};
use isolde_spec::Anomaly;
use isolde_target::{OpenOptions, Target, open};
use isolde_workload::{Kind, Settings, Workload, favoured};

use crate::record::server;

/// Few keys, so that transactions are in each other's way.
fn busy(kind: Kind) -> Settings {
    Settings { keys: 6, sessions: 6, rollbacks: 0.05, seed: 5, ..Settings::new(kind) }
}

fn record(target: &Arc<dyn Target>, level: &str, settings: Settings, options: &Options) -> History {
    let offer = target.offers().iter().find(|offer| offer.name == level).unwrap();
    let workload = Workload::new(settings).unwrap();
    let stop = AtomicBool::new(false);
    let mut controls = Controls { stop: &stop, watch: &mut |_| {} };
    let mut tape = HistoryBuilder::new();
    run(target, offer, &workload, options, &mut tape, &mut controls).unwrap();
    tape.finish()
}

fn limited(txns: u64, first_table: u32) -> Options {
    let limits = Limits { txns: Some(txns), ..Limits::default() };
    Options { limits, first_table, ..Options::default() }
}

fn committed(history: &History) -> impl Iterator<Item = Txn<'_>> {
    history.txns().filter(|txn| txn.outcome() == Outcome::Committed)
}

/// What a row holds: the elements of a list, or the one value of a register.
type State = Vec<Value>;

fn initial(history: &History) -> State {
    let value = history.meta().initial.default.unwrap();
    if value == Value::ABSENT { State::new() } else { vec![value] }
}

/// What an operation leaves behind, if it changes anything.
fn written(op: Op<'_>, before: &State) -> Option<State> {
    match op.kind() {
        _ if op.effect() != Effect::Done => None,
        OpKind::Write | OpKind::Cas | OpKind::InsertIfAbsent => Some(vec![op.value()]),
        OpKind::Append => Some(before.iter().copied().chain([op.value()]).collect()),
        _ => None,
    }
}

/// Whether an operation can have seen that.
fn agrees(op: Op<'_>, state: &State) -> bool {
    let done = op.effect() == Effect::Done;
    match op.kind() {
        OpKind::Read if op.value() == Value::ABSENT => state.is_empty(),
        OpKind::Read => *state == [op.value()],
        OpKind::ListRead => op.elements().unwrap() == state.as_slice(),
        OpKind::Cas => (*state == [op.expected().unwrap()]) == done,
        OpKind::InsertIfAbsent => state.is_empty() == done,
        _ => true,
    }
}

/// The versions of each key in the order of their commits.
struct Versions {
    initial: State,
    of: HashMap<Key, Vec<(Timestamp, State)>>,
}

impl Versions {
    fn new(history: &History) -> Versions {
        let mut versions = Versions { initial: initial(history), of: HashMap::new() };
        let mut writers: Vec<Txn<'_>> = committed(history).filter(|txn| writes(*txn)).collect();
        writers.sort_by_key(|txn| txn.commit_ts().unwrap());
        for txn in writers {
            let at = txn.commit_ts().unwrap();
            for op in txn.ops() {
                let before = versions.newest(op.key(), |_| true).clone();
                if let Some(after) = written(op, &before) {
                    let of = versions.of.entry(op.key()).or_default();
                    // Only the last write of a transaction is a version.
                    of.retain(|(other, _)| *other != at);
                    of.push((at, after));
                }
            }
        }
        versions
    }

    /// The newest version of those that were committed at such a time.
    fn newest(&self, key: Key, when: impl Fn(Timestamp) -> bool) -> &State {
        let versions = self.of.get(&key).into_iter().flatten().rev();
        versions.into_iter().find(|(at, _)| when(*at)).map_or(&self.initial, |(_, state)| state)
    }
}

fn writes(txn: Txn<'_>) -> bool {
    txn.ops().any(|op| op.kind().writes() && op.effect() == Effect::Done)
}

/// Whether all operations agree with what `seen` says of a key, and with the transaction's own writes.
fn reads_well(txn: Txn<'_>, seen: impl Fn(Key) -> State) -> bool {
    let mut own: HashMap<Key, State> = HashMap::new();
    txn.ops().all(|op| {
        let state = own.get(&op.key()).cloned().unwrap_or_else(|| seen(op.key()));
        let agrees = agrees(op, &state);
        own.extend(written(op, &state).map(|after| (op.key(), after)));
        agrees
    })
}

/// The rules of snapshot isolation by timestamps that are broken.
fn broken_by_snapshots(history: &History) -> BTreeSet<&'static str> {
    let versions = Versions::new(history);
    let (mut broken, mut ends) = (BTreeSet::new(), HashMap::new());
    for txn in committed(history) {
        let (start, commit) = (txn.start_ts().unwrap(), txn.commit_ts().unwrap());
        if start >= commit {
            broken.insert("timestamps");
        }
        if !reads_well(txn, |key| versions.newest(key, |at| at <= start).clone()) {
            broken.insert("reads");
        }
        let earlier = ends.get(&txn.session()).copied();
        if earlier.is_some_and(|earlier| earlier > start) {
            broken.insert("session");
        }
        ends.insert(txn.session(), earlier.map_or(commit, |earlier| commit.max(earlier)));
    }
    if conflicts(history) {
        broken.insert("conflict");
    }
    broken
}

/// Whether two transactions that wrote the same key overlap.
fn conflicts(history: &History) -> bool {
    let mut spans: HashMap<Key, Vec<(Timestamp, Timestamp)>> = HashMap::new();
    for txn in committed(history) {
        let done = |op: &Op<'_>| op.kind().writes() && op.effect() == Effect::Done;
        let keys: HashSet<Key> = txn.ops().filter(done).map(|op| op.key()).collect();
        for key in keys {
            let span = (txn.start_ts().unwrap(), txn.commit_ts().unwrap());
            spans.entry(key).or_default().push(span);
        }
    }
    let overlap = |a: &(Timestamp, Timestamp), b: &(Timestamp, Timestamp)| a.1 > b.0 && b.1 > a.0;
    spans.values().any(|spans| {
        let pairs = spans.iter().enumerate();
        pairs.into_iter().any(|(i, one)| spans[i + 1..].iter().any(|other| overlap(one, other)))
    })
}

/// The rules of serializability in the order of commits that are broken. Readers stand at `place`.
fn broken_by_order(
    history: &History,
    place: impl Fn(Txn<'_>) -> Timestamp,
) -> BTreeSet<&'static str> {
    let versions = Versions::new(history);
    let (mut broken, mut last) = (BTreeSet::new(), HashMap::new());
    for txn in committed(history).filter(|txn| txn.ops().len() > 0) {
        let writer = writes(txn);
        let place = if writer { txn.commit_ts().unwrap() } else { place(txn) };
        let shown = |at: Timestamp| if writer { at < place } else { at <= place };
        if !reads_well(txn, |key| versions.newest(key, shown).clone()) {
            broken.insert("reads");
        }
        if let Some(earlier) = last.insert(txn.session(), place)
            && (earlier > place || (writer && earlier == place))
        {
            broken.insert("session");
        }
    }
    broken
}

fn nothing() -> BTreeSet<&'static str> {
    BTreeSet::new()
}

/// Whether all transactions that committed, and no others, have both timestamps, and none has another's.
fn are_complete(history: &History) -> bool {
    let mut all = HashSet::new();
    history.txns().all(|txn| match (txn.outcome(), txn.start_ts(), txn.commit_ts()) {
        (Outcome::Committed, Some(start), Some(commit)) => all.insert(start) && all.insert(commit),
        (outcome, start, commit) => {
            outcome != Outcome::Committed && start.is_none() && commit.is_none()
        }
    })
}

#[test]
fn the_faulty_engine_tells_the_truth() {
    for kind in [Kind::General, Kind::Append, Kind::Cas] {
        for level in ["read-committed", "snapshot", "serializable"] {
            let target = server("faulty").unwrap();
            let history = record(&target, level, busy(kind), &limited(2000, 0));
            let what = format!("{kind:?} at {level}");
            assert!(are_complete(&history), "{what}");
            let serial = history.info_text(info::COMMIT_ORDER) == Some(info::SERIAL);
            assert_eq!(serial, level == "serializable", "{what}");
            assert_eq!(history.info(info::READS_AT), None, "{what}");
            if level != "read-committed" {
                assert_eq!(broken_by_snapshots(&history), nothing(), "{what}");
            }
            if serial {
                let order = broken_by_order(&history, |txn| txn.start_ts().unwrap());
                assert_eq!(order, nothing(), "{what}");
            }
        }
    }
}

/// At read committed each statement has a snapshot of its own, which is not told: somewhere between the two.
#[test]
fn reads_of_statements_lie_between_start_and_commit() {
    let target = server("faulty").unwrap();
    let history = record(&target, "read-committed", busy(Kind::General), &limited(2000, 0));
    let versions = Versions::new(&history);
    for txn in committed(&history) {
        let (start, commit) = (txn.start_ts().unwrap(), txn.commit_ts().unwrap());
        let mut own = HashSet::new();
        for op in txn.ops() {
            let during = versions.of.get(&op.key()).into_iter().flatten();
            let mut during = during.filter(|(at, _)| start < *at && *at < commit);
            let at_first = versions.newest(op.key(), |at| at <= start);
            let seen = agrees(op, at_first) || during.any(|(_, state)| agrees(op, state));
            assert!(own.contains(&op.key()) || seen, "{:?}", txn.id());
            if op.kind().writes() {
                own.insert(op.key());
            }
        }
    }
}

/// Which rules a planted anomaly breaks: those of snapshots, if snapshot isolation forbids it.
fn planted_breaks(anomaly: Anomaly) -> &'static [&'static str] {
    match anomaly {
        Anomaly::WriteSkew => &[],
        Anomaly::LostUpdate => &["conflict"],
        Anomaly::SessionGuaranteeViolation => &["session"],
        _ => &["reads"],
    }
}

#[test]
fn planted_anomalies_show_in_timestamps_that_are_true() {
    for anomaly in favoured() {
        let options = OpenOptions { planted: vec![anomaly], ..OpenOptions::default() };
        let target: Arc<dyn Target> = Arc::from(open("faulty", &options).unwrap());
        let settings = Settings { favour: Some(anomaly), ..Settings::new(Kind::Mini) };
        let history = record(&target, "serializable", settings, &limited(12_000, 0));
        let ended = |txn: &Txn<'_>| txn.start_ts().is_some() && txn.commit_ts().is_some();
        assert!(committed(&history).all(|txn| ended(&txn)), "{anomaly}");
        let broken: Vec<&str> = broken_by_snapshots(&history).into_iter().collect();
        assert_eq!(broken, planted_breaks(anomaly), "{anomaly}");
        let order = broken_by_order(&history, |txn| txn.start_ts().unwrap());
        assert!(!order.is_empty(), "{anomaly}");
    }
}

#[test]
fn etcd_tells_the_revision_of_each_commit() {
    let Some(target) = server("etcd") else { return };
    for (level, table) in ["serializable-reads", "strict-serializable"].into_iter().zip(0..) {
        let history = record(&target, level, busy(Kind::General), &limited(500, table));
        assert_eq!(history.info_text(info::COMMIT_ORDER), Some(info::SERIAL), "{level}");
        assert_eq!(history.info_text(info::READS_AT), Some(info::AT_COMMIT), "{level}");
        for txn in history.txns() {
            let told = txn.outcome() == Outcome::Committed && txn.ops().len() > 0;
            assert_eq!((txn.start_ts(), txn.commit_ts().is_some()), (None, told), "{level}");
        }
        assert!(committed(&history).any(writes) && !committed(&history).all(writes), "{level}");
        let order = broken_by_order(&history, |txn| txn.commit_ts().unwrap());
        assert_eq!(order, nothing(), "{level}");
        revisions_are_those_of_writers(&history);
    }
}

/// What a read says of the revision that it saw is what the writer was told.
fn revisions_are_those_of_writers(history: &History) {
    let zero = history.meta().initial.default;
    let mut writers = HashMap::new();
    for txn in committed(history) {
        let wrote = txn.ops().filter(|op| op.kind() == OpKind::Write);
        writers.extend(wrote.map(|op| (op.value(), txn.commit_ts().unwrap().physical)));
    }
    let first = writers.values().copied().min().unwrap();
    let mut told = 0;
    for txn in committed(history) {
        let mut own = HashSet::new();
        for op in txn.ops() {
            let revision = history.op_attr(op.id(), names::REVISION).and_then(Value::as_int);
            if op.kind() == OpKind::Write {
                own.insert(op.key());
                assert_eq!(revision, None);
            } else if own.contains(&op.key()) {
                assert_eq!(revision, None, "its own write has none yet");
            } else if Some(op.value()) == zero {
                assert!(revision.is_some_and(|revision| revision < first));
            } else {
                assert_eq!(revision, writers.get(&op.value()).copied());
                told += 1;
            }
        }
    }
    assert!(told > 0);
}

#[test]
fn timestamps_survive_files() {
    let target = server("faulty").unwrap();
    let history = record(&target, "serializable", busy(Kind::General), &limited(500, 0));
    for name in ["isolde", "jsonl"] {
        let format = Format::named(name).unwrap();
        let mut bytes = Vec::new();
        format.write.unwrap()(&history, &mut bytes).unwrap();
        let source = Source::File(Input::new(format!("run.{name}"), bytes));
        let back = format.load(&source).unwrap().finish();
        back.same_as(&history).unwrap();
        assert!(are_complete(&back), "{name}");
        assert_eq!(back.info_text(info::COMMIT_ORDER), Some(info::SERIAL), "{name}");
    }
}
