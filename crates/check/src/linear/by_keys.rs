//! Every key asked alone: by its chain of compare-and-set if it has one, else by trying.

use isolde_graph::parallel;
use isolde_spec::{Answer, Verdict};

use super::answers::{self, ObjectAnswers};
use super::call::{self, Call};
use super::chain::{self, Chain, Scratch};
use super::object::Object;
use crate::explain::local;
use crate::graph::real_time::RealTime;
use crate::keys::context::Context;
use crate::limits::Limit;
use crate::question::Question;

/// Asks every key.
pub(crate) fn decide(question: &Question<'_, '_>, why: &str) -> Verdict {
    let Some(time) = question.real_time else { return untimed(question) };
    let asked = ask(question, time);
    // If every key has an order, nothing else can be wrong. If one has none, what is wrong whatever the
    // order says it in plainer words.
    let plain = "single transactions show it: what they read contradicts their own writes, or has no \
                 writer";
    if !asked.violated.is_empty()
        && let Ok(Some(verdict)) = contradicts_itself(question, plain)
    {
        return verdict;
    }
    let context = question.context();
    answers::conclude(question, &asked, why, |key, stuck| {
        let calls = call::of_key(context, time, key);
        let stuck = stuck.or_else(|| chain::first_stuck(&calls, context.first_value(key)))?;
        Some((Object::new(context, key, calls).ok()?, stuck))
    })
}

fn untimed(question: &Question<'_, '_>) -> Verdict {
    let reason = "real time is not known";
    answers::verdict(question, Answer::Unknown(reason.to_owned()), Vec::new(), reason, 0)
}

/// What is wrong whatever the order.
pub(crate) fn contradicts_itself(
    question: &Question<'_, '_>,
    why: &str,
) -> Result<Option<Verdict>, Limit> {
    let mut local = local::violations(question, &question.walk()?.findings);
    if local.witnesses.is_empty() {
        return Ok(None);
    }
    let answer = Answer::Violated(std::mem::take(&mut local.witnesses));
    Ok(Some(answers::verdict(question, answer, local.counts, why, 0)))
}

fn ask(question: &Question<'_, '_>, time: &RealTime<'_>) -> ObjectAnswers {
    let context = question.context();
    let pieces = context.index.pieces();
    let limits = answers::limits(question);
    let parts = parallel::map(context.index.size, &pieces, |keys| {
        let (mut asked, mut scratch) = (ObjectAnswers::default(), Scratch::default());
        for key in keys.clone() {
            if let Err(limit) = limits.check.go_on() {
                asked.unknown.get_or_insert_with(|| answers::gave_up(limit, 0));
                break;
            }
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
