//! What the record of a run on PostgreSQL says of snapshots, of the order of versions, and of commits without an
//! answer.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use isolde_history::{
    Effect, History, HistoryBuilder, Key, LockMode, LostCommit, OpKind, Outcome, Snapshot, Txn,
    Value, names,
};
use isolde_run::{Controls, Fault, Limits, Options, Ran, run};
use isolde_target::{OpenOptions, Show, Target, open};
use isolde_workload::{Kind, Settings, Workload};

use crate::record::server;

/// A server that shows snapshots; nothing if it is not installed here.
fn shown(options: OpenOptions) -> Option<Arc<dyn Target>> {
    server("postgres")?;
    let timeout = Duration::from_secs(8);
    let options = OpenOptions { show: Some(Show::Snapshots), timeout, ..options };
    Some(Arc::from(open("postgres", &options).unwrap()))
}

fn record(target: &Arc<dyn Target>, level: &str, kind: Kind, options: &Options) -> (Ran, History) {
    let offer = target.offers().iter().find(|offer| offer.name == level).unwrap();
    let settings =
        Settings { keys: 6, sessions: 6, rollbacks: 0.05, seed: 5, ..Settings::new(kind) };
    let workload = Workload::new(settings).unwrap();
    let stop = AtomicBool::new(false);
    let mut controls = Controls { stop: &stop, watch: &mut |_| {} };
    let mut tape = HistoryBuilder::new();
    let ran = run(target, offer, &workload, options, &mut tape, &mut controls).unwrap();
    (ran, tape.finish())
}

fn int(history: &History, txn: Txn<'_>, name: &str) -> Option<i64> {
    txn.attr(name).map(|value| i64::try_from(history.pool().as_wide_int(value).unwrap()).unwrap())
}

/// The key's values of which committed transactions left a version, and all elements of lists.
fn versions(history: &History) -> HashMap<Key, HashSet<Value>> {
    let mut versions: HashMap<Key, HashSet<Value>> = HashMap::new();
    for txn in history.txns().filter(|txn| txn.outcome() == Outcome::Committed) {
        let mut last: HashMap<Key, Value> = HashMap::new();
        for op in txn.ops().filter(|op| op.kind().writes() && op.effect() == Effect::Done) {
            match op.kind() {
                OpKind::Append => drop(versions.entry(op.key()).or_default().insert(op.value())),
                _ => drop(last.insert(op.key(), op.value())),
            }
        }
        for (key, value) in last {
            versions.entry(key).or_default().insert(value);
        }
    }
    versions
}

/// Whether the snapshot of each writer of a key shows the one before it.
fn is_in_order(history: &History, key: Key, order: &[Value]) -> bool {
    let writer = |value: &Value| {
        let wrote = |txn: &Txn<'_>| {
            txn.outcome() == Outcome::Committed
                && txn.ops().any(|o| o.kind().writes() && o.key() == key && o.value() == *value)
        };
        history.txns().find(wrote).unwrap()
    };
    let writers: Vec<Txn<'_>> = order.iter().map(writer).collect();
    writers.windows(2).all(|pair| {
        pair[0].id() == pair[1].id()
            || pair[1].snapshot().unwrap().shows(int(history, pair[0], names::XID).unwrap())
    })
}

/// At READ COMMITTED each plain read has read from a snapshot of its own: the newest version that it shows is
/// what the read returned, if nobody wrote the key before in the same transaction.
fn has_snapshots_of_statements(history: &History) {
    let mut snapshots: Vec<Snapshot> = Vec::new();
    for txn in history.txns().filter(|txn| txn.outcome() == Outcome::Committed) {
        assert!(txn.attr(names::SNAPSHOT).is_none());
        for stmt in txn.stmts() {
            let reads = stmt.ops().all(|op| !op.kind().writes());
            let locks = stmt.lock().is_some_and(|mode| mode != LockMode::None);
            assert!(!reads || locks || stmt.snapshot().is_some(), "{:?}", txn.id());
            snapshots.extend(stmt.snapshot());
        }
    }
    assert!(snapshots.iter().any(|snapshot| !snapshot.in_progress.is_empty()));
}

#[test]
fn snapshots_order_all_versions_where_transactions_read_from_one() {
    let Some(target) = shown(OpenOptions::default()) else { return };
    let mut first_table = 0;
    for kind in [Kind::Mini, Kind::General, Kind::Append, Kind::Register] {
        for level in ["read-committed", "repeatable-read", "serializable"] {
            let limits = Limits { txns: Some(400), ..Limits::default() };
            let options = Options { limits, first_table, ..Options::default() };
            let (ran, history) = record(&target, level, kind, &options);
            first_table += ran.tables;
            assert!(ran.progress.committed > 0 && ran.notices.is_empty(), "{:?}", ran.notices);
            let orders: HashMap<Key, &[Value]> =
                history.version_orders().iter().map(|(k, v)| (*k, v.as_slice())).collect();
            for txn in history.txns().filter(|txn| txn.outcome() == Outcome::Committed) {
                let wrote = txn.ops().any(|op| op.kind().writes() && op.effect() == Effect::Done);
                assert_eq!(int(&history, txn, names::XID).is_some(), wrote, "{level} {kind:?}");
                assert_eq!(txn.attr(names::RESTART), None);
            }
            if level == "read-committed" {
                assert!(orders.is_empty());
                has_snapshots_of_statements(&history);
                continue;
            }
            let versions = versions(&history);
            assert_eq!(orders.len(), versions.len(), "{level} {kind:?}");
            for (key, versions) in versions {
                let order = orders[&key];
                assert_eq!(order.iter().copied().collect::<HashSet<_>>(), versions);
                assert_eq!(order.len(), versions.len());
                assert!(is_in_order(&history, key, order), "{level} {kind:?}");
            }
        }
    }
}

/// Connections break all the time, and the server is killed: all that is recorded as committed is there, the
/// rest never is, and nearly nothing stays unknown.
#[test]
fn commits_without_an_answer_are_resolved() {
    let open = OpenOptions { relayed: true, durable: true, ..OpenOptions::default() };
    let Some(target) = shown(open) else { return };
    let faults = ["drop:every=20ms", "kill:at=1500ms"].map(|fault| fault.parse::<Fault>().unwrap());
    let limits = Limits { duration: Some(Duration::from_secs(4)), ..Limits::default() };
    let patience = Duration::from_secs(20);
    let options = Options { limits, patience, faults: faults.to_vec(), ..Options::default() };
    let (ran, history) = record(&target, "serializable", Kind::Append, &options);
    assert!(ran.notices.is_empty() && ran.gave_up.is_empty(), "{ran:?}");
    let count = |outcome| history.txns().filter(|t| t.outcome() == outcome).count() as u64;
    assert_eq!(count(Outcome::Committed), ran.progress.committed);
    assert_eq!(count(Outcome::Unknown), ran.progress.unknown);
    assert!(ran.progress.resolved > 0, "{:?}", ran.progress);
    // A server that keeps what it has confirmed loses nothing.
    assert_eq!(history.lost_commits().count(), 0);
    assert!(history.txns().any(|txn| int(&history, txn, names::RESTART) == Some(1)));
    let known = |txn: &Txn<'_>| txn.outcome() != Outcome::Unknown;
    assert!(history.txns().filter(known).all(|txn| txn.interval().end.is_some()));
    // What was read was written by one that committed, or whose outcome stayed unknown.
    let aborted: HashSet<(Key, Value)> = history
        .txns()
        .filter(|txn| txn.outcome() == Outcome::Aborted)
        .flat_map(|txn| {
            txn.ops()
                .filter(|o| o.kind() == OpKind::Append)
                .map(|o| (o.key(), o.value()))
                .collect::<Vec<_>>()
        })
        .collect();
    for txn in history.txns().filter(|txn| txn.outcome() == Outcome::Committed) {
        for op in txn.ops().filter(|op| op.kind() == OpKind::ListRead) {
            let read = op.elements().unwrap_or_default();
            assert!(read.iter().all(|v| !aborted.contains(&(op.key(), *v))), "{:?}", txn.id());
        }
    }
}

/// A server that does not keep what it confirms: what it has lost is recorded, and what it says of the order of
/// versions is kept off those keys.
#[test]
fn lost_commits_are_recorded() {
    let settings = vec![("wal_writer_delay".to_owned(), "10s".to_owned())];
    let Some(target) = shown(OpenOptions { settings, ..OpenOptions::default() }) else { return };
    let fault = "kill:at=700ms".parse::<Fault>().unwrap();
    let limits = Limits { duration: Some(Duration::from_secs(3)), ..Limits::default() };
    let patience = Duration::from_secs(20);
    let options = Options { limits, patience, faults: vec![fault], ..Options::default() };
    let (ran, history) = record(&target, "repeatable-read", Kind::Register, &options);
    assert!(ran.notices.is_empty(), "{:?}", ran.notices);
    let by_number = |lost| match lost {
        LostCommit::ByXid { restart, xid } => (restart.into(), xid),
        LostCommit::ByValue { .. } => unreachable!("{lost:?}"),
    };
    let lost: HashSet<(i64, i64)> = history.lost_commits().map(by_number).collect();
    assert!(!lost.is_empty() && history.faults().count() == 1);
    let is_lost = |txn: &Txn<'_>| {
        let restart = int(&history, *txn, names::RESTART).unwrap_or(0);
        int(&history, *txn, names::XID).is_some_and(|xid| lost.contains(&(restart, xid)))
    };
    let found: Vec<_> = history.txns().filter(is_lost).collect();
    assert_eq!(found.len(), lost.len());
    assert!(found.iter().all(|txn| txn.outcome() == Outcome::Committed));
    let keys: HashSet<Key> = found
        .iter()
        .flat_map(|txn| {
            txn.ops().filter(|o| o.kind().writes()).map(|o| o.key()).collect::<Vec<_>>()
        })
        .collect();
    assert!(history.version_orders().iter().all(|(key, _)| !keys.contains(key)));
}
