//! The story of each anomaly, with the real keys, values and transactions.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "expectations are made where they are used")]

use expect_test::{Expect, expect};
use isolde_history::notation::parse;
use isolde_report::Exhibit;
use isolde_spec::{Level, Promise};

use crate::shown::ask;

/// The stories of the first witness of each anomaly that breaks a level.
#[track_caller]
fn tells(text: &str, level: Level, expected: Expect) {
    let history = parse(text).unwrap_or_else(|e| panic!("{e}"));
    let decided = ask(&history, level);
    let mut told = String::new();
    let mut known = Vec::new();
    for (at, witness) in decided.verdict.witnesses().iter().enumerate() {
        if !known.contains(&witness.anomaly) {
            known.push(witness.anomaly);
            let exhibit = Exhibit::new(&history, Promise::of(level), at + 1, witness);
            told += &format!("{}: {}\n", exhibit.title, exhibit.story);
        }
    }
    expected.assert_eq(&told);
}

#[test]
fn reads_from_nowhere() {
    let level = Level::ReadCommitted;
    tells(
        "initial 0\na 1: r(x,7)",
        level,
        expect![[r#"
            ThinAirRead: T1 read x = 7, which no transaction wrote.
        "#]],
    );
    tells(
        "initial 0\na 1: w(x,1) abort\nb 2: r(x,1)",
        level,
        expect![[r#"
        AbortedRead: T2 read x = 1 of T1, which was rolled back.
    "#]],
    );
    tells(
        "initial 0\na 1: w(x,1) w(x,2)\nb 2: r(x,1)",
        level,
        expect![[r#"
        IntermediateRead: T2 read x = 1 of T1, which overwrote it with 2 before it committed.
    "#]],
    );
    tells(
        "a 1: append(l,1) append(l,2)\nb 2: list(l,[1])",
        level,
        expect![[r#"
        IntermediateRead: T2 read l = [1] of T1, which went on to change it before it committed.
    "#]],
    );
}

#[test]
fn a_writer_that_began_after_its_reader_had_ended_is_told_as_such() {
    tells(
        "initial 0\na 1: r(x,5) @[1,2]\nb 2: w(x,5) abort @[10,12]",
        Level::ReadCommitted,
        expect![[r#"
            AbortedRead: T1 read x = 5. Only T2 wrote that, and T2 was rolled back; but it began after T1 had ended. So the value came from nowhere, or a clock is wrong.
        "#]],
    );
}

#[test]
fn an_operation_that_failed_to_write_the_value_is_named() {
    let level = Level::ReadCommitted;
    tells(
        "initial 0\na 1: cas!(x,0,5)\nb 2: r(x,5)",
        level,
        expect![[r#"
        ThinAirRead: T2 read x = 5, which no transaction wrote: cas!(x,0,5) of T1 failed.
    "#]],
    );
    tells(
        "initial 0\na 1: delete!(x) abort\nb 2: r(x,absent)",
        level,
        expect![[r#"
        AbortedRead: T2 found no x of T1, which was rolled back.
    "#]],
    );
}

#[test]
fn the_aborted_transaction_before_in_the_session_is_shown() {
    let text = "initial 0\na 1: w(z,9) abort\na 2: r(x,0) w(x,1)\nb 3: r(x,0) w(x,2)";
    let history = parse(text).unwrap();
    let decided = ask(&history, Level::SnapshotIsolation);
    let witness = &decided.verdict.witnesses()[0];
    let exhibit = Exhibit::new(&history, Promise::of(Level::SnapshotIsolation), 1, witness);
    let before = exhibit.parts.iter().find(|part| part.name == "T1").unwrap();
    assert!(before.support && before.outcome == isolde_history::Outcome::Aborted);
    assert!(isolde_spec::excerpt(&history, witness).contains("w(z,9) abort"));
}

#[test]
fn inside_a_transaction() {
    let level = Level::ReadAtomic;
    tells(
        "initial 0\na 1: r(x,1) w(x,1)",
        level,
        expect![[r#"
        FutureRead: T1 read x = 1 before it wrote x = 1.
    "#]],
    );
    tells(
        "initial 0\na 1: w(x,1) w(x,2) r(x,1)",
        level,
        expect![[r#"
        NotMyLastWrite: T1 wrote x = 2 and then read x = 1.
    "#]],
    );
    tells(
        "initial 0\na 1: w(x,1) r(x,0)",
        level,
        expect![[r#"
        NotMyOwnWrite: T1 wrote x = 1 and then read x = 0.
    "#]],
    );
    tells(
        "initial 0\na 1: r(x,0) w(x,1)\nb 2: r(x,0) r(x,1)",
        level,
        expect![[r#"
            NonRepeatableReads: T2 read x = 0, and later read x = 1.
            FracturedRead: T2 read x = 1 of T1, but read x = 0, the initial value, which T1 had overwritten with 1: it saw both before and after T1.
        "#]],
    );
}

#[test]
fn lists() {
    let level = Level::ReadCommitted;
    tells(
        "a 1: append(l,1)\nb 2: append(l,2)\nc 3: list(l,[1,2])\nd 4: list(l,[2,1])",
        level,
        expect![[r#"
            IncompatibleOrder: T3 read l = [1,2], and T4 read l = [2,1]: neither list grew out of the other.
        "#]],
    );
    tells(
        "a 1: append(l,1)\nb 2: list(l,[1,1])",
        level,
        expect![[r#"
        DuplicateElements: T1 appended 1 to l once, but T2 read l = [1,1].
    "#]],
    );
    tells(
        "a 1: append(l,1) abort\nb 2: append(l,2)\nc 3: list(l,[1,2])",
        level,
        expect![[r#"
            DirtyUpdate: T1 appended 1 to l and was rolled back, but T3 read l = [1,2]: a committed element stands on top of it.
        "#]],
    );
}

#[test]
fn two_transactions() {
    let si = Level::SnapshotIsolation;
    tells(
        "initial 0\na 1: r(x,0) w(x,1) r(y,0) w(y,1)\nb 2: r(x,0) r(y,1)",
        si,
        expect![[r#"
        FracturedRead: T2 read y = 1 of T1, but read x = 0, the initial value, which T1 had overwritten with 1: it saw one part of T1 and not the other.
    "#]],
    );
    tells(
        "initial 0\na 1: r(x,0) w(x,1) r(y,0) w(y,1)\nb 2: r(y,1) r(x,0)",
        si,
        expect![[r#"
        NonMonotonicRead: T2 first read y = 1 of T1, and then read x = 0, the initial value, which T1 had overwritten with 1.
    "#]],
    );
    tells(
        "initial 0\na 1: r(x,0) w(x,1)\na 2: r(x,0)",
        si,
        expect![[r#"
        SessionGuaranteeViolation (needs session order): T2 came after T1 in the same session, and yet it read x = 0, the initial value, which T1 had overwritten with 1.
    "#]],
    );
    tells(
        "initial 0\na 1: r(x,0) w(x,1)\nb 2: r(x,0) w(x,2)",
        si,
        expect![[r#"
        LostUpdate: T1 and T2 both read x = 0, the initial value, and both wrote x: one update is lost.
    "#]],
    );
    tells(
        "a 1: r(x,absent) w(x,1)\nb 2: r(x,absent) w(x,2)",
        si,
        expect![[r#"
        LostUpdate: T1 and T2 both found no x and both wrote x: one update is lost.
    "#]],
    );
    tells(
        "a 1: list(l,[]) append(l,1)\nb 2: list(l,[]) append(l,2)\nc 3: list(l,[1,2])",
        si,
        expect![[r#"
            LostUpdate: T2 read l = [] and then appended 2 to l, though T1 appended 1 to l in between: it had not seen that.
        "#]],
    );
    let given = "initial 0\na 1: r(x,0) w(x,1)\nb 2: w(x,2)\norder x: 0 2 1";
    tells(
        given,
        si,
        expect![[r#"
            LostUpdate: T1 read x = 0, the initial value, and then wrote x = 1, though T2 wrote x = 2 in between: that update is lost.
        "#]],
    );
    let skew = "initial 0\na 1: r(x,0) r(y,0) w(x,1)\nb 2: r(x,0) r(y,0) w(y,1)";
    tells(
        skew,
        Level::Serializable,
        expect![[r#"
        WriteSkew: T1 read y = 0 and wrote x = 1, while T2 read x = 0 and wrote y = 1: each overwrote what the other had read, so neither can have come first.
    "#]],
    );
    let rows = "a 1: pred(p) insert(x,1)\nb 2: pred(p) insert(y,1)\nc 3: pred(p,x=1,y=1)";
    tells(
        rows,
        Level::Serializable,
        expect![[r#"
            WriteSkew: T1 looked for p and found nothing and inserted x = 1, while T2 looked for p and found nothing and inserted y = 1: each overwrote what the other had read, so neither can have come first.
        "#]],
    );
}

#[test]
fn several_transactions() {
    let si = Level::SnapshotIsolation;
    let causality = "initial 0\na 1: r(x,0) w(x,1)\nb 2: r(x,1) r(y,0) w(y,1)\nc 3: r(y,1) r(x,0)";
    tells(
        causality,
        si,
        expect![[r#"
        CausalityViolation: T3 read y = 1 of T2, and T2 read x = 1 of T1. So T3 had to see what T1 wrote, and yet it read x = 0, the initial value, which T1 had overwritten with 1.
    "#]],
    );
    let fork =
        "initial 0\na 1: r(x,0) w(x,1)\nb 2: r(y,0) w(y,1)\nc 3: r(x,1) r(y,0)\nd 4: r(x,0) r(y,1)";
    tells(
        fork,
        si,
        expect![[r#"
            LongFork: T3 read x = 1 of T1, but read y = 0, which T2 had overwritten with 1; T4 read y = 1 of T2, but read x = 0, which T1 had overwritten with 1: they disagree about which came first.
        "#]],
    );
    let writes = "initial 0\na 1: w(x,1) w(y,1)\nb 2: w(x,2) w(y,2)\norder x: 1 2\norder y: 2 1";
    tells(
        writes,
        si,
        expect![[r#"
            G0: T2 wrote x = 2 after T1 wrote x = 1; T1 wrote y = 1 after T2 wrote y = 2: each of T1 and T2 must come before the other.
        "#]],
    );
    tells(
        "initial 0\na 1: r(x,2) w(y,1)\nb 2: r(y,1) w(x,2)",
        si,
        expect![[r#"
            CyclicCausality: T2 read y = 1 of T1; T1 read x = 2 of T2: each of T1 and T2 must come before the other.
        "#]],
    );
    let three = "initial 0\na 1: r(x,0) w(y,1)\nb 2: r(y,0) w(z,1)\nc 3: r(z,0) w(x,1)";
    tells(
        three,
        Level::Serializable,
        expect![[r#"
            G2-item: T1 read x = 0, which T3 overwrote with 1; T3 read z = 0, which T2 overwrote with 1; T2 read y = 0, which T1 overwrote with 1: each of T1, T3 and T2 must come before the next, and the last before the first.
        "#]],
    );
    let prefix = "initial 0\na 1: append(log,1) w(price,1)\nb 2: append(log,2) w(name,2)\n\
                  c 3: list(log,[1,2])\nd 4: r(name,2) r(price,0)";
    tells(
        prefix,
        Level::Prefix,
        expect![[r#"
        PrefixViolation: T4 read name = 2 of T2, and T2 appended 2 to log after T1 appended 1 to log. So T4 had to see what T1 wrote, and yet it read price = 0, the initial value, which T1 had overwritten with 1.
    "#]],
    );
}

#[test]
fn long_cycles_are_summed_up() {
    let mut text = "initial 0\n".to_owned();
    (0..12).for_each(|n| text += &format!("s{n} {n}: r(k{n},0) w(k{},1)\n", (n + 1) % 12));
    tells(
        &text,
        Level::Serializable,
        expect![[r#"
            G2-item: 12 transactions each must come before the next, and the last before the first. It starts with: T0 read k0 = 0, which T11 overwrote with 1; T11 read k11 = 0, which T10 overwrote with 1; T10 read k10 = 0, which T9 overwrote with 1; T9 read k9 = 0, which T8 overwrote with 1.
        "#]],
    );
}

#[test]
fn names_are_left_as_they_are() {
    tells(
        "initial 0\na tx-a: r(x,0) w(x,1)\nb tx-b: r(x,0) w(x,2)",
        Level::SnapshotIsolation,
        expect![[r#"
            LostUpdate: tx-a and tx-b both read x = 0, the initial value, and both wrote x: one update is lost.
        "#]],
    );
}

#[test]
fn what_was_there_at_first_is_not_said_to_be_written() {
    // T2 wrote 0 again, but T1 had read it before.
    let again = "initial 0\na 1: r(x,0) w(x,1) @[0,10]\nb 2: r(x,1) w(x,0) @[11,20]\n\
                 c 3: r(x,0) w(x,3) @[21,30]\nd 4: r(x,0) w(x,4) @[22,31]\n";
    tells(
        again,
        Level::SnapshotIsolation,
        expect![[r#"
            LostUpdate: T1 and T3 both read x = 0 and both wrote x: one update is lost.
        "#]],
    );
}

#[test]
fn savepoints_are_no_rollbacks_of_transactions() {
    let level = Level::ReadCommitted;
    let taken_back = "initial 0\na 1: savepoint(s) w(x,1) rollback(s) w(y,2)\nb 2: r(x,1) r(y,2)";
    tells(
        taken_back,
        level,
        expect![[r#"
            AbortedRead: T2 read x = 1, which T1 had written and taken back (to a savepoint).
        "#]],
    );
    let between = "initial 0\na 1: w(x,1) w(x,2) savepoint(s) w(x,3) rollback(s)\nc 3: r(x,1)";
    tells(
        between,
        level,
        expect![[r#"
        IntermediateRead: T3 read x = 1 of T1, which overwrote it with 2 before it committed.
    "#]],
    );
}

#[test]
fn what_failed_is_not_told_as_done() {
    let failed =
        "initial 0\na 1: cas(x,0,1) @[0,10]\nb 2: cas!(x,1,2) @[11,13]\nc 3: r(x,0) @[14,15]";
    tells(
        failed,
        Level::Linearizable,
        expect![[r#"
        NotLinearizable (needs real time): T2 failed at cas!(x,1,2), and no order explains that: after cas(x,0,1) x holds 1, but cas!(x,1,2) did not find 1.
    "#]],
    );
    let inserts = "a 1: insert(x,1) @[0,10]\nb 2: insert(x,2) @[11,13]\nc 3: r(x,2) @[14,15]";
    tells(
        inserts,
        Level::SnapshotIsolation,
        expect![[r#"
        LostUpdate: T1 and T2 both found no x and both wrote x: one update is lost.
    "#]],
    );
    let both = "initial 0\na 1: cas(x,0,1)\nb 2: cas(x,0,2)";
    tells(
        both,
        Level::SnapshotIsolation,
        expect![[r#"
        LostUpdate: T1 and T2 both found x = 0 and both wrote x: one update is lost.
    "#]],
    );
}

#[test]
fn predicates_name_what_they_missed() {
    let given = "given x 1\ngiven y 1\na 1: pred(p,x=1)\nb 2: pred(p,x=1,y=1)";
    tells(
        given,
        Level::ReadCommitted,
        expect![[r#"
        ThinAirRead: T1 looked for p and found x = 1, which no state of the rows gives.
    "#]],
    );
    let missed = "given k1 1\na 1: pred(p,k1=1)\nb 2: insert(k2,5)\nc 3: pred(p,k1=1,k2=5) w(k3,1)\n\
                  a 4: r(k3,1) pred(p,k1=1)";
    tells(
        missed,
        Level::Causal,
        expect![[r#"
        CausalityViolation: T4 read k3 = 1 of T3, and T3 looked for p and found k1 = 1, k2 = 5 of T2. So T4 had to see what T2 wrote, and yet it looked for p and found k1 = 1, which misses that T2 inserted k2 = 5.
    "#]],
    );
}

#[test]
fn own_writes_of_lists_have_a_story() {
    tells(
        "a 1: append(l,1) list(l,[])",
        Level::ReadUncommitted,
        expect![[r#"
        NotMyOwnWrite: T1 appended 1 to l and then read l = [].
    "#]],
    );
    tells(
        "initial 0\na 1: r(x,0) w(x,1)\nb 2: [r(x,0) r(x,1)]",
        Level::ReadAtomic,
        expect![[r#"
        NonRepeatableReads: T2 read x = 0, and in the same statement read x = 1.
        FracturedRead: T2 read x = 1 of T1, but read x = 0, the initial value, which T1 had overwritten with 1: it saw both before and after T1.
    "#]],
    );
}

#[test]
fn an_order_that_nobody_saw_says_so() {
    let lists = "a 1: append(x,1)\nb 2: append(x,2) list(x,[2])\nc 3: list(x,[1]) append(x,3)\n\
                 d 4: list(x,[1,3,2])";
    tells(
        lists,
        Level::SnapshotIsolation,
        expect![[r#"
        G-single: T2 appended 2 to x after T3 appended 3 to x, and T3 appended 3 to x after T1 appended 1 to x. So T2 had to see what T1 wrote, and yet it read x = [2], to which T1 had appended 1.
    "#]],
    );
}

#[test]
fn at_cursor_stability_the_lost_update_is_on_the_key_that_was_read() {
    let text = "initial 0\na 6: r(x,0) w(x,1) r(y,2) w(y,3)\nb 7: w(x,4) w(y,2)\n";
    tells(
        text,
        Level::CursorStability,
        expect![[r#"
        LostUpdate: T6 read x = 0, the initial value, and then wrote x = 1, though T7 wrote x = 4 in between (T7 came first: T6 read y = 2 of T7): that update is lost.
    "#]],
    );
}

#[test]
fn why_an_unknown_outcome_counts_is_told() {
    let text = "initial 0\na 1: r(x,0) w(x,1) unknown\nb 2: r(x,0) w(x,2)\nc 3: r(x,1)\n";
    tells(
        text,
        Level::SnapshotIsolation,
        expect![[r#"
        LostUpdate: T1 and T2 both read x = 0, the initial value, and both wrote x: one update is lost. The outcome of T1 is unknown, but T3 read x = 1, which T1 wrote: so T1 has committed.
    "#]],
    );
    let lists = "a 1: list(x,[]) append(x,1) r(y,0) w(y,1) unknown\nb 2: list(x,[1]) r(y,0)\n";
    tells(
        &format!("initial 0\n{lists}"),
        Level::SnapshotIsolation,
        expect![[r#"
        NonMonotonicRead: T2 first read x = [1] of T1, and then read y = 0, the initial value, which T1 had overwritten with 1. The outcome of T1 is unknown, but T2 read x = [1], and T1 appended 1 to x: so T1 has committed.
    "#]],
    );
    // One reader that may have been rolled back itself proves nothing.
    let nobody = "initial 0\na 1: r(x,0) w(x,1) unknown\nb 2: r(x,0) w(x,2)\nc 3: r(x,1) unknown\n";
    assert!(ask(&parse(nobody).unwrap(), Level::SnapshotIsolation).verdict.holds() != Some(false));
}

#[test]
fn a_rollback_to_a_savepoint_says_nothing_of_the_end() {
    let text = "initial 0\na 1: savepoint(s) w(x,1) rollback(s) unknown\nb 2: r(x,1)";
    tells(
        text,
        Level::ReadCommitted,
        expect![[r#"
        AbortedRead: T2 read x = 1, which T1 had written and taken back (to a savepoint).
    "#]],
    );
}

#[test]
fn long_keys_that_differ_are_not_the_same() {
    let (a, b) = ("k".repeat(60) + "A" + &"k".repeat(60), "k".repeat(60) + "B" + &"k".repeat(60));
    let text =
        format!("initial 0\na 1: r({a},0) w({a},1) r({b},0) w({b},1)\nb 2: r({a},0) r({b},1)");
    let history = parse(&text).unwrap();
    let decided = ask(&history, Level::ReadAtomic);
    let witness = &decided.verdict.witnesses()[0];
    let story = Exhibit::new(&history, Promise::of(Level::ReadAtomic), 1, witness).story;
    assert!(story.contains("it saw one part of T1 and not the other"), "{story}");
}
