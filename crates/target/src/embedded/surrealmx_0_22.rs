//! SurrealMX 0.22, kept because it is wrong: surrealdb/surrealdb#7473 reports lost updates, which
//! later versions do not show.

use isolde_spec::Level;

use crate::embedded::engine::{Engine, EngineAbout, Fault, Pair};
use crate::embedded::surrealmx_pair::surrealmx_engine;
use crate::offer::Offer;

const OFFERS: &[Offer] = &[
    Offer {
        name: "snapshot",
        promises: Level::SnapshotIsolation,
        remark: "the README's default; loses updates under load (surrealdb/surrealdb#7473)",
    },
    Offer {
        name: "serializable",
        promises: Level::Serializable,
        remark: "the README promises execution 'equivalent to running transactions one at a \
                 time'; loses updates under load (surrealdb/surrealdb#7473)",
    },
];

surrealmx_engine!(
    surrealmx_0_22,
    EngineAbout {
        name: "SurrealMX",
        version: env!("VERSION_SURREALMX_0_22"),
        offers: OFFERS,
        scans: true,
        locks: false,
        facts: &[("persistence", "none")],
    },
    locks: false
);
