//! The simulated database keeps what it promises, and breaks it where it is told to.

use isolde_check::{Options, check};
use isolde_history::{Effect, History, HistoryBuilder, OpKind, Outcome, SessionId, TxnId, Value};
use isolde_spec::{Anomaly, Level, Promise};

use super::{Database, Plan, Planted, plantable, simulate, simulate_by_session};
use crate::{Distribution, Kind, Settings};

const DISTRIBUTIONS: [Distribution; 4] = [
    Distribution::Uniform,
    Distribution::Zipf(1.0),
    Distribution::Hotspot { keys: 20.0, operations: 80.0 },
    Distribution::Exponential,
];
const STRONG: [Level; 4] = [
    Level::SnapshotIsolation,
    Level::StrongSnapshotIsolation,
    Level::Serializable,
    Level::StrictSerializable,
];

fn plan(kind: Kind) -> Plan {
    let keys = match kind {
        Kind::Cas => 10,
        Kind::Twitter | Kind::Rubis => 20,
        Kind::Tpcc => 1,
        _ => 200,
    };
    let workload = Settings { sessions: 20, keys, seed: 1, ..Settings::new(kind) };
    // What to make of blind writes is hard to decide.
    let txns = if BLIND.contains(&kind) { 200 } else { 2_000 };
    Plan { workload, txns, read_out: true, ..Plan::default() }
}

fn with(plan: &Plan, change: impl Fn(&mut Settings)) -> Plan {
    let mut plan = plan.clone();
    change(&mut plan.workload);
    plan
}

fn made(plan: &Plan) -> History {
    let mut builder = HistoryBuilder::new();
    simulate(plan, &mut builder).unwrap_or_else(|e| panic!("{e}: {plan:?}"));
    builder.finish()
}

fn holds(history: &History, level: Level) -> Option<bool> {
    check(history, Promise::of(level), &Options::default()).holds()
}

/// Kinds, distributions, and how many sessions run at a time.
fn mixtures(kinds: &[Kind]) -> Vec<Plan> {
    let mut plans = Vec::new();
    for kind in kinds {
        let own = [Settings::new(*kind).distribution];
        let tpcc = *kind == Kind::Tpcc;
        let distributions = if tpcc { &own[..] } else { &DISTRIBUTIONS };
        for &distribution in distributions {
            for concurrency in [100.0, 20.0] {
                let plan = with(&plan(*kind), |settings| settings.distribution = distribution);
                plans.push(Plan { concurrency, ..plan });
            }
        }
    }
    plans
}

/// What the checker always decides: writes after reads, and lists that are read to the end.
const DECIDED: [Kind; 3] = [Kind::Mini, Kind::Append, Kind::Cas];
const BLIND: [Kind; 6] =
    [Kind::General, Kind::Register, Kind::Mix, Kind::Twitter, Kind::Rubis, Kind::Tpcc];

#[test]
fn a_clean_serializable_history_holds_everything() {
    for plan in mixtures(&DECIDED) {
        let history = made(&plan);
        for level in STRONG {
            assert_eq!(holds(&history, level), Some(true), "{level}: {plan:?}");
        }
    }
}

#[test]
fn a_clean_snapshot_history_holds_snapshot_isolation() {
    for plan in mixtures(&DECIDED) {
        let history = made(&Plan { database: Database::Snapshot, ..plan.clone() });
        for level in [Level::StrongSnapshotIsolation, Level::SnapshotIsolation] {
            assert_eq!(holds(&history, level), Some(true), "{level}: {plan:?}");
        }
    }
}

/// Where writes are blind, or the last elements of lists are never read, the checker may not know; it
/// must not accuse.
#[test]
fn clean_histories_are_never_accused() {
    let unread = mixtures(&[Kind::Append]).into_iter().map(|p| Plan { read_out: false, ..p });
    for plan in mixtures(&BLIND).into_iter().chain(unread) {
        let history = made(&plan);
        assert_ne!(holds(&history, Level::StrictSerializable), Some(false), "{plan:?}");
        let history = made(&Plan { database: Database::Snapshot, ..plan.clone() });
        assert_ne!(holds(&history, Level::StrongSnapshotIsolation), Some(false), "{plan:?}");
    }
}

/// Weaker databases break what only stronger ones promise, by the anomalies that they allow.
#[test]
fn each_database_keeps_no_more_than_it_says() {
    for kind in [Kind::Mini, Kind::Append] {
        for database in [Database::ReadCommitted, Database::Prefix, Database::Snapshot] {
            let plan = Plan { database, ..with(&plan(kind), |settings| settings.keys = 20) };
            let history = made(&plan);
            let level = match database {
                Database::Snapshot => Level::Serializable,
                _ => Level::SnapshotIsolation,
            };
            let verdict = check(&history, Promise::of(level), &Options::default());
            assert_eq!(verdict.holds(), Some(false), "{kind:?} {database:?}");
            for counted in &verdict.counts {
                let allowed = !counted.anomaly.forbidden_at(database.keeps());
                assert!(allowed, "{kind:?} {database:?} {}", counted.anomaly);
            }
        }
    }
}

/// One alone, so that no other can hide that it is none: found by its name, where it is forbidden.
#[test]
fn each_anomaly_can_be_planted_and_nothing_else_is() {
    for kind in Kind::ALL {
        for anomaly in plantable(kind) {
            for seed in 0..3 {
                let planted = vec![Planted { anomaly: Some(anomaly), count: 1 }];
                let plan = with(&plan(kind), |settings| settings.seed = seed);
                let history = made(&Plan { planted, txns: plan.txns.min(500), ..plan });
                for level in STRONG {
                    let verdict = check(&history, Promise::of(level), &Options::default());
                    let forbidden = anomaly.forbidden_at(level);
                    let what = format!("{kind:?} {anomaly} {level} seed {seed}");
                    // Blind writes may leave the rest undecided.
                    let undecided = !forbidden && BLIND.contains(&kind);
                    let expected = if undecided { verdict.holds() } else { Some(!forbidden) };
                    assert_eq!(verdict.holds(), expected, "{what}");
                    assert_ne!(verdict.holds(), Some(forbidden), "{what}");
                    let names: Vec<Anomaly> = verdict.counts.iter().map(|c| c.anomaly).collect();
                    assert_eq!(names.first(), forbidden.then_some(&anomaly), "{what}");
                }
            }
        }
    }
}

#[test]
fn planted_violations_of_various_kinds_are_violations() {
    for plan in mixtures(&DECIDED) {
        for database in [Database::Serializable, Database::Snapshot] {
            let planted = vec![Planted { anomaly: None, count: 40 }];
            let history = made(&Plan { planted, database, ..plan.clone() });
            for level in [Level::Serializable, Level::SnapshotIsolation] {
                assert_eq!(holds(&history, level), Some(false), "{level}: {plan:?}");
            }
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_history() {
    for plan in mixtures(&Kind::ALL) {
        let planted = vec![Planted { anomaly: None, count: 10 }];
        let plan = Plan { planted, aborted: 0.5, ..plan };
        let [a, b] = [made(&plan), made(&plan)];
        assert_eq!(a.same_as(&b), Ok(()), "{plan:?}");
        let other = made(&with(&plan, |settings| settings.seed = 2));
        assert!(a.same_as(&other).is_err(), "{plan:?}");
    }
}

#[test]
fn the_history_has_what_was_asked_for() {
    let history = made(&plan(Kind::Mini));
    assert_eq!(history.txn_count(), 2_000);
    assert_eq!(history.session_count(), 20);
    assert_eq!(history.key_count(), 200);
    assert!(history.txn_outcomes().iter().all(|o| *o == Outcome::Committed));
    assert!(history.txns().all(|t| (1..=4).contains(&t.ops().len())));
    let aborted = |plan: &Plan| {
        let history = made(plan);
        assert_eq!(history.txn_count(), 2_000);
        history.txn_outcomes().iter().filter(|o| **o == Outcome::Aborted).count()
    };
    let few = with(&plan(Kind::Mini), |settings| settings.keys = 20);
    let some = aborted(&Plan { aborted: 0.1, ..few.clone() });
    assert!(0 < some && some < aborted(&Plan { aborted: 1.0, ..few }));
    let rollbacks = aborted(&with(&plan(Kind::Mini), |settings| settings.rollbacks = 0.25));
    assert!((400..600).contains(&rollbacks), "{rollbacks}");
}

fn interval(history: &History, txn: TxnId) -> (i64, i64) {
    let interval = history.txn(txn).interval();
    (interval.begin.unwrap(), interval.end.unwrap())
}

/// The most transactions that are under way at a time.
fn at_a_time(history: &History) -> usize {
    let ids = (0..history.txn_count() as u32).map(TxnId);
    let ends = ids.flat_map(|txn| {
        let (begin, end) = interval(history, txn);
        [(begin, 1), (end, -1)]
    });
    let mut ends: Vec<(i64, isize)> = ends.collect();
    ends.sort_unstable();
    let count = |now: &mut isize, (_, change): (i64, isize)| {
        *now += change;
        Some(*now)
    };
    ends.into_iter().scan(0, count).max().unwrap() as usize
}

#[test]
fn transactions_overlap_but_not_those_of_a_session() {
    let history = made(&plan(Kind::Mini));
    for session in 0..history.session_count() as u32 {
        let txns = history.session(SessionId(session));
        let apart = |w: &[TxnId]| interval(&history, w[0]).1 < interval(&history, w[1]).0;
        assert!(txns.windows(2).all(apart));
    }
    // A recorder delivers answers as they arrive.
    let ids = || (0..history.txn_count() as u32).map(TxnId);
    let ends = |(a, b)| interval(&history, a).1 < interval(&history, b).1;
    assert!(ids().zip(ids().skip(1)).all(ends));
    for (concurrency, most) in [(100.0, 20), (50.0, 10), (5.0, 1), (0.1, 1)] {
        let history = made(&Plan { concurrency, ..plan(Kind::Mini) });
        // What the database aborts is under way, but not recorded.
        assert!((most - most / 10..=most).contains(&at_a_time(&history)), "{concurrency}");
        assert_eq!(history.session_count(), 20);
    }
}

#[test]
fn the_order_by_session_has_the_same_transactions() {
    let completion = made(&plan(Kind::Mini));
    let grouped = simulate_by_session(&plan(Kind::Mini)).unwrap().0.finish();
    assert!(grouped.txn_sessions().is_sorted());
    assert_eq!(grouped.txn_count(), completion.txn_count());
    let ops = |history: &History, session: u32| -> Vec<(OpKind, i64)> {
        let names = history.pool().session_names();
        let id = names.iter().position(|n| *n == Value::from_u32(session)).unwrap() as u32;
        let txns = history.session(SessionId(id)).iter();
        let ops = txns.flat_map(|t| history.txn(*t).ops());
        ops.map(|op| (op.kind(), op.value().as_int().unwrap())).collect()
    };
    assert!((0..20).all(|session| ops(&grouped, session) == ops(&completion, session)));
}

#[test]
fn lists_stay_short() {
    let few = with(&plan(Kind::Append), |settings| {
        settings.keys = 10;
        settings.round = settings.round_for_lists(16);
    });
    let history = made(&few);
    let longest = history.ops().filter_map(|op| op.elements()).map(<[_]>::len).max();
    assert!(longest > Some(12) && longest < Some(40), "{longest:?}");
    assert!(history.key_count() > 50);
}

#[test]
fn compare_and_set_succeeds_and_fails() {
    let history = made(&plan(Kind::Cas));
    let count = |kind, effect| {
        history.ops().filter(|op| op.kind() == kind && op.effect() == effect).count()
    };
    for (kind, least) in [(OpKind::Cas, 100), (OpKind::InsertIfAbsent, 10)] {
        assert!(count(kind, Effect::Done) > least, "{kind:?}");
        assert!(count(kind, Effect::Failed) > least, "{kind:?}");
    }
    assert!(history.txns().all(|t| t.ops().len() == 1));
    assert!(history.key_count() > 20, "there are fresh tables");
}

#[test]
fn plans_that_nobody_could_follow_are_refused() {
    let refused = |plan: Plan, words: &str| {
        let error = simulate(&plan, &mut HistoryBuilder::new()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    let plant = |anomaly, count| vec![Planted { anomaly, count }];
    let usual = || plan(Kind::Mini);
    refused(with(&usual(), |settings| settings.sessions = 0), "sessions");
    refused(Plan { aborted: 1.5, ..usual() }, "between 0 and 1");
    refused(Plan { concurrency: 0.0, ..usual() }, "percentage");
    refused(Plan { concurrency: 101.0, ..usual() }, "percentage");
    refused(Plan { planted: plant(None, 1_000), ..usual() }, "one in eight");
    let dirty = plant(Some(Anomaly::DirtyUpdate), 1);
    refused(Plan { planted: dirty, ..usual() }, "DirtyUpdate cannot be planted");
    let skew = plant(Some(Anomaly::WriteSkew), 1);
    refused(Plan { planted: skew.clone(), ..plan(Kind::Cas) }, "WriteSkew cannot be planted");
    refused(Plan { planted: skew, concurrency: 1.0, ..usual() }, "2 sessions at a time");
}

#[test]
fn what_to_plant_is_read_by_name_and_count() {
    let planted = |anomaly, count| Ok(Planted { anomaly, count });
    assert_eq!("10".parse(), planted(None, 10));
    assert_eq!("LostUpdate:3".parse(), planted(Some(Anomaly::LostUpdate), 3));
    assert_eq!("g2-item".parse(), planted(Some(Anomaly::G2Item), 1));
    for text in ["", "Nothing", "LostUpdate:", "LostUpdate:many", "-1"] {
        assert!(text.parse::<Planted>().is_err(), "{text}");
    }
}
