//! Concurrent sessions, all paths mixed: levels that promise it lose no update, and no level loses
//! or doubles an append.
#![cfg(all(feature = "postgres", feature = "mysql"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use isolde_history::OpKind;
use isolde_spec::Level;
use isolde_target::{
    After, Answer, Contents, Ended, Failure, Offer, Request, Session, Table, Target,
};

use crate::common::{Dice, alone, registers, request, server};

const SESSIONS: i64 = 6;
const ROWS: u32 = 3;
const TIME: Duration = Duration::from_millis(1500);

/// Runs transactions until the time is over, and gives those that committed.
fn run<T: Send>(
    target: &dyn Target,
    offer: &Offer,
    transaction: impl Fn(&mut dyn Session, &mut Dice, i64) -> Result<T, Failure> + Sync,
) -> Vec<T> {
    let end = Instant::now() + TIME;
    let work = |number: i64| {
        let mut session = target.connect(offer).unwrap();
        let mut dice = Dice(number as u64 + 7);
        let mut done = Vec::new();
        let mut counter = 0;
        while Instant::now() < end {
            counter += 1;
            session.begin().unwrap();
            let result = transaction(session.as_mut(), &mut dice, counter * SESSIONS + number);
            let ended = result.and_then(|found| session.commit().map(|ended| (found, ended)));
            match ended {
                Ok((found, ended)) => {
                    assert_eq!(ended, Ended::Committed);
                    done.push(found);
                }
                Err(failure) => {
                    assert!(failure.expected, "{} {}: {failure}", target.name(), offer.name);
                    if failure.after == After::Open {
                        session.rollback().unwrap();
                    }
                }
            }
        }
        done
    };
    thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> = (0..SESSIONS).map(|n| scope.spawn(move || work(n))).collect();
        running.into_iter().flat_map(|t| t.join().unwrap()).collect()
    })
}

/// Each transaction adds one to two counters: the sum tells how many were kept.
fn no_update_is_lost(target: &dyn Target, offer: &Offer) {
    target.create(&registers(0, ROWS)).unwrap();
    let committed = run(target, offer, |session, dice, _| {
        let first = dice.below(u64::from(ROWS)) as u32;
        for row in [first, (first + 1) % ROWS] {
            let path = dice.path(target, OpKind::Read);
            let read = Request { path, ..request(OpKind::Read, row, 0) };
            let Answer::Value(Some(value)) = session.run(&read)? else { panic!("no row") };
            let (kind, expected) = match dice.below(4) {
                0 => (OpKind::Cas, value),
                _ => (OpKind::Write, 0),
            };
            let path = dice.path(target, kind);
            let write = Request { path, expected, ..request(kind, row, value + 1) };
            assert_eq!(session.run(&write)?, Answer::Done(true), "{} {write:?}", offer.name);
        }
        Ok(())
    });
    let sum: i64 = (0..ROWS)
        .map(|row| match alone(target, offer.name, &request(OpKind::Read, row, 0)) {
            Answer::Value(Some(value)) => value,
            other => panic!("{other:?}"),
        })
        .sum();
    eprintln!("{} {}: {} transactions", target.name(), offer.name, committed.len());
    assert!(committed.len() > 10, "{} {}", target.name(), offer.name);
    assert_eq!(sum, 2 * committed.len() as i64, "{} {}", target.name(), offer.name);
    target.clean().unwrap();
}

/// Lists hold what was committed, each element once.
fn no_append_is_lost(target: &dyn Target, offer: &Offer) {
    let table = Table { number: 0, contents: Contents::Lists, rows: ROWS, filled: false };
    target.create(&table).unwrap();
    let committed = run(target, offer, |session, dice, value| {
        let row = dice.below(u64::from(ROWS)) as u32;
        let path = dice.path(target, OpKind::Append);
        let append = Request { path, ..request(OpKind::Append, row, value) };
        assert_eq!(session.run(&append)?, Answer::Done(true));
        Ok(value)
    });
    let mut found = Vec::new();
    for row in 0..ROWS {
        match alone(target, offer.name, &request(OpKind::ListRead, row, 0)) {
            Answer::List(list) => found.extend(list.unwrap_or_default()),
            other => panic!("{other:?}"),
        }
    }
    let (all, count) = (committed.iter().collect::<BTreeSet<_>>(), committed.len());
    assert_eq!(found.len(), count, "{} {}", target.name(), offer.name);
    assert_eq!(found.iter().collect::<BTreeSet<_>>(), all, "{} {}", target.name(), offer.name);
    target.clean().unwrap();
}

fn check(kind: &str) {
    let Some(target) = server(kind) else { return };
    for offer in target.offers() {
        no_append_is_lost(target.as_ref(), offer);
        if offer.promises.implies(Level::SnapshotIsolation) {
            no_update_is_lost(target.as_ref(), offer);
        }
    }
}

#[test]
fn postgres() {
    check("postgres");
}

#[test]
fn mariadb() {
    check("mariadb");
}

#[test]
fn myrocks() {
    check("mariadb-rocksdb");
}
