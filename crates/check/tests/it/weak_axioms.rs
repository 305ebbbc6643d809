//! Read committed, read atomic and causal on histories that are too large for the twin, with more
//! sessions than one group of chains has: against the axioms taken literally, on a matrix of who comes
//! before whom.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::fmt::Write as _;

use isolde_check::{Options, check};
use isolde_history::notation::parse;
use isolde_spec::{Level, Promise};
use proptest::prelude::*;

/// What one transaction does: reads with the number of the write that they saw, and writes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    /// Key, and how many versions ago.
    Read(usize, usize),
    Write(usize),
}

#[derive(Clone, Debug)]
struct Made {
    session: usize,
    /// Statements of operations.
    statements: Vec<Vec<Done>>,
}

#[derive(Clone, Copy, Debug)]
enum Done {
    /// Key and value; 0 is what was there at first.
    Read(usize, usize),
    Write(usize, usize),
}

/// Runs plans one after another: each read sees the current version, or one that is some steps older.
fn run(plans: &[(usize, Vec<(Does, bool)>)]) -> Vec<Made> {
    let mut versions: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut value = 0;
    let mut made = Vec::new();
    for (session, plan) in plans {
        let mut statements: Vec<Vec<Done>> = Vec::new();
        let mut own: HashMap<usize, usize> = HashMap::new();
        for &(does, joined) in plan {
            let done = match does {
                Does::Read(key, _) if own.contains_key(&key) => Done::Read(key, own[&key]),
                Does::Read(key, ago) => {
                    let all = versions.get(&key).map(Vec::as_slice).unwrap_or_default();
                    let at = all.len().checked_sub(1 + ago);
                    Done::Read(key, at.map_or(0, |at| all[at]))
                }
                Does::Write(key) => {
                    value += 1;
                    own.insert(key, value);
                    Done::Write(key, value)
                }
            };
            match statements.last_mut() {
                Some(last) if joined => last.push(done),
                _ => statements.push(vec![done]),
            }
        }
        own.into_iter().for_each(|(key, value)| versions.entry(key).or_default().push(value));
        made.push(Made { session: *session, statements });
    }
    made
}

fn notation(made: &[Made]) -> String {
    let mut text = "initial 0\n".to_owned();
    for txn in made {
        write!(text, "s{}:", txn.session).unwrap();
        for statement in &txn.statements {
            let ops = statement.iter().map(|done| match done {
                Done::Read(key, value) => format!("r(k{key},{value})"),
                Done::Write(key, value) => format!("w(k{key},{value})"),
            });
            let ops: Vec<String> = ops.collect();
            match ops.as_slice() {
                [only] => write!(text, " {only}").unwrap(),
                many => write!(text, " [{}]", many.join(" ")).unwrap(),
            }
        }
        text.push('\n');
    }
    text
}

/// An external read: statement, key, and from whom (0 is the initial transaction).
type Read = (usize, usize, usize);

struct Oracle {
    reads: Vec<Vec<Read>>,
    writers: HashMap<usize, Vec<usize>>,
    so: Vec<Vec<bool>>,
    repeatable: bool,
}

impl Oracle {
    fn new(made: &[Made]) -> Oracle {
        let mut last: HashMap<usize, usize> = HashMap::new();
        let mut writers: HashMap<usize, Vec<usize>> = HashMap::new();
        for (t, txn) in made.iter().enumerate() {
            let mut left: HashMap<usize, usize> = HashMap::new();
            for done in txn.statements.iter().flatten() {
                if let Done::Write(key, value) = done {
                    left.insert(*key, *value);
                }
            }
            for (key, value) in left {
                last.insert(value, t + 1);
                writers.entry(key).or_default().push(t + 1);
            }
        }
        let mut reads = vec![Vec::new()];
        let mut repeatable = true;
        for txn in made {
            let mut own = Vec::new();
            let mut mine: Vec<Read> = Vec::new();
            for (at, done) in
                txn.statements.iter().enumerate().flat_map(|(at, s)| s.iter().map(move |d| (at, d)))
            {
                match done {
                    Done::Write(key, _) => own.push(*key),
                    Done::Read(key, _) if own.contains(key) => {}
                    Done::Read(key, value) => {
                        let from = if *value == 0 { 0 } else { last[value] };
                        repeatable &= mine.iter().all(|(_, k, f)| k != key || *f == from);
                        mine.push((at, *key, from));
                    }
                }
            }
            reads.push(mine);
        }
        let count = made.len() + 1;
        let mut so = vec![vec![false; count]; count];
        for a in 0..made.len() {
            so[0][a + 1] = true;
            for b in a + 1..made.len() {
                so[a + 1][b + 1] = made[a].session == made[b].session;
            }
        }
        Oracle { reads, writers, so, repeatable }
    }

    fn holds(&self, level: Level, session_order: bool) -> bool {
        let count = self.reads.len();
        let mut co = vec![vec![false; count]; count];
        for (t, row) in co.iter_mut().enumerate() {
            for (u, before) in row.iter_mut().enumerate() {
                let so = self.so[t][u] && (session_order || t == 0);
                *before = so || self.reads[u].iter().any(|r| r.2 == t);
            }
        }
        let links = co.clone();
        let paths = closure(links.clone());
        for (t3, reads) in self.reads.iter().enumerate() {
            for &(statement, key, t1) in reads {
                let others = self.writers.get(&key).into_iter().flatten().copied();
                for t2 in others.filter(|t2| *t2 != t1 && *t2 != t3) {
                    let binds = match level {
                        Level::ReadCommitted => reads.iter().any(|r| r.2 == t2 && r.0 < statement),
                        Level::ReadAtomic => links[t2][t3],
                        _ => paths[t2][t3],
                    };
                    co[t2][t1] |= binds;
                }
            }
        }
        let all = closure(co);
        let acyclic = (0..count).all(|t| !all[t][t]);
        acyclic && (self.repeatable || level == Level::ReadCommitted)
    }
}

fn closure(mut m: Vec<Vec<bool>>) -> Vec<Vec<bool>> {
    for k in 0..m.len() {
        let through = m[k].clone();
        for row in &mut m {
            if row[k] {
                row.iter_mut().zip(&through).for_each(|(a, b)| *a |= b);
            }
        }
    }
    m
}

fn plans() -> impl Strategy<Value = Vec<(usize, Vec<(Does, bool)>)>> {
    let shape = (1usize..50, 1usize..8, 0u32..4);
    shape.prop_flat_map(|(sessions, keys, stale)| {
        let ago = prop_oneof![24 => Just(0usize), stale => 1usize..4];
        let does = prop_oneof![
            3 => (0..keys, ago).prop_map(|(key, ago)| Does::Read(key, ago)),
            2 => (0..keys).prop_map(Does::Write),
        ];
        let op = (does, prop::bool::weighted(0.1));
        prop::collection::vec((0..sessions, prop::collection::vec(op, 1..6)), 1..70)
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("ISOLDE_TWIN").ok().and_then(|n| n.parse().ok()).unwrap_or(1500),
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_axioms_taken_literally_agree(plans in plans()) {
        let made = run(&plans);
        let text = notation(&made);
        let history = parse(&text).unwrap();
        let oracle = Oracle::new(&made);
        for level in [Level::ReadCommitted, Level::ReadAtomic, Level::Causal] {
            for session_order in [true, false] {
                let verdict = check(&history, Promise { session_order, ..Promise::of(level) }, &Options::default());
                let expected = oracle.holds(level, session_order);
                prop_assert_eq!(
                    verdict.holds(), Some(expected), "{} sessions {}\n{}", level, session_order, &text
                );
            }
        }
    }
}
