//! What intervals find and what values find are the same where both can tell: dependencies in a cycle, and own reads.

use std::collections::HashSet;
use std::fmt::Write as _;

use isolde_check::{Options, check};
use isolde_history::{History, OpKind, Value, notation};
use isolde_spec::{Anomaly, Answer, By, Level, Profile, Promise, Verdict};
use isolde_stream::intervals;

use super::acted::{Size, acted};
use super::mutated::mutate;
use crate::made::Random;

const SERIALIZABLE: Promise =
    Promise { level: Level::Serializable, session_order: false, by: By::Values };

fn options() -> Options {
    Options { witnesses: 1_000, ..Options::default() }
}

fn parse(text: &str) -> History {
    notation::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Whether every value says which write it is of: each was written to its row once, and was not there at first.
fn has_unique_values(history: &History) -> bool {
    let mut written: HashSet<(u32, Value)> = HashSet::new();
    let initial = |key| history.meta().initial.of(key).unwrap_or(Value::ABSENT);
    let mut writes = history.ops().filter(|op| op.kind().writes());
    !history.rows_by_column()
        && writes.all(|op| {
            let is_value = op.kind() != OpKind::Delete && op.value() != initial(op.key());
            is_value && written.insert((op.key().0, op.value()))
        })
}

/// The same history with what is certain of the order of versions.
fn with_orders(history: &History, profile: &Profile) -> History {
    let name = |value| {
        let mut text = String::new();
        notation::write_value(history.pool(), value, &mut text);
        text
    };
    let mut text = notation::to_text(history);
    for (key, versions) in intervals::version_orders(history, profile) {
        let versions: Vec<String> = versions.into_iter().map(name).collect();
        let _ =
            writeln!(text, "order {}: {}", name(history.pool().key_name(key)), versions.join(" "));
    }
    parse(&text)
}

/// A run of a server, perhaps with something changed in it, whose values are unique.
fn made(profile: &Profile, seed: u64, changes: bool) -> Option<History> {
    let mut random = Random::new(seed ^ 0xbeef);
    let size = Size {
        sessions: 2 + random.below(3) as usize,
        txns: 3 + random.below(4) as usize,
        stmts: 3,
    };
    let mut script = acted(profile, seed, size);
    if changes {
        (0..random.below(2)).for_each(|_| mutate(&mut script, &mut random));
    }
    let history = parse(&script.text());
    has_unique_values(&history).then_some(history)
}

fn named(name: &str) -> &'static Profile {
    Profile::named(name).unwrap()
}

fn names(verdict: &Verdict) -> HashSet<Anomaly> {
    verdict.counts.iter().map(|counted| counted.anomaly).collect()
}

/// What shows by dependencies alone is found by values, too, and is called the same.
#[test]
fn what_dependencies_show_is_found_by_values() {
    let (mut cycles, mut own, mut others) = (0, 0, 0_u64);
    for (server, weaker) in [
        ("postgresql/serializable", "postgresql/repeatable-read"),
        ("postgresql/serializable", "postgresql/read-committed"),
        ("mariadb/serializable", "mariadb/repeatable-read"),
        ("sqlite/deferred", "mariadb/read-committed"),
    ] {
        for seed in 0..2_500 {
            let Some(history) = made(named(weaker), seed, seed % 2 == 0) else { continue };
            let verdict = intervals::decide(&history, named(server), &options(), 0.0);
            let semantic = verdict.witnesses().iter();
            let semantic = semantic.filter(|w| w.mirrored.as_ref().is_some_and(|m| m.semantic));
            let semantic: Vec<_> = semantic.collect();
            if semantic.is_empty() {
                continue;
            }
            let ordered = with_orders(&history, named(server));
            let by_values = check(&ordered, SERIALIZABLE, &options());
            let text = notation::to_text(&ordered);
            assert_eq!(by_values.holds(), Some(false), "{server} {seed}\n{text}\n{verdict:#?}");
            let called = names(&by_values);
            for witness in semantic {
                if witness.steps.is_empty() {
                    own += 1;
                } else {
                    cycles += 1;
                }
                // Where there are several cycles, values tell of the most basic ones.
                let rank = witness.anomaly.rank();
                let is_same = called.contains(&witness.anomaly);
                let basic = is_same || called.iter().any(|anomaly| anomaly.rank() < rank);
                assert!(basic, "{server} {seed}: {witness:#?} is {called:?}\n{text}");
                others += u64::from(!is_same);
            }
        }
    }
    println!("{cycles} cycles, {own} own reads; {others} beside more basic ones");
    assert!(cycles > 100 && own > 5 && others * 8 < cycles, "{cycles} {own} {others}");
}

/// Where every dependency is certain, no cycle means that there is a serial order.
#[test]
fn what_is_all_certain_and_in_no_cycle_is_serializable_by_values() {
    let mut clean = 0;
    for server in ["postgresql/serializable", "mariadb/serializable", "sqlite/deferred"] {
        for weaker in [server, "postgresql/read-committed", "mariadb/repeatable-read"] {
            for seed in 0..1_500 {
                let Some(history) = made(named(weaker), seed, seed % 3 > 0) else { continue };
                let verdict = intervals::decide(&history, named(server), &options(), 1.0);
                let is_sure = matches!(verdict.answer, Answer::NoViolation { enough: true, .. });
                // Of a list only the last element is looked at, and of a predicate only what later reads show.
                let is_open = [OpKind::ListRead, OpKind::PredicateRead];
                if !is_sure || is_open.iter().any(|kind| history.has_ops(*kind)) {
                    continue;
                }
                clean += 1;
                let by_values = check(&history, SERIALIZABLE, &options());
                let text = notation::to_text(&history);
                assert_ne!(
                    by_values.holds(),
                    Some(false),
                    "{server} {seed}\n{text}\n{by_values:#?}"
                );
            }
        }
    }
    println!("{clean} of which all is certain");
    assert!(clean > 100, "{clean}");
}
