//! Promises by snapshots: what is found, under which name, and what stays open. The twin is asked the same.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use isolde_check::{Options, check as ask};
use isolde_history::History;
use isolde_history::notation::{parse, txn_name};
use isolde_spec::{Answer, Level, Promise, Verdict};

use crate::snapshot_twin;

/// A verdict as lines: what was broken, by which transaction, and against which one.
fn told(history: &History, verdict: &Verdict) -> String {
    let mut out = String::new();
    match &verdict.answer {
        Answer::Holds => out.push_str("holds"),
        Answer::Unknown(reason) => _ = write!(out, "unknown: {reason}"),
        Answer::Violated(_) => {}
        Answer::NoViolation { .. } => panic!("only client intervals leave it at that"),
    }
    for witness in verdict.witnesses() {
        let timed = witness.timed.as_ref().unwrap();
        let txn = txn_name(history, timed.txn);
        _ = write!(out, "{} {} {txn}", timed.axiom.name(), witness.anomaly);
        if let Some(opponent) = timed.opponent {
            _ = write!(out, " against {}", txn_name(history, opponent));
        }
        out.push('\n');
    }
    out.trim_end().to_owned()
}

/// Snapshots are written as `<xmin,xmax,xip>`, with blanks between the last: `<9,12,10 11>`.
fn spelled(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let (snapshot, behind) = after.split_once('>').unwrap();
        let parts: Vec<&str> = snapshot.split(',').collect();
        let xip = parts[2].replace(' ', ",");
        _ = write!(out, "{before}snapshot={{xmin:{},xmax:{},xip:[{xip}]}}", parts[0], parts[1]);
        rest = behind;
    }
    out + rest
}

#[track_caller]
fn check(level: Level, text: &str, expected: &str) {
    let text = spelled(text);
    let history = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let promise = Promise::by_snapshots(level);
    let verdict = ask(&history, promise, &Options::default());
    assert_eq!(told(&history, &verdict), expected, "\n{text}");
    let twin = snapshot_twin::decide(&history, promise, 0);
    assert_eq!(verdict.holds(), twin.holds, "the twin: {twin:?}\n{text}");
}

#[track_caller]
fn si(text: &str, expected: &str) {
    check(Level::SnapshotIsolation, text, expected);
}

#[track_caller]
fn rc(text: &str, expected: &str) {
    check(Level::ReadCommitted, text, expected);
}

#[test]
fn a_snapshot_shows_the_newest_version() {
    let text = |seen| {
        format!(
            "initial 0\n\
             a T1: w(x,1) {{xid=10,<10,10,>}}\n\
             b T2: w(x,2) {{xid=11,<11,11,>}}\n\
             c T3: r(x,{seen}) {{<12,12,>}}"
        )
    };
    si(&text(2), "holds");
    si(&text(1), "EXT StaleRead T3");
    si(&text(0), "EXT StaleRead T3");
    si(&text(9), "EXT ThinAirRead T3");
}

#[test]
fn a_snapshot_hides_what_was_running() {
    let text = |seen| {
        format!(
            "initial 0\n\
             a T1: w(x,1) {{xid=10,<10,10,>}}\n\
             b T2: r(x,{seen}) {{<10,11,10>}}"
        )
    };
    si(&text(0), "holds");
    si(&text(1), "EXT UncommittedVersionRead T2");
}

#[test]
fn two_updates_that_do_not_see_each_other_are_a_conflict() {
    si(
        "initial 0\n\
         a T1: w(x,1) {xid=10,<10,10,>}\n\
         b T2: w(x,2) {xid=11,<10,11,10>}",
        "NOCONFLICT ConcurrentWrites T1 against T2",
    );
    si(
        "initial 0\n\
         a T1: r(x,0) w(x,1) {xid=10,<10,10,>}\n\
         b T2: r(x,0) w(x,2) {xid=11,<10,11,10>}",
        "NOCONFLICT LostUpdate T1 against T2",
    );
    si(
        "initial 0\n\
         a T1: w(x,1) {xid=10,<10,10,>}\n\
         b T2: w(y,2) {xid=11,<10,11,10>}",
        "holds",
    );
}

#[test]
fn a_row_that_was_deleted_meanwhile_may_be_inserted() {
    si(
        "initial 0\n\
         a T1: delete(x) {xid=10,<10,10,>}\n\
         b T2: insert(x,2) {xid=11,<10,11,10>}\n\
         c T3: r(x,2) {<12,12,>}",
        "holds",
    );
    // The row is still in the snapshot, and was read there.
    si(
        "initial 0\n\
         a T1: delete(x) {xid=10,<10,10,>}\n\
         b T2: r(x,0) insert(x,2) r(x,2) {xid=11,<10,11,10>}",
        "holds",
    );
    // Nobody deleted it.
    si("initial 0\na T1: insert(x,2) {xid=11,<11,11,>}", "EXT ThinAirRead T1");
    // It was deleted before.
    si(
        "initial 0\n\
         a T1: delete(x) {xid=10,<10,10,>}\n\
         b T2: r(x,absent) insert(x,2) {xid=11,<11,11,>}",
        "holds",
    );
}

#[test]
fn sessions_see_what_they_did() {
    si(
        "initial 0\n\
         a T1: w(x,1) {xid=10,<10,10,>}\n\
         a T2: r(x,0) {<10,11,10>}",
        "SESSION SessionGuaranteeViolation T2 against T1",
    );
    // And what they saw.
    si(
        "initial 0\n\
         a T1: w(x,1) {xid=10,<10,10,>}\n\
         b T2: r(x,1) {<11,11,>}\n\
         b T3: r(x,0) {<10,11,10>}",
        "SESSION SessionGuaranteeViolation T3 against T2",
    );
}

#[test]
fn a_snapshot_shows_what_was_confirmed_before_it_was_asked_for() {
    let text = |begin| {
        format!(
            "initial 0\n\
             a T1: w(x,1) @[1,5] {{xid=10,<10,10,>}}\n\
             b T2: [r(x,0)]@[8,9] @[{begin},10] {{<10,11,10>}}"
        )
    };
    si(&text(5), "holds");
    si(&text(6), "FRESH StaleSnapshot T2 against T1");
    // Where it is not known when the transaction began, its first statement says when at the latest.
    si(&text(6).replace("@[6,10]", "@[_,10]"), "FRESH StaleSnapshot T2 against T1");
}

#[test]
fn a_number_without_a_write_need_not_be_shown() {
    si(
        "initial 0\n\
         a T1: r(x,0) @[1,5] {xid=10,<10,10,>}\n\
         a T2: [r(x,0)]@[6,9] @[6,10] {<10,11,10>}",
        "holds",
    );
}

#[test]
fn no_snapshot_shows_its_own_transaction() {
    si("initial 0\na T1: w(x,1) {xid=10,<11,11,>}", "snapshots BadSnapshot T1");
    // The snapshot of a statement leaves out the transaction that asks for it.
    rc("initial 0\na T1: [w(x,1)]{<11,11,>} {xid=10}", "holds");
    rc(
        "initial 0\n\
         a T1: [w(x,1)]{<10,10,>} [r(y,1)]{<10,12,>} {xid=10}\n\
         b T2: [w(y,1)]{<10,11,10>} [r(z,0)]{<10,12,10>} {xid=11}\n\
         c T3: [r(x,0)]{<10,12,10>}",
        "holds",
    );
}

#[test]
fn of_two_snapshots_one_shows_all_that_the_other_shows() {
    si(
        "initial 0\n\
         a T1: w(x,1) {xid=10,<10,10,>}\n\
         b T2: w(y,1) {xid=11,<10,10,>}\n\
         c T3: r(x,1) {<10,12,11>}\n\
         d T4: r(x,5) {<10,12,10>}",
        "snapshots BadSnapshot T3 against T4",
    );
    let statements = "initial 0\n\
                      a T1: [w(x,1)]{<10,10,>} {xid=10}\n\
                      b T2: [w(y,1)]{<10,10,>} {xid=11}\n\
                      c T3: [r(x,1)]{<10,12,11>}\n\
                      d T4: [r(x,0)]{<10,12,10>}";
    rc(statements, "snapshots BadSnapshot T3 against T4");
    // What a transaction saw that was rolled back is not looked at.
    rc(&format!("{statements} abort"), "holds");
}

#[test]
fn numbers_are_used_again_after_a_restart() {
    let text = |seen| {
        format!(
            "initial 0\n\
             a T1: w(x,1) {{xid=10,<10,10,>}}\n\
             b T2: w(x,2) {{xid=10,restart=1,<10,10,>}}\n\
             c T3: r(x,{seen}) {{restart=1,<10,11,10>}}\n\
             d T4: r(x,0) {{<10,11,10>}}"
        )
    };
    si(&text(1), "holds");
    si(&text(2), "EXT UncommittedVersionRead T3");
    si(&text(0), "EXT StaleRead T3");
}

#[test]
fn what_has_no_number_commits_between_any_two_snapshots() {
    // Nothing else became visible between the two: only the number of T1 itself.
    let text = |first, second| {
        format!(
            "initial 0\n\
             a T1: w(x,1) unknown {{<10,10,>}}\n\
             b T2: r(x,{first}) {{<10,11,10>}}\n\
             c T3: r(x,{second}) {{<11,11,>}}"
        )
    };
    si(&text(0, 1), "holds");
    si(&text(0, 0), "holds");
    si(&text(1, 1), "holds");
    let history = parse(&spelled(&text(1, 0))).unwrap();
    let promise = Promise::by_snapshots(Level::SnapshotIsolation);
    assert_eq!(ask(&history, promise, &Options::default()).holds(), Some(false));
    assert_eq!(snapshot_twin::decide(&history, promise, 0).holds, Some(false));
    // By statements: which snapshots show it nobody knows.
    rc(
        "initial 0\n\
         a T1: [w(x,1)]{<10,10,>} unknown\n\
         b T2: [r(x,0)]{<10,11,10>} [r(x,1)]{<11,11,>}",
        "holds",
    );
}

#[test]
fn without_evidence_nothing_is_said() {
    let told = |text: &str, level| {
        let history = parse(&spelled(text)).unwrap();
        let promise = Promise::by_snapshots(level);
        assert_eq!(snapshot_twin::decide(&history, promise, 0).holds, None);
        ask(&history, promise, &Options::default()).holds()
    };
    assert_eq!(told("a: w(x,1) {<10,10,>}", Level::SnapshotIsolation), None);
    assert_eq!(told("a: w(x,1) {xid=10,<10,10,>}\nb: r(x,1)", Level::SnapshotIsolation), None);
    assert_eq!(told("a: [w(x,1)]{<10,10,>} {xid=10}\nb: r(x,1)", Level::ReadCommitted), None);
}

const UPDATED: &str = "initial 0\n\
                       a T1: [w(x,1)]@[1,2]{<10,10,>} @[1,5] {xid=10,end-sent=4}\n";

#[test]
fn by_statements_each_has_its_own_snapshot() {
    rc(&format!("{UPDATED}b T2: [r(x,0)]{{<10,11,10>}} [r(x,1)]{{<11,11,>}}"), "holds");
    rc(&format!("{UPDATED}b T2: [r(x,0)]{{<11,11,>}}"), "EXT StaleRead T2 against T1");
    rc(&format!("{UPDATED}b T2: [r(x,1)]{{<10,11,10>}}"), "EXT UncommittedVersionRead T2");
    // An empty result.
    rc(&format!("{UPDATED}b T2: [r(x,absent)]{{<11,11,>}}"), "EXT ThinAirRead T2");
}

#[test]
fn by_statements_an_update_sees_what_it_waited_for() {
    let update = |op: &str, answered: i64| {
        format!("{UPDATED}b T2: [{op}]@[3,{answered}]{{<10,11,10>}} @[3,9] {{xid=11}}")
    };
    rc(&update("cas(x,1,2)", 6), "holds");
    rc(&update("cas(x,0,2)", 6), "holds");
    // COMMIT had not been sent when the answer came.
    rc(&update("cas(x,1,2)", 3), "EXT UncommittedVersionRead T2");
    let locking = |answered: i64| {
        format!("{UPDATED}b T2: [r(x,1)]@[3,{answered}]{{<10,11,10>,lock=exclusive}}")
    };
    rc(&locking(6), "holds");
    rc(&locking(3), "EXT UncommittedVersionRead T2");
}

#[test]
fn by_statements_own_writes_are_seen() {
    let own = |text: &str| format!("initial 0\na T1: {text} {{xid=10}}");
    rc(&own("[w(x,1)]{<10,10,>} [r(x,1)]{<10,11,10>}"), "holds");
    rc(&own("[w(x,1)]{<10,10,>} [r(x,0)]{<10,11,10>}"), "INT NotMyOwnWrite T1");
    rc(&own("[w(x,1)]{<10,10,>} [cas!(x,1,2)]{<10,11,10>}"), "INT NotMyOwnWrite T1");
    rc(&own("[delete(x)]{<10,10,>} [insert!(x,2)]{<10,11,10>}"), "INT NotMyOwnWrite T1");
    // It writes that only later.
    rc(&own("[r(x,1)]{<10,10,>} [w(x,1)]{<10,11,10>}"), "EXT FutureRead T1");
}

#[test]
fn by_statements_lists_have_what_the_snapshot_shows() {
    let text = |list: &str, more: &str| {
        format!(
            "a T1: [append(x,1)]{{<10,10,>}} {{xid=10}}\n\
             b T2: [append(x,2)]{{<10,11,10>}} {{xid=11}}\n\
             c T3: [list(x,{list})]{{<11,12,11>{more}}}"
        )
    };
    rc(&text("[1]", ""), "holds");
    rc(&text("[]", ""), "EXT StaleRead T3 against T1");
    rc(&text("[1,2]", ""), "EXT UncommittedVersionRead T3");
    rc(&text("[1,1]", ""), "EXT DuplicateElements T3");
    rc(&text("[1,2]", ",lock=share"), "holds");
    rc(&text("[2]", ",lock=share"), "EXT StaleRead T3 against T1");
    let aborted = text("[1]", "").replace(" {xid=10}", " abort {xid=10}");
    rc(&aborted, "EXT AbortedRead T3");
}

#[test]
fn by_statements_lists_after_own_appends_are_judged() {
    let text = |list: &str| {
        format!(
            "a T1: [append(x,1)]{{<10,10,>}} {{xid=10}}\n\
             b T2: [append(x,2)]{{<11,11,>}} [list(x,{list})]{{<11,12,11>}} {{xid=11}}"
        )
    };
    rc(&text("[1,2]"), "holds");
    rc(&text("[2]"), "EXT StaleRead T2 against T1");
    rc(&text("[7,1,2]"), "EXT ThinAirRead T2");
    rc(&text("[1]"), "INT NotMyOwnWrite T2");
}

#[test]
fn by_statements_what_locks_is_judged_without_a_snapshot_too() {
    let locking =
        |op: &str| format!("{UPDATED}b T2: [r(x,0)]{{<10,10,>}} [{op}]@[6,7]{{lock=exclusive}}");
    rc(&locking("r(x,1)"), "holds");
    rc(&locking("r(x,7)"), "EXT ThinAirRead T2");
    rc(&locking("r(x,absent)"), "EXT ThinAirRead T2");
    let deleted = |key: &str| {
        format!("{}\nc T3: [delete({key})]{{<11,11,>}} {{xid=11}}", locking("r(x,absent)"))
    };
    rc(&deleted("x"), "holds");
    rc(&deleted("y"), "EXT ThinAirRead T2");
    // The writer had not even begun.
    rc(
        "initial 0\n\
         a T1: [w(x,1)]{<10,10,>} @[8,9] {xid=10}\n\
         b T2: [r(x,1)]@[1,2]{<10,10,>,lock=share}",
        "EXT UncommittedVersionRead T2",
    );
}

/// T1 was rolled back. T5 waited for T2, which deleted the row and put another one in its place: PostgreSQL does not look
/// for that one.
#[test]
fn by_statements_a_locking_read_of_nothing_proves_no_delete() {
    rc(
        "initial 0\n\
         a T1: [delete(x)]{<10,10,>} unknown {xid=10}\n\
         f T6: [r(x,0)]{<11,11,>}\n\
         b T2: [delete(x)]{<11,11,>} [insert(x,1)]{<11,11,>} {xid=11}\n\
         e T5: [r(x,absent)]{<11,11,>,lock=exclusive}\n\
         g T7: [r(x,1)]{<12,12,>}",
        "holds",
    );
}

#[test]
fn by_statements_predicate_reads_leave_it_open() {
    let text = "initial 0\na T1: [w(x,1)]{<10,10,>} {xid=10}\nb T2: [pred(all,x=0)]{<11,11,>}";
    let history = parse(&spelled(text)).unwrap();
    let promise = Promise::by_snapshots(Level::ReadCommitted);
    assert_eq!(ask(&history, promise, &Options::default()).holds(), None);
}

#[test]
fn what_may_have_inserted_its_row_is_no_conflict_with_a_delete() {
    let text = |write: &str| {
        format!(
            "initial 0\n\
             a T1: delete(x) {{xid=10,<10,10,>}}\n\
             b T2: {write} {{xid=11,<10,10,>}}\n\
             c T3: r(x,2) {{<12,12,>}}"
        )
    };
    si(&text("[w(x,2)]{path=upsert}"), "holds");
    si(&text("[w(x,2)]{path=index}"), "NOCONFLICT ConcurrentWrites T1 against T2");
    let updated = text("[w(x,2)]{path=upsert}").replace("delete(x)", "w(x,1)");
    si(&updated, "NOCONFLICT ConcurrentWrites T1 against T2");
    // What the transaction itself inserted nobody has deleted.
    si(
        "a T1: insert(x,1) insert(x,2) {xid=10,<10,10,>}\nb T2: delete(x) {xid=11,<11,11,>}",
        "INT NotMyOwnWrite T1",
    );
}
