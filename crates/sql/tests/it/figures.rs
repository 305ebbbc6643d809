//! Figures of the paper and of bug reports that it names, as cases.

use isolde_sql::work::Suspect;

use crate::common::{case, server, worked};

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
