//! Weak levels: what went wrong once, each named after what it guards.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use isolde_check::{Options, check};
use isolde_history::notation::parse;
use isolde_spec::{Anomaly, Level, Promise, Verdict};

fn ask(text: &str, level: Level) -> Verdict {
    check(&parse(text).unwrap(), Promise::of(level), &Options::default())
}

/// The guilty one came after more readers than were looked at for a reason, and the level held.
#[test]
fn a_violation_behind_many_innocent_readers_is_one() {
    let mut text = "initial 0\na: w(x,1)\na: w(x,2) w(y,2)\n".to_owned();
    for i in 0..300 {
        writeln!(text, "i{i}: r(x,1)").unwrap();
    }
    text += "b: r(y,2) r(x,1)\n";
    for level in [Level::ReadCommitted, Level::ReadAtomic, Level::Causal] {
        let verdict = ask(&text, level);
        let names: Vec<Anomaly> = verdict.witnesses().iter().map(|w| w.anomaly).collect();
        assert_eq!(names.first(), Some(&Anomaly::NonMonotonicRead), "{level}: {verdict:?}");
    }
}

/// An empty statement beside one of two operations made every operation look like its own statement.
#[test]
fn an_empty_statement_does_not_part_the_others() {
    let text = "s: w(y,9)\ns: w(x,1) w(y,1)\nb: [r(x,1) r(y,9)] []\n";
    assert_eq!(ask(text, Level::ReadCommitted).holds(), Some(true));
    assert_eq!(ask(text, Level::ReadAtomic).holds(), Some(false));
    let parted = text.replace("[r(x,1) r(y,9)] []", "r(x,1) r(y,9)");
    assert_eq!(ask(&parted, Level::ReadCommitted).holds(), Some(false));
}

/// A key that is read again is seen again: what happened in between counts.
#[test]
fn the_same_value_read_again_later_is_bound_by_what_was_seen_between() {
    let text = "initial 0\na: w(x,1)\nb: r(x,1) w(x,2) w(y,2)\nc: r(x,1) r(y,2) r(x,1)\n";
    assert_eq!(ask(text, Level::ReadCommitted).holds(), Some(false));
    let once = text.replace(" r(y,2) r(x,1)\n", " r(y,2)\n");
    assert_eq!(ask(&once, Level::ReadCommitted).holds(), Some(true));
}

/// A transaction that polls a key forced edges for every pair of what it saw.
#[test]
fn a_transaction_that_polls_is_not_quadratic() {
    let mut text = String::new();
    let mut polls = "p:".to_owned();
    for i in 1..=3000 {
        writeln!(text, "w{}: w(x,{i}) w(y,{i})", i % 7).unwrap();
        write!(polls, " r(x,{i}) r(y,{i})").unwrap();
    }
    let text = text + &polls;
    assert_eq!(ask(&text, Level::ReadAtomic).holds(), Some(false));
    assert_eq!(ask(&text, Level::ReadCommitted).holds(), Some(true));
}

/// Single operations whose values repeat are ambiguous, but if they can be put in order, every weaker
/// level holds.
#[test]
fn what_holds_as_operations_holds_as_transactions() {
    let text = "initial 0\na: w(x,1) @[1,2]\nb: w(x,1) @[1,2]\nc: w(x,2) @[3,4]\na: r(x,2) @[5,6]\n\
                b: w(x,1) @[7,8]\nc: r(x,1) @[9,10]\n";
    for level in [Level::Linearizable, Level::StrictSerializable, Level::ReadCommitted] {
        assert_eq!(ask(text, level).holds(), Some(true), "{level}");
    }
}

/// Forty appends at the same time, and one read of them all.
#[test]
fn concurrent_appends_that_a_read_shows_need_no_search() {
    let mut text = String::new();
    let order: Vec<u32> = (0..40).map(|i| i * 17 % 41).filter(|i| *i < 40).collect();
    for i in 0..40 {
        writeln!(text, "s{i}: append(x,{i}) @[0,100]").unwrap();
    }
    let elements: Vec<String> = order.iter().map(ToString::to_string).collect();
    writeln!(text, "r: list(x,[{}]) @[200,201]", elements.join(",")).unwrap();
    assert_eq!(order.len(), 39, "one is missing: the read is wrong");
    assert_eq!(ask(&text, Level::Linearizable).holds(), Some(false));
    let all = text.replace(&elements.join(","), &(elements.join(",") + ",24"));
    assert!(!order.contains(&24));
    assert_eq!(ask(&all, Level::Linearizable).holds(), Some(true));
}

/// A recorded order of versions that contradicts the initial state is no matter of single operations.
#[test]
fn a_recorded_order_is_not_forgotten_where_operations_are_asked() {
    let text =
        "d: w(x,2) @[0,12]\nc: r(x,2) @[18,39]\nd: cas!(y,99,4) @[37,41]\norder x: 2 absent\n";
    for level in [Level::ReadUncommitted, Level::Causal, Level::Serializable] {
        assert_ne!(ask(text, level).holds(), Some(true), "{level}");
    }
}

/// Two versions of a key may be read around an own write that was rolled back, but not by read atomic.
#[test]
fn versions_around_a_savepoint_are_two_versions() {
    let text = "a: w(x,2)\nb: r(x,2) savepoint(p) w(x,4) r(x,4) rollback(p) r(x,absent)\n";
    assert_eq!(ask(text, Level::ReadAtomic).holds(), Some(false));
}
