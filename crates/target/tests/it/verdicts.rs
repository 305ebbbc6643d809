//! Random transactions by all usual paths, on a correct server: the checker finds no violation of
//! what a level promises. This is the test of the promises in the catalogue, not of the servers.
#![cfg(all(feature = "postgres", feature = "mysql"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::thread;
use std::time::{Duration, Instant};

use isolde_check::{Options, check};
use isolde_history::{
    Clock, Effect, History, HistoryBuilder, InitialState, Interval, OpKind, Outcome, Sink,
    TxnDraft, Value,
};
use isolde_spec::{Level, Promise};
use isolde_target::{After, Answer, Contents, Ended, Offer, Request, Session, Table, Target};

use crate::common::{Dice, server};

const SESSIONS: i64 = 6;
const ROWS: u64 = 4;
const TIME: Duration = Duration::from_millis(700);

/// A transaction that was run.
struct Ran {
    session: i64,
    did: Vec<(Request, Answer)>,
    outcome: Outcome,
    interval: (i64, i64),
}

fn access(target: &dyn Target, contents: Contents, dice: &mut Dice, value: i64) -> Request {
    let kind = match (contents, dice.below(8)) {
        (Contents::Lists, 0..4) => OpKind::ListRead,
        (Contents::Lists, _) => OpKind::Append,
        (Contents::Registers, 0..4) => OpKind::Read,
        (Contents::Registers, 4) => OpKind::Cas,
        (Contents::Registers, _) => OpKind::Write,
    };
    let row = dice.below(ROWS) as u32;
    Request { table: 0, row, kind, path: dice.path(target, kind), value, expected: value - 6 }
}

/// One transaction. Whatever it writes it has read before, which tells the checker the order of
/// versions.
fn transaction(
    target: &dyn Target,
    session: &mut dyn Session,
    (contents, number): (Contents, i64),
    dice: &mut Dice,
    counter: &mut i64,
) -> (Vec<(Request, Answer)>, Outcome) {
    let mut did: Vec<(Request, Answer)> = Vec::new();
    session.begin().unwrap();
    for _ in 0..=dice.below(4) {
        *counter += 1;
        let mut todo = vec![access(target, contents, dice, *counter * SESSIONS + number)];
        if todo[0].kind == OpKind::Write {
            let path = dice.path(target, OpKind::Read);
            todo.insert(0, Request { kind: OpKind::Read, path, ..todo[0] });
        }
        for request in todo {
            match session.run(&request) {
                Ok(answer) => did.push((request, answer)),
                Err(failure) => {
                    assert!(failure.expected, "{failure}");
                    if failure.after == After::Open {
                        session.rollback().unwrap();
                    }
                    return (did, Outcome::Aborted);
                }
            }
        }
    }
    if dice.below(10) == 0 {
        session.rollback().unwrap();
        return (did, Outcome::Aborted);
    }
    match session.commit() {
        Ok(Ended::Committed) => (did, Outcome::Committed),
        Ok(Ended::RolledBack) => panic!("no statement had failed"),
        Err(failure) => {
            assert_eq!((failure.after, failure.expected), (After::Aborted, true), "{failure}");
            (did, Outcome::Aborted)
        }
    }
}

fn run(target: &dyn Target, offer: &Offer, contents: Contents) -> Vec<Ran> {
    let start = Instant::now();
    let now = || start.elapsed().as_nanos() as i64;
    let work = |number: i64| {
        let mut session = target.connect(offer).unwrap();
        let (mut dice, mut counter, mut ran) = (Dice(number as u64 + 3), 0, Vec::new());
        while start.elapsed() < TIME {
            let begin = now();
            let kind = (contents, number);
            let (did, outcome) =
                transaction(target, session.as_mut(), kind, &mut dice, &mut counter);
            ran.push(Ran { session: number, did, outcome, interval: (begin, now()) });
        }
        ran
    };
    thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> = (0..SESSIONS).map(|n| scope.spawn(move || work(n))).collect();
        running.into_iter().flat_map(|t| t.join().unwrap()).collect()
    })
}

fn record(ran: &[Ran], contents: Contents) -> History {
    let mut builder = HistoryBuilder::new();
    let initial = match contents {
        Contents::Lists => Value::ABSENT,
        Contents::Registers => builder.pool().int(0),
    };
    builder.meta().initial = InitialState::every(initial);
    builder.meta().clock = Clock::Nanoseconds;
    let mut draft = TxnDraft::default();
    for txn in ran {
        let session = builder.pool().int(txn.session);
        draft.reset(builder.pool().session(session));
        draft.outcome = txn.outcome;
        draft.interval = Interval::new(txn.interval.0, txn.interval.1);
        for (request, answer) in &txn.did {
            let key = builder.pool().int_key(i64::from(request.row));
            let value = builder.pool().int(request.value);
            match (request.kind, answer) {
                (OpKind::Read, Answer::Value(Some(found))) => {
                    let found = builder.pool().int(*found);
                    draft.read(key, found);
                }
                (OpKind::ListRead, Answer::List(found)) => {
                    let values = |list: &Vec<i64>| {
                        list.iter().map(|v| builder.pool().int(*v)).collect::<Vec<_>>()
                    };
                    let list = found.as_ref().map(values);
                    draft.list_read(key, list.as_deref()).unwrap();
                }
                (OpKind::Write, Answer::Done(true)) => draft.write(key, value),
                (OpKind::Append, Answer::Done(true)) => draft.append(key, value),
                (OpKind::Cas, Answer::Done(done)) => {
                    let expected = builder.pool().int(request.expected);
                    let effect = if *done { Effect::Done } else { Effect::Failed };
                    draft.cas(key, expected, value, effect);
                }
                other => panic!("{other:?}"),
            }
        }
        builder.transaction(&draft).unwrap();
    }
    builder.finish()
}

fn verdicts(kind: &str) {
    let Some(target) = server(kind) else { return };
    let target = target.as_ref();
    for offer in target.offers() {
        for contents in [Contents::Registers, Contents::Lists] {
            let filled = contents == Contents::Registers;
            target.create(&Table { number: 0, contents, rows: ROWS as u32, filled }).unwrap();
            let ran = run(target, offer, contents);
            let history = record(&ran, contents);
            let committed = ran.iter().filter(|t| t.outcome == Outcome::Committed).count();
            let about = format!("{} {} {contents:?}", target.name(), offer.name);
            let verdict = check(&history, Promise::of(offer.promises), &Options::default());
            eprintln!("{about}: {committed} of {} committed; {:?}", ran.len(), verdict.holds());
            if let isolde_spec::Answer::Violated(witnesses) = verdict.answer {
                panic!("{about}: {} is violated: {:?}", offer.promises, witnesses[0].anomaly);
            }
            if offer.promises.implies(Level::SnapshotIsolation) {
                assert_eq!(verdict.holds(), Some(true), "{about}");
            }
            target.clean().unwrap();
        }
    }
}

#[test]
fn postgres() {
    verdicts("postgres");
}

#[test]
fn mariadb() {
    verdicts("mariadb");
}

#[test]
fn myrocks() {
    verdicts("mariadb-rocksdb");
}
