//! The profiles that are built in.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use expect_test::expect;
use isolde_history::LockMode;

use super::super::builtin::FILES;
use super::super::{Certifier, KnownBy, LockScope, LockingReads, PlainReads, Profile, SnapshotAt};
use crate::level::Level;

#[test]
fn every_file_is_read_and_every_name_is_one_profiles() {
    let levels = FILES.map(|file| Profile::parse(file).unwrap_or_else(|e| panic!("{e}\n{file}")));
    assert_eq!(Profile::builtin(), levels.concat());
    let names: BTreeSet<String> = Profile::builtin().iter().map(Profile::word).collect();
    assert_eq!(names.len(), Profile::builtin().len());
    for profile in Profile::builtin() {
        assert_eq!(Profile::named(&profile.word()), Ok(profile));
        assert_eq!(Profile::named(&profile.word().to_uppercase()), Ok(profile));
        assert_eq!(Profile::find(&profile.server, &profile.level), Some(profile));
    }
}

/// The table of mechanisms by servers: consistent reads, mutual exclusion, first updater wins, certifier.
#[test]
fn mechanisms() {
    let mut table = String::new();
    for p in Profile::builtin() {
        let (reads, at, locking) = (p.reads, p.snapshot_at, p.locking_reads);
        let at = if reads == PlainReads::TransactionSnapshot {
            format!(" {at:?}")
        } else {
            String::new()
        };
        let wins = if p.first_updater_wins { " FUW" } else { "" };
        let (name, locks, certifier) = (p.word(), p.locks, p.certifier);
        let row = format!(
            "{name}: {} {reads:?}{at}, {locking:?}, {locks:?}{wins} {certifier:?}",
            p.promises
        );
        writeln!(table, "{row}").unwrap();
    }
    expect![[r#"
        postgresql/read-uncommitted: read-committed StatementSnapshot, Newest, Rows None
        postgresql/read-committed: read-committed StatementSnapshot, Newest, Rows None
        postgresql/repeatable-read: snapshot-isolation TransactionSnapshot FirstStatement, Snapshot, Rows FUW None
        postgresql/serializable: serializable TransactionSnapshot FirstStatement, Snapshot, Rows FUW Ssi
        mariadb/read-uncommitted: read-uncommitted Uncommitted, Newest, Rows None
        mariadb/read-committed: read-committed StatementSnapshot, Newest, Rows None
        mariadb/repeatable-read: pl-2 TransactionSnapshot FirstRead, Newest, Rows None
        mariadb/repeatable-read-snapshot: snapshot-isolation TransactionSnapshot FirstRead, Snapshot, Rows FUW None
        mariadb/serializable: serializable Locked, Newest, Rows Acyclic
        mariadb-myrocks/read-committed: read-committed StatementSnapshot, Newest, Rows None
        mariadb-myrocks/repeatable-read: snapshot-isolation TransactionSnapshot ByFirstRead, Snapshot, Rows FUW None
        mysql/read-uncommitted: read-uncommitted Uncommitted, Newest, Rows None
        mysql/read-committed: read-committed StatementSnapshot, Newest, Rows None
        mysql/repeatable-read: pl-2 TransactionSnapshot FirstRead, Newest, Rows None
        mysql/serializable: serializable Locked, Newest, Rows Acyclic
        tidb/read-committed: read-committed StatementSnapshot, Newest, Rows None
        tidb/repeatable-read: pl-2 TransactionSnapshot Begin, Newest, Rows None
        tidb/repeatable-read-optimistic: snapshot-isolation TransactionSnapshot Begin, Snapshot, None FUW None
        sqlite/deferred: strict-serializable TransactionSnapshot FirstStatement, Snapshot, Database FUW Acyclic
        sqlite/immediate: strict-serializable TransactionSnapshot Begin, Snapshot, WholeTransactions FUW Acyclic
        occ/serializable: serializable TransactionSnapshot Begin, Snapshot, None BackwardValidation
        timestamp-order/serializable: serializable TransactionSnapshot Begin, Snapshot, None TimestampOrder
    "#]].assert_eq(&table);
}

fn find(name: &str) -> &'static Profile {
    Profile::named(name).unwrap()
}

#[test]
fn lock_modes() {
    let of = |name: &str| {
        let modes = find(name).modes;
        [modes.read, modes.update, modes.insert, modes.delete]
    };
    let x = LockMode::Exclusive;
    for level in ["read-uncommitted", "read-committed", "repeatable-read", "serializable"] {
        // What an UPDATE of other columns takes is compatible with what foreign keys take.
        let postgres = [LockMode::None, LockMode::NoKeyUpdate, x, x];
        assert_eq!(of(&format!("postgresql/{level}")), postgres);
        let read = if level == "serializable" { LockMode::Share } else { LockMode::None };
        assert_eq!(of(&format!("mariadb/{level}")), [read, x, x, x], "{level}");
        assert_eq!(of(&format!("mysql/{level}")), [read, x, x, x], "{level}");
    }
    assert_eq!(of("sqlite/immediate"), [x; 4]);
    assert_eq!(of("tidb/repeatable-read-optimistic"), [LockMode::None; 4]);
}

#[test]
fn errors_savepoints_and_idle_updates() {
    let postgres = find("postgresql/serializable");
    assert_eq!(postgres.ending_errors, ["*"]);
    assert!(postgres.savepoints_release_locks && !postgres.idle_updates_vanish);
    for level in ["read-uncommitted", "read-committed", "repeatable-read-snapshot", "serializable"]
    {
        let mariadb = find(&format!("mariadb/{level}"));
        // A lock that was not to be had in time (1205) ends the statement only.
        assert_eq!(mariadb.ending_errors, ["1213", "1020"]);
        assert!(!mariadb.savepoints_release_locks && mariadb.idle_updates_vanish);
    }
    assert_eq!(find("myrocks/repeatable-read").ending_errors, ["1213"]);
}

#[test]
fn what_was_run_is_known_by_runs() {
    let runs = Profile::builtin().iter().filter(|profile| profile.known_by == KnownBy::Runs);
    let servers: BTreeSet<&str> = runs.map(|profile| profile.server.as_str()).collect();
    assert_eq!(servers, BTreeSet::from(["MariaDB", "MariaDB MyRocks", "PostgreSQL", "SQLite"]));
}

/// The names that the recorder writes into the header of a history.
#[test]
fn histories_find_their_profiles() {
    let headers = [
        ("PostgreSQL", "read-committed", Level::ReadCommitted),
        ("PostgreSQL", "repeatable-read", Level::SnapshotIsolation),
        ("PostgreSQL", "serializable", Level::Serializable),
        ("MariaDB", "read-uncommitted", Level::ReadUncommitted),
        ("MariaDB", "read-committed", Level::ReadCommitted),
        ("MariaDB", "repeatable-read", Level::Pl2),
        ("MariaDB", "repeatable-read-snapshot", Level::SnapshotIsolation),
        ("MariaDB", "serializable", Level::Serializable),
        ("MariaDB MyRocks", "read-committed", Level::ReadCommitted),
        ("MariaDB MyRocks", "repeatable-read", Level::SnapshotIsolation),
        ("MySQL", "repeatable-read", Level::Pl2),
        ("TiDB", "read-committed", Level::ReadCommitted),
        ("TiDB", "repeatable-read", Level::Pl2),
        ("TiDB", "repeatable-read-optimistic", Level::SnapshotIsolation),
        ("SQLite", "deferred", Level::StrictSerializable),
        ("SQLite", "immediate", Level::StrictSerializable),
    ];
    for (server, level, promises) in headers {
        let profile = Profile::find(server, level).unwrap_or_else(|| panic!("{server} {level}"));
        assert_eq!((profile.name(), profile.promises), (format!("{server} {level}"), promises));
    }
    // Both of their nodes, or all of them, keep less than one node alone.
    assert_eq!(Profile::find("PostgreSQL with a standby", "repeatable-read"), None);
    assert_eq!(Profile::find("MariaDB Galera", "repeatable-read"), None);
}

#[test]
fn other_names_of_servers_and_levels() {
    let same = [
        ("postgres", "Repeatable Read", "postgresql/repeatable-read"),
        ("POSTGRESQL", "TRANSACTION_REPEATABLE_READ", "postgresql/repeatable-read"),
        ("InnoDB", "REPEATABLE_READ", "mariadb/repeatable-read"),
        ("mariadb-rocksdb", "READ COMMITTED", "mariadb-myrocks/read-committed"),
        ("MyRocks", "read committed", "mariadb-myrocks/read-committed"),
        ("occ", "TRANSACTION_SERIALIZABLE", "occ/serializable"),
    ];
    for (server, level, word) in same {
        assert_eq!(Profile::find(server, level).map(Profile::word).as_deref(), Some(word));
    }
}

#[test]
fn a_name_that_nobody_has_is_answered_with_those_of_the_server() {
    let wrong = |name| Profile::named(name).unwrap_err().to_string();
    expect!["there is no profile 'sqlite/serial'; known: sqlite/deferred, sqlite/immediate"]
        .assert_eq(&wrong("sqlite/serial"));
    expect!["there is no profile 'SQLite'; known: sqlite/deferred, sqlite/immediate"]
        .assert_eq(&wrong("SQLite"));
    assert!(
        wrong("oracle/serializable").ends_with("occ/serializable, timestamp-order/serializable")
    );
    assert!(wrong("\u{1b}[2J").starts_with(r"there is no profile '\u001b[2J'; known: postgresql/"));
}

/// The choices that only one profile or two make, so that each is there to be tried.
#[test]
fn every_choice_is_made_somewhere() {
    let all = Profile::builtin();
    let count = |of: &dyn Fn(&Profile) -> bool| all.iter().filter(|profile| of(profile)).count();
    assert_eq!(count(&|p| p.certifier == Certifier::BackwardValidation), 1);
    assert_eq!(count(&|p| p.certifier == Certifier::TimestampOrder), 1);
    assert_eq!(count(&|p| p.certifier == Certifier::Ssi), 1);
    assert_eq!(count(&|p| p.locks == LockScope::WholeTransactions), 1);
    assert_eq!(count(&|p| p.reads == PlainReads::Locked), 2);
    assert!(count(&|p| p.snapshot_at == SnapshotAt::Begin) > 0);
    assert!(count(&|p| p.locking_reads == LockingReads::Newest) > 0);
}
