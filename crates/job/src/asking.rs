//! Where questions about one history are asked.

use std::cmp::Reverse;
use std::time::Instant;

use anyhow::{Result, anyhow};
use isolde_check::{Checker, Options};
use isolde_history::History;
use isolde_report::Decided;
use isolde_spec::{Anomaly, By, Counted, Edges, Level, Promise, Verdict, Witness};

use crate::bounds::Bounds;
use crate::chosen::Chosen;
use crate::mirrored::IntervalQuestion;

/// The levels of those names.
pub fn levels(names: &[String]) -> Result<Vec<Level>> {
    let level = |name: &String| {
        Level::named(&name.to_lowercase()).ok_or_else(|| {
            let all: Vec<&str> = Level::ALL.iter().map(|l| l.name()).collect();
            let hint = match name.to_lowercase().as_str() {
                "ssi" => "strong-si is strong snapshot isolation; what serializable snapshot \
                          isolation promises is ser"
                    .to_owned(),
                typed => match isolde_target::nearest(typed, all.iter().copied()) {
                    Some(near) => format!("did you mean {near}? levels are {}", all.join(", ")),
                    None => format!("levels are {}", all.join(", ")),
                },
            };
            anyhow!("there is no level '{name}'\n  hint: {hint}")
        })
    };
    names.iter().map(level).collect()
}

/// How levels are asked: everything but the levels and the history.
#[derive(Clone, Debug)]
pub struct Asking {
    /// For the checker.
    pub options: Options,
    /// Whether each session must see its transactions in their order.
    pub session_order: bool,
    /// What promises are judged by; if empty, by values, and by timestamps and snapshots where
    /// they are there.
    pub evidence: Vec<By>,
    /// What is asked by client intervals, if anything is.
    pub intervals: IntervalQuestion,
    /// What bounds it.
    pub bounds: Bounds,
    /// What of it must be typed to ask the same again, with a space before each word.
    pub typed: String,
}

impl Asking {
    /// As usual.
    pub fn within(bounds: Bounds) -> Asking {
        Asking {
            options: Options::default(),
            session_order: true,
            evidence: Vec::new(),
            intervals: IntervalQuestion::default(),
            bounds,
            typed: String::new(),
        }
    }

    /// Asks one promise about a history, within a time of its own.
    pub fn ask(&self, history: &History, promise: Promise) -> Verdict {
        if promise.by == By::Intervals
            && let Ok(profiles) = self.intervals.profiles(history, &[promise.level])
            && let Some(profile) = profiles.first()
        {
            return self.intervals.ask(history, profile, &self.options);
        }
        let bounds = self.bounds.again();
        let late = || bounds.is_late();
        let checker = Checker::with_limits(history, self.options, bounds.limits(&late));
        checker.check(Promise { session_order: self.session_order, ..promise })
    }

    /// Asks several levels about a history, or every one if none is named. Each verdict is told as soon
    /// as it is known. A history that lacks the evidence that was asked for is refused.
    pub fn decide(
        &self,
        history: &History,
        levels: &[Level],
        told: &mut dyn FnMut(&Verdict),
    ) -> Result<Vec<Decided>> {
        let chosen = Chosen::new(history, levels, &self.evidence)?;
        let late = || self.bounds.is_late();
        let limits = self.bounds.limits(&late);
        let checker = Checker::with_limits(history, self.options, limits);
        let mut desk = Desk { checker, session_order: self.session_order, told };
        // What holds by timestamps holds by values, so it is asked first.
        let mut decided: Vec<Decided> =
            chosen.by_the_server.iter().map(|promise| desk.ask(*promise)).collect();
        if self.evidence.contains(&By::Intervals) {
            for profile in self.intervals.profiles(history, levels)? {
                let began = Instant::now();
                let verdict = self.intervals.ask(history, &profile, &self.options);
                (desk.told)(&verdict);
                let seconds = began.elapsed().as_secs_f64();
                decided.push(Decided { verdict, holds_without_session_order: false, seconds });
            }
        }
        if chosen.values {
            let by_values = if levels.is_empty() { desk.all(history) } else { desk.each(levels) };
            decided.extend(by_values);
        }
        chosen.say_what_was_not_used(&mut decided);
        Ok(decided)
    }
}

/// Whether all violations of a verdict by the server's word, which counts every one, are of session order.
fn only_sessions(verdict: &Verdict) -> bool {
    let of_session = |counted: &Counted| counted.anomaly == Anomaly::SessionGuaranteeViolation;
    matches!(verdict.promise.by, By::Timestamps | By::Snapshots)
        && verdict.holds() == Some(false)
        && verdict.counts.iter().all(of_session)
}

/// Where questions about one history are asked.
struct Desk<'h, 't> {
    checker: Checker<'h>,
    session_order: bool,
    told: &'t mut dyn FnMut(&Verdict),
}

impl Desk<'_, '_> {
    fn ask(&mut self, promise: Promise) -> Decided {
        let began = Instant::now();
        let verdict = self.checker.check(Promise { session_order: self.session_order, ..promise });
        let seconds = began.elapsed().as_secs_f64();
        (self.told)(&verdict);
        let without = || self.checker.check(verdict.promise.without_session_order());
        let holds_without = only_sessions(&verdict) && without().holds() == Some(true);
        Decided { holds_without_session_order: holds_without, verdict, seconds }
    }

    /// The levels that were named, in that order. The strongest is asked first, since others follow from
    /// it if it holds.
    fn each(&mut self, levels: &[Level]) -> Vec<Decided> {
        let mut strongest_first: Vec<usize> = (0..levels.len()).collect();
        strongest_first.sort_by_key(|at| Reverse(levels[*at]));
        let mut decided: Vec<(usize, Decided)> =
            strongest_first.into_iter().map(|at| (at, self.ask(Promise::of(levels[at])))).collect();
        decided.sort_by_key(|(at, _)| *at);
        let mut decided: Vec<Decided> = decided.into_iter().map(|(_, decided)| decided).collect();
        self.without_session_order(&mut decided);
        decided
    }

    /// Every level that does not follow from one that holds, weakest first.
    fn all(&mut self, history: &History) -> Vec<Decided> {
        let mut decided: Vec<Decided> = Vec::new();
        for level in Level::ALL.into_iter().rev() {
            let follows = |d: &Decided| {
                d.verdict.holds() == Some(true) && d.verdict.promise.level.implies(level)
            };
            // Linearizability speaks of single operations.
            let speaks = !level.of_operations() || history.txns().all(|t| t.ops().len() == 1);
            if speaks && !decided.iter().any(follows) {
                decided.push(self.ask(Promise::of(level)));
            }
        }
        decided.reverse();
        self.without_session_order(&mut decided);
        decided
    }

    /// Finds out whether session order alone is what levels break.
    fn without_session_order(&self, decided: &mut [Decided]) {
        let mut violated: Vec<Level> = Vec::new();
        for d in decided.iter_mut() {
            let level = d.verdict.promise.level;
            let broken = d.verdict.holds() == Some(false) && d.verdict.promise.session_order;
            if !broken || violated.iter().any(|weaker| level.implies(*weaker)) {
                continue;
            }
            // A witness that does not need session order breaks the level without it, too.
            let needs = |w: &Witness| w.needs.contains(Edges::SO) || level.of_operations();
            if !d.verdict.witnesses().iter().all(needs) {
                violated.push(level);
                continue;
            }
            let promise = Promise::of(level).without_session_order();
            if !self.checker.is_quick(promise) {
                continue;
            }
            let verdict = self.checker.check(promise);
            d.holds_without_session_order = verdict.holds() == Some(true);
            if verdict.holds() == Some(false) {
                violated.push(level);
            }
        }
    }
}
