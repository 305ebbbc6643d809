//! Planted anomalies: each of the fourteen, inside large random histories, is found at exactly the
//! levels that forbid that form, under its name.
//!
//! How they are planted, and why nothing else is wrong with these histories: `made/simulate.rs`. What
//! is planted: `made/plants.rs`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use isolde_check::{Options, check};
use isolde_history::notation::parse;
use isolde_history::{History, Op, OpKind, Value};
use isolde_spec::{Anomaly, Answer, Edges, Finding, Promise, Step, Witness};

use crate::made::plants::{self, Plant};
use crate::made::simulate::{Scene, Soil, Style, clean, planted};
use crate::made::{promises, weak_promises};
use crate::twin;

/// What was checked, and what was wrong.
#[derive(Default)]
struct Tally {
    histories: usize,
    transactions: usize,
    verdicts: usize,
    /// By the plant.
    wrong: BTreeMap<String, Vec<String>>,
}

impl Tally {
    /// Plants an anomaly into a history of that size, and asks for every level.
    fn plant(&mut self, seed: u64, txns: usize, plant: &Plant, soil: Soil) {
        let text = planted(seed, &Scene::of(plant.style(), txns), plant, soil);
        let history = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        self.histories += 1;
        self.transactions += history.txn_count();
        for promise in promises() {
            self.verdicts += 1;
            if let Err(why) = judge(&history, plant, promise) {
                let lines: Vec<&str> = text.lines().filter(|line| line.contains(" P")).collect();
                let case = format!(
                    "seed {seed}, {txns} transactions, {soil:?}, {promise:?}: {why}\n{}\n",
                    lines.join("\n"),
                );
                let name = format!("{} ({})", plant.name, plant.form);
                self.wrong.entry(name).or_default().push(case);
            }
        }
    }

    fn finish(self, what: &str) {
        let Tally { histories, transactions, verdicts, wrong } = self;
        let failed = wrong.values().map(Vec::len).sum::<usize>();
        eprintln!(
            "{what}: {histories} histories, {transactions} transactions, {verdicts} verdicts, {failed} wrong"
        );
        // One of each is enough to read.
        let examples: Vec<String> = wrong
            .iter()
            .map(|(plant, cases)| format!("{plant}, {} times\n{}", cases.len(), cases[0]))
            .collect();
        assert!(wrong.is_empty(), "{}", examples.join("\n"));
    }
}

/// Whether the checker says of a history with one plant what it must.
fn judge(history: &History, plant: &Plant, promise: Promise) -> Result<(), String> {
    let answer = check(history, promise, &Options::default()).answer;
    let witnesses = match (&answer, plant.forbidden_by(promise)) {
        (Answer::Holds, false) => return Ok(()),
        (Answer::Violated(witnesses), true) => witnesses,
        _ => return Err(format!("{answer:?}")),
    };
    let Some(first) = witnesses.first() else { return Err("no witness".to_owned()) };
    let expected = plant.anomaly(promise.session_order);
    if first.anomaly != expected {
        return Err(format!("it is called {}", first.anomaly));
    }
    named(history, plant, first)?;
    // Later witnesses may use orders that follow only from much else.
    for step in &first.steps {
        explains(history, step).map_err(|why| format!("{why}: {step:?}"))?;
    }
    needs(plant, promise, first)?;
    // A wrong list makes others wrong that came after it; a wrong read of a register does not.
    if plant.style() == Style::Mini
        && let Some(other) = witnesses.iter().find(|w| numbers(history, w).is_none())
    {
        return Err(format!("a witness names others: {other:?}"));
    }
    Ok(())
}

/// The numbers of the planted transactions that a witness names; `None` if it names others.
fn numbers(history: &History, witness: &Witness) -> Option<String> {
    let number = |label| history.pool().as_text(label)?.strip_prefix('P').map(str::to_owned);
    let txns = witness.txns.iter().map(|txn| history.txn(*txn).label().and_then(number));
    txns.collect::<Option<Vec<String>>>().map(|numbers| numbers.concat())
}

/// A witness is the smallest piece of the history that proves the violation. The planted cycles have no
/// shorter one inside, so all of their transactions are in it and no other; of what is wrong inside a
/// transaction, that transaction must be, and those whose values it read may be.
fn named(history: &History, plant: &Plant, witness: &Witness) -> Result<(), String> {
    let found = numbers(history, witness).ok_or_else(|| format!("it names others: {witness:?}"))?;
    let all_that_must = plant.named.chars().all(|n| found.contains(n));
    let none_that_may_not =
        found.chars().all(|n| (plant.named.contains(n)) || plant.beside.contains(n));
    if all_that_must && none_that_may_not {
        return Ok(());
    }
    Err(format!("it names {found}, not {}", plant.named))
}

/// A witness says that it needs session order or real time if and only if it does.
fn needs(plant: &Plant, promise: Promise, witness: &Witness) -> Result<(), String> {
    let right = match plant.needs_order(promise) {
        false => witness.needs == Edges::NONE,
        true if !promise.session_order => witness.needs == Edges::RT,
        true if !promise.level.needs_real_time() => witness.needs == Edges::SO,
        // Both may show it.
        true => witness.needs != Edges::NONE,
    };
    if right { Ok(()) } else { Err(format!("it needs {:?}", witness.needs)) }
}

/// Whether the operations of a step show what it says, as far as can be told from the two alone.
fn explains(history: &History, step: &Step) -> Result<(), &'static str> {
    let (Some(from), Some(to)) = (step.because.from_op, step.because.to_op) else {
        let shown = !(Edges::SO | Edges::RT).contains(step.kind);
        return if shown { Err("a dependency without operations") } else { Ok(()) };
    };
    if history.txn_of(from) != step.from || history.txn_of(to) != step.to {
        return Err("the operations are of other transactions");
    }
    let (from, to) = (history.op(from), history.op(to));
    if from.key() != to.key() || step.because.key != Some(from.key()) {
        return Err("the operations are of different keys");
    }
    // What a read returned: a list holds every version up to the one it is from.
    let returned = |read: Op<'_>, write: Op<'_>| match read.elements() {
        Some(elements) => elements.contains(&write.value()),
        None => read.value() == write.value(),
    };
    let right = match step.kind {
        Edges::WR => from.kind().writes() && !to.kind().writes() && returned(to, from),
        Edges::WW => from.kind().writes() && to.kind().writes() && overwrote(history, from, to),
        Edges::RW => !from.kind().writes() && to.kind().writes() && !returned(from, to),
        _ => false,
    };
    if right { Ok(()) } else { Err("the operations do not show the dependency") }
}

/// Whether the history shows that one version came after the other: in the order that the recorder
/// gave, in a list, or because the writer of the second had read the first.
fn overwrote(history: &History, from: Op<'_>, to: Op<'_>) -> bool {
    let (old, new) = (from.value(), to.value());
    let in_order = |versions: &[Value]| {
        let at = |value| versions.iter().position(|v| *v == value);
        // What a list does not show comes after what it does.
        at(old).is_some_and(|old| at(new).is_none_or(|new| old < new))
    };
    let orders = history.version_orders().iter();
    let mut given = orders.filter(|(key, _)| *key == to.key()).map(|(_, versions)| versions);
    let reads = history.ops().filter(|op| op.key() == to.key());
    let longest = reads.filter_map(|op| op.elements()).max_by_key(|elements| elements.len());
    let mut read = history.txn(history.txn_of(to.id())).ops().filter(|op| op.key() == to.key());
    given.any(|versions| in_order(versions))
        || longest.is_some_and(in_order)
        || read.any(|op| op.kind() == OpKind::Read && op.value() == old)
}

/// How many seeds for each plant in small histories; `ISOLDE_TWIN` asks for more.
fn seeds() -> u64 {
    let asked: Option<u64> = std::env::var("ISOLDE_TWIN").ok().and_then(|n| n.parse().ok());
    asked.map_or(4, |n| n / 800)
}

fn plant_all(plants: &[Plant], txns: usize, what: &str) {
    let mut tally = Tally::default();
    for (seed, plant) in (0..).zip(plants) {
        for &soil in plant.soil {
            tally.plant(seed, txns, plant, soil);
        }
    }
    tally.finish(what);
}

#[test]
fn the_fourteen_as_mini_transactions() {
    plant_all(plants::FOURTEEN, 3000, "the fourteen, mini-transactions");
}

#[test]
fn the_fourteen_with_lists() {
    plant_all(plants::FOURTEEN_LISTS, 3000, "the fourteen, lists");
}

#[test]
fn other_cycles() {
    plant_all(plants::CYCLES, 800, "cycles");
}

#[test]
fn blind_writes() {
    plant_all(plants::BLIND, 800, "blind writes");
}

#[test]
fn unknown_outcomes() {
    plant_all(plants::UNKNOWN, 800, "unknown outcomes");
}

#[test]
fn what_only_lists_show() {
    plant_all(plants::LISTS, 800, "lists");
}

#[test]
fn what_session_order_and_real_time_show() {
    plant_all(plants::ORDERS, 800, "session order and real time");
}

#[test]
fn in_very_large_histories() {
    let mut tally = Tally::default();
    let of = |table: &'static [Plant], name: &str| {
        table.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no {name}"))
    };
    tally.plant(20, 20_000, of(plants::FOURTEEN, "WriteSkew"), Soil::Used);
    tally.plant(21, 10_000, of(plants::FOURTEEN, "LongFork"), Soil::Used);
    tally.plant(22, 10_000, of(plants::FOURTEEN_LISTS, "CausalityViolation"), Soil::Used);
    tally.finish("very large");
}

/// Small ones are quick, so there can be many: each plant in many places.
#[test]
fn in_many_small_histories() {
    let mut tally = Tally::default();
    for plant in plants::all() {
        for seed in 0..seeds() {
            for &soil in plant.soil {
                tally.plant(100 + seed, 30 + 10 * (seed as usize % 8), plant, soil);
            }
        }
    }
    tally.finish("many small");
}

#[test]
fn histories_without_a_plant_hold() {
    for (style, txns) in
        [(Style::Mini, 5000), (Style::Lists, 3000), (Style::Mini, 100), (Style::Lists, 100)]
    {
        for seed in 0..(5000 / txns).min(20) as u64 {
            let history = parse(&clean(seed, &Scene::of(style, txns))).unwrap();
            for promise in promises() {
                let answer = check(&history, promise, &Options::default()).answer;
                assert_eq!(answer, Answer::Holds, "{style:?}, seed {seed}, {promise:?}");
            }
        }
    }
}

/// The table says of each recipe what the definitions say, taken literally.
#[test]
fn the_table_agrees_with_the_definitions() {
    for plant in plants::all() {
        let text = planted(1, &Scene::of(plant.style(), 0), plant, Soil::Fresh);
        let history = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        for promise in promises() {
            let holds = twin::decide(&history, promise, 0);
            assert_eq!(holds, Some(!plant.forbidden_by(promise)), "{promise:?}\n{text}");
        }
    }
}

/// Below snapshot isolation, a plant is found where the twin forbids it, and nowhere else; and its
/// name is that of the plant, if the level forbids what is called so.
#[test]
fn at_weak_levels() {
    let (mut verdicts, mut wrong) = (0, Vec::new());
    for (seed, plant) in plants::all().enumerate() {
        let text = planted(1, &Scene::of(plant.style(), 0), plant, Soil::Fresh);
        let alone = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        for soil in plant.soil {
            let text = planted(seed as u64, &Scene::of(plant.style(), 300), plant, *soil);
            let history = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            for promise in weak_promises() {
                verdicts += 1;
                let expected = twin::decide(&alone, promise, 0);
                let verdict = check(&history, promise, &Options::default());
                let anomaly = plant.anomaly(promise.session_order);
                let name = verdict.witnesses().first().map(|w| w.anomaly);
                let named = name.is_none_or(|name| {
                    let forbidden = name.forbidden_at(promise.level);
                    forbidden && (name == anomaly || !anomaly.forbidden_at(promise.level))
                });
                if verdict.holds() != expected || !named {
                    wrong.push(format!(
                        "{} ({}) {promise:?}: the twin says {expected:?}, {:?}\n{}",
                        plant.name,
                        plant.form,
                        verdict.answer,
                        plant.recipe.join("\n")
                    ));
                }
            }
        }
    }
    eprintln!("weak levels: {verdicts} verdicts, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong[..wrong.len().min(12)].join("\n"));
}

/// All fourteen are planted, each as registers and as lists, and the catalogue does not contradict the
/// table: a level that allows the anomaly in general allows every form of it.
#[test]
fn the_table_is_complete() {
    for table in [plants::FOURTEEN, plants::FOURTEEN_LISTS] {
        let mut names: Vec<Anomaly> = table.iter().map(|p| p.anomaly(true)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 14);
    }
    let anomalies: Vec<Anomaly> = plants::all().map(|p| p.anomaly(true)).collect();
    // These are found at their own levels only, which are not of this table.
    let elsewhere = [Anomaly::PrefixViolation, Anomaly::NotLinearizable];
    // What timestamps alone show is planted by `isolde_workload::simulate::TimestampFault`, what intervals alone
    // show in the traces of the stream's tests.
    let by_values = isolde_spec::CATALOGUE.iter().filter(|e| {
        let alone = [Finding::Timestamps, Finding::Snapshots, Finding::Intervals, Finding::Told];
        !alone.contains(&e.finding)
    });
    for entry in by_values.filter(|e| !elsewhere.contains(&e.anomaly)) {
        assert!(anomalies.contains(&entry.anomaly), "{} is not planted", entry.name);
    }
    for plant in plants::all() {
        for promise in promises().filter(|p| !plant.anomaly(true).forbidden_at(p.level)) {
            assert!(!plant.forbidden_by(promise), "{} at {}", plant.name, promise.level);
        }
    }
}
