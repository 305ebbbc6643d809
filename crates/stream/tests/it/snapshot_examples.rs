//! Examples by snapshots that a person can follow.

use isolde_history::notation::parse;
use isolde_spec::{Level, Promise};
use isolde_stream::{Settings, Stream, Told, Trouble};

fn si() -> Stream {
    let settings = Settings::new(Promise::by_snapshots(Level::SnapshotIsolation));
    Stream::new(settings).unwrap()
}

/// Snapshots are written as `<xmin,xmax,xip>`, with blanks between the last: `<9,12,10 11>`.
fn push(stream: &mut Stream, text: &str, now: i64) {
    let mut out = "initial 0\n".to_owned();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let (snapshot, behind) = after.split_once('>').unwrap();
        let [xmin, xmax, xip] = snapshot.split(',').collect::<Vec<_>>()[..] else {
            panic!("{text}")
        };
        let xip = xip.replace(' ', ",");
        out += &format!("{before}snapshot={{xmin:{xmin},xmax:{xmax},xip:[{xip}]}}");
        rest = behind;
    }
    stream.push(parse(&(out + rest)).unwrap(), now).unwrap();
}

fn told(stream: &mut Stream) -> Vec<String> {
    let short = |what: Told| match what {
        Told::Violation(finding) => format!("{} {}", finding.anomaly.name(), finding.txn),
        other => format!("{other:?}"),
    };
    let events = stream.take_events().into_iter().map(|event| event.what);
    events.filter(|what| !says_what_is_open(what)).map(short).collect()
}

#[test]
fn a_transaction_waits_until_nothing_can_come_from_before_the_first_snapshot_that_shows_it() {
    let mut stream = si();
    push(&mut stream, "a T1: w(x,1) {xid=10,<10,10,>}", 0);
    // Session a sees no less than T1 did, and no snapshot shows T1: it may have committed at any later time.
    push(&mut stream, "event watermark {session:a,watermark:10}", 0);
    assert_eq!(stream.status().open, 1);
    // The snapshot of T2 shows it and should not have read 0, but session b has promised nothing.
    push(&mut stream, "b T2: r(x,0) {<11,11,>}\nevent watermark {session:a,watermark:11}", 0);
    assert_eq!(stream.status().open, 2);
    assert!(told(&mut stream).is_empty());
    push(&mut stream, "event watermark {session:b,watermark:11}", 0);
    assert_eq!(told(&mut stream), ["StaleRead #T2 of session b"]);
    assert_eq!(stream.status().open, 0);
}

#[test]
fn without_promises_it_waits_for_the_timeout() {
    let mut stream = si();
    push(&mut stream, "a T1: w(x,1) {xid=10,<10,10,>}\nb T2: r(x,0) {<11,11,>}", 0);
    stream.tick(4_999).unwrap();
    assert_eq!(stream.status().open, 2);
    stream.tick(5_000).unwrap();
    assert_eq!(told(&mut stream), ["StaleRead #T2 of session b"]);
}

#[test]
fn what_is_told_has_the_snapshots_and_not_the_places() {
    let mut stream = si();
    push(&mut stream, "a T1: w(x,1) {xid=10,<10,10,>}\nb T2: w(x,2) {xid=11,<10,10,>}", 0);
    stream.finish(0).unwrap();
    let events = stream.take_events();
    let [event] = &events[..] else { panic!("{events:?}") };
    let Told::Violation(finding) = &event.what else { panic!("{event:?}") };
    assert_eq!(finding.anomaly.name(), "ConcurrentWrites");
    assert!(finding.history.txns().all(|txn| txn.start_ts().is_none() && txn.snapshot().is_some()));
    assert_eq!(finding.verdict.promise.to_string(), "snapshot-isolation by snapshots");
}

#[test]
fn a_session_that_goes_on_after_its_end_is_late_and_sees_what_it_did_before() {
    let mut stream = si();
    push(&mut stream, "a T1: w(x,1) {xid=10,<10,10,>}\nevent watermark {session:a,end:true}", 0);
    push(&mut stream, "a T2: r(y,0) {<10,10,>}", 1);
    stream.finish(2).unwrap();
    let told = told(&mut stream);
    assert!(told[0].starts_with("Late") && told[0].contains("#T2 of session a"), "{told:?}");
    assert!(told.iter().any(|told| told.ends_with("Violation #T2 of session a")), "{told:?}");
}

#[test]
fn a_session_that_goes_back_is_told_when_it_is_known_what_it_misses() {
    let mut stream = si();
    push(&mut stream, "a T1: r(y,0) {<12,12,>}\na T2: r(y,0) {<11,12,11>}", 0);
    assert!(told(&mut stream).is_empty(), "11 may have been rolled back");
    push(&mut stream, "b T3: w(x,1) {xid=11,<11,11,>}", 1);
    assert_eq!(told(&mut stream), ["SessionGuaranteeViolation #T2 of session a"]);
}

#[test]
fn a_snapshot_that_misses_what_was_confirmed_is_stale() {
    let mut stream = si();
    let text =
        "a T1: w(x,1) @[1,4] {xid=10,<10,10,>}\nb T2: r(x,0) @[5000000000,5000000001] {<10,10,>}";
    push(&mut stream, text, 0);
    stream.finish(0).unwrap();
    assert_eq!(told(&mut stream), ["StaleSnapshot #T2 of session b"]);
}

#[test]
fn snapshots_in_no_row_are_told_once_two_commits_show_it_and_end_the_judging() {
    let mut stream = si();
    push(&mut stream, "c T3: r(x,0) {<10,12,10>}\nd T4: r(x,0) {<11,12,11>}", 0);
    assert!(told(&mut stream).is_empty());
    assert!(stream.first_doubt().unwrap().contains("each show"));
    push(&mut stream, "a T1: w(x,1) {xid=10,<9,9,>}\nb T2: w(y,1) {xid=11,<9,9,>}", 0);
    assert_eq!(told(&mut stream).len(), 1);
    assert_eq!(stream.status().by_anomaly, [("BadSnapshot", 1)]);
    push(&mut stream, "c T5: r(x,77) {<12,12,>}", 0);
    stream.finish(0).unwrap();
    assert!(told(&mut stream).is_empty());
    assert_eq!(stream.status().holds(), Some(false));
}

#[test]
fn what_parts_commits_that_stand_at_one_place_is_too_late() {
    let mut stream = si();
    let text =
        "a T1: w(x,1) {xid=10,<10,10,>}\nb T2: w(y,1) {xid=11,<10,10,>}\nc T3: r(x,1) {<12,12,>}";
    push(&mut stream, text, 0);
    stream.tick(6_000).unwrap();
    // Its snapshot lies between the two commits. Nothing more is known of what it should have seen.
    push(&mut stream, "d T4: r(x,1) r(y,0) {<11,12,11>}", 7_000);
    assert_eq!((told(&mut stream).len(), stream.status().holds()), (0, None));
    assert!(stream.first_doubt().unwrap().contains("so late"));
    // At the end all are asked again.
    stream.finish(8_000).unwrap();
    assert_eq!((told(&mut stream).len(), stream.status().holds()), (0, Some(true)));
}

#[test]
fn two_transactions_of_one_number_leave_all_open() {
    let mut stream = si();
    push(&mut stream, "a T1: w(x,1) {xid=10,<10,10,>}\nb T2: w(y,1) {xid=10,<10,10,>}", 0);
    assert_eq!(stream.status().holds(), None);
    assert!(stream.first_doubt().unwrap().contains("one number"));
    stream.finish(0).unwrap();
    assert_eq!(stream.status().holds(), None);
}

#[test]
fn other_levels_have_no_rules_by_snapshots() {
    for level in [Level::ReadCommitted, Level::Serializable] {
        assert!(Stream::new(Settings::new(Promise::by_snapshots(level))).is_err());
    }
}

/// Whether it is what the end says of reads that stay unknown.
fn says_what_is_open(what: &Told) -> bool {
    matches!(what, Told::Trouble(Trouble::Open(text)) if text.contains("unknown: "))
}

/// What is told, as signs: `+` a violation, `-` one that is withdrawn.
fn signs(stream: &mut Stream) -> String {
    let sign = |what: Told| match what {
        Told::Violation(_) => '+',
        Told::Correction(c) if !c.adds => '-',
        _ => '?',
    };
    let events = stream.take_events().into_iter().map(|event| event.what);
    events.filter(|what| !says_what_is_open(what)).map(sign).collect()
}

#[test]
fn a_delete_that_comes_later_excuses_an_insert_of_a_row_that_was_there() {
    let mut stream = si();
    let text = "a T1: w(x,5) {xid=10,<10,10,>}\nb T2: r(x,5) insert(x,7) {xid=12,<11,11,>}\n\
                c T4: r(x,7) {<13,13,>}";
    push(&mut stream, text, 0);
    stream.tick(6_000).unwrap();
    let told = signs(&mut stream);
    assert!(!told.is_empty() && told.chars().all(|sign| sign == '+'), "{told}");
    push(&mut stream, "d T3: delete(x) {xid=11,<11,11,>}", 7_000);
    stream.finish(8_000).unwrap();
    assert_eq!(signs(&mut stream), "-".repeat(told.len()));
    assert_eq!(stream.status().holds(), Some(true), "{:?}", stream.first_doubt());
}

#[test]
fn writers_that_upsert_conflict_unless_the_row_was_deleted() {
    let mut stream = si();
    let text = "a T1: [w(x,1)]{path=upsert} {xid=10,<10,10,>}\nb T2: [w(x,2)]{path=upsert} {xid=11,<10,10,>}\n\
                c T3: r(y,0) {<12,12,>}";
    push(&mut stream, text, 0);
    stream.tick(6_000).unwrap();
    assert_eq!(signs(&mut stream), "+");
    push(&mut stream, "d T4: delete(x) {xid=12,<12,12,>}\nd T5: r(y,0) {<13,13,>}", 7_000);
    stream.tick(13_000).unwrap();
    assert_eq!(signs(&mut stream), "-");
    // Which other writers conflict is worked out at the end.
    assert_eq!(stream.status().holds(), None);
    stream.finish(8_000).unwrap();
    assert_eq!((signs(&mut stream).len(), stream.status().holds()), (0, Some(true)));
}
