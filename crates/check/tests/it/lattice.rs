//! All levels together: no answer contradicts another one.
//!
//! A promise holds if one that implies it holds, and is violated if one that it implies is violated;
//! so neither of them may stay open. Levels are asked one by one and together, in several orders, with
//! session order and without: the answers are always the same.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_check::{Checker, Options, check};
use isolde_history::History;
use isolde_history::notation::{parse, to_text};
use isolde_spec::Promise;

use crate::twin::calls::{self, Object};
use crate::twin::random::{self, Rng, Weights};
use crate::twin::ratchet;

/// How many histories are tried; `ISOLDE_LATTICE` asks for more.
fn rounds() -> u64 {
    std::env::var("ISOLDE_LATTICE").ok().and_then(|n| n.parse().ok()).unwrap_or(600)
}

/// A random tiny history: of transactions, or of operations on one kind of object.
fn tiny(seed: u64) -> History {
    let kinds = Object::ALL.len() as u64 + 6;
    match Object::ALL.get((seed % kinds) as usize) {
        Some(object) => parse(&calls::text(seed, *object)).unwrap(),
        None => random::history(seed, &Weights::swarm(seed)),
    }
}

type AnswerTo = (Promise, Option<bool>);
type Answers = Vec<AnswerTo>;

/// All promises, asked of one checker in some order.
fn together(history: &History, order: &[Promise]) -> Answers {
    let checker = Checker::new(history, Options::default());
    let mut answers: Answers = order.iter().map(|p| (*p, checker.check(*p).holds())).collect();
    answers.sort_by_key(|(p, _)| (p.level, p.session_order));
    answers
}

/// All promises, each asked of a checker of its own.
fn one_by_one(history: &History) -> Answers {
    let alone = |p: Promise| (p, check(history, p, &Options::default()).holds());
    let mut answers: Answers = Promise::all().map(alone).collect();
    answers.sort_by_key(|(p, _)| (p.level, p.session_order));
    answers
}

/// The first pair of answers that contradict each other.
fn contradiction(answers: &Answers) -> Option<String> {
    let pairs = answers.iter().flat_map(|a| answers.iter().map(move |b| (a, b)));
    let implied = pairs.filter(|((p, _), (q, _))| p.implies(*q));
    let wrong =
        |(a, b): &(&AnswerTo, &AnswerTo)| a.1 != b.1 && (a.1 == Some(true) || b.1 == Some(false));
    let shown = |(p, a): &AnswerTo| format!("{p:?} {a:?}");
    implied.into_iter().find(wrong).map(|(a, b)| format!("{}, but {}", shown(a), shown(b)))
}

/// What is wrong with the answers to one history, and how many were decided.
fn look(seed: u64) -> (usize, usize, Vec<String>) {
    let history = tiny(seed);
    let alone = one_by_one(&history);
    let mut orders: Vec<Vec<Promise>> = vec![Promise::all().collect()];
    orders.push(orders[0].iter().rev().copied().collect());
    let mut rng = Rng::new(seed);
    let mut shuffled = orders[0].clone();
    for i in (1..shuffled.len()).rev() {
        shuffled.swap(i, rng.below(i + 1));
    }
    orders.push(shuffled);
    let mut wrong: Vec<String> = contradiction(&alone).into_iter().collect();
    for order in &orders {
        let all = together(&history, order);
        wrong.extend(contradiction(&all).map(|w| format!("asked together: {w}")));
        let differ = alone.iter().zip(&all).find(|(a, b)| a != b);
        wrong.extend(differ.map(|(a, b)| format!("alone {a:?}, together {b:?}")));
    }
    let decided = alone.iter().filter(|(_, holds)| holds.is_some()).count();
    let told = |w: String| format!("seed {seed}: {w}\n{}", to_text(&history));
    (decided, alone.len(), wrong.into_iter().map(told).collect())
}

#[test]
fn the_answers_to_all_levels_form_one_lattice_however_they_are_asked() {
    let parts = ratchet::on_all_cores(0..rounds(), |seeds| {
        seeds.map(look).fold((0, 0, Vec::new()), |(decided, asked, mut wrong), more| {
            wrong.extend(more.2);
            (decided + more.0, asked + more.1, wrong)
        })
    });
    let decided: usize = parts.iter().map(|part| part.0).sum();
    let asked: usize = parts.iter().map(|part| part.1).sum();
    let mut wrong: Vec<&String> = parts.iter().flat_map(|part| &part.2).collect();
    eprintln!(
        "{} histories, {asked} questions asked alone and in 3 orders, {decided} decided, {} wrong",
        rounds(),
        wrong.len()
    );
    wrong.sort_by_key(|w| w.len());
    let first: Vec<String> = wrong.iter().take(4).map(|w| (*w).clone()).collect();
    assert!(wrong.is_empty(), "{}", first.join("\n"));
}
