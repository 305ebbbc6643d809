//! What a database made of a case.

use std::fmt;

use isolde_target::{After, Said};

use crate::case::Case;
use crate::condition::Observed;
use crate::schedule::{Event, Happened, Schedule};

/// What became of an anomaly that was provoked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was not seen; nobody waited, nothing failed.
    Prevented,
    /// It was not seen; somebody had to wait.
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
        if case.seen.holds(&log) {
            return Outcome::Allowed;
        }
        let anyway = |label: &str| case.waits_anyway.iter().any(|l| l == label);
        let counts = |event: &Event| !labels.get(event.step).is_some_and(|l| l.is_some_and(anyway));
        let failure = events.iter().find_map(|event| match &event.happened {
            Happened::Failed(failure) => Some((event.step, failure)),
            _ => None,
        });
        match failure {
            Some((_, failure)) if failure.expected => Outcome::Aborted(failure.code.clone()),
            Some((step, failure)) => Outcome::Unknown(format!("step {}: {failure}", step + 1)),
            None if events.iter().any(|e| e.happened == Happened::Blocked && counts(e)) => {
                Outcome::Blocked
            }
            None => Outcome::Prevented,
        }
    }
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
            let first = step.statement.split([' ', ';']).next().unwrap_or_default().to_lowercase();
            match (first.as_str(), &event.happened) {
                ("begin" | "start", Happened::Answered(_)) => (dead, committed) = (false, false),
                ("commit" | "end", Happened::Answered(said)) => {
                    committed = *said != Said::RolledBack && !dead;
                }
                // MariaDB says yes to a COMMIT of what it has rolled back.
                (_, Happened::Failed(failure)) => {
                    dead |= failure.after != After::Open;
                    committed &= first != "commit";
                }
                _ => {}
            }
        }
        committed
    }
}
