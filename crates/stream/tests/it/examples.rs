//! Examples that a person can follow.

use isolde_history::notation::parse;
use isolde_spec::{Level, Promise};
use isolde_stream::{Settings, Stream, StreamEvent, Told};

fn si() -> Stream {
    let settings = Settings::new(Promise::by_timestamps(Level::SnapshotIsolation));
    Stream::new(settings).unwrap()
}

/// What was told, in short.
fn told(events: &[StreamEvent]) -> Vec<String> {
    let short = |event: &StreamEvent| match &event.what {
        Told::Violation(finding) => format!("{} {}", finding.anomaly.name(), finding.txn),
        Told::Renamed(finding) => format!("now {} {}", finding.anomaly.name(), finding.txn),
        Told::Correction(c) if c.adds => format!("+{:?}: {}", c.finding.anomaly, c.cause),
        Told::Correction(c) => format!("-{:?}: {}", c.finding.anomaly, c.cause),
        Told::Late { txn, .. } => format!("late {txn}"),
        Told::Trouble(trouble) => trouble.to_string(),
    };
    events.iter().map(short).collect()
}

#[test]
fn example_5_of_the_paper_a_verdict_flips_and_settles() {
    // T3 and T5 read what T1 wrote; T4 and then T2, which they should have seen, come later.
    let mut stream = si();
    stream.push(parse("a T1: w(x,1) ts(1,2)\nc T3: r(x,2) ts(5,6)").unwrap(), 0).unwrap();
    assert_eq!(stream.status().violations, 0);
    stream.push(parse("b T2: w(x,2) ts(3,4)").unwrap(), 100).unwrap();
    assert_eq!((stream.status().violations, stream.status().open), (0, 3));
    stream.tick(5_100).unwrap();
    assert_eq!((stream.status().violations, stream.status().open), (0, 0));
    // T3 should have seen T2. It was right in the end; how often that changed is known when it is final.
    assert_eq!((stream.status().flips, stream.status().flipped_txns), (1, 1));
    assert_eq!(stream.status().rectified, [0, 0, 0, 0, 0, 0, 0, 1]);
    assert!(stream.take_events().is_empty());
}

#[test]
fn what_comes_after_the_timeout_is_a_correction_that_names_the_late_transaction() {
    let mut stream = si();
    stream.push(parse("a T1: w(x,1) ts(1,2)\nc T3: r(x,1) ts(5,6)").unwrap(), 0).unwrap();
    stream.tick(6_000).unwrap();
    stream.push(parse("b T2: w(x,2) ts(3,4)").unwrap(), 7_000).unwrap();
    assert_eq!(told(&stream.take_events()), ["+StaleRead: #T2 of session b came late"]);
    assert_eq!((stream.status().corrections, stream.status().longest_change), (1, 7_000));
}

#[test]
fn a_line_that_cannot_be_read_withdraws_what_was_read_from_nowhere() {
    let mut stream = si();
    stream.push(parse("a T1: w(x,1) ts(1,2)\nc T3: r(x,7) ts(5,6)").unwrap(), 0).unwrap();
    stream.tick(6_000).unwrap();
    assert_eq!(told(&stream.take_events()), ["ThinAirRead #T3 of session c"]);
    stream.incomplete("line 3 is not JSON", 7_000).unwrap();
    let now = told(&stream.take_events());
    assert_eq!(now[0], "-ThinAirRead: line 3 is not JSON");
    assert_eq!(stream.status().holds(), None);
}

#[test]
fn the_writer_of_what_was_read_may_become_known_later() {
    let mut stream = si();
    stream.push(parse("c T3: r(x,7) ts(5,6)").unwrap(), 0).unwrap();
    stream.tick(6_000).unwrap();
    stream.push(parse("a T9: w(x,7) ts(4,9)").unwrap(), 7_000).unwrap();
    let expected = ["ThinAirRead #T3 of session c", "now UncommittedVersionRead #T3 of session c"];
    assert_eq!(told(&stream.take_events()), expected);
    assert_eq!(stream.status().by_anomaly, [("UncommittedVersionRead", 1)]);
}

#[test]
fn the_same_number_twice_is_left_out_and_with_other_contents_an_error() {
    let mut stream = si();
    let first = "a T1: w(x,1) ts(1,2) {seq=1}\na T2: w(x,2) ts(3,4) {seq=2}";
    stream.push(parse(first).unwrap(), 0).unwrap();
    stream.push(parse("a T2: w(x,2) ts(3,4) {seq=2}").unwrap(), 0).unwrap();
    assert_eq!((stream.status().txns, stream.status().repeated), (2, 1));
    assert!(stream.status().complete && stream.take_events().is_empty());
    stream.push(parse("a T2: w(x,3) ts(3,4) {seq=2}").unwrap(), 0).unwrap();
    assert!(told(&stream.take_events())[0].contains("other contents"));
}
