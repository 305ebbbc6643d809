//! Every way to do every access gives the right answer, on every server, at every level.
#![cfg(all(feature = "postgres", feature = "mysql"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_history::OpKind;
use isolde_target::{Answer, Contents, Offer, Path, Request, Session, Table, Target};

use crate::common::{registers, server};

fn each(kind: &str, test: fn(&dyn Target, &Offer, &mut dyn Session)) {
    let Some(target) = server(kind) else { return };
    for offer in target.offers() {
        target.create(&registers(0, 1500)).unwrap();
        let empty = |number, contents| Table { number, contents, rows: 50, filled: false };
        target.create(&empty(1, Contents::Lists)).unwrap();
        target.create(&empty(2, Contents::Registers)).unwrap();
        let mut session = target.connect(offer).unwrap();
        test(target.as_ref(), offer, session.as_mut());
        drop(session);
        target.clean().unwrap();
    }
}

/// Runs one access in a transaction of its own.
fn one(session: &mut dyn Session, request: &Request) -> Answer {
    session.begin().unwrap();
    let answer = session.run(request).unwrap();
    assert_eq!(session.commit().unwrap(), isolde_target::Ended::Committed);
    answer
}

fn at(table: u32, row: u32, kind: OpKind) -> Request {
    Request { table, row, kind, path: Path::PrimaryKey, value: 0, expected: 0 }
}

fn registers_do_what_they_say(target: &dyn Target, offer: &Offer, session: &mut dyn Session) {
    let mut value = 0;
    for (path, _) in target.paths(OpKind::Write) {
        for row in [0, 7, 1499] {
            value += 1;
            let write = Request { path: *path, value, ..at(0, row, OpKind::Write) };
            assert_eq!(one(session, &write), Answer::Done(true), "{} {path:?}", offer.name);
            for (read, _) in target.paths(OpKind::Read) {
                let read = Request { path: *read, ..at(0, row, OpKind::Read) };
                let answer = one(session, &read);
                assert_eq!(answer, Answer::Value(Some(value)), "{} {path:?} {read:?}", offer.name);
            }
        }
        // A row that is not there: some ways make it, the others say that they did not write.
        let row = 2000 + *path as u32;
        let makes = matches!(path, Path::Upsert | Path::Replace);
        let write = Request { path: *path, value: 5, ..at(0, row, OpKind::Write) };
        assert_eq!(one(session, &write), Answer::Done(makes), "{} {path:?}", offer.name);
        let there = makes.then_some(5);
        assert_eq!(one(session, &at(0, row, OpKind::Read)), Answer::Value(there));
    }
    // Neighbours were not touched.
    assert_eq!(one(session, &at(0, 8, OpKind::Read)), Answer::Value(Some(0)));
    // Setting what is already there is still a write.
    let again = Request { value, ..at(0, 7, OpKind::Write) };
    assert_eq!(one(session, &again), Answer::Done(true));
    assert_eq!(one(session, &again), Answer::Done(true));
}

fn conditions_are_checked(target: &dyn Target, offer: &Offer, session: &mut dyn Session) {
    for (path, _) in target.paths(OpKind::Cas) {
        let row = 20 + *path as u32;
        let cas =
            |expected, value| Request { path: *path, value, expected, ..at(0, row, OpKind::Cas) };
        assert_eq!(one(session, &cas(0, 1)), Answer::Done(true), "{} {path:?}", offer.name);
        assert_eq!(one(session, &cas(0, 2)), Answer::Done(false), "{} {path:?}", offer.name);
        assert_eq!(one(session, &cas(1, 3)), Answer::Done(true), "{} {path:?}", offer.name);
        assert_eq!(one(session, &at(0, row, OpKind::Read)), Answer::Value(Some(3)));
    }
    for (path, _) in target.paths(OpKind::InsertIfAbsent) {
        let row = *path as u32;
        let insert = |value| Request { path: *path, value, ..at(2, row, OpKind::InsertIfAbsent) };
        assert_eq!(one(session, &at(2, row, OpKind::Read)), Answer::Value(None));
        assert_eq!(one(session, &insert(4)), Answer::Done(true), "{} {path:?}", offer.name);
        if *path == Path::PlainInsert && target.name() == "PostgreSQL" {
            // The failure costs the transaction, so it is one.
            session.begin().unwrap();
            let failure = session.run(&insert(5)).unwrap_err();
            assert_eq!((failure.code.as_str(), failure.expected), ("23505", true));
            session.rollback().unwrap();
        } else {
            assert_eq!(one(session, &insert(5)), Answer::Done(false), "{} {path:?}", offer.name);
        }
        assert_eq!(one(session, &at(2, row, OpKind::Read)), Answer::Value(Some(4)));
    }
}

fn lists_grow(target: &dyn Target, offer: &Offer, session: &mut dyn Session) {
    for (path, _) in target.paths(OpKind::Append) {
        let row = *path as u32;
        assert_eq!(one(session, &at(1, row, OpKind::ListRead)), Answer::List(None));
        for value in [11, 5, 12_345_678_901] {
            let append = Request { path: *path, value, ..at(1, row, OpKind::Append) };
            assert_eq!(one(session, &append), Answer::Done(true), "{} {path:?}", offer.name);
        }
        for (read, _) in target.paths(OpKind::ListRead) {
            let read = Request { path: *read, ..at(1, row, OpKind::ListRead) };
            let list = Answer::List(Some(vec![11, 5, 12_345_678_901]));
            assert_eq!(one(session, &read), list, "{} {path:?} {read:?}", offer.name);
        }
    }
}

fn transactions_hold_together(_: &dyn Target, offer: &Offer, session: &mut dyn Session) {
    session.begin().unwrap();
    for row in 0..3 {
        let write = Request { value: 9, ..at(0, row, OpKind::Write) };
        assert_eq!(session.run(&write).unwrap(), Answer::Done(true));
        let own = session.run(&at(0, row, OpKind::Read)).unwrap();
        assert_eq!(own, Answer::Value(Some(9)), "{}", offer.name);
    }
    session.rollback().unwrap();
    assert_eq!(one(session, &at(0, 1, OpKind::Read)), Answer::Value(Some(0)));
    // Empty transactions end in both ways too, and one that was rolled back leaves nothing.
    session.begin().unwrap();
    session.rollback().unwrap();
    session.begin().unwrap();
    session.commit().unwrap();
    assert_eq!(one(session, &at(0, 1, OpKind::Read)), Answer::Value(Some(0)));
}

fn all(target: &dyn Target, offer: &Offer, session: &mut dyn Session) {
    transactions_hold_together(target, offer, session);
    registers_do_what_they_say(target, offer, session);
    conditions_are_checked(target, offer, session);
    lists_grow(target, offer, session);
}

#[test]
fn postgres() {
    each("postgres", all);
}

#[test]
fn mariadb() {
    each("mariadb", all);
}

#[test]
fn myrocks() {
    each("mariadb-rocksdb", all);
}
