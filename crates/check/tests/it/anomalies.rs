//! The anomalies by name: small histories, what the strong levels say of them, and why.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_check::{Options, check};
use isolde_history::notation::parse;
use isolde_spec::{Answer, Level, Promise};

/// What a level says: "holds", "unknown: ..." or the names of the anomalies it found.
fn says(text: &str, level: Level) -> String {
    let history = parse(text).unwrap_or_else(|e| panic!("{e}"));
    match check(&history, Promise::of(level), &Options::default()).answer {
        Answer::Holds => "holds".to_owned(),
        Answer::Unknown(reason) => format!("unknown: {reason}"),
        Answer::NoViolation { .. } => panic!("what values show is never that nothing was found"),
        Answer::Violated(witnesses) => {
            let mut names: Vec<&str> = witnesses.iter().map(|w| w.anomaly.name()).collect();
            names.dedup();
            names.join(" ")
        }
    }
}

#[track_caller]
fn check_both(text: &str, snapshot: &str, serializable: &str) {
    assert_eq!(says(text, Level::SnapshotIsolation), snapshot, "snapshot isolation");
    assert_eq!(says(text, Level::Serializable), serializable, "serializability");
}

#[test]
fn reads_from_nowhere() {
    check_both("initial 0\na: r(x,7)", "ThinAirRead", "ThinAirRead");
    check_both("initial 0\na: w(x,1) abort\nb: r(x,1)", "AbortedRead", "AbortedRead");
    let text = "initial 0\na: w(x,1) w(x,2)\nb: r(x,1)";
    check_both(text, "IntermediateRead", "IntermediateRead");
}

#[test]
fn inside_a_transaction() {
    check_both("initial 0\na: r(x,1) w(x,1)", "FutureRead", "FutureRead");
    check_both("initial 0\na: w(x,1) w(x,2) r(x,1)", "NotMyLastWrite", "NotMyLastWrite");
    check_both("initial 0\na: w(x,1) r(x,0)", "NotMyOwnWrite", "NotMyOwnWrite");
    let text = "initial 0\na: r(x,0) w(x,1)\nb: r(x,0) r(x,1)";
    assert!(says(text, Level::Serializable).starts_with("NonRepeatableReads"));
}

#[test]
fn between_two_transactions() {
    let fractured = "initial 0\na: r(x,0) w(x,1) r(y,0) w(y,1)\nb: r(x,0) r(y,1)";
    check_both(fractured, "FracturedRead", "FracturedRead");
    let non_monotonic = "initial 0\na: r(x,0) w(x,1) r(y,0) w(y,1)\nb: r(y,1) r(x,0)";
    check_both(non_monotonic, "NonMonotonicRead", "NonMonotonicRead");
    let session = "initial 0\na: r(x,0) w(x,1)\na: r(x,0)";
    check_both(session, "SessionGuaranteeViolation", "SessionGuaranteeViolation");
    let lost = "initial 0\na: r(x,0) w(x,1)\nb: r(x,0) w(x,2)";
    check_both(lost, "LostUpdate", "LostUpdate");
    let skew = "initial 0\na: r(x,0) r(y,0) w(x,1)\nb: r(x,0) r(y,0) w(y,1)";
    check_both(skew, "holds", "WriteSkew");
}

#[test]
fn among_several_transactions() {
    let causality = "initial 0\na: r(x,0) w(x,1)\nb: r(x,1) r(y,0) w(y,1)\nc: r(y,1) r(x,0)";
    check_both(causality, "CausalityViolation", "CausalityViolation");
    let fork = "initial 0\na: r(x,0) w(x,1)\nb: r(y,0) w(y,1)\nc: r(x,1) r(y,0)\nd: r(x,0) r(y,1)";
    check_both(fork, "LongFork", "LongFork");
    let writes = "initial 0\na: w(x,1) w(y,1)\nb: w(x,2) w(y,2)\norder x: 1 2\norder y: 2 1";
    check_both(writes, "G0", "G0");
    let each_other = "initial 0\na: r(x,2) w(y,1)\nb: r(y,1) w(x,2)";
    check_both(each_other, "CyclicCausality", "CyclicCausality");
}

#[test]
fn sound_histories_hold() {
    check_both("initial 0\na: r(x,0) w(x,1)\nb: r(x,1) w(x,2)\na: r(x,2)", "holds", "holds");
    check_both("a: append(l,1)\nb: list(l,[1]) append(l,2)\nc: list(l,[1,2])", "holds", "holds");
    // Blind writes: some order explains it.
    check_both("initial 0\na: w(x,1)\nb: w(x,2)\nc: r(x,1)\nd: r(x,2)", "holds", "holds");
    // Nobody saw the transaction of unknown outcome.
    check_both("initial 0\na: r(x,0) w(x,1) unknown\nb: r(x,0) w(x,2)", "holds", "holds");
}

#[test]
fn what_somebody_saw_of_an_unknown_transaction_counts() {
    let text = "initial 0\na: r(x,0) w(x,1) unknown\nb: r(x,0) w(x,2)\nc: r(x,1)";
    check_both(text, "LostUpdate", "LostUpdate");
}

#[test]
fn real_time_matters_to_the_strict_levels_only() {
    let stale = "initial 0\na: r(x,0) w(x,1) @[1,2]\nb: r(x,0) @[3,4]";
    check_both(stale, "holds", "holds");
    assert_eq!(says(stale, Level::StrictSerializable), "G-single");
    assert_eq!(says(stale, Level::StrongSnapshotIsolation), "G-single");
    let overlapping = "initial 0\na: r(x,0) w(x,1) @[1,4]\nb: r(x,0) @[3,5]";
    assert_eq!(says(overlapping, Level::StrictSerializable), "holds");
    let without = "initial 0\na: r(x,0) w(x,1)\nb: r(x,0)";
    assert!(says(without, Level::StrictSerializable).starts_with("unknown"));
}

#[test]
fn predicate_reads_miss_rows_that_others_found() {
    check_both("a: pred(p,x=1)\nb: w(x,1)", "holds", "holds");
    // Perhaps of another table.
    check_both("a: pred(p)\nb: w(x,1)", "holds", "holds");
    let phantom = "a: pred(p) pred(p,x=1)\nb: insert(x,1)";
    assert!(says(phantom, Level::SnapshotIsolation).starts_with("NonRepeatableReads"));
    let skew = "a: pred(p) insert(x,1)\nb: pred(p) insert(y,1)\nc: pred(p,x=1,y=1)";
    check_both(skew, "holds", "WriteSkew");
    let fractured = "a: insert(x,1) insert(y,1)\nb: pred(p,x=1)\nc: pred(p,x=1,y=1)";
    check_both(fractured, "FracturedRead", "FracturedRead");
    let gone = "a: insert(x,1)\na: delete(x)\nb: pred(p,x=1)\na: pred(p,x=1)";
    check_both(gone, "SessionGuaranteeViolation", "SessionGuaranteeViolation");
}

#[test]
fn equal_values_are_matched_in_every_way() {
    check_both("initial 0\na: w(x,1)\nb: w(x,1)\nc: r(x,1)", "holds", "holds");
    // Whichever of the two it read, the other one came in between.
    let skew = "initial 0\na: r(x,0) w(x,1)\na: r(x,1) w(x,2)\na: r(x,2) w(x,1)\na: r(x,2)";
    check_both(skew, "SessionGuaranteeViolation", "SessionGuaranteeViolation");
    let both = "initial 0\na: w(x,1) w(y,1)\nb: r(x,0) r(y,1)\na: w(x,1) w(y,2)";
    check_both(both, "FracturedRead", "FracturedRead");
}

#[test]
fn a_released_savepoint_is_gone() {
    let undone = "savepoint(p) w(x,1) savepoint(p) w(x,2) release(p) rollback(p)";
    let all = format!("initial 0\na: {undone} r(x,0)");
    check_both(&all, "holds", "holds");
    let some = format!("initial 0\na: {undone} r(x,1)");
    assert_eq!(says(&some, Level::Serializable), "AbortedRead");
}

#[test]
fn what_nobody_learned_is_no_thin_air() {
    for text in
        ["a: w(x,_)\nb: r(x,5)", "a: append(x,_)\nb: list(x,[5])", "a: append(x,5)\nb: list(x,[_])"]
    {
        assert!(says(text, Level::Serializable).starts_with("unknown: the value of"), "{text}");
    }
    let compatible = "a: append(x,5)\na: append(x,6)\nb: list(x,[_,6])\nc: list(x,[5])";
    assert!(says(compatible, Level::Serializable).starts_with("unknown"), "{compatible}");
}

#[test]
fn an_uncertain_append_proves_nothing_in_an_incomplete_history() {
    let text = "initial 0\nincomplete\na: append?(l,5) r(x,0) w(x,1) unknown\nb: r(x,0) w(x,2)\n\
                c: list(l,[5])";
    assert!(says(text, Level::Serializable).starts_with("unknown"));
}

#[test]
fn a_version_that_stands_twice_in_a_given_order_has_no_place() {
    let text = "a: w(x,1)\nb: w(x,2)\nc: r(x,1)\nc: r(x,2)\norder x: 1 2 1";
    assert!(says(text, Level::Serializable).starts_with("unknown: the given order of key x"));
}

#[test]
fn many_equal_values_are_replayed() {
    // Too many ways to try, but the order in which it was recorded explains it.
    let mut text = "initial 0\n".to_owned();
    for n in 0..1000 {
        text += &format!("s{}: r(x,{}) w(x,{})\n", n % 7, n % 3, (n + 1) % 3);
    }
    check_both(&text, "holds", "holds");
}

#[test]
fn what_cannot_be_decided_is_unknown() {
    assert!(says("a: w?(x,1)\nb: r(x,1)", Level::Serializable).starts_with("unknown"));
    let equal = "a: append(x,1)\nb: append(x,1)\nc: list(x,[1])";
    assert!(says(equal, Level::Serializable).starts_with("unknown"));
    assert!(says("incomplete\na: r(x,1)", Level::Serializable).starts_with("unknown"));
    // Whether x = 2 satisfies p, nobody knows.
    let some = "a: pred(p)\nb: w(x,1)\nb: w(x,2)\nc: pred(p,x=1)";
    assert!(says(some, Level::Serializable).starts_with("unknown"));
}

/// Three read the same version and wrote, one of them after its own write: where helpers stand between
/// readers and writers, the edge between two of them must not be missed at a level that allows lost
/// updates.
#[test]
fn prefix_sees_what_helpers_leave_out() {
    let history =
        parse("a: list(x,[]) append(x,1)\nb: list(x,[]) append(x,2)\na: append(x,3) list(x,[3])");
    let history = history.unwrap();
    let options = Options { direct_pairs: 0, ..Options::default() };
    let promise = Promise::of(Level::Prefix);
    assert_eq!(check(&history, promise, &options).holds(), Some(false));
}
