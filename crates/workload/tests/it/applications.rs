//! Workloads that imitate applications, and the mix of the papers: shares, lengths, rows.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use isolde_history::{HistoryBuilder, OpKind, Outcome};
use isolde_workload::simulate::{Database, Plan, simulate};
use isolde_workload::{Distribution, Kind, Settings, Step, TxnPlan, Workload};

const COUNT: usize = 20_000;
const APPLICATIONS: [Kind; 3] = [Kind::Twitter, Kind::Rubis, Kind::Tpcc];

fn plans(settings: &Settings, session: u32) -> Vec<TxnPlan> {
    let workload = Workload::new(settings.clone()).unwrap();
    let mut script = workload.script(session);
    let mut plan = TxnPlan::default();
    let next = |_| {
        script.next(&mut plan);
        plan.clone()
    };
    (0..COUNT).map(next).collect()
}

#[track_caller]
fn near(measured: f64, expected: f64) {
    assert!((measured - expected).abs() < 0.015, "{measured} instead of {expected}");
}

/// What a transaction does, without its rows: `r` and `w`.
fn shape(plan: &TxnPlan) -> String {
    let word = |step: &Step| if step.kind == OpKind::Read { 'r' } else { 'w' };
    plan.steps.iter().map(word).collect()
}

/// Which transaction of the application it is, by its shape and its rows.
fn name(kind: Kind, plan: &TxnPlan) -> &'static str {
    let (shape, rows) = (shape(plan), plan.steps.iter().map(|s| s.row).collect::<Vec<_>>());
    let reads = !shape.contains('w');
    match kind {
        Kind::Twitter => match &*shape {
            "rww" => "post",
            "rwrw" => "follow",
            "rrww" => "unfollow",
            _ if reads => "timeline",
            other => panic!("{other}"),
        },
        Kind::Rubis => match &*shape {
            "rw" if rows[0] == rows[1] => "register-user",
            "rw" => "list-item",
            // Users come first in the key space.
            "rrww" if rows[0] < rows[1] => "bid",
            "rrww" => "comment",
            "rrrrrr" => "view",
            other => panic!("{other}"),
        },
        _ => match &*shape {
            "rwrwrww" => "payment",
            "rrr" => "order-status",
            _ if reads => "stock-level",
            _ if shape.starts_with("rrwrww") => "new-order",
            _ if shape == "rw".repeat(40) => "delivery",
            other => panic!("{other}"),
        },
    }
}

#[test]
fn applications_have_the_mix_of_their_table() {
    for kind in APPLICATIONS {
        let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
        for plan in plans(&Settings::new(kind), 3) {
            *counts.entry(name(kind, &plan)).or_default() += 1.0 / COUNT as f64;
        }
        let table = kind.transactions();
        assert_eq!(table.iter().map(|txn| txn.weight).sum::<u32>(), 100);
        assert_eq!(counts.len(), table.len(), "{counts:?}");
        for txn in table {
            near(counts[txn.name], f64::from(txn.weight) / 100.0);
        }
    }
}

/// No row lies outside the table, every table of the application is touched, and the longest transaction
/// is as long as is said.
#[test]
fn applications_stay_within_their_rows_and_lengths() {
    for (kind, keys, rows) in [
        (Kind::Twitter, 500, 6_500),
        (Kind::Twitter, 2, 26),
        (Kind::Rubis, 200, 10_000),
        (Kind::Rubis, 2, 100),
        (Kind::Tpcc, 1, 7_011),
        (Kind::Tpcc, 3, 19_033),
    ] {
        let settings = Settings { keys, sessions: 7, ..Settings::new(kind) };
        assert_eq!(settings.rows(), rows, "{kind:?}");
        let mut longest = 0;
        let mut touched = BTreeSet::new();
        for session in 0..7 {
            for plan in plans(&settings, session) {
                longest = longest.max(plan.steps.len() as u32);
                touched.extend(plan.steps.iter().map(|step| step.row));
            }
        }
        assert!(touched.last() < Some(&rows), "{kind:?}");
        assert!(touched.len() as u32 > rows * 9 / 10, "{kind:?} {keys}: {}", touched.len());
        assert_eq!(Some(longest), kind.own_length(), "{kind:?}");
    }
}

#[test]
fn a_mix_has_the_length_and_the_reads_that_were_asked_for() {
    for (max_txn_len, reads) in [(15, None), (1, Some(0.1)), (100, Some(0.9)), (5, Some(1.0))] {
        let settings = Settings { max_txn_len, reads, ..Settings::new(Kind::Mix) };
        let plans = plans(&settings, 0);
        assert!(plans.iter().all(|plan| plan.steps.len() == max_txn_len as usize));
        let steps = || plans.iter().flat_map(|plan| &plan.steps);
        let read = steps().filter(|step| step.kind == OpKind::Read).count();
        near(read as f64 / steps().count() as f64, reads.unwrap_or(0.5));
    }
    let usual = Settings::new(Kind::Mix);
    assert_eq!((usual.sessions, usual.keys, usual.max_txn_len), (50, 1_000, 15));
    assert_eq!(usual.distribution, Distribution::Zipf(1.0));
}

#[test]
fn every_kind_runs_at_every_database() {
    for kind in Kind::ALL {
        for database in Database::ALL {
            let workload = Settings { sessions: 10, rollbacks: 0.1, ..Settings::new(kind) };
            let plan = Plan { workload, database, txns: 300, ..Plan::default() };
            let mut builder = HistoryBuilder::new();
            let done = simulate(&plan, &mut builder).unwrap();
            let history = builder.finish();
            assert_eq!((done.txns, history.txn_count()), (300, 300), "{kind:?} {database:?}");
            let aborted = history.txn_outcomes().iter().filter(|o| **o == Outcome::Aborted);
            assert!((5..100).contains(&aborted.count()), "{kind:?} {database:?}");
        }
    }
}
