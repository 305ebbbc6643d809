//! What failures mean: each is provoked on a real server, and what the session says of the
//! transaction is compared with what became of it.
#![cfg(all(feature = "postgres", feature = "mysql"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use isolde_history::{ErrorClass, OpKind};
use isolde_target::{
    After, Answer, Ended, Failure, OpenOptions, Path, Request, Session, Target, open,
};
use mysql::prelude::Queryable;

use crate::common::{
    self, Actor, Step, offer, options, read, registers, request, server, signal, write,
};

fn with_rows(kind: &str) -> Option<Box<dyn Target>> {
    let target = server(kind)?;
    target.create(&registers(0, 10)).unwrap();
    Some(target)
}

fn connect(target: &dyn Target, level: &str) -> Box<dyn Session> {
    target.connect(&offer(target, level)).unwrap()
}

/// The committed value of a row.
fn value(target: &dyn Target, row: u32) -> Option<i64> {
    let mut session = connect(target, "read-committed");
    session.begin().unwrap();
    let value = read(session.as_mut(), row);
    session.commit().unwrap();
    value
}

/// One transaction overtakes another, which has a write of its own to lose (of row 3): its
/// failure.
fn overtaken(target: &dyn Target, level: &str, then: &Request) -> (Box<dyn Session>, Failure) {
    let mut slow = connect(target, level);
    slow.begin().unwrap();
    read(slow.as_mut(), 1);
    slow.run(&write(3, 33)).unwrap();
    let mut fast = connect(target, level);
    fast.begin().unwrap();
    // InnoDB does not touch a row that is set to what it holds: another value each time.
    let before = read(fast.as_mut(), 1).unwrap();
    fast.run(&write(1, before + 100)).unwrap();
    assert_eq!(fast.commit().unwrap(), Ended::Committed);
    let failure = match slow.run(then) {
        Err(failure) => failure,
        Ok(answer) => panic!("{} {level}: {then:?} was {answer:?}", target.name()),
    };
    assert!(failure.expected, "{failure}");
    (slow, failure)
}

/// Whether the transaction that wrote row 3 has let go of it: another one gets it at once.
#[track_caller]
fn lets_go(target: &dyn Target) {
    let mut other = connect(target, "read-committed");
    other.begin().unwrap();
    let began = Instant::now();
    other.run(&write(3, 34)).unwrap();
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    other.rollback().unwrap();
}

#[test]
fn a_conflict_in_postgres_leaves_a_failed_transaction() {
    let Some(target) = with_rows("postgres") else { return };
    let target = target.as_ref();
    for path in [Path::PrimaryKey, Path::Index, Path::Upsert, Path::Returning, Path::Replace] {
        let then = Request { path, ..write(1, 12) };
        let (mut slow, failure) = overtaken(target, "repeatable-read", &then);
        assert_eq!((failure.code.as_str(), failure.after), ("40001", After::Open), "{path:?}");
        // Nobody has said ROLLBACK yet.
        assert!(failure.ended_here() && failure.class == ErrorClass::Serialization);
        lets_go(target);
        // COMMIT is answered by ROLLBACK, which no error tells.
        assert_eq!(slow.commit().unwrap(), Ended::RolledBack);
        assert_eq!(value(target, 3), Some(0));
        // The session is as good as new.
        slow.begin().unwrap();
        assert!(read(slow.as_mut(), 1) >= Some(100));
        assert_eq!(slow.commit().unwrap(), Ended::Committed);
    }
}

#[test]
fn a_conflict_found_at_commit_is_an_abort() {
    let Some(target) = with_rows("postgres") else { return };
    let target = target.as_ref();
    let [mut one, mut two] = [(); 2].map(|()| connect(target, "serializable"));
    for session in [&mut one, &mut two] {
        session.begin().unwrap();
        read(session.as_mut(), 1);
        read(session.as_mut(), 2);
    }
    one.run(&write(1, 11)).unwrap();
    two.run(&write(2, 21)).unwrap();
    assert_eq!(one.commit().unwrap(), Ended::Committed);
    let failure = two.commit().unwrap_err();
    assert_eq!((failure.code.as_str(), failure.after), ("40001", After::Aborted));
    assert!(failure.expected);
    assert_eq!((value(target, 1), value(target, 2)), (Some(11), Some(0)));
    two.begin().unwrap();
    two.run(&write(2, 22)).unwrap();
    assert_eq!(two.commit().unwrap(), Ended::Committed);
}

#[test]
fn a_conflict_in_mariadb_ends_the_transaction() {
    let cases = [
        ("mariadb", "repeatable-read-snapshot", ("1020", After::Aborted, true)),
        // RocksDB keeps the locks until it is told ROLLBACK.
        ("mariadb-rocksdb", "repeatable-read", ("1213", After::Open, false)),
    ];
    for (kind, level, expected) in cases {
        let Some(target) = with_rows(kind) else { continue };
        let target = target.as_ref();
        let lock = |path| Request { path, ..request(OpKind::Read, 1, 0) };
        let by = |path| Request { path, ..write(1, 12) };
        let then = [
            by(Path::PrimaryKey),
            by(Path::Index),
            by(Path::Upsert),
            by(Path::Replace),
            lock(Path::ForUpdate),
        ];
        for then in then {
            let (mut slow, failure) = overtaken(target, level, &then);
            let found = (failure.code.as_str(), failure.after, failure.ended_here());
            assert_eq!(found, expected, "{kind} {then:?}");
            if failure.after == After::Open {
                slow.rollback().unwrap();
            }
            lets_go(target);
            // The next transaction does not commit what is left of this one.
            slow.begin().unwrap();
            assert_eq!(slow.commit().unwrap(), Ended::Committed);
            assert_eq!(value(target, 3), Some(0), "{kind} {then:?}");
        }
    }
}

/// Two sessions that wait for each other: one goes on, the other is told.
fn deadlock(kind: &str, level: &str, code: &str, after: After, ended: bool) {
    let Some(target) = with_rows(kind) else { return };
    let [mut one, mut two] = [(); 2].map(|()| Actor::begin(target.as_ref(), level));
    one.run(write(1, 11));
    two.run(write(2, 22));
    one.run(write(2, 12));
    two.run(write(1, 21));
    one.step(Step::Commit);
    two.step(Step::Commit);
    let fates = [one.fate(), two.fate()];
    let committed = fates.iter().filter(|f| f.committed).count();
    let failure = fates.iter().find_map(|f| f.failure.clone()).unwrap();
    assert_eq!((committed, failure.code.as_str()), (1, code), "{kind} {level}");
    assert_eq!((failure.after, failure.expected), (after, true), "{kind} {level}");
    assert_eq!((failure.class, failure.ended_here()), (ErrorClass::Deadlock, ended), "{kind}");
    let rows = (value(target.as_ref(), 1).unwrap(), value(target.as_ref(), 2).unwrap());
    assert!(matches!(rows, (11, 12) | (21, 22)), "{kind}: {rows:?}");
}

#[test]
fn deadlocks_are_conflicts() {
    deadlock("postgres", "read-committed", "40P01", After::Open, true);
    deadlock("mariadb", "read-committed", "1213", After::Aborted, true);
    deadlock("mariadb-rocksdb", "read-committed", "1213", After::Open, false);
}

#[test]
fn a_lock_that_does_not_come_leaves_the_transaction_open() {
    for (kind, code) in [("mariadb", "1205"), ("mariadb-rocksdb", "1205")] {
        let Some(target) = with_rows(kind) else { continue };
        let target = target.as_ref();
        let [mut one, mut two] = [(); 2].map(|()| connect(target, "read-committed"));
        one.begin().unwrap();
        one.run(&write(1, 11)).unwrap();
        two.begin().unwrap();
        two.run(&write(3, 33)).unwrap();
        let failure = two.run(&write(1, 21)).unwrap_err();
        assert_eq!((failure.code.as_str(), failure.after), (code, After::Open), "{kind}");
        assert!(
            failure.expected && !failure.ended_here() && failure.class == ErrorClass::LockTimeout
        );
        // It really is open: it can still commit what it did before.
        assert_eq!(two.commit().unwrap(), Ended::Committed);
        assert_eq!((value(target, 3), value(target, 1)), (Some(33), Some(0)));
    }
}

#[test]
fn the_server_gives_up_before_we_do() {
    let short = OpenOptions { timeout: Duration::from_secs(3), ..options() };
    let Some(with) = server("postgres") else { return };
    drop(with);
    let target = open("postgres", &short).unwrap();
    target.create(&registers(0, 10)).unwrap();
    let [mut one, mut two] = [(); 2].map(|()| connect(target.as_ref(), "read-committed"));
    one.begin().unwrap();
    one.run(&write(1, 11)).unwrap();
    two.begin().unwrap();
    let failure = two.run(&write(1, 21)).unwrap_err();
    assert!(matches!(failure.code.as_str(), "55P03" | "57014"), "{failure}");
    assert_eq!((failure.after, failure.expected), (After::Open, true));
    two.rollback().unwrap();
    one.rollback().unwrap();
}

#[test]
fn an_insert_that_finds_a_row_is_no_failure_in_mariadb() {
    let Some(target) = with_rows("mariadb") else { return };
    let mut session = connect(target.as_ref(), "read-committed");
    session.begin().unwrap();
    session.run(&write(3, 33)).unwrap();
    let insert = Request { path: Path::PlainInsert, ..request(OpKind::InsertIfAbsent, 1, 5) };
    assert_eq!(session.run(&insert).unwrap(), Answer::Done(false));
    session.commit().unwrap();
    assert_eq!((value(target.as_ref(), 1), value(target.as_ref(), 3)), (Some(0), Some(33)));
}

/// The process that serves the one transaction which is open.
fn backend(postmaster: u32) -> u32 {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_string_lossy().parse::<u32>().ok());
    pids.into_iter()
        .find(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let parent = stat.rsplit(')').next().and_then(|s| s.split_whitespace().nth(1));
            let title = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            parent == Some(&postmaster.to_string()) && title.contains("idle in transaction")
        })
        .unwrap()
}

#[test]
fn a_killed_connection_is_lost() {
    if let Some(target) = with_rows("postgres") {
        let mut session = connect(target.as_ref(), "serializable");
        session.begin().unwrap();
        session.run(&write(1, 11)).unwrap();
        // What pg_terminate_backend does.
        signal("TERM", backend(target.throwaway().unwrap().pid.unwrap()));
        thread::sleep(Duration::from_millis(200));
        let failure = session.commit().unwrap_err();
        assert_eq!(failure.after, After::Lost, "{failure}");
        assert_eq!(value(target.as_ref(), 1), Some(0));
    }
    if let Some(target) = with_rows("mariadb") {
        let mut session = connect(target.as_ref(), "serializable");
        session.begin().unwrap();
        session.run(&write(1, 11)).unwrap();
        let url = target.throwaway().unwrap().url.replace("mariadb://", "mysql://");
        let mut admin = mysql::Conn::new(mysql::Opts::from_url(&url).unwrap()).unwrap();
        let list = "SELECT id FROM information_schema.processlist WHERE id <> connection_id()";
        for id in admin.query::<u64, _>(list).unwrap() {
            let _ = admin.query_drop(format!("KILL {id}"));
        }
        let failure = session.commit().unwrap_err();
        assert_eq!(failure.after, After::Lost, "{failure}");
        assert_eq!(value(target.as_ref(), 1), Some(0));
    }
}

/// Stops a process. The signal is not the stop: a thread may still do something in between.
fn freeze(pid: u32) {
    signal("STOP", pid);
    common::eventually("it is stopped", || {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
        let stat = |path| fs::read_to_string(path).unwrap_or_default();
        tasks.map(|t| stat(t.path().join("stat"))).all(|s| s.contains(") T "))
    });
}

/// COMMIT is on its way when the server dies: nobody knows how it ended.
fn dies_at_commit(kind: &str) {
    let Some(target) = with_rows(kind) else { return };
    let server = target.throwaway().unwrap().pid.unwrap();
    let mut session = connect(target.as_ref(), "serializable");
    session.begin().unwrap();
    session.run(&write(1, 11)).unwrap();
    // Stopped, it takes the COMMIT but does not answer.
    let serving = if kind == "postgres" { backend(server) } else { server };
    freeze(serving);
    let commit = thread::spawn(move || session.commit());
    thread::sleep(Duration::from_millis(200));
    signal("KILL", serving);
    if serving != server {
        signal("KILL", server);
    }
    let failure = commit.join().unwrap().unwrap_err();
    assert_eq!((failure.after, failure.expected), (After::Lost, false), "{kind}: {failure}");
    common::eventually("its last words", || target.last_words().is_some());
    let words = target.last_words().unwrap();
    let log = words.split(';').next().unwrap().strip_prefix("the log is ").unwrap();
    fs::remove_file(log).unwrap();
    assert!(target.connect(&target.offers()[0]).is_err());
}

#[test]
fn a_server_that_dies_at_commit_leaves_the_outcome_unknown() {
    dies_at_commit("postgres");
    dies_at_commit("mariadb");
}

#[test]
fn no_answer_in_time_is_a_loss() {
    let short = OpenOptions { timeout: Duration::from_secs(3), ..options() };
    for kind in ["postgres", "mariadb"] {
        if !common::installed(kind) {
            continue;
        }
        let target = open(kind, &short).unwrap();
        target.create(&registers(0, 10)).unwrap();
        let server = target.throwaway().unwrap().pid.unwrap();
        let mut session = connect(target.as_ref(), "read-committed");
        session.begin().unwrap();
        session.run(&write(1, 11)).unwrap();
        let serving = if kind == "postgres" { backend(server) } else { server };
        freeze(serving);
        let since = Instant::now();
        let ended = session.commit();
        signal("CONT", serving);
        let failure = ended.expect_err(kind);
        assert_eq!(failure.after, After::Lost, "{kind}: {failure}");
        // A frozen server would let us wait for ever.
        assert!(since.elapsed() < Duration::from_secs(30), "{kind}");
    }
}
