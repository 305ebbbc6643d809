//! An exact interleaving, and what was observed of it.

use isolde_target::{Failure, Said};

/// How many steps a schedule may have.
pub const MOST_STEPS: usize = 200;
/// How many sessions a schedule may have.
pub const MOST_SESSIONS: usize = 16;

/// Statements of several sessions, in the order in which they are sent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// Statements that are run before, one after another.
    pub setup: Vec<String>,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One statement of one session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The name of the session.
    pub session: String,
    /// What it sends.
    pub statement: String,
}

impl Schedule {
    /// The names of the sessions, in the order in which they come up.
    pub fn sessions(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for step in &self.steps {
            if !names.contains(&step.session.as_str()) {
                names.push(&step.session);
            }
        }
        names
    }
}

/// Something that was observed of a step.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// Which step, counted from 0.
    pub step: usize,
    /// What happened.
    pub happened: Happened,
}

/// When a step was sent and answered, in nanoseconds since the schedule began, by one clock for all sessions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepTimes {
    /// Which step, counted from 0.
    pub step: usize,
    /// Right before it was sent.
    pub sent: i64,
    /// Right after its answer had come.
    pub answered: i64,
}

/// A schedule that was run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Played {
    /// What was observed, in this order.
    pub events: Vec<Event>,
    /// When the steps that were answered were sent and answered.
    pub times: Vec<StepTimes>,
}

/// What can happen to a step.
#[derive(Clone, PartialEq, Debug)]
pub enum Happened {
    /// It was answered.
    Answered(Said),
    /// It waits for another session; its end is an event of its own.
    Blocked,
    /// It failed.
    Failed(Failure),
    /// It is unknown: no answer came, and no sign that it waits.
    Silent,
}
