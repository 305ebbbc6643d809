//! What is known of the objects that were asked, and what it says together.

use isolde_spec::{Anomaly, Answer, Counted, Verdict, Witness};

use super::explain;
use super::object::Object;
use super::search::{SearchEnd, SearchLimits};
use crate::limits::Limit;
use crate::question::Question;

/// How many steps are tried where intervals are missing: much is possible then, and little is wrong.
pub(crate) const STEPS_WITHOUT_TIME: u64 = 1_000_000;

/// What part of the steps further objects get after one that was too hard.
const SHARE: u64 = 64;

/// What is known of the objects that were asked.
#[derive(Default)]
pub(crate) struct ObjectAnswers {
    /// Those that cannot be put in order: the number of the object and the stuck call, if it is known.
    pub(crate) violated: Vec<(usize, Option<usize>)>,
    /// Why some may or may not be.
    pub(crate) unknown: Option<String>,
    pub(crate) steps: u64,
    /// Whether the search for the order of one of them gave up for want of steps.
    tired: bool,
    /// How many were decided by their chain of compare-and-set.
    pub(crate) chains: u64,
}

impl ObjectAnswers {
    /// Asks one object.
    pub(crate) fn ask(&mut self, object: &Object<'_>, at: usize, limits: &SearchLimits<'_>) {
        // Hard objects come in numbers. The answer is open already; the others get a small share each, in
        // case that one of them is violated, so that all together take not much longer than the first.
        let share = if self.tired { limits.steps / SHARE } else { limits.steps };
        let (found, steps) = object.order(&SearchLimits { steps: share, ..*limits });
        self.steps += steps;
        match found {
            SearchEnd::Order(_) => {
                self.unknown = self.unknown.take().or_else(|| object.doubt.clone());
            }
            SearchEnd::None { stuck } => self.violated.push((at, Some(stuck))),
            SearchEnd::GaveUp(limit) => {
                self.tired |= limit == Limit::Steps;
                self.unknown = Some(self.unknown.take().unwrap_or_else(|| gave_up(limit, steps)));
            }
        }
    }
}

/// What the answers for all objects say together.
pub(crate) fn conclude<'h>(
    question: &Question<'_, 'h>,
    asked: &ObjectAnswers,
    why: &str,
    load: impl Fn(usize, Option<usize>) -> Option<(Object<'h>, usize)>,
) -> Verdict {
    let mut counts = Vec::new();
    let answer = if !asked.violated.is_empty() {
        let kept = asked.violated.iter().take(question.options().witnesses);
        let witnesses: Vec<Witness> = kept
            .filter_map(|(at, stuck)| load(*at, *stuck))
            .map(|(object, stuck)| explain::witness(question, &object, stuck))
            .collect();
        let (anomaly, count) = (Anomaly::NotLinearizable, asked.violated.len() as u64);
        let mut positions: Vec<u32> = witnesses.iter().map(|w| w.position() as u32).collect();
        positions.sort_unstable();
        counts.push(Counted { anomaly, count, at_least: false, positions });
        Answer::Violated(witnesses)
    } else if let Some(reason) = &asked.unknown {
        Answer::Unknown(reason.clone())
    } else if let Some(reason) = question.real_time_is_incomplete() {
        Answer::Unknown(reason)
    } else {
        Answer::Holds
    };
    let mut verdict = verdict(question, answer, counts, why, asked.steps);
    if asked.chains > 0 {
        verdict.procedure.figures.push(("compare-and-set chains", asked.chains));
    }
    verdict
}

/// How long to try one object.
pub(crate) fn limits<'c>(question: &Question<'c, '_>) -> SearchLimits<'c> {
    let incomplete = question.real_time_is_incomplete().is_some();
    let most = if incomplete { STEPS_WITHOUT_TIME } else { u64::MAX };
    let (memory, check) = (question.options().order_memory, question.limits());
    SearchLimits { steps: check.steps().min(most), memory, check }
}

/// Why a search ended before it found an answer, and how far it came.
pub(crate) fn gave_up(limit: Limit, steps: u64) -> String {
    let (what, more) = match limit {
        Limit::Steps => ("as many steps as it may", " (--order-steps gives it more)"),
        Limit::SearchMemory => ("as much memory as it may", " (--order-memory gives it more)"),
        Limit::Memory => ("as much memory as the check may", " (--memory gives it more)"),
        Limit::Time => ("as long as it may", " (--timeout gives it more)"),
        Limit::Stopped => ("until it was stopped", ""),
    };
    format!("the search for an order of the operations took {what}, {steps} steps{more}")
}

pub(crate) fn verdict(
    question: &Question<'_, '_>,
    answer: Answer,
    counts: Vec<Counted>,
    why: &str,
    steps: u64,
) -> Verdict {
    let timed = question.context().history.txns().any(|t| !t.interval().is_empty());
    let mut evidence = vec!["values".to_owned()];
    evidence.extend(timed.then(|| "client intervals".to_owned()));
    let mut procedure = question.procedure("linearization", evidence, why);
    procedure.figures.push(("steps", steps));
    let notes = question.notes_on_time();
    Verdict { promise: question.promise, answer, counts, notes, procedure }
}
