//! What verdicts look like.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "expectations are made where they are used")]

use expect_test::{Expect, expect};
use isolde_check::{Options, check};
use isolde_history::notation::parse;
use isolde_report::{to_json, to_text};
use isolde_spec::{Level, Promise};

#[track_caller]
fn shows(text: &str, level: Level, expected: Expect) {
    let history = parse(text).unwrap();
    let verdict = check(&history, Promise::of(level), &Options::default());
    expected.assert_eq(&to_text(&history, &verdict));
}

#[test]
fn a_level_that_holds() {
    shows(
        "a: w(x,1)\nb: r(x,1)",
        Level::Serializable,
        expect![[r#"
        serializable: holds
    "#]],
    );
}

#[test]
fn a_cycle_is_told_step_by_step() {
    let text = "initial 0\na 1: r(x,0) r(y,0) w(x,1)\nb 2: r(x,0) r(y,0) w(y,1)";
    shows(
        text,
        Level::Serializable,
        expect![[r#"
        serializable: violated
          1 found: WriteSkew
          WriteSkew: two transactions each overwrote what the other had read
            T1     a 1: r(x,0) r(y,0) w(x,1)
            T2     b 2: r(x,0) r(y,0) w(y,1)
            T2 overwrote what T1 read of y: r(y,0), w(y,1)
            T1 overwrote what T2 read of x: r(x,0), w(x,1)
    "#]],
    );
}

#[test]
fn a_local_anomaly_names_its_operations() {
    shows(
        "initial 0\na: w(x,1) abort\nb: r(x,1)",
        Level::SnapshotIsolation,
        expect![[r#"
        snapshot-isolation: violated
          1 found: AbortedRead
          AbortedRead: a transaction read a value of a transaction that was rolled back
            #0     a: w(x,1) abort
            #1     b: r(x,1)
            look at w(x,1) of #0
            look at r(x,1) of #1
    "#]],
    );
}

#[test]
fn what_is_unknown_says_why() {
    shows(
        "a: w(x,1)\nb: w(x,1)\nc: r(x,1)",
        Level::Serializable,
        expect![[r#"
            serializable: unknown, because operation 1 of transaction #2 (key x) read a value that was written more than once
        "#]],
    );
}

#[test]
fn json_has_the_cycle() {
    let history = parse("initial 0\na 1: r(x,0) w(x,1)\nb 2: r(x,0) w(x,2)").unwrap();
    let verdict = check(&history, Promise::of(Level::Serializable), &Options::default());
    let json = to_json(&history, &verdict);
    assert_eq!(json["answer"], "violated");
    assert_eq!(json["witnesses"][0]["anomaly"], "LostUpdate");
    assert_eq!(json["witnesses"][0]["cycle"][0]["key"], "x");
}
