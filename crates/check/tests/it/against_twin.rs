//! The checker against its brute-force twin, on random tiny histories: no answer may differ, and no
//! more answers may be open than `tests/open/transactions.tsv` says.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_check::{Checker, Options, check};
use isolde_history::notation::to_text;
use isolde_history::{History, Outcome};
use isolde_spec::{Level, Promise};

use crate::twin;
use crate::twin::ratchet::{self, Counts};

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

/// What a part of the seeds brought.
#[derive(Default)]
struct Tally {
    /// By level: decided alike, open, wrong.
    levels: [[u64; 3]; LEVELS.len()],
    open: Counts,
    wrong: Vec<String>,
}

impl Tally {
    fn compare(&mut self, seed: u64) {
        let history = twin::random::history(seed, &twin::random::Weights::swarm(seed));
        // Where nothing is known to have committed, everything holds, with or without intervals.
        if history.txns().all(|t| t.outcome() != Outcome::Committed) {
            return;
        }
        // Every other time, helpers stand where few pairs would have an edge each.
        let direct_pairs = if seed.is_multiple_of(2) { Options::default().direct_pairs } else { 0 };
        let options = Options { direct_pairs, ..Options::default() };
        // One checker that is asked everything uses what it knows already; in which order it is asked
        // changes from history to history.
        let all = Checker::new(&history, options);
        let mut levels: Vec<usize> = (0..LEVELS.len()).collect();
        levels.rotate_left(seed as usize % LEVELS.len());
        if seed.is_multiple_of(3) {
            levels.reverse();
        }
        for at in levels {
            for session_order in [seed.is_multiple_of(5), !seed.is_multiple_of(5)] {
                let promise = Promise { session_order, ..Promise::of(LEVELS[at]) };
                self.ask(seed, (&history, &options, &all), at, promise);
            }
        }
    }

    fn ask(
        &mut self,
        seed: u64,
        (history, options, all): (&History, &Options, &Checker<'_>),
        at: usize,
        promise: Promise,
    ) {
        let ours = check(history, promise, options);
        let theirs = twin::decide(history, promise, 0);
        let Promise { level, session_order, .. } = promise;
        let together = all.check(promise).holds();
        if together != ours.holds() && (ours.holds().is_some() || together != theirs) {
            self.wrong.push(format!(
                "seed {seed}, {level}, sessions {session_order}: asked alone we say {:?}, asked \
                 with others {together:?}, the twin says {theirs:?}\n{}\n",
                ours.holds(),
                to_text(history)
            ));
        }
        let sessions = if session_order { "yes" } else { "no" };
        let row = format!("{}\t{level}\t{sessions}", ratchet::kind(history));
        ratchet::count(&mut self.open, row, ours.holds(), theirs);
        let column = match (ours.holds(), theirs) {
            (Some(a), Some(b)) if a == b => 0,
            (None, _) => 1,
            (ours_holds, theirs) => {
                self.wrong.push(format!(
                    "seed {seed}, {level}, sessions {session_order}: we say {ours_holds:?}, the \
                     twin says {theirs:?}\n{}{:?}\n",
                    to_text(history),
                    ours.answer
                ));
                2
            }
        };
        self.levels[at][column] += 1;
    }

    fn add(mut self, more: Tally) -> Tally {
        for (all, more) in self.levels.iter_mut().flatten().zip(more.levels.into_iter().flatten()) {
            *all += more;
        }
        ratchet::add(&mut self.open, more.open);
        self.wrong.extend(more.wrong);
        self
    }
}

#[test]
fn no_verdict_differs_from_the_twin_and_no_more_are_open() {
    let parts = ratchet::on_all_cores(seeds(), |seeds| {
        let mut tally = Tally::default();
        seeds.for_each(|seed| tally.compare(seed));
        tally
    });
    let Tally { levels, open, wrong } = parts.into_iter().fold(Tally::default(), Tally::add);
    for (level, [decided, open, wrong]) in LEVELS.into_iter().zip(levels) {
        eprintln!("{level}: {decided} decided alike, {open} open, {wrong} wrong");
    }
    wrong.iter().for_each(|case| eprintln!("{}", case.lines().next().unwrap_or_default()));
    eprintln!("{} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong[..wrong.len().min(5)].join("\n"));
    let columns = "kind\tlevel\tsession-order";
    ratchet::compare("transactions.tsv", columns, &open, ratchet::default_seeds());
}
