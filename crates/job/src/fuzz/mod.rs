//! Random SQL transactions against a database: workers, each with a room of its own, take one case after another.
//!
//! What a case is and what is found in it depends on its number and the seed alone, not on the worker.

mod folder;
mod tally;
mod worker;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use isolde_sql::case::Case;
use isolde_sql::policy::policy;
use isolde_sql::work::Effort;
use isolde_target::{Offer, Target};

pub use folder::{Replayed, SavedFinding, replay};
pub use tally::{FuzzTally, GaveUp};
pub use worker::{Found, What};

use crate::stop::Stop;
use worker::Worker;

/// What is to be done.
pub struct FuzzPlan {
    /// What all choices follow from.
    pub seed: u64,
    /// The number of the first case.
    pub first: u64,
    /// How long to go on.
    pub budget: Option<Duration>,
    /// How many cases to run at most.
    pub cases: Option<u64>,
    /// How many workers there are.
    pub parallel: usize,
    /// How each case is worked on.
    pub effort: Effort,
    /// Where findings go, each a folder.
    pub folder: Option<PathBuf>,
    /// What was typed, for the findings to say.
    pub command: String,
}

/// What came of it.
pub struct Fuzzed {
    /// The counts.
    pub tally: FuzzTally,
    /// The findings, each signature once, by the number of the case that showed it first.
    pub findings: Vec<Found>,
    /// How long it took.
    pub took: Duration,
    /// What was given up because the server could not be had any more.
    pub trouble: Option<String>,
}

/// What all workers share.
struct Board {
    next: AtomicU64,
    shared: Mutex<Shared>,
}

#[derive(Default)]
struct Shared {
    tally: FuzzTally,
    findings: Vec<Found>,
    trouble: Option<String>,
}

impl Board {
    /// What all share, whatever became of a worker that held it.
    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The level that is tested: the one that is named, or the strongest that can be.
pub fn offer_for(target: &dyn Target, named: Option<&str>) -> Result<Offer> {
    let offers = target.offers();
    let Some(name) = named else {
        let can_be = |offer: &&Offer| policy(target.name(), offer).is_ok();
        return match offers.iter().rev().find(can_be) {
            Some(offer) => Ok(*offer),
            None => bail!(
                "{} cannot be tested with SQL: it is not known which reads show what its statements see",
                target.name()
            ),
        };
    };
    match offers.iter().find(|offer| offer.name == name) {
        Some(offer) => Ok(*offer),
        None => {
            let names: Vec<&str> = offers.iter().map(|offer| offer.name).collect();
            bail!(
                "{} has no level '{name}'\n  hint: levels are {}",
                target.name(),
                names.join(", ")
            )
        }
    }
}

/// Runs cases until the budget is used, the last case is done, or the job is stopped; `make` makes the case of a number,
/// `told` is called after each case.
pub fn fuzz(
    target: &dyn Target,
    offer: Offer,
    plan: &FuzzPlan,
    make: &(dyn Fn(u64) -> Case + Sync),
    stop: &Stop,
    told: &(dyn Fn(&FuzzTally, usize) + Sync),
) -> Result<Fuzzed> {
    let Some(consoles) = target.sql() else {
        bail!("{} understands no SQL", target.name());
    };
    let policy = policy(target.name(), &offer).map_err(anyhow::Error::msg)?;
    // A server of the user's is not ours to start.
    let _ = target.nodes().iter().try_for_each(|node| node.revive());
    let began = Instant::now();
    let board = Board { next: AtomicU64::new(0), shared: Mutex::default() };
    let is_over = || {
        stop.run_ended()
            || plan.budget.is_some_and(|budget| began.elapsed() >= budget)
            || board.lock().trouble.is_some()
    };
    let work = || {
        let mut worker = Worker { target, consoles, offer, policy, plan, runner: None };
        while !is_over() {
            let at = board.next.fetch_add(1, Ordering::SeqCst);
            if plan.cases.is_some_and(|cases| at >= cases) {
                return;
            }
            let number = plan.first.saturating_add(at);
            let case = make(number);
            match worker.work(number, &case) {
                Ok(done) => {
                    let mut shared = board.lock();
                    shared.tally.add(&done.tally);
                    for found in done.found {
                        shared.note(found);
                    }
                    told(&shared.tally, shared.findings.len());
                }
                Err(trouble) => board.lock().trouble = Some(format!("{trouble:#}")),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..plan.parallel.max(1) {
            scope.spawn(work);
        }
    });
    let shared = board.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    let Shared { mut tally, mut findings, trouble } = shared;
    findings.sort_by_key(|found| found.number);
    tally.findings = findings.iter().filter(|found| !found.documented).count() as u64;
    if let Some(folder) = &plan.folder {
        folder::write_all(folder, target, offer, plan, &mut findings)?;
    }
    Ok(Fuzzed { tally, findings, took: began.elapsed(), trouble })
}

impl Shared {
    /// Of each signature the finding of the earliest case stays.
    fn note(&mut self, found: Found) {
        match self.findings.iter_mut().find(|other| other.signature == found.signature) {
            None => self.findings.push(found),
            Some(other) => {
                let times = other.times + found.times;
                if found.number < other.number {
                    *other = found;
                }
                other.times = times;
            }
        }
    }
}
