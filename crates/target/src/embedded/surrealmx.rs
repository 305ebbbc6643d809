//! SurrealMX as it is now.

use isolde_spec::Level;

use crate::embedded::engine::{Engine, EngineAbout, Fault, Pair};
use crate::embedded::surrealmx_pair::surrealmx_engine;
use crate::offer::Offer;

const OFFERS: &[Offer] = &[
    Offer {
        name: "snapshot",
        promises: Level::SnapshotIsolation,
        remark: "with_snapshot_isolation(): 'committed with snapshot isolation guarantees' (tx.rs)",
    },
    Offer {
        name: "serializable",
        promises: Level::StrictSerializable,
        remark: "the default of update transactions; the README promises strict serializability \
                 by checking reads and writes at commit",
    },
];

surrealmx_engine!(
    surrealmx,
    EngineAbout {
        name: "SurrealMX",
        version: env!("VERSION_SURREALMX"),
        offers: OFFERS,
        scans: true,
        locks: true,
        facts: &[("persistence", "none")],
    },
    locks: true
);
