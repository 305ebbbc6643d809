//! Small random cases on servers that keep their promises: nothing may be found.

use isolde_check::{Options, check};
use isolde_spec::Promise;

use crate::common::{case, offer, server, worked};

/// Numbers that need not be good.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }
}

/// A statement that meets others: two tables of three rows each.
fn statement(dice: &mut Dice, fresh: &mut u64) -> String {
    *fresh += 1;
    let (fresh, table, other) = (*fresh, dice.below(2), dice.below(2));
    let (key, c) = (1 + dice.below(4), dice.below(8));
    match dice.below(10) {
        0 => format!("select * from t{table} where c <= {c}"),
        1 => format!("select sum(c), count(*) from t{table}"),
        2 => "select count(*) from t0 join t1 on t0.c < t1.c".to_owned(),
        3 | 4 => format!("update t{table} set c = {c} version {fresh} where pkey = {key}"),
        5 => format!("update t{table} set c = c + 1 version {fresh} where c > {c}"),
        6 => format!(
            "update t{table} set c = {c} version {fresh} where c < (select min(c) from t{})",
            1 - table
        ),
        7 => format!("delete t{table} where pkey = {key}"),
        8 => format!("insert t{table} ({fresh},{fresh},{c})"),
        _ => format!(
            "select max(c) from t{other} where pkey in (select pkey from t{table} where c > 3)"
        ),
    }
}

fn random_case(seed: u64) -> String {
    let (mut dice, mut fresh) = (Dice(seed), 100);
    let mut left: Vec<Vec<String>> = Vec::new();
    for txn in 0..2 + dice.below(2) {
        let mut steps = vec!["begin".to_owned()];
        steps.extend((0..1 + dice.below(4)).map(|_| statement(&mut dice, &mut fresh)));
        if steps.len() > 2 && dice.below(4) == 0 {
            let at = 1 + dice.below(steps.len() as u64 - 1) as usize;
            steps.insert(at, "savepoint s".to_owned());
            steps.push("rollback to s".to_owned());
        }
        let end = if dice.below(6) == 0 { "rollback" } else { "commit" };
        steps.push(end.to_owned());
        left.push(steps.into_iter().rev().map(|step| format!("T{txn} {step}\n")).collect());
    }
    let mut text = "table t0(pkey, vkey, c) (1,10,2),(2,11,4),(3,12,6)\n\
                    table t1(pkey, vkey, c) (1,20,1),(2,21,3),(3,22,5)\n"
        .to_owned();
    while !left.is_empty() {
        let txn = dice.below(left.len() as u64) as usize;
        text.extend(left[txn].pop());
        left.retain(|steps| !steps.is_empty());
    }
    text
}

/// Works on so many cases, and says how many of their statements reached the serial oracle.
fn nothing_is_found(kind: &str, level: &str, cases: u64) {
    let Some(target) = server(kind) else { return };
    let (mut reached, mut statements, mut given_up) = (0, 0, 0);
    for seed in 0..cases {
        let text = random_case(seed);
        let worked = worked(&*target, level, &case(&text));
        assert!(worked.suspects.is_empty(), "{level} {seed}: {:#?}\n{text}", worked.suspects);
        if let Some(history) = &worked.history {
            let promise = Promise::of(offer(&*target, level).promises);
            let verdict = check(&history.0, promise, &Options::default());
            assert_ne!(verdict.holds(), Some(false), "{level} {seed}: {verdict:#?}\n{text}");
        }
        reached += worked.reached;
        statements += worked.own_statements;
        given_up += usize::from(worked.given_up.is_some());
    }
    println!("{kind} {level}: {reached} of {statements} statements reached, {given_up} given up");
    assert!(reached * 2 > statements, "{reached} of {statements} statements");
}

#[test]
fn nothing_is_found_on_sqlite() {
    nothing_is_found("sqlite", "deferred", 300);
    nothing_is_found("sqlite", "immediate", 300);
}

#[test]
fn nothing_is_found_on_postgres() {
    for level in ["read-committed", "repeatable-read", "serializable"] {
        nothing_is_found("postgres", level, 40);
    }
}
