//! Scripts do what their settings say: kinds of transactions, shares, rounds.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, HashSet};

use isolde_history::OpKind;
use isolde_spec::Anomaly;
use isolde_workload::{Kind, SHAPES, Settings, TxnPlan, Workload, favoured};

const COUNT: usize = 20_000;

fn plans(settings: Settings) -> Vec<TxnPlan> {
    let workload = Workload::new(settings).unwrap();
    let mut script = workload.script(3);
    let mut plan = TxnPlan::default();
    let next = |_| {
        script.next(&mut plan);
        plan.clone()
    };
    (0..COUNT).map(next).collect()
}

fn share(plans: &[TxnPlan], what: impl Fn(&TxnPlan) -> bool) -> f64 {
    plans.iter().filter(|plan| what(plan)).count() as f64 / plans.len() as f64
}

#[track_caller]
fn near(measured: f64, expected: f64) {
    assert!((measured - expected).abs() < 0.015, "{measured} instead of {expected}");
}

/// The shape of a plan, with the row that comes first called x.
fn shape(plan: &TxnPlan) -> String {
    let x = plan.steps[0].row;
    let word = |step: &isolde_workload::Step| match (step.kind, step.row == x) {
        (OpKind::Read, true) => "Rx",
        (OpKind::Read, false) => "Ry",
        (_, true) => "Wx",
        (_, false) => "Wy",
    };
    plan.steps.iter().map(word).collect()
}

fn shapes(plans: &[TxnPlan]) -> BTreeMap<String, f64> {
    let mut counts = BTreeMap::new();
    for plan in plans {
        *counts.entry(shape(plan)).or_insert(0.0) += 1.0 / plans.len() as f64;
    }
    counts
}

#[test]
fn mini_transactions_have_the_shapes_of_the_table() {
    let counts = shapes(&plans(Settings::new(Kind::Mini)));
    assert_eq!(counts.len(), SHAPES.len());
    for shape in &SHAPES {
        near(counts[shape.name], f64::from(shape.weight) / 100.0);
    }
}

/// The transactions of the paper's figure 5, (a) to (n), each with the key that it reads first
/// called x.
const FIGURE_5: [(Anomaly, &[&str]); 14] = [
    (Anomaly::ThinAirRead, &["Rx"]),
    (Anomaly::AbortedRead, &["RxWx", "Rx"]),
    (Anomaly::FutureRead, &["RxWx"]),
    (Anomaly::NotMyLastWrite, &["RxWxWxRx"]),
    (Anomaly::NotMyOwnWrite, &["RxWx", "RxWxRx"]),
    (Anomaly::IntermediateRead, &["RxWxWx", "Rx"]),
    (Anomaly::NonRepeatableReads, &["RxWx", "RxRx"]),
    (Anomaly::SessionGuaranteeViolation, &["RxWx", "Rx"]),
    (Anomaly::NonMonotonicRead, &["RxWxRyWy", "RxRy"]),
    (Anomaly::FracturedRead, &["RxWxRyWy", "RxRy"]),
    (Anomaly::CausalityViolation, &["RxWx", "RxRyWy", "RxRy"]),
    (Anomaly::LongFork, &["RxWx", "RxRy"]),
    (Anomaly::LostUpdate, &["RxWx"]),
    (Anomaly::WriteSkew, &["RxRyWx", "RxRyWy"]),
];

#[test]
fn all_of_figure_5_is_possible_and_can_be_favoured() {
    let usual = shapes(&plans(Settings::new(Kind::Mini)));
    assert_eq!(favoured().collect::<Vec<_>>(), FIGURE_5.map(|f| f.0));
    for (anomaly, txns) in FIGURE_5 {
        let favour = Some(anomaly);
        let plans = plans(Settings { favour, sessions: 16, ..Settings::new(Kind::Mini) });
        let favoured = shapes(&plans);
        for shape in txns {
            assert!(usual.contains_key(*shape), "{anomaly}: {shape}");
            assert!(favoured[*shape] > 0.05, "{anomaly}: {shape} {favoured:?}");
        }
        // Few rows get nearly everything, in pairs.
        let hot = share(&plans, |plan| plan.steps.iter().all(|s| s.row < 8));
        assert!(hot > 0.85, "{anomaly}: {hot}");
        let pair = |plan: &TxnPlan| plan.steps.iter().all(|s| s.row / 2 == plan.steps[0].row / 2);
        assert!(share(&plans, pair) > 0.85, "{anomaly}");
        let rollbacks = share(&plans, |plan| plan.rolls_back);
        near(rollbacks, if anomaly == Anomaly::AbortedRead { 0.3 } else { 0.0 });
    }
}

#[test]
fn general_is_cobras_mix() {
    for len in [1, 7, 8] {
        let plans = plans(Settings { max_txn_len: len, ..Settings::new(Kind::General) });
        assert!(plans.iter().all(|plan| plan.steps.len() == len as usize));
        let all = |plan: &TxnPlan, kind| plan.steps.iter().all(|s| s.kind == kind);
        let reads = share(&plans, |plan| all(plan, OpKind::Read));
        // A read-modify-write of one operation is a read.
        near(reads, if len == 1 { 0.6 } else { 0.2 });
        near(share(&plans, |plan| all(plan, OpKind::Write)), 0.4);
        let updates = |plan: &TxnPlan| {
            let pairs = plan.steps.chunks(2).filter(|pair| pair.len() == 2);
            pairs.clone().count() > 0
                && pairs.clone().all(|p| p[0].row == p[1].row)
                && pairs.clone().all(|p| [p[0].kind, p[1].kind] == [OpKind::Read, OpKind::Write])
        };
        near(share(&plans, updates), if len == 1 { 0.0 } else { 0.4 });
    }
}

#[test]
fn append_and_register_mix_reads_and_writes_of_all_lengths() {
    for (kind, reads, writes) in [
        (Kind::Append, OpKind::ListRead, OpKind::Append),
        (Kind::Register, OpKind::Read, OpKind::Write),
    ] {
        let plans = plans(Settings { max_txn_len: 5, ..Settings::new(kind) });
        for len in 1..=5 {
            near(share(&plans, |plan| plan.steps.len() == len), 0.2);
        }
        let first = |kind| share(&plans, |plan| plan.steps[0].kind == kind);
        near(first(reads), 0.5);
        near(first(writes), 0.5);
    }
}

#[test]
fn cas_compares_with_what_the_session_has_seen() {
    let plans = plans(Settings::new(Kind::Cas));
    assert!(plans.iter().all(|plan| plan.steps.len() == 1));
    let kind = |kind| share(&plans, |plan| plan.steps[0].kind == kind);
    near(kind(OpKind::Read), 0.4);
    assert!(kind(OpKind::Cas) > 0.4 && kind(OpKind::InsertIfAbsent) > 0.1);
    for pair in plans.windows(2) {
        let cas = pair[1].steps[0].kind == OpKind::Cas;
        assert!(!cas || pair[0].round == pair[1].round, "a fresh table has not been seen");
        assert!(!cas || pair[0].steps[0].row == pair[1].steps[0].row);
    }
}

#[test]
fn rounds_go_on_by_themselves() {
    let settings = Settings { round: 50, ..Settings::new(Kind::Append) };
    let plans = plans(settings);
    assert!(plans.iter().enumerate().all(|(i, plan)| plan.round == i as u32 / 50));
    // Where nobody says when, lists stay short: about 64 elements.
    for (keys, sessions) in [(10, 5), (100, 10), (1_000, 50)] {
        let settings = Settings { keys, sessions, ..Settings::new(Kind::Append) };
        let workload = Workload::new(settings).unwrap();
        let mut appends = 0;
        let mut plan = TxnPlan::default();
        for session in 0..sessions {
            let mut script = workload.script(session);
            script.next(&mut plan);
            while plan.round == 0 {
                appends += plan.steps.iter().filter(|s| s.kind == OpKind::Append).count();
                script.next(&mut plan);
            }
        }
        let length = appends as f64 / f64::from(keys);
        assert!((50.0..80.0).contains(&length), "{keys} {sessions}: {length}");
    }
}

#[test]
fn clients_roll_back_as_often_as_asked() {
    for kind in Kind::ALL {
        let plans = plans(Settings { rollbacks: 0.25, ..Settings::new(kind) });
        near(share(&plans, |plan| plan.rolls_back), 0.25);
    }
}

#[test]
fn sessions_and_seeds_go_their_own_ways() {
    let mut seen = HashSet::new();
    for seed in 0..8 {
        let workload = Workload::new(Settings { seed, ..Settings::default() }).unwrap();
        for session in 0..32 {
            let mut script = workload.script(session);
            let mut plan = TxnPlan::default();
            let mut text = String::new();
            for _ in 0..4 {
                script.next(&mut plan);
                text.push_str(&format!("{plan:?}"));
            }
            assert!(seen.insert(text), "seed {seed}, session {session}");
        }
    }
}
