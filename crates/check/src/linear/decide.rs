//! From the promise that operations are linearizable to a verdict.

use isolde_history::{Effect, OpKind, SessionId, TxnId};
use isolde_spec::{Anomaly, Answer, Counted, Level, Procedure, Promise, Verdict, Witness};

use super::call::{self, Call};
use super::chain::{self, Chain, Scratch};
use super::explain;
use super::group;
use super::model::{Limit, Limits};
use super::object::Object;
use super::search::SearchEnd;
use crate::keys::context::Context;
use crate::strong::decide::Case;
use crate::parallel;
use crate::keys::standing::Standing;
use crate::graph::real_time::RealTime;
use crate::explain::hunt;
use crate::keys::wording::Wording;

/// How many steps are tried where intervals are missing: much is possible then, and little is wrong.
const STEPS_WITHOUT_TIME: u64 = 1_000_000;

/// What is known of the objects that were asked.
#[derive(Default)]
pub(crate) struct ObjectAnswers {
    /// Those that cannot be put in order: the number of the object and the stuck call, if it is known.
    violated: Vec<(usize, Option<usize>)>,
    /// Why some may or may not be.
    unknown: Option<String>,
    steps: u64,
    /// How many were decided by their chain of compare-and-set.
    chains: u64,
}

/// Whether the operations of a history are linearizable.
pub(crate) fn decide(case: &Case<'_, '_>) -> Verdict {
    let Some(time) = case.real_time else { return unknown(case, "real time is not known") };
    let alone = KeysApart::of(case, time);
    let Some(why) = alone.not_by_keys else {
        // Lists show the order of their elements, so that the graph decides what a search has to try.
        let lists = case.context().history.op_counts()[OpKind::ListRead as usize] > 0;
        let graph = if lists { by_transactions(case, &alone) } else { None };
        if let Some(holds) = graph.filter(|verdict| verdict.holds() == Some(true)) {
            return holds;
        }
        let asked = by_keys(case, time);
        let why = "it is a local property, and every transaction is one operation";
        // If every key has an order, nothing else can be wrong.
        let wrong = if asked.violated.is_empty() { None } else { contradicts_itself(case) };
        return wrong.unwrap_or_else(|| conclude_keys(case, time, &asked, why));
    };
    if let Some(verdict) = contradicts_itself(case).or_else(|| by_transactions(case, &alone)) {
        return verdict;
    }
    if alone.single {
        let asked = by_keys(case, time);
        if !asked.violated.is_empty() {
            return conclude_keys(case, time, &asked, why);
        }
    }
    group::decide(case, time, &alone, why)
}

/// What is wrong whatever the order.
fn contradicts_itself(case: &Case<'_, '_>) -> Option<Verdict> {
    let mut local = hunt::local(case.checker, case.promise, &case.walk().found);
    if local.witnesses.is_empty() {
        return None;
    }
    let answer = Answer::Violated(std::mem::take(&mut local.witnesses));
    Some(verdict(case, answer, local.counts, "a transaction contradicts itself", 0))
}

/// What stands against asking each key alone.
pub(crate) struct KeysApart {
    /// Whether every transaction is one operation.
    pub(crate) single: bool,
    /// Whether operations failed and thereby saw something.
    pub(crate) failed: bool,
    /// Whether sessions say more than real time.
    pub(crate) sessions: bool,
    /// Whether there are predicate reads.
    pub(crate) predicates: bool,
    not_by_keys: Option<&'static str>,
}

impl KeysApart {
    fn of(case: &Case<'_, '_>, time: &RealTime<'_>) -> KeysApart {
        let context = case.context();
        let history = context.history;
        let counted = |txn: TxnId| context.standings[txn.index()] != Standing::RolledBack;
        let single = history.txns().filter(|t| counted(t.id())).all(|t| t.ops().len() <= 1);
        let failed = history.ops().any(|op| {
            op.effect() == Effect::Failed
                && matches!(op.kind(), OpKind::Cas | OpKind::InsertIfAbsent)
                && counted(history.txn_of(op.id()))
        });
        let sessions = case.promise.session_order && !sessions_follow_time(context, time);
        let predicates = history.op_counts()[OpKind::PredicateRead as usize] > 0;
        let not_by_keys = if !single {
            Some("transactions have several operations")
        } else if predicates {
            Some("there are predicate reads")
        } else if sessions {
            Some("sessions say more than real time")
        } else if !history.version_orders().is_empty() {
            Some("the recorder gave an order of versions")
        } else {
            None
        };
        KeysApart { single, failed, sessions, predicates, not_by_keys }
    }
}

/// Whether every transaction had ended before the next one of its session began.
fn sessions_follow_time(context: &Context<'_>, time: &RealTime<'_>) -> bool {
    let history = context.history;
    (0..history.session_count() as u32).all(|session| {
        let txns = history.session(SessionId(session)).iter();
        let mut ended: Option<TxnId> = None;
        for &txn in txns.filter(|txn| context.standings[txn.index()] != Standing::RolledBack) {
            let interval = |txn: TxnId| call::interval(context, time, txn);
            if ended.is_some_and(|before| interval(before).1 >= interval(txn).0) {
                return false;
            }
            if context.standings[txn.index()] == Standing::Committed {
                ended = Some(txn);
            }
        }
        true
    })
}

/// What the road of transactions says: strict serializability is the same, if every operation counts
/// that saw something.
fn by_transactions(case: &Case<'_, '_>, alone: &KeysApart) -> Option<Verdict> {
    let promise = Promise { level: Level::StrictSerializable, ..case.promise };
    let verdict = case.checker.check(promise);
    let decided = match verdict.holds() {
        Some(holds) => !holds || !alone.failed,
        None => false,
    };
    decided.then_some(Verdict { promise: case.promise, ..verdict })
}

/// Asks every key: by its chain of compare-and-set if it has one, else by trying.
fn by_keys(case: &Case<'_, '_>, time: &RealTime<'_>) -> ObjectAnswers {
    let context = case.context();
    let pieces = context.index.pieces();
    let limits = limits(case);
    let parts = parallel::map(context.index.size, &pieces, |keys| {
        let (mut asked, mut scratch) = (ObjectAnswers::default(), Scratch::default());
        for key in keys.clone() {
            let calls = call::of_key(context, time, key);
            match chain_of(context, key, &calls, &mut scratch) {
                Chain::Linearizable => asked.chains += 1,
                Chain::Violated => asked.violated.push((key, None)),
                Chain::NotApplicable => match Object::new(context, key, calls) {
                    Ok(object) => asked.ask(&object, key, &limits),
                    Err(reason) => asked.unknown = asked.unknown.take().or(Some(reason)),
                },
            }
        }
        asked
    });
    let mut asked = ObjectAnswers::default();
    for part in parts {
        asked.violated.extend(part.violated);
        asked.unknown = asked.unknown.or(part.unknown);
        asked.steps += part.steps;
        asked.chains += part.chains;
    }
    asked
}

/// What the chain of compare-and-set says of a key. It takes the history to be complete.
fn chain_of(context: &Context<'_>, key: usize, calls: &[Call], scratch: &mut Scratch) -> Chain {
    if !context.history.meta().complete || context.explicit_initial {
        return Chain::NotApplicable;
    }
    scratch.decide(calls, context.first_value(key))
}

fn conclude_keys(case: &Case<'_, '_>, time: &RealTime<'_>, asked: &ObjectAnswers, why: &str) -> Verdict {
    let context = case.context();
    conclude(case, asked, why, |key, stuck| {
        let calls = call::of_key(context, time, key);
        let stuck = stuck.or_else(|| chain::first_stuck(&calls, context.first_value(key)))?;
        Some((Object::new(context, key, calls).ok()?, stuck))
    })
}

impl ObjectAnswers {
    /// Asks one object.
    pub(crate) fn ask(&mut self, object: &Object<'_>, at: usize, limits: &Limits) {
        let (found, steps) = object.order(limits);
        self.steps += steps;
        match found {
            SearchEnd::Order(_) => self.unknown = self.unknown.take().or_else(|| object.doubt.clone()),
            SearchEnd::None { stuck } => self.violated.push((at, Some(stuck))),
            SearchEnd::GaveUp(limit) => {
                self.unknown = Some(self.unknown.take().unwrap_or_else(|| gave_up(limit)));
            }
        }
    }
}

/// What the answers for all objects say together.
pub(crate) fn conclude<'h>(
    case: &Case<'_, 'h>,
    asked: &ObjectAnswers,
    why: &str,
    load: impl Fn(usize, Option<usize>) -> Option<(Object<'h>, usize)>,
) -> Verdict {
    let mut counts = Vec::new();
    let answer = if !asked.violated.is_empty() {
        let kept = asked.violated.iter().take(case.checker.options.witnesses);
        let witnesses: Vec<Witness> = kept
            .filter_map(|(at, stuck)| load(*at, *stuck))
            .map(|(object, stuck)| explain::witness(case, &object, stuck))
            .collect();
        let (anomaly, count) = (Anomaly::NotLinearizable, asked.violated.len() as u64);
        let mut positions: Vec<u32> = witnesses.iter().map(|w| w.position() as u32).collect();
        positions.sort_unstable();
        counts.push(Counted { anomaly, count, at_least: false, positions });
        Answer::Violated(witnesses)
    } else if let Some(reason) = &asked.unknown {
        Answer::Unknown(reason.clone())
    } else if let Some(reason) = incomplete(case) {
        Answer::Unknown(reason)
    } else {
        Answer::Holds
    };
    let mut verdict = verdict(case, answer, counts, why, asked.steps);
    if asked.chains > 0 {
        verdict.procedure.figures.push(("compare-and-set chains", asked.chains));
    }
    verdict
}

/// Why real time is not enough to say that there is an order.
pub(crate) fn incomplete(case: &Case<'_, '_>) -> Option<String> {
    let time = case.real_time.filter(|rt| !rt.complete)?;
    let words = Wording(case.context().history);
    Some(match time.contradictions.first() {
        Some(txn) => words.contradiction(*txn),
        None => "not every transaction has an interval, so real time cannot be checked".to_owned(),
    })
}

/// How long to try one object.
pub(crate) fn limits(case: &Case<'_, '_>) -> Limits {
    let options = &case.checker.options;
    let most = if incomplete(case).is_some() { STEPS_WITHOUT_TIME } else { u64::MAX };
    Limits {
        steps: options.order_steps.min(most),
        memory: options.order_memory,
        deadline: options.deadline,
    }
}

pub(crate) fn gave_up(limit: Limit) -> String {
    let (what, option) = match limit {
        Limit::Steps => ("as many steps as it may", "--order-steps"),
        Limit::Memory => ("as much memory as it may", "--order-memory"),
        Limit::Deadline => ("as long as it may", "--timeout"),
    };
    format!("the search for an order of the operations took {what} ({option} gives it more)")
}

fn unknown(case: &Case<'_, '_>, reason: &str) -> Verdict {
    verdict(case, Answer::Unknown(reason.to_owned()), Vec::new(), reason, 0)
}

pub(crate) fn verdict(
    case: &Case<'_, '_>,
    answer: Answer,
    counts: Vec<Counted>,
    why: &str,
    steps: u64,
) -> Verdict {
    let history = case.context().history;
    let figures = vec![
        ("transactions", history.txn_count() as u64),
        ("operations", history.op_count() as u64),
        ("keys", history.key_count() as u64),
        ("steps", steps),
    ];
    let timed = history.txns().any(|t| !t.interval().is_empty());
    let mut evidence = vec!["values".to_owned()];
    evidence.extend(timed.then(|| "client intervals".to_owned()));
    let procedure = Procedure { name: "linearization", evidence, why: why.to_owned(), figures };
    let words = Wording(history);
    let wrong = case.real_time.iter().flat_map(|rt| rt.contradictions.iter().take(10));
    let notes = wrong.map(|txn| format!("{}: not used", words.contradiction(*txn))).collect();
    Verdict { promise: case.promise, answer, counts, notes, procedure }
}

/// Whether single operations can be put in one order that keeps only that of sessions, if that is
/// small enough to try.
pub(crate) fn in_program_order(case: &Case<'_, '_>) -> Option<bool> {
    let context = case.context();
    let many = |t: isolde_history::Txn<'_>| t.ops().len() > 1;
    let given = !context.history.version_orders().is_empty();
    if !case.promise.session_order || given || context.history.txns().any(many) {
        return None;
    }
    let options = &case.checker.options;
    let steps = options.order_steps.min(STEPS_WITHOUT_TIME);
    let limits = Limits { steps, memory: options.order_memory, deadline: options.deadline };
    group::in_program_order(context, &limits)
}
