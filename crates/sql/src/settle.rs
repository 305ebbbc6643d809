//! Runs a plan until no statement waits and none fails.
//!
//! A statement that waits reads its versions before, and does its work after the wait: what was read says nothing of it then.
//! So the plan is changed to the order in which the statements were through, in which each was sent when it could be done at
//! once, and run again from the beginning; and what failed is left out. The paper calls it blocking scheduling. Where a
//! statement fails because another session is in the way and would have had to wait elsewhere, it is put off as if it had.

use isolde_history::ErrorClass;
use isolde_target::{After, Failure};

use crate::case::Case;
use crate::instrument::instrument;
use crate::observation::{Fate, Observation, Row};
use crate::plan::{At, Plan, Step, Turn};
use crate::policy::Policy;
use crate::runner::Runner;

/// How often a plan is changed before it is given up.
const MOST_TRIES: usize = 30;

/// A plan that was run as it stands.
pub struct SettledRun {
    /// The plan.
    pub plan: Plan,
    /// What was observed.
    pub observation: Observation,
    /// What was in the tables before.
    pub initial: Vec<Vec<Row>>,
    /// What was in the tables at the end.
    pub contents: Vec<Vec<Row>>,
    /// How often it was run.
    pub tries: usize,
    /// How many statements were sent that were the case's own.
    pub statements: usize,
}

/// Why a case was given up.
#[derive(Debug)]
pub enum GivenUp {
    /// It went on changing.
    NeverSettled,
    /// A step was never answered.
    Silent(Turn),
    /// The connection was lost at a step, or outside of any.
    Lost(Option<Turn>, Failure),
    /// It could not be set up.
    NoSetup(Failure),
}

/// Runs a plan until it settles. `failures` gets every failure on the way, whatever comes of the plan: the step, and what
/// it was told.
pub fn settle(
    runner: &mut Runner<'_>,
    case: &Case,
    plan: &Plan,
    policy: &Policy,
    failures: &mut Vec<(Turn, Failure)>,
) -> Result<SettledRun, GivenUp> {
    let (mut plan, mut statements) = (plan.clone(), 0);
    let mut initial = Vec::new();
    for tries in 1..=MOST_TRIES {
        runner.reset(case).map_err(GivenUp::NoSetup)?;
        if tries == 1 {
            initial = runner.contents(case).map_err(GivenUp::NoSetup)?;
        }
        let script = instrument(case, &plan, policy);
        let played = runner.play(&script.schedule).map_err(|f| GivenUp::Lost(None, f))?;
        let observation = Observation::new(case, &script, &played);
        if let Some(turn) = observation.silent {
            runner.forget_sessions();
            return Err(GivenUp::Silent(turn));
        }
        statements += plan.statements().count();
        let failed = failed_turns(&plan, &observation);
        failures.extend(failed.iter().cloned());
        if let Some((turn, failure)) = failed.iter().find(|(_, f)| f.after == After::Lost) {
            runner.forget_sessions();
            return Err(GivenUp::Lost(Some(*turn), failure.clone()));
        }
        if failed.iter().any(|(turn, f)| turn.step == Step::End && f.after == After::Open) {
            // Its locks would be in the way of whatever comes next.
            runner.forget_sessions();
        }
        let next = next_plan(&plan, &observation, policy, &failed, tries);
        let Some(next) = next else {
            let contents = runner.contents(case).map_err(|f| GivenUp::Lost(None, f))?;
            return Ok(SettledRun { plan, observation, initial, contents, tries, statements });
        };
        plan = next;
    }
    Err(GivenUp::NeverSettled)
}

/// What failed: of each transaction its beginning or its first statement, and its end.
fn failed_turns(plan: &Plan, observation: &Observation) -> Vec<(Turn, Failure)> {
    let first = observation.failed(plan).into_iter().filter_map(|at| {
        let failure = observation.of(at).failure()?.clone();
        let is_within = !observation.not_begun.contains_key(&at.0);
        is_within.then_some((Turn { txn: at.0, step: Step::Statement(at.1) }, failure))
    });
    let not_begun = observation.not_begun.iter().map(|(txn, failure)| {
        let turn = Turn { txn: *txn, step: Step::Begin };
        (turn, failure.clone())
    });
    let refused = observation.fates.iter().enumerate().filter_map(|(txn, fate)| match fate {
        Fate::Refused(failure) if !observation.not_begun.contains_key(&txn) => {
            Some((Turn { txn, step: Step::End }, failure.clone()))
        }
        _ => None,
    });
    not_begun.chain(first).chain(refused).collect()
}

/// The plan to be run next; none, if this one has settled.
fn next_plan(
    plan: &Plan,
    observation: &Observation,
    policy: &Policy,
    failed: &[(Turn, Failure)],
    tries: usize,
) -> Option<Plan> {
    // A COMMIT that is refused is an end like others.
    let failed: Vec<&(Turn, Failure)> =
        failed.iter().filter(|(turn, _)| turn.step != Step::End).collect();
    if observation.waited.is_empty() && failed.is_empty() {
        return None;
    }
    let is_busy = |f: &Failure| policy.fails_when_busy && f.class == ErrorClass::LockTimeout;
    let busy: Vec<usize> =
        failed.iter().filter(|(_, f)| is_busy(f)).map(|(turn, _)| turn.txn).collect();
    let mut next = plan.in_order(&observation.order);
    let mut cut: Vec<At> = Vec::new();
    for (turn, failure) in failed {
        // Two that are in each other's way for ever would be put off for ever.
        let patient = tries < MOST_TRIES / 2;
        if is_busy(failure)
            && patient
            && let Some(later) = next.put_off(*turn, &busy)
        {
            next = later;
            continue;
        }
        let is_cut = |at: &At| match turn.step {
            Step::Statement(statement) => *at == (turn.txn, statement),
            Step::Begin | Step::End => at.0 == turn.txn,
        };
        cut.extend(plan.statements().filter(is_cut));
    }
    Some(next.without(&cut))
}
