//! The brute-force twin: the definitions of levels.md taken literally, for tiny histories.
//!
//! It enumerates everything that nobody knows: whether operations without an answer were done
//! ([`model`]), who wrote an ambiguous value and with that which unknown outcomes committed
//! ([`explain`]), and the commit order ([`order`]). A level holds if **some** choice satisfies it,
//! and is violated if none does; so ambiguity alone is never a violation and never `None`.
//!
//! Where levels.md leaves a choice, the twin takes the one that never raises a false alarm:
//!
//! - Session order "counts at every level from read committed up", so not at `pl-2`,
//!   `cursor-stability` and `repeatable-read`, which do not imply read committed.
//! - A ThinAirRead is forbidden "at `pl-2`, `cursor-stability` and `repeatable-read`, too, like G1a and
//!   G1b".
//! - "Two committed transactions that read the same version of a list and both extended it": a read
//!   after the own append counts if there is none before it.
//! - "Lost update on a single key" is P4: the reader overwrites x, and somebody else's x stands
//!   between. Only the last external read of x before the first own write of x that stands counts,
//!   because an update that follows a second look loses nothing.
//! - Two different reads of a key are forbidden "from read atomic up", and at `repeatable-read`,
//!   where they are a G2-item.
//! - Inside a statement the operations are a list: own writes bind the reads that stand after them.
//!   Only reads "have no order among themselves".
//! - Reads that a rollback to a savepoint undid were still made, and count.
//! - The skew does not apply to event logs, where the position is the clock.
//! - Intervals are there if any transaction has a side of one; a missing side gives no real time.
//!
//! Predicate reads ([`predicates`]) are sets of ordinary reads, as far as one knows what they saw;
//! where one does not, a level that would hold is `None`, and a violation stays one.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part of the twin")]

pub mod calls;
pub mod explain;
pub mod lists;
pub mod model;
pub mod order;
pub mod permutations;
pub mod predicates;
pub mod random;
pub mod ratchet;
pub mod swarm;
pub mod versions;

use isolde_history::{Clock, History, Outcome, Value};
use isolde_spec::{Level, Promise};

use explain::{Explained, Explanation, Origin};
use model::{Content, Model};
use order::{Binding, Dependency, MAX_NODES, Nodes, Problem};

/// Whether the promise was kept; `None` where levels.md says that it is `Unknown`, and where nobody
/// knows what a predicate read saw.
///
/// # Panics
/// If more than eight transactions take part, or a key is both a list and a register.
pub fn decide(history: &History, promise: Promise, skew: i64) -> Option<bool> {
    decide_with(history, promise, skew, &mut Problem::solvable)
}

/// The same by version orders and cycles; `Err` if there are too many version orders.
pub fn decide_by_cycles(
    history: &History,
    promise: Promise,
    skew: i64,
) -> Result<Option<bool>, &'static str> {
    let mut too_many = false;
    let answer = decide_with(history, promise, skew, &mut |problem| {
        let solvable = versions::solvable(problem);
        too_many |= solvable.is_none();
        solvable.unwrap_or(false)
    });
    if too_many { Err("too many version orders") } else { Ok(answer) }
}

/// Answers whether an explanation can be put in order.
type Solver<'s> = &'s mut dyn FnMut(&Problem) -> bool;

fn decide_with(history: &History, promise: Promise, skew: i64, solver: Solver<'_>) -> Option<bool> {
    assert!(!promise.level.of_operations(), "the twin has no objects");
    if promise.level.needs_real_time() && !has_intervals(history) {
        return without_intervals(history, promise, solver);
    }
    let unsure = model::unsure_ops(history);
    assert!(unsure <= 8, "too many operations without an answer");
    // In an event log the position is the clock, and positions are not skewed.
    let skew = if history.meta().clock == Clock::Events { 0 } else { skew };
    let question = Question { promise, skew };
    let mut best = Some(false);
    for done in 0..1 << unsure {
        let model = Model::new(history, done);
        explain::any_explanation(&model, &mut |explanation| {
            match question.answer(explanation, solver) {
                Some(false) => {}
                answer => best = if best == Some(true) { best } else { answer },
            }
            best == Some(true)
        });
    }
    best
}

fn has_intervals(history: &History) -> bool {
    history.txns().any(|t| !t.interval().is_empty())
}

/// "Without intervals, strict serializability and strong SI are `Unknown` unless a weaker level
/// already fails."
fn without_intervals(history: &History, promise: Promise, solver: Solver<'_>) -> Option<bool> {
    let level = match promise.level {
        Level::StrictSerializable => Level::Serializable,
        _ => Level::SnapshotIsolation,
    };
    decide_with(history, Promise { level, ..promise }, 0, solver).filter(|holds| !holds)
}

/// What is asked of an explanation.
struct Question {
    promise: Promise,
    skew: i64,
}

impl Question {
    fn answer(&self, explanation: &Explanation<'_>, solver: Solver<'_>) -> Option<bool> {
        let level = self.promise.level;
        let unexplained = origin_in(explanation, Origin::Nowhere);
        if self.breaks_a_local_rule(explanation) {
            return Some(false);
        }
        let Some(problem) = self.problem(explanation) else { return Some(false) };
        if !solver(&problem) {
            return Some(false);
        }
        // "In an incomplete one a read with no known writer is `Unknown`, not thin air."
        let matters = level != Level::ReadUncommitted && !explanation.model.complete;
        let undecided = explanation.txns.iter().any(|t| explanation.model.txns[*t].undecided);
        (!(unexplained && matters || undecided)).then_some(true)
    }

    /// The rules about single transactions and about who may be read from.
    fn breaks_a_local_rule(&self, explanation: &Explanation<'_>) -> bool {
        let level = self.promise.level;
        let model = explanation.model;
        // "Inside a transaction, at every level"; a future read is one of those rules.
        let broken = explanation.txns.iter().any(|t| model.txns[*t].broken);
        if broken || origin_in(explanation, Origin::Future) || lists::has_duplicates(explanation) {
            return true;
        }
        // G1a and G1b, which `pl-2` and all above it forbid.
        let intermediate = |e: &Explained<'_>| lists::is_intermediate(explanation, e);
        let dirty =
            origin_in(explanation, Origin::Dirty) || explanation.reads.iter().any(intermediate);
        if dirty && level.implies(Level::Pl2) {
            return true;
        }
        // "Reads from nowhere": a value that no transaction wrote.
        let thin_air = model.complete && origin_in(explanation, Origin::Nowhere);
        if thin_air && level.implies(Level::Pl2) {
            return true;
        }
        if level == Level::CursorStability && lists::extended_twice(explanation) {
            return true;
        }
        // Rows that a predicate read did not return are no items: "not at `repeatable-read`".
        let of_items = |reads: &[model::Read]| -> Vec<model::Read> {
            reads.iter().filter(|read| !read.missing).cloned().collect()
        };
        let mut txns = explanation.txns.iter().map(|t| &model.txns[*t].reads);
        match level {
            Level::RepeatableRead => txns.any(|reads| reads_differ(&of_items(reads))),
            _ => level.implies(Level::ReadAtomic) && txns.any(|reads| reads_differ(reads)),
        }
    }

    /// The question about commit orders; `None` if lists contradict each other.
    fn problem(&self, explanation: &Explanation<'_>) -> Option<Problem> {
        let level = self.promise.level;
        let nodes = explanation.txns.len() + 1;
        assert!(nodes <= MAX_NODES, "the twin takes eight transactions at most");
        let mut before: Vec<Nodes> = vec![0; nodes];
        // "`co` contains version orders fixed by lists or by the recorder at every level."
        let recorded = recorded_order(explanation);
        for (a, b) in lists::fixed_order(explanation)?.into_iter().chain(recorded) {
            before[node(explanation, b)?] |= 1 << node(explanation, a)?;
        }
        let mut reads = vec![Vec::new(); nodes];
        let mut links: Vec<Nodes> = vec![0; nodes];
        if level.implies(Level::Pl2) {
            for explained in &explanation.reads {
                let Some(from) = node(explanation, explained.from()) else { continue };
                let to = node(explanation, Origin::Txn(explained.txn))?;
                links[to] |= 1 << from;
                reads[to].push(dependency(explanation, explained, from, level));
            }
        }
        if self.promise.session_order && level.implies(Level::ReadCommitted) {
            add_pairs(explanation, &mut links, session_order);
        }
        if level.needs_real_time() {
            add_pairs(explanation, &mut links, |model, a, b| self.real_time(model, a, b));
        }
        for (all, more) in before.iter_mut().zip(&links) {
            *all |= more;
        }
        let writers = writers(explanation);
        Some(Problem { binding: binding(level), before, links, reads, writers })
    }

    /// "End + skew < begin."
    fn real_time(&self, model: &Model, a: usize, b: usize) -> bool {
        match (model.txns[a].end, model.txns[b].begin) {
            (Some(end), Some(begin)) => i128::from(end) + i128::from(self.skew) < i128::from(begin),
            _ => false,
        }
    }
}

/// What of the table belongs to a level. Adya's levels ask for version orders without certain
/// cycles; a topological order of the acyclic graph is a commit order, and version orders that are
/// taken from a commit order have no cycles either, so that the search is the same:
/// read uncommitted, ww is acyclic; `pl-2`, ww and wr are; `repeatable-read`, ww, wr and rw are.
fn binding(level: Level) -> Binding {
    match level {
        Level::ReadUncommitted | Level::Pl2 => Binding::Nothing,
        Level::ReadCommitted => Binding::EarlierStatements,
        Level::CursorStability => Binding::Overwritten,
        Level::ReadAtomic => Binding::Linked,
        Level::Causal => Binding::Path,
        Level::Prefix => Binding::Prefix,
        Level::SnapshotIsolation | Level::StrongSnapshotIsolation => Binding::PrefixAndConflicts,
        Level::RepeatableRead
        | Level::Serializable
        | Level::StrictSerializable
        | Level::Sequential
        | Level::Linearizable => Binding::Everything,
    }
}

fn origin_in(explanation: &Explanation<'_>, origin: Origin) -> bool {
    explanation.reads.iter().any(|e| e.origins.contains(&origin))
}

/// "Two reads of one key with no own write between."
fn reads_differ(reads: &[model::Read]) -> bool {
    reads.iter().any(|a| {
        let same = |b: &&model::Read| (b.key, b.own_writes_before) == (a.key, a.own_writes_before);
        reads.iter().filter(same).any(|b| a.seen != b.seen)
    })
}

/// The node of the initial transaction or of one that takes part.
fn node(explanation: &Explanation<'_>, origin: Origin) -> Option<usize> {
    match origin {
        Origin::Initial => Some(0),
        Origin::Txn(t) => explanation.txns.iter().position(|u| *u == t).map(|i| i + 1),
        Origin::Dirty | Origin::Future | Origin::Nowhere => None,
    }
}

fn dependency(
    explanation: &Explanation<'_>,
    explained: &Explained<'_>,
    from: usize,
    level: Level,
) -> Dependency {
    let facts = &explanation.model.txns[explained.txn];
    let read = explained.read;
    let first_write = facts.first_writes.iter().find(|(key, _)| *key == read.key);
    // An update that follows a second look loses nothing.
    let overwritten = first_write.is_some_and(|(_, at)| {
        let later =
            |r: &&model::Read| r.key == read.key && r.position > read.position && !r.missing;
        let looks = facts.reads.iter().filter(later);
        read.position <= *at && !looks.into_iter().any(|r| r.position <= *at)
    });
    let bound = !read.missing || level.implies(Level::ReadAtomic);
    Dependency { key: read.key, from, statement: read.statement, overwritten, bound }
}

fn add_pairs(
    explanation: &Explanation<'_>,
    links: &mut [Nodes],
    related: impl Fn(&Model, usize, usize) -> bool,
) {
    for (i, &a) in explanation.txns.iter().enumerate() {
        for (j, &b) in explanation.txns.iter().enumerate() {
            if a != b && related(explanation.model, a, b) {
                links[j + 1] |= 1 << (i + 1);
            }
        }
    }
}

/// "Session order enters it (an unknown outcome) and never leaves it, while its predecessor still
/// precedes its successor": all pairs of a session, except those that start at an unknown outcome.
fn session_order(model: &Model, a: usize, b: usize) -> bool {
    let (first, second) = (&model.txns[a], &model.txns[b]);
    a < b && first.session == second.session && first.outcome == Outcome::Committed
}

fn writers(explanation: &Explanation<'_>) -> Vec<Nodes> {
    let keys = 0..explanation.model.initial.len();
    let of_key = |key: usize| {
        let txns = explanation.txns.iter().enumerate();
        let writing = txns.filter(|(_, t)| explanation.model.txns[**t].left(key).is_some());
        writing.fold(1, |all: Nodes, (i, _)| all | 1 << (i + 1))
    };
    keys.map(of_key).collect()
}

/// Consecutive versions of the recorder's orders. A version with more than one possible writer, or
/// with none that takes part, says nothing.
fn recorded_order(explanation: &Explanation<'_>) -> Vec<(Origin, Origin)> {
    let mut pairs = Vec::new();
    for (key, versions) in &explanation.model.orders {
        let known: Vec<Origin> =
            versions.iter().filter_map(|v| only_writer(explanation, *key, *v)).collect();
        pairs.extend(known.windows(2).map(|w| (w[0], w[1])).filter(|(a, b)| a != b));
    }
    pairs
}

fn only_writer(explanation: &Explanation<'_>, key: usize, value: Value) -> Option<Origin> {
    let model = explanation.model;
    let is = |content: &Content| match content {
        Content::Value(v) => *v == value,
        Content::List(list) => list.contains(&value),
    };
    let initial = is(&model.initial[key]).then_some(Origin::Initial);
    let writes = |t: &&usize| model.txns[**t].left(key).is_some_and(is);
    let mut all =
        initial.into_iter().chain(explanation.txns.iter().filter(writes).map(|t| Origin::Txn(*t)));
    let first = all.next()?;
    all.next().is_none().then_some(first)
}
