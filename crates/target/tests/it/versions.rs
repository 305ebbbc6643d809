//! What servers show of the versions of their rows, and what they say of commits without an answer.
#![cfg(all(feature = "postgres", feature = "mysql"))]

use isolde_history::{OpKind, Outcome};
use isolde_target::{
    Contents, InDoubt, OpenOptions, Path, Request, RowVersions, Session, Show, Table, Target,
    Written, open,
};

use crate::common::{offer, options, registers, request, server, server_with, write};

/// A MariaDB server that keeps all versions, if it is installed here.
fn versioned() -> Option<Box<dyn Target>> {
    server_with("mariadb", OpenOptions { show: Some(Show::Versions), ..options() })
}

fn connect(target: &dyn Target, level: &str) -> Box<dyn Session> {
    target.connect(&offer(target, level)).unwrap()
}

fn commit(session: &mut dyn Session, requests: &[Request]) {
    session.begin().unwrap();
    requests.iter().for_each(|request| drop(session.run(request).unwrap()));
    session.commit().unwrap();
}

/// The values of a row, oldest first.
#[track_caller]
fn order(target: &dyn Target, table: u32, row: u32) -> Vec<i64> {
    let RowVersions { values, unordered, .. } = versions(target, table, row);
    assert_eq!(unordered, None, "{values:?}");
    values
}

fn versions(target: &dyn Target, table: u32, row: u32) -> RowVersions {
    let all = target.versions(table).unwrap().unwrap();
    let none = RowVersions { row, values: Vec::new(), unordered: None };
    all.rows.into_iter().find(|r| r.row == row).unwrap_or(none)
}

#[test]
fn every_way_to_write_leaves_one_version_at_every_level() {
    let Some(target) = versioned() else { return };
    let target = target.as_ref();
    assert_eq!(target.shows(Show::Versions), Ok(()));
    for (number, offer) in (0..).zip(target.offers()) {
        target.create(&registers(number, 10)).unwrap();
        let mut session = target.connect(offer).unwrap();
        let session = session.as_mut();
        let mut wanted = Vec::new();
        for (path, value) in target.paths(OpKind::Write).iter().map(|(path, _)| *path).zip(1..) {
            let first = Request { table: number, path, ..write(3, value * 10) };
            // Twice in one transaction: only the last one is left.
            commit(session, &[first, Request { value: value * 10 + 1, ..first }]);
            wanted.push(value * 10 + 1);
            session.begin().unwrap();
            session.run(&Request { value: value * 10 + 2, ..first }).unwrap();
            session.rollback().unwrap();
        }
        let cas =
            Request { kind: OpKind::Cas, expected: wanted[wanted.len() - 1], ..write(3, 500) };
        commit(session, &[Request { table: number, ..cas }]);
        wanted.push(500);
        // Other rows: made by the transaction, or never touched.
        let insert = Request { table: number, ..request(OpKind::InsertIfAbsent, 20, 600) };
        commit(session, &[insert, Request { value: 601, ..insert }]);
        let level = offer.name;
        assert_eq!(order(target, number, 3), wanted, "{level}");
        assert_eq!(
            (order(target, number, 20), order(target, number, 4)),
            (vec![600], vec![]),
            "{level}"
        );
    }
}

#[test]
fn versions_are_in_the_order_of_writes_and_not_of_numbers() {
    let Some(target) = versioned() else { return };
    let target = target.as_ref();
    for (number, level) in
        (0..).zip(["read-uncommitted", "read-committed", "repeatable-read", "serializable"])
    {
        target.create(&registers(number, 10)).unwrap();
        let at = |row, value| Request { table: number, ..write(row, value) };
        let [mut early, mut late] = [(); 2].map(|()| connect(target, level));
        // The first write gives a transaction its number, and the row comes later.
        early.begin().unwrap();
        early.run(&at(1, 11)).unwrap();
        commit(late.as_mut(), &[at(2, 22)]);
        early.run(&at(2, 12)).unwrap();
        assert_eq!(order(target, number, 2), [22], "{level}: what is not committed is not shown");
        early.commit().unwrap();
        assert_eq!(order(target, number, 2), [22, 12], "{level}");
    }
}

#[test]
fn lists_are_shown_by_their_elements() {
    let Some(target) = versioned() else { return };
    let target = target.as_ref();
    let (contents, rows, filled) = (Contents::Lists, 10, false);
    target.create(&Table { number: 0, contents, rows, filled }).unwrap();
    let append = |path, value| Request { path, ..request(OpKind::Append, 1, value) };
    let mut session = connect(target, "serializable");
    commit(session.as_mut(), &[append(Path::Upsert, 1)]);
    commit(session.as_mut(), &[append(Path::Upsert, 2), append(Path::UpdateElseInsert, 30)]);
    session.begin().unwrap();
    session.run(&append(Path::Upsert, 4)).unwrap();
    session.rollback().unwrap();
    commit(session.as_mut(), &[append(Path::UpdateElseInsert, 5)]);
    assert_eq!(order(target, 0, 1), [1, 2, 30, 5]);
    let outcome = |value| {
        let writes = [Written { table: 0, row: 1, kind: OpKind::Append, value }];
        target.fate(&InDoubt { txn: None, writes: &writes }).outcome
    };
    // 3 is a part of 30, but no element.
    assert_eq!(
        (outcome(30), outcome(3), outcome(4)),
        (Outcome::Committed, Outcome::Unknown, Outcome::Unknown)
    );
}

/// Looks for the values of a transaction.
fn outcome(target: &dyn Target, writes: &[(u32, i64)]) -> Outcome {
    let write = |&(row, value): &(u32, i64)| Written { table: 0, row, kind: OpKind::Write, value };
    let writes: Vec<Written> = writes.iter().map(write).collect();
    target.fate(&InDoubt { txn: None, writes: &writes }).outcome
}

/// A transaction that is found under later ones, one that is under way, one that was rolled back.
fn outcomes(target: &dyn Target, level: &str) {
    target.create(&registers(0, 10)).unwrap();
    let mut session = connect(target, level);
    commit(session.as_mut(), &[write(1, 10), write(1, 11), write(2, 12)]);
    (20..40).for_each(|value| commit(session.as_mut(), &[write(1, value), write(2, value + 20)]));
    assert_eq!(outcome(target, &[(1, 10), (1, 11), (2, 12)]), Outcome::Committed, "{level}");
    assert_eq!(outcome(target, &[(1, 11)]), Outcome::Committed, "{level}");
    assert_eq!(outcome(target, &[(1, 12)]), Outcome::Unknown, "{level}: that is another row");
    assert_eq!(outcome(target, &[(3, 12)]), Outcome::Unknown, "{level}: that row has only the 0");
    assert_eq!(outcome(target, &[]), Outcome::Unknown, "{level}");
    session.begin().unwrap();
    session.run(&write(3, 90)).unwrap();
    assert_eq!(outcome(target, &[(3, 90)]), Outcome::Unknown, "{level}: not committed yet");
    session.rollback().unwrap();
    assert_eq!(outcome(target, &[(3, 90)]), Outcome::Unknown, "{level}");
}

#[test]
fn mariadb_finds_what_was_committed() {
    let Some(target) = versioned() else { return };
    outcomes(target.as_ref(), "read-uncommitted");
    outcomes(target.as_ref(), "serializable");
}

#[cfg(feature = "etcd")]
#[test]
fn etcd_finds_what_was_committed() {
    let Some(target) = server("etcd:1") else { return };
    outcomes(target.as_ref(), "strict-serializable");
    // Lists have blanks between their elements.
    let append = |value| request(OpKind::Append, 7, value);
    let mut session = connect(target.as_ref(), "strict-serializable");
    commit(session.as_mut(), &[append(70), append(71)]);
    assert_eq!(outcome(target.as_ref(), &[(7, 71)]), Outcome::Committed);
    assert_eq!(outcome(target.as_ref(), &[(7, 7)]), Outcome::Unknown);
    assert_eq!(target.versions(0).unwrap(), None);
    // The revision is that of the commit, also if others have written since, and lists have grown.
    let stamped = session.timestamps();
    commit(session.as_mut(), &[append(72), write(3, 33)]);
    let later = session.timestamps();
    commit(session.as_mut(), &[append(73), write(3, 34)]);
    let fate = |kind, row, value| {
        let writes = [Written { table: 0, row, kind, value }];
        target.fate(&InDoubt { txn: None, writes: &writes }).timestamps
    };
    assert_eq!((fate(OpKind::Append, 7, 70), fate(OpKind::Append, 7, 72)), (stamped, later));
    assert_eq!(fate(OpKind::Write, 3, 33), later);
    assert!(later.commit > stamped.commit && stamped.commit.is_some());
}

#[cfg(feature = "etcd")]
#[test]
fn etcd_shows_all_versions_in_the_order_of_its_revisions() {
    let versioned = OpenOptions { show: Some(Show::Versions), ..options() };
    let Some(target) = server_with("etcd:1", versioned) else { return };
    let target = target.as_ref();
    assert_eq!(target.shows(Show::Versions), Ok(()));
    target.create(&registers(0, 10)).unwrap();
    let (contents, rows, filled) = (Contents::Lists, 10, true);
    target.create(&Table { number: 1, contents, rows, filled }).unwrap();
    assert_eq!(target.versions(0).unwrap().unwrap().rows, []);
    assert_eq!(target.versions(2).unwrap(), None);
    let mut session = connect(target, "strict-serializable");
    // More than one message of a watch tells.
    (1..1500).for_each(|value| commit(session.as_mut(), &[write(3, value), write(4, -value)]));
    session.begin().unwrap();
    session.run(&write(3, 5000)).unwrap();
    session.rollback().unwrap();
    let append = |value| Request { table: 1, ..request(OpKind::Append, 7, value) };
    (1..50).for_each(|value| commit(session.as_mut(), &[append(value * 2), append(value)]));
    assert_eq!(order(target, 0, 3), (1..1500).collect::<Vec<_>>());
    assert_eq!(order(target, 0, 4), (1..1500).map(|value| -value).collect::<Vec<_>>());
    assert!(order(target, 0, 5).is_empty());
    assert_eq!(order(target, 1, 7), (1..50).flat_map(|v| [v * 2, v]).collect::<Vec<_>>());
}

#[test]
fn who_shows_no_versions_says_so() {
    for (kind, words) in [
        ("mariadb-rocksdb", "MyRocks has no system versioning"),
        ("postgres", "PostgreSQL does not show versions; MariaDB with InnoDB does"),
    ] {
        let Some(plain) = server(kind) else { continue };
        let refused = plain.shows(Show::Versions).unwrap_err();
        assert!(refused.contains(words), "{kind}: {refused}");
        let options = OpenOptions { show: Some(Show::Versions), ..options() };
        let error = open(kind, &options).err().unwrap().to_string();
        assert!(error.contains(words), "{kind}: {error}");
    }
    if let Some(plain) = server("etcd:1") {
        assert!(plain.shows(Show::Versions).unwrap_err().contains("without a wish"));
        assert!(plain.shows(Show::Snapshots).unwrap_err().contains("PostgreSQL does"));
    }
    let Some(plain) = server("mariadb") else { return };
    assert!(plain.shows(Show::Versions).unwrap_err().contains("opened without"));
    assert!(plain.shows(Show::Snapshots).unwrap_err().contains("PostgreSQL does"));
    plain.create(&registers(0, 10)).unwrap();
    commit(connect(plain.as_ref(), "serializable").as_mut(), &[write(1, 11)]);
    assert_eq!(outcome(plain.as_ref(), &[(1, 11)]), Outcome::Unknown);
    assert_eq!(plain.versions(0).unwrap(), None);
}
