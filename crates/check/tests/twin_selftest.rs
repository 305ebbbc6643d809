//! The brute-force twin against verdicts known by hand.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod twin;

use isolde_history::notation;
use isolde_spec::{Level, Promise};

/// The levels that the twin decides.
fn levels() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|l| *l != Level::Linearizable)
}

/// The verdicts as text: the levels that fail, then those that are unknown after a question mark.
fn verdicts(text: &str, session_order: bool, skew: i64) -> String {
    let history = notation::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut fail = Vec::new();
    let mut unknown = Vec::new();
    for level in levels() {
        let name = level.short().unwrap_or(level.name());
        match twin::decide(&history, Promise { level, session_order }, skew) {
            Some(true) => {}
            Some(false) => fail.push(name),
            None => unknown.push(name),
        }
    }
    let mut all = fail.join(" ");
    if !unknown.is_empty() {
        all += &format!(" ? {}", unknown.join(" "));
    }
    all.trim().to_owned()
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(verdicts(text, true, 0), expected, "\n{text}");
}

#[test]
fn smoke() {
    for seed in 0..20000 {
        let history = twin::random::history(seed, &twin::random::Weights::swarm(seed));
        if seed < 40 { println!("{}", twin::random::text(seed, &twin::random::Weights::swarm(seed))); }
        for l in levels() { twin::decide(&history, Promise::of(l), 0); }
    }
}
