//! Commits that the server has lost, as the recorder says when the run is over.

use isolde_history::notation::parse;
use isolde_spec::{Level, Promise};
use isolde_stream::{Settings, Stream, StreamEvent, Told};

const BY_VALUE: &str = "event lost-commit @[9,_] {key:x,session:a,value:1}";
const BY_NUMBER: &str = "event lost-commit @[9,_] {restart:0,xid:7}";

fn told(promise: Promise, batches: &[&str]) -> (Stream, Vec<StreamEvent>) {
    let mut stream = Stream::new(Settings::new(promise)).unwrap();
    for (batch, at) in batches.iter().zip(0..) {
        stream.push(parse(batch).unwrap(), at).unwrap();
    }
    stream.finish(100).unwrap();
    let events = stream.take_events();
    (stream, events)
}

fn by_timestamps() -> Promise {
    Promise::by_timestamps(Level::SnapshotIsolation)
}

#[test]
fn a_commit_that_was_lost_is_told_once_wherever_the_word_of_it_stands() {
    let txn = "a: w(x,1) ts(1,2) {xid=7}";
    for event in [BY_VALUE, BY_NUMBER] {
        let both = format!("{txn}\n{event}");
        let ways: [&[&str]; 5] = [
            &[txn, event],
            &[event, txn],
            &[&both],
            &[txn, event, event],
            &[txn, "b: w(y,1) ts(3,4)", event],
        ];
        for way in ways {
            let (stream, events) = told(by_timestamps(), way);
            assert_eq!(stream.status().by_anomaly, [("LostCommit", 1)], "{way:?}");
            assert_eq!(stream.status().holds(), Some(false));
            let [event] = &events[..] else { panic!("{events:?}") };
            let Told::Violation(finding) = &event.what else { panic!("{event:?}") };
            assert_eq!((finding.history.txn_count(), finding.axiom), (1, None));
            // The small history shows it alone.
            let offline =
                isolde_check::check(&finding.history, by_timestamps(), &Default::default());
            assert_eq!(offline.witnesses().len(), 1, "{offline:?}");
        }
    }
}

/// A session may write a value twice: the word of it is about both, wherever it stands.
#[test]
fn every_transaction_that_the_word_fits_is_told() {
    let (first, second) = ("a: w(x,1) ts(1,2)", "a: w(x,1) ts(5,6)");
    let ways: [&[&str]; 3] =
        [&[first, second, BY_VALUE], &[first, BY_VALUE, second], &[BY_VALUE, first, second]];
    for way in ways {
        let (stream, _) = told(by_timestamps(), way);
        assert_eq!(stream.status().by_anomaly, [("LostCommit", 2)], "{way:?}");
    }
}

#[test]
fn by_snapshots_lost_commits_are_told_too() {
    let txn = "a: w(x,1) {xid=7,snapshot={xmin:7,xmax:7,xip:[]}}";
    let (stream, _) = told(Promise::by_snapshots(Level::SnapshotIsolation), &[txn, BY_NUMBER]);
    assert_eq!(stream.status().by_anomaly, [("LostCommit", 1)]);
}

#[test]
fn word_of_a_transaction_that_is_not_there_finds_nothing() {
    let others = "a: w(x,2) ts(1,2) {xid=8}\nb: w(x,1) ts(3,4)\na: w(x,1) abort {xid=7}";
    for event in [BY_VALUE, BY_NUMBER] {
        let (stream, _) = told(by_timestamps(), &[others, event]);
        assert_eq!(stream.status().violations, 0);
    }
}

#[test]
fn what_was_missing_before_the_first_transaction_is_told_with_it() {
    let mut stream = Stream::new(Settings::new(by_timestamps())).unwrap();
    stream.incomplete("a line was torn", 0).unwrap();
    stream.push(parse("a: w(x,1) ts(1,2)").unwrap(), 1).unwrap();
    let events = stream.take_events();
    assert!(matches!(&events[..], [event] if matches!(event.what, Told::Trouble(_))), "{events:?}");
    stream.push(parse("a: w(x,2) ts(3,4)").unwrap(), 1).unwrap();
    assert_eq!(stream.take_events().len(), 0);
}

#[test]
fn the_end_says_how_much_stays_unknown_and_why() {
    let mut stream = Stream::new(Settings::new(by_timestamps())).unwrap();
    stream.push(parse("initial 0\na: r(x,7) ts(1,2)").unwrap(), 1).unwrap();
    stream.incomplete("a line was torn", 1).unwrap();
    stream.finish(2).unwrap();
    let told: Vec<String> = stream
        .take_events()
        .iter()
        .filter_map(|event| match &event.what {
            Told::Trouble(trouble) => Some(trouble.to_string()),
            _ => None,
        })
        .collect();
    assert!(told[1].starts_with("1 read or conflict stays unknown: "), "{told:?}");
    stream.finish(3).unwrap();
    assert_eq!(stream.take_events().len(), 0);
}
