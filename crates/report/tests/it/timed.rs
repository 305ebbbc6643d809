//! Violations by the server's timestamps, as they are told.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "expectations are made where they are used")]

use expect_test::{Expect, expect};
use isolde_history::notation::parse;
use isolde_report::{Basis, Exhibit, Telling, svg, to_text};
use isolde_spec::{Level, Promise};

use crate::shown::ask_promise;

const SI: Promise = Promise::by_timestamps(Level::SnapshotIsolation);
const SER: Promise = Promise::by_timestamps(Level::Serializable);

#[track_caller]
fn tells(promise: Promise, text: &str, expected: Expect) {
    let history = parse(text).unwrap();
    let text = to_text(&history, &ask_promise(&history, promise), &Telling::default());
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    expected.assert_eq(&text);
}

/// The stories of all witnesses, a line each.
#[track_caller]
fn stories(promise: Promise, text: &str, expected: Expect) {
    let history = parse(text).unwrap();
    let verdict = ask_promise(&history, promise).verdict;
    let told = verdict.witnesses().iter().enumerate();
    let told = told.map(|(at, w)| Exhibit::new(&history, promise, at + 1, w));
    let told: String = told.map(|e| format!("{}: {}\n", e.title, e.story)).collect();
    let told = if told.is_empty() { format!("{:?}\n", verdict.answer) } else { told };
    expected.assert_eq(&told);
}

#[test]
fn writers_that_overlap() {
    tells(
        SI,
        "initial 0\na 1: w(y,1) ts(3,7)\nb 2: w(y,2) ts(6,9)\n",
        expect![[r#"
            snapshot-isolation by timestamps: violated
              found      1 ConcurrentWrites
              ConcurrentWrites: two transactions wrote the same key, and neither committed before the other
                  started
                T1 wrote y = 1 and committed at 7 while T2, which started at 6 and committed at 9, wrote y = 2,
                too.

                by the server's timestamps:
                ts  a                b
                 3  + T1 w(y,1)
                 6  |                + T2 w(y,2)
                 7  + committed      |
                 9                   + committed

                rule     NOCONFLICT: of two transactions that wrote a key, one commits at or before the start of
                         the other
                promise  snapshot-isolation by timestamps: a transaction sees exactly what committed before it
                         started, and of two transactions that overlap only one writes a key
                broken   because only one of two transactions that overlap and write the same key may commit
                visible  in the first 2 of 2 transactions
              method     the server's timestamps (timestamps say which versions each transaction sees)
              evidence   start and commit timestamps
              figures    2 transactions, 2 operations, 1 key
        "#]],
    );
}

#[test]
fn a_session_that_goes_back() {
    tells(
        SI,
        "initial 0\na 1: w(x,1) ts(1,10)\na 2: r(y,0) ts(5,5)\n",
        expect![[r#"
        snapshot-isolation by timestamps: violated
          found      1 SessionGuaranteeViolation
          SessionGuaranteeViolation by timestamps: a transaction does not come, by timestamps, after what
              its session did before
            T2 came after T1 in session a, but started at 5, before T1 committed at 10: it need not see what
            T1 did.

            by the server's timestamps:
            ts  a                a
             1  + T1 w(x,1)
             5  |                + T2 r(y,0)
             5  |                + committed
            10  + committed

            rule     SESSION: a transaction starts at or after the commit of every earlier one of its
                     session
            promise  snapshot-isolation by timestamps: a transaction sees exactly what committed before it
                     started, and of two transactions that overlap only one writes a key
            broken   because by its timestamps a transaction need not see what its own session did before
            visible  in the first 2 of 2 transactions
          method     the server's timestamps (timestamps say which versions each transaction sees)
          evidence   start and commit timestamps
          figures    2 transactions, 2 operations, 2 keys
    "#]],
    );
}

#[test]
fn a_commit_before_its_start() {
    tells(
        SI,
        "initial 0\na 1: w(x,1) ts(8,5)\nb 2: r(x,1) ts(9,9)\n",
        expect![[r#"
        snapshot-isolation by timestamps: violated
          found      1 BadTimestamps
          BadTimestamps: a transaction commits, by its timestamps, before it starts, or writes and commits
              just then
            T1 started at 8 and committed at 5, before it had started.

            by the server's timestamps:
            ts  a
             8  + T1 w(x,1)
                (T1 says that it committed at 5)

            rule     timestamps: a transaction that wrote commits after its start, any other not before it
            promise  snapshot-isolation by timestamps: a transaction sees exactly what committed before it
                     started, and of two transactions that overlap only one writes a key
            broken   because a transaction that wrote has to commit after its start, and any other not
                     before it
            visible  in the first 1 of 2 transactions
          method     the server's timestamps (timestamps say which versions each transaction sees)
          evidence   start and commit timestamps
          figures    2 transactions, 2 operations, 1 key
    "#]],
    );
}

#[test]
fn a_list() {
    let text = "a 1: append(l,1) ts(1,2)\nb 2: append(l,2) ts(3,4.1)\nc 3: list(l,[1]) ts(5,5)\n";
    tells(
        SI,
        text,
        expect![[r#"
            snapshot-isolation by timestamps: violated
              found      1 StaleRead
              StaleRead: a transaction read a version that, by the server's own word, was already overwritten
                T3 started at 5 and read l = [1]; but T2 had appended 2 at 4.1, so T3 should have read l =
                [1,2].

                by the server's timestamps:
                 ts  a                 b                 c
                  1  + T1 append(l,1)
                  2  + committed
                  3                    + T2 append(l,2)
                4.1                    + committed
                  5                                      + T3 list(l,[1])
                  5                                      + committed

                rule     EXT: a transaction reads the newest version that committed at or before its start
                expected l = [1,2], whose last element is of T2 (start 3, commit 4.1)
                read     l = [1], whose last element is of T1 (start 1, commit 2)
                promise  snapshot-isolation by timestamps: a transaction sees exactly what committed before it
                         started, and of two transactions that overlap only one writes a key
                broken   because a newer version had committed at the reader's place, and the reader missed it
                visible  in the first 3 of 3 transactions
              method     the server's timestamps (timestamps say which versions each transaction sees)
              evidence   start and commit timestamps
              figures    3 transactions, 3 operations, 1 key
        "#]],
    );
}

#[test]
fn what_timestamps_alone_make_wrong_is_told_in_their_words() {
    // An unknown outcome that started too late.
    tells(
        SI,
        "initial 0\na 1: w(x,1) unknown ts(9,_)\nb 2: r(x,1) ts(5,_)\n",
        expect![[r#"
            snapshot-isolation by timestamps: violated
              found      1 UncommittedVersionRead
              UncommittedVersionRead: a transaction read a version that, by the server's own word, was committed
                  too late to be seen
                T2 started at 5 and read x = 1 of T1, which cannot have committed by then; it should have read x
                = 0, the initial value. The outcome of T1 is unknown: it is taken to have committed after 9.

                by the server's timestamps:
                ts  b                a
                 5  + T2
                 9  |                + T1 w(x,1)
                    + r(x,1)         |
                                     + outcome unknown

                rule     EXT: a transaction reads the newest version that committed at or before its start
                expected x = 0, the initial state
                read     x = 1, written by T1 (start 9)
                assumed  T1, whose outcome is unknown and which was read, is taken to have committed after 9
                promise  snapshot-isolation by timestamps: a transaction sees exactly what committed before it
                         started, and of two transactions that overlap only one writes a key
                broken   because a version that was read had not committed yet at the reader's place
                visible  in the first 2 of 2 transactions
              note       the outcome of transaction T1 is unknown, and it was read: it is taken to have
                         committed
              method     the server's timestamps (timestamps say which versions each transaction sees)
              evidence   start and commit timestamps
              figures    2 transactions, 2 operations, 1 key
        "#]],
    );
    // One read is enough to see that a list is in the wrong order.
    tells(
        SI,
        "a 1: append(l,1) ts(1,2)\nb 2: append(l,2) ts(3,4)\nc 3: list(l,[2,1]) ts(5,_)\n",
        expect![[r#"
            snapshot-isolation by timestamps: violated
              found      1 IncompatibleOrder
              IncompatibleOrder by timestamps: a list was read whose elements are not in the order of their
                  commits
                T3 started at 5 and read l = [2,1]; it should have read l = [1,2] of T2, which committed at 4.

                by the server's timestamps:
                ts  a                 b                 c
                 1  + T1 append(l,1)
                 2  + committed
                 3                    + T2 append(l,2)
                 4                    + committed
                 5                                      + T3 list(l,[2,1])

                rule     EXT: a transaction reads the newest version that committed at or before its start
                expected l = [1,2], whose last element is of T2 (start 3, commit 4)
                read     l = [2,1], whose last element is of T1 (start 1, commit 2)
                promise  snapshot-isolation by timestamps: a transaction sees exactly what committed before it
                         started, and of two transactions that overlap only one writes a key
                broken   because the elements of a list have to be in the order of their commit timestamps, and
                         these are not
                visible  in the first 3 of 3 transactions
              method     the server's timestamps (timestamps say which versions each transaction sees)
              evidence   start and commit timestamps
              figures    3 transactions, 3 operations, 1 key
        "#]],
    );
    // Nothing explains why this was refused.
    tells(
        SI,
        "initial 0\na 1: cas!(x,0,4) ts(1,1)\n",
        expect![[r#"
        snapshot-isolation by timestamps: violated
          found      1 ThinAirRead
          ThinAirRead by timestamps: an operation was refused although the key never held anything but what
              it asked for
            T1 started at 1 and did not find x = 0; it should have found x = 0, the initial value.

            by the server's timestamps:
            ts  a
             1  + T1 cas!(x,0,4)
             1  + committed

            rule     EXT: a transaction reads the newest version that committed at or before its start
            expected x = 0, the initial state
            promise  snapshot-isolation by timestamps: a transaction sees exactly what committed before it
                     started, and of two transactions that overlap only one writes a key
            broken   because an operation is refused only if the key holds something else, and there never
                     was anything else
            visible  in the first 1 of 1 transactions
          method     the server's timestamps (timestamps say which versions each transaction sees)
          evidence   start and commit timestamps
          figures    1 transaction, 1 operation, 1 key
    "#]],
    );
}

#[test]
fn an_unknown_outcome() {
    let text = "initial 0\na 1: w(x,1) unknown ts(1,_)\nb 2: r(x,1) ts(4,4)\nc 3: r(x,0) ts(6,6)\n";
    tells(
        SI,
        text,
        expect![[r#"
            snapshot-isolation by timestamps: violated
              found      1 StaleRead
              StaleRead: a transaction read a version that, by the server's own word, was already overwritten
                T3 started at 6 and read x = 0, the initial value; but T1 had overwritten it, so T3 should have
                read x = 1. The outcome of T1 is unknown: it is taken to have committed after 1 and not after
                4.

                by the server's timestamps:
                ts  a                  b                c
                 1  + T1 * w(x,1)
                    + outcome unknown
                 4                     + T2 r(x,1)
                 4                     + committed
                 6                                      + T3 * r(x,0)
                 6                                      + committed

                rule     EXT: a transaction reads the newest version that committed at or before its start
                expected x = 1, written by T1 (start 1)
                read     x = 0, the initial state
                assumed  T1, whose outcome is unknown and which was read, is taken to have committed after 1 and
                         not after 4
                promise  snapshot-isolation by timestamps: a transaction sees exactly what committed before it
                         started, and of two transactions that overlap only one writes a key
                broken   because a newer version had committed at the reader's place, and the reader missed it
                visible  in the first 3 of 3 transactions
              note       the outcome of transaction T1 is unknown, and it was read: it is taken to have
                         committed
              method     the server's timestamps (timestamps say which versions each transaction sees)
              evidence   start and commit timestamps
              figures    3 transactions, 3 operations, 1 key, 2 commit points tried
        "#]],
    );
}

#[test]
fn every_rule_has_a_story() {
    let lists = "a 1: append(l,1) ts(1,2)\nb 2: append(l,2) ts(3,9)\nc 3: list(l,[1,2]) ts(5,5)\n";
    stories(
        SI,
        lists,
        expect![[r#"
        UncommittedVersionRead: T3 started at 5 and read l = [1,2], where 2 is of T2, which committed only at 9; it should have read l = [1] of T1, which committed at 2.
    "#]],
    );
    let order = "a 1: append(l,1) ts(1,2)\nb 2: append(l,2) ts(3,4)\nc 3: list(l,[2,1]) ts(5,5)\n";
    stories(
        SI,
        order,
        expect![[r#"
        IncompatibleOrder by timestamps: T3 started at 5 and read l = [2,1]; it should have read l = [1,2] of T2, which committed at 4.
    "#]],
    );
    let aborted = "initial 0\na 1: w(x,1) abort ts(1,_)\nb 2: r(x,1) ts(4,4)\n";
    stories(
        SI,
        aborted,
        expect![[r#"
        AbortedRead by timestamps: T2 started at 4 and read x = 1 of T1, which was rolled back; it should have read x = 0, the initial value.
    "#]],
    );
    let between = "initial 0\na 1: w(x,1) w(x,2) ts(1,3)\nb 2: r(x,1) ts(4,4)\n";
    stories(
        SI,
        between,
        expect![[r#"
        IntermediateRead by timestamps: T2 started at 4 and read x = 1 of T1, which overwrote it before it committed at 3; it should have read x = 2 of T1, which committed at 3.
    "#]],
    );
    let thin_air = "initial 0\na 1: w(x,1) ts(1,3)\nb 2: r(x,7) ts(4,4)\n";
    stories(
        SI,
        thin_air,
        expect![[r#"
        ThinAirRead by timestamps: T2 started at 4 and read x = 7, which no transaction wrote; it should have read x = 1 of T1, which committed at 3.
    "#]],
    );
    let own = "initial 0\na 1: w(x,1) r(x,0) r(y,5) w(y,5) ts(1,3)\n";
    stories(
        SI,
        own,
        expect![[r#"
        FutureRead by timestamps: T1 started at 1 and read y = 5, which it wrote itself only later; it should have read y = 0, the initial value.
        NotMyOwnWrite by timestamps: T1 wrote x = 1 and then read x = 0.
    "#]],
    );
    let twice = "initial 0\na 1: w(x,1) ts(1,3)\nb 2: r(x,0) r(x,1) ts(2,2)\n";
    stories(
        SI,
        twice,
        expect![[r#"
        NonRepeatableReads by timestamps: T2 read x = 0, and later read x = 1.
    "#]],
    );
    let early = "initial 0\na 1: w(x,1) ts(1,9)\nb 2: r(x,1) ts(4,4)\n";
    stories(
        SI,
        early,
        expect![[r#"
        UncommittedVersionRead: T2 started at 4 and read x = 1 of T1, which committed only at 9; it should have read x = 0, the initial value.
    "#]],
    );
    let lost = "initial 0\na 1: r(x,0) w(x,1) ts(1,4)\nb 2: r(x,0) w(x,2) ts(2,6)\n";
    stories(
        SI,
        lost,
        expect![[r#"
        LostUpdate by timestamps: T1 read x = 0, wrote x = 1 and committed at 4 while T2, which started at 2 and committed at 6, had read the same and wrote x = 2: one update is lost.
    "#]],
    );
    let tie = "initial 0\na 1: w(x,1) ts(1,5)\nb 2: w(x,2) ts(4,5)\n";
    stories(
        SI,
        tie,
        expect![[r#"
        ConcurrentWrites: T1 wrote x = 1 and committed at 5 while T2, which started at 4 and committed at 5, wrote x = 2, too.
        TimestampTie: T1 and T2 both wrote x and both committed at 5: nothing says which version is the newer one.
    "#]],
    );
    let instant = "initial 0\na 1: w(x,1) ts(5,5)\n";
    stories(
        SI,
        instant,
        expect![[r#"
        BadTimestamps: T1 wrote, and yet it started and committed at the same time, 5.
    "#]],
    );
    let missing = "a 1: w(x,1) ts(1,2)\nb 2: r(x,absent) ts(3,3)\n";
    stories(
        SI,
        missing,
        expect![[r#"
        StaleRead: T2 started at 3 and found no x; but T1 had written it at 2, so T2 should have read x = 1.
    "#]],
    );
    let deleted = "initial 0\na 1: delete(x) ts(1,2)\nb 2: r(x,0) ts(3,3)\n";
    stories(
        SI,
        deleted,
        expect![[r#"
        StaleRead: T2 started at 3 and read x = 0, the initial value; but T1 had deleted it at 2, so T2 should have found no x.
    "#]],
    );
    let refused = "initial 0\na 1: w(x,1) ts(1,2)\nb 2: cas!(x,1,5) ts(3,3)\n";
    stories(
        SI,
        refused,
        expect![[r#"
        StaleRead: T2 started at 3 and did not find x = 1; it should have found x = 1 of T1, which committed at 2.
    "#]],
    );
}

#[test]
fn long_gaps_leave_a_picture() {
    let text = "initial 0\na 1: w(x,1) ts(1,1731700000000000000)\nb 2: w(x,2) ts(5,1731700005000000000.7)\n";
    let history = parse(text).unwrap();
    let verdict = ask_promise(&history, SI).verdict;
    let exhibit = Exhibit::new(&history, SI, 1, verdict.witnesses().first().unwrap());
    assert_eq!(exhibit.timeline.basis, Basis::Timestamps);
    let svg = svg(&exhibit);
    let document = roxmltree::Document::parse(&svg).unwrap();
    let width: f64 = document.root_element().attribute("width").unwrap().parse().unwrap();
    assert!(width < 700.0, "{width}");
    for part in [
        "+1.73e18",
        "<title>1731700005000000000.7</title>",
        "start 5, commit 1731700005000000000.7",
    ] {
        assert!(svg.contains(part), "{part} in {svg}");
    }
    assert!(
        svg.contains("by the server&#39;s timestamps")
            || svg.contains("by the server's timestamps")
    );
}

#[test]
fn in_the_order_of_commits() {
    let serial = |text: &str| format!("initial 0\nmeta commit-order serial\n{text}");
    let stale = serial("a 1: w(x,1) ts(_,2)\nb 2: w(x,2) ts(_,5)\nc 3: r(x,1) w(y,1) ts(_,6)\n");
    tells(
        SER,
        &stale,
        expect![[r#"
            serializable by timestamps: violated
              found      1 StaleRead
              StaleRead: a transaction read a version that, by the server's own word, was already overwritten
                T3, which committed at 6, read x = 1 of T1, which committed at 2; but T2 had overwritten it at
                5, so T3 should have read x = 2.

                by the server's timestamps:
                ts  a                b                c
                    + T1 * w(x,1)
                 2  + committed
                                     + T2 * w(x,2)
                 5                   + committed
                                                      + T3 * r(x,1)
                                                      |   w(y,1)
                 6                                    + committed

                rule     EXT: a transaction that wrote reads the newest version that committed before it
                expected x = 2, written by T2 (commit 5)
                read     x = 1, written by T1 (commit 2)
                promise  serializable by timestamps: transactions take effect one after another in the order of
                         their commit timestamps
                broken   because a newer version had committed at the reader's place, and the reader missed it
                visible  in the first 3 of 3 transactions
              method     the server's timestamps (commit order is said to be the serial order, so it can be
                         replayed)
              evidence   commit timestamps
              figures    3 transactions, 4 operations, 2 keys
        "#]],
    );
    let session = serial("a 1: w(x,1) ts(_,7)\na 2: w(y,1) ts(_,4)\n");
    stories(
        SER,
        &session,
        expect![[r#"
        SessionGuaranteeViolation by timestamps: T2 came after T1 in session a, but committed at 4, and T1 committed at 7: not in that order.
    "#]],
    );
    let readers = serial("a 1: r(x,0) ts(9,9)\na 2: r(x,0) ts(4,4)\n");
    stories(
        SER,
        &readers,
        expect![[r#"
        SessionGuaranteeViolation by timestamps: T2 came after T1 in session a, but started at 4, and T1 started at 9: not in that order.
    "#]],
    );
}

#[test]
fn the_row_of_a_predicate_read_is_named_and_not_the_predicate() {
    stories(
        SI,
        "initial 0\na 1: w(x,1) ts(1,2)\nb 2: pred(p,x=0) ts(3,3)\n",
        expect![[r#"
            StaleRead: T2 started at 3 and looked for p and found x = 0, the initial value; but T1 had overwritten it at 2, so T2 should have read x = 1.
        "#]],
    );
}
