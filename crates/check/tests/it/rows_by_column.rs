//! Histories whose operations speak of columns: no procedure that compares values may judge them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_check::{Checker, Options, check};
use isolde_history::notation::parse;
use isolde_spec::{Anomaly, Answer, Level, Promise};

/// Two transactions write a column each, and a third one reads both: that is no value that any of them wrote.
const COLUMNS: &str = "given [t,1] {v:1,w:1}\n\
                       a: w([t,1],{v:2}) @[1,2] ts(1,2)\n\
                       b: w([t,1],{w:3}) @[3,4] ts(3,4)\n\
                       c: r([t,1],{v:2,w:3}) @[5,6] ts(5,6)\n";

#[test]
fn rows_by_column_are_not_judged_by_values() {
    let history = parse(&format!("meta rows by-column\n{COLUMNS}")).unwrap();
    let checker = Checker::new(&history, Options::default());
    let timed = [Level::SnapshotIsolation, Level::Serializable].map(Promise::by_timestamps);
    let shown = [Level::ReadCommitted, Level::SnapshotIsolation].map(Promise::by_snapshots);
    for promise in Promise::all().chain(timed).chain(shown) {
        let verdict = checker.check(promise);
        let why = "values are rows by column, which only client intervals can judge";
        assert_eq!(verdict.answer, Answer::Unknown(why.to_owned()), "{promise}");
        assert_eq!(verdict.procedure.name, "none");
    }
    // The fact is what makes the difference.
    let whole = parse(COLUMNS).unwrap();
    let verdict = check(&whole, Promise::of(Level::Serializable), &Options::default());
    assert_eq!(verdict.holds(), Some(false), "{verdict:?}");
}

#[test]
fn a_commit_that_was_lost_breaks_every_level_all_the_same() {
    let text = "meta rows by-column\na: w([t,1],{v:2})\n\
                event lost-commit @[9,_] {session:a,key:[t,1],value:{v:2}}\n";
    let history = parse(text).unwrap();
    let verdict = check(&history, Promise::of(Level::ReadCommitted), &Options::default());
    assert_eq!(verdict.witnesses().first().map(|w| w.anomaly), Some(Anomaly::LostCommit));
}
