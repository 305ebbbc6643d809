//! The brute-force twin against verdicts known by hand.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_history::notation;
use isolde_spec::{Level, Promise};

use crate::twin;

/// The levels that the twin decides.
fn levels() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|l| !l.of_operations())
}

/// The verdicts as text: the levels that fail, then those that are unknown after a question mark.
fn verdicts(text: &str, session_order: bool, skew: i64) -> String {
    let history = notation::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut fail = Vec::new();
    let mut unknown = Vec::new();
    for level in levels() {
        let name = level.short().unwrap_or(level.name());
        match twin::decide(&history, Promise { session_order, ..Promise::of(level) }, skew) {
            Some(true) => {}
            Some(false) => fail.push(name),
            None => unknown.push(name),
        }
    }
    let mut all = fail.join(" ");
    if !unknown.is_empty() {
        all += &format!(" ? {}", unknown.join(" "));
    }
    all.trim().to_owned()
}

/// Cases: a title, the lines of the history between bars, and the verdicts.
fn check_all(cases: &[(&str, &str, &str)]) {
    let lines = |case: &str| case.replace('|', "\n");
    let wrong: Vec<String> = cases
        .iter()
        .map(|(title, case, expected)| (title, lines(case), expected))
        .map(|(title, text, expected)| (title, verdicts(&text, true, 0), expected, text))
        .filter(|(_, found, expected, _)| found != *expected)
        .map(|(title, found, expected, text)| {
            format!("{title}\n{text}\nexpected {expected}\n   found {found}\n")
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

// What fails, weakest first, and what cannot be decided because there are no intervals.
const ALL: &str = "ru pl-2 rc cs ra cc pc rr si strong-si ser sser";
/// What needs a row that a predicate read did not return: from read atomic up, not at repeatable read.
const OF_PHANTOMS: &str = "ra cc pc si strong-si ser sser";
const FROM_PL2: &str = "pl-2 rc cs ra cc pc rr si strong-si ser sser";
const NOTHING: &str = "? strong-si sser";
const THIN_AIR: &str = "pl-2 rc cs ra cc pc rr si strong-si ser sser";
const FROM_RC: &str = "rc ra cc pc rr si strong-si ser sser";
const FROM_RA: &str = "ra cc pc rr si strong-si ser sser";
const SESSION: &str = "ra cc pc si strong-si ser sser";
const LOST_UPDATE: &str = "cs rr si strong-si ser sser";
const UNDECIDED: &str = "? ru pl-2 rc cs ra cc pc rr si strong-si ser sser";

#[test]
fn the_fourteen_anomalies() {
    let cases = [
        ("ThinAirRead", "a: r(x,7)", THIN_AIR),
        ("AbortedRead", "a: w(x,1) abort|b: r(x,1)", FROM_PL2),
        ("FutureRead", "a: r(x,1) w(x,1)", ALL),
        ("NotMyLastWrite", "a: w(x,1) w(x,2) r(x,1)", ALL),
        ("NotMyOwnWrite", "a: w(x,1)|b: w(x,2) r(x,1)", ALL),
        ("IntermediateRead", "a: w(x,1) w(x,2)|b: r(x,1)", FROM_PL2),
        ("NonRepeatableReads", "initial 0|a: w(x,1)|b: r(x,0) r(x,1)", FROM_RA),
        ("NonMonotonicRead", "initial 0|a: w(x,1) w(y,1)|b: r(x,1) r(y,0)", FROM_RC),
        ("SessionGuaranteeViolation", "initial 0|a: w(x,1)|a: r(x,0)", SESSION),
        ("FracturedRead", "initial 0|a: w(x,1) w(y,1)|b: r(x,0) r(y,1)", FROM_RA),
        (
            "CausalityViolation",
            "initial 0|a: w(x,1)|b: r(x,1) w(y,1)|c: r(x,0) r(y,1)",
            "cc pc rr si strong-si ser sser",
        ),
        (
            "CausalityViolation, across two transactions of a session",
            "initial 0|a: w(x,1)|b: r(x,1)|b: r(x,0)",
            "cc pc si strong-si ser sser",
        ),
        (
            "LongFork",
            "initial 0|a: w(x,1)|b: w(y,1)|c: r(x,1) r(y,0)|d: r(x,0) r(y,1)",
            "pc rr si strong-si ser sser",
        ),
        ("LostUpdate", "initial 0|a: r(x,0) w(x,1)|b: r(x,0) w(x,2)", LOST_UPDATE),
        (
            "WriteSkew",
            "initial 0|a: r(x,0) r(y,0) w(x,1)|b: r(x,0) r(y,0) w(y,1)",
            "rr ser sser ? strong-si",
        ),
    ];
    check_all(&cases);
}

#[test]
fn cycles_beside_the_fourteen() {
    let cases = [
        (
            "G0",
            "a: append(x,1) append(y,1)|b: append(x,2) append(y,2)|c: list(x,[1,2]) list(y,[2,1])",
            ALL,
        ),
        ("G1c", "a: w(x,1) r(y,2)|b: w(y,2) r(x,1)", FROM_PL2),
        (
            "G2-item of three",
            "initial 0|a: r(x,0) w(y,1)|b: r(y,0) w(z,1)|c: r(z,0) w(x,1)",
            "rr ser sser ? strong-si",
        ),
        (
            "a lost update whose other writer is blind and forced between",
            "initial 0|a: w(x,1) w(y,1)|b: r(y,1) w(x,2) w(z,2)|c: r(x,1) r(z,2) w(x,3)",
            "cs ra cc pc rr si strong-si ser sser",
        ),
        (
            "the update follows a second look",
            "initial 0|a: w(x,1)|b: r(x,0) r(x,1) w(x,2)",
            FROM_RA,
        ),
    ];
    check_all(&cases);
}

#[test]
fn known_disagreements() {
    let cases = [
        ("own write 1, read 1, read 2", "b: w(x,2)|a: w(x,1) r(x,1) r(x,2)", ALL),
        (
            "non-monotonic across keys",
            "a: w(x,1)|b: r(x,1) w(x,2) w(y,2)|c: r(y,2) r(x,1)",
            FROM_RC,
        ),
        ("the same read twice", "initial 0|a: r(x,0) r(x,0)", NOTHING),
        (
            "the initial value after an own write of the session",
            "initial 0|a: w(x,1)|a: r(x,0) r(y,0)",
            SESSION,
        ),
    ];
    check_all(&cases);
}

#[test]
fn unknown_outcomes() {
    let cases = [
        ("left out", "initial 0|a: w(x,1) unknown|a: r(x,0)", NOTHING),
        ("left out with a breach inside", "a: w(x,1) r(x,2) unknown", NOTHING),
        (
            "proved, but session order never leaves it",
            "initial 0|a: w(x,1) unknown|a: r(x,0)|b: r(x,1)",
            NOTHING,
        ),
        (
            "session order enters it",
            "initial 0|a: w(y,1)|a: w(x,1) unknown|b: r(x,1) r(y,0)",
            "cc pc si strong-si ser sser",
        ),
        (
            "its predecessor still precedes its successor",
            "initial 0|a: w(x,1)|a: w(y,1) unknown|a: r(x,0)|b: r(y,1)",
            SESSION,
        ),
        (
            "read by one that is left out",
            "initial 0|a: r(y,9) w(x,1) unknown|b: r(x,1) unknown",
            NOTHING,
        ),
        (
            "proved through another one",
            "initial 0|a: w(x,1) unknown|b: r(x,1) w(y,1) unknown|c: r(y,1) r(x,0)",
            "cc pc rr si strong-si ser sser",
        ),
        ("proved with a breach inside", "a: w(y,1) r(y,2) w(x,1) unknown|b: r(x,1)", ALL),
        (
            "its interval has no end",
            "initial 0|a: w(x,1) unknown @[0,1]|b: r(x,0) @[5,6]|c: r(x,1) @[7,8]",
            "",
        ),
        (
            "a committed one has",
            "initial 0|a: w(x,1) @[0,1]|b: r(x,0) @[5,6]|c: r(x,1) @[7,8]",
            "strong-si sser",
        ),
        (
            "it begins when it begins",
            "initial 0|a: r(x,1) @[0,1]|b: w(x,1) unknown @[2,3]",
            "strong-si sser",
        ),
    ];
    check_all(&cases);
}

#[test]
fn statements() {
    let cases = [
        (
            "one statement has no order inside",
            "initial 0|a: w(x,1) w(y,1)|b: [r(x,1) r(y,0)]",
            FROM_RA,
        ),
        ("two have one", "initial 0|a: w(x,1) w(y,1)|b: [r(x,1)] [r(z,0) r(y,0)]", FROM_RC),
        ("two values of a key in one statement", "initial 0|a: w(x,1)|b: [r(x,1) r(x,0)]", FROM_RA),
    ];
    check_all(&cases);
}

#[test]
fn lists() {
    let cases = [
        ("compatible", "a: append(x,1)|b: append(x,2)|c: list(x,[1,2])|d: list(x,[1])", NOTHING),
        ("incompatible", "a: append(x,1)|b: append(x,2)|c: list(x,[1,2])|d: list(x,[2])", ALL),
        ("duplicate elements", "a: append(x,1)|b: list(x,[1,1])", ALL),
        ("appended twice", "a: append(x,1)|b: append(x,1)|c: list(x,[1,1])", NOTHING),
        (
            "empty from the initial state",
            "a: append(x,1) append(y,1)|b: list(x,[1]) list(y,[])",
            FROM_RC,
        ),
        ("a part of the appends", "a: append(x,1) append(x,2)|b: list(x,[1])", FROM_PL2),
        ("own elements at the end", "a: append(x,1)|b: append(x,2) list(x,[1,2])", NOTHING),
        ("own elements elsewhere", "a: append(x,1)|b: append(x,2) list(x,[2,1])", ALL),
        ("own elements missing", "a: append(x,1)|b: append(x,2) list(x,[1])", ALL),
        ("own elements too early", "a: append(x,1)|b: list(x,[1,2]) append(x,2)", ALL),
    ];
    check_all(&cases);
}

#[test]
fn the_order_that_lists_fix() {
    let cases = [
        ("dirty update", "a: append(x,1) abort|b: append(x,2)|c: list(x,[1,2])", FROM_PL2),
        ("element of nobody", "a: list(x,[7])", THIN_AIR),
        (
            "what is not in a list comes after it",
            "a: append(x,1) w(y,1)|b: append(x,2)|c: r(y,1) list(x,[2])",
            FROM_RC,
        ),
        (
            "another append between read and append",
            "a: append(x,1)|b: list(x,[1]) append(x,2)|c: append(x,3)|d: list(x,[1,3,2])",
            LOST_UPDATE,
        ),
        (
            "middle elements are no source",
            "a: append(x,1) append(y,1)|b: append(x,2)|c: list(x,[1,2]) list(y,[])",
            "pc rr si strong-si ser sser",
        ),
        (
            "a middle element proves a commit",
            "a: append(x,1) r(z,9) unknown|b: append(x,2)|c: list(x,[1,2])",
            THIN_AIR,
        ),
    ];
    check_all(&cases);
}

#[test]
fn deletes_inserts_and_compare_and_set() {
    let cases = [
        ("absent from a delete", "a: w(x,1)|a: delete(x)|a: r(x,absent)", NOTHING),
        ("absent from any delete", "a: w(x,1)|b: delete(x)|a: r(x,absent)", NOTHING),
        ("absent from the initial state only", "a: w(x,1)|a: r(x,absent)", SESSION),
        ("absent from an own delete", "initial 0|a: delete(x) r(x,absent)", NOTHING),
        ("own delete missed", "initial 0|a: delete(x) r(x,0)", ALL),
        ("absent though nobody deleted", "initial 0|a: r(x,absent)", THIN_AIR),
        ("absent without a first version", "initial none|a: r(x,absent)", NOTHING),
        ("two inserts", "a: insert(x,1)|b: insert(x,2)", LOST_UPDATE),
        ("a failed insert", "a: insert(x,1)|b: insert!(x,2)", NOTHING),
        ("two compare-and-sets", "initial 0|a: cas(x,0,1)|b: cas(x,0,2)", LOST_UPDATE),
        ("a failed compare-and-set", "initial 0|a: cas(x,0,1)|b: cas!(x,0,2)|c: r(x,1)", NOTHING),
        ("a failed compare-and-set writes nothing", "initial 0|a: cas!(x,0,2)|c: r(x,2)", THIN_AIR),
    ];
    check_all(&cases);
}

#[test]
fn savepoints_and_lost_answers() {
    let cases = [
        (
            "undone for others",
            "initial 0|a: savepoint(p) w(x,1) r(x,1) rollback(p) r(x,0)|b: r(x,0)",
            NOTHING,
        ),
        (
            "undone, and read by others",
            "initial 0|a: savepoint(p) w(x,1) rollback(p)|b: r(x,1)",
            FROM_PL2,
        ),
        (
            "the write before the savepoint is back",
            "a: w(x,1) savepoint(p) w(x,2) rollback(p) r(x,1)|b: r(x,1)",
            NOTHING,
        ),
        ("the undone write is still seen", "a: w(x,1) savepoint(p) w(x,2) rollback(p) r(x,2)", ALL),
        ("undone, and seen again", "initial 0|a: savepoint(p) w(x,1) rollback(p) r(x,1)", FROM_PL2),
        ("perhaps not written", "initial 0|a: w?(x,1)|a: r(x,0)", NOTHING),
        ("perhaps written", "initial 0|a: w?(x,1)|b: r(x,1)", NOTHING),
        ("not both", "initial 0|a: w?(x,1)|a: r(x,0)|b: r(x,1)", SESSION),
    ];
    check_all(&cases);
}

#[test]
fn predicate_reads() {
    let cases = [
        ("a phantom", "a: pred(p) pred(p,x=1)|b: insert(x,1)", OF_PHANTOMS),
        ("a phantom that goes", "a: pred(p,x=1) pred(p)|b: insert(x,1)", OF_PHANTOMS),
        (
            "write skew",
            "a: pred(p) insert(x,1)|b: pred(p) insert(y,1)|c: pred(p,x=1,y=1)",
            "ser sser ? strong-si",
        ),
        (
            "the same with other predicates",
            "a: pred(p) insert(x,1)|b: pred(q) insert(y,1)|c: pred(p,x=1,y=1)|d: pred(q,x=1,y=1)",
            "ser sser ? strong-si",
        ),
        (
            "a long fork",
            "a: insert(x,1)|b: insert(y,1)|c: pred(p,x=1)|d: pred(p,y=1)",
            "pc si strong-si ser sser",
        ),
        (
            "one sees a part",
            "a: insert(x,1) insert(y,2)|b: pred(p,x=1)|c: pred(p,y=2)",
            OF_PHANTOMS,
        ),
        ("one statement", "initial 0|a: w(x,1) w(y,1)|b: pred(p,x=1,y=0)", FROM_RA),
        ("two statements", "initial 0|a: w(x,1) w(y,1)|b: pred(p,x=1) r(y,0)", FROM_RC),
        ("an aborted row", "a: w(x,1) abort|b: pred(p,x=1)", FROM_PL2),
        ("a row of nobody", "a: pred(p,x=1)", THIN_AIR),
        ("a row that comes later", "a: pred(p,x=1) w(x,1)", ALL),
        ("two rows of a key", "initial 0|a: w(x,1)|b: pred(p,x=0,x=1)", FROM_RA),
        ("a row proves a commit", "a: w(x,1) r(z,9) unknown|b: pred(p,x=1)", THIN_AIR),
        (
            "real time",
            "a: insert(x,1) @[0,1]|b: pred(p) @[2,3]|c: pred(p,x=1) @[4,5]",
            "strong-si sser",
        ),
    ];
    check_all(&cases);
}

#[test]
fn rows_that_are_missing() {
    let cases = [
        ("it never matched", "a: pred(p)|b: w(x,1)", NOTHING),
        ("it matches another predicate", "a: pred(p)|b: w(x,1)|c: pred(q,x=1)", NOTHING),
        ("another value of it matches", "a: pred(p)|b: w(x,1)|c: pred(p,x=1)|d: w(x,2)", UNDECIDED),
        ("the first value counts", "given x 5|a: pred(p)|b: w(x,1)|b: pred(p,x=1)", UNDECIDED),
        (
            "violated all the same",
            "a: pred(p)|b: w(x,1)|b: r(x,absent)|c: w(x,2)|d: pred(p,x=2)",
            "ra cc pc si strong-si ser sser ? ru pl-2 rc cs rr",
        ),
        ("nobody writes it", "initial 0|a: pred(p) r(x,0)", NOTHING),
        ("missed by its session", "a: w(x,1)|a: pred(p)|b: pred(p,x=1)", SESSION),
        ("known by one that aborted", "a: w(x,1)|a: pred(p)|b: pred(p,x=1) abort", SESSION),
        ("known by one that failed", "a: w(x,1)|a: pred(p)|b: pred!(p,x=1)", NOTHING),
        ("aborted values", "b: w(x,2) abort|a: w(x,1)|a: pred(p)|b: pred(p,x=1)", SESSION),
        ("failed writes", "b: cas!(x,1,2)|a: w(x,1)|a: pred(p)|b: pred(p,x=1)", SESSION),
        ("lost answers", "b: w?(x,2)|a: w(x,1)|a: pred(p)|b: pred(p,x=1)", UNDECIDED),
        (
            "undone values",
            "b: savepoint(s) w(x,2) rollback(s)|a: w(x,1)|a: pred(p)|b: pred(p,x=1)",
            UNDECIDED,
        ),
        ("overwritten values", "b: w(x,2) w(x,1)|b: pred(p)|b: pred(p,x=1)", UNDECIDED),
        ("never learned", "b: insert(x,1)|b: pred(p,_) pred!(p) pred?(p) pred(p,x=1)", NOTHING),
        ("left out", "a: pred(p) unknown|b: w(x,1)", NOTHING),
        ("proved committed", "a: pred(p) w(y,1) unknown|b: w(x,1)|c: r(y,1)", NOTHING),
        ("lists", "a: append(x,1)|b: pred(p)", NOTHING),
    ];
    check_all(&cases);
}

#[test]
fn rows_that_were_deleted() {
    let cases = [
        ("seen and missed", "a: insert(x,1)|b: delete(x)|c: pred(p,x=1)|d: pred(p)", NOTHING),
        ("missed again", "a: w(x,1)|a: delete(x)|a: pred(p)|b: pred(p,x=1)", NOTHING),
        ("seen again", "a: w(x,1)|b: pred(p,x=1)|b: delete(x)|b: pred(p,x=1)", SESSION),
        (
            "seen though the delete is",
            "a: w(x,1)|b: r(x,1) delete(x) w(y,1)|c: r(y,1) pred(p,x=1,y=1)",
            FROM_RC,
        ),
        (
            "missed though nobody deleted it",
            "initial 0|a: w(x,1)|b: pred(p,x=0)|c: pred(p,x=1)|d: pred(p)",
            THIN_AIR,
        ),
        (
            "missed because of a delete that aborted",
            "initial 0|a: delete(x) abort|b: w(x,1)|c: pred(p,x=0)|d: pred(p,x=1)|e: pred(p)",
            FROM_PL2,
        ),
        (
            "a lost update",
            "given x 5|a: pred(p,x=5) delete(x)|b: pred(p,x=5) w(x,1)|c: pred(p,x=1) abort",
            LOST_UPDATE,
        ),
        (
            "write skew of deletes",
            "given x 5|given y 5|a: pred(p,x=5,y=5) delete(x)|b: pred(p,x=5,y=5) delete(y)",
            "rr ser sser ? strong-si",
        ),
        ("only deleted", "a: delete(x)|b: pred(p)", NOTHING),
    ];
    check_all(&cases);
}

#[test]
fn predicate_reads_after_own_writes() {
    let cases = [
        ("seen", "a: w(x,1) pred(p,x=1)", NOTHING),
        ("not the last", "a: w(x,1) w(x,2) pred(p,x=1)", ALL),
        ("not the own", "a: w(x,1) pred(p,x=2)|b: w(x,2)", ALL),
        ("seen though deleted", "given x 5|a: delete(x) pred(p,x=5)", ALL),
        ("missed", "a: w(x,1) pred(p)|b: pred(p,x=1)", UNDECIDED),
        ("missed after a delete", "given x 5|a: delete(x) pred(p)|b: pred(p,x=5)", UNDECIDED),
        ("perhaps written", "a: w?(x,1) pred(p)|b: pred(p,x=1)", UNDECIDED),
        ("failed", "a: insert!(x,2) pred(p)|b: insert(x,1)|c: pred(p,x=1)", NOTHING),
        ("undone", "a: savepoint(s) w(x,1) rollback(s) pred(p)|b: pred(p,x=1) abort", UNDECIDED),
        ("later", "a: pred(p) w(x,1) pred(p,x=1)", NOTHING),
        ("in one statement, after it", "a: [w(x,1) pred(p)]|b: pred(p,x=1)", UNDECIDED),
        ("in one statement, before it", "a: [pred(p) w(x,1)]|b: pred(p,x=1)", NOTHING),
    ];
    check_all(&cases);
}

#[test]
fn ambiguity_is_no_violation() {
    let cases = [
        ("written twice", "a: w(x,1)|b: w(x,1)|c: r(x,1)", NOTHING),
        ("written again with the value read", "initial 0|a: r(x,0) w(x,0)", NOTHING),
        ("committed and aborted", "a: w(x,1)|b: w(x,1) abort|c: r(x,1)", NOTHING),
        ("final here, overwritten there", "a: w(x,1)|b: w(x,1) w(x,2)|c: r(x,1)", NOTHING),
        (
            "no choice helps",
            "initial 0|a: w(x,1) w(y,1)|b: w(x,1) w(y,1)|c: r(x,1) r(y,0)",
            FROM_RC,
        ),
    ];
    check_all(&cases);
}

#[test]
fn version_orders_of_the_recorder() {
    let cases = [
        ("possible", "initial 0|a: w(x,1)|b: w(x,2)|order x: 0 2 1", NOTHING),
        ("against a read", "initial 0|a: w(x,1)|b: r(x,1) w(x,2)|order x: 0 2 1", FROM_PL2),
        (
            "against itself",
            "initial 0|a: w(x,1) w(y,1)|b: w(x,2) w(y,2)|order x: 0 1 2|order y: 0 2 1",
            ALL,
        ),
        (
            "against session order",
            "initial 0|a: w(x,1)|a: w(x,2)|order x: 0 2 1",
            "rc ra cc pc si strong-si ser sser",
        ),
    ];
    check_all(&cases);
}

#[test]
fn incomplete_histories() {
    let cases = [
        (
            "no known writer",
            "incomplete|a: r(x,7)",
            "? pl-2 rc cs ra cc pc rr si strong-si ser sser",
        ),
        (
            "violated all the same",
            "incomplete|initial 0|a: r(x,7)|a: w(y,1)|a: r(y,0)",
            "ra cc pc si strong-si ser sser ? pl-2 rc cs rr",
        ),
        (
            "reads that differ",
            "incomplete|initial 0|a: r(x,7) r(x,0)",
            "ra cc pc rr si strong-si ser sser ? pl-2 rc cs",
        ),
        ("a writer that aborted is known", "incomplete|a: w(x,1) abort|b: r(x,1)", FROM_PL2),
    ];
    check_all(&cases);
}

#[test]
fn without_session_order() {
    let session = "initial 0\na: w(x,1)\na: r(x,0)";
    assert_eq!(verdicts(session, false, 0), NOTHING);
    let causal = "initial 0\na: w(x,1)\na: w(y,1)\nb: r(y,1) r(x,0)";
    assert_eq!(verdicts(causal, true, 0), "cc pc si strong-si ser sser");
    assert_eq!(verdicts(causal, false, 0), NOTHING);
    // Real time is no session order: it still counts, also inside a session.
    let timed = "initial 0\na: w(x,1) @[0,1]\na: r(x,0) @[2,3]";
    assert_eq!(verdicts(timed, false, 0), "strong-si sser");
    // The initial transaction stays first.
    let initial = "initial 0\na: w(x,1) w(y,1)\nb: r(x,1) r(y,0)";
    assert_eq!(verdicts(initial, false, 0), FROM_RC);
}

#[test]
fn real_time_and_skew() {
    let stale = |a: &str, b: &str| format!("initial 0\na: w(x,1) {a}\nb: r(x,0) {b}");
    let failing = |a: &str, b: &str, skew: i64| verdicts(&stale(a, b), true, skew);
    assert_eq!(failing("@[0,1]", "@[2,3]", 0), "strong-si sser");
    assert_eq!(failing("@[0,1]", "@[2,3]", 1), "");
    assert_eq!(failing("@[0,1]", "@[3,4]", 1), "strong-si sser");
    assert_eq!(failing("@[0,2]", "@[2,3]", 0), "", "strictly before");
    assert_eq!(failing("@[0,_]", "@[2,3]", 0), "", "no end");
    assert_eq!(failing("@[0,1]", "@[_,3]", 0), "", "no begin");
    assert_eq!(failing("@[_,1]", "@[2,_]", 0), "strong-si sser", "the sides that count are there");
    let events = format!("clock events\n{}", stale("@[0,1]", "@[2,3]"));
    assert_eq!(verdicts(&events, true, 1), "strong-si sser", "positions are not skewed");
    let skewed = "initial 0\na: r(x,0) r(y,0) w(x,1) @[0,9]\nb: r(x,0) r(y,0) w(y,1) @[1,8]";
    assert_eq!(verdicts(skewed, true, 0), "rr ser sser", "write skew is strong SI");
}
