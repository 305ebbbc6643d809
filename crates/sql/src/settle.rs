//! Runs a plan until no statement waits and none fails.
//!
//! A statement that waits reads its versions before, and does its work after the wait: what was read says nothing of it then.
//! So the plan is changed to the order in which the statements were through, in which each was sent when it could be done at
//! once, and run again from the beginning; and what failed is left out. The paper calls it blocking scheduling.

use isolde_target::{After, Failure};

use crate::case::Case;
use crate::instrument::instrument;
use crate::observation::{Observation, Row};
use crate::plan::{At, Plan, Turn};
use crate::policy::Policy;
use crate::runner::Runner;

/// How often a plan is changed before it is given up.
const MOST_TRIES: usize = 12;

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
    /// Every failure on the way: the statement, and what it was told.
    pub failures: Vec<(At, Failure)>,
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

/// Runs a plan until it settles.
pub fn settle(
    runner: &mut Runner<'_>,
    case: &Case,
    plan: &Plan,
    policy: &Policy,
) -> Result<SettledRun, GivenUp> {
    let mut plan = plan.clone();
    let (mut failures, mut statements) = (Vec::new(), 0);
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
        let failed = observation.failed(&plan);
        for at in &failed {
            let Some(failure) = observation.of(*at).failure() else { continue };
            if failure.after == After::Lost {
                runner.forget_sessions();
                let turn = Turn { txn: at.0, step: crate::plan::Step::Statement(at.1) };
                return Err(GivenUp::Lost(Some(turn), failure.clone()));
            }
            failures.push((*at, failure.clone()));
        }
        if observation.waited.is_empty() && failed.is_empty() {
            let contents = runner.contents(case).map_err(|f| GivenUp::Lost(None, f))?;
            return Ok(SettledRun {
                plan,
                observation,
                initial,
                contents,
                tries,
                failures,
                statements,
            });
        }
        plan = plan.in_order(&observation.order).without(&failed);
    }
    Err(GivenUp::NeverSettled)
}
