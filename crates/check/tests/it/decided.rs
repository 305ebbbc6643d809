//! Where the order of versions can be known, there is an answer: histories with unique values that are
//! made of mini-transactions, or of lists, or whose keys have one writer each, or whose orders were
//! recorded, are never left open. The weak levels ask for no order, and are never open either.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{HashMap, HashSet};

use isolde_check::{Options, check};
use isolde_history::notation::to_text;
use isolde_history::{Effect, History, Key, Op, OpKind, Outcome, SessionId, Txn, Value};
use isolde_spec::{Answer, Level, Promise};

use crate::twin;

/// How many histories are looked at; `ISOLDE_TWIN` asks for more.
fn rounds() -> u64 {
    std::env::var("ISOLDE_TWIN").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000)
}

/// What an operation leaves under its key.
fn written(op: &Op<'_>) -> Option<Value> {
    let done = op.kind().writes() && op.effect() != Effect::Failed;
    done.then(|| if op.kind() == OpKind::Delete { Value::ABSENT } else { op.value() })
}

/// Whether nothing but the order of versions can be open: every value was written once and is not
/// the first one, every operation has an answer, nothing is missing, and no recorder says that the
/// first value came later.
fn is_clear(history: &History) -> bool {
    let mut seen = HashSet::new();
    let unique = history.ops().all(|op| {
        let first = history.meta().initial.of(op.key()).unwrap_or(Value::ABSENT);
        written(&op).is_none_or(|v| v != first && seen.insert((op.key(), v)))
    });
    let clear = |op: &Op<'_>| {
        op.effect() != Effect::Unknown
            && !matches!(op.kind(), OpKind::PredicateRead | OpKind::Savepoint)
    };
    let lists: HashSet<Key> = keys(history, true);
    let sound = history.version_orders().iter().all(|(key, versions)| {
        let first = history.meta().initial.of(*key).unwrap_or(Value::ABSENT);
        !versions.iter().skip(1).any(|v| *v == first)
    });
    unique
        && sound
        && history.meta().complete
        && history.ops().all(|op| clear(&op))
        && keys(history, false).is_disjoint(&lists)
}

/// The keys that hold lists, or those that hold something else.
fn keys(history: &History, lists: bool) -> HashSet<Key> {
    let list = |op: &Op<'_>| matches!(op.kind(), OpKind::Append | OpKind::ListRead);
    history.ops().filter(|op| list(op) == lists).map(|op| op.key()).collect()
}

fn committed(history: &History) -> impl Iterator<Item = Txn<'_>> {
    history.txns().filter(|t| t.outcome() != Outcome::Aborted)
}

/// Every write of a register comes after a read of the key in its transaction.
fn is_mini(history: &History) -> bool {
    committed(history).all(|txn| {
        let mut read = HashSet::new();
        txn.ops().all(|op| {
            let done = op.effect() == Effect::Done;
            let reads = match op.kind() {
                OpKind::Read => op.value() != Value::UNOBSERVED,
                OpKind::Cas | OpKind::InsertIfAbsent => true,
                _ => false,
            };
            if done && reads {
                read.insert(op.key());
            }
            op.kind() == OpKind::Append || written(&op).is_none() || read.contains(&op.key())
        })
    })
}

/// Each register has one session that writes it, and whose outcomes are known.
fn has_single_writers(history: &History) -> bool {
    let mut writer: HashMap<Key, SessionId> = HashMap::new();
    committed(history).all(|txn| {
        txn.ops().filter(|op| op.kind() != OpKind::Append && written(op).is_some()).all(|op| {
            txn.outcome() == Outcome::Committed
                && *writer.entry(op.key()).or_insert(txn.session()) == txn.session()
        })
    })
}

/// The recorder gave an order of all versions of every register that has several.
fn is_given(history: &History) -> bool {
    let mut last: HashMap<Key, HashSet<Value>> = HashMap::new();
    for txn in committed(history) {
        let writes = txn.ops().filter(|op| op.kind() != OpKind::Append);
        let left: HashMap<Key, Value> =
            writes.filter_map(|op| Some((op.key(), written(&op)?))).collect();
        left.into_iter().for_each(|(key, value)| _ = last.entry(key).or_default().insert(value));
    }
    let given: HashMap<Key, &Vec<Value>> =
        history.version_orders().iter().map(|(key, versions)| (*key, versions)).collect();
    last.iter().filter(|(_, values)| values.len() > 1).all(|(key, values)| {
        let Some(versions) = given.get(key) else { return false };
        values.iter().all(|v| versions.contains(v))
    })
}

type Kind = (&'static str, fn(&History) -> bool);

const KINDS: [Kind; 4] = [
    ("mini", is_mini),
    ("lists", |history| keys(history, false).is_empty()),
    ("single writers", has_single_writers),
    ("given", is_given),
];

#[test]
fn clear_histories_are_never_left_open() {
    let mut counts = [0u64; KINDS.len()];
    let mut open = Vec::new();
    for seed in 0..rounds() {
        let history = twin::random::history(seed, &twin::random::Weights::swarm(seed));
        if !is_clear(&history) || nothing_committed(&history) {
            continue;
        }
        for (count, (name, is)) in counts.iter_mut().zip(KINDS) {
            if !is(&history) {
                continue;
            }
            *count += 1;
            for level in [Level::SnapshotIsolation, Level::Serializable] {
                let answer = check(&history, Promise::of(level), &Options::default()).answer;
                if let Answer::Unknown(why) = answer {
                    open.push(format!(
                        "seed {seed}, {name}, {level}: {why}\n{}",
                        to_text(&history)
                    ));
                }
            }
        }
    }
    let named: Vec<String> =
        counts.iter().zip(KINDS).map(|(n, k)| format!("{n} {}", k.0)).collect();
    eprintln!("{}; {} open", named.join(", "), open.len());
    assert!(open.is_empty(), "{}", open[..open.len().min(4)].join("\n"));
    assert!(counts.iter().all(|count| *count > 50), "{named:?}");
}

/// A history that shows nothing leaves everything open.
fn nothing_committed(history: &History) -> bool {
    history.txns().all(|t| t.outcome() != Outcome::Committed)
}

/// Whether a list has some, but not all, of the elements that another transaction appended to it.
fn shows_a_part(history: &History) -> bool {
    let appended = |txn: Txn<'_>, key: Key| -> Vec<Value> {
        let own = txn.ops().filter(|op| op.kind() == OpKind::Append && op.key() == key);
        own.map(|op| op.value()).collect()
    };
    let mut lists = history.ops().filter_map(|op| Some((op.key(), op.elements()?)));
    lists.any(|(key, list)| {
        history.txns().any(|txn| {
            let appended = appended(txn, key);
            let shown = appended.iter().filter(|element| list.contains(element)).count();
            shown > 0 && shown < appended.len()
        })
    })
}

/// Whatever is written blindly: the weak levels do not ask for an order of versions.
#[test]
fn clear_histories_are_never_left_open_at_weak_levels() {
    let levels = [
        Level::ReadUncommitted,
        Level::Pl2,
        Level::ReadCommitted,
        Level::ReadAtomic,
        Level::Causal,
    ];
    let (mut count, mut open) = (0, Vec::new());
    for seed in 0..rounds() {
        let history = twin::random::history(seed, &twin::random::Weights::swarm(seed));
        if !is_clear(&history) || nothing_committed(&history) {
            continue;
        }
        for (level, session_order) in levels.iter().flat_map(|l| [(*l, true), (*l, false)]) {
            // Where uncommitted writes may be read, a read does not prove that they were committed.
            // And a list with a part of what a transaction appended does not say where the rest goes.
            let unsure = history.txns().any(|t| t.outcome() == Outcome::Unknown)
                || !history.version_orders().is_empty()
                || shows_a_part(&history);
            if level == Level::ReadUncommitted && unsure {
                continue;
            }
            count += 1;
            let promise = Promise { session_order, ..Promise::of(level) };
            if let Answer::Unknown(why) = check(&history, promise, &Options::default()).answer {
                open.push(format!("seed {seed}, {promise:?}: {why}\n{}", to_text(&history)));
            }
        }
    }
    eprintln!("{count} verdicts, {} open", open.len());
    assert!(open.is_empty(), "{}", open[..open.len().min(4)].join("\n"));
}

#[test]
fn the_same_history_gets_the_same_verdict_word_for_word() {
    for seed in 0..rounds() / 4 {
        let history = twin::random::history(seed, &twin::random::Weights::swarm(seed));
        for level in [Level::SnapshotIsolation, Level::StrictSerializable] {
            let ask = || check(&history, Promise::of(level), &Options::default());
            assert_eq!(ask(), ask(), "seed {seed}, {level}\n{}", to_text(&history));
        }
    }
}
