//! Promises by timestamps: what is found, under which name, and what stays open.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use isolde_check::timestamps::Supply;
use isolde_check::{Checker, Limits, Options, check as ask};
use isolde_history::notation::{parse, txn_name, write_value};
use isolde_history::{History, Value};
use isolde_spec::{Anomaly, Answer, Level, Promise, Seen, Verdict};

/// A verdict as lines: what was broken, by which transaction, with what it should have read and did read.
fn told(history: &History, verdict: &Verdict) -> String {
    let mut out = String::new();
    match &verdict.answer {
        Answer::Holds => out.push_str("holds"),
        Answer::Unknown(reason) => _ = write!(out, "unknown: {reason}"),
        Answer::Violated(_) => {}
        Answer::NoViolation { .. } => panic!("only client intervals leave it at that"),
    }
    let show = |value: Value| {
        let mut text = String::new();
        write_value(history.pool(), value, &mut text);
        text
    };
    let seen = |seen: &Seen| {
        let what = match &seen.list {
            Some(list) => {
                format!("{:?}", list.iter().map(|v| show(*v)).collect::<Vec<_>>().join(" "))
            }
            None => show(seen.value),
        };
        match seen.write {
            Some(op) => format!("{what} of {}", txn_name(history, history.txn_of(op))),
            None if seen.initial => format!("{what}, the initial state"),
            None => what,
        }
    };
    for witness in verdict.witnesses() {
        let timed = witness.timed.as_ref().unwrap();
        let txn = txn_name(history, timed.txn);
        _ = write!(out, "{} {} {txn}", timed.axiom.name(), witness.anomaly);
        if let Some(opponent) = timed.opponent {
            _ = write!(out, " against {}", txn_name(history, opponent));
        }
        if !timed.expected.is_empty() {
            let expected: Vec<String> = timed.expected.iter().map(seen).collect();
            _ = write!(out, ", not {}", expected.join(" or "));
        }
        if let Some(read) = &timed.read {
            _ = write!(out, ", but {}", seen(read));
        }
        for assumed in &timed.assumed {
            let stamp = |ts: Option<isolde_history::Timestamp>| ts.map_or(0, |ts| ts.physical);
            let (after, until) = (stamp(assumed.after), stamp(assumed.until));
            _ = write!(out, ", {} in ({after},{until})", txn_name(history, assumed.txn));
        }
        out.push('\n');
    }
    out.trim_end().to_owned()
}

#[track_caller]
fn check(level: Level, text: &str, expected: &str) {
    let history = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let verdict = ask(&history, Promise::by_timestamps(level), &Options::default());
    assert_eq!(told(&history, &verdict), expected, "\n{text}");
}

#[track_caller]
fn si(text: &str, expected: &str) {
    check(Level::SnapshotIsolation, text, expected);
}

#[track_caller]
fn ser(text: &str, expected: &str) {
    check(Level::Serializable, &format!("meta commit-order serial\n{text}"), expected);
}

#[test]
fn figure_1_of_the_paper_is_right() {
    si(
        "a T0: w(x,0) w(y,0) ts(1,2)\n\
         a T1: r(x,0) w(y,2) ts(3,5)\n\
         b T2: r(y,0) w(x,1) ts(4,7)\n\
         a T3: r(y,2) ts(6,8)",
        "holds",
    );
}

#[test]
fn figure_2_of_the_paper_is_one_conflict() {
    si(
        "a T1: w(x,1) ts(1,2)\n\
         a T2: r(x,1) w(x,2) ts(3,5)\n\
         b T3: r(x,2) w(y,2) ts(6,9)\n\
         c T4: r(y,1) ts(8,10)\n\
         d T5: w(y,1) ts(4,7)",
        "NOCONFLICT ConcurrentWrites T5 against T3",
    );
}

const FIGURE_11: &str = "initial 0\n\
                         a T1: w(x,1) ts(1,2)\n\
                         b T2: w(x,2) ts(3,4)\n\
                         c T3: r(x,1) ts(5,6)";

#[test]
fn figure_11_of_the_paper_is_wrong_by_timestamps_and_right_by_values() {
    si(FIGURE_11, "EXT StaleRead T3, not 2 of T2, but 1 of T1");
    let history = parse(FIGURE_11).unwrap();
    let checker = Checker::new(&history, Options::default());
    let by_timestamps = checker.check(Promise::by_timestamps(Level::SnapshotIsolation));
    let by_values = checker.check(Promise::of(Level::SnapshotIsolation));
    assert_eq!((by_timestamps.holds(), by_values.holds()), (Some(false), Some(true)));
}

#[test]
fn what_holds_by_timestamps_holds_by_values_without_a_search() {
    // Blind writes, whose order values do not show.
    let lines: String = (0..3_000)
        .map(|i| {
            let (a, b) = (4 * i + 1, 4 * i + 3);
            let (s, t) = (i % 7, i % 5);
            format!("s{s}: w(x,{a}) w(y,{a}) ts({a},{b})\nt{t}: r(x,{a}) ts({b},{b})\n")
        })
        .collect();
    let history = parse(&lines).unwrap();
    let checker = Checker::new(&history, Options::default());
    assert_eq!(checker.check(Promise::by_timestamps(Level::SnapshotIsolation)).holds(), Some(true));
    let by_values = checker.check(Promise::of(Level::SnapshotIsolation));
    let why = "it follows from snapshot-isolation by timestamps, which holds";
    assert_eq!((by_values.holds(), by_values.procedure.why.as_str()), (Some(true), why));
}

#[test]
fn every_wrong_read_has_its_name() {
    si(
        "a T1: w(x,1) ts(1,4)\nb T2: r(x,1) ts(2,3)",
        "EXT UncommittedVersionRead T2, not absent, the initial state, but 1 of T1",
    );
    si(
        "a T1: w(x,1) ts(1,2)\nb T2: r(x,absent) ts(3,3)",
        "EXT StaleRead T2, not 1 of T1, but absent, the initial state",
    );
    si(
        "a T1: w(x,1) w(x,2) ts(1,2)\nb T2: r(x,1) ts(3,3)",
        "EXT IntermediateRead T2, not 2 of T1, but 1 of T1",
    );
    si(
        "a T1: w(x,1) abort ts(1,_)\nb T2: r(x,1) ts(3,3)",
        "EXT AbortedRead T2, not absent, the initial state, but 1 of T1",
    );
    si("a T1: w(x,1) ts(1,2)\nb T2: r(x,7) ts(3,3)", "EXT ThinAirRead T2, not 1 of T1, but 7");
    si(
        "b T2: r(x,7) w(x,7) ts(3,4)",
        "EXT FutureRead T2, not absent, the initial state, but 7 of T2",
    );
    si("b T2: w(x,7) r(x,8) ts(3,4)", "INT NotMyOwnWrite T2");
    si("b T2: r(x,absent) r(x,1) ts(3,3)\na T1: w(x,1) ts(1,5)", "INT NonRepeatableReads T2");
}

#[test]
fn every_conflict_has_its_name() {
    si(
        "initial 0\na T1: r(x,0) w(x,1) ts(1,3)\nb T2: r(x,0) w(x,2) ts(2,4)",
        "NOCONFLICT LostUpdate T1 against T2",
    );
    si("a T1: w(x,1) ts(1,3)\nb T2: w(x,2) ts(2,4)", "NOCONFLICT ConcurrentWrites T1 against T2");
    si("a T1: w(x,1) ts(1,3)\nb T2: w(x,2) ts(3,4)", "holds");
    // Three that all overlap are two findings, each against the opponent that commits first.
    si(
        "a T1: w(x,1) ts(1,4)\nb T2: w(x,2) ts(2,5)\nc T3: w(x,3) ts(3,6)",
        "NOCONFLICT ConcurrentWrites T1 against T2\nNOCONFLICT ConcurrentWrites T2 against T3",
    );
}

#[test]
fn timestamps_may_be_wrong_themselves() {
    si("a T1: w(x,1) ts(4,2)\na T2: r(x,1) ts(5,5)", "timestamps BadTimestamps T1");
    si("a T1: w(x,1) ts(2,2)", "timestamps BadTimestamps T1");
    si("a T1: r(x,absent) ts(2,2)", "holds");
    si("a T1: r(x,absent) ts(3,2)", "timestamps BadTimestamps T1");
    si(
        "a T1: w(x,1) ts(1,3)\na T2: r(x,absent) ts(2,4)",
        "SESSION SessionGuaranteeViolation T2 against T1",
    );
    si(
        "a T1: w(x,1) ts(1,3)\nb T2: w(x,2) ts(2,3)\nc T3: r(x,1) ts(4,_)\nc T4: r(x,2) ts(5,_)",
        "NOCONFLICT ConcurrentWrites T1 against T2\ntimestamps TimestampTie T2 against T1",
    );
}

#[test]
fn hybrid_timestamps_are_compared_by_both_parts() {
    si("a T1: w(x,1) ts(5.1,5.2)\nb T2: r(x,1) ts(5.2,_)", "holds");
    si("a T1: w(x,1) ts(5.1,5.3)\nb T2: r(x,absent) ts(5.2,_)", "holds");
    si(
        "a T1: w(x,1) ts(5.1,5.3)\nb T2: r(x,1) ts(5.2,_)",
        "EXT UncommittedVersionRead T2, not absent, the initial state, but 1 of T1",
    );
}

#[test]
fn commit_order_is_a_serial_order() {
    // Write skew: right for snapshots, wrong in commit order.
    let skew = "initial 0\na T1: r(x,0) w(y,1) ts(1,3)\nb T2: r(y,0) w(x,1) ts(2,4)";
    si(skew, "holds");
    ser(skew, "EXT StaleRead T2, not 1 of T1, but 0, the initial state");
    // A writer sees what was committed before it, a reader also what was committed just then.
    ser("a T1: w(x,1) ts(_,3)\nb T2: r(x,1) ts(_,3)", "holds");
    ser("a T1: w(x,1) ts(1,3)\nb T2: r(x,absent) ts(2,4)", "holds");
    ser(
        "meta reads-at commit\na T1: w(x,1) ts(1,3)\nb T2: r(x,absent) ts(2,4)",
        "EXT StaleRead T2, not 1 of T1, but absent, the initial state",
    );
    ser(
        "a T1: w(x,1) ts(_,3)\na T2: w(y,1) ts(_,3)",
        "SESSION SessionGuaranteeViolation T2 against T1",
    );
    ser("a T1: r(x,absent) ts(3,_)\na T2: r(y,absent) ts(3,_)", "holds");
    ser(
        "a T1: r(x,absent) ts(4,_)\na T2: r(y,absent) ts(3,_)",
        "SESSION SessionGuaranteeViolation T2 against T1",
    );
}

#[test]
fn a_tie_in_commit_order_leaves_it_open() {
    let tie = |a: &str, b: &str| {
        format!(
            "unknown: transactions {a} and {b} have the same commit timestamp, and one wrote key x that the \
             other read or wrote (TimestampTie): their order is open"
        )
    };
    ser("a T1: w(x,1) ts(_,3)\nb T2: w(x,2) ts(_,3)\nc T3: r(x,1) ts(4,_)", &tie("T1", "T2"));
    ser("a T1: w(x,1) ts(_,3)\nb T2: r(x,1) w(y,2) ts(_,3)", &tie("T1", "T2"));
    ser("a T1: w(x,1) ts(_,3)\nb T2: w(y,2) ts(_,3)", "holds");
    ser(
        "a T1: w(x,1) ts(_,3)\nb T2: w(x,2) ts(_,3)\nc T3: r(x,7) ts(4,_)",
        "EXT ThinAirRead T3, not 1 of T1 or 2 of T2, but 7",
    );
}

#[test]
fn lists_show_every_element_in_commit_order() {
    let base = "a T1: append(l,1) append(l,2) ts(1,2)\nb T2: append(l,3) ts(3,6)\n";
    let read = |list: &str, at: u32, expected: &str| {
        si(&format!("{base}c T3: list(l,[{list}]) ts({at},_)"), expected);
    };
    read("1,2", 5, "holds");
    read("1,2,3", 6, "holds");
    read(
        "1,2,3",
        5,
        "EXT UncommittedVersionRead T3 against T2, not \"1 2\" of T1, but \"1 2 3\" of T2",
    );
    read("1,2", 7, "EXT StaleRead T3 against T1, not \"1 2 3\" of T2, but \"1 2\" of T1");
    read("1", 5, "EXT IntermediateRead T3 against T1, not \"1 2\" of T1, but \"1\" of T1");
    read(
        "2,1,3",
        7,
        "EXT IncompatibleOrder T3 against T2, not \"1 2 3\" of T2, but \"2 1 3\" of T2",
    );
    read("1,2,9", 5, "EXT ThinAirRead T3, not \"1 2\" of T1, but \"1 2 9\"");
    si(
        &format!("{base}c T3: append(l,8) list(l,[1,2,8]) ts(5,9)"),
        "NOCONFLICT ConcurrentWrites T2 against T3",
    );
}

#[test]
fn refused_operations_saw_something_else() {
    si("a T1: w(x,1) ts(1,2)\nb T2: cas!(x,1,2) ts(3,_)", "EXT StaleRead T2, not 1 of T1");
    si("a T1: w(x,1) ts(1,2)\nb T2: cas!(x,7,2) ts(3,_)", "holds");
    si("a T1: w(x,1) ts(1,2)\nb T2: insert!(x,2) ts(3,_)", "holds");
    si(
        "a T1: w(x,1) ts(1,4)\nb T2: insert!(x,2) ts(3,_)",
        "EXT UncommittedVersionRead T2, not absent, the initial state",
    );
    si("a T1: w(x,1) delete(x) ts(1,2)\nb T2: insert(x,2) ts(3,4)", "holds");
    // What the transaction itself wrote cannot be the reason of a refusal.
    si("a T1: w(x,1) cas!(x,1,4) ts(1,2)", "INT NotMyOwnWrite T1");
    si("initial 0\na T1: delete(x) insert!(x,4) ts(1,2)", "INT NotMyOwnWrite T1");
    si("a T1: w(x,1) cas!(x,2,4) ts(1,2)", "holds");
    si("a T1: w(x,1) insert!(x,4) ts(1,2)", "holds");
    // There never was anything else.
    si("initial 0\na T1: cas!(x,0,4) ts(1,1)", "EXT ThinAirRead T1, not 0, the initial state");
}

#[test]
fn what_is_read_twice_alike_is_wrong_once() {
    si(
        "a T1: append(l,1) ts(1,2)\nb T2: list(l,[]) list(l,[]) ts(3,_)",
        "EXT StaleRead T2, not \"1\" of T1, but \"\", the initial state",
    );
    si(
        "a T1: w(x,1) ts(1,2)\nb T2: r(x,absent) r(x,absent) ts(3,_)",
        "EXT StaleRead T2, not 1 of T1, but absent, the initial state",
    );
}

#[test]
fn an_unknown_outcome_that_was_read_committed_at_some_point() {
    // Between its start and its reader, and not between two readers of the older version.
    si("a T1: w(x,1) unknown ts(1,_)\nb T2: r(x,1) ts(5,_)\nc T3: r(x,absent) ts(3,_)", "holds");
    si(
        "a T1: w(x,1) unknown ts(1,_)\nb T2: r(x,1) ts(3,_)\nc T3: r(x,absent) ts(5,_)",
        "EXT StaleRead T3, not 1 of T1, but absent, the initial state, T1 in (1,3)",
    );
    si(
        "a T1: w(x,1) unknown ts(4,_)\nb T2: r(x,1) ts(3,_)",
        "EXT UncommittedVersionRead T2, not absent, the initial state, but 1 of T1, T1 in (4,0)",
    );
    // Two of them, the second of which is read first through another key.
    si(
        "a T1: w(x,1) unknown ts(1,_)\nb T2: w(x,2) w(y,2) unknown ts(2,_)\nc T3: r(y,2) r(x,2) ts(6,_)\nd T4: r(x,1) ts(8,_)",
        "NOCONFLICT ConcurrentWrites T2 against T1, T2 in (2,6), T1 in (6,8)",
    );
    // One that was not read may be left out, also with a commit timestamp.
    si("a T1: w(x,1) unknown ts(1,2)\nb T2: r(x,absent) ts(3,_)", "holds");
    si(
        "a T1: w(x,1) unknown ts(1,2)\nb T2: r(x,1) ts(3,_)\nc T3: r(x,absent) ts(4,_)",
        "EXT StaleRead T3, not 1 of T1, but absent, the initial state",
    );
    si(
        "a T1: w(x,1) unknown ts(_,_)\nb T2: r(x,1) ts(3,_)",
        "unknown: transaction T1 was read, its outcome is unknown, and no timestamp says when it started",
    );
    ser("a T1: w(x,1) unknown ts(_,_)\nb T2: r(x,1) ts(3,_)", "holds");
}

#[test]
fn a_gap_in_sequence_numbers_makes_the_history_incomplete() {
    let text = |seq: u32, read: u32| {
        format!(
            "a T1: w(x,1) ts(1,2) {{seq=1}}\na T2: w(x,2) ts(3,4) {{seq={seq}}}\nb T3: r(x,{read}) ts(5,_)"
        )
    };
    si(&text(2, 9), "EXT ThinAirRead T3, not 2 of T2, but 9");
    si(
        &text(3, 9),
        "unknown: operation 1 of transaction T3 (key x) read a value that no transaction of the history \
         wrote, but the history is incomplete",
    );
    // An older version stays a violation, since values are unique.
    si(&text(3, 1), "EXT StaleRead T3, not 2 of T2, but 1 of T1");
}

#[test]
fn savepoints_undo_versions() {
    si("a T1: w(x,1) savepoint(s) w(x,2) rollback(s) ts(1,2)\nb T2: r(x,1) ts(3,_)", "holds");
    si("a T1: savepoint(s) w(x,2) rollback(s) r(x,absent) ts(1,1)", "holds");
    si(
        "a T1: w(x,1) savepoint(s) w(x,2) rollback(s) ts(1,2)\nb T2: r(x,2) ts(3,_)",
        "EXT AbortedRead T2, not 1 of T1, but 2 of T1",
    );
}

#[test]
fn a_history_without_the_timestamps_is_refused() {
    let supply = |text: &str, level| Supply::of(&parse(text).unwrap(), level);
    let (snapshot, serial) = (Level::SnapshotIsolation, Level::Serializable);
    assert_eq!(supply("a: w(x,1)", snapshot), Supply::None);
    let partial = supply("a: w(x,1) ts(1,2)\na: w(x,2)\na: r(x,2) ts(3,_)", snapshot);
    assert!(matches!(partial, Supply::Partial { lacking: 1, committed: 3, .. }), "{partial:?}");
    assert_eq!(supply("a: w(x,1) ts(1,2)\nb: w(x,2) abort", snapshot), Supply::Whole);
    assert_eq!(supply("a: w(x,1) ts(1,2)", serial), Supply::NotSerial);
    assert_eq!(supply("meta commit-order serial\na: w(x,1) ts(_,2)", serial), Supply::Whole);
    assert_eq!(supply("a: w(x,1) ts(1,2)", Level::Causal), Supply::NoRules);
    si(
        "a: w(x,1) ts(1,_)",
        "unknown: 1 of 1 committed transactions lack a start timestamp (or, if they wrote, a commit timestamp)",
    );
}

#[test]
fn limits_end_it() {
    let history = parse(FIGURE_11).unwrap();
    let late = || true;
    let limits = Limits::default().with_time(&late);
    let checker = Checker::with_limits(&history, Options::default(), limits);
    let verdict = checker.check(Promise::by_timestamps(Level::SnapshotIsolation));
    assert_eq!(verdict.holds(), None, "{verdict:?}");
    // Commit points of unknown outcomes are tried only so often, if the likeliest is wrong.
    let text = "a T1: w(x,1) w(y,1) unknown ts(1,_)\nb T2: r(x,1) ts(9,_)\n\
                c T3: w(y,2) ts(5,6)\nd T4: r(y,2) ts(8,_)";
    si(text, "holds");
    let history = parse(text).unwrap();
    let limits = Limits::default().with_steps(1);
    let checker = Checker::with_limits(&history, Options::default(), limits);
    let verdict = checker.check(Promise::by_timestamps(Level::SnapshotIsolation));
    let told = told(&history, &verdict);
    assert!(told.starts_with("unknown: the limit of steps was reached"), "{told}");
}

#[test]
fn many_writers_of_one_value_and_many_ties_take_no_square_of_time() {
    // Each would take minutes if every reader looked at every writer.
    let count = 100_000;
    let mut stale = String::from("initial 0\n");
    for i in 1..=count {
        _ = writeln!(stale, "w: w(x,{}) ts({},{})", i % 2, 2 * i, 2 * i + 1);
        _ = writeln!(stale, "r{}: r(x,{}) ts({},_)", i % 7, (i + 1) % 2, 2 * i + 1);
    }
    let mut tied = String::from("initial 0\n");
    for i in 0..count / 2 {
        _ = writeln!(tied, "w{i}: w(x,{i}) ts(1,2)\nr{i}: r(x,{i}) ts(3,_)");
    }
    let counted = |text: &str, anomaly: Anomaly| {
        let history = parse(text).unwrap();
        let promise = Promise::by_timestamps(Level::SnapshotIsolation);
        let verdict = ask(&history, promise, &Options::default());
        verdict.counts.iter().find(|c| c.anomaly == anomaly).map_or(0, |c| c.count)
    };
    assert_eq!(counted(&stale, Anomaly::StaleRead), count);
    assert_eq!(counted(&tied, Anomaly::TimestampTie), count / 2 - 1);
    assert_eq!(counted(&tied, Anomaly::StaleRead), 0);
}

#[test]
fn rows_of_predicate_reads_are_reads_and_missing_rows_reads_of_nothing() {
    si(
        "initial 0\na T1: w(x,1) ts(1,3)\nb T2: pred(\"p > 0\",x=1) ts(2,_)",
        "EXT UncommittedVersionRead T2, not 0, the initial state, but 1 of T1",
    );
    // All values of x are known to satisfy the predicate, so a result without it has seen no x.
    let row = "a T1: w(x,1) ts(1,2)\nb T2: pred(p,x=1) ts(3,_)\n";
    si(&format!("{row}c T3: pred(p) ts(1,_)"), "holds");
    si(
        &format!("{row}c T3: pred(p) ts(7,_)"),
        "EXT StaleRead T3, not 1 of T1, but absent, the initial state",
    );
    si(
        &format!("{row}d T4: delete(x) ts(4,5)\nc T3: pred(p) ts(7,_)\nc T5: pred(p) ts(7,_)"),
        "holds",
    );
    // What is of unknown outcome may have been read, and may have been missed.
    si("a T1: w(x,1) unknown ts(1,_)\nb T2: pred(p,x=1) ts(5,_)", "holds");
    si(&format!("{row}a T3: delete(x) unknown ts(4,_)\nc T4: pred(p) ts(8,_)"), "holds");
    si(&format!("{row}a T3: w(x,2) unknown ts(4,_)\nc T4: pred(p,x=2) ts(8,_)"), "holds");
    // What it saw itself bounds it, too: T2 looked before T1 committed at 7.
    ser(
        "initial 0\na T1: w(z,1) ts(4,7)\nb T2: pred(p,x=0,z=0) delete(x) unknown ts(5,_)\n\
         a T3: insert(x,3) pred(p,x=3,z=1) ts(8,10)",
        "holds",
    );
    // Whether the initial 0 satisfies it is not known.
    let open = |text: &str| {
        let history = parse(text).unwrap();
        let promise = Promise::by_timestamps(Level::SnapshotIsolation);
        assert_eq!(ask(&history, promise, &Options::default()).holds(), None, "{text}");
    };
    open("initial 0\na: w(x,1) ts(1,3)\nb: pred(p,x=1) ts(4,_)\nc: pred(p) ts(2,_)");
}

#[test]
fn the_reader_that_proves_an_unknown_outcome_stands_beside_it() {
    let text = "a T1: w(x,1) unknown ts(1,_)\nb T2: r(x,1) ts(3,_)\nc T3: r(x,absent) ts(5,_)";
    let history = parse(text).unwrap();
    let verdict =
        ask(&history, Promise::by_timestamps(Level::SnapshotIsolation), &Options::default());
    let support: Vec<String> =
        verdict.witnesses()[0].support.iter().map(|txn| txn_name(&history, *txn)).collect();
    assert_eq!(support, ["T2"]);
}

#[test]
fn unknown_outcomes_depend_on_each_other_over_several_keys() {
    // T3 has to commit before T4, and T2, which no timestamp of its own key bounds, before T3.
    ser(
        "b T1: r(x,absent) w(x,3) ts(2,4)\n\
         c T2: r(y,absent) w(y,3) unknown ts(_,_)\n\
         b T3: r(z,absent) r(y,3) r(x,3) w(z,2) unknown ts(4,_)\n\
         d T4: r(z,2) w(z,1) r(x,3) w(x,1) ts(7,10)\n\
         e T5: r(y,3) r(z,1) w(z,2) ts(8,11)",
        "holds",
    );
}

#[test]
fn an_unknown_outcome_may_follow_another_one_whose_commit_timestamp_is_known() {
    // T3 saw the delete of T2, so it committed after 7 and before T4 looked at 8.
    ser(
        "s1 T1: w(y,1) ts(2,4)\n\
         s0 T2: delete(y) unknown ts(3,7)\n\
         s1 T3: insert(x,3) cas(y,absent,4) unknown ts(_,_)\n\
         s0 T4: r(x,3) ts(8,11)",
        "holds",
    );
}

#[test]
fn unknown_outcomes_that_nothing_explains_are_a_violation_and_no_tie() {
    // Both were read and both saw the initial value: one of them has to come second.
    ser(
        "initial 0\n\
         a T1: r(x,0) w(x,1) unknown ts(10,_)\n\
         b T2: r(x,0) w(x,2) w(y,2) unknown ts(12,_)\n\
         c T3: r(x,1) r(y,2) w(q,1) ts(12,15)",
        "EXT StaleRead T2, not 1 of T1, but 0, the initial state, T1 in (12,15), T2 in (12,15)\n\
         EXT StaleRead T3, not 2 of T2, but 1 of T1, T1 in (12,15), T2 in (12,15)",
    );
}

#[test]
fn a_value_that_others_wrote_too_may_have_been_read_from_either() {
    // T1 committed before T2, so that T3 read what T2 wrote; T5, which wrote the same value, came too late.
    ser(
        "initial 0\nmeta reads-at commit\n\
         a T1: delete(z) w(y,3) unknown ts(_,_)\n\
         a T2: w(z,1) ts(9,10)\n\
         a T3: r(y,3) w(y,1) r(z,1) ts(11,14)\n\
         a T4: r(z,1) w(y,1) ts(_,16)\n\
         a T5: w(z,1) r(y,1) w(y,1) unknown ts(_,20)",
        "holds",
    );
}

#[test]
fn many_unknown_outcomes_that_read_each_other_need_no_search() {
    // Each was read by the next one, whose outcome is unknown, too; the last one by one that committed.
    let mut lines = String::from("initial 0\n");
    for i in 0..2_000 {
        let (start, key) = (10 * i + 1, i % 3);
        let seen = if i < 3 { 0 } else { i - 2 };
        _ = writeln!(lines, "s{key}: r(k{key},{seen}) w(k{key},{}) unknown ts({start},_)", i + 1);
    }
    for key in 0..3 {
        _ = writeln!(lines, "t: r(k{key},{}) ts(30000,_)", 1_998 + (key + 1) % 3);
    }
    let history = parse(&lines).unwrap();
    let promise = Promise::by_timestamps(Level::SnapshotIsolation);
    let verdict = ask(&history, promise, &Options::default());
    assert_eq!(verdict.holds(), Some(true), "{}", told(&history, &verdict));
    assert!(verdict.procedure.figures.contains(&("commit points tried", 2_000)));
}

#[test]
fn a_transaction_never_sees_itself() {
    // Its own version is among those that its place shows, beside one with the same timestamp.
    si(
        "a T1: cas(y,absent,2) delete(y) ts(9,9)\nb T2: w(y,1) ts(8,9)",
        "timestamps BadTimestamps T1\nEXT StaleRead T1, not 1 of T2, but absent, the initial state\n\
         timestamps TimestampTie T2 against T1",
    );
}

/// etcd shows all versions in order, also those of transactions whose outcomes are unknown, and which have no timestamp.
#[test]
fn a_given_order_with_an_unknown_outcome_is_compared_as_far_as_timestamps_go() {
    let text = |order: &str| {
        format!(
            "initial 0\na T1: w(x,1) ts(1,2)\nb T2: w(x,2) unknown ts(3,_)\n\
             c T3: r(x,2) ts(6,6)\nd T4: w(x,4) ts(7,8)\norder x: {order}"
        )
    };
    si(&text("1 2 4"), "holds");
    let other =
        "unknown: the recorded version order of key x is not the order of commit timestamps";
    si(&text("4 2 1"), other);
}
