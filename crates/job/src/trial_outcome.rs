//! What a run says, in one word.

use isolde_report::Decided;

/// What a run says, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TrialOutcome {
    /// Every level holds.
    #[default]
    Holds,
    /// Nothing contradicts what the mechanisms of the server promise, and enough of it was decided.
    NoViolation,
    /// A level is violated.
    Violated,
    /// The database or the environment is at fault: sessions gave up or hang.
    AtFault,
    /// It cannot be decided, or nothing was committed.
    Unknown,
}

impl TrialOutcome {
    /// What the levels say that were asked.
    pub fn of(decided: &[Decided]) -> TrialOutcome {
        let any = |wanted: Option<bool>| decided.iter().any(|d| d.verdict.holds() == wanted);
        match (any(Some(false)), decided.iter().any(|d| d.verdict.is_open()), any(None)) {
            (true, ..) => TrialOutcome::Violated,
            (false, true, _) => TrialOutcome::Unknown,
            (false, false, true) => TrialOutcome::NoViolation,
            (false, false, false) => TrialOutcome::Holds,
        }
    }

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            TrialOutcome::Holds => "holds",
            TrialOutcome::NoViolation => "no-violation",
            TrialOutcome::Violated => "violated",
            TrialOutcome::AtFault => "at-fault",
            TrialOutcome::Unknown => "unknown",
        }
    }

    /// The exit code of a command that found it.
    pub fn exit_code(self) -> u8 {
        match self {
            TrialOutcome::Holds | TrialOutcome::NoViolation => 0,
            TrialOutcome::Violated => 1,
            TrialOutcome::AtFault => 2,
            TrialOutcome::Unknown => 3,
        }
    }
}
