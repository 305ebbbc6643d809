//! Figures of the paper and of bug reports that it names, as cases.

use std::collections::BTreeSet;

use isolde_check::{Options, check};
use isolde_spec::{Level, Promise};
use isolde_sql::dependencies::Dependency;
use isolde_sql::instrument::instrument;
use isolde_sql::oracle::rows::same_answer;
use isolde_sql::plan::Plan;
use isolde_sql::policy::policy;
use isolde_sql::runner::Runner;
use isolde_sql::work::Suspect;

use crate::common::{case, dependencies, offer, server, worked};

/// Figure 3: `Si` and `Sj` are of two transactions, and the one that depends on the other is named first.
#[test]
fn figure_3_each_kind_of_dependency_is_found_where_it_is() {
    let Some(postgres) = server("postgres") else { return };
    let table = "table t(id, vkey, value) (0,0,0)\n";
    let si = "T0 update t set value = 1 version 1";
    let check = |sj: &str, si_first: bool, why: Dependency| {
        let (first, second) = if si_first { (si, sj) } else { (sj, si) };
        let (one, other) = (&first[..2], &second[..2]);
        let text = format!(
            "{table}{one} begin\n{first}\n{one} commit\n{other} begin\n{second}\n{other} commit"
        );
        let found = dependencies(&*postgres, "read-committed", &case(&text));
        let [(later, earlier, kinds)] = &found[..] else { panic!("{sj}: {found:?}") };
        assert!(kinds.contains(&why), "{sj}: {kinds:?}");
        assert_eq!((later.as_str(), earlier.as_str()), ("T1.S1", "T0.S1"), "{sj}");
    };
    check("T1 select * from t", true, Dependency::ItemRead);
    check("T1 update t set value = 2 version 2", true, Dependency::ItemWrite);
    check("T1 select * from t", false, Dependency::ItemAnti);
    check("T1 select * from t where value = 0", true, Dependency::PredicateRead);
    check("T1 update t set value = 2 version 2 where value = 0", true, Dependency::PredicateWrite);
    check("T1 select * from t where value = 1", false, Dependency::PredicateAnti);
    check("T1 insert t select 1, 3, min(value) from t", true, Dependency::ValueWrite);
}

/// A row that is not there has a version, too: it is not born yet, or dead already.
#[test]
fn what_a_statement_does_not_see_orders_it() {
    let Some(postgres) = server("postgres") else { return };
    let check = |text: &str, expect: &[(&str, &str)]| {
        let found = dependencies(&*postgres, "repeatable-read", &case(text));
        let found: BTreeSet<(&str, &str)> =
            found.iter().map(|(later, earlier, _)| (later.as_str(), earlier.as_str())).collect();
        assert_eq!(found, expect.iter().copied().collect(), "{text}");
    };
    let table = "table t(id, vkey, value) (0,0,0)\n";
    // The second count is of the snapshot of the first.
    check(
        &format!(
            "{table}T0 begin\nT0 select count(*) from t\nT1 begin\nT1 insert t (7,1,1)\nT1 commit\n\
             T0 select sum(value) from t\nT0 commit"
        ),
        &[("T1.S1", "T0.S1"), ("T1.S1", "T0.S2")],
    );
    check(
        &format!(
            "{table}T0 begin\nT0 delete t where value = 0\nT0 commit\nT1 begin\nT1 select count(*) from t\n\
             T1 commit"
        ),
        &[("T1.S1", "T0.S1")],
    );
    // Born and dead in one transaction: for the reader before it was never there, for the one after it is dead.
    check(
        &format!(
            "{table}T0 begin\nT0 select count(*) from t\nT1 begin\nT1 insert t (7,1,1)\n\
             T1 delete t where id = 7\nT1 commit\nT2 begin\nT2 select count(*) from t\nT2 commit\nT0 commit"
        ),
        &[("T1.S1", "T0.S1"), ("T1.S2", "T1.S1"), ("T2.S1", "T1.S2")],
    );
}

/// Figure 1: MySQL 108528, MDEV-29565.
const FIGURE_1: &str = "
    table t0(pkey, vkey) (1,20)
    table t1(pkey, vkey, c0) (2,43,8),(3,43,53)
    T0 begin
    T0 update t0 version 162
    T0 select * from t1
    T1 begin
    T1 select * from t0
    T0 commit
    T1 select * from t1 where t1.c0 <= (select min(vkey) from t0)
    T1 update t1 version 63 where t1.c0 <= (select min(vkey) from t0)
    T1 commit";

#[test]
fn figure_1_is_found_where_it_reproduces_and_nowhere_else() {
    let case = case(FIGURE_1);
    if let Some(postgres) = server("postgres") {
        for level in ["read-committed", "repeatable-read", "serializable"] {
            let worked = worked(&*postgres, level, &case);
            assert!(worked.suspects.is_empty(), "{level}: {:?}", worked.suspects);
            assert!(worked.reached > 0, "{level}");
        }
    }
    if let Some(sqlite) = server("sqlite") {
        for level in ["deferred", "immediate"] {
            let worked = worked(&*sqlite, level, &case);
            assert!(worked.suspects.is_empty(), "{level}: {:?}", worked.suspects);
            // Nothing has to be cut: what is busy is done later.
            assert_eq!((worked.reached, worked.cut), (5, 0), "{level}: {:?}", worked.failures);
        }
    }
    if let Some(mariadb) = server("mariadb") {
        for level in ["read-committed", "serializable", "repeatable-read-snapshot"] {
            let worked = worked(&*mariadb, level, &case);
            assert!(worked.suspects.is_empty(), "{level}: {:?}", worked.suspects);
        }
        let worked = worked(&*mariadb, "repeatable-read", &case);
        let documented = |(suspect, _): &(Suspect, _)| matches!(suspect, Suspect::Predicate(p) if p.documented && p.read == [2] && p.written == [2, 3]);
        assert_eq!(worked.suspects.len(), 2, "{:?}", worked.suspects);
        assert!(worked.suspects.iter().all(documented), "{:?}", worked.suspects);
    }
}

/// Figures 4, 6 and 17: in the graph of statements there is no cycle, though there is one between the transactions.
#[test]
fn figure_6_statements_depend_where_transactions_would_have_a_cycle() {
    let Some(postgres) = server("postgres") else { return };
    let found = dependencies(&*postgres, "repeatable-read", &case(FIGURE_1));
    let found: Vec<(&str, &str)> =
        found.iter().map(|(later, earlier, _)| (later.as_str(), earlier.as_str())).collect();
    for wanted in [
        ("T1.S3", "T0.S2"),
        ("T1.S3", "T1.S2"),
        ("T0.S1", "T1.S1"),
        ("T0.S1", "T1.S2"),
        ("T0.S1", "T1.S3"),
    ] {
        assert!(found.contains(&wanted), "{wanted:?} in {found:?}");
    }
    assert_eq!(found.len(), 5, "{found:?}");
}

/// Figure 11: a statement that waits is sent again after what it waited for, and then sees what was committed.
#[test]
fn figure_11_what_waits_is_put_off_until_it_need_not() {
    let text = "
        table t0(pkey, vkey, c) (1,0,5),(2,0,6)
        T0 begin
        T1 begin
        T0 update t0 set c = 50 version 7 where pkey = 1
        T1 update t0 set c = c + 1 version 8 where c >= 5
        T0 commit
        T1 commit";
    for (kind, level) in [("postgres", "read-committed"), ("mariadb", "repeatable-read")] {
        let Some(target) = server(kind) else { continue };
        let worked = worked(&*target, level, &case(text));
        assert!(worked.suspects.is_empty(), "{kind}: {:?}", worked.suspects);
        assert_eq!((worked.runs, worked.reached), (2, 2), "{kind}");
    }
}

/// Figure 14: what was rolled back has no effect on another transaction.
#[test]
fn figure_14_what_was_rolled_back_is_in_no_serial_case() {
    let text = "
        table t0(pkey, vkey, c5) (1,0,1),(2,0,2)
        T0 begin
        T1 begin
        T1 insert t0 (141,9,74)
        T1 rollback
        T0 update t0 version 116 where c5 not in (select c5 from t0 as s where s.c5 < (select max(c5) from t0 as m))
        T0 commit";
    let Some(postgres) = server("postgres") else { return };
    let worked = worked(&*postgres, "read-committed", &case(text));
    assert!(worked.suspects.is_empty(), "{:?}", worked.suspects);
    assert_eq!(worked.reached, 1);
}

/// Figures 8 and 9: of two statements that each missed what the other wrote, one is cut, and tried alone in the next round.
#[test]
fn figure_8_what_has_a_cycle_is_cut_and_tried_in_a_further_round() {
    let text = "
        table t0(pkey, vkey, c) (1,0,5)
        table t1(pkey, vkey, c) (2,0,6)
        T0 begin
        T1 begin
        T0 update t0 set c = (select min(c) from t1) version 7
        T1 update t1 set c = (select min(c) from t0) version 8
        T0 commit
        T1 commit";
    let Some(postgres) = server("postgres") else { return };
    let worked = worked(&*postgres, "repeatable-read", &case(text));
    assert!(worked.suspects.is_empty(), "{:?}", worked.suspects);
    assert_eq!((worked.cut, worked.rounds, worked.reached), (1, 2, 2));
    // It is write skew, and its name comes from the checkers of histories.
    let (history, _) = worked.history.as_ref().unwrap();
    let names = |level| -> Vec<&str> {
        let verdict = check(history, Promise::of(level), &Options::default());
        verdict.witnesses().iter().map(|witness| witness.anomaly.name()).collect()
    };
    assert!(names(Level::SnapshotIsolation).is_empty());
    assert_eq!(names(Level::Serializable), ["WriteSkew"]);
}

/// Figure 13: a transaction sees a row and then, after another one has deleted it, does not.
#[test]
fn figure_13_a_row_that_is_gone_between_two_reads_is_no_snapshot() {
    let text = "
        table t0(pkey, vkey, c0) (1,0,5)
        T0 begin
        T1 begin
        T1 select c0 from t0 order by c0 desc
        T0 delete t0
        T0 commit
        T1 select c0 from t0 order by c0 desc
        T1 commit";
    let Some(postgres) = server("postgres") else { return };
    let holds = |level: &str| {
        let worked = worked(&*postgres, level, &case(text));
        assert!(worked.suspects.is_empty(), "{:?}", worked.suspects);
        let (history, _) = worked.history.as_ref().unwrap();
        check(history, Promise::of(Level::SnapshotIsolation), &Options::default()).holds()
    };
    assert_eq!(holds("repeatable-read"), Some(true));
    assert_eq!(holds("read-committed"), Some(false));
}

/// Figures 15 and 16: one transaction alone, and a statement that waits for another one's rows.
#[test]
fn figures_15_and_16_are_answered_as_they_should_be() {
    let alone = "
        table t_0(pkey, vkey, c_0, c_2) (1,0,1,null),(2,0,2,7),(3,0,3,8)
        T0 begin
        T0 update t_0 set c_0 = c_2 version 5
        T0 select count(c_2) from t_0
        T0 commit";
    let waits = "
        table t0(pkey, vkey, c0) (1,0,40)
        table t1(pkey, vkey, c0) (2,0,7),(3,0,97)
        table t2(pkey, vkey, c0) (4,97,1),(5,3,2)
        T0 begin
        T1 begin
        T1 insert t0 (188,89,40),(230,89,9)
        T0 delete t1 where exists (select ref0.c0 from t2 as ref0 where t1.c0 not in (select ref3.vkey from (t0 as ref2 left outer join t2 as ref3 on (ref2.vkey = ref3.vkey)) where ref3.pkey >= ref2.vkey))
        T1 update t2 version 99
        T1 commit
        T0 commit";
    for (kind, level) in [
        ("postgres", "serializable"),
        ("mariadb", "repeatable-read"),
        ("mariadb", "read-committed"),
    ] {
        let Some(target) = server(kind) else { continue };
        for text in [alone, waits] {
            let worked = worked(&*target, level, &case(text));
            assert!(worked.suspects.is_empty(), "{kind}: {:?}", worked.suspects);
            assert!(worked.reached >= 2, "{kind}: {text}");
        }
    }
}

/// Figure 5: which reads are sent around which statement.
#[test]
fn figure_5_every_statement_is_sent_with_the_reads_around_it() {
    let case = case(FIGURE_1);
    let Some(postgres) = server("postgres") else { return };
    let policy = policy(postgres.name(), &offer(&*postgres, "repeatable-read")).unwrap();
    let sent = instrument(&case, &Plan::of(&case), &policy).schedule.steps;
    let sent: Vec<String> =
        sent.iter().map(|s| format!("{}> {}", s.session, s.statement)).collect();
    let wanted = "
        T0> begin
        T0> SELECT * FROM t0
        T0> SELECT * FROM t0
        T0> UPDATE t0 SET vkey = 162
        T0> SELECT * FROM t0 WHERE vkey = 162
        T0> SELECT * FROM t1
        T0> select * from t1
        T1> begin
        T1> SELECT * FROM t0
        T1> select * from t0
        T0> COMMIT
        T1> SELECT * FROM t0
        T1> SELECT * FROM t1
        T1> select * from t1 where t1.c0 <= (select min(vkey) from t0)
        T1> SELECT * FROM t0
        T1> SELECT * FROM t1
        T1> SELECT * FROM t1 WHERE t1.c0 <= (select min(vkey) from t0)
        T1> UPDATE t1 SET vkey = 63 WHERE t1.c0 <= (select min(vkey) from t0)
        T1> SELECT * FROM t1 WHERE vkey = 63
        T1> COMMIT";
    let wanted: Vec<&str> = wanted.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(sent, wanted);
}

/// MDEV-29585: a window function over a named query, in EXISTS. What is true anyway changes the value of a column. It is the
/// same in a transaction and alone, so that the serial case cannot tell; two ways to write one condition can.
#[test]
fn mdev_29585_shows_on_the_version_that_has_it() {
    let Some(mariadb) = server("mariadb") else { return };
    let mut runner =
        Runner::open(mariadb.sql().unwrap(), offer(&*mariadb, "serializable")).unwrap();
    runner.run("CREATE TABLE r (k int PRIMARY KEY, v int, d double)").unwrap();
    runner.run("INSERT INTO r VALUES (1, 1, 100)").unwrap();
    let exists = "EXISTS (SELECT FIRST_VALUE(w.d) OVER (PARTITION BY w.k))";
    let mut answer = |condition: &str| {
        let sql = format!(
            "WITH w AS (SELECT k, v, d FROM r) SELECT w.k, w.v, w.d FROM w WHERE {condition}"
        );
        runner.run(&sql).unwrap()
    };
    let (plain, more) = (answer(exists), answer(&format!("{exists} OR 17 <> 0")));
    let is_mended = same_answer(&plain, &more, false);
    assert!(!(is_mended && mariadb.version().starts_with("10.11.19")), "{plain:?}, {more:?}");
}
