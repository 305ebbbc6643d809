//! What the end of a stream says, and what comes after an end.

use isolde_check::{Limits, Options, timestamps};
use isolde_history::notation::parse;
use isolde_history::{History, HistoryBuilder, Sink, StreamPromise, Timestamp};
use isolde_spec::{Axiom, Level, Promise};
use isolde_stream::{Settings, Stream, StreamEvent, Told};

use crate::folder::Folder;

fn settings() -> Settings {
    Settings::new(Promise::by_timestamps(Level::SnapshotIsolation))
}

fn si() -> Stream {
    Stream::new(settings()).unwrap()
}

/// A batch, and what some sessions promise behind it: a timestamp, or nothing more.
pub(crate) fn promised(text: &str, promises: &[(&str, Option<i64>)]) -> History {
    let mut with = HistoryBuilder::new();
    parse(text).unwrap().replay(&mut with).unwrap();
    for (session, mark) in promises {
        let name = with.pool().text(session);
        let watermark = mark.map(Timestamp::plain);
        let promise = StreamPromise { session: Some(name), watermark, end: mark.is_none() };
        let event = promise.to_event(with.pool());
        with.event(event).unwrap();
    }
    with.finish()
}

#[test]
fn where_nothing_committed_the_end_is_unknown() {
    let mut stream = si();
    stream.push(parse("a: w(x,1) abort ts(1,2)\nb: w(x,2) unknown ts(3,4)").unwrap(), 0).unwrap();
    stream.finish(0).unwrap();
    let status = stream.status();
    assert_eq!((status.txns, status.committed, status.holds()), (2, 0, None));
    stream.push(parse("c: w(x,1) ts(5,6)").unwrap(), 0).unwrap();
    assert_eq!(stream.status().holds(), Some(true));
}

#[test]
fn an_incomplete_stream_of_which_all_is_explained_holds_as_it_does_offline() {
    for (reads, holds) in [("b: r(x,1) ts(3,4)", Some(true)), ("b: r(x,7) ts(3,4)", None)] {
        let text = format!("initial 0\na: w(x,1) ts(1,2)\n{reads}");
        let mut stream = si();
        stream.push(parse(&text).unwrap(), 0).unwrap();
        stream.incomplete("a line is not JSON", 0).unwrap();
        stream.finish(0).unwrap();
        let mut whole = HistoryBuilder::new();
        parse(&text).unwrap().replay(&mut whole).unwrap();
        whole.meta().complete = false;
        let (options, limits) = (Options::default(), Limits::default());
        let promise = settings().promise;
        let offline = timestamps::decide(&whole.finish(), promise, &options, &limits, &|_| {});
        assert_eq!((stream.status().holds(), offline.holds()), (holds, holds), "{reads}");
    }
}

/// Whether a session that goes on after its end is named, and judged: what was told of it.
fn after_its_end(stream: &mut Stream) -> (Vec<String>, Vec<(Axiom, String)>) {
    // Its snapshot is older than what it did before.
    stream.push(parse("a T3: r(x,0) ts(1,50)").unwrap(), 0).unwrap();
    stream.finish(0).unwrap();
    let events = stream.take_events();
    let late = |event: &StreamEvent| match &event.what {
        Told::Late { txn, .. } => Some(txn.clone()),
        _ => None,
    };
    let found = |event: &StreamEvent| match &event.what {
        Told::Violation(found) => Some((found.axiom?, found.txn.clone())),
        Told::Correction(change) => Some((change.finding.axiom?, change.finding.txn.clone())),
        _ => None,
    };
    (events.iter().filter_map(late).collect(), events.iter().filter_map(found).collect())
}

#[test]
fn a_session_that_goes_on_after_its_end_is_late_and_judged_as_offline() {
    let first = "initial 0\na T1: w(x,1) ts(10,20)\nb T2: r(y,0) ts(1,2)";
    let name = "#T3 of session a".to_owned();
    let expected = (vec![name.clone()], vec![(Axiom::Session, name)]);
    let batch = || promised(first, &[("a", None), ("b", Some(30))]);
    let mut stream = si();
    stream.push(batch(), 0).unwrap();
    assert_eq!(after_its_end(&mut stream), expected);
    for (memory, restarts) in [(1, false), (1 << 20, false), (1, true), (1 << 20, true)] {
        let folder = Folder::new();
        let settings = Settings { memory, folder: Some(folder.path()), ..settings() };
        let mut stream = Stream::begin_in(settings.clone()).unwrap();
        stream.push(batch(), 0).unwrap();
        if restarts {
            stream.checkpoint(&[]).unwrap();
            drop(stream);
            stream = Stream::resume(&settings).unwrap().unwrap().stream;
        }
        assert_eq!(after_its_end(&mut stream), expected, "{memory} {restarts}");
    }
}

#[test]
fn a_conflict_that_is_found_after_the_timeout_of_the_first_writer_is_a_correction() {
    let mut stream = si();
    stream.push(parse("a T1: w(x,1) ts(1,10)").unwrap(), 0).unwrap();
    stream.tick(6_000).unwrap();
    stream.push(parse("b T2: w(x,2) ts(5,20)").unwrap(), 7_000).unwrap();
    let events = stream.take_events();
    let [StreamEvent { what: Told::Correction(change), .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert!(change.adds && change.cause.late() == Some("#T2 of session b"), "{change:?}");
    assert_eq!((stream.status().corrections, stream.status().longest_change), (1, 7_000));
    assert_eq!(stream.status().holds(), Some(false));
}

#[test]
fn a_conflict_within_the_promises_is_none_however_long_it_took() {
    let mut stream = si();
    let all = |a, b| [("a", Some(a)), ("b", Some(b))];
    stream.push(promised("a T1: w(x,1) ts(1,10)", &all(11, 12)), 0).unwrap();
    stream.tick(60_000).unwrap();
    stream.push(promised("b T2: w(x,2) ts(5,20)", &all(30, 30)), 70_000).unwrap();
    let events = stream.take_events();
    assert!(matches!(&events[..], [StreamEvent { what: Told::Violation(_), .. }]), "{events:?}");
}

/// The events, as they were told.
fn told(stream: &mut Stream) -> Vec<String> {
    stream.take_events().iter().map(|event| format!("{event:?}")).collect()
}

#[test]
fn what_was_told_is_told_again_whatever_the_timeout_is_now() {
    for timeout in [0, 100, 1 << 40] {
        let folder = Folder::new();
        let settings = Settings { timeout: 100, folder: Some(folder.path()), ..settings() };
        let mut stream = Stream::begin_in(settings.clone()).unwrap();
        stream.push(parse("a T1: w(x,1) ts(1,2)\nb T2: r(x,0) ts(3,4)").unwrap(), 0).unwrap();
        stream.tick(50).unwrap();
        stream.push(parse("a T3: w(x,3) ts(5,6)\nb T4: r(x,1) ts(7,8)").unwrap(), 90).unwrap();
        stream.tick(150).unwrap();
        stream.push(parse("a T5: w(x,5) ts(9,10)").unwrap(), 160).unwrap();
        let before = told(&mut stream);
        drop(stream);
        let other = Settings { timeout, ..settings };
        let mut stream = Stream::resume(&other).unwrap().unwrap().stream;
        assert_eq!(told(&mut stream), before);
        // From now on the other one counts, and that is remembered, too.
        stream.push(parse("b T6: r(x,1) ts(11,12)").unwrap(), 170).unwrap();
        stream.tick(175).unwrap();
        let after = told(&mut stream);
        assert_eq!(after.len(), if timeout == 0 { 2 } else { 0 }, "{timeout} {after:?}");
        drop(stream);
        let mut stream = Stream::resume(&other).unwrap().unwrap().stream;
        assert_eq!(told(&mut stream), [before, after].concat());
    }
}

#[test]
fn what_the_end_told_is_told_again_and_the_stream_may_go_on() {
    let folder = Folder::new();
    let settings = Settings { folder: Some(folder.path()), ..settings() };
    let mut stream = Stream::begin_in(settings.clone()).unwrap();
    stream.push(parse("a T1: w(x,1) ts(1,2)\nb T2: r(x,0) ts(3,4)").unwrap(), 0).unwrap();
    stream.finish(10).unwrap();
    let before = told(&mut stream);
    assert_eq!(before.len(), 1);
    drop(stream);
    // It was killed before a checkpoint, and the file has grown.
    let mut stream = Stream::resume(&settings).unwrap().unwrap().stream;
    assert_eq!(told(&mut stream), before);
    stream.push(parse("b T3: r(x,0) ts(5,6)").unwrap(), 20).unwrap();
    assert_eq!((told(&mut stream).len(), stream.status().open), (0, 1));
}

/// A predicate read has no key: what it returned is known by the row, or by what was read.
#[test]
fn rows_of_predicate_reads_that_nothing_wrote_are_told_at_the_end() {
    let text = "initial 0\na: w(x,1) ts(1,2)\nb: pred(p,x=5,y=6) ts(3,4)";
    let promise = Promise::by_timestamps(Level::SnapshotIsolation);
    let mut stream = Stream::new(Settings::new(promise)).unwrap();
    stream.push(parse(text).unwrap(), 0).unwrap();
    stream.finish(1).unwrap();
    assert_eq!(stream.status().by_anomaly, [("ThinAirRead", 2)]);
    assert_eq!(stream.status().holds(), Some(false));
}
