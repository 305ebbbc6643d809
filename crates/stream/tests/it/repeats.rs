//! Sequence numbers: what comes twice is left out once, and what may be something else is never left out in silence.

use std::fmt::Write as _;

use isolde_history::notation::parse;
use isolde_spec::{Level, Promise};
use isolde_stream::{Settings, Status, Stream, StreamEvent, Told, Trouble};

use crate::folder::Folder;
use crate::made::{Made, Random};

fn settings() -> Settings {
    Settings::new(Promise::by_timestamps(Level::SnapshotIsolation))
}

/// A batch of transactions with numbers, of so many sessions in turn, which write values from some number on.
fn numbered(numbers: std::ops::Range<i64>, sessions: i64, values: i64) -> String {
    let mut text = "initial 0\n".to_owned();
    for n in numbers {
        let (session, seq, value, at) = (n % sessions, n / sessions, n + values, 10 * (n + values));
        let ts = format!("ts({at},{})", at + 5);
        let _ = writeln!(text, "s{session}: w(k{session},{value}) {ts} {{seq={seq}}}");
    }
    text
}

fn troubles(events: &[StreamEvent]) -> Vec<Trouble> {
    let of = |event: &StreamEvent| match &event.what {
        Told::Trouble(trouble) => Some(trouble.clone()),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

#[test]
fn a_transaction_whose_batch_is_not_kept_any_more_is_recognised() {
    let folder = Folder::new();
    let mut stream =
        Stream::new(Settings { memory: 1, keep: 1, folder: Some(folder.path()), ..settings() })
            .unwrap();
    for batch in 0..40 {
        stream.push(parse(&numbered(100 * batch..100 * (batch + 1), 1, 0)).unwrap(), 0).unwrap();
    }
    // In its own batch it was the 100th, and here there is only one.
    stream.push(parse(&numbered(1_999..2_000, 1, 0)).unwrap(), 0).unwrap();
    let status = stream.status();
    assert_eq!((status.txns, status.repeated, status.left_out), (4_000, 1, 0));
    assert!(status.complete, "{status:?}");
}

#[test]
fn a_transaction_twice_in_one_batch_behind_another_that_is_left_out_is_the_same() {
    let mut stream = Stream::new(settings()).unwrap();
    stream.push(parse(&numbered(0..1, 1, 0)).unwrap(), 0).unwrap();
    let twice = [numbered(0..3, 1, 0), numbered(1..3, 1, 0).replace("initial 0\n", "")].concat();
    stream.push(parse(&twice).unwrap(), 0).unwrap();
    stream.finish(0).unwrap();
    let status = stream.status();
    assert_eq!((status.txns, status.repeated, status.holds()), (3, 3, Some(true)), "{status:?}");
}

#[test]
fn a_request_of_thousands_that_is_sent_again_counts_once() {
    for sessions in [1, 24, 5_000] {
        let mut stream = Stream::new(settings()).unwrap();
        for request in 0..4 {
            let request = numbered(5_000 * request..5_000 * (request + 1), sessions, 0);
            stream.push(parse(&request).unwrap(), 0).unwrap();
        }
        stream.push(parse(&numbered(15_000..20_000, sessions, 0)).unwrap(), 0).unwrap();
        stream.finish(0).unwrap();
        let status = stream.status();
        assert_eq!((status.txns, status.repeated), (20_000, 5_000), "{sessions}");
        assert_eq!(status.holds(), Some(true), "{status:?}");
    }
}

#[test]
fn new_transactions_of_a_session_that_begins_again_are_not_left_out_in_silence() {
    // Little memory: some thousands of one session are remembered.
    let mut stream = Stream::new(Settings { memory: 1, ..settings() }).unwrap();
    stream.push(parse(&numbered(0..20_000, 1, 0)).unwrap(), 0).unwrap();
    stream.push(parse(&numbered(0..1_000, 1, 500_000)).unwrap(), 0).unwrap();
    stream.finish(0).unwrap();
    let status = stream.status();
    assert_eq!((status.txns, status.repeated, status.left_out), (20_000, 0, 1_000));
    assert_eq!((status.holds(), status.complete), (None, false));
    let told = troubles(&stream.take_events());
    let [Trouble::OldNumber(name), Trouble::Incomplete(_)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(name, "number 0 of session s0");
}

#[test]
fn what_a_transaction_wrote_that_was_left_out_makes_no_read_wrong() {
    let mut stream = Stream::new(Settings { memory: 1, ..settings() }).unwrap();
    stream.push(parse(&numbered(0..20_000, 1, 0)).unwrap(), 0).unwrap();
    stream.push(parse(&numbered(0..1, 1, 500_000)).unwrap(), 0).unwrap();
    let reads = "initial 0\nb: r(k0,500000) ts(6000000,6000001)";
    stream.push(parse(reads).unwrap(), 0).unwrap();
    stream.finish(0).unwrap();
    assert_eq!((stream.status().violations, stream.status().holds()), (0, None));
}

#[test]
fn a_number_with_other_contents_leaves_the_end_unknown() {
    let mut stream = Stream::new(settings()).unwrap();
    stream.push(parse(&numbered(0..5, 1, 0)).unwrap(), 0).unwrap();
    stream.push(parse(&numbered(4..5, 1, 100)).unwrap(), 0).unwrap();
    stream.finish(0).unwrap();
    assert_eq!((stream.status().left_out, stream.status().holds()), (1, None));
    let told = troubles(&stream.take_events());
    assert!(told[0].to_string().contains("left out, and so the end is unknown"), "{told:?}");
}

#[test]
fn numbers_are_remembered_over_a_restart() {
    let folder = Folder::new();
    let settings = Settings { folder: Some(folder.path()), ..settings() };
    let mut stream = Stream::begin_in(settings.clone()).unwrap();
    stream.push(parse(&numbered(0..3_000, 3, 0)).unwrap(), 0).unwrap();
    stream.checkpoint(&[]).unwrap();
    stream.push(parse(&numbered(3_000..3_300, 3, 0)).unwrap(), 0).unwrap();
    drop(stream);
    let mut stream = Stream::resume(&settings).unwrap().unwrap().stream;
    stream.push(parse(&numbered(0..3_303, 3, 0)).unwrap(), 0).unwrap();
    let status = stream.status();
    assert_eq!((status.txns, status.repeated, status.complete), (3_303, 3_300, true));
}

/// A stream of lines, of which some come a second time because it was not known whether they had been taken: how it ended,
/// and how many lines came twice.
fn with_retries(made: &Made, lines: &[String], seed: u64, retries: bool) -> (Status, u64) {
    let folder = Folder::new();
    let at_the_end = Some(1 << 20);
    let kept = Some(folder.path());
    let settings = Settings { memory: 1, timeout: 15, folder: kept, at_the_end, ..settings() };
    let mut stream = Stream::begin_in(settings.clone()).unwrap();
    let mut random = Random::new(seed);
    let (mut at, mut now, mut twice) = (0, 0, 0);
    while at < lines.len() {
        let end = (at + 1 + random.below(4) as usize).min(lines.len());
        let push = |stream: &mut Stream, from: usize| {
            let text = format!("{}{}", made.header, lines[from..end].concat());
            stream.push(parse(&text).unwrap(), now).unwrap();
        };
        push(&mut stream, at);
        let (killed, back) = (random.chance(30), random.below(6) as usize);
        if retries && random.chance(50) {
            if killed {
                drop(stream);
                stream = Stream::resume(&settings).unwrap().unwrap().stream;
            }
            let from = at.saturating_sub(back);
            push(&mut stream, from);
            twice += (end - from) as u64;
        }
        (at, now) = (end, now + 10);
    }
    stream.finish(now).unwrap();
    (stream.status(), twice)
}

#[test]
fn a_stream_of_which_parts_come_twice_is_the_stream_without_them() {
    let mut violated = 0;
    for seed in 0..200 {
        let made = Made::new(seed, false);
        let mut seqs = [0; 8];
        let txns = made.shuffled(&mut Random::new(seed));
        let lines = txns.iter().map(|txn| {
            let seq = &mut seqs[txn.session as usize];
            *seq += 1;
            format!("{} {{seq={seq}}}\n", txn.line)
        });
        let lines: Vec<String> = lines.collect();
        let (once, _) = with_retries(&made, &lines, seed, false);
        let (status, twice) = with_retries(&made, &lines, seed, true);
        assert_eq!((status.repeated, status.left_out, status.complete), (twice, 0, true));
        let end = |status: &Status| (status.txns, status.by_anomaly.clone(), status.holds());
        assert_eq!(end(&status), end(&once), "seed {seed}\n{}", lines.concat());
        violated += u64::from(status.violations > 0);
    }
    assert!(violated > 30, "{violated}");
}
