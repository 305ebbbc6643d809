//! Many runs: how many found something, and how long that took.

use std::time::Duration;

use isolde_report::number;
use isolde_spec::Level;
use serde_json::{Value, json};

use crate::trial::Trial;
use crate::trial_outcome::TrialOutcome;

/// What several runs say together.
#[derive(Clone, Default, Debug)]
pub struct Trials {
    /// What was asked.
    levels: Vec<Level>,
    trials: u64,
    violated: u64,
    no_violation: u64,
    unknown: u64,
    at_fault: u64,
    committed: u64,
    generation: Duration,
    verification: Duration,
    /// What the runs that found something took, from their beginning.
    until_found: Duration,
}

impl Trials {
    /// No run yet.
    pub(crate) fn of(levels: &[Level]) -> Trials {
        Trials { levels: levels.to_vec(), ..Trials::default() }
    }

    pub(crate) fn add(&mut self, trial: &Trial) {
        let generation = trial.ran.progress.elapsed;
        self.trials += 1;
        self.committed += trial.ran.progress.committed;
        self.generation += generation;
        self.verification += trial.verification;
        match trial.outcome {
            TrialOutcome::Violated => {
                self.violated += 1;
                self.until_found += generation + trial.verification;
            }
            TrialOutcome::Unknown => self.unknown += 1,
            TrialOutcome::AtFault => self.at_fault += 1,
            TrialOutcome::NoViolation => self.no_violation += 1,
            TrialOutcome::Holds => {}
        }
    }

    /// The worst of them: violated, at fault, unknown. Where nothing was run, nothing is known.
    pub fn worst(&self) -> TrialOutcome {
        match (self.violated, self.at_fault, self.unknown) {
            (1.., _, _) => TrialOutcome::Violated,
            (0, 1.., _) => TrialOutcome::AtFault,
            (0, 0, 1..) => TrialOutcome::Unknown,
            _ if self.trials == 0 => TrialOutcome::Unknown,
            _ if self.no_violation > 0 => TrialOutcome::NoViolation,
            _ => TrialOutcome::Holds,
        }
    }

    /// Why they say nothing, if there were none.
    pub fn says_nothing(&self) -> Option<&'static str> {
        (self.trials == 0).then_some("nothing was run, so nothing was tested")
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.trials
    }

    fn mean(&self, total: Duration) -> f64 {
        total.as_secs_f64() / self.trials.max(1) as f64
    }

    /// In words.
    pub fn to_text(&self, total: Duration) -> String {
        if let Some(why) = self.says_nothing() {
            let levels = self.levels.iter().map(|level| format!("{level}: unknown ({why})\n"));
            return levels.collect();
        }
        let found = match self.violated {
            0 => "none found a violation".to_owned(),
            n => format!(
                "{} found a violation, in {:.2} s each; one every {:.2} s",
                number(n),
                self.until_found.as_secs_f64() / n as f64,
                total.as_secs_f64() / n as f64
            ),
        };
        let mut others = String::new();
        if self.unknown > 0 {
            others += &format!("; {} unknown", number(self.unknown));
        }
        if self.at_fault > 0 {
            others += &format!("; {} at fault", number(self.at_fault));
        }
        format!(
            "trials     {} in {:.1} s: {found}{others}\n           \
             generation {:.3} s, verification {:.3} s, {} commits a trial\n",
            number(self.trials),
            total.as_secs_f64(),
            self.mean(self.generation),
            self.mean(self.verification),
            number(self.committed / self.trials.max(1)),
        )
    }

    /// For machines.
    pub fn to_json(&self, total: Duration) -> Value {
        let per = |total: Duration, n: u64| (n > 0).then(|| total.as_secs_f64() / n as f64);
        json!({
            "trials": self.trials,
            "outcome": self.worst().name(),
            "levels": self.levels.iter().map(|level| level.name()).collect::<Vec<_>>(),
            "why_unknown": self.says_nothing(),
            "violated": self.violated,
            "unknown": self.unknown,
            "at_fault": self.at_fault,
            "committed": self.committed,
            "seconds": total.as_secs_f64(),
            "mean_generation_seconds": self.mean(self.generation),
            "mean_verification_seconds": self.mean(self.verification),
            "mean_seconds_of_trials_that_found": per(self.until_found, self.violated),
            "mean_seconds_to_a_violation": per(total, self.violated),
        })
    }
}
