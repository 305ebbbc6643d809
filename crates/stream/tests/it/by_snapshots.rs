//! By snapshots, too, online is offline: whatever the order of arrival, the batches, the promises and the timeout.

use std::collections::BTreeMap;

use isolde_check::{Limits, Options, snapshots};
use isolde_history::{
    History, HistoryBuilder, Key, Outcome, Sink, StreamPromise, Timestamp, Txn, notation,
};
use isolde_spec::{Answer, Level, Promise, Verdict};
use isolde_stream::{Finding, Settings, Stream, Told};

use crate::any_order::in_any_order;
use crate::fed::{Feeding, Source};
use crate::made::Random;
use crate::server;

/// Rule, transaction and key.
type Place = (&'static str, String, String);
/// How often each anomaly was found, and how often something was found in each place.
type Found = (BTreeMap<&'static str, u64>, BTreeMap<Place, i64>);

const PROMISE: Promise = Promise::by_snapshots(Level::SnapshotIsolation);

fn offline(history: &History) -> Verdict {
    let options = Options { witnesses: usize::MAX, ..Options::default() };
    snapshots::decide(history, PROMISE, &options, &Limits::default())
}

fn found_in(history: &History, verdict: &Verdict) -> Found {
    let mut found = Found::default();
    for witness in verdict.witnesses() {
        *found.0.entry(witness.anomaly.name()).or_default() += 1;
        let timed = witness.timed.as_ref().unwrap();
        // A predicate read has no key.
        let mut keys = witness.ops.iter().map(|op| history.op(*op).key());
        let key = keys.find(|key| *key != Key::NONE).map(|key| {
            let mut text = String::new();
            notation::write_value(history.pool(), history.pool().key_name(key), &mut text);
            text
        });
        let txn = notation::txn_name(history, timed.txn);
        *found.1.entry((timed.axiom.name(), txn, key.unwrap_or_default())).or_default() += 1;
    }
    found
}

fn place(finding: &Finding) -> Place {
    let (name, _) = finding.txn.split_once(' ').unwrap();
    let name = name.trim_start_matches('#').to_owned();
    (finding.axiom.unwrap().name(), name, finding.key.clone().unwrap_or_default())
}

/// The place of a snapshot: after how many starts of the server, and how many numbers it shows.
fn mark(txn: &Txn<'_>) -> Option<(i64, i64)> {
    Some((txn.restart(), txn.snapshot()?.shown()))
}

/// A batch with what each session promises behind it.
fn with_promises(batch: &History, rest: &History) -> History {
    let mut with = HistoryBuilder::new();
    batch.replay(&mut with).unwrap();
    for session in 0..5 {
        let name = format!("s{session}");
        let own = rest.txns().filter(|txn| {
            let pool = rest.pool();
            pool.as_text(pool.session_name(txn.session())) == Some(&name)
        });
        let (least, left) = own.fold((None, false), |(least, _): (Option<(i64, i64)>, _), txn| {
            (least.into_iter().chain(mark(&txn)).min(), true)
        });
        let watermark =
            least.map(|(restart, shown)| Timestamp { physical: shown, logical: restart });
        if watermark.is_none() && left {
            continue;
        }
        let promise =
            StreamPromise { session: Some(with.pool().text(&name)), watermark, end: !left };
        let event = promise.to_event(with.pool());
        with.event(event).unwrap();
    }
    with.finish()
}

fn online(header: &str, lines: &[&str], feeding: Feeding) -> (Found, Stream) {
    let parse = |lines: &[&str]| notation::parse(&(header.to_owned() + &lines.join("\n"))).unwrap();
    let batch = |these: &[&str], rest: &[&str]| match feeding.speaks {
        true => with_promises(&parse(these), &parse(rest)),
        false => parse(these),
    };
    // What was told stays as it was, whatever the timeout is from now on.
    let again = |settings: &mut Settings, random: &mut Random| {
        settings.timeout = [0, 15, 100_000][random.below(3) as usize];
    };
    let settings = Settings { at_the_end: Some(1 << 20), ..Settings::new(PROMISE) };
    let source = Source { txns: lines, header: None, batch: &batch };
    let (events, stream) = feeding.feed(settings, source, &again);
    let mut found = Found::default();
    for event in events {
        match event.what {
            Told::Violation(finding) => *found.1.entry(place(&finding)).or_default() += 1,
            Told::Correction(c) => {
                *found.1.entry(place(&c.finding)).or_default() += if c.adds { 1 } else { -1 };
            }
            Told::Renamed(_) | Told::Late { .. } | Told::Trouble(_) => {}
        }
    }
    found.1.retain(|_, count| *count != 0);
    found.0 = stream.status().by_anomaly.into_iter().collect();
    (found, stream)
}

#[derive(Default, Debug)]
struct Tally {
    holds: u64,
    violated: u64,
    /// The whole history does not decide.
    open: u64,
}

/// The lines of the header, and the transactions in another order that keeps sessions.
fn shuffled<'t>(text: &'t str, random: &mut Random) -> (String, Vec<&'t str>) {
    let is_txn = |line: &&str| line.starts_with('s') && line.contains(": ");
    let header: String = text.lines().filter(|l| !is_txn(l)).map(|l| format!("{l}\n")).collect();
    let txns: Vec<&str> = text.lines().filter(is_txn).collect();
    let all = in_any_order(&txns, |line| line[1..2].parse().unwrap(), 6, random);
    (header, all)
}

/// Any feeding, unless one is given.
fn compare(seed: u64, given: Option<Feeding>, tally: &mut Tally) {
    let text = server::text(seed);
    let mut random = Random::new(seed);
    let (header, lines) = shuffled(&text, &mut random);
    let any = Feeding {
        timeout: [0, 15, 100_000][random.below(3) as usize],
        speaks: random.chance(50),
        batch: 1 + random.below(5),
        spills: random.chance(50),
        killed: random.chance(30),
        ticks: random.chance(50),
    };
    let feeding = given.unwrap_or(any);
    let text = header.clone() + &lines.join("\n");
    let whole = notation::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    if whole.txns().all(|txn| txn.outcome() != Outcome::Committed) {
        return;
    }
    let verdict = offline(&whole);
    let expected = found_in(&whole, &verdict);
    let (found, stream) = online(&header, &lines, feeding);
    let status = stream.status();
    let context = || {
        let why = stream.first_doubt();
        format!("seed {seed} {feeding:?}\n{text}\n{:?}\n{found:?}\n{why:?}", verdict.answer)
    };
    let apart = verdict.notes.iter().any(|note| note.contains("contradict"));
    match &verdict.answer {
        Answer::Unknown(_) | Answer::NoViolation { .. } => {
            tally.open += 1;
            return assert_ne!(status.holds(), Some(true), "{}", context());
        }
        Answer::Holds => tally.holds += 1,
        Answer::Violated(_) => tally.violated += 1,
    }
    if apart {
        // Either of two snapshots may be told to contradict the other.
        assert_eq!(found.0, expected.0, "{}", context());
        return assert_eq!(status.holds(), Some(false), "{}", context());
    }
    assert_eq!(found, expected, "{}", context());
    assert_eq!(status.holds(), verdict.holds(), "{}", context());
}

#[test]
fn any_arrival_any_batches_any_promises_give_what_the_whole_history_gives() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let count = number("ISOLDE_STREAM").unwrap_or(4_000);
    let from = number("ISOLDE_FROM").unwrap_or(0);
    let mut tally = Tally::default();
    (from..from + count).for_each(|seed| compare(seed, None, &mut tally));
    eprintln!("{tally:?}");
    assert!(tally.holds > count / 8 && tally.violated > count / 8, "{tally:?}");
}

const PLAIN: Feeding =
    Feeding { timeout: 0, speaks: false, batch: 1, spills: true, killed: false, ticks: false };

/// The snapshots that show which of two writers committed first were looked for in memory alone.
#[test]
fn the_order_of_writers_is_known_when_their_versions_have_left_memory() {
    let feeding = Feeding { timeout: 100_000, speaks: true, ..PLAIN };
    compare(910_020_837, Some(feeding), &mut Tally::default());
}

/// Two snapshots each showed a number that the other did not, and at the end nobody had one of the numbers.
#[test]
fn what_was_told_is_withdrawn_though_snapshots_seemed_to_contradict_each_other() {
    compare(910_002_801, Some(Feeding { batch: 5, ..PLAIN }), &mut Tally::default());
}
