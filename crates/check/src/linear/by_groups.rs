//! Keys that transactions or sessions connect, as one object each.

use hashbrown::HashMap;
use isolde_history::{Effect, OpId, SessionId, TxnId, Value};
use isolde_spec::{Answer, Verdict};

use super::answers::{self, ObjectAnswers};
use super::call::{self, Did};
use super::keys_apart::KeysApart;
use super::links::NONE;
use super::object::{Item, Kind, Object};
use super::search::{SearchEnd, SearchLimits};
use super::several::Steps;
use crate::keys::context::Context;
use crate::keys::standing::Standing;
use crate::keys::wording::Wording;
use crate::question::Question;

/// How many operations a history may have to be searched for an order of transactions.
const MOST_OPERATIONS: usize = 20_000;

/// Asks every group of keys.
pub(crate) fn decide(question: &Question<'_, '_>, apart: &KeysApart, why: &str) -> Verdict {
    let unknown =
        |reason: String| answers::verdict(question, Answer::Unknown(reason), Vec::new(), why, 0);
    let Some(time) = question.real_time else {
        return unknown("real time is not known".to_owned());
    };
    let context = question.context();
    let history = context.history;
    if apart.predicates {
        return unknown("predicate reads are no operations on single objects".to_owned());
    }
    if !history.version_orders().is_empty() {
        let given = "the recorder gave a version order, which does not decide it";
        return unknown(given.to_owned());
    }
    if !history.meta().complete {
        let more = "the history is not complete, and other transactions may explain it";
        return unknown(more.to_owned());
    }
    if history.op_count() > MOST_OPERATIONS {
        return unknown(format!(
            "{why}, and neither the version order decides it nor is the history small enough to \
             try orders"
        ));
    }
    let interval = |txn: TxnId| call::interval(context, time, txn);
    let objects = match groups(context, apart.sessions, interval) {
        Ok(objects) => objects,
        Err(reason) => return unknown(reason),
    };
    let mut asked = ObjectAnswers::default();
    let limits = answers::limits(question);
    for (at, object) in objects.iter().enumerate() {
        asked.ask(object, at, &limits);
    }
    let load = |at: usize, stuck: Option<usize>| {
        let mut all = groups(context, apart.sessions, interval).ok()?;
        (at < all.len()).then(|| all.swap_remove(at)).zip(stuck)
    };
    answers::conclude(question, &asked, why, load)
}

/// The groups of a history.
fn groups<'h>(
    context: &Context<'h>,
    sessions: bool,
    interval: impl Fn(TxnId) -> (i64, i64),
) -> Result<Vec<Object<'h>>, String> {
    let deeds = deeds(context, interval)?;
    let mut union = Union::new(context.history.key_count());
    for deed in &deeds {
        for (key, _) in &deed.steps {
            union.join(deed.steps[0].0, if sessions { deeds[0].steps[0].0 } else { *key });
            union.join(deed.steps[0].0, *key);
        }
    }
    let mut by_root: HashMap<u32, Vec<usize>> = HashMap::new();
    let mut roots = Vec::new();
    for (i, deed) in deeds.iter().enumerate() {
        let root = union.root(deed.steps[0].0);
        let group = by_root.entry(root).or_insert_with(|| {
            roots.push(root);
            Vec::new()
        });
        group.push(i);
    }
    let made = roots.iter().filter_map(|root| by_root.get(root));
    Ok(made.map(|chosen| group(context, &deeds, chosen, sessions)).collect())
}

/// What a transaction did, on keys.
struct Deed {
    item: Item,
    steps: Steps,
}

fn deeds(
    context: &Context<'_>,
    interval: impl Fn(TxnId) -> (i64, i64),
) -> Result<Vec<Deed>, String> {
    let history = context.history;
    let words = Wording(history);
    let mut deeds = Vec::new();
    for txn in history.txns() {
        let standing = context.standing(txn.id());
        if standing == Standing::RolledBack {
            continue;
        }
        let mut steps: Steps = Vec::new();
        let mut first: Option<OpId> = None;
        for op in txn.ops() {
            if context.savepoints.any_in(txn.id()) {
                return Err(format!("{} has savepoints", words.txn(txn.id())));
            }
            let Some(did) = call::what_it_did(&op) else { continue };
            if op.effect() == Effect::Unknown
                && (standing == Standing::Committed || txn.ops().len() > 1)
            {
                return Err(format!("it is not known whether {} was done", words.place(op.id())));
            }
            if matches!(did, Did::Append(_) | Did::ReadList) {
                return Err(format!("{} is on a list", words.place(op.id())));
            }
            if did.written() == Some(Value::UNOBSERVED) {
                return Err(format!("the value of {} was never learned", words.place(op.id())));
            }
            first.get_or_insert(op.id());
            steps.push((op.key().0, did));
        }
        let (Some(op), (begin, end)) = (first, interval(txn.id())) else { continue };
        let certain = standing == Standing::Committed;
        if certain || steps.iter().any(|(_, did)| !did.reads_only()) {
            deeds.push(Deed { item: Item { txn: txn.id(), op, begin, end, certain }, steps });
        }
    }
    Ok(deeds)
}

/// One object of the keys that some transactions touched.
fn group<'h>(
    context: &Context<'h>,
    deeds: &[Deed],
    chosen: &[usize],
    sessions: bool,
) -> Object<'h> {
    let mut registers: HashMap<u32, u32> = HashMap::new();
    let mut initial: Vec<Value> = Vec::new();
    let mut items = Vec::with_capacity(chosen.len());
    let mut calls: Vec<Steps> = Vec::with_capacity(chosen.len());
    for &i in chosen {
        items.push(deeds[i].item);
        let steps = deeds[i].steps.iter().map(|(key, did)| {
            let next = registers.len() as u32;
            let register = *registers.entry(*key).or_insert_with(|| {
                initial.push(context.first_value(*key as usize));
                next
            });
            (register, *did)
        });
        calls.push(steps.collect());
    }
    let after = if sessions { session_order(context, &items) } else { Vec::new() };
    let doubt = (!context.history.meta().complete).then(|| {
        "the history is not complete, so that other transactions may explain it".to_owned()
    });
    Object { items, kind: Kind::Several { initial, calls }, after, doubt }
}

/// What each call has to come after in its session.
fn session_order(context: &Context<'_>, items: &[Item]) -> Vec<u32> {
    let at: HashMap<TxnId, u32> = (0u32..).zip(items).map(|(i, item)| (item.txn, i)).collect();
    let mut after = vec![NONE; items.len()];
    for session in 0..context.history.session_count() as u32 {
        let mut before = NONE;
        for txn in context.history.session(SessionId(session)) {
            let Some(&call) = at.get(txn) else { continue };
            after[call as usize] = before;
            if items[call as usize].certain {
                before = call;
            }
        }
    }
    after
}

/// Whether single operations can be put in one order that keeps only that of sessions, if they are few
/// enough to try: the verdict if they can.
pub(crate) fn in_program_order(question: &Question<'_, '_>, why: &str) -> Option<Verdict> {
    let context = question.context();
    let history = context.history;
    let given = !history.version_orders().is_empty();
    let many = history.op_count() > MOST_OPERATIONS || history.txns().any(|t| t.ops().len() > 1);
    if !question.promise.session_order || given || many {
        return None;
    }
    let (memory, check) = (question.options().order_memory, question.limits());
    let steps = check.steps().min(answers::STEPS_WITHOUT_TIME);
    let deeds = deeds(context, |_| (i64::MIN, i64::MAX)).ok()?;
    let all: Vec<usize> = (0..deeds.len()).collect();
    let object = group(context, &deeds, &all, true);
    let (end, steps) = object.order(&SearchLimits { steps, memory, check });
    let ordered = matches!(end, SearchEnd::Order(_)) && object.doubt.is_none();
    ordered.then(|| {
        let evidence = vec!["values".to_owned(), "session order".to_owned()];
        let mut procedure = question.procedure("linearization", evidence, why);
        procedure.figures.push(("steps", steps));
        let (counts, notes) = (Vec::new(), Vec::new());
        Verdict { promise: question.promise, answer: Answer::Holds, counts, notes, procedure }
    })
}

/// Keys that belong together.
struct Union(Vec<u32>);

impl Union {
    fn new(keys: usize) -> Union {
        Union((0..keys as u32).collect())
    }

    fn root(&mut self, key: u32) -> u32 {
        let mut at = key;
        while self.0[at as usize] != at {
            let above = self.0[self.0[at as usize] as usize];
            self.0[at as usize] = above;
            at = above;
        }
        at
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other) as usize] = one.min(other);
    }
}
