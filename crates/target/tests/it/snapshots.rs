//! What PostgreSQL shows of its snapshots and transactions, and what it says of them after a crash.
#![cfg(all(feature = "postgres", feature = "mysql"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use isolde_history::{OpKind, Outcome};
use isolde_target::{
    After, Answer, Datum, Ended, InDoubt, Mishap, OpenOptions, Path, Request, Said, ServerTxn,
    Session, Show, SnapshotOf, TakenSnapshot, Target, open,
};

use crate::common::{installed, offer, options, read, registers, request, write};

const LEVELS: [&str; 3] = ["read-committed", "repeatable-read", "serializable"];

/// A server that shows snapshots, with a table of ten rows; nothing if it is not installed.
fn shown(settings: &[(&str, &str)], relayed: bool) -> Option<Box<dyn Target>> {
    let settings = settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let show = Some(Show::Snapshots);
    let options = OpenOptions { show, settings, relayed, ..options() };
    installed("postgres").then(|| {
        let target = open("postgres", &options).unwrap();
        target.create(&registers(0, 10)).unwrap();
        target
    })
}

fn connect(target: &dyn Target, level: &str) -> Box<dyn Session> {
    target.connect(&offer(target, level)).unwrap()
}

/// What one value is, by a console.
fn ask(target: &dyn Target, query: &str) -> String {
    let mut console =
        target.consoles().unwrap().console(&offer(target, "read-committed"), "public").unwrap();
    match console.run(query).unwrap() {
        Said::Rows(set) => match &set.rows[0][0] {
            Datum::Integer(number) => number.to_string(),
            other => format!("{other:?}"),
        },
        other => format!("{other:?}"),
    }
}

/// Commits a write, and says as what.
fn commit(session: &mut dyn Session, row: u32, value: i64) -> ServerTxn {
    session.begin().unwrap();
    session.run(&write(row, value)).unwrap();
    assert_eq!(session.commit().unwrap(), Ended::Committed);
    session.server_txn().unwrap()
}

fn doubt(target: &dyn Target, txn: ServerTxn) -> Outcome {
    target.fate(&InDoubt { txn: Some(txn), writes: &[] }).outcome
}

#[test]
fn every_level_shows_its_snapshots_and_the_numbers_of_writers() {
    let Some(target) = shown(&[], false) else { return };
    for level in LEVELS {
        let [mut reader, mut writer] = [(); 2].map(|()| connect(&*target, level));
        writer.begin().unwrap();
        writer.run(&write(1, 7)).unwrap();
        let running = writer.server_txn().unwrap();
        reader.begin().unwrap();
        read(&mut *reader, 1);
        let TakenSnapshot { of, snapshot, restart } = reader.snapshot().unwrap();
        assert!(!snapshot.shows(running.id) && snapshot.shows(running.id - 1), "{snapshot:?}");
        assert_eq!((restart, running.restart), (0, 0));
        assert_eq!(reader.snapshot(), None, "it is told once");
        writer.commit().unwrap();
        read(&mut *reader, 1);
        // Another snapshot only where each statement has its own.
        let again = reader.snapshot();
        let each = level == "read-committed";
        assert_eq!(of == SnapshotOf::Statement, each, "{level}");
        assert_eq!(again.map(|again| again.snapshot.shows(running.id)), each.then_some(true));
        reader.commit().unwrap();
        assert_eq!(reader.server_txn(), None, "{level}: a reader has no number");
        // The number of one that ended is there until the next one begins.
        assert_eq!(writer.server_txn(), Some(running));
        writer.begin().unwrap();
        assert_eq!(writer.server_txn(), None);
        writer.rollback().unwrap();
    }
}

#[test]
fn every_way_answers_as_it_does_without_evidence() {
    let Some(target) = shown(&[], false) else { return };
    let lists = isolde_target::Contents::Lists;
    target
        .create(&isolde_target::Table { number: 1, contents: lists, ..registers(1, 10) })
        .unwrap();
    for level in LEVELS {
        let mut session = connect(&*target, level);
        for kind in OpKind::ALL {
            let table = u32::from(matches!(kind, OpKind::Append | OpKind::ListRead));
            for (path, _) in target.paths(kind) {
                let request = Request { table, path: *path, ..request(kind, 2, 5) };
                session.begin().unwrap();
                let line = format!("{level}: {request:?}");
                if kind == OpKind::InsertIfAbsent && *path == Path::PlainInsert {
                    assert!(session.run(&request).unwrap_err().expected, "{line}");
                    session.rollback().unwrap();
                    continue;
                }
                let answer = session.run(&request).unwrap();
                let expected = match kind {
                    OpKind::Read => Answer::Value(Some(0)),
                    OpKind::ListRead => Answer::List(None),
                    OpKind::InsertIfAbsent => Answer::Done(false),
                    _ => Answer::Done(true),
                };
                assert_eq!(answer, expected, "{line}");
                let wrote = expected == Answer::Done(true);
                assert_eq!(session.server_txn().is_some(), wrote, "{line}");
                let told = session.snapshot();
                // At READ COMMITTED, what brought no row brings no snapshot, unless it is a plain read.
                let empty = expected == Answer::Done(false) || *path == Path::ForUpdate;
                let may_lack = level == "read-committed" && empty;
                assert!(told.is_some() || may_lack, "{line}");
                session.rollback().unwrap();
            }
        }
    }
}

#[test]
fn reading_gives_no_numbers_away() {
    let Some(target) = shown(&[], false) else { return };
    let next = || ask(&*target, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint");
    for level in LEVELS {
        let mut session = connect(&*target, level);
        let before = next();
        for _ in 0..100 {
            session.begin().unwrap();
            read(&mut *session, 3);
            session.commit().unwrap();
        }
        assert_eq!(next(), before, "{level}");
    }
}

#[test]
fn a_read_that_finds_nothing_has_its_snapshot() {
    let Some(target) = shown(&[], false) else { return };
    for (level, path) in LEVELS.into_iter().zip([Path::PrimaryKey, Path::Index, Path::Scan]) {
        let mut session = connect(&*target, level);
        session.begin().unwrap();
        let nothing = Request { path, ..request(OpKind::Read, 77, 0) };
        assert_eq!(session.run(&nothing).unwrap(), Answer::Value(None), "{level}");
        assert!(session.snapshot().is_some(), "{level}");
        session.commit().unwrap();
    }
}

#[test]
fn a_standby_is_refused_with_the_reason() {
    if !installed("postgres") {
        return;
    }
    let show = OpenOptions { show: Some(Show::Snapshots), ..options() };
    let refused = |spec: &str| open(spec, &show).err().unwrap().to_string();
    assert!(refused("postgres-standby").contains("a hot standby does not show snapshots"));
    // A server that waits for a primary to tell it more, by URL.
    let settings = vec![("wal_level".to_owned(), "replica".to_owned())];
    let target = open("postgres", &OpenOptions { settings, ..options() }).unwrap();
    let throwaway = target.throwaway().unwrap();
    target.nodes()[0].harm(Mishap::Stop).unwrap();
    fs::write(throwaway.folder.join("data/standby.signal"), "").unwrap();
    target.nodes()[0].mend().unwrap();
    assert!(refused(&throwaway.url).contains("a hot standby does not show snapshots"));
    let versions = OpenOptions { show: Some(Show::Versions), ..options() };
    let error = open(&throwaway.url, &versions).err().unwrap().to_string();
    assert!(error.contains("PostgreSQL does not show versions; MariaDB"), "{error}");
}

#[test]
fn what_became_of_a_commit_without_an_answer_is_found_out() {
    let Some(target) = shown(&[], true) else { return };
    let relay = target.relay().unwrap();
    for level in LEVELS {
        // The answer is on its way when the connection breaks.
        let mut session = connect(&*target, level);
        session.begin().unwrap();
        session.run(&write(1, 11)).unwrap();
        let txn = session.server_txn().unwrap();
        relay.delay(0, Duration::from_millis(300));
        let commit = thread::spawn(move || session.commit());
        thread::sleep(Duration::from_millis(450));
        relay.cut(0);
        assert_eq!(commit.join().unwrap().unwrap_err().after, After::Lost);
        relay.delay(0, Duration::ZERO);
        assert_eq!(doubt(&*target, txn), Outcome::Committed, "{level}");
        // The connection breaks before the COMMIT is on its way.
        let mut session = connect(&*target, level);
        session.begin().unwrap();
        session.run(&write(2, 12)).unwrap();
        let txn = session.server_txn().unwrap();
        relay.cut(0);
        assert_eq!(session.commit().unwrap_err().after, After::Lost);
        assert_eq!(doubt(&*target, txn), Outcome::Aborted, "{level}");
    }
    let nobody = InDoubt { txn: None, writes: &[] };
    assert_eq!(target.fate(&nobody).outcome, Outcome::Unknown);
}

/// A server that writes nothing to disk before it is killed.
fn forgetful() -> Option<Box<dyn Target>> {
    let target = shown(&[("wal_writer_delay", "10s"), ("autovacuum", "off")], false)?;
    ask(&*target, "CHECKPOINT");
    Some(target)
}

fn crash(target: &dyn Target) {
    target.nodes()[0].harm(Mishap::Kill).unwrap();
    target.nodes()[0].mend().unwrap();
}

#[test]
fn a_number_that_is_given_again_means_another_transaction() {
    let Some(target) = forgetful() else { return };
    let mut session = connect(&*target, "serializable");
    session.begin().unwrap();
    session.run(&write(1, 11)).unwrap();
    let old = session.server_txn().unwrap();
    crash(&*target);
    assert_eq!(session.commit().unwrap_err().after, After::Lost);
    assert_eq!(doubt(&*target, old), Outcome::Aborted);
    let mut session = connect(&*target, "serializable");
    let again = (0..200).map(|value| commit(&mut *session, 1, value)).find(|t| t.id >= old.id);
    assert_eq!(again, Some(ServerTxn { restart: 1, id: old.id }));
    // The number is committed by now, but not that of the old one.
    assert_eq!(doubt(&*target, again.unwrap()), Outcome::Committed);
    assert_eq!(doubt(&*target, old), Outcome::Aborted);
    session.begin().unwrap();
    read(&mut *session, 1);
    assert_eq!(session.snapshot().unwrap().restart, 1);
}

#[test]
fn commits_that_a_crash_took_are_found() {
    let Some(target) = forgetful() else { return };
    let mut confirmed = Vec::new();
    // One that is kept, and those that are not; a server in a hurry may have written them after all.
    for _ in 0..5 {
        let mut session = connect(&*target, "repeatable-read");
        let kept = commit(&mut *session, 1, 1);
        confirmed.push(kept);
        ask(&*target, "CHECKPOINT");
        assert_eq!(target.lost(&confirmed).unwrap(), []);
        confirmed.extend((2..6).map(|value| commit(&mut *session, 1, value)));
        crash(&*target);
        let lost = target.lost(&confirmed).unwrap();
        assert!(!lost.contains(&kept), "{lost:?}");
        if !lost.is_empty() {
            assert!(lost.iter().all(|txn| txn.restart == kept.restart && txn.id > kept.id));
            // Also when the numbers are in use again.
            let mut session = connect(&*target, "repeatable-read");
            let new: Vec<_> = (0..20).map(|value| commit(&mut *session, 1, value)).collect();
            assert!(new.iter().any(|new| lost.iter().any(|old| old.id == new.id)), "{lost:?}");
            assert!(new.iter().all(|new| new.restart == kept.restart + 1));
            confirmed.extend(new);
            assert_eq!(target.lost(&confirmed).unwrap(), lost);
            return;
        }
    }
    panic!("nothing was lost in five crashes");
}

#[test]
fn commit_times_are_told_if_the_server_keeps_them() {
    for kept in ["on", "off"] {
        let Some(target) = shown(&[("track_commit_timestamp", kept)], false) else { return };
        let mut session = connect(&*target, "serializable");
        let txns: Vec<_> = (0..3).map(|value| commit(&mut *session, 1, value)).collect();
        let times = target.commit_times(&txns).unwrap();
        assert_eq!(times.is_some(), kept == "on");
        let times = times.unwrap_or_default();
        assert!(times.iter().all(Option::is_some) && times.is_sorted(), "{times:?}");
    }
}

/// If one process of the server crashes, all others are started again below the same postmaster.
#[test]
fn a_crash_of_one_process_is_a_restart() {
    let Some(target) = forgetful() else { return };
    let mut session = connect(&*target, "repeatable-read");
    let kept = commit(&mut *session, 1, 1);
    ask(&*target, "CHECKPOINT");
    session.begin().unwrap();
    session.run(&write(1, 2)).unwrap();
    let open = session.server_txn().unwrap();
    let writer = "SELECT pid::bigint FROM pg_stat_activity WHERE backend_type = 'walwriter'";
    let killed = Command::new("kill").args(["-9", &ask(&*target, writer)]).status().unwrap();
    assert!(killed.success());
    // It takes the others a moment to notice.
    let numbered = || {
        let mut session = target.connect(&offer(&*target, "repeatable-read")).ok()?;
        session.begin().ok()?;
        session.run(&write(2, 1)).ok()?;
        session.rollback().ok()?;
        session.server_txn().filter(|txn| txn.restart > 0)
    };
    let pause = || thread::sleep(Duration::from_millis(50));
    let new = (0..400).find_map(|_| numbered().or_else(|| (pause(), None).1));
    assert_eq!(new.map(|txn| txn.restart), Some(1));
    assert_eq!(session.commit().unwrap_err().after, After::Lost);
    assert_eq!(doubt(&*target, open), Outcome::Aborted);
    assert_eq!(target.lost(&[kept]).unwrap(), []);
}

/// A standby that takes the server's place may still have a checkpoint in its control file that is older than all that
/// was committed. Then nothing is known of the numbers, and nothing is called lost.
#[test]
fn nothing_is_called_lost_because_a_standby_was_promoted() {
    let settings = [("wal_level", "replica"), ("autovacuum", "off"), ("synchronous_commit", "on")];
    let Some(target) = shown(&settings, false) else {
        return;
    };
    let mut session = connect(&*target, "repeatable-read");
    let confirmed: Vec<_> = (1..6).map(|value| commit(&mut *session, 1, value)).collect();
    target.nodes()[0].harm(Mishap::Kill).unwrap();
    let data = target.throwaway().unwrap().folder.join("data");
    fs::write(data.join("standby.signal"), "").unwrap();
    target.nodes()[0].mend().unwrap();
    assert!(target.lost(&confirmed).is_err(), "a standby cannot say it");
    let plain = open(&target.throwaway().unwrap().url, &options()).unwrap();
    assert_eq!(ask(&*plain, "SELECT pg_promote()::int::bigint"), "1");
    let error = target.lost(&confirmed).unwrap_err().to_string();
    assert!(error.contains("started again"), "{error}");
    assert_eq!(doubt(&*target, confirmed[0]), Outcome::Unknown);
    assert_eq!(commit(&mut *connect(&*target, "repeatable-read"), 1, 9).restart, 1);
}
