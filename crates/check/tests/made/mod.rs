//! Large histories made by simulation, anomalies to plant into them, and the same history made anew
//! in another guise.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

pub mod plants;
pub mod recipe;
pub mod remake;
pub mod simulate;

use isolde_spec::{Level, Promise};

/// The levels that the checker decides.
pub const STRONG: [Level; 4] = [
    Level::SnapshotIsolation,
    Level::StrongSnapshotIsolation,
    Level::Serializable,
    Level::StrictSerializable,
];

/// Each of those levels, with session order and without.
pub fn promises() -> impl Iterator<Item = Promise> {
    let both = |level| [true, false].map(|session_order| Promise { level, session_order });
    STRONG.into_iter().flat_map(both)
}
