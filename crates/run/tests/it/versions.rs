//! Version orders and lost commits, as MariaDB and etcd show them: by brute force, what the record says of them is what
//! the transactions of the record left behind.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use isolde_history::{
    Effect, History, HistoryBuilder, Key, LostCommit, OpKind, Outcome, Txn, Value,
};
use isolde_run::{Controls, Limits, Options, Ran, run};
use isolde_target::{Mishap, OpenOptions, Show, Target, open};
use isolde_workload::{Kind, Settings, Workload};

/// A server that shows all versions, with these settings; nothing if it is not installed here.
fn server(name: &str, settings: &[(&str, &str)]) -> Option<Arc<dyn Target>> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let settings = settings.iter().map(own).collect();
    let (show, timeout) = (Some(Show::Versions), Duration::from_secs(8));
    let options = OpenOptions { show, timeout, settings, durable: true, ..OpenOptions::default() };
    match open(name, &options) {
        Ok(target) => Some(Arc::from(target)),
        Err(error) if error.to_string().contains("install") => {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{error}");
            eprintln!("\n*** SKIPPED: no {name} here: {error} ***\n");
            None
        }
        Err(error) => panic!("{name} does not start: {error}"),
    }
}

fn record(
    target: &Arc<dyn Target>,
    level: &str,
    settings: Settings,
    options: &Options,
) -> (Ran, History) {
    let offer = target.offers().iter().find(|offer| offer.name == level).unwrap();
    let workload = Workload::new(settings).unwrap();
    let stop = AtomicBool::new(false);
    let mut controls = Controls { stop: &stop, watch: &mut |_| {} };
    let mut tape = HistoryBuilder::new();
    let ran = run(target, offer, &workload, options, &mut tape, &mut controls).unwrap();
    (ran, tape.finish())
}

/// What a transaction left behind under each key, oldest first: one value, or what it appended.
fn left_behind(txn: Txn<'_>) -> HashMap<Key, Vec<Value>> {
    let mut left: HashMap<Key, Vec<Value>> = HashMap::new();
    for op in txn.ops().filter(|op| op.effect() == Effect::Done) {
        match op.kind() {
            OpKind::Append => left.entry(op.key()).or_default().push(op.value()),
            OpKind::Write | OpKind::Cas | OpKind::InsertIfAbsent => {
                left.insert(op.key(), vec![op.value()]);
            }
            _ => {}
        }
    }
    left
}

/// Whether every key that was written has an order of all that was left behind, and of nothing else.
fn orders_are_whole(history: &History, what: &str) {
    let mut left: HashMap<Key, HashSet<Value>> = HashMap::new();
    for txn in history.txns().filter(|txn| txn.outcome() == Outcome::Committed) {
        left_behind(txn)
            .into_iter()
            .for_each(|(key, all)| left.entry(key).or_default().extend(all));
    }
    let orders: HashMap<Key, &Vec<Value>> =
        history.version_orders().iter().map(|(key, order)| (*key, order)).collect();
    // Lists show the order of their elements themselves.
    if what.ends_with("append") {
        return assert!(orders.is_empty(), "{what}");
    }
    assert_eq!(orders.len(), left.len(), "{what}");
    for (key, values) in left {
        let order = orders[&key];
        assert_eq!(order.iter().copied().collect::<HashSet<_>>(), values, "{what}");
        assert_eq!(order.len(), values.len(), "{what}: nothing twice");
    }
}

#[test]
fn every_key_has_an_order_at_every_level_of_mariadb() {
    every_key_has_an_order("mariadb");
}

#[test]
fn every_key_has_an_order_at_every_level_of_etcd() {
    every_key_has_an_order("etcd:1");
}

fn every_key_has_an_order(name: &str) {
    let Some(target) = server(name, &[]) else { return };
    let mut first_table = 0;
    for offer in target.offers() {
        for kind in [Kind::Register, Kind::General, Kind::Append, Kind::Cas] {
            // Several rounds: tables are read before they are dropped.
            let (rollbacks, round) = (0.05, 100);
            let settings =
                Settings { keys: 6, sessions: 6, rollbacks, round, seed: 5, ..Settings::new(kind) };
            let limits = Limits { txns: Some(800), ..Limits::default() };
            let options = Options { limits, first_table, ..Options::default() };
            let (ran, history) = record(&target, offer.name, settings, &options);
            first_table += ran.tables;
            let what = format!("{} {}", offer.name, kind.name());
            let shown = ran.versions.unwrap();
            assert_eq!((shown.why_unordered, shown.unread, shown.lost), (None, None, 0), "{what}");
            assert!(
                shown.ordered > 6 && shown.versions > shown.ordered,
                "{what}: {}",
                shown.ordered
            );
            orders_are_whole(&history, &what);
        }
    }
}

/// Runs for a while on a server that is killed again and again.
fn killed(settings: &[(&str, &str)]) -> Option<(Ran, History)> {
    let target = server("mariadb", settings)?;
    let limits = Limits { duration: Some(Duration::from_secs(4)), ..Limits::default() };
    let faults = vec!["kill:every=900ms".parse().unwrap()];
    let patience = Duration::from_secs(30);
    let options = Options { limits, faults, patience, ..Options::default() };
    let settings = Settings { sessions: 6, seed: 5, ..Settings::new(Kind::Mini) };
    let (ran, history) = record(&target, "serializable", settings, &options);
    assert!(!ran.faults.is_empty());
    let shown = ran.versions.as_ref().unwrap();
    assert_eq!(shown.lost, history.lost_commits().count() as u64);
    assert_eq!((&shown.why_unordered, &shown.unread), (&None, &None));
    Some((ran, history))
}

#[test]
fn a_server_that_does_not_flush_its_log_loses_commits_when_it_is_killed() {
    let Some((ran, history)) = killed(&[("innodb-flush-log-at-trx-commit", "0")]) else { return };
    let lost: HashSet<(Value, Value)> = history
        .lost_commits()
        .map(|lost| match lost {
            LostCommit::ByValue { key, value, .. } => (key, value),
            LostCommit::ByXid { .. } => panic!("{lost:?}"),
        })
        .collect();
    assert!(!lost.is_empty(), "{:?}", ran.faults);
    // Each of them was confirmed, and is in no order.
    let found: HashSet<Value> =
        history.version_orders().iter().flat_map(|(_, order)| order.iter().copied()).collect();
    let confirmed = history.txns().filter(|txn| txn.outcome() == Outcome::Committed);
    let name = |key: Key| history.pool().key_name(key);
    let gone = confirmed.flat_map(|txn| {
        let left = left_behind(txn).into_iter();
        left.map(|(key, all)| (name(key), all[0]))
            .filter(|(_, v)| !found.contains(v))
            .collect::<Vec<_>>()
    });
    let gone: HashSet<(Value, Value)> = gone.collect();
    assert!(lost.iter().all(|one| gone.contains(one)), "{} of {}", gone.len(), lost.len());
}

#[test]
fn a_durable_server_loses_nothing_when_it_is_killed() {
    let Some((ran, history)) = killed(&[]) else { return };
    assert_eq!(ran.versions.unwrap().lost, 0);
    assert!(!history.version_orders().is_empty());
}

/// etcd is put back to what it was a while ago, as by an operator with a backup: what it had confirmed since is lost.
#[test]
fn etcd_that_is_put_back_has_lost_commits() {
    let Some(target) = server("etcd:1", &[]) else { return };
    let folder = target.throwaway().unwrap().folder;
    let copy = |from: &str, to: &str| {
        let mut command = std::process::Command::new("cp");
        assert!(
            command
                .arg("-a")
                .args([folder.join(from), folder.join(to)])
                .status()
                .unwrap()
                .success()
        );
    };
    let limits = Limits { duration: Some(Duration::from_secs(4)), ..Limits::default() };
    let patience = Duration::from_secs(30);
    let options = Options { limits, patience, ..Options::default() };
    let settings = Settings { sessions: 4, seed: 5, ..Settings::new(Kind::Register) };
    let (ran, history) = std::thread::scope(|scope| {
        scope.spawn(|| {
            let node = target.nodes()[0];
            std::thread::sleep(Duration::from_millis(800));
            node.harm(Mishap::Stop).unwrap();
            copy("data", "backup");
            node.mend().unwrap();
            std::thread::sleep(Duration::from_millis(800));
            node.harm(Mishap::Stop).unwrap();
            std::fs::remove_dir_all(folder.join("data")).unwrap();
            copy("backup", "data");
            node.mend().unwrap();
        });
        record(&target, "strict-serializable", settings, &options)
    });
    let shown = ran.versions.unwrap();
    assert_eq!((shown.why_unordered, shown.unread), (None, None));
    assert!(shown.lost > 0 && shown.lost == history.lost_commits().count() as u64);
}
