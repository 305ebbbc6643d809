//! A workload: what all sessions do, made from a seed.

use std::sync::Arc;

use crate::favour::Favour;
use crate::mini::Mini;
use crate::pick::Picker;
use crate::rubis::Rubis;
use crate::script::{Maker, Script, Shared};
use crate::settings::{Kind, Settings};
use crate::tpcc::Tpcc;
use crate::twitter::Twitter;

/// What all sessions do.
#[derive(Clone, Debug)]
pub struct Workload {
    settings: Settings,
    shared: Arc<Shared>,
}

impl Workload {
    /// The workload, or what is wrong with the settings.
    pub fn new(settings: Settings) -> Result<Workload, String> {
        let mut settings = settings.settled()?;
        if let Some(anomaly) = settings.favour {
            settings.rollbacks = settings.rollbacks.max(Favour::of(anomaly)?.rollbacks);
        }
        let len = settings.max_txn_len;
        let maker = match settings.kind {
            Kind::Mini => Maker::Mini(Mini::new(&settings)?),
            Kind::General => Maker::General(len),
            Kind::Append => Maker::Append(len),
            Kind::Cas => Maker::Cas,
            Kind::Register => Maker::Register(len),
            Kind::Mix => Maker::Mix(len, settings.reads.unwrap_or_default()),
            Kind::Twitter => Maker::Twitter(Twitter::new(settings.keys)),
            Kind::Rubis => Maker::Rubis(Rubis::new(settings.keys)),
            Kind::Tpcc => Maker::Tpcc(Box::new(Tpcc::new(settings.keys))),
        };
        let picker = Picker::new(settings.distribution, settings.keys);
        let Settings { rollbacks, round, sessions, .. } = settings;
        let shared = Arc::new(Shared { maker, picker, rollbacks, round, sessions });
        Ok(Workload { settings, shared })
    }

    /// Its settings, with everything chosen that was left open.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether rows hold lists; otherwise integers.
    pub fn has_lists(&self) -> bool {
        self.settings.kind == Kind::Append
    }

    /// Whether all rows are there from the start, with the value 0; otherwise tables are empty.
    pub fn starts_filled(&self) -> bool {
        !matches!(self.settings.kind, Kind::Append | Kind::Cas)
    }

    /// What that session does, from its first transaction on.
    pub fn script(&self, session: u32) -> Script {
        Script::new(Arc::clone(&self.shared), self.settings.seed, session)
    }
}
