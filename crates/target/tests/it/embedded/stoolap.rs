//! What Stoolap 0.4.2 does wrong at snapshot isolation, beside what the checks of all engines show.
//! A version that mends any of it fails the test, and is a reason to be glad.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use isolde_history::OpKind;
use isolde_target::{Answer, Contents, Path, Session, Table, Target};
use stoolap::IsolationLevel;
use stoolap::api::{Database, Transaction};

use super::{fresh, request};

/// Many rows, so that a commit takes long enough to begin in the middle of it.
const WIDE: Table = Table { number: 3, contents: Contents::Registers, rows: 1000, filled: true };
/// How long to try; the first time comes within a second.
const LONG: Duration = Duration::from_secs(30);

fn read(session: &mut dyn Session) -> i64 {
    let answer = session.run(&request(WIDE, OpKind::Read, Path::PrimaryKey, 0, 0)).unwrap();
    let Answer::Value(Some(value)) = answer else { panic!("{answer:?}") };
    value
}

/// Sets all rows to 1, then to 2, and so on, each time in one transaction, until told to stop.
fn write_all(session: &mut dyn Session, stop: &AtomicBool) {
    for value in 1.. {
        session.begin().unwrap();
        for row in 0..WIDE.rows {
            if stop.load(Ordering::SeqCst) {
                return session.rollback().unwrap();
            }
            let write = request(WIDE, OpKind::Write, Path::PrimaryKey, row, value);
            session.run(&write).unwrap();
        }
        session.commit().unwrap();
    }
}

/// Whether a transaction that only reads one row gets two values for it.
fn moves(session: &mut dyn Session) -> bool {
    session.begin().unwrap();
    let first = read(session);
    let moved = (0..10).any(|_| {
        thread::sleep(Duration::from_millis(1));
        read(session) != first
    });
    session.commit().unwrap();
    moved
}

/// A commit takes its place in the order (`start_commit`) before its rows are there and becomes
/// visible (`complete_commit`) after. Who begins in between stands behind it in the order, yet does
/// not see it until it is visible: first the old rows, later the new ones. In the same way an
/// update is lost: the old value is read, and the row that is then written passes for seen.
#[test]
fn a_snapshot_taken_during_a_commit_moves() {
    let target: Arc<dyn Target> = fresh("stoolap").into();
    target.create(&WIDE).unwrap();
    let offer = target.offers().iter().find(|offer| offer.name == "snapshot").unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (mut session, stop) = (target.connect(offer).unwrap(), Arc::clone(&stop));
        thread::spawn(move || write_all(&mut *session, &stop))
    };
    let mut session = target.connect(offer).unwrap();
    let end = Instant::now() + LONG;
    let mut tries = 1;
    while !moves(&mut *session) {
        assert!(Instant::now() < end, "no snapshot of {tries} moved");
        tries += 1;
    }
    println!("snapshot {tries} moved");
    stop.store(true, Ordering::SeqCst);
    writer.join().unwrap();
}

fn count(txn: &mut Transaction, sql: &str) -> usize {
    txn.query(sql, ()).unwrap().map(Result::unwrap).count()
}

/// The index of the primary key knows only what is there now: a row that somebody removed after the
/// snapshot is still found by reading the whole table, and not by its key. In SQL, since sessions
/// do not remove rows for good.
#[test]
fn a_removed_row_vanishes_from_a_snapshot() {
    let db = Database::open_in_memory().unwrap();
    db.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)", ()).unwrap();
    db.execute("INSERT INTO t VALUES (1, 10)", ()).unwrap();
    let mut snapshot = db.begin_with_isolation(IsolationLevel::SnapshotIsolation).unwrap();
    assert_eq!(count(&mut snapshot, "SELECT v FROM t WHERE k = 1"), 1);
    db.execute("DELETE FROM t WHERE k = 1", ()).unwrap();
    assert_eq!(count(&mut snapshot, "SELECT v FROM t"), 1);
    assert_eq!(count(&mut snapshot, "SELECT v FROM t WHERE k = 1"), 0);
    snapshot.commit().unwrap();
}
