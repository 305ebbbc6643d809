//! By client intervals, too, online is offline: whatever the order of arrival, the batches, and how much memory there is.

use std::collections::{BTreeMap, BTreeSet};

use isolde_check::Options;
use isolde_history::{
    Event, History, HistoryBuilder, Key, SessionEvent, Sink, TxnId, Value, notation,
};
use isolde_spec::{Anomaly, Answer, Mechanism, Profile, Witness};
use isolde_stream::{Finding, Settings, Stream, StreamAnswer, Told, intervals};

use crate::fed::{Feeding, Source};
use crate::made::Random;
use crate::traces::{TraceTxn, Traces};

/// Anomaly, transaction and key.
type Place = (&'static str, String, String);
/// How often each violation was found.
type Found = BTreeMap<Place, i64>;

const SHARE: f64 = 0.5;

/// What the whole shows, how much of it was decided, and whether that is enough.
fn offline(history: &History, profile: &Profile) -> (Found, (u64, u64), Answer) {
    let options = Options { witnesses: usize::MAX, ..Options::default() };
    let verdict = intervals::decide(history, profile, &options, SHARE);
    let mut found = Found::default();
    for witness in verdict.witnesses() {
        let txn = witness.mirrored.as_ref().unwrap().txn;
        let mut keys = witness.ops.iter().map(|op| history.op(*op).key());
        let key = keys.find(|key| *key != Key::NONE).map(|key| {
            let mut text = String::new();
            notation::write_value(history.pool(), history.pool().key_name(key), &mut text);
            text
        });
        let txn = notation::txn_name(history, txn);
        *found.entry((witness.anomaly.name(), txn, key.unwrap_or_default())).or_default() += 1;
    }
    let figure = |name: &str| {
        let figures = &verdict.procedure.figures;
        figures.iter().find(|(own, _)| *own == name).unwrap().1
    };
    let kinds = ["reads", "adjacent versions", "anti-dependencies"];
    let of = kinds.iter().map(|kind| figure(kind)).sum();
    let decided = kinds.iter().map(|kind| figure(&format!("{kind} decided"))).sum();
    (found, (decided, of), verdict.answer)
}

fn place(finding: &Finding) -> Place {
    let (name, _) = finding.txn.split_once(' ').unwrap();
    let name = name.trim_start_matches('#').to_owned();
    (finding.anomaly.name(), name, finding.key.clone().unwrap_or_default())
}

/// A batch with what each session says of itself behind it.
fn with_beats(batch: &History, rest: &[TraceTxn], sessions: u64) -> History {
    let mut with = HistoryBuilder::new();
    batch.replay(&mut with).unwrap();
    for session in 0..sessions {
        let name = with.pool().text(&format!("s{session}"));
        let next = rest.iter().filter(|txn| txn.session == session).map(|txn| txn.began).min();
        let event = match next {
            Some(at) => SessionEvent::Heartbeat { session: name, at },
            None => SessionEvent::Ended { session: name, at: 1_000, next: None },
        };
        let event: Event = event.to_event(with.pool());
        with.event(event).unwrap();
    }
    with.finish()
}

fn online(
    made: &Traces,
    txns: &[TraceTxn],
    profile: &Profile,
    feeding: Feeding,
) -> (Found, Vec<Finding>, Stream) {
    let batch = |these: &[TraceTxn], rest: &[TraceTxn]| {
        let batch = notation::parse(&made.text(these)).unwrap();
        if feeding.speaks { with_beats(&batch, rest, made.sessions) } else { batch }
    };
    // It need not be said again which profile it is.
    let again = |settings: &mut Settings, random: &mut Random| {
        settings.profile = Some(profile.clone()).filter(|_| random.chance(50));
    };
    // Whatever is said of the run comes first, as `isolde watch` has it.
    let header = Some(notation::parse(&made.header).unwrap());
    let settings = Settings { share: SHARE, ..Settings::by_intervals(profile) };
    let source = Source { txns, header, batch: &batch };
    let (events, stream) = feeding.feed(settings, source, &again);
    let (mut found, mut standing) = (Found::default(), Vec::new());
    for event in &events {
        match &event.what {
            Told::Violation(finding) => {
                shows_itself(finding, profile);
                *found.entry(place(finding)).or_default() += 1;
                standing.push((**finding).clone());
            }
            Told::Correction(c) => {
                assert!(!c.adds);
                *found.entry(place(&c.finding)).or_default() -= 1;
                let own =
                    standing.iter().position(|told: &Finding| place(told) == place(&c.finding));
                standing.remove(own.unwrap());
            }
            Told::Renamed(_) => panic!("{event:?}"),
            Told::Late { .. } | Told::Trouble(_) => {}
        }
    }
    found.retain(|_, count| *count != 0);
    (found, standing, stream)
}

/// The small history of a violation shows it when it is checked alone.
fn shows_itself(finding: &Finding, profile: &Profile) {
    let text = notation::to_text(&finding.history);
    let history = notation::parse(&text).unwrap();
    let options = Options { witnesses: usize::MAX, ..Options::default() };
    let verdict = intervals::decide(&history, profile, &options, SHARE);
    let names: Vec<_> = verdict.witnesses().iter().map(|witness| witness.anomaly).collect();
    // Whoever wrote the other columns of a version is not shown.
    if history.rows_by_column() {
        return;
    }
    // Without the other versions what was learned from them may be something else.
    let mechanism = finding.witness().unwrap().mirrored.as_ref().unwrap().mechanism;
    let learned = [Mechanism::Certifier, Mechanism::FirstUpdaterWins].contains(&mechanism);
    // Over a row that others deleted an insert may be seen otherwise.
    let inserts = finding.anomaly == Anomaly::NotMyOwnWrite && text.contains("insert(");
    if learned || inserts || finding.anomaly == Anomaly::TornSnapshot {
        return;
    }
    assert!(names.contains(&finding.anomaly), "{finding:?} {names:?}\n{}\n{text}", profile.name());
}

/// A violation, in whatever order its transactions were decided and whatever is known of the writer of what was read: the
/// mechanism, and the transactions that broke it.
fn core(history: &History, witness: &Witness) -> (&'static str, BTreeSet<String>) {
    let mirrored = witness.mirrored.as_ref().unwrap();
    let label = |txn: TxnId| {
        let label = history.txn(txn).label().unwrap();
        history.pool().as_text(label).unwrap().to_owned()
    };
    let txns = match mirrored.mechanism {
        // Of several cycles through the same transactions any may be found.
        Mechanism::Certifier => BTreeSet::new(),
        _ => witness.txns.iter().map(|txn| label(*txn)).collect(),
    };
    (mirrored.mechanism.name(), txns)
}

fn compare(seed: u64) -> bool {
    let made = Traces::new(seed);
    let mut random = Random::new(seed);
    let profiles = Profile::builtin();
    let profile = &profiles[random.below(profiles.len() as u64) as usize];
    let text = made.text(&made.txns);
    let whole = notation::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let (expected, decided, answer) = offline(&whole, profile);
    let txns = made.shuffled(&mut random);
    let speaks = random.chance(60);
    let feeding = Feeding {
        timeout: if speaks { [0, 15, 100_000][random.below(3) as usize] } else { 100_000 },
        speaks,
        batch: 1 + random.below(5),
        spills: random.chance(50),
        ticks: random.chance(50),
        killed: random.chance(25),
    };
    let (found, _, stream) = online(&made, &txns, profile, feeding);
    let status = stream.status();
    let about = format!("seed {seed} {} {feeding:?} {status:?}\n{text}", profile.name());
    assert_eq!(status.late, 0, "{about}");
    // Where locks were broken a dependency may lead back to what has been forgotten: then other cycles are closed, or none.
    let broken = expected.keys().any(|(name, ..)| *name == "BrokenLock");
    let is_kept = |place: &Place| !(feeding.spills && broken && place.2.is_empty());
    let of = |found: &Found| -> Found {
        found.iter().filter(|(p, _)| is_kept(p)).map(|(p, count)| (p.clone(), *count)).collect()
    };
    assert_eq!(of(&found), of(&expected), "{about}");
    let share = status.by_intervals.unwrap();
    assert_eq!((share.decided, share.of), decided, "{about}");
    let same = match (status.answer(), &answer) {
        (StreamAnswer::Violated, Answer::Violated(_))
        | (StreamAnswer::Unknown, Answer::Unknown(_)) => true,
        (StreamAnswer::NoViolation { enough }, Answer::NoViolation { enough: own, .. }) => {
            enough == *own
        }
        _ => false,
    };
    assert!(same, "{:?} {answer:?} {about}", status.answer());
    !expected.is_empty()
}

/// Where the timeout is too short for what comes late, violations may be missed, and that is told. None is made up.
fn comes_late(seed: u64) -> bool {
    let made = Traces::new(seed);
    let mut random = Random::new(seed);
    let profiles = Profile::builtin();
    let profile = &profiles[random.below(profiles.len() as u64) as usize];
    let text = made.text(&made.txns);
    let whole = notation::parse(&text).unwrap();
    let (expected, ..) = offline(&whole, profile);
    let options = Options { witnesses: usize::MAX, ..Options::default() };
    let verdict = intervals::decide(&whole, profile, &options, SHARE);
    let right: Vec<_> = verdict.witnesses().iter().map(|w| core(&whole, w)).collect();
    let txns = made.shuffled(&mut random);
    let (batch, spills) = (1 + random.below(3), random.chance(30));
    let killed = random.chance(20);
    let feeding = Feeding { timeout: 5, speaks: false, batch, spills, ticks: true, killed };
    let (found, standing, stream) = online(&made, &txns, profile, feeding);
    let status = stream.status();
    let about = format!("seed {seed} {} {feeding:?} {status:?}\n{text}", profile.name());
    for finding in &standing {
        let own = core(&finding.history, finding.witness().unwrap());
        assert!(right.contains(&own), "{finding:?} {right:?}\n{about}");
    }
    if status.late == 0 {
        assert_eq!(found, expected, "{about}");
    } else {
        assert!(
            matches!(status.answer(), StreamAnswer::Violated | StreamAnswer::Unknown),
            "{about}"
        );
    }
    status.late > 0
}

fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let from = number("ISOLDE_FROM").unwrap_or(0);
    from..from + number("ISOLDE_STREAM").unwrap_or(1_000)
}

#[test]
fn any_arrival_any_batches_any_memory_give_what_the_whole_trace_gives() {
    let violated = seeds().filter(|seed| compare(*seed)).count() as u64;
    let count = seeds().count() as u64;
    // Both kinds are tried.
    assert!(violated > count / 5 && violated < count * 9 / 10, "{violated} of {count}");
}

#[test]
fn what_comes_too_late_is_told_and_makes_no_violation_up() {
    let late = seeds().filter(|seed| comes_late(*seed)).count() as u64;
    assert!(late > seeds().count() as u64 / 10, "{late}");
}

/// No name of a session is one that a batch has to bring.
#[test]
fn a_session_that_only_says_that_it_is_there_is_waited_for() {
    let profile = Profile::named("postgresql/read-committed").unwrap();
    let mut stream =
        Stream::new(Settings { timeout: 10, ..Settings::by_intervals(profile) }).unwrap();
    let beat = |at: i64| {
        let mut with = HistoryBuilder::new();
        with.meta().initial.default = Some(Value::from_u32(0));
        let session = with.pool().text("b");
        let event = SessionEvent::Heartbeat { session, at }.to_event(with.pool());
        with.event(event).unwrap();
        with.finish()
    };
    stream.push(beat(1), 0).unwrap();
    let read = "initial 0\na: r(x,1)@[20,21] @[20,30] {end-sent=25}";
    stream.push(notation::parse(read).unwrap(), 1).unwrap();
    stream.tick(1_000).unwrap();
    assert_eq!((stream.status().open, stream.status().violations), (1, 0));
    let write = "initial 0\nb: w(x,1)@[2,3] @[2,7] {end-sent=6}";
    stream.push(notation::parse(write).unwrap(), 1_000).unwrap();
    stream.push(beat(40), 1_001).unwrap();
    stream.tick(2_000).unwrap();
    assert_eq!((stream.status().open, stream.status().violations), (0, 0));
    assert_eq!(stream.status().late, 0);
}
