//! What a witness shows can be checked alone: the transactions it involves, taken out of the history,
//! show the same anomaly at the same level.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_check::{Checker, Options};
use isolde_history::notation::{parse, to_text};
use isolde_history::{Effect, History, Op, OpKind, Outcome};
use isolde_spec::{Answer, Promise, Witness, excerpt};

use crate::made::simulate::{Scene, Soil, planted};
use crate::made::{all_promises, plants};
use crate::twin;

/// How many histories are looked at; `ISOLDE_TWIN` asks for more.
fn rounds() -> u64 {
    std::env::var("ISOLDE_TWIN").ok().and_then(|n| n.parse().ok()).unwrap_or(4000)
}

/// What was seen of all witnesses.
#[derive(Default)]
struct Tally {
    same: u64,
    /// A more basic anomaly shows between transactions of the witness, or one of fewer of them. That happens where a history
    /// is broken in several ways: without the versions between, one update loses another.
    more_basic: u64,
    /// It leans on rows that predicate reads missed, or on an operation of unknown effect that somebody
    /// saw: both show nothing where not everything is there.
    needs_all: u64,
    wrong: Vec<String>,
}

fn needs_all(op: &Op<'_>) -> bool {
    op.kind() == OpKind::PredicateRead || op.effect() == Effect::Unknown
}

fn more_basic(one: &Witness, other: &Witness) -> bool {
    one.anomaly.rank() < other.anomaly.rank() || one.steps.len() < other.steps.len()
}

impl Tally {
    fn look(&mut self, history: &History, promise: Promise) {
        let options = Options::default();
        let Answer::Violated(witnesses) = Checker::new(history, options).check(promise).answer
        else {
            return;
        };
        for witness in witnesses {
            let text = excerpt(history, &witness);
            let alone = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let verdict = Checker::new(&alone, options).check(promise);
            let found: &[Witness] = match &verdict.answer {
                Answer::Violated(found) => found,
                _ => &[],
            };
            if found.iter().any(|w| w.anomaly == witness.anomaly) {
                self.same += 1;
            } else if found.iter().any(|w| more_basic(w, &witness)) {
                self.more_basic += 1;
            } else if history.ops().any(|op| needs_all(&op)) {
                self.needs_all += 1;
            } else {
                self.wrong.push(format!(
                    "{promise:?}: {witness:?}\n{}--- alone\n{text}{:?}\n",
                    to_text(history),
                    verdict.answer
                ));
            }
        }
    }

    fn done(&self, of: &str) {
        let Tally { same, more_basic, needs_all, wrong } = self;
        eprintln!(
            "{of}: {same} the same, {more_basic} more basic, {needs_all} that need all, {} not",
            wrong.len()
        );
        assert!(wrong.is_empty(), "{}", wrong[..wrong.len().min(3)].join("\n"));
        assert!(*same > 100 && more_basic * 25 < *same && needs_all * 100 < *same);
    }
}

#[test]
fn witnesses_of_tiny_histories_stand_alone() {
    let mut tally = Tally::default();
    for seed in 0..rounds() {
        let history = twin::random::history(seed, &twin::random::Weights::swarm(seed));
        if history.txns().any(|t| t.outcome() == Outcome::Committed) {
            all_promises().for_each(|promise| tally.look(&history, promise));
        }
    }
    tally.done("tiny histories");
}

#[test]
fn witnesses_of_planted_anomalies_stand_alone() {
    let mut tally = Tally::default();
    for (seed, plant) in plants::all().enumerate() {
        for soil in [Soil::Fresh, Soil::Used] {
            let text = planted(seed as u64, &Scene::of(plant.style(), 200), plant, soil);
            let history = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            all_promises().for_each(|promise| tally.look(&history, promise));
        }
    }
    tally.done("planted anomalies");
}
