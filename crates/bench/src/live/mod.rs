//! Measurements and soaks on real databases.

pub(crate) mod aborts;
pub(crate) mod pgbench;
pub(crate) mod recording;
pub(crate) mod soak;

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, anyhow};
use isolde_run::{Controls, Options, Ran, Tape};
use isolde_target::{Offer, OpenOptions, Target};
use isolde_workload::{Distribution, Kind, Settings, Workload};

/// What a workload is like unless a measurement says otherwise.
pub(crate) fn settings(kind: Kind) -> Settings {
    Settings {
        kind,
        keys: 100,
        distribution: Distribution::Exponential,
        max_txn_len: 4,
        sessions: 8,
        favour: None,
        rollbacks: 0.0,
        round: 0,
        seed: 1,
    }
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
    pub(crate) target: Box<dyn Target>,
    next_table: u32,
}

impl Ground {
    pub(crate) fn open(name: &str) -> Result<Ground> {
        Ok(Ground { target: open(name)?, next_table: 0 })
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
        let ran = isolde_run::run(&*self.target, offer, &workload, &options, tape, &mut controls)?;
        self.next_table += ran.tables;
        // What one run leaves behind must not slow the next one down.
        self.target.clean()?;
        Ok(ran)
    }
}

/// The name of a kind of workload, as on the command line of `isolde test`.
pub(crate) fn name(kind: Kind) -> String {
    format!("{kind:?}").to_lowercase()
}

/// All kinds of workloads.
pub(crate) const KINDS: [Kind; 5] =
    [Kind::Mini, Kind::General, Kind::Append, Kind::Cas, Kind::Register];
