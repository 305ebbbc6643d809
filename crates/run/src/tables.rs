//! The tables of a run: one for each round, made when the first session gets there.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use isolde_target::{Contents, Failure, Table, Target};
use isolde_workload::Workload;

/// The tables of a run.
pub(crate) struct Tables<'r> {
    target: &'r dyn Target,
    contents: Contents,
    rows: u32,
    filled: bool,
    /// The number of the table of round 0.
    first: u32,
    /// How many there are: those of the rounds below.
    made: AtomicU32,
    making: Mutex<()>,
}

impl<'r> Tables<'r> {
    pub(crate) fn new(target: &'r dyn Target, workload: &Workload, first: u32) -> Tables<'r> {
        let contents = if workload.has_lists() { Contents::Lists } else { Contents::Registers };
        Tables {
            target,
            contents,
            rows: workload.settings().keys,
            filled: workload.starts_filled(),
            first,
            made: AtomicU32::new(0),
            making: Mutex::new(()),
        }
    }

    /// Makes sure that the table of that round is there. Others who need it wait meanwhile.
    pub(crate) fn ensure(&self, round: u32) -> Result<(), Failure> {
        if round < self.made.load(Ordering::Acquire) {
            return Ok(());
        }
        let _one_at_a_time = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let made = self.made.load(Ordering::Acquire);
        for round in made..=round {
            let (contents, rows, filled) = (self.contents, self.rows, self.filled);
            self.target.create(&Table { number: self.number(round), contents, rows, filled })?;
            self.made.store(round + 1, Ordering::Release);
        }
        Ok(())
    }

    /// The number of a round's table.
    pub(crate) fn number(&self, round: u32) -> u32 {
        self.first + round
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u32 {
        self.made.load(Ordering::Acquire)
    }
}
