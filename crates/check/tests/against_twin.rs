//! The checker against its brute-force twin, on random tiny histories.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod twin;

use isolde_check::{Options, check};
use isolde_history::Outcome;
use isolde_history::notation::to_text;
use isolde_spec::{Level, Promise};

/// Which histories are compared; `ISOLDE_TWIN` asks for more, `ISOLDE_FROM` for others.
fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let from = number("ISOLDE_FROM").unwrap_or(0);
    from..from + number("ISOLDE_TWIN").unwrap_or(4000)
}

const LEVELS: [Level; 12] = [
    Level::ReadUncommitted,
    Level::Pl2,
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::Causal,
    Level::CursorStability,
    Level::Prefix,
    Level::RepeatableRead,
    Level::SnapshotIsolation,
    Level::StrongSnapshotIsolation,
    Level::Serializable,
    Level::StrictSerializable,
];

#[test]
fn no_verdict_differs_from_the_twin() {
    // By level: decided alike, open, wrong.
    let mut counts = [[0u64; 3]; LEVELS.len()];
    let mut wrong = Vec::new();
    for seed in seeds() {
        let history = twin::random::history(seed, &twin::random::Weights::swarm(seed));
        // Where nothing is known to have committed, everything holds, with or without intervals.
        if history.txns().all(|t| t.outcome() != Outcome::Committed) {
            continue;
        }
        for (level, count) in LEVELS.into_iter().zip(&mut counts) {
            for session_order in [true, false] {
                let promise = Promise { level, session_order };
                // Every other time, helpers stand where few pairs would have an edge each.
                let direct_pairs = if seed % 2 == 0 { Options::default().direct_pairs } else { 0 };
                let options = Options { direct_pairs, ..Options::default() };
                let ours = check(&history, promise, &options);
                let theirs = twin::decide(&history, promise, 0);
                match (ours.holds(), theirs) {
                    (None, _) => count[1] += 1,
                    (Some(a), Some(b)) if a == b => count[0] += 1,
                    (ours_holds, theirs) => {
                        count[2] += 1;
                        wrong.push(format!(
                        "seed {seed}, {level}, sessions {session_order}: we say {ours_holds:?}, the \
                         twin says {theirs:?}\n{}{:?}\n",
                        to_text(&history),
                        ours.answer
                    ));
                    }
                }
            }
        }
    }
    for (level, [decided, open, wrong]) in LEVELS.into_iter().zip(counts) {
        eprintln!("{level}: {decided} decided alike, {open} open, {wrong} wrong");
    }
    wrong.iter().for_each(|case| eprintln!("{}", case.lines().next().unwrap_or_default()));
    eprintln!("{} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong[..wrong.len().min(5)].join("\n"));
}
