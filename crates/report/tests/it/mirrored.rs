//! Violations by client intervals, as they are told; and what is said where none was found.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "expectations are made where they are used")]

use expect_test::{Expect, expect};
use isolde_history::History;
use isolde_history::notation::parse;
use isolde_report::{
    Case, Decided, Exhibit, HtmlReport, Junit, Telling, case_to_json, handbook, summary_to_text,
    svg, to_text,
};
use isolde_spec::{Anomaly, Answer, Profile};
use serde_json::{Value, json};

use crate::shown::{ask_all, ask_profile};

fn profile(name: &str) -> &'static Profile {
    Profile::named(name).unwrap_or_else(|e| panic!("{e:?}"))
}

fn ask(text: &str, server: &str) -> (History, Decided) {
    let history = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let decided = ask_profile(&history, profile(server));
    (history, decided)
}

#[track_caller]
fn tells(server: &str, text: &str, expected: Expect) {
    let (history, decided) = ask(text, server);
    let text = to_text(&history, &decided, &Telling { all: true, ..Telling::default() });
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.is_ascii(), "{text}");
    expected.assert_eq(&text);
}

/// The stories of all witnesses, a line each.
#[track_caller]
fn stories(server: &str, text: &str, expected: Expect) {
    let (history, decided) = ask(text, server);
    let verdict = decided.verdict;
    let told = verdict.witnesses().iter().enumerate();
    let told = told.map(|(at, w)| Exhibit::new(&history, verdict.promise, at + 1, w));
    let told: String = told.map(|e| format!("{}: {}\n", e.title, e.story)).collect();
    let told = if told.is_empty() { format!("{:?}\n", verdict.answer) } else { told };
    expected.assert_eq(&told);
}

const RR: &str = "postgresql/repeatable-read";
const RC: &str = "postgresql/read-committed";

/// The reader's snapshot was taken after the second write had been confirmed.
const STALE: &str = "clock events\ngiven x 0\n\
    a 1: w(x,1)@[1,2] @[1,5] {end-sent=3}\n\
    b 2: w(x,2)@[7,8] @[7,11] {end-sent=9}\n\
    c 3: r(x,1)@[20,21] @[20,25] {end-sent=24}\n";

#[test]
fn a_stale_read_in_full() {
    tells(
        RR,
        STALE,
        expect![[r#"
            snapshot-isolation by intervals: violated
              found      1 StaleRead
              StaleRead by intervals: a transaction read a version that had certainly been overwritten by then
                T3 read x = 1 of T1; its snapshot was taken between 20 and 21, and by then T2 had committed x =
                2 (COMMIT answered at 11). It can only have seen x = 2.

                event  a                b                c
                    1  + T1 * w(x,1)
                    5  + committed
                    7                   + T2 w(x,2)
                   11                   + committed
                   20                                    + T3 * r(x,1)
                   25                                    + committed

                not to scale: = certain, - possible, ? at one instant of it
                T3  snapshot                                 ?????????  20 to 21
                T1  commit    ????????                                  3 to 5
                T2  commit                   ?????????                  9 to 11

                mechanism consistent read: a read sees a version that was there when its snapshot was taken, or
                         when it had its lock
                possible x = 2, written by T2 (committed between 9 and 11)
                read     x = 1, written by T1 (committed between 3 and 5)
                snapshot T3: between 20 and 21
                commit   T1: between 3 and 5
                commit   T2: between 9 and 11
                values   intervals show it; whether what was read and written is allowed is another question
                promise  snapshot-isolation by intervals: a transaction sees what one snapshot shows that its
                         server can have taken, locks that exclude each other are not held at the same time,
                         and of two transactions that write a row one had committed before the other took its
                         snapshot
                broken   because a newer version had committed at the reader's place, and the reader missed it
                visible  in the first 3 of 3 transactions
              method     the server's mechanisms, mirrored (when statements were sent and answered says what the
                         server can have done)
              evidence   client intervals; profile PostgreSQL repeatable-read
              figures    3 transactions, 1 read, 1 adjacent version, 1 adjacent version decided,
                         1 anti-dependency, 2 overlapping after deduction
        "#]],
    );
}

#[test]
fn reads_of_what_cannot_have_been_there() {
    let early = "clock events\ngiven x 0\n\
        a: w(x,1)@[1,2] @[1,40] {end-sent=30}\n\
        b: r(x,1)@[20,21] @[20,25] {end-sent=24}\n";
    stories(
        RC,
        early,
        expect![[r#"
        UncommittedVersionRead by intervals: #1 read x = 1 of #0, which cannot have committed before 30; its snapshot was taken between 20 and 21. It can only have seen x = 0.
    "#]],
    );
    let initial = "clock events\ngiven x 0\n\
        a: w(x,1)@[1,2] @[1,5] {end-sent=3}\n\
        b: r(x,0)@[20,21] @[20,25] {end-sent=24}\n";
    stories(
        RC,
        initial,
        expect![[r#"
        StaleRead by intervals: #1 read x = 0, the initial value; its snapshot was taken between 20 and 21, and by then #0 had committed x = 1 (COMMIT answered at 5). It can only have seen x = 1.
    "#]],
    );
    let aborted = "clock events\ngiven x 0\n\
        a: w(x,1)@[1,2] abort @[1,5] {end-sent=3}\n\
        b: r(x,1)@[20,21] @[20,25] {end-sent=24}\n";
    stories(
        RC,
        aborted,
        expect![[r#"
        AbortedRead by intervals: #1 read x = 1 of #0, which was rolled back; its snapshot was taken between 20 and 21. It can only have seen x = 0.
    "#]],
    );
    let between = "clock events\ngiven x 0\n\
        a: w(x,1)@[1,2] w(x,2)@[3,4] @[1,7] {end-sent=6}\n\
        b: r(x,1)@[20,21] @[20,25] {end-sent=24}\n";
    stories(
        RC,
        between,
        expect![[r#"
        IntermediateRead by intervals: #1 read x = 1 of #0, which overwrote it before it committed; its snapshot was taken between 20 and 21. It can only have seen x = 2.
    "#]],
    );
    let nowhere = "clock events\ngiven x 0\nb: r(x,9)@[20,21] @[20,25] {end-sent=24}\n";
    stories(
        RC,
        nowhere,
        expect![[r#"
        ThinAirRead by intervals: #0 read x = 9, which no transaction wrote; its snapshot was taken between 20 and 21. It can only have seen x = 0.
    "#]],
    );
    let own = "clock events\ngiven x 0\nb: w(x,1)@[1,2] r(x,0)@[20,21] @[1,25] {end-sent=24}\n";
    stories(
        RC,
        own,
        expect![[r#"
        NotMyOwnWrite by intervals: #0 wrote x = 1 and then read x = 0: a transaction sees what it wrote itself.
    "#]],
    );
}

#[test]
fn what_was_written_only_later_is_not_said_to_have_been_written_by_nobody() {
    let later = "clock events\ngiven x 0\n\
        b: r(x,9)@[20,21] @[20,25] {end-sent=24}\n\
        c: w(x,9)@[30,31] @[30,35] {end-sent=34}\n";
    tells(
        RC,
        later,
        expect![[r#"
        read-committed by intervals: violated
          found      1 ThinAirRead
          ThinAirRead by intervals: a transaction read a value that no transaction had written by then
            #0 read x = 9, which no transaction had written by then; #1 did so later; its snapshot was taken
            between 20 and 21. It can only have seen x = 0.

            event  b                c
               20  + #0 r(x,9)
               25  + committed
               30                   + #1 w(x,9)
               35                   + committed

            not to scale: = certain, - possible, ? at one instant of it
            #0  snapshot  ??????????????                            20 to 21
            #1  commit                              ??????????????  34 to 35

            mechanism consistent read: a read sees a version that was there when its snapshot was taken, or
                     when it had its lock
            possible x = 0, the initial state
            read     x = 9, which #1 wrote later
            snapshot #0: between 20 and 21
            commit   #1: between 34 and 35
            values   intervals show it; whether what was read and written is allowed is another question
            promise  read-committed by intervals: each statement sees what its snapshot can show, or what it
                     locked, and locks that exclude each other are not held at the same time
            broken   because a value has to be written before it can be read, and this one certainly was
                     only later
            visible  in the first 2 of 2 transactions
          method     the server's mechanisms, mirrored (when statements were sent and answered says what the
                     server can have done)
          evidence   client intervals; profile PostgreSQL read-committed
          figures    2 transactions
    "#]],
    );
}

#[test]
fn locks_and_writers_that_overlap() {
    let text = "clock events\ngiven x 0\n\
        a: w(x,1)@[1,3] @[1,12] {end-sent=10}\n\
        b: w(x,2)@[4,5] @[4,9] {end-sent=8}\n";
    tells(
        RR,
        text,
        expect![[r#"
            snapshot-isolation by intervals: violated
              found      1 ConcurrentWrites, 1 BrokenLock
              ConcurrentWrites by intervals: two transactions wrote the same key, and neither committed before
                  the other started
                #0 wrote x = 1 and #1 wrote x = 2, and both committed. #0 took its snapshot by 3 and committed
                at 10 or later, and #1 by 5 and committed at 8 or later: each before the other committed, so
                one of them should have been refused.

                event  a                b
                    1  + #0 w(x,1)
                    4  |                + #1 w(x,2)
                    9  |                + committed
                   12  + committed

                not to scale: = certain, - possible, ? at one instant of it
                #0  open      -----=============================------  3 to 10
                #1  open                 -----=======-----              5 to 8

                mechanism first updater wins: of two transactions that write a row one had committed before the
                         other took its snapshot
                open     #0: from 3 to 10, from snapshot to COMMIT
                open     #1: from 5 to 8, from snapshot to COMMIT
                values   intervals show it; whether what was read and written is allowed is another question
                promise  snapshot-isolation by intervals: a transaction sees what one snapshot shows that its
                         server can have taken, locks that exclude each other are not held at the same time,
                         and of two transactions that write a row one had committed before the other took its
                         snapshot
                broken   because only one of two transactions that overlap and write the same key may commit
                visible  in the first 2 of 2 transactions
              BrokenLock: two transactions held locks at the same time that exclude each other
                #0 had x locked from 3 (answer to its write) to 10 (COMMIT sent), and #1 from 5 (answer to its
                write) to 8 (COMMIT sent): these locks exclude each other.

                event  a                b
                    1  + #0 w(x,1)
                    4  |                + #1 w(x,2)
                    9  |                + committed
                   12  + committed

                not to scale: = certain, - possible, ? at one instant of it
                #0  locked    -----=============================------  3 to 10
                #1  locked               -----=======-----              5 to 8

                mechanism mutual exclusion: two locks that exclude each other are not held at the same time
                locked   #0: x from 3 to 10
                locked   #1: x from 5 to 8
                values   intervals show it; whether what was read and written is allowed is another question
                promise  snapshot-isolation by intervals: a transaction sees what one snapshot shows that its
                         server can have taken, locks that exclude each other are not held at the same time,
                         and of two transactions that write a row one had committed before the other took its
                         snapshot
                broken   because a lock is given only when those that exclude it are gone, and a transaction
                         keeps its locks until it ends
                visible  in the first 2 of 2 transactions
              method     the server's mechanisms, mirrored (when statements were sent and answered says what the
                         server can have done)
              evidence   client intervals; profile PostgreSQL repeatable-read
              figures    2 transactions, 1 adjacent version, 1 adjacent version decided,
                         1 overlapping before deduction
        "#]],
    );
}

#[test]
fn pages_of_the_handbook() {
    let all = [
        Anomaly::TornSnapshot,
        Anomaly::BrokenLock,
        Anomaly::DangerousStructure,
        Anomaly::SkippedValidation,
    ];
    let told = all.map(|anomaly| {
        let page = handbook::anomaly(anomaly);
        let history = parse(page.history).unwrap();
        let verdict = ask_profile(&history, page.profile().unwrap()).verdict;
        let first = verdict.witnesses().first().unwrap();
        let exhibit = Exhibit::new(&history, verdict.promise, 1, first);
        let facts = exhibit.facts.iter().map(|fact| format!("  {}: {}\n", fact.name, fact.text));
        format!("{}: {}\n{}", exhibit.title, exhibit.story, facts.collect::<String>())
    });
    expect![[r#"
        TornSnapshot: T3 read paid = no and read sent = yes of T2; each may be right, but no one snapshot that was taken between 5 and 30 shows all of that.
          mechanism: consistent read: a read sees a version that was there when its snapshot was taken, or when it had its lock
          snapshot: T3: between 5 and 30
          commit: T2: between 20 and 22
          values: intervals show it; whether what was read and written is allowed is another question
        BrokenLock: T1 had job locked from 3 (answer to its write) to 20 (COMMIT sent), and T2 from 6 (answer to its write) to 8 (COMMIT sent): these locks exclude each other.
          mechanism: mutual exclusion: two locks that exclude each other are not held at the same time
          locked: T1: job from 3 to 20
          locked: T2: job from 6 to 8
          values: intervals show it; whether what was read and written is allowed is another question
        DangerousStructure: T1 read stock = 5, which T2 overwrote with 4; T2 read price = 10, which T3 overwrote with 12. All of them committed, T3 first (between 10 and 12): serializable snapshot isolation refuses one of them.
          mechanism: serialization certifier: what would not be serializable does not commit
          commit: T1: between 30 and 32
          commit: T2: between 20 and 22
          commit: T3: between 10 and 12
          values: intervals show it; whether what was read and written is allowed is another question
        SkippedValidation: T1 read price = 10, which T2 overwrote with 12, and both committed: T1 between 20 and 22, T2 between 7 and 9. The server's certifier has to refuse one of them.
          mechanism: serialization certifier: what would not be serializable does not commit
          commit: T1: between 20 and 22
          commit: T2: between 7 and 9
          values: intervals show it; whether what was read and written is allowed is another question
    "#]].assert_eq(&told.concat());
}

#[test]
fn times_in_nanoseconds_are_told_from_the_first_on() {
    let text = "given x 0\n\
        a: w(x,1)@[1700000000000000000,1700000000000150000] @[1700000000000000000,1700000000000400000]\n\
        b: r(x,0)@[1700000000000900000,1700000000000950000] @[1700000000000900000,1700000000000990000]\n";
    stories(
        RC,
        text,
        expect![[r#"
        StaleRead by intervals: #1 read x = 0, the initial value; its snapshot was taken between +900.0 us and +950.0 us, and by then #0 had committed x = 1 (COMMIT answered at +400.0 us). It can only have seen x = 1.
    "#]],
    );
}

// ---- where nothing was found ----

/// One read, of which only one version can be.
const FINE: &str = "clock events\ngiven x 0\n\
    a: w(x,1)@[1,2] @[1,5] {end-sent=3}\n\
    b: r(x,1)@[20,21] @[20,25] {end-sent=24}\n";
/// What was read may be either version.
const OVERLAP: &str = "clock events\ngiven x 1\n\
    a: w(x,1)@[1,2] @[1,50] {end-sent=3}\n\
    b: r(x,1)@[4,21] @[4,25] {end-sent=24}\n";

fn case<'a>(history: &'a History, decided: &'a [Decided]) -> Case<'a> {
    Case {
        history,
        name: "history.txt".to_owned(),
        format: "notation".to_owned(),
        decided,
        about: Vec::new(),
        warnings: Vec::new(),
        warning_count: 0,
        every_level: true,
        options: json!({}),
        explain: None,
        again: Vec::new(),
        seconds: 0.5,
    }
}

fn page_data(case: &Case<'_>) -> Value {
    let mut report = HtmlReport::new("mirrored");
    report.add(case);
    let page = report.finish();
    let (_, rest) = page.split_once(r#"id="data">"#).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn nothing_found_is_less_than_that_it_holds() {
    tells(
        RR,
        FINE,
        expect![[r#"
            snapshot-isolation by intervals: no violation among 1 of 1 decided
              method     the server's mechanisms, mirrored (when statements were sent and answered says what the
                         server can have done)
              evidence   client intervals; profile PostgreSQL repeatable-read
              figures    2 transactions, 1 read, 1 read decided
        "#]],
    );
    let (history, decided) = ask(FINE, RR);
    assert!(matches!(decided.verdict.answer, Answer::NoViolation { enough: true, .. }));
    let decided = [decided];
    let case = case(&history, &decided);
    let told = &case_to_json(&case)["verdicts"][0];
    assert_eq!((&told["answer"], &told["enough"]), (&json!("no-violation"), &json!(true)));
    assert_eq!((&told["by"], &told["reason"]), (&json!("intervals"), &Value::Null));
    assert_eq!(told["decided"], told["of"]);
    let mut junit = Junit::default();
    junit.add(&case);
    let junit = junit.finish();
    assert!(junit.contains(r#"failures="0" errors="0""#), "{junit}");
    assert!(junit.contains(r#"<property name="answer" value="no-violation"/>"#), "{junit}");
    assert!(junit.contains("<system-out>snapshot-isolation by intervals: no violation"), "{junit}");
    let page = &page_data(&case)["cases"][0];
    assert_eq!((&page["state"], &page["verdicts"][0]["state"]), (&json!(3), &json!(3)));
    let headline = "No violation of snapshot-isolation by intervals was found";
    assert_eq!(page["headline"], headline);
}

#[test]
fn too_little_decided_is_as_good_as_unknown() {
    tells(
        RR,
        OVERLAP,
        expect![[r#"
            snapshot-isolation by intervals: no violation among 0 of 2 decided, which is a smaller share than
              was asked for
              method     the server's mechanisms, mirrored (when statements were sent and answered says what the
                         server can have done)
              evidence   client intervals; profile PostgreSQL repeatable-read
              figures    2 transactions, 1 read, 1 anti-dependency, 1 overlapping before deduction,
                         2 overlapping after deduction
        "#]],
    );
    let (history, decided) = ask(OVERLAP, RR);
    assert!(matches!(decided.verdict.answer, Answer::NoViolation { enough: false, .. }));
    let decided = [decided];
    let case = case(&history, &decided);
    let mut junit = Junit::default();
    junit.add(&case);
    let junit = junit.finish();
    assert!(junit.contains(r#"failures="0" errors="1""#), "{junit}");
    assert_eq!(page_data(&case)["cases"][0]["headline"], "Nothing could be decided");
}

#[test]
fn a_summary_never_counts_it_as_holding() {
    let history = parse(STALE).unwrap();
    let mut decided = vec![ask_profile(&history, profile(RR)), ask_profile(&history, profile(RC))];
    decided.extend(ask_all(&history));
    let text = summary_to_text(&history, &decided, &Telling::default());
    let shown: Vec<&str> = text.lines().take(12).collect();
    expect![[r#"
        by the clients' intervals:
          snapshot-isolation  violated: 1 StaleRead
          read-committed      violated: 1 StaleRead
          By values, snapshot-isolation and read-committed hold: some order of the transactions explains
          what was read. By intervals they are violated: a mechanism of the server did not do what it
          promises.
        strongest level that holds: serializable
          method     dependency graph with inferred edges (a serial execution in order of completion
                     explains every read)
          evidence   values; version order: not known (1 key); session order
          figures    3 transactions, 3 operations, 1 key, 3 nodes, 1 edge
        violated or undecided:
    "#]].assert_eq(&(shown.join("\n") + "\n"));
    let (history, fine) = ask(FINE, RR);
    let text = summary_to_text(&history, &[fine], &Telling::default());
    expect![[r#"
        by the clients' intervals:
          snapshot-isolation  no violation among 1 of 1 decided
          method     the server's mechanisms, mirrored (when statements were sent and answered says what the
                     server can have done)
          evidence   client intervals; profile PostgreSQL repeatable-read
          figures    2 transactions, 1 read, 1 read decided
    "#]].assert_eq(&text);
}

#[test]
fn its_picture_has_locks_and_snapshots() {
    let lock = "clock events\ngiven x 0\n\
        a: w(x,1)@[1,3] @[1,12] {end-sent=10}\n\
        b: w(x,2)@[4,5] @[4,9] {end-sent=8}\n";
    for (text, server, class) in [(STALE, RR, "instant"), (lock, RC, "held"), (lock, RC, "maybe")] {
        let (history, decided) = ask(text, server);
        let first = decided.verdict.witnesses().first().unwrap();
        let drawn = svg(&Exhibit::new(&history, decided.verdict.promise, 1, first));
        assert!(drawn.contains(&format!(r#"class="{class}""#)), "{class}: {drawn}");
    }
}
