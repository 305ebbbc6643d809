//! Simulated timestamps tell the truth, unless they are told to lie.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, HashSet};

use isolde_check::{Options, check};
use isolde_history::{History, HistoryBuilder, HistoryPart, Key, Outcome, Timestamp, Value, info};
use isolde_spec::{Level, Promise};
use isolde_workload::simulate::{
    Database, Plan, PlantedFault, TimestampFault, TimestampStyle, Timestamps, simulate,
};
use isolde_workload::{Distribution, Kind, Settings};

use crate::rules::{Rule, serial, snapshot, wrote};

fn plan(kind: Kind, database: Database) -> Plan {
    let workload = Settings { sessions: 20, seed: 1, ..Settings::new(kind) };
    let timestamps = Some(Timestamps::default());
    let read_out = kind == Kind::Append;
    Plan { workload, database, txns: 600, timestamps, read_out, aborted: 0.5, ..Plan::default() }
}

/// The same with other timestamps.
fn stamped(plan: Plan, timestamps: Timestamps) -> Plan {
    Plan { timestamps: Some(timestamps), ..plan }
}

fn made(plan: &Plan) -> History {
    let mut builder = HistoryBuilder::new();
    simulate(plan, &mut builder).unwrap_or_else(|e| panic!("{e}: {plan:?}"));
    builder.finish()
}

/// Every kind, on all keys and on few, all sessions at a time and one after another.
fn plans(database: Database) -> Vec<Plan> {
    let mut plans = Vec::new();
    for kind in Kind::ALL {
        for concurrency in [100.0, 20.0, 1.0] {
            for seed in 0..3 {
                let mut plan = Plan { concurrency, ..plan(kind, database) };
                plan.workload.seed = seed;
                plan.workload.rollbacks = 0.1;
                if seed == 1 && kind != Kind::Tpcc {
                    plan.workload.distribution = Distribution::Zipf(1.0);
                }
                plans.push(plan);
            }
        }
    }
    plans
}

#[test]
fn a_snapshot_database_keeps_every_rule() {
    for plan in plans(Database::Snapshot) {
        let history = made(&plan);
        assert_eq!(snapshot(&history), BTreeMap::new(), "{plan:?}");
        assert_eq!(history.info(info::COMMIT_ORDER), None);
    }
}

/// Blind writers of a key may overlap there: the rules of snapshot isolation are kept but for that.
#[test]
fn a_serializable_database_commits_in_a_serial_order() {
    for plan in plans(Database::Serializable) {
        let history = made(&plan);
        assert_eq!(serial(&history), BTreeMap::new(), "{plan:?}");
        let rules = snapshot(&history);
        assert!(rules.keys().all(|rule| *rule == Rule::Overlap), "{rules:?} {plan:?}");
        let blind = !matches!(plan.workload.kind, Kind::Mini | Kind::Cas);
        assert!(blind || rules.is_empty(), "{rules:?} {plan:?}");
        let order = history.info(info::COMMIT_ORDER).unwrap();
        assert_eq!(history.pool().as_text(order), Some(info::SERIAL));
    }
}

#[test]
fn weaker_databases_show_what_they_do() {
    for database in [Database::ReadCommitted, Database::Prefix] {
        let mut plan = plan(Kind::Mini, database);
        plan.workload.keys = 20;
        let history = made(&plan);
        let rules = snapshot(&history);
        let sees = rules.contains_key(&Rule::Sees);
        assert!(rules.contains_key(&Rule::Overlap), "{database:?}");
        assert_eq!(sees, database == Database::ReadCommitted);
        assert!(!rules.contains_key(&Rule::SessionOrder) && !rules.contains_key(&Rule::Tie));
        assert_eq!(history.info(info::COMMIT_ORDER), None);
    }
}

#[test]
fn every_transaction_has_the_timestamps_of_its_outcome() {
    for kind in Kind::ALL {
        let history = made(&plan(kind, Database::Serializable));
        let (mut all, mut readers) = (HashSet::new(), [0; 3]);
        for txn in history.txns() {
            let start = txn.start_ts().unwrap();
            match (txn.outcome(), txn.commit_ts()) {
                (Outcome::Committed, Some(commit)) if wrote(&txn) => {
                    assert!(start < commit && all.insert(start) && all.insert(commit));
                }
                (Outcome::Committed, None) => readers[0] += 1,
                (Outcome::Committed, Some(commit)) if commit == start => readers[1] += 1,
                (Outcome::Committed, Some(_)) => readers[2] += 1,
                (_, commit) => assert_eq!(commit, None),
            }
            // The database's interval lies within the client's.
            let interval = txn.interval();
            assert!(interval.begin.unwrap() * 2 <= start.physical, "{kind:?}");
            let commit = txn.commit_ts().unwrap_or(start);
            assert!(commit.physical <= interval.end.unwrap() * 2);
        }
        let only_reads = readers.iter().sum::<usize>();
        assert!(only_reads < 10 || readers.iter().all(|n| *n > 0), "{kind:?} {readers:?}");
    }
}

#[test]
fn every_reader_has_a_commit_timestamp_where_that_is_asked_for() {
    let all = Timestamps { readers_commit: true, ..Timestamps::default() };
    let plan = stamped(plan(Kind::Mini, Database::Snapshot), all);
    let history = made(&Plan { only_committed: true, ..plan.clone() });
    assert!(history.txns().all(|txn| txn.commit_ts().is_some()));
    assert!(history.txn_outcomes().iter().all(|o| *o == Outcome::Committed));
    assert!(made(&plan).txn_count() > history.txn_count());
}

/// The same history but for how timestamps are written.
#[test]
fn hybrid_timestamps_are_in_the_same_order() {
    let plain = plan(Kind::General, Database::Snapshot);
    let style = TimestampStyle::Hybrid;
    let hybrid = made(&stamped(plain.clone(), Timestamps { style, ..Timestamps::default() }));
    assert_eq!(snapshot(&hybrid), BTreeMap::new());
    let all = |history: &History| -> Vec<Timestamp> {
        history.txns().flat_map(|t| [t.start_ts(), t.commit_ts()]).flatten().collect()
    };
    let (plain, hybrid) = (all(&made(&plain)), all(&hybrid));
    assert!(hybrid.iter().any(|t| t.logical > 0));
    assert!(plain.iter().zip(&hybrid).all(|(a, b)| a.physical == b.physical * 64 + b.logical));
}

/// What was not asked for is not there, and the rest of the history is the same.
#[test]
fn a_history_without_timestamps_is_otherwise_the_same() {
    for kind in Kind::ALL {
        let with = plan(kind, Database::Serializable);
        let without = made(&Plan { timestamps: None, ..with.clone() });
        assert!(without.txns().all(|t| t.start_ts().is_none() && t.commit_ts().is_none()));
        let values = |history: &History| -> Vec<(Key, Value)> {
            history.ops().map(|op| (op.key(), op.value())).collect()
        };
        assert_eq!(values(&without), values(&made(&with)), "{kind:?}");
    }
}

#[test]
fn clocks_that_are_off_break_the_rules() {
    for kind in [Kind::Mini, Kind::Append] {
        let mut plan = plan(kind, Database::Snapshot);
        plan.workload.keys = 20;
        let drift = |drift| Timestamps { drift, ..Timestamps::default() };
        assert_eq!(snapshot(&made(&stamped(plan.clone(), drift(0)))).len(), 0);
        let history = made(&stamped(plan.clone(), drift(100)));
        assert!(snapshot(&history).contains_key(&Rule::Sees), "{kind:?}");
        assert!(history.txns().all(|txn| txn.start_ts().unwrap().physical > 0));
        // Each session still has a clock that goes on.
        assert!(!snapshot(&history).contains_key(&Rule::SessionOrder));
        assert_eq!(history.same_as(&made(&stamped(plan, drift(100)))), Ok(()));
    }
}

fn planted(fault: Option<TimestampFault>, count: u64) -> Timestamps {
    Timestamps { planted: vec![PlantedFault { fault, count }], ..Timestamps::default() }
}

/// One alone, in every kind: a rule is broken, and nothing else than what the fault is about.
#[test]
fn each_fault_breaks_a_rule_of_timestamps() {
    for kind in Kind::ALL {
        for fault in TimestampFault::ALL {
            for database in [Database::Snapshot, Database::Serializable] {
                let history = made(&stamped(plan(kind, database), planted(Some(fault), 1)));
                let what = format!("{kind:?} {} {database:?}", fault.name());
                let serial = serial(&history);
                if database == Database::Serializable {
                    assert_eq!(
                        !serial.is_empty(),
                        fault.breaks_serial_order(),
                        "{what} {serial:?}"
                    );
                    continue;
                }
                let rules = snapshot(&history);
                let expected: &[Rule] = match fault {
                    TimestampFault::StartEarly
                    | TimestampFault::StartLate
                    | TimestampFault::CommitEarly
                    | TimestampFault::StaleRead
                    | TimestampFault::EarlyRead => &[Rule::Sees],
                    TimestampFault::CommitLate => &[Rule::Sees, Rule::Overlap],
                    TimestampFault::Swapped => &[Rule::Backwards, Rule::Sees],
                    TimestampFault::Duplicated => &[Rule::Sees, Rule::Overlap, Rule::Tie],
                    TimestampFault::OverlappingWriters if kind == Kind::Cas => {
                        &[Rule::Sees, Rule::Overlap]
                    }
                    TimestampFault::OverlappingWriters => &[Rule::Overlap],
                    TimestampFault::SessionOverlap => &[Rule::SessionOrder],
                };
                assert_eq!(rules.into_keys().collect::<Vec<_>>(), expected, "{what}");
            }
        }
    }
}

/// Without the timestamps nothing is wrong: the values are those of a strict serializable database.
#[test]
fn values_do_not_show_faulty_timestamps() {
    for kind in [Kind::Mini, Kind::Append, Kind::Cas] {
        for fault in TimestampFault::ALL {
            let plan = Plan { txns: 200, ..plan(kind, Database::Serializable) };
            let history = made(&stamped(plan, planted(Some(fault), 5)));
            let values = history.without(&[HistoryPart::Timestamps]).unwrap();
            let verdict =
                check(&values, Promise::of(Level::StrictSerializable), &Options::default());
            assert_eq!(verdict.holds(), Some(true), "{kind:?} {}", fault.name());
        }
    }
}

#[test]
fn faults_are_planted_as_many_as_asked_for_and_in_turn() {
    let plan = plan(Kind::Mini, Database::Snapshot);
    let mut builder = HistoryBuilder::new();
    let done = simulate(&stamped(plan.clone(), planted(None, 30)), &mut builder).unwrap();
    assert_eq!(done.planted, 30);
    let rules = snapshot(&builder.finish());
    for rule in [Rule::Backwards, Rule::Sees, Rule::SessionOrder, Rule::Overlap, Rule::Tie] {
        assert!(rules[&rule] >= 3, "{rules:?}");
    }
    let alone = Plan { concurrency: 1.0, ..plan.clone() };
    let refused = |plan: &Plan| simulate(plan, &mut HistoryBuilder::new()).unwrap_err().to_string();
    let stale = stamped(alone.clone(), planted(Some(TimestampFault::StaleRead), 1));
    assert!(refused(&stale).contains("stale-read cannot be planted"));
    // What needs one session can be planted all the same.
    assert!(!snapshot(&made(&stamped(alone, planted(None, 1)))).is_empty());
    assert!(refused(&stamped(plan, planted(None, 500))).contains("one in eight"));
}

#[test]
fn faults_are_read_by_name_and_count() {
    let read = |fault, count| Ok(PlantedFault { fault, count });
    assert_eq!("7".parse(), read(None, 7));
    assert_eq!("swapped:3".parse(), read(Some(TimestampFault::Swapped), 3));
    for fault in TimestampFault::ALL {
        assert_eq!(fault.name().parse(), read(Some(fault), 1));
    }
    for text in ["", "nothing", "swapped:", "swapped:many", "-1"] {
        assert!(text.parse::<PlantedFault>().is_err(), "{text}");
    }
}
