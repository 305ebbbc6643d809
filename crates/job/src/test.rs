//! A test: runs on one database, each checked, until something is found or all are through.

use std::time::Instant;

use anyhow::Result;

use crate::event::{Event, Watch};
use crate::one_run;
use crate::plan::TestPlan;
use crate::stage::Stage;
use crate::stop::Stop;
use crate::trial_outcome::TrialOutcome;
use crate::trials::Trials;

/// Opens the database, runs and checks as often as the plan says, and cleans up. Everything that happens
/// is told; the result says it once more, in short.
pub fn test(plan: &TestPlan, stop: &Stop, watch: Watch<'_>) -> Result<Trials> {
    let stage = Stage::open(&plan.run, &plan.levels, watch)?;
    test_on(&stage, plan, stop, watch)
}

/// The same on a database that is open.
pub fn test_on(stage: &Stage, plan: &TestPlan, stop: &Stop, watch: Watch<'_>) -> Result<Trials> {
    let tested = repeat(plan, stage, stop, watch);
    if let Some(notice) = stage.clean() {
        watch(&Event::Notice(&notice));
    }
    tested
}

fn repeat(plan: &TestPlan, stage: &Stage, stop: &Stop, watch: Watch<'_>) -> Result<Trials> {
    let began = Instant::now();
    let promised = [stage.place().offer.promises];
    let levels = if plan.levels.is_empty() { &promised } else { plan.levels.as_slice() };
    if plan.online.is_some() {
        // Why not is said before anything runs.
        stage.online_promise(levels, plan.intervals.as_ref())?;
    }
    let mut trials = Trials::of(levels);
    for number in 0..plan.often.most {
        let over = plan.often.budget.is_some_and(|budget| began.elapsed() >= budget);
        if over || stop.run_ended() || stop.check_ended() {
            break;
        }
        if number > 0 {
            // So that a thousand runs do not fill the server; the next one has tables of its own.
            let _ = stage.remove_tables();
        }
        let trial = one_run::run(plan, (stage, levels), number, stop, watch)?;
        trials.add(&trial);
        watch(&Event::Tested { trial: &trial, place: stage.place() });
        one_run::settle(&trial, plan, stage.place(), watch)?;
        let found = trial.outcome == TrialOutcome::Violated && plan.often.until_found;
        if found || trial.outcome == TrialOutcome::AtFault {
            break;
        }
    }
    watch(&Event::Over { trials: &trials, elapsed: began.elapsed() });
    Ok(trials)
}
