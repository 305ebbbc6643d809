//! The search for orders against its brute-force twin, on random tiny histories: no answer may
//! differ, and no more answers may be open than the tables in `tests/open` say.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_check::{Options, check};
use isolde_history::notation::parse;
use isolde_history::{History, Outcome};
use isolde_spec::{Level, Promise};

use crate::twin::calls::{self, Object};
use crate::twin::permutations::{Orders, some_order};
use crate::twin::ratchet::{self, Counts};

/// How many histories are compared; `ISOLDE_TWIN` asks for more.
fn rounds() -> u64 {
    std::env::var("ISOLDE_TWIN").ok().and_then(|n| n.parse().ok()).unwrap_or(1000)
}

/// Whether everything that took part can be placed in time.
fn placed(history: &History) -> bool {
    history.txns().filter(|t| t.outcome() != Outcome::Aborted).all(|t| {
        let interval = t.interval();
        interval.begin.is_some() && interval.end.is_some()
    })
}

#[derive(Default)]
struct Tally {
    holds: u64,
    violated: u64,
    open: u64,
    wrong: Vec<String>,
    counts: Counts,
}

fn compare(level: Level, object: Object, tally: &mut Tally, seed: u64) {
    let text = calls::text(seed, object);
    let history = parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
    // What shows nothing is open at every level.
    if history.txns().all(|t| t.outcome() != Outcome::Committed) {
        return;
    }
    for (session_order, skew) in [(true, 0), (false, 0), (true, 3)] {
        let options = Options { clock_skew: skew, ..Options::default() };
        let ours = check(&history, Promise { session_order, ..Promise::of(level) }, &options);
        let real_time = level == Level::Linearizable;
        let theirs = some_order(&history, Orders { sessions: session_order, real_time, skew });
        let sessions = if session_order { "yes" } else { "no" };
        let row = format!("{object:?}\t{sessions}\t{skew}");
        ratchet::count(&mut tally.counts, row, ours.holds(), Some(theirs));
        match ours.holds() {
            None => {
                tally.open += 1;
                // With all times and one operation each nothing is left to be unknown.
                let certain = real_time
                    && placed(&history)
                    && matches!(object, Object::Plain | Object::Register | Object::Mutex);
                if certain && session_order && skew == 0 && !text.contains('?') {
                    tally.wrong.push(format!("seed {seed}, {object:?}: unknown\n{text}{:?}", ours.answer));
                }
            }
            Some(holds) if holds == theirs => {
                *(if holds { &mut tally.holds } else { &mut tally.violated }) += 1;
            }
            Some(_) => tally.wrong.push(format!(
                "seed {seed}, {object:?}, {level}, sessions {session_order}, skew {skew}: the twin says \
                 {theirs}\n{text}{:?}\n",
                ours.answer
            )),
        }
    }
}

fn compare_all(level: Level, table: &str) {
    let mut counts = Counts::new();
    for object in Object::ALL {
        let parts = ratchet::on_all_cores(0..rounds(), |seeds| {
            let mut tally = Tally::default();
            seeds.for_each(|seed| compare(level, object, &mut tally, seed));
            tally
        });
        let mut tally = Tally::default();
        for part in parts {
            tally.holds += part.holds;
            tally.violated += part.violated;
            tally.open += part.open;
            tally.wrong.extend(part.wrong);
            ratchet::add(&mut counts, part.counts);
        }
        let Tally { holds, violated, open, wrong, .. } = tally;
        eprintln!(
            "{level}, {object:?}: {holds} hold, {violated} violated, {open} open, {} wrong",
            wrong.len()
        );
        assert!(wrong.is_empty(), "{}", wrong[..wrong.len().min(4)].join("\n"));
    }
    ratchet::compare(table, "object\tsession-order\tskew", &counts, ratchet::default_seeds());
}

#[test]
fn no_verdict_on_linearizability_differs_from_the_twin() {
    compare_all(Level::Linearizable, "linearizable.tsv");
}

#[test]
fn no_verdict_on_sequential_consistency_differs_from_the_twin() {
    compare_all(Level::Sequential, "sequential.tsv");
}
