//! Two sessions, by hand: what one does while the other is in the middle of something.

use isolde_history::OpKind;
use isolde_target::{After, Answer, Ended, Failure, Offer, Path, Session, Target};

use super::{EMPTY, REGISTERS, request};

/// One step of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Begin,
    /// A read of a row, by a path.
    Read(u32, Path),
    Write(u32, i64),
    Insert(u32, i64),
    Commit,
    Rollback,
}

/// What came of a script.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Whether each session's transaction committed.
    pub(crate) committed: [bool; 2],
    /// What each session read, in order.
    pub(crate) read: [Vec<i64>; 2],
    /// What each session's last insert said.
    pub(crate) inserted: [bool; 2],
}

impl Outcome {
    /// How many committed.
    pub(crate) fn commits(&self) -> usize {
        self.committed.iter().filter(|c| **c).count()
    }
}

/// Runs a script. A session that fails is rolled back and does no more of it; a failure that is
/// not part of the normal course of things fails the test.
pub(crate) fn run(target: &dyn Target, offer: &Offer, script: &[(usize, Step)]) -> Outcome {
    let mut sessions = [target.connect(offer).unwrap(), target.connect(offer).unwrap()];
    let mut failed = [false; 2];
    let mut outcome = Outcome::default();
    for (who, step) in script {
        if failed[*who] {
            continue;
        }
        if let Err(failure) = once(&mut *sessions[*who], *who, *step, &mut outcome) {
            assert!(failure.expected, "{} {step:?}: {failure}", target.name());
            if failure.after == After::Open {
                sessions[*who].rollback().unwrap();
            }
            failed[*who] = true;
        }
    }
    outcome
}

fn once(
    session: &mut dyn Session,
    who: usize,
    step: Step,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    match step {
        Step::Begin => session.begin()?,
        Step::Read(row, path) => {
            let answer = session.run(&request(REGISTERS, OpKind::Read, path, row, 0))?;
            let Answer::Value(Some(value)) = answer else { panic!("{answer:?}") };
            outcome.read[who].push(value);
        }
        Step::Write(row, value) => {
            session.run(&request(REGISTERS, OpKind::Write, Path::PrimaryKey, row, value))?;
        }
        Step::Insert(row, value) => {
            let insert = request(EMPTY, OpKind::InsertIfAbsent, Path::PrimaryKey, row, value);
            outcome.inserted[who] = session.run(&insert)? == Answer::Done(true);
        }
        Step::Commit => outcome.committed[who] = session.commit()? == Ended::Committed,
        Step::Rollback => session.rollback()?,
    }
    Ok(())
}
