//! What a history to measure with shall be like.

use isolde_spec::Level;
use isolde_workload::simulate::{Database, TimestampStyle};
use isolde_workload::{Kind, Settings};
use serde_json::{Value, json};

/// What a history with timestamps shall be like, and the level that it is asked about.
#[derive(Clone)]
pub(super) struct StampedPlan {
    pub(super) workload: Settings,
    pub(super) database: Database,
    pub(super) level: Level,
    pub(super) txns: u64,
    pub(super) style: TimestampStyle,
    /// How many faults of all kinds are planted.
    pub(super) faults: u64,
    /// By how many ticks clocks are off. Already one spoils some reads of nearly every key.
    pub(super) drift: u32,
}

impl StampedPlan {
    /// A line with what was asked for.
    pub(super) fn line(&self, part: &str) -> Value {
        let reads = (self.workload.kind == Kind::Mix).then(|| self.workload.reads.unwrap_or(0.5));
        json!({
            "bench": "timestamps",
            "part": part,
            "workload": self.workload.kind.name(),
            "level": self.level.name(),
            "timestamps": self.style.name(),
            "transactions": self.txns,
            "sessions": self.workload.sessions,
            "operations_a_transaction": self.workload.max_txn_len,
            "reads": reads,
            "keys": self.workload.keys,
            "distribution": self.workload.distribution.to_string(),
            "faults": self.faults,
            "clock_drift": self.drift,
            "seed": self.workload.seed,
        })
    }
}
