//! What a database made of a case.

use std::fmt;

use isolde_target::{Failure, Said};

use crate::case::Case;
use crate::condition::Observed;
use crate::schedule::{Event, Happened, Schedule};
use crate::statement::{Verb, verb};

/// What became of an anomaly that was provoked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was not seen; no session waited, nothing failed.
    Prevented,
    /// It was not seen; a session had to wait.
    Blocked,
    /// It was not seen; this error ended a transaction.
    Aborted(String),
    /// It was seen.
    Allowed,
    /// The case did not run to its end.
    Unknown(String),
    /// The case was not run: this database cannot be asked for what it needs.
    NotForIt(String),
}

impl Outcome {
    /// One word.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Prevented => "prevented",
            Outcome::Blocked => "blocked",
            Outcome::Aborted(_) => "aborted",
            Outcome::Allowed => "allowed",
            Outcome::Unknown(_) => "unknown",
            Outcome::NotForIt(_) => "not-for-it",
        }
    }

    /// The code of the error that prevented it, why it is not known, or why it was not run.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Outcome::Aborted(text) | Outcome::Unknown(text) | Outcome::NotForIt(text) => Some(text),
            _ => None,
        }
    }

    /// What the events of a case say.
    pub fn of(
        case: &Case,
        schedule: &Schedule,
        labels: &[Option<&str>],
        events: &[Event],
    ) -> Outcome {
        let log = Log { schedule, labels, events };
        let is_silent = |e: &&Event| matches!(e.happened, Happened::Silent);
        if let Some(event) = events.iter().find(is_silent) {
            return Outcome::Unknown(format!("no answer to step {}", event.step + 1));
        }
        let (asked, _) = case.seen.names();
        if let Some(missing) = asked.iter().find(|label| !labels.contains(&Some(**label))) {
            let why =
                format!("the condition asks for '{missing}', which no step has on this database");
            return Outcome::Unknown(why);
        }
        let failures = log.first_failures();
        // What is no conflict says nothing of isolation: a mistake in the case, a server in trouble.
        let odd = failures.iter().find(|(event, failure)| {
            !failure.expected || (is_timeout(&failure.code) && !log.was_blocked(event.step))
        });
        if let Some((event, failure)) = odd {
            return Outcome::Unknown(format!("step {}: {failure}", event.step + 1));
        }
        if case.seen.holds(&log) == Some(true) {
            return Outcome::Allowed;
        }
        let anyway = |label: &str| case.waits_anyway.iter().any(|l| l == label);
        let counts = |event: &Event| !labels.get(event.step).is_some_and(|l| l.is_some_and(anyway));
        match failures.first() {
            Some((_, failure)) => Outcome::Aborted(failure.code.clone()),
            None if events.iter().any(|e| e.happened == Happened::Blocked && counts(e)) => {
                Outcome::Blocked
            }
            None => Outcome::Prevented,
        }
    }
}

/// Whether a statement was given up because it took too long: by itself that is no answer to anything.
fn is_timeout(code: &str) -> bool {
    matches!(code, "57014" | "55P03" | "1205" | "1969" | "3024")
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.detail().map_or(Ok(()), |detail| write!(f, " {detail}"))
    }
}

/// Events, as conditions ask for them.
struct Log<'a> {
    schedule: &'a Schedule,
    labels: &'a [Option<&'a str>],
    events: &'a [Event],
}

impl Log<'_> {
    fn is_labelled(&self, event: &Event, label: &str) -> bool {
        self.labels.get(event.step) == Some(&Some(label))
    }

    fn was_blocked(&self, step: usize) -> bool {
        self.events.iter().any(|e| e.step == step && e.happened == Happened::Blocked)
    }

    /// The first failure of each transaction, in order: what follows it is its consequence.
    fn first_failures(&self) -> Vec<(&Event, &Failure)> {
        let mut failed: Vec<&str> = Vec::new();
        let mut first = Vec::new();
        for event in self.events {
            let step = &self.schedule.steps[event.step];
            match &event.happened {
                Happened::Failed(failure) if !failed.contains(&step.session.as_str()) => {
                    failed.push(&step.session);
                    first.push((event, failure));
                }
                Happened::Answered(_) if verb(&step.statement) == Verb::Begin => {
                    failed.retain(|session| *session != step.session);
                }
                _ => {}
            }
        }
        first
    }
}

impl Observed for Log<'_> {
    fn said(&self, label: &str) -> Option<&Said> {
        self.events.iter().find_map(|event| match &event.happened {
            Happened::Answered(said) if self.is_labelled(event, label) => Some(said),
            _ => None,
        })
    }

    fn waited(&self, label: &str) -> bool {
        let waits = |e: &&Event| e.happened == Happened::Blocked;
        self.events.iter().filter(waits).any(|event| self.is_labelled(event, label))
    }

    fn commits(&self, session: &str) -> bool {
        let (mut dead, mut committed) = (false, false);
        for event in self.events {
            let step = &self.schedule.steps[event.step];
            if step.session != session {
                continue;
            }
            let verb = verb(&step.statement);
            match (verb, &event.happened) {
                (Verb::Begin, Happened::Answered(_)) => (dead, committed) = (false, false),
                (Verb::Commit, Happened::Answered(said)) => {
                    committed = *said != Said::RolledBack && !dead;
                }
                // MariaDB says yes to a COMMIT of what it has rolled back; and of a transaction without
                // one of its statements it cannot be said that it committed as it was meant.
                (_, Happened::Failed(_)) => {
                    dead = true;
                    committed &= verb != Verb::Commit;
                }
                _ => {}
            }
        }
        committed
    }
}
