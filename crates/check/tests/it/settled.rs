//! Questions that were open once and are settled now, each with the history that showed it. Every answer
//! is compared with the brute-force twin, too.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_check::{Options, check};
use isolde_history::notation::parse;
use isolde_spec::{Anomaly, Answer, Level, Promise};

use crate::twin;

/// The levels at which the history is violated; it must hold at all others that need no real time.
fn violated_at(text: &str, expected: &[Level]) {
    let history = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    for level in Level::ALL.into_iter().filter(|l| !l.needs_real_time()) {
        let promise = Promise::of(level);
        let verdict = check(&history, promise, &Options::default());
        let violated = Some(expected.contains(&level));
        assert_eq!(verdict.holds().map(|holds| !holds), violated, "{level}\n{text}{verdict:?}");
        if !level.of_operations() {
            assert_eq!(twin::decide(&history, promise, 0).map(|h| !h), violated, "twin, {level}");
        }
    }
}

/// The anomaly of the first witness.
fn named(text: &str, level: Level) -> Anomaly {
    let history = parse(text).unwrap();
    let verdict = check(&history, Promise::of(level), &Options::default());
    verdict.witnesses().first().unwrap_or_else(|| panic!("{level}: {verdict:?}\n{text}")).anomaly
}

use Level::{
    Causal, CursorStability, Pl2, Prefix, ReadAtomic, ReadCommitted, RepeatableRead, Sequential,
    Serializable, SnapshotIsolation,
};

const FROM_PL2: &[Level] = &[
    Pl2,
    ReadCommitted,
    CursorStability,
    ReadAtomic,
    Causal,
    Prefix,
    RepeatableRead,
    SnapshotIsolation,
    Serializable,
    Sequential,
];
const LOST_UPDATE: &[Level] =
    &[CursorStability, RepeatableRead, SnapshotIsolation, Serializable, Sequential];

#[test]
fn a_list_that_two_extended_lost_an_update_at_cursor_stability() {
    let first = "a T1: list(x,[]) append(x,1)\nb T2: append(x,2) list(x,[2])\n";
    violated_at(first, LOST_UPDATE);
    violated_at(&format!("{first}c T3: list(x,[1,2])\n"), LOST_UPDATE);
    assert_eq!(named(first, CursorStability), Anomaly::LostUpdate);
    let with_foreign = "z T0: append(x,7)\na T1: list(x,[7]) append(x,1)\n\
                        b T2: append(x,2) list(x,[7,2])\n";
    violated_at(with_foreign, LOST_UPDATE);
    violated_at("a: append(x,1) list(x,[1])\nb: append(x,2) list(x,[2])\n", LOST_UPDATE);
}

#[test]
fn an_update_after_a_second_look_loses_nothing() {
    let seen =
        &[ReadAtomic, Causal, Prefix, RepeatableRead, SnapshotIsolation, Serializable, Sequential];
    violated_at("initial 0\na T1: r(x,0) r(x,1) w(x,2)\nb T2: w(x,1)\n", seen);
}

#[test]
fn own_elements_below_snapshot_isolation_prove_nothing() {
    // Appended without a look: what the own read shows counts from snapshot isolation up.
    let text = "a T1: append(x,1)\nb T2: append(x,2) list(x,[2])\nc T3: list(x,[1,2])\n";
    violated_at(text, &[RepeatableRead, SnapshotIsolation, Serializable, Sequential]);
}

#[test]
fn own_elements_show_which_version_was_extended() {
    // T1 extended the empty list, so T2's element came second, and T1 missed what T2 saw of y.
    let text = "a T1: append(x,1) list(x,[1]) r(y,5)\nb T2: append(x,2) r(y,0)\n\
                c T3: w(y,5)\ninitial 0\n";
    let text = format!("initial absent\ngiven y 0\n{}", text.replace("initial 0\n", ""));
    assert_eq!(named(&text, Serializable), Anomaly::GSingle);
}

#[test]
fn a_value_from_nowhere_breaks_adyas_levels_too() {
    violated_at("initial 0\na T1: r(x,1)\n", FROM_PL2);
}

#[test]
fn a_few_blind_writes_are_put_in_a_serial_order() {
    violated_at("a: w(z,1)\nb: w(y,3)\nc: w(y,2) r(z,1)\nd: w(z,4) r(y,3)\n", &[]);
}

#[test]
fn absence_after_several_deletes_is_matched() {
    let text = "a T1: r(x,absent) w(x,1)\na T2: r(x,absent) delete(x)\n\
                a T3: r(x,absent) delete(x)\na T4: r(x,absent) delete(x)\n";
    let history = parse(text).unwrap();
    for level in Level::ALL.into_iter().filter(|l| !l.of_operations() && !l.needs_real_time()) {
        let promise = Promise::of(level);
        let ours = check(&history, promise, &Options::default()).holds();
        assert_eq!(ours, twin::decide(&history, promise, 0), "{level}");
        assert!(ours.is_some(), "{level}");
    }
}

#[test]
fn cursor_stability_finds_the_order_of_versions() {
    let text = "a: w(x,1)\nb: w(x,2)\nc: r(x,1) r(x,2) w(x,3)\nd: w(x,4)\n";
    let repeatable =
        &[ReadAtomic, Causal, Prefix, RepeatableRead, SnapshotIsolation, Serializable, Sequential];
    violated_at(text, repeatable);
}

#[test]
fn a_row_that_a_predicate_missed_is_no_item() {
    let phantoms = &[ReadAtomic, Causal, Prefix, SnapshotIsolation, Serializable, Sequential];
    violated_at("a: pred(p) pred(p,x=1)\nb: w(x,1)\n", phantoms);
    // A row that was returned is one: both read it, both overwrote it.
    let text = "initial 0\na: pred(p,x=0) w(x,1)\nb: pred(p,x=0) w(x,2)\n";
    violated_at(text, LOST_UPDATE);
}

#[test]
fn a_delete_that_failed_with_its_transaction_and_was_seen_is_a_dirty_read() {
    let text = "initial 0\na T1: delete!(x) abort\nb T2: r(x,absent)\n";
    assert_eq!(named(text, ReadCommitted), Anomaly::AbortedRead);
    let uncommitted = "initial 0\na T1: delete(x) abort\nb T2: r(x,absent)\n";
    assert_eq!(named(uncommitted, ReadCommitted), Anomaly::AbortedRead);
    // A compare-and-set that was refused wrote nothing, also if its transaction was aborted.
    let refused = "initial 0\na T1: cas!(x,1,5) abort\nb T2: r(x,5)\n";
    assert_eq!(named(refused, ReadCommitted), Anomaly::ThinAirRead);
}

#[test]
fn cycles_are_taken_from_the_whole_run() {
    let mut text = "initial 0\n".to_owned();
    for n in 0..1000 {
        let (x, y) = (format!("x{n}"), format!("y{n}"));
        text += &format!("a: r({x},0) r({y},0) w({x},1)\nb: r({x},0) r({y},0) w({y},1)\n");
    }
    let history = parse(&text).unwrap();
    let verdict = check(&history, Promise::of(Serializable), &Options::default());
    let counted = &verdict.counts[0];
    assert_eq!(counted.anomaly, Anomaly::WriteSkew);
    let (first, last) = (counted.positions[0], *counted.positions.last().unwrap());
    assert!(first < 400 && last > 1600, "{:?}", counted.positions);
    let places = &verdict.procedure.places;
    assert_eq!(places[0].0, "transactions in cycles");
    assert_eq!(places[0].1.len(), 2000, "none is left out");
}

#[test]
fn a_history_in_which_nothing_committed_is_unknown_at_every_level() {
    for text in ["", "a: w(x,1) abort\n", "a: w(x,1) unknown\n"] {
        let history = parse(text).unwrap();
        for level in Level::ALL {
            let answer = check(&history, Promise::of(level), &Options::default()).answer;
            assert!(
                matches!(&answer, Answer::Unknown(why) if why.contains("nothing to check")),
                "{level}: {answer:?}\n{text}"
            );
        }
    }
}
