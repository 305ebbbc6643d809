//! What a job tells while it goes on. The command prints it; a page can show it; a program can read it as
//! JSON, one object a line.

use std::path::Path;
use std::time::Duration;

use isolde_run::{Hung, Limits, Progress, Ran};
use isolde_spec::Verdict;
use isolde_stream::StreamEvent;
use serde_json::{Value, json};

use crate::found;
use crate::notice::Notice;
use crate::place::Place;
use crate::ran;
use crate::trial::Trial;
use crate::trials::Trials;

/// Something that a job tells, in the order in which it happens: opening, opened, then for each run began,
/// progress (found), ran (hung), checking, decided, tested, kept; and at last over.
#[derive(Clone, Copy)]
pub enum Event<'e> {
    /// The database is being opened; a server may take some seconds to start.
    Opening {
        /// Its name or URL, without a password.
        target: &'e str,
    },
    /// The database is open.
    Opened {
        /// Where the runs take place.
        place: &'e Place,
    },
    /// A run begins.
    Began {
        /// Its number, from 0.
        number: u64,
        /// What its random choices follow from.
        seed: u64,
        /// Where it is recorded.
        file: &'e Path,
    },
    /// How far the run is, ten times a second.
    Progress {
        /// When it stops.
        limits: &'e Limits,
        /// The counts.
        progress: &'e Progress,
    },
    /// A stream that the run feeds tells something: a violation, most often.
    Found {
        /// What it tells.
        event: &'e StreamEvent,
    },
    /// The run is over, and recorded.
    Ran {
        /// What it did.
        ran: &'e Ran,
    },
    /// Sessions hang inside the database and are left behind.
    Hung {
        /// How many, and for how long.
        hung: Hung,
        /// What was recorded until then.
        file: &'e Path,
    },
    /// A check begins.
    Checking {
        /// The history.
        file: &'e Path,
    },
    /// A level is decided.
    Decided {
        /// What was decided.
        verdict: &'e Verdict,
    },
    /// A run has been checked.
    Tested {
        /// The run and what was found.
        trial: &'e Trial,
        /// Where it took place.
        place: &'e Place,
    },
    /// A run is kept, with reports beside its history.
    Kept {
        /// The folder.
        folder: &'e Path,
    },
    /// Something that the user should know.
    Notice(&'e Notice),
    /// The job is over.
    Over {
        /// All runs.
        trials: &'e Trials,
        /// How long they took.
        elapsed: Duration,
    },
}

/// Where a job's events go. They come one after another, from the thread that does the job.
pub type Watch<'w> = &'w mut dyn FnMut(&Event<'_>);

impl Event<'_> {
    /// Its name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Opening { .. } => "opening",
            Event::Opened { .. } => "opened",
            Event::Began { .. } => "began",
            Event::Progress { .. } => "progress",
            Event::Found { .. } => "found",
            Event::Ran { .. } => "ran",
            Event::Hung { .. } => "hung",
            Event::Checking { .. } => "checking",
            Event::Decided { .. } => "decided",
            Event::Tested { .. } => "tested",
            Event::Kept { .. } => "kept",
            Event::Notice(_) => "notice",
            Event::Over { .. } => "over",
        }
    }

    /// For machines. Witnesses are in the report of the run, not here.
    pub fn to_json(&self) -> Value {
        let mut told = match self {
            Event::Opening { target } => json!({"target": target}),
            Event::Opened { place } => place.to_json(place.settings.seed),
            Event::Began { number, seed, file } => {
                json!({"number": number, "seed": seed, "file": file.display().to_string()})
            }
            Event::Progress { progress, .. } => progress_to_json(progress),
            Event::Found { event } => found_to_json(event),
            Event::Ran { ran } => ran::to_json(ran, None),
            Event::Hung { hung, file } => json!({
                "sessions": hung.sessions,
                "silence_seconds": hung.silence.as_secs_f64(),
                "file": file.display().to_string(),
            }),
            Event::Checking { file } => json!({"file": file.display().to_string()}),
            Event::Decided { verdict } => verdict_to_json(verdict),
            Event::Tested { trial, .. } => trial.summary_to_json(),
            Event::Kept { folder } => json!({"folder": folder.display().to_string()}),
            Event::Notice(notice) => json!({"kind": notice.kind(), "text": notice.text()}),
            Event::Over { trials, elapsed } => trials.to_json(*elapsed),
        };
        told["event"] = json!(self.name());
        told
    }
}

fn progress_to_json(progress: &Progress) -> Value {
    json!({
        "seconds": progress.elapsed.as_secs_f64(),
        "transactions": progress.txns,
        "committed": progress.committed,
        "aborted": progress.aborted,
        "unknown": progress.unknown,
        "resolved": progress.resolved,
        "lost_connections": progress.lost,
        "silence_seconds": progress.silence.as_secs_f64(),
    })
}

/// The time by the stream's own clock gets a name of its own: `at` is that of whoever writes events down.
fn found_to_json(event: &StreamEvent) -> Value {
    let mut told = found::to_json(event);
    if let Some(at) = told.as_object_mut().and_then(|told| told.remove("at")) {
        told["found_at_ms"] = at;
    }
    told
}

fn verdict_to_json(verdict: &Verdict) -> Value {
    let counts = verdict.counts.iter().map(|c| (c.anomaly.name().to_owned(), json!(c.count)));
    json!({
        "level": verdict.promise.level.name(),
        "session_order": verdict.promise.session_order,
        "holds": verdict.holds(),
        "anomalies": counts.collect::<serde_json::Map<_, _>>(),
    })
}
