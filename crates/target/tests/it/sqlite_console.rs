//! Any SQL on SQLite: what statements bring, what a busy file means, and that rooms go away.
#![cfg(feature = "sqlite")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use isolde_history::ErrorClass;
use isolde_target::{
    After, ColumnKind, Console, Consoles, Datum, Failure, OpenOptions, Said, Target, open,
};

use crate::common::{offer, server};

fn sqlite() -> Box<dyn Target> {
    server("sqlite").unwrap()
}

fn console(target: &dyn Target, level: &str, room: &str) -> Box<dyn Console> {
    target.sql().unwrap().console(&offer(target, level), room).unwrap()
}

/// Runs statements that all succeed, and brings the last answer.
fn run(console: &mut dyn Console, statements: &[&str]) -> Said {
    let said =
        |statement: &&str| console.run(statement).unwrap_or_else(|e| panic!("{statement}: {e}"));
    statements.iter().map(said).last().unwrap()
}

fn fails(console: &mut dyn Console, statement: &str) -> Failure {
    console.run(statement).err().unwrap_or_else(|| panic!("{statement} is done"))
}

/// The only value of an answer.
fn value(said: Said) -> Datum {
    let Said::Rows(set) = said else { panic!("{said:?}") };
    assert_eq!((set.rows.len(), set.columns.len()), (1, 1), "{set:?}");
    set.rows[0][0].clone()
}

#[test]
fn schedules_are_not_played_in_it_and_sql_is() {
    let target = sqlite();
    assert!(target.consoles().is_none());
    assert!(target.sql().is_some());
    let waits = target.sql().unwrap().waits().unwrap();
    assert_eq!(waits.unwrap().waiting(&[0, 1]), Ok(Vec::new()));
}

#[test]
fn sqlite_brings_names_types_and_values_of_every_type() {
    let target = sqlite();
    let room = target.sql().unwrap().make_room().unwrap();
    let mut console = console(&*target, "deferred", &room);
    let said = run(
        &mut *console,
        &[
            "CREATE TABLE t (small INT, yes BOOLEAN, exact DECIMAL(5,2), whole DECIMAL(5,2), real_ REAL, \
             words VARCHAR(9), bytes BLOB, day DATE, time_ TIME, stamp DATETIME, odd INT, none_ INT)",
            "INSERT INTO t VALUES (-7, 1, 1.5, 2, 1, 'it''s', x'00ff', '2026-02-28', '12:34:56', \
             '2026-02-28 12:00:00', 'x', NULL)",
            "SELECT *, count(*) OVER () AS computed FROM t",
        ],
    );
    let Said::Rows(set) = said else { panic!("{said:?}") };
    use ColumnKind as K;
    let text = str::to_owned;
    let expected = [
        ("small", K::Integer, "int", Datum::Integer(-7)),
        ("yes", K::Boolean, "boolean", Datum::Boolean(true)),
        ("exact", K::Float, "decimal(5,2)", Datum::Float(1.5)),
        ("whole", K::Float, "decimal(5,2)", Datum::Float(2.0)),
        ("real_", K::Float, "real", Datum::Float(1.0)),
        ("words", K::Text, "varchar(9)", Datum::Text(text("it's"))),
        ("bytes", K::Bytes, "blob", Datum::Bytes(vec![0, 255])),
        ("day", K::Date, "date", Datum::Date(text("2026-02-28"))),
        ("time_", K::Time, "time", Datum::Time(text("12:34:56"))),
        ("stamp", K::Timestamp, "datetime", Datum::Timestamp(text("2026-02-28 12:00:00"))),
        // Columns of SQLite hold what they are given.
        ("odd", K::Integer, "int", Datum::Text(text("x"))),
        ("none_", K::Integer, "int", Datum::Null),
        ("computed", K::Integer, "", Datum::Integer(1)),
    ];
    assert_eq!((set.columns.len(), set.rows.len()), (expected.len(), 1), "{set:#?}");
    for ((column, datum), (name, kind, server_type, value)) in
        set.columns.iter().zip(&set.rows[0]).zip(&expected)
    {
        let found = (column.name.as_str(), column.kind, &*column.server_type, datum);
        assert_eq!(found, (*name, *kind, *server_type, value));
    }
    // No row is not no result.
    let Said::Rows(none) = run(&mut *console, &["SELECT small FROM t WHERE false"]) else {
        panic!("no rows")
    };
    assert_eq!((none.columns[0].name.as_str(), none.rows.len()), ("small", 0));
}

#[test]
fn each_kind_of_statement_says_what_it_did() {
    let target = sqlite();
    let room = target.sql().unwrap().make_room().unwrap();
    let mut console = console(&*target, "deferred", &room);
    for (statement, expected) in [
        ("CREATE TABLE t (k INTEGER PRIMARY KEY, v INT)", Said::Done),
        ("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)", Said::Changed(3)),
        ("begin", Said::Done),
        ("UPDATE t SET v = 9 WHERE k > 7", Said::Changed(0)),
        ("-- one\nUPDATE t SET v = 9 WHERE k = 1", Said::Changed(1)),
        (
            "WITH a AS (SELECT 2 AS k) UPDATE t SET v = 8 WHERE k IN (SELECT k FROM a)",
            Said::Changed(1),
        ),
        ("SAVEPOINT s", Said::Done),
        ("WITH a AS (SELECT 3 AS k) DELETE FROM t WHERE k IN (SELECT k FROM a)", Said::Changed(1)),
        ("ROLLBACK TO SAVEPOINT s", Said::Done),
        ("RELEASE s", Said::Done),
        ("WITH a(k) AS (VALUES (4), (5)) INSERT INTO t SELECT k, k FROM a", Said::Changed(2)),
        ("REPLACE INTO t VALUES (4, 4)", Said::Changed(1)),
        ("COMMIT", Said::Done),
        // The count of the statement before is not that of this one.
        ("CREATE INDEX i ON t (v)", Said::Done),
        ("DELETE FROM t", Said::Changed(5)),
    ] {
        assert_eq!(console.run(statement).unwrap(), expected, "{statement}");
    }
    let returned = run(&mut *console, &["INSERT INTO t VALUES (6, 6) RETURNING v"]);
    assert_eq!(value(returned), Datum::Integer(6));
    assert_eq!(value(run(&mut *console, &["SELECT count(*) FROM t"])), Datum::Integer(1));
    // Nothing of a text of two statements is run.
    fails(&mut *console, "DELETE FROM t; DELETE FROM t");
    assert_eq!(value(run(&mut *console, &["SELECT count(*) FROM t"])), Datum::Integer(1));
}

#[test]
fn a_busy_statement_fails_at_once_and_its_transaction_stays() {
    let target = sqlite();
    let room = target.sql().unwrap().make_room().unwrap();
    let (mut one, mut two) =
        (console(&*target, "deferred", &room), console(&*target, "deferred", &room));
    assert_ne!(one.number(), two.number());
    run(&mut *one, &["CREATE TABLE t (k INT, v INT)", "INSERT INTO t VALUES (1, 1)"]);
    run(&mut *two, &["begin", "SELECT * FROM t"]);
    run(&mut *one, &["begin", "UPDATE t SET v = 2"]);
    let begun = Instant::now();
    let busy = fails(&mut *two, "UPDATE t SET v = 3");
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!((busy.code.as_str(), busy.after, busy.expected), ("SQLITE_BUSY", After::Open, true));
    assert_eq!(busy.class, ErrorClass::LockTimeout);
    run(&mut *one, &["COMMIT"]);
    // Its snapshot is older than what is there now.
    let old = fails(&mut *two, "UPDATE t SET v = 3");
    assert_eq!((old.code.as_str(), old.after), ("SQLITE_BUSY_SNAPSHOT", After::Open));
    assert_eq!(old.class, ErrorClass::Serialization);
    assert_eq!(value(run(&mut *two, &["SELECT v FROM t"])), Datum::Integer(1));
    run(&mut *two, &["COMMIT"]);
    assert_eq!(value(run(&mut *two, &["SELECT v FROM t"])), Datum::Integer(2));
}

#[test]
fn a_plain_begin_is_that_of_the_offer() {
    let target = sqlite();
    let room = target.sql().unwrap().make_room().unwrap();
    let (mut one, mut two) =
        (console(&*target, "immediate", &room), console(&*target, "immediate", &room));
    run(&mut *one, &["begin"]);
    let busy = fails(&mut *two, "begin");
    assert_eq!((busy.code.as_str(), busy.after), ("SQLITE_BUSY", After::Aborted));
    run(&mut *two, &["begin deferred", "SELECT 1", "ROLLBACK"]);
    run(&mut *one, &["COMMIT"]);
    run(&mut *two, &["begin", "COMMIT"]);
}

#[test]
fn foreign_keys_count_and_a_failed_statement_is_undone_alone() {
    let target = sqlite();
    let room = target.sql().unwrap().make_room().unwrap();
    let mut console = console(&*target, "deferred", &room);
    run(
        &mut *console,
        &[
            "CREATE TABLE p (k INTEGER PRIMARY KEY)",
            "CREATE TABLE c (k INT, p INT REFERENCES p (k))",
            "INSERT INTO p VALUES (1)",
            "begin",
            "INSERT INTO c VALUES (1, 1)",
        ],
    );
    let failure = fails(&mut *console, "INSERT INTO c VALUES (2, 2)");
    assert_eq!((failure.class, failure.after), (ErrorClass::Constraint, After::Open));
    assert_eq!(fails(&mut *console, "DELETE FROM p").class, ErrorClass::Constraint);
    run(&mut *console, &["COMMIT"]);
    assert_eq!(value(run(&mut *console, &["SELECT count(*) FROM c"])), Datum::Integer(1));
    // A COMMIT without a transaction is wrong, and certain.
    assert_eq!(fails(&mut *console, "COMMIT").after, After::Aborted);
}

#[test]
fn a_statement_that_never_ends_is_ended() {
    let options = OpenOptions { timeout: Duration::from_millis(250), ..OpenOptions::default() };
    let target = open("sqlite", &options).unwrap();
    let room = target.sql().unwrap().make_room().unwrap();
    let mut console = console(&*target, "deferred", &room);
    let endless =
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n";
    let failure = fails(&mut *console, endless);
    assert_eq!(
        (failure.code.as_str(), failure.class),
        ("SQLITE_INTERRUPT", ErrorClass::StatementTimeout)
    );
    assert_eq!(value(run(&mut *console, &["SELECT 1"])), Datum::Integer(1));
}

/// The database file of a console.
fn file_of(console: &mut dyn Console) -> PathBuf {
    let said = run(console, &["SELECT file FROM pragma_database_list"]);
    PathBuf::from(value(said).text().into_owned())
}

fn files_in(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn rooms_are_apart_are_emptied_and_leave_nothing_behind() {
    let target = sqlite();
    let consoles: &dyn Consoles = target.sql().unwrap();
    let rooms = [consoles.make_room().unwrap(), consoles.make_room().unwrap()];
    let mut inside: Vec<_> = rooms.iter().map(|room| console(&*target, "deferred", room)).collect();
    for (at, console) in inside.iter_mut().enumerate() {
        run(&mut **console, &["CREATE TABLE t (v INT)", &format!("INSERT INTO t VALUES ({at})")]);
    }
    let folder = file_of(&mut *inside[0]).parent().unwrap().to_owned();
    // One console stays while its room is emptied: what it does and how it ends is no matter for the new one.
    consoles.empty_room(&rooms[0]).unwrap();
    let mut fresh = console(&*target, "deferred", &rooms[0]);
    run(&mut *fresh, &["CREATE TABLE t (v INT)", "INSERT INTO t VALUES (7)"]);
    drop(inside.remove(0));
    assert_eq!(value(run(&mut *fresh, &["SELECT v FROM t"])), Datum::Integer(7));
    assert_eq!(value(run(&mut *inside[0], &["SELECT v FROM t"])), Datum::Integer(1));
    assert_eq!(value(run(&mut *fresh, &["PRAGMA integrity_check"])), Datum::Text("ok".to_owned()));
    drop((fresh, inside));
    rooms.iter().for_each(|room| consoles.remove_room(room).unwrap());
    let left: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().file_name()).collect();
    let ours = left.iter().filter(|name| name.to_string_lossy().contains("probe")).count();
    assert_eq!(ours, 0, "{left:?}");
    assert!(files_in(&folder) > 0, "the target's own file is there");
    let gone = consoles.console(&offer(&*target, "deferred"), &rooms[0]).err().unwrap();
    assert_eq!(gone.code, "room");
    drop(target);
    assert!(!folder.exists());
}

#[test]
fn there_are_no_rooms_beside_a_file_of_the_user() {
    let own = sqlite();
    let room = own.sql().unwrap().make_room().unwrap();
    let mut inside = console(&*own, "deferred", &room);
    let file = file_of(&mut *inside);
    let target = open(&format!("sqlite:{}", file.display()), &OpenOptions::default()).unwrap();
    assert!(target.sql().is_none());
}

#[test]
fn a_damaged_file_is_said_to_be_damaged() {
    let target = sqlite();
    let room = target.sql().unwrap().make_room().unwrap();
    let mut inside = console(&*target, "deferred", &room);
    run(
        &mut *inside,
        &[
            "CREATE TABLE t (v TEXT)",
            "INSERT INTO t SELECT hex(randomblob(99)) FROM pragma_function_list",
        ],
    );
    run(&mut *inside, &["PRAGMA wal_checkpoint(TRUNCATE)"]);
    let file = file_of(&mut *inside);
    drop(inside);
    let mut bytes = std::fs::read(&file).unwrap();
    // All pages but the first, which holds the schema.
    bytes[4096..].fill(0x55);
    std::fs::write(&file, bytes).unwrap();
    let mut inside = console(&*target, "deferred", &room);
    let failure = fails(&mut *inside, "SELECT count(*), max(v) FROM t");
    assert_eq!(failure.code, Failure::IMPOSSIBLE, "{failure}");
}
