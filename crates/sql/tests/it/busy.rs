//! SQLite, where nothing waits: what fails because another session is in the way is done later, as if it had waited.

use isolde_sql::plan::{Plan, Step, Turn};

use crate::common::{case, server, worked};

#[test]
fn two_writers_come_one_after_the_other() {
    let Some(sqlite) = server("sqlite") else { return };
    let case = case(
        "
        table t(pkey, vkey, c) (1,10,0),(2,11,0)
        T0 begin
        T1 begin
        T0 update t set c = 1 version 20 where pkey = 1
        T1 update t set c = 2 version 30 where pkey = 2
        T1 select * from t
        T0 update t set c = 3 version 21 where pkey = 2
        T1 commit
        T0 commit",
    );
    for level in ["deferred", "immediate"] {
        let worked = worked(&*sqlite, level, &case);
        assert!(worked.suspects.is_empty(), "{level}: {:?}", worked.suspects);
        assert_eq!((worked.reached, worked.cut), (4, 0), "{level}: {:?}", worked.failures);
        let (turn, failure) = &worked.failures[0];
        assert_eq!(failure.code, "SQLITE_BUSY");
        let step = if level == "immediate" { Step::Begin } else { Step::Statement(0) };
        assert_eq!(*turn, Turn { txn: 1, step }, "{level}");
    }
}

#[test]
fn two_that_wait_for_a_third_one_are_not_put_behind_each_other_for_ever() {
    let Some(sqlite) = server("sqlite") else { return };
    let case = case(
        "
        table t(pkey, vkey, c) (1,10,0)
        T0 begin
        T1 begin
        T2 begin
        T0 update t set c = 1 version 20
        T2 update t set c = 2 version 30
        T1 update t set c = 3 version 40
        T1 commit
        T2 commit
        T0 commit",
    );
    for level in ["deferred", "immediate"] {
        let worked = worked(&*sqlite, level, &case);
        assert!(worked.suspects.is_empty(), "{level}: {:?}", worked.suspects);
        assert_eq!((worked.reached, worked.cut), (3, 0), "{level}: {:?}", worked.failures);
    }
}

#[test]
fn a_snapshot_that_is_too_old_is_not_put_off_for_ever() {
    let Some(sqlite) = server("sqlite") else { return };
    let case = case(
        "
        table t(pkey, vkey, c) (1,10,0),(2,11,0)
        T0 begin
        T1 begin
        T1 select * from t where pkey = 1
        T0 update t set c = 1 version 20 where pkey = 1
        T1 update t set c = 2 version 30 where pkey = 2
        T1 commit
        T0 commit",
    );
    let worked = worked(&*sqlite, "deferred", &case);
    assert!(worked.suspects.is_empty(), "{:?}", worked.suspects);
    let codes: Vec<&str> = worked.failures.iter().map(|(_, f)| f.code.as_str()).collect();
    assert_eq!(codes[..2], ["SQLITE_BUSY", "SQLITE_BUSY_SNAPSHOT"]);
    // It is a case of its own in the second round.
    assert_eq!((worked.reached, worked.rounds), (3, 2));
}

#[test]
fn a_step_is_put_off_with_all_that_its_transaction_does_behind_it() {
    let case = case(
        "
        table t(pkey, vkey) (1,10)
        T0 begin
        T1 begin
        T1 select * from t
        T0 select * from t
        T1 commit
        T0 commit",
    );
    let plan = Plan::of(&case);
    let turn = |txn, step| Turn { txn, step };
    let later = plan.put_off(turn(1, Step::Statement(0)), &[1]).unwrap();
    let expected = [
        turn(0, Step::Begin),
        turn(1, Step::Begin),
        turn(0, Step::Statement(0)),
        turn(0, Step::End),
        turn(1, Step::Statement(0)),
        turn(1, Step::End),
    ];
    assert_eq!(later.turns(), expected);
    assert_eq!(later.put_off(turn(1, Step::Statement(0)), &[1]), None, "nothing ends behind it");
}
