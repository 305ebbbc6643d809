//! One session: values come back, by every way of every kind of access.

use isolde_history::OpKind;
use isolde_target::{Answer, Ended, Path, Request, Session, Target};

use super::{EMPTY, LISTS, REGISTERS, engines, fresh, request};

/// SkipDB 0.2.1 forgets a key that was removed and set again in the same transaction.
fn forgets(target: &dyn Target, path: Path) -> bool {
    target.name() == "SkipDB" && path == Path::Replace
}

/// Does something with a session of each offer of each engine.
fn each_offer(act: impl Fn(&dyn Target, &mut dyn Session)) {
    for engine in engines() {
        for offer in fresh(engine).offers() {
            println!("{engine}, {}", offer.name);
            let target = fresh(engine);
            let mut session = target.connect(offer).unwrap();
            act(&*target, &mut *session);
        }
    }
}

fn ways(target: &dyn Target, kind: OpKind) -> Vec<Path> {
    let ways: Vec<Path> = target.paths(kind).iter().map(|(path, _)| *path).collect();
    assert!(!ways.is_empty(), "{kind:?}");
    ways
}

/// Reads by every way, which have to agree.
#[track_caller]
fn holds(target: &dyn Target, session: &mut dyn Session, at: Request, expected: &Answer) {
    for path in ways(target, at.kind) {
        let answer = session.run(&Request { path, ..at }).unwrap();
        assert_eq!(&answer, expected, "{path:?}");
    }
}

#[test]
fn registers_come_back() {
    each_offer(|target, session| {
        for (row, path) in (0..).zip(ways(target, OpKind::Write)) {
            let value = 100 + i64::from(row);
            let read = request(REGISTERS, OpKind::Read, Path::PrimaryKey, row, 0);
            session.begin().unwrap();
            holds(target, session, read, &Answer::Value(Some(0)));
            let write = request(REGISTERS, OpKind::Write, path, row, value);
            assert_eq!(session.run(&write).unwrap(), Answer::Done(true), "{path:?}");
            holds(target, session, read, &Answer::Value(Some(value)));
            assert_eq!(session.commit().unwrap(), Ended::Committed);
            session.begin().unwrap();
            let there = (!forgets(target, path)).then_some(value);
            holds(target, session, read, &Answer::Value(there));
            session.commit().unwrap();
        }
    });
}

#[test]
fn lists_grow_at_the_end() {
    each_offer(|target, session| {
        for (row, path) in (0..).zip(ways(target, OpKind::Append)) {
            let read = request(LISTS, OpKind::ListRead, Path::PrimaryKey, row, 0);
            session.begin().unwrap();
            holds(target, session, read, &Answer::List(None));
            session.commit().unwrap();
            for value in 1..=6 {
                session.begin().unwrap();
                let append = request(LISTS, OpKind::Append, path, row, value);
                assert_eq!(session.run(&append).unwrap(), Answer::Done(true), "{path:?}");
                let twice = Request { value: value + 100, ..append };
                assert_eq!(session.run(&twice).unwrap(), Answer::Done(true), "{path:?}");
                session.commit().unwrap();
            }
            let all = (1..=6).flat_map(|v| [v, v + 100]).collect();
            session.begin().unwrap();
            holds(target, session, read, &Answer::List(Some(all)));
            session.rollback().unwrap();
        }
    });
}

#[test]
fn compare_and_set_compares() {
    each_offer(|target, session| {
        for (row, path) in (0..).zip(ways(target, OpKind::Cas)) {
            let read = request(REGISTERS, OpKind::Read, Path::PrimaryKey, row, 0);
            let cas = request(REGISTERS, OpKind::Cas, path, row, 5);
            session.begin().unwrap();
            let wrong = Request { expected: 7, ..cas };
            assert_eq!(session.run(&wrong).unwrap(), Answer::Done(false), "{path:?}");
            assert_eq!(session.run(&cas).unwrap(), Answer::Done(true), "{path:?}");
            assert_eq!(session.run(&cas).unwrap(), Answer::Done(false), "{path:?}");
            let absent = Request { table: EMPTY.number, ..cas };
            assert_eq!(session.run(&absent).unwrap(), Answer::Done(false), "{path:?}");
            holds(target, session, read, &Answer::Value(Some(5)));
            session.commit().unwrap();
        }
    });
}

#[test]
fn inserts_happen_once() {
    each_offer(|target, session| {
        for (row, path) in (0..).zip(ways(target, OpKind::InsertIfAbsent)) {
            let read = request(EMPTY, OpKind::Read, Path::PrimaryKey, row, 0);
            let insert = request(EMPTY, OpKind::InsertIfAbsent, path, row, 5);
            session.begin().unwrap();
            holds(target, session, read, &Answer::Value(None));
            assert_eq!(session.run(&insert).unwrap(), Answer::Done(true), "{path:?}");
            let again = Request { value: 6, ..insert };
            assert_eq!(session.run(&again).unwrap(), Answer::Done(false), "{path:?}");
            session.commit().unwrap();
            session.begin().unwrap();
            assert_eq!(session.run(&again).unwrap(), Answer::Done(false), "{path:?}");
            holds(target, session, read, &Answer::Value(Some(5)));
            session.commit().unwrap();
        }
    });
}

#[test]
fn a_rollback_undoes_everything() {
    each_offer(|target, session| {
        let write = request(REGISTERS, OpKind::Write, Path::PrimaryKey, 1, 9);
        let insert = request(EMPTY, OpKind::InsertIfAbsent, Path::PrimaryKey, 1, 9);
        let append = request(LISTS, OpKind::Append, Path::Upsert, 1, 9);
        session.begin().unwrap();
        for done in [write, insert, append] {
            assert_eq!(session.run(&done).unwrap(), Answer::Done(true));
        }
        session.rollback().unwrap();
        // Once more does no harm: whoever drives a session may not know that it is over.
        session.rollback().unwrap();
        session.begin().unwrap();
        holds(target, session, Request { kind: OpKind::Read, ..write }, &Answer::Value(Some(0)));
        holds(target, session, Request { kind: OpKind::Read, ..insert }, &Answer::Value(None));
        holds(target, session, Request { kind: OpKind::ListRead, ..append }, &Answer::List(None));
        session.commit().unwrap();
    });
}

#[test]
fn tables_can_be_removed_and_made_again() {
    for engine in engines() {
        let target = fresh(engine);
        let offer = &target.offers()[0];
        let write = request(REGISTERS, OpKind::Write, Path::PrimaryKey, 1, 9);
        let mut session = target.connect(offer).unwrap();
        session.begin().unwrap();
        session.run(&write).unwrap();
        session.commit().unwrap();
        drop(session);
        target.clean().unwrap();
        target.create(&EMPTY).unwrap();
        target.create(&REGISTERS).unwrap();
        let mut session = target.connect(offer).unwrap();
        session.begin().unwrap();
        let read = Request { kind: OpKind::Read, ..write };
        holds(&*target, &mut *session, read, &Answer::Value(Some(0)));
        session.commit().unwrap();
    }
}
