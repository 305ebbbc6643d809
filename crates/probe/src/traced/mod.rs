//! Traces of schedules: which rows each statement read and wrote, and when it was sent and answered, as `docs/traces.md` says.
//!
//! What a statement did is known from its text and its answer, for the simple statements of most cases. Of a schedule with
//! others there is no trace, since rows that nobody knows of would look like somebody's fault.

mod rows;
mod txns;
mod understood;
mod words;

use isolde_target::Offer;
use serde_json::json;

use crate::schedule::{Happened, Played, Schedule};
use rows::Tables;
use txns::{SessionTrace, StepAnswer};
use understood::understand;

/// A run of a schedule as a `.jsonl` trace; otherwise the reason why there is none.
pub fn trace(
    server: &str,
    offer: &Offer,
    schedule: &Schedule,
    played: &Played,
) -> Result<String, String> {
    let mut tables = Tables::default();
    for statement in &schedule.setup {
        let told = |problem: String| format!("'{statement}' is {problem}");
        tables
            .set_up(understand(statement).ok_or_else(|| told("not understood".to_owned()))?)
            .map_err(told)?;
    }
    let mut statements = Vec::new();
    for step in &schedule.steps {
        let statement = understand(&step.statement)
            .ok_or_else(|| format!("it is not known what '{}' does to rows", step.statement))?;
        tables.expect(&statement)?;
        statements.push(statement);
    }
    let header = json!({
        "isolde": 1, "server": server, "level": offer.name, "clock": "nanoseconds", "complete": true,
        "rows": "by-column", "initial": tables.initial(),
    });
    let mut lines = vec![header.to_string()];
    for session in schedule.sessions() {
        let mut trace = SessionTrace::new(session, &tables);
        for (at, step) in schedule.steps.iter().enumerate().filter(|(_, s)| s.session == session) {
            let Some(answered) = answer(played, at) else {
                return Err(format!("'{}' had no answer", step.statement));
            };
            let told = |problem: String| format!("'{}': {problem}", step.statement);
            trace.step(&step.statement, &statements[at], &answered).map_err(told)?;
        }
        lines.extend(trace.finish().iter().map(ToString::to_string));
    }
    Ok(lines.join("\n") + "\n")
}

fn answer(played: &Played, step: usize) -> Option<StepAnswer<'_>> {
    let times = *played.times.iter().find(|times| times.step == step)?;
    let own = played.events.iter().filter(|event| event.step == step);
    let mut said = own.filter_map(|event| match &event.happened {
        Happened::Answered(said) => Some(Ok(said)),
        Happened::Failed(failure) => Some(Err(failure)),
        Happened::Blocked | Happened::Silent => None,
    });
    said.next_back().map(|said| StepAnswer { times, said })
}
