//! What is said of operations that cannot be put in order: it can be checked alone, and nothing of it
//! can be left out.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_check::{Options, check};
use isolde_history::notation::parse;
use isolde_history::{History, OpId};
use isolde_spec::{Anomaly, Edges, Level, Promise, Witness, excerpt};

use crate::twin::calls::{self, Object};
use crate::twin::permutations::{Orders, some_order};

const LINEARIZABLE: Promise = Promise::of(Level::Linearizable);

/// How many histories are looked at; `ISOLDE_TWIN` asks for more.
fn rounds() -> u64 {
    std::env::var("ISOLDE_TWIN").ok().and_then(|n| n.parse().ok()).unwrap_or(1000)
}

fn witnesses(history: &History) -> Vec<Witness> {
    let verdict = check(history, LINEARIZABLE, &Options::default());
    let found = verdict.witnesses().iter();
    found.filter(|w| w.anomaly == Anomaly::NotLinearizable).cloned().collect()
}

/// A history in which only some transactions are as they were: of the others nobody knows whether they
/// took effect, and they saw nothing.
fn all_but(text: &str, keep: &[usize]) -> String {
    let mut number = 0;
    let mut out = String::new();
    for line in text.lines() {
        let kept = !line.starts_with('s') || keep.contains(&number);
        number += usize::from(line.starts_with('s'));
        if kept {
            out += &format!("{line}\n");
            continue;
        }
        let (session, rest) = line.split_once(": ").unwrap();
        let (op, rest) = rest.split_once(' ').unwrap();
        let read = op.starts_with('r') || op.starts_with("list") || op.contains('!');
        if read || rest.contains("abort") {
            continue;
        }
        let (name, args) = op.split_once('(').unwrap();
        let args: Vec<&str> = args.trim_end_matches(')').split(',').collect();
        let (key, value) = (args[0], args[args.len() - 1]);
        let rest = rest.replace("unknown", "commit");
        let op = match name {
            "append" => format!("append?({key},{value})"),
            "delete" => format!("delete?({key})"),
            _ => format!("w?({key},{value})"),
        };
        out += &format!("{session}{number}: {op} {rest}\n");
    }
    out
}

fn look(seed: u64, object: Object, counts: &mut [u64; 3]) {
    let text = calls::text(seed, object);
    let history = parse(&text).unwrap();
    for witness in witnesses(&history) {
        counts[0] += 1;
        let small = excerpt(&history, &witness);
        let alone = parse(&small).unwrap_or_else(|e| panic!("{e}\n{small}"));
        let orders = Orders { sessions: true, real_time: true, skew: 0 };
        assert!(!some_order(&alone, orders), "seed {seed}\n{text}---\n{small}{witness:?}");
        let again = check(&alone, LINEARIZABLE, &Options::default()).holds();
        assert_eq!(again, Some(false), "seed {seed}\n{text}---\n{small}{witness:?}");
        let Some(stuck) = witness.stuck.as_ref() else {
            // Sessions that say more than real time have no moment at which something is stuck.
            assert!(witness.needs.contains(Edges::SO), "seed {seed}: not stuck\n{text}{witness:?}");
            continue;
        };
        let mut cited: Vec<OpId> = stuck.prefix.clone();
        cited.push(stuck.op);
        let involved: Vec<_> = witness.involved().collect();
        assert!(cited.iter().all(|op| involved.contains(&history.txn_of(*op))), "{witness:?}");
        counts[1] += stuck.prefix.len() as u64;
        // Whatever else was written may have been written or not: the operations cannot be put in order,
        // and without any one of them they can. (Who never ended may end here, so that more is wrong.)
        if text.contains("unknown") {
            continue;
        }
        if object == Object::Several || text.contains('?') {
            continue;
        }
        let keep: Vec<usize> = witness.txns.iter().map(|txn| txn.index()).collect();
        let with_all = parse(&all_but(&text, &keep)).unwrap();
        assert!(!some_order(&with_all, orders), "seed {seed}\n{text}{witness:?}");
        for left_out in 0..keep.len() {
            let mut fewer = keep.clone();
            fewer.remove(left_out);
            let changed = all_but(&text, &fewer);
            let needed = some_order(&parse(&changed).unwrap(), orders);
            assert!(needed, "seed {seed}: {left_out} is superfluous\n{text}{witness:?}");
            counts[2] += 1;
        }
    }
}

#[test]
fn witnesses_of_tiny_histories_stand_alone() {
    for object in Object::ALL {
        let mut counts = [0; 3];
        (0..rounds()).for_each(|seed| look(seed, object, &mut counts));
        let [all, placed, needed] = counts;
        eprintln!(
            "{object:?}: {all} witnesses, {placed} operations placed, {needed} operations needed"
        );
        assert!(all > 0 || object == Object::Several);
    }
}
