//! Workers that take one case after another, until the budget is used.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use isolde_sql::case::Case;
use isolde_sql::policy::policy;
use isolde_target::{Offer, Target};

use super::folder::write_all;
use super::found::Found;
use super::plan::FuzzPlan;
use super::tally::FuzzTally;
use super::worker::Worker;
use crate::stop::Stop;

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
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
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
                    let mut is_news = false;
                    for found in done.found {
                        is_news |= shared.note(found);
                    }
                    // Whatever ends this process, what was found so far is on disk.
                    if is_news && let Err(error) = shared.keep(target, offer, plan) {
                        shared.trouble = Some(format!("{error:#}"));
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
    let mut shared = shared;
    shared.keep(target, offer, plan)?;
    let Shared { mut tally, findings, trouble } = shared;
    tally.findings = findings.iter().filter(|found| !found.documented).count() as u64;
    Ok(Fuzzed { tally, findings, took: began.elapsed(), trouble })
}

impl Shared {
    /// Of each signature the finding of the earliest case stays. Says whether this one does.
    fn note(&mut self, mut found: Found) -> bool {
        let Some(other) = self.findings.iter_mut().find(|f| f.signature == found.signature) else {
            self.findings.push(found);
            return true;
        };
        found.times += other.times;
        if found.number >= other.number {
            other.times = found.times;
            return false;
        }
        found.folder = other.folder.take();
        *other = found;
        true
    }

    /// Writes the findings, the earliest case first, in place of what was written of them before.
    fn keep(&mut self, target: &dyn Target, offer: Offer, plan: &FuzzPlan) -> Result<()> {
        let Some(folder) = &plan.folder else { return Ok(()) };
        self.findings.sort_by_key(|found| found.number);
        for old in self.findings.iter_mut().filter_map(|found| found.folder.take()) {
            fs::remove_dir_all(old)?;
        }
        write_all(folder, target, offer, plan, &mut self.findings)
    }
}
