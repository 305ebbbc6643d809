//! Measurements and soaks on real databases.

pub(crate) mod aborts;
pub(crate) mod evidence;
pub(crate) mod faults;
pub(crate) mod pgbench;
pub(crate) mod recording;
pub(crate) mod soak;
pub(crate) mod versions;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, anyhow};
use isolde_run::{Controls, Options, Ran, Tape};
use isolde_spec::Anomaly;
use isolde_target::{FAULTY, Offer, OpenOptions, Show, Target};
use isolde_workload::{Distribution, Kind, Settings, Workload};

/// What a workload is like unless a measurement says otherwise.
pub(crate) fn settings(kind: Kind) -> Settings {
    let distribution = Distribution::Exponential;
    Settings { keys: 100, sessions: 8, distribution, seed: 1, ..Settings::new(kind) }
}

/// The database of that name.
pub(crate) fn open(name: &str) -> Result<Box<dyn Target>> {
    isolde_target::open(name, &OpenOptions::default()).with_context(|| format!("target {name}"))
}

/// The database's own level of that name.
pub(crate) fn offer(target: &dyn Target, name: &str) -> Result<Offer> {
    let offer = target.offers().iter().find(|o| o.name == name);
    offer.copied().ok_or_else(|| anyhow!("{} has no level {name}", target.name()))
}

/// A database on which several runs are made, one after another.
pub(crate) struct Ground {
    pub(crate) target: Arc<dyn Target>,
    next_table: u32,
}

impl Ground {
    pub(crate) fn open(name: &str) -> Result<Ground> {
        Ok(Ground { target: Arc::from(open(name)?), next_table: 0 })
    }

    /// The same of one that shows more than its answers.
    pub(crate) fn showing(name: &str, show: Option<Show>) -> Result<Ground> {
        let options = OpenOptions { show, ..OpenOptions::default() };
        let target = isolde_target::open(name, &options);
        Ok(Ground::on(target.with_context(|| format!("target {name}"))?))
    }

    /// A database that is open already.
    pub(crate) fn on(target: Box<dyn Target>) -> Ground {
        Ground { target: Arc::from(target), next_table: 0 }
    }

    /// The engine that is faulty on purpose, with an anomaly planted.
    pub(crate) fn planted(anomaly: Anomaly) -> Result<Ground> {
        let options = OpenOptions { planted: vec![anomaly], ..OpenOptions::default() };
        Ok(Ground { target: Arc::from(isolde_target::open(FAULTY, &options)?), next_table: 0 })
    }

    /// One run.
    pub(crate) fn run(
        &mut self,
        offer: &Offer,
        settings: Settings,
        options: &Options,
        tape: &mut dyn Tape,
    ) -> Result<Ran> {
        let workload = Workload::new(settings).map_err(|problem| anyhow!(problem))?;
        let options = Options { first_table: self.next_table, ..options.clone() };
        let stop = AtomicBool::new(false);
        let mut controls = Controls { stop: &stop, watch: &mut |_| {} };
        let ran = isolde_run::run(&self.target, offer, &workload, &options, tape, &mut controls)?;
        self.next_table += ran.tables;
        // What one run leaves behind must not slow the next one down.
        self.target.clean()?;
        Ok(ran)
    }
}
