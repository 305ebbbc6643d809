//! The tables of a run: one for each round, made when the first session gets there.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use isolde_target::{Contents, Failure, Table, Target};
use isolde_workload::Workload;

use crate::kept_versions::KeptVersions;

/// The tables of a run.
pub(crate) struct Tables {
    target: Arc<dyn Target>,
    contents: Contents,
    rows: u32,
    filled: bool,
    /// The number of the table of round 0.
    first: u32,
    /// How many there are: those of the rounds below.
    made: AtomicU32,
    /// The round of each session; the last number of all when it is through.
    rounds: Vec<AtomicU32>,
    /// Locked while tables are made or dropped: how many were dropped, those of the first rounds.
    dropped: Mutex<u32>,
    /// What the server showed of the versions of their rows.
    pub(crate) versions: KeptVersions,
}

impl Tables {
    pub(crate) fn new(target: Arc<dyn Target>, workload: &Workload, first: u32) -> Tables {
        let contents = if workload.has_lists() { Contents::Lists } else { Contents::Registers };
        let versions = KeptVersions::new(&*target, contents, workload.settings().rows());
        Tables {
            target,
            contents,
            rows: workload.settings().rows(),
            filled: workload.starts_filled(),
            first,
            made: AtomicU32::new(0),
            rounds: (0..workload.settings().sessions).map(|_| AtomicU32::new(0)).collect(),
            dropped: Mutex::new(0),
            versions,
        }
    }

    /// Makes sure that the table of that round is there. Other sessions that need it wait meanwhile.
    pub(crate) fn ensure(&self, round: u32) -> Result<(), Failure> {
        if round < self.made.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut dropped = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        for round in self.made.load(Ordering::Acquire)..=round {
            let (contents, rows, filled) = (self.contents, self.rows, self.filled);
            self.target.create(&Table { number: self.number(round), contents, rows, filled })?;
            self.made.store(round + 1, Ordering::Release);
        }
        // Rounds never go back, so no session will touch what all have left behind.
        let slowest = self.rounds.iter().map(|r| r.load(Ordering::Acquire)).min().unwrap_or(0);
        while *dropped < slowest.min(round) {
            self.versions.read(&*self.target, *dropped, self.number(*dropped))?;
            self.target.drop_table(self.number(*dropped))?;
            *dropped += 1;
        }
        Ok(())
    }

    /// Reads the versions of all tables that are still there, when all sessions are gone. A server that was away
    /// until now may need a moment.
    pub(crate) fn read_rest(&self, patience: Duration) {
        let dropped = *self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        let began = Instant::now();
        for round in dropped..self.count() {
            while let Err(failure) = self.versions.read(&*self.target, round, self.number(round)) {
                if began.elapsed() >= patience {
                    self.versions.unread(failure.to_string());
                    return;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }

    /// A session begins a round, and leaves all earlier ones behind.
    pub(crate) fn enter(&self, session: u32, round: u32) -> Result<(), Failure> {
        if let Some(at) = self.rounds.get(session as usize) {
            at.store(round, Ordering::Release);
        }
        self.ensure(round)
    }

    /// A session is through.
    pub(crate) fn leave(&self, session: u32) {
        if let Some(at) = self.rounds.get(session as usize) {
            at.store(u32::MAX, Ordering::Release);
        }
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
