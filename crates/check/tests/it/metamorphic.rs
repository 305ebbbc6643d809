//! Laws between verdicts: what does not matter to a promise does not change the answer, and a promise
//! that asks for less is kept wherever one is that asks for more.
//!
//! Nothing here knows what the right answer is, so that the histories may be of any size.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_check::{Options, check};
use isolde_history::notation::{parse, to_text};
use isolde_history::{History, Interval, Outcome, SessionId};
use isolde_spec::{Level, Promise};

use crate::made::plants;
use crate::made::remake::{Added, Guise};
use crate::made::simulate::{Scene, Soil, Style, clean, planted};
use crate::made::{all_promises, promises};
use crate::twin::random::{self, Rng, Weights};

/// How many tiny histories are tried; `ISOLDE_TWIN` asks for more.
fn rounds() -> u64 {
    std::env::var("ISOLDE_TWIN").ok().and_then(|n| n.parse().ok()).unwrap_or(700)
}

/// One in so many tiny histories is a log of events.
const EVENTS: u64 = 5;

/// A random tiny history; some are logs of events, some write the initial value explicitly.
fn tiny(seed: u64) -> History {
    let mut text = random::text(seed, &Weights::swarm(seed));
    if seed.is_multiple_of(EVENTS) {
        text.insert_str(0, "clock events\n");
    }
    if seed.is_multiple_of(7) {
        text.insert_str(0, "meta explicit-initial true\n");
    }
    parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Simulated histories of some hundred transactions: some without a fault, one for each plant.
fn larger() -> Vec<History> {
    let scenes = [Style::Mini, Style::Lists].map(|style| Scene::of(style, 150));
    let sound = scenes.iter().flat_map(|scene| (0..3).map(|seed| clean(seed, scene)));
    let faulty = (0..).zip(plants::all()).map(|(seed, plant)| {
        let soil = plant.soil.last().copied().unwrap_or(Soil::Fresh);
        planted(seed, &Scene::of(plant.style(), 80), plant, soil)
    });
    sound.chain(faulty).map(|text| parse(&text).unwrap()).collect()
}

fn answer(history: &History, promise: Promise, clock_skew: i64) -> Option<bool> {
    check(history, promise, &Options { clock_skew, ..Options::default() }).holds()
}

fn answers(history: &History) -> Vec<Option<bool>> {
    all_promises().map(|promise| answer(history, promise, 0)).collect()
}

/// The same things in another order.
fn shuffled<T>(rng: &mut Rng, mut items: Vec<T>) -> Vec<T> {
    for i in (1..items.len()).rev() {
        items.swap(i, rng.below(i + 1));
    }
    items
}

// ---- what does not matter ----

/// A change that must not matter.
struct Change {
    name: &'static str,
    /// Whether the transactions keep their numbers. Where the order of versions is not known, a serial
    /// execution is searched for in the order of these numbers, and the search may give up: then a
    /// change may find what was not found, or lose it, and only the opposite answer is wrong.
    keeps_numbers: bool,
    apply: fn(&History, &mut Rng, &mut Guise),
}

const SPLIT: &str = "one statement for each operation";
const EVERYTHING: &str = "all of it";

const CHANGES: &[Change] = &[
    Change { name: "nothing", keeps_numbers: true, apply: |_, _, _| {} },
    Change { name: "names of keys", keeps_numbers: true, apply: rename_keys },
    Change { name: "names of values", keeps_numbers: true, apply: rename_values },
    Change { name: SPLIT, keeps_numbers: true, apply: split },
    Change { name: "when the clock began, and its speed", keeps_numbers: true, apply: other_clock },
    Change { name: "numbers of sessions", keeps_numbers: true, apply: renumber_sessions },
    Change { name: "how sessions interleave", keeps_numbers: false, apply: interleave },
    Change { name: "an unrelated transaction", keeps_numbers: false, apply: add_unrelated },
    Change { name: "an aborted transaction", keeps_numbers: false, apply: add_aborted },
    Change { name: "an unknown one nobody saw", keeps_numbers: false, apply: add_unknown },
    Change { name: EVERYTHING, keeps_numbers: false, apply: everything },
];

fn rename_keys(_: &History, rng: &mut Rng, guise: &mut Guise) {
    guise.keys = shuffled(rng, std::mem::take(&mut guise.keys));
}

fn rename_values(_: &History, rng: &mut Rng, guise: &mut Guise) {
    guise.values = Some(rng.below(1000) as i64);
}

/// Statements matter to read committed only, from read atomic up they do not.
fn split(_: &History, _: &mut Rng, guise: &mut Guise) {
    guise.split = true;
}

/// Without skew, only the order of the times counts.
fn other_clock(_: &History, rng: &mut Rng, guise: &mut Guise) {
    guise.times = (rng.between(1, 9) as i64, rng.below(1000) as i64 - 500);
}

fn renumber_sessions(_: &History, rng: &mut Rng, guise: &mut Guise) {
    guise.sessions = shuffled(rng, std::mem::take(&mut guise.sessions));
}

/// The sessions' transactions in another order, that of each session as it was.
fn interleave(history: &History, rng: &mut Rng, guise: &mut Guise) {
    let whose = guise.order.iter().map(|t| history.txn(*t).session()).collect();
    let mut next: Vec<usize> = vec![0; history.session_count()];
    guise.order = shuffled(rng, whose)
        .into_iter()
        .map(|session: SessionId| {
            next[session.index()] += 1;
            history.session(session)[next[session.index()] - 1]
        })
        .collect();
}

/// An interval that lies before nothing and after nothing.
fn always(history: &History) -> Interval {
    let sides = history.txns().flat_map(|t| [t.interval().begin, t.interval().end]);
    let times: Vec<i64> = sides.flatten().collect();
    let (first, last) = (times.iter().min().unwrap_or(&0), times.iter().max().unwrap_or(&0));
    Interval::new(first - 1, last + 1)
}

/// A key and a session of its own. Where nobody has an interval this one has, which does not help.
fn add_unrelated(history: &History, rng: &mut Rng, guise: &mut Guise) {
    let from_end = rng.below(history.txn_count() + 1);
    let (outcome, interval) = (Outcome::Committed, always(history));
    guise.added.push(Added { from_end, session: None, key: None, outcome, interval });
}

/// A value of its own, under any key, in any session, at any time.
fn add_aborted(history: &History, rng: &mut Rng, guise: &mut Guise) {
    let from_end = rng.below(history.txn_count() + 1);
    let session = Some(guise.sessions[rng.below(guise.sessions.len())]).filter(|_| rng.percent(70));
    let key = Some(rng.below(guise.keys.len())).and_then(|i| guise.keys.get(i).copied());
    let begin = rng.below(60) as i64;
    let interval = Interval::new(begin, begin + rng.below(20) as i64);
    guise.added.push(Added { from_end, session, key, outcome: Outcome::Aborted, interval });
}

/// The same of unknown outcome: it may be left out.
fn add_unknown(history: &History, rng: &mut Rng, guise: &mut Guise) {
    add_aborted(history, rng, guise);
    if let Some(added) = guise.added.last_mut() {
        added.outcome = Outcome::Unknown;
    }
}

fn everything(history: &History, rng: &mut Rng, guise: &mut Guise) {
    for change in CHANGES.iter().filter(|c| c.name != "all of it") {
        (change.apply)(history, rng, guise);
    }
}

/// How often a change left an answer as it was, and how often not.
#[derive(Default)]
struct Tally {
    same: usize,
    /// Decided, and then not.
    opened: usize,
    /// Not decided, and then decided.
    closed: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn compare(&mut self, change: &Change, seed: u64, before: &Known) {
        let (before, known) = (&before.0, &before.1);
        let mut guise = Guise::of(before);
        (change.apply)(before, &mut Rng::new(seed), &mut guise);
        let after = guise.remake(before);
        for (promise, &old) in all_promises().zip(known) {
            // Statements are what read committed is about.
            let statements = change.name == SPLIT || change.name == EVERYTHING;
            if statements && promise.level == Level::ReadCommitted {
                continue;
            }
            let new = answer(&after, promise, 0);
            let wrong = match (old, new) {
                (Some(_), None) => {
                    self.opened += 1;
                    change.keeps_numbers
                }
                (None, Some(_)) => {
                    self.closed += 1;
                    change.keeps_numbers
                }
                _ => {
                    self.same += usize::from(old == new);
                    old != new
                }
            };
            if wrong {
                self.wrong.push(format!(
                    "{}, seed {seed}, {promise:?}: {old:?}, then {new:?}\n{}\n{}",
                    change.name,
                    shown(before),
                    shown(&after)
                ));
            }
        }
    }
}

fn shown(history: &History) -> String {
    if history.txn_count() > 30 { "a larger one".to_owned() } else { to_text(history) }
}

/// A history and what the checker says of it.
type Known = (History, Vec<Option<bool>>);

fn none_matters(histories: impl Iterator<Item = History>, what: &str) {
    let asked = |history| {
        let answers = answers(&history);
        (history, answers)
    };
    let histories: Vec<Known> = histories.map(asked).collect();
    let mut wrong = Vec::new();
    for change in CHANGES {
        let mut tally = Tally::default();
        for (seed, history) in (0..).zip(&histories) {
            tally.compare(change, seed, history);
        }
        let Tally { same, opened, closed, wrong: cases } = tally;
        eprintln!(
            "{what}, {}: {same} the same, {opened} opened, {closed} closed, {} wrong",
            change.name,
            cases.len()
        );
        wrong.extend(cases.into_iter().take(2));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_does_not_matter_to_tiny_histories() {
    none_matters((0..rounds()).map(tiny), "tiny");
}

#[test]
fn what_does_not_matter_to_larger_histories() {
    none_matters(larger().into_iter(), "larger");
}

#[test]
fn the_guise_of_a_history_is_that_history() {
    for seed in 0..1000 {
        let history = tiny(seed);
        let mut guise = Guise::of(&history);
        let twice = guise.remake(&guise.remake(&history));
        assert_eq!(to_text(&guise.remake(&history)), to_text(&twice), "seed {seed}");
        // And another one is another.
        if history.op_count() > 0 {
            guise.values = Some(1);
            guise.keys.reverse();
            assert!(to_text(&guise.remake(&history)) != to_text(&history), "seed {seed}");
        }
    }
}

// ---- more and less ----

/// Whether one promise contains the other.
fn stronger(a: Promise, b: Promise) -> bool {
    a.level.implies(b.level) && (a.session_order || !b.session_order)
}

/// A stronger promise never holds where a weaker one is broken. Where it holds and the weaker one is
/// left open, the checker could have known better; these are counted.
fn weaker_holds(histories: &[History], what: &str) {
    let (mut pairs, mut open) = (0, 0);
    for (seed, history) in histories.iter().enumerate() {
        let answers: Vec<_> = all_promises().zip(answers(history)).collect();
        for (a, strong) in &answers {
            for (b, weak) in answers.iter().filter(|(b, _)| a != b && stronger(*a, *b)) {
                pairs += 1;
                open +=
                    usize::from(matches!((strong, weak), (Some(true), None) | (None, Some(false))));
                let flipped = (*strong, *weak) == (Some(true), Some(false));
                assert!(!flipped, "{what} {seed}: {a:?} holds, {b:?} does not\n{}", shown(history));
            }
        }
    }
    eprintln!("{what}: {pairs} pairs of promises, {open} of them half open");
}

#[test]
fn a_stronger_promise_never_holds_where_a_weaker_one_is_broken() {
    let histories: Vec<History> = (0..rounds()).map(tiny).collect();
    weaker_holds(&histories, "tiny");
    weaker_holds(&larger(), "larger");
}

const SKEWS: [i64; 5] = [0, 1, 5, 20, 1_000_000];

/// The answers to what needs real time, at several skews.
fn at_skews(history: &History) -> impl Iterator<Item = (Promise, [Option<bool>; SKEWS.len()])> {
    let timed = promises().filter(|p| p.level.needs_real_time());
    timed.map(move |promise| (promise, SKEWS.map(|skew| answer(history, promise, skew))))
}

/// A larger skew takes dependencies away and adds none.
fn skew_forgives(histories: &[History], what: &str) {
    let (mut compared, mut forgiven) = (0, 0);
    for (seed, history) in histories.iter().enumerate() {
        for (promise, skews) in at_skews(history) {
            compared += skews.len();
            forgiven += usize::from(skews[0] == Some(false) && skews[4] != Some(false));
            let decided: Vec<bool> = skews.into_iter().flatten().collect();
            let shown = || shown(history);
            assert!(decided.is_sorted(), "{what} {seed}: {promise:?} {skews:?}\n{}", shown());
        }
    }
    eprintln!("{what}: {compared} answers at several skews, {forgiven} violations forgiven");
    assert!(forgiven > 0);
}

#[test]
fn a_larger_skew_never_breaks_a_promise() {
    let histories: Vec<History> = (0..rounds()).map(tiny).collect();
    skew_forgives(&histories, "tiny");
    skew_forgives(&larger(), "larger");
}

/// In an event log the position is the clock, and positions are not skewed.
#[test]
fn skew_means_nothing_in_an_event_log() {
    let mut wrong = Vec::new();
    for seed in (0..rounds()).filter(|seed| seed.is_multiple_of(EVENTS)) {
        let history = tiny(seed);
        for (promise, skews) in at_skews(&history) {
            if skews.iter().any(|s| *s != skews[0]) {
                let text = shown(&history);
                wrong.push(format!("{promise:?}, skews {SKEWS:?}: {skews:?}\n{text}"));
            }
        }
    }
    wrong.sort_by_key(String::len);
    assert!(wrong.is_empty(), "{} times, the shortest:\n{}", wrong.len(), wrong[0]);
}

/// The laws above would hold for a checker that knows nothing.
#[test]
fn every_answer_occurs() {
    let (mut held, mut broken, mut open) = (0, 0, 0);
    for seed in 0..1000 {
        for answer in answers(&tiny(seed)) {
            match answer {
                Some(true) => held += 1,
                Some(false) => broken += 1,
                None => open += 1,
            }
        }
    }
    eprintln!("{held} hold, {broken} are violated, {open} are open");
    assert!(held > 1000 && broken > 1000 && open > 100);
}
