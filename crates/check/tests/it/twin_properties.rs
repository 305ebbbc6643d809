//! Laws that the brute-force twin keeps on random histories.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_history::{History, notation};
use isolde_spec::{Level, Promise};

use crate::twin;
use crate::twin::random::{self, Weights};

/// The levels that the twin decides.
fn levels() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|l| !l.of_operations())
}

fn promises() -> impl Iterator<Item = Promise> {
    let both =
        |level| [true, false].map(|session_order| Promise { session_order, ..Promise::of(level) });
    levels().flat_map(both)
}

fn answers(
    history: &History,
    promises: impl Iterator<Item = Promise>,
) -> Vec<(Promise, Option<bool>)> {
    promises.map(|p| (p, twin::decide(history, p, 0))).collect()
}

fn seeds(count: u64) -> impl Iterator<Item = (u64, String)> {
    (0..count).map(|seed| (seed, random::text(seed, &Weights::swarm(seed))))
}

/// Whether one promise contains the other.
fn stronger(a: Promise, b: Promise) -> bool {
    a.level.implies(b.level) && (a.session_order || !b.session_order)
}

#[test]
fn a_stronger_level_never_holds_where_a_weaker_one_fails() {
    for (seed, text) in seeds(20_000) {
        let history = notation::parse(&text).unwrap();
        let asked = promises().filter(|p| p.session_order || seed < 1_000);
        let answers = answers(&history, asked);
        for (a, strong) in &answers {
            for (b, weak) in answers.iter().filter(|(b, _)| stronger(*a, *b)) {
                let sound = match (strong, weak) {
                    (Some(true), weak) => *weak == Some(true),
                    (_, Some(false)) => *strong == Some(false),
                    _ => true,
                };
                assert!(sound, "seed {seed}: {a:?} {strong:?}, {b:?} {weak:?}\n{text}");
            }
        }
    }
}

#[test]
fn commit_orders_and_version_orders_agree() {
    let mut compared = 0;
    for (seed, text) in seeds(1_000) {
        let history = notation::parse(&text).unwrap();
        for promise in promises() {
            let Ok(cycles) = twin::decide_by_cycles(&history, promise, 0) else { continue };
            let orders = twin::decide(&history, promise, 0);
            assert_eq!(orders, cycles, "seed {seed}: {promise:?}\n{text}");
            compared += 1;
        }
    }
    assert!(compared > 15_000, "only {compared} were compared");
}

/// A transaction line with its keys renamed: keys stand behind the bracket of an operation.
fn rename_keys(text: &str) -> String {
    let mut renamed = text.to_owned();
    for (old, new) in [("x", "q1"), ("y", "b"), ("z", "q0")] {
        let places = [("(", ","), ("(", ")"), (",", "="), ("given ", " "), ("order ", ":")];
        for (before, after) in places {
            let find = format!("{before}{old}{after}");
            renamed = renamed.replace(&find, &format!("{before}{new}{after}"));
        }
    }
    renamed
}

/// The same history with its sessions in another order, one after the other.
fn permute_sessions(text: &str) -> String {
    let session = |line: &str| ["d:", "b:", "a:", "c:"].iter().position(|s| line.starts_with(s));
    let mut lines: Vec<&str> = text.lines().collect();
    // Other lines may stand anywhere but for the orders of versions, which stay behind.
    lines
        .sort_by_key(|line| if line.starts_with("order") { 9 } else { session(line).unwrap_or(0) });
    lines.join("\n")
}

#[test]
fn names_and_the_order_of_sessions_do_not_matter() {
    for (seed, text) in seeds(1_000) {
        let before = answers(&notation::parse(&text).unwrap(), promises());
        for other in [rename_keys(&text), permute_sessions(&text)] {
            let history = notation::parse(&other).unwrap_or_else(|e| panic!("{e}\n{other}"));
            assert_eq!(answers(&history, promises()), before, "seed {seed}\n{text}\n{other}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_history_and_all_answers_occur() {
    let mut held = [0; Level::ALL.len()];
    let mut failed = [0; Level::ALL.len()];
    for (seed, text) in seeds(2_000) {
        assert_eq!(text, random::text(seed, &Weights::swarm(seed)));
        let history = random::history(seed, &Weights::swarm(seed));
        for level in levels() {
            match twin::decide(&history, Promise::of(level), 0) {
                Some(true) => held[level as usize] += 1,
                Some(false) => failed[level as usize] += 1,
                None => {}
            }
        }
    }
    println!("held {held:?}\nfailed {failed:?}");
    for level in levels() {
        let (held, failed) = (held[level as usize], failed[level as usize]);
        assert!(held > 100 && failed > 30, "{level}: {held} hold, {failed} fail");
    }
}

/// The history without its predicate reads.
fn without_predicates(text: &str) -> String {
    let mut left = text.to_owned();
    while let Some(start) = left.find("pred") {
        let end = left[start..].find(')').unwrap();
        left.replace_range(start..=start + end, "");
    }
    left
}

/// Predicate reads are in a fixed share of the histories, every level holds and fails in some of
/// them, and some of them fail because of their predicate reads only.
#[test]
fn predicate_reads_occur_and_matter() {
    let (mut histories, mut open) = (0, 0);
    let mut held = [0; Level::ALL.len()];
    let mut failed = [0; Level::ALL.len()];
    let mut because = [0; Level::ALL.len()];
    for (_, text) in seeds(10_000) {
        if !text.contains("pred") {
            continue;
        }
        histories += 1;
        let history = notation::parse(&text).unwrap();
        let plain = notation::parse(&without_predicates(&text)).unwrap();
        for level in levels() {
            let at = level as usize;
            match twin::decide(&history, Promise::of(level), 0) {
                Some(true) => held[at] += 1,
                Some(false) => {
                    failed[at] += 1;
                    let other = twin::decide(&plain, Promise::of(level), 0);
                    because[at] += usize::from(other != Some(false));
                }
                None => open += 1,
            }
        }
    }
    println!("{histories}: held {held:?}, failed {failed:?}, because {because:?}, {open} open");
    assert!((1_500..2_500).contains(&histories), "{histories} of 10000");
    for level in levels() {
        let (held, failed) = (held[level as usize], failed[level as usize]);
        assert!(held > 50 && failed > 30, "{level}: {held} hold, {failed} fail");
    }
    assert!(because[Level::Serializable as usize] > 200);
}

/// Neighbouring levels are told apart by some random history, so that the twin's answers to one
/// are not tested by those to the other.
#[test]
fn every_pair_of_levels_is_told_apart() {
    let mut missing: Vec<(Level, Level)> =
        levels().flat_map(|a| a.next_weaker().iter().map(move |b| (a, *b))).collect();
    for (_, text) in seeds(20_000) {
        if missing.is_empty() {
            return;
        }
        let history = notation::parse(&text).unwrap();
        missing.retain(|(a, b)| {
            let decide = |level: Level| twin::decide(&history, Promise::of(level), 0);
            !(decide(*a) == Some(false) && decide(*b) == Some(true))
        });
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_larger_skew_allows_more_and_a_huge_one_all_that_needs_no_clock() {
    let pairs = [
        (Level::StrongSnapshotIsolation, Level::SnapshotIsolation),
        (Level::StrictSerializable, Level::Serializable),
    ];
    for (seed, text) in seeds(2_000) {
        let history = notation::parse(&text).unwrap();
        for (timed, plain) in pairs {
            let at = |skew: i64| twin::decide(&history, Promise::of(timed), skew);
            let skews = [0, 5, 20, 1_000].map(at);
            let grows = skews.is_sorted_by_key(|answer| answer.unwrap_or(false));
            assert!(grows, "seed {seed}: {timed} {skews:?}\n{text}");
            let without = twin::decide(&history, Promise::of(plain), 0);
            let timeless = history.txns().all(|t| t.interval().is_empty());
            let same = skews[3] == without || (timeless && skews[3].is_none());
            assert!(same, "seed {seed}: {timed} {skews:?}, {plain} {without:?}\n{text}");
        }
    }
}
