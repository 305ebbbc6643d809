//! Histories that are hard to check get the right answer while they are small, and an answer with a
//! reason where it stays open. How long it takes is measured by `isolde-bench limits`, never here.
//!
//! What is right is known from how each was made: one transaction after another, and perhaps spoiled in
//! one place.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_check::{Options, check};
use isolde_history::{History, Outcome};
use isolde_spec::{Answer, Level, Promise};
use isolde_workload::strain::{Hot, Ring, Strain};

/// What is to be said of a history.
struct Right {
    strain: Strain,
    /// The weakest levels that it breaks; all others hold.
    breaks: &'static [Level],
    /// The levels that hold, but may stay open: the checker does not find it out today.
    open: &'static [Level],
}

/// All levels but the weakest.
const ABOVE_UNCOMMITTED: &[Level] = Level::ALL.split_at(1).1;

fn right(strain: Strain) -> Right {
    Right { strain, breaks: &[], open: &[] }
}

/// Whether a level can be asked, and needs no evidence that is not there.
fn can_be_known(history: &History, level: Level) -> bool {
    let ended = |t: &isolde_history::Txn<'_>| t.outcome() == Outcome::Committed;
    let timed = history.txns().filter(ended).all(|t| !t.interval().is_empty());
    !level.needs_real_time() && level != Level::Linearizable || timed
}

/// The levels for which a history is judged: those of operations only where transactions are such.
fn levels(history: &History) -> impl Iterator<Item = Level> {
    let single = history.txns().all(|txn| txn.ops().len() == 1);
    Level::ALL.into_iter().filter(move |level| single || !level.of_operations())
}

#[track_caller]
fn all_right(rights: &[Right]) {
    let mut wrong = Vec::new();
    for Right { strain, breaks, open } in rights {
        let history = strain.history().unwrap();
        for level in levels(&history) {
            let broken = breaks.iter().any(|weakest| level.implies(*weakest));
            let answer = check(&history, Promise::of(level), &Options::default()).answer;
            let fine = match &answer {
                Answer::Holds => !broken && can_be_known(&history, level),
                Answer::Violated(witnesses) => broken && !witnesses.is_empty(),
                Answer::NoViolation { .. } => false,
                Answer::Unknown(reason) => {
                    let may_be_open = open.contains(&level) || !can_be_known(&history, level);
                    !broken && may_be_open && !reason.is_empty()
                }
            };
            if !fine {
                let (name, size) = (strain.name(), strain.size());
                let answer = format!("{answer:?}");
                let answer: String = answer.chars().take(200).collect();
                wrong.push(format!("{name} {size}, {level}, broken {broken}: {answer}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn nested_guesses() {
    // One write has a value that nobody knows, which leaves a doubt whatever is chosen.
    let nested = |width, depth| {
        let strain = Strain::NestedGuesses { width, depth };
        Right { open: &Level::ALL, ..right(strain) }
    };
    all_right(&[nested(2, 2), nested(3, 3)]);
}

#[test]
fn repeated_values() {
    let same = |writers, open| Right { open, ..right(Strain::SameValue { writers }) };
    all_right(&[
        right(Strain::FewValues { ops: 600, values: 5 }),
        right(Strain::OneValue { writes: 200 }),
        same(10, &[Level::RepeatableRead, Level::Serializable]),
        // More writers than choices are tried.
        same(70, ABOVE_UNCOMMITTED),
    ]);
}

#[test]
fn hot_keys() {
    let hot = |how| right(Strain::HotKey { writers: 40, how });
    let breaks = &[Level::Causal];
    let violating = Right { breaks, ..hot(Hot::Violating) };
    all_right(&[hot(Hot::Serial), hot(Hot::Concurrent), violating]);
}

#[test]
fn equal_elements() {
    let open = &Level::ALL;
    let equal = right(Strain::EqualElements { appends: 20 });
    let own = right(Strain::OwnEqualElements { appends: 24 });
    all_right(&[Right { open, ..equal }, Right { open, ..own }]);
}

#[test]
fn many_sessions() {
    let sessions = |violating| right(Strain::Sessions { sessions: 1_000, violating });
    let breaks = &[Level::Causal, Level::RepeatableRead];
    all_right(&[sessions(false), Right { breaks, ..sessions(true) }]);
}

#[test]
fn rings() {
    let ring = |by, breaks| Right { breaks, ..right(Strain::Ring { txns: 40, by }) };
    all_right(&[
        ring(Ring::Antidependencies, &[Level::RepeatableRead, Level::Serializable]),
        ring(Ring::Reads, &[Level::Pl2, Level::ReadCommitted]),
        ring(Ring::Updates, &[Level::Pl2, Level::ReadCommitted]),
        ring(Ring::Mixed, &[Level::RepeatableRead, Level::Prefix]),
    ]);
}

#[test]
fn blind_writes() {
    let blind = |seed| right(Strain::BlindWrites { txns: 300, seed });
    all_right(&[blind(1), blind(2), blind(3)]);
}
