//! Known interleavings, at every level of every server: what must not happen does not, and what may
//! happen does, so that no level is better than what is said of it.
#![cfg(all(feature = "postgres", feature = "mysql"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_history::OpKind;
use isolde_target::{Answer, Path, Request, Target};

use crate::common::{Actor, Fate, Step, alone, registers, request, server, write};

fn read(row: u32) -> Request {
    request(OpKind::Read, row, 0)
}

/// Plays steps of two sessions against fresh rows 1 = 10 and 2 = 20.
fn play(target: &dyn Target, level: &str, steps: &[(usize, Step)]) -> [Fate; 2] {
    alone(target, "read-committed", &write(1, 10));
    alone(target, "read-committed", &write(2, 20));
    let mut actors = [Actor::begin(target, level), Actor::begin(target, level)];
    for (who, step) in steps {
        actors[*who].step(*step);
    }
    actors.map(Actor::fate)
}

fn values(fate: &Fate) -> Vec<i64> {
    let value = |answer: &Answer| match answer {
        Answer::Value(value) => *value,
        _ => None,
    };
    fate.answers.iter().filter_map(value).collect()
}

/// A read of what was rolled back.
fn g1a(target: &dyn Target, level: &str) -> bool {
    use Step::{Commit, Rollback, Run};
    let steps = [(0, Run(write(1, 101))), (1, Run(read(1))), (0, Rollback), (1, Commit)];
    let [_, t2] = play(target, level, &steps);
    t2.committed && values(&t2) == [101]
}

/// A lost update.
fn p4(target: &dyn Target, level: &str) -> bool {
    use Step::{Commit, Run};
    let [t1, t2] = play(
        target,
        level,
        &[
            (0, Run(read(1))),
            (1, Run(read(1))),
            (0, Run(write(1, 11))),
            (1, Run(write(1, 12))),
            (0, Commit),
            (1, Commit),
        ],
    );
    t1.committed && t2.committed
}

/// Two reads that no state explains.
fn g_single(target: &dyn Target, level: &str) -> bool {
    use Step::{Commit, Run};
    let [t1, t2] = play(
        target,
        level,
        &[
            (0, Run(read(1))),
            (1, Run(read(1))),
            (1, Run(read(2))),
            (1, Run(write(1, 12))),
            (1, Run(write(2, 18))),
            (1, Commit),
            (0, Run(read(2))),
            (0, Commit),
        ],
    );
    t1.committed && t2.committed && values(&t1) == [10, 18]
}

/// Write skew.
fn g2_item(target: &dyn Target, level: &str) -> bool {
    use Step::{Commit, Run};
    let [t1, t2] = play(
        target,
        level,
        &[
            (0, Run(read(1))),
            (0, Run(read(2))),
            (1, Run(read(1))),
            (1, Run(read(2))),
            (0, Run(write(1, 11))),
            (1, Run(write(2, 21))),
            (0, Commit),
            (1, Commit),
        ],
    );
    t1.committed && t2.committed
}

/// A locking read that sees a transaction, and then a plain read that does not.
fn half(target: &dyn Target, level: &str) -> bool {
    use Step::{Commit, Run};
    let locking = Request { path: Path::ForUpdate, ..read(1) };
    let [t1, t2] = play(
        target,
        level,
        &[
            (0, Run(read(2))),
            (1, Run(write(1, 12))),
            (1, Run(write(2, 18))),
            (1, Commit),
            (0, Run(locking)),
            (0, Run(read(2))),
            (0, Commit),
        ],
    );
    t1.committed && t2.committed && values(&t1) == [20, 12, 20]
}

/// Which of the five are possible at a level.
fn possible(target: &dyn Target, level: &str) -> Vec<&'static str> {
    type Case = (&'static str, fn(&dyn Target, &str) -> bool);
    let cases: [Case; 5] =
        [("G1a", g1a), ("P4", p4), ("G-single", g_single), ("G2-item", g2_item), ("half", half)];
    cases.iter().filter(|(_, case)| case(target, level)).map(|(name, _)| *name).collect()
}

fn check(kind: &str, expected: &[(&str, &[&str])]) {
    let Some(target) = server(kind) else { return };
    target.create(&registers(0, 4)).unwrap();
    let names: Vec<&str> = target.offers().iter().map(|o| o.name).collect();
    let found: Vec<_> = names.iter().map(|n| (*n, possible(target.as_ref(), n))).collect();
    let expected: Vec<_> = expected.iter().map(|(n, cases)| (*n, cases.to_vec())).collect();
    assert_eq!(found, expected, "{kind}");
}

#[test]
fn postgres() {
    check(
        "postgres",
        &[
            ("read-committed", &["P4", "G-single", "G2-item"]),
            ("repeatable-read", &["G2-item"]),
            ("serializable", &[]),
        ],
    );
}

#[test]
fn mariadb() {
    check(
        "mariadb",
        &[
            ("read-uncommitted", &["G1a", "P4", "G-single", "G2-item"]),
            ("repeatable-read", &["P4", "G2-item", "half"]),
            ("read-committed", &["P4", "G-single", "G2-item"]),
            ("repeatable-read-snapshot", &["G2-item"]),
            ("serializable", &[]),
        ],
    );
}

#[test]
fn myrocks() {
    check(
        "mariadb-rocksdb",
        &[("read-committed", &["P4", "G-single", "G2-item"]), ("repeatable-read", &["G2-item"])],
    );
}
