//! Large histories made by simulation, anomalies to plant into them, and the same history made anew
//! in another guise.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

pub mod plants;
pub mod recipe;
pub mod remake;
pub mod simulate;

use isolde_spec::{Level, Promise};

/// The levels from snapshot isolation up.
pub const STRONG: [Level; 4] = [
    Level::SnapshotIsolation,
    Level::StrongSnapshotIsolation,
    Level::Serializable,
    Level::StrictSerializable,
];

/// The levels below them.
pub const WEAK: [Level; 8] = [
    Level::ReadUncommitted,
    Level::Pl2,
    Level::ReadCommitted,
    Level::CursorStability,
    Level::ReadAtomic,
    Level::Causal,
    Level::Prefix,
    Level::RepeatableRead,
];

/// Each of the strong levels, with session order and without.
pub fn promises() -> impl Iterator<Item = Promise> {
    STRONG.into_iter().flat_map(with_and_without)
}

/// The same of the weak ones.
pub fn weak_promises() -> impl Iterator<Item = Promise> {
    WEAK.into_iter().flat_map(with_and_without)
}

/// Both.
pub fn all_promises() -> impl Iterator<Item = Promise> {
    weak_promises().chain(promises())
}

fn with_and_without(level: Level) -> [Promise; 2] {
    [true, false].map(|session_order| Promise { session_order, ..Promise::of(level) })
}
