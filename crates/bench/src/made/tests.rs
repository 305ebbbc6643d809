//! The simulated database keeps what it promises, and breaks it where it is told to.

use isolde_check::{Options, check};
use isolde_history::{History, OpKind, Outcome, TxnId};
use isolde_spec::{Level, Promise};

use super::pick::Picker;
use super::plan::Workload;
use super::random::Random;
use super::{Database, Distribution, Order, Plan, simulate};

fn plan() -> Plan {
    Plan {
        txns: 2_000,
        sessions: 20,
        keys: 200,
        distribution: Distribution::Uniform,
        exponent: 1.0,
        workload: Workload::Mini,
        database: Database::Serializable,
        order: Order::Completion,
        no_intervals: false,
        aborted: 0.0,
        planted: 0,
        list_length: 16,
        read_out: true,
        seed: 1,
    }
}

fn holds(history: &History, level: Level) -> Option<bool> {
    check(history, Promise::of(level), &Options::default()).holds()
}

/// Every mixture of workload, distribution and order.
fn mixtures() -> impl Iterator<Item = Plan> {
    let choices = [Workload::Mini, Workload::List].into_iter().flat_map(|workload| {
        let orders = [Order::Completion, Order::Session].into_iter();
        orders.flat_map(move |order| Distribution::ALL.map(|d| (workload, order, d)))
    });
    choices.map(|(workload, order, distribution)| Plan { workload, order, distribution, ..plan() })
}

#[test]
fn a_clean_serializable_history_holds_everything() {
    for plan in mixtures() {
        let history = simulate(&plan).unwrap();
        for level in [Level::StrictSerializable, Level::Serializable, Level::SnapshotIsolation] {
            assert_eq!(holds(&history, level), Some(true), "{level}: {plan:?}");
        }
    }
}

#[test]
fn a_clean_snapshot_history_holds_snapshot_isolation() {
    for plan in mixtures() {
        let history = simulate(&Plan { database: Database::Snapshot, ..plan.clone() }).unwrap();
        for level in [Level::StrongSnapshotIsolation, Level::SnapshotIsolation] {
            assert_eq!(holds(&history, level), Some(true), "{level}: {plan:?}");
        }
    }
}

/// Where the last elements of lists are never read, the checker may not know; it must not accuse.
#[test]
fn a_clean_history_of_unread_lists_is_not_accused() {
    for plan in mixtures().filter(|plan| plan.workload == Workload::List) {
        let plan = Plan { read_out: false, ..plan };
        let history = simulate(&plan).unwrap();
        assert_ne!(holds(&history, Level::StrictSerializable), Some(false), "{plan:?}");
        let history = simulate(&Plan { database: Database::Snapshot, ..plan.clone() }).unwrap();
        assert_ne!(holds(&history, Level::StrongSnapshotIsolation), Some(false), "{plan:?}");
    }
}

#[test]
fn snapshots_on_few_keys_are_not_serializable() {
    for workload in [Workload::Mini, Workload::List] {
        let plan = Plan { keys: 20, database: Database::Snapshot, workload, ..plan() };
        let history = simulate(&plan).unwrap();
        assert_eq!(holds(&history, Level::Serializable), Some(false), "{workload:?}");
    }
}

#[test]
fn planted_violations_are_violations() {
    for plan in mixtures() {
        for database in [Database::Serializable, Database::Snapshot] {
            let history = simulate(&Plan { planted: 12, database, ..plan.clone() }).unwrap();
            for level in [Level::Serializable, Level::SnapshotIsolation] {
                assert_eq!(holds(&history, level), Some(false), "{level}: {plan:?}");
            }
        }
    }
}

/// One alone, so that no other can hide that it is none.
#[test]
fn each_kind_of_violation_is_one() {
    for workload in [Workload::Mini, Workload::List] {
        for kind in 0..7 {
            // The seed says which kind is the first.
            let plan = Plan { workload, planted: 1, seed: kind, ..plan() };
            let history = simulate(&plan).unwrap();
            assert_eq!(holds(&history, Level::Serializable), Some(false), "{workload:?} {kind}");
            let expected = Some(kind == 6);
            assert_eq!(holds(&history, Level::SnapshotIsolation), expected, "{workload:?} {kind}");
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_history() {
    for plan in mixtures() {
        let plan = Plan { planted: 10, aborted: 0.5, ..plan };
        let [a, b] = [simulate(&plan).unwrap(), simulate(&plan).unwrap()];
        assert_eq!(a.same_as(&b), Ok(()), "{plan:?}");
        let other = simulate(&Plan { seed: 2, ..plan.clone() }).unwrap();
        assert!(a.same_as(&other).is_err(), "{plan:?}");
    }
}

#[test]
fn the_history_has_what_was_asked_for() {
    let history = simulate(&plan()).unwrap();
    assert_eq!(history.txn_count(), 2_000);
    assert_eq!(history.session_count(), 20);
    assert_eq!(history.key_count(), 200);
    assert!(history.txn_outcomes().iter().all(|o| *o == Outcome::Committed));
    assert!(history.txns().all(|t| (1..=4).contains(&t.ops().len())));
    let aborted = |share| {
        let history = simulate(&Plan { aborted: share, keys: 20, ..plan() }).unwrap();
        assert_eq!(history.txn_count(), 2_000);
        history.txn_outcomes().iter().filter(|o| **o == Outcome::Aborted).count()
    };
    assert!(0 < aborted(0.1) && aborted(0.1) < aborted(1.0));
}

#[test]
fn transactions_overlap_but_not_those_of_a_session() {
    let history = simulate(&plan()).unwrap();
    let interval = |txn: TxnId| {
        let interval = history.txn(txn).interval();
        (interval.begin.unwrap(), interval.end.unwrap())
    };
    for session in 0..history.session_count() as u32 {
        let txns = history.session(isolde_history::SessionId(session));
        assert!(txns.windows(2).all(|w| interval(w[0]).1 < interval(w[1]).0));
    }
    let ids = || (0..history.txn_count() as u32).map(TxnId);
    let overlaps = ids().zip(ids().skip(1)).filter(|(a, b)| interval(*b).0 < interval(*a).1);
    assert!(overlaps.count() > 1_000);
    // A recorder delivers answers as they arrive.
    assert!(ids().zip(ids().skip(1)).all(|(a, b)| interval(a).1 < interval(b).1));
}

#[test]
fn the_order_by_session_has_the_same_transactions() {
    let grouped = simulate(&Plan { order: Order::Session, ..plan() }).unwrap();
    assert!(grouped.txn_sessions().is_sorted());
    assert_eq!(grouped.txn_count(), simulate(&plan()).unwrap().txn_count());
    let ops = |history: &History, session: u32| -> Vec<(OpKind, i64)> {
        let name = super::value(u64::from(session));
        let names = history.pool().session_names();
        let id = names.iter().position(|n| *n == name).unwrap() as u32;
        let txns = history.session(isolde_history::SessionId(id)).iter();
        let ops = txns.flat_map(|t| history.txn(*t).ops());
        ops.map(|op| (op.kind(), op.value().as_int().unwrap())).collect()
    };
    let completion = simulate(&plan()).unwrap();
    assert!((0..20).all(|session| ops(&grouped, session) == ops(&completion, session)));
}

#[test]
fn lists_stay_short() {
    let history = simulate(&Plan { workload: Workload::List, keys: 10, ..plan() }).unwrap();
    let longest = history.ops().filter_map(|op| op.elements()).map(<[_]>::len).max();
    // The last transaction and the reader itself may each add up to four.
    assert!(longest > Some(12) && longest < Some(16 + 8), "{longest:?}");
    assert!(history.key_count() > 50);
}

#[test]
fn picks_follow_the_distribution() {
    let share = |distribution, first: u32| {
        let picker = Picker::new(distribution, 100, 1.0);
        let mut random = Random::new(3);
        let hits = (0..100_000).filter(|_| picker.pick(&mut random) < first).count();
        hits as f64 / 100_000.0
    };
    let near = |a: f64, b: f64| (a - b).abs() < 0.01;
    assert!(near(share(Distribution::Uniform, 20), 0.2));
    assert!(near(share(Distribution::Hotspot, 20), 0.8));
    // One over the hundredth harmonic number.
    assert!(near(share(Distribution::Zipfian, 1), 1.0 / 5.187));
    assert!(near(share(Distribution::Exponential, 100), 1.0));
    assert!(share(Distribution::Exponential, 20) > 0.45);
}

#[test]
fn plans_that_nobody_could_follow_are_refused() {
    for plan in [
        Plan { sessions: 0, ..plan() },
        Plan { keys: 1, ..plan() },
        Plan { list_length: 0, ..plan() },
        Plan { aborted: 1.5, ..plan() },
        Plan { planted: 1_000, ..plan() },
    ] {
        assert!(simulate(&plan).is_err(), "{plan:?}");
    }
}
