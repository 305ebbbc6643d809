//! A search that reaches a limit says so, and how to raise it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use isolde_check::{Checker, Limits, Options, check};
use isolde_history::History;
use isolde_history::notation::parse;
use isolde_spec::{Answer, Level, Promise};

/// Many writes at the same time, some of the same value, and then a compare-and-set that failed though
/// the value that it expected was there. Transactions do not show that: no other level decides it.
fn hard() -> History {
    let mut text = "s: w(x,0) @[0,1]\nt: w(x,0) @[0,1]\n".to_owned();
    for i in 0..12 {
        let _ = writeln!(text, "a{i}: w(x,{}) @[2,9]\nb{i}: cas!(x,{},0) @[2,9]", i + 1, i + 20);
    }
    text += "d: cas!(x,6,7) @[10,11]\nc: r(x,6) @[10,11]\n";
    parse(&text).unwrap()
}

fn reason(options: Options, limits: Limits<'_>) -> String {
    let history = hard();
    let checker = Checker::with_limits(&history, options, limits);
    match checker.check(Promise::of(Level::Linearizable)).answer {
        Answer::Unknown(reason) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_limit_is_named() {
    let usual = Options::default();
    let steps = reason(usual, Limits::default().with_steps(100));
    assert!(steps.contains("--order-steps"), "{steps}");
    let memory = reason(Options { order_memory: 1, ..usual }, Limits::default());
    assert!(memory.contains("--order-memory"), "{memory}");
    let late = || true;
    let time = reason(usual, Limits::default().with_time(&late));
    assert!(time.contains("--timeout"), "{time}");
    let stop = AtomicBool::new(true);
    let stopped = reason(usual, Limits::default().with_stop(&stop));
    assert!(stopped.contains("stopped"), "{stopped}");
}

#[test]
fn without_a_limit_it_is_decided() {
    let verdict = check(&hard(), Promise::of(Level::Linearizable), &Options::default());
    assert_eq!(verdict.holds(), Some(false));
}
