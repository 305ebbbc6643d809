//! The catalogue of anomalies, as data.
//!
//! A procedure finds patterns: operations that contradict each other inside a transaction, or a cycle
//! of dependencies with so many anti-dependencies. What such a pattern is called, what it means, and
//! which level forbids it, stands here and nowhere else.

use std::fmt;

use crate::edge::Edges;
use crate::level::Level;
use crate::pattern::{Pattern, Reads};

/// A way in which a history breaks a promise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum Anomaly {
    /// A value was read that no transaction wrote.
    ThinAirRead,
    /// A value of an aborted transaction was read.
    AbortedRead,
    /// A value was read that the same transaction writes later.
    FutureRead,
    /// An own write was read, but not the last.
    NotMyLastWrite,
    /// An own write was not read.
    NotMyOwnWrite,
    /// A value was read that its writer overwrote before it committed.
    IntermediateRead,
    /// Two reads of a key in one transaction differ.
    NonRepeatableReads,
    /// Lists were read of which neither is a prefix of the other.
    IncompatibleOrder,
    /// An element is in a list twice.
    DuplicateElements,
    /// A list holds the element of an aborted transaction under that of a committed one.
    DirtyUpdate,
    /// A cycle of writes.
    G0,
    /// A cycle of reads and session order.
    CyclicCausality,
    /// A cycle of writes and reads.
    G1c,
    /// A newer value was read, then an older one.
    NonMonotonicRead,
    /// A write of the same session was missed.
    SessionGuaranteeViolation,
    /// One write of a transaction was seen, another missed.
    FracturedRead,
    /// What led to a value was missed.
    CausalityViolation,
    /// Two transactions read the same version and both overwrote it.
    LostUpdate,
    /// A cycle with one anti-dependency.
    GSingle,
    /// Two writes were seen in opposite orders.
    LongFork,
    /// A cycle in which no two anti-dependencies are adjacent.
    GNonadjacent,
    /// Two transactions each overwrote what the other had read.
    WriteSkew,
    /// A cycle with adjacent anti-dependencies.
    G2Item,
    /// A write was seen, and one that had committed before it was missed.
    PrefixViolation,
    /// No order of single operations explains what they returned.
    NotLinearizable,
    /// A transaction that wrote says that it committed before it started, or just then.
    BadTimestamps,
    /// Two writers have one commit timestamp.
    TimestampTie,
    /// A version was read that was committed after the reader's place.
    UncommittedVersionRead,
    /// A version was read that had been overwritten at the reader's place.
    StaleRead,
    /// Two transactions that overlap wrote the same key.
    ConcurrentWrites,
    /// A snapshot contradicts itself or another one.
    BadSnapshot,
    /// A snapshot misses what had been committed before it was taken.
    StaleSnapshot,
    /// A commit that the server had confirmed is gone.
    LostCommit,
    /// No one snapshot shows all that a transaction read.
    TornSnapshot,
    /// Two locks that exclude each other were held at the same time.
    BrokenLock,
    /// Two anti-dependencies in a row committed that the server's certifier refuses.
    DangerousStructure,
    /// A dependency that the server's certifier refuses committed.
    SkippedValidation,
}

/// How a pattern is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finding {
    /// In the operations of a transaction and the writers of what it read.
    Local,
    /// In the lists that were read of one key.
    Lists,
    /// As a cycle of dependencies that looks like one of these.
    Cycle(&'static [Pattern]),
    /// By trying the orders of operations on one object.
    Orders,
    /// By comparing what was done with the server's timestamps.
    Timestamps,
    /// By comparing what was done, and when, with the server's snapshots.
    Snapshots,
    /// By comparing what was done, and when, with the mechanisms of the server.
    Intervals,
    /// The server itself says so when it is asked.
    Told,
}

/// What the catalogue says of an anomaly.
#[derive(Clone, Copy, Debug)]
pub struct Catalogued {
    /// The anomaly.
    pub anomaly: Anomaly,
    /// Its name.
    pub name: &'static str,
    /// The phenomenon of Adya's that it is, or is an instance of.
    pub adya: Option<&'static str>,
    /// What it means, in one line.
    pub meaning: &'static str,
    /// The weakest level of the axioms that forbids it.
    pub forbidden_from: Level,
    /// The weakest of Adya's levels on items that does too (`pl-2`, `cursor-stability`,
    /// `repeatable-read`), if any: they stand beside the axioms, without session order.
    pub also_from: Option<Level>,
    /// How it is found.
    pub finding: Finding,
}

const SO: u8 = Edges::SO.0;
const RT: u8 = Edges::RT.0;
const WR: u8 = Edges::WR.0;
const WW: u8 = Edges::WW.0;

/// Every anomaly, the most basic first: a cycle has the name of the first that it looks like, and an
/// earlier one explains a later one that it causes.
pub static CATALOGUE: &[Catalogued] = &[
    entry(
        Anomaly::LostCommit,
        "LostCommit",
        None,
        Level::ReadUncommitted,
        Finding::Told,
        "the server confirmed a commit and knows nothing of it any more",
    ),
    entry(
        Anomaly::FutureRead,
        "FutureRead",
        None,
        Level::ReadUncommitted,
        Finding::Local,
        "a transaction read a value that it wrote only later",
    ),
    entry(
        Anomaly::NotMyLastWrite,
        "NotMyLastWrite",
        None,
        Level::ReadUncommitted,
        Finding::Local,
        "a transaction read a write of its own that it had overwritten",
    ),
    entry(
        Anomaly::NotMyOwnWrite,
        "NotMyOwnWrite",
        None,
        Level::ReadUncommitted,
        Finding::Local,
        "a transaction wrote a key and then read another value of it",
    ),
    entry(
        Anomaly::ThinAirRead,
        "ThinAirRead",
        None,
        Level::ReadCommitted,
        Finding::Local,
        "a transaction read a value that no transaction wrote",
    )
    .also_from(Level::Pl2),
    entry(
        Anomaly::AbortedRead,
        "AbortedRead",
        Some("G1a"),
        Level::ReadCommitted,
        Finding::Local,
        "a transaction read a value that was rolled back",
    )
    .also_from(Level::Pl2),
    entry(
        Anomaly::IntermediateRead,
        "IntermediateRead",
        Some("G1b"),
        Level::ReadCommitted,
        Finding::Local,
        "a transaction read a value that its writer overwrote before it committed",
    )
    .also_from(Level::Pl2),
    entry(
        Anomaly::DuplicateElements,
        "DuplicateElements",
        None,
        Level::ReadUncommitted,
        Finding::Lists,
        "an element was appended once and is in a list twice",
    ),
    entry(
        Anomaly::IncompatibleOrder,
        "IncompatibleOrder",
        None,
        Level::ReadUncommitted,
        Finding::Lists,
        "two reads of a list disagree about the order of its elements",
    ),
    entry(
        Anomaly::DirtyUpdate,
        "DirtyUpdate",
        None,
        Level::ReadCommitted,
        Finding::Lists,
        "a committed element stands on top of one that was rolled back",
    )
    .also_from(Level::Pl2),
    entry(
        Anomaly::NonRepeatableReads,
        "NonRepeatableReads",
        None,
        Level::ReadAtomic,
        Finding::Local,
        "a transaction read a key twice and got different values",
    )
    .also_from(Level::RepeatableRead),
    entry(
        Anomaly::G0,
        "G0",
        Some("G0"),
        Level::ReadUncommitted,
        Finding::Cycle(&[Pattern::any(Reads::None, Edges(WW | SO | RT))]),
        "transactions overwrote each other in a cycle",
    ),
    entry(
        Anomaly::CyclicCausality,
        "CyclicCausality",
        Some("G1c"),
        Level::ReadCommitted,
        Finding::Cycle(&[Pattern::any(Reads::None, Edges(WR | SO))]),
        "transactions read from each other in a cycle",
    )
    .also_from(Level::Pl2),
    entry(
        Anomaly::G1c,
        "G1c",
        Some("G1c"),
        Level::ReadCommitted,
        Finding::Cycle(&[Pattern::any(Reads::None, Edges::DEPENDENCIES)]),
        "transactions depend on each other's writes in a cycle",
    )
    .also_from(Level::Pl2),
    entry(
        Anomaly::NonMonotonicRead,
        "NonMonotonicRead",
        Some("G-single"),
        Level::ReadCommitted,
        Finding::Cycle(&[Pattern::any(Reads::One, Edges::WR).of_len(2).after_it_saw()]),
        "a transaction saw another one, and then a value that the other had overwritten",
    )
    .also_from(Level::RepeatableRead),
    entry(
        Anomaly::SessionGuaranteeViolation,
        "SessionGuaranteeViolation",
        Some("G-single"),
        Level::ReadAtomic,
        Finding::Cycle(&[Pattern::any(Reads::One, Edges::SO).of_len(2)]),
        "a transaction missed a write of an earlier transaction of its session",
    ),
    entry(
        Anomaly::FracturedRead,
        "FracturedRead",
        Some("G-single"),
        Level::ReadAtomic,
        Finding::Cycle(&[Pattern::any(Reads::One, Edges::WR).of_len(2)]),
        "a transaction saw one write of another one and missed another",
    )
    .also_from(Level::RepeatableRead),
    entry(
        Anomaly::CausalityViolation,
        "CausalityViolation",
        Some("G-single"),
        Level::Causal,
        Finding::Cycle(&[Pattern::any(Reads::One, Edges(WR | SO))]),
        "a transaction saw a value and missed something that led to it",
    )
    .also_from(Level::RepeatableRead),
    entry(
        Anomaly::LostUpdate,
        "LostUpdate",
        Some("G-single"),
        Level::SnapshotIsolation,
        Finding::Cycle(&[
            Pattern::any(Reads::One, Edges::WW).of_len(2).on_one_key(),
            Pattern::any(Reads::Adjacent, Edges::DEPENDENCIES).of_len(2).on_one_key(),
        ]),
        "two transactions read the same version of a key and both overwrote it",
    )
    .also_from(Level::CursorStability),
    entry(
        Anomaly::GSingle,
        "G-single",
        Some("G-single"),
        Level::SnapshotIsolation,
        Finding::Cycle(&[Pattern::any(Reads::One, Edges::DEPENDENCIES)]),
        "a cycle with exactly one anti-dependency",
    )
    .also_from(Level::RepeatableRead),
    entry(
        Anomaly::LongFork,
        "LongFork",
        Some("G-nonadjacent"),
        Level::Prefix,
        Finding::Cycle(&[Pattern::any(Reads::Apart, Edges::WR).of_len(4)]),
        "two transactions saw the writes of two others in opposite orders",
    )
    .also_from(Level::RepeatableRead),
    entry(
        Anomaly::GNonadjacent,
        "G-nonadjacent",
        Some("G-nonadjacent"),
        Level::SnapshotIsolation,
        Finding::Cycle(&[Pattern::any(Reads::Apart, Edges::DEPENDENCIES)]),
        "a cycle in which no two anti-dependencies are adjacent",
    )
    .also_from(Level::RepeatableRead),
    entry(
        Anomaly::WriteSkew,
        "WriteSkew",
        Some("G2-item"),
        Level::Serializable,
        Finding::Cycle(&[Pattern::any(Reads::Adjacent, Edges::DEPENDENCIES).of_len(2)]),
        "two transactions each overwrote what the other had read",
    )
    .also_from(Level::RepeatableRead),
    entry(
        Anomaly::G2Item,
        "G2-item",
        Some("G2-item"),
        Level::Serializable,
        Finding::Cycle(&[Pattern::any(Reads::Adjacent, Edges::DEPENDENCIES)]),
        "a cycle with adjacent anti-dependencies",
    )
    .also_from(Level::RepeatableRead),
    // The name of a cycle at prefix consistency if its own name belongs to a stronger one.
    entry(
        Anomaly::PrefixViolation,
        "PrefixViolation",
        None,
        Level::Prefix,
        Finding::Cycle(&[]),
        "a transaction saw a write and missed one that had committed before it",
    ),
    entry(
        Anomaly::NotLinearizable,
        "NotLinearizable",
        None,
        Level::Linearizable,
        Finding::Orders,
        "no order of the operations on an object explains what they returned",
    ),
    // What only the server's timestamps or snapshots show.
    entry(
        Anomaly::BadTimestamps,
        "BadTimestamps",
        None,
        Level::SnapshotIsolation,
        Finding::Timestamps,
        "a transaction commits, by its timestamps, before it starts, or writes and commits just then",
    ),
    entry(
        Anomaly::UncommittedVersionRead,
        "UncommittedVersionRead",
        None,
        Level::SnapshotIsolation,
        Finding::Timestamps,
        "a transaction read a version that, by the server's own word, was committed too late to be seen",
    ),
    entry(
        Anomaly::StaleRead,
        "StaleRead",
        None,
        Level::SnapshotIsolation,
        Finding::Timestamps,
        "a transaction read a version that, by the server's own word, was already overwritten",
    ),
    entry(
        Anomaly::ConcurrentWrites,
        "ConcurrentWrites",
        None,
        Level::SnapshotIsolation,
        Finding::Timestamps,
        "two transactions wrote the same key, and neither committed before the other started",
    ),
    entry(
        Anomaly::TimestampTie,
        "TimestampTie",
        None,
        Level::SnapshotIsolation,
        Finding::Timestamps,
        "two transactions that depend on each other have the same commit timestamp",
    ),
    entry(
        Anomaly::BadSnapshot,
        "BadSnapshot",
        None,
        Level::SnapshotIsolation,
        Finding::Snapshots,
        "a snapshot shows its own transaction, or two snapshots each show what the other one lacks",
    ),
    entry(
        Anomaly::StaleSnapshot,
        "StaleSnapshot",
        None,
        Level::SnapshotIsolation,
        Finding::Snapshots,
        "a snapshot misses a commit that had been confirmed before it was taken",
    ),
    entry(
        Anomaly::TornSnapshot,
        "TornSnapshot",
        None,
        Level::SnapshotIsolation,
        Finding::Intervals,
        "each read of a transaction may be right, but no one snapshot shows all that it read",
    ),
    entry(
        Anomaly::BrokenLock,
        "BrokenLock",
        None,
        Level::ReadUncommitted,
        Finding::Intervals,
        "two transactions held locks at the same time that exclude each other",
    ),
    entry(
        Anomaly::DangerousStructure,
        "DangerousStructure",
        None,
        Level::Serializable,
        Finding::Intervals,
        "two anti-dependencies in a row committed that serializable snapshot isolation refuses",
    ),
    entry(
        Anomaly::SkippedValidation,
        "SkippedValidation",
        None,
        Level::Serializable,
        Finding::Intervals,
        "a transaction committed although the server's certifier had to refuse it",
    ),
];

const fn entry(
    anomaly: Anomaly,
    name: &'static str,
    adya: Option<&'static str>,
    forbidden_from: Level,
    finding: Finding,
    meaning: &'static str,
) -> Catalogued {
    Catalogued { anomaly, name, adya, meaning, forbidden_from, also_from: None, finding }
}

impl Catalogued {
    const fn also_from(self, level: Level) -> Catalogued {
        Catalogued { also_from: Some(level), ..self }
    }
}

impl Anomaly {
    /// What the catalogue says of it.
    pub fn entry(self) -> &'static Catalogued {
        // Every anomaly is in the catalogue (a test checks it); the first entry stands in for none.
        CATALOGUE.iter().find(|e| e.anomaly == self).unwrap_or(&CATALOGUE[0])
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// The anomaly of that name, however its words are joined: `LostUpdate`, `lost-update`.
    ///
    /// ```
    /// use isolde_spec::Anomaly;
    /// assert_eq!(Anomaly::named("write-skew"), Some(Anomaly::WriteSkew));
    /// assert_eq!(Anomaly::named("fine"), None);
    /// ```
    pub fn named(name: &str) -> Option<Anomaly> {
        let plain = |name: &str| name.replace(['-', '_'], "").to_lowercase();
        CATALOGUE.iter().find(|e| plain(e.name) == plain(name)).map(|e| e.anomaly)
    }

    /// Its place in the catalogue: of two, the lower one is more basic.
    pub fn rank(self) -> usize {
        CATALOGUE.iter().position(|e| e.anomaly == self).unwrap_or(CATALOGUE.len())
    }

    /// Whether a level forbids it.
    pub fn forbidden_at(self, level: Level) -> bool {
        let entry = self.entry();
        level.implies(entry.forbidden_from)
            || entry.also_from.is_some_and(|also| level.implies(also))
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_anomaly_is_catalogued_once() {
        let mut seen: Vec<Anomaly> = CATALOGUE.iter().map(|e| e.anomaly).collect();
        seen.sort_unstable();
        let count = Anomaly::SkippedValidation as usize + 1;
        assert_eq!(seen.len(), count);
        assert!(seen.iter().enumerate().all(|(i, a)| *a as usize == i));
    }

    #[test]
    fn what_the_definitions_say() {
        assert!(Anomaly::LongFork.forbidden_at(Level::SnapshotIsolation));
        assert!(!Anomaly::LongFork.forbidden_at(Level::Causal));
        assert!(!Anomaly::WriteSkew.forbidden_at(Level::SnapshotIsolation));
        assert!(Anomaly::LostUpdate.forbidden_at(Level::SnapshotIsolation));
        assert!(!Anomaly::LostUpdate.forbidden_at(Level::Prefix));
        assert!(Anomaly::AbortedRead.forbidden_at(Level::Pl2));
        assert!(Anomaly::G1c.forbidden_at(Level::ReadCommitted));
        assert!(Anomaly::ThinAirRead.forbidden_at(Level::RepeatableRead));
        assert!(Anomaly::WriteSkew.forbidden_at(Level::RepeatableRead));
        assert!(!Anomaly::WriteSkew.forbidden_at(Level::CursorStability));
        assert!(!Anomaly::SessionGuaranteeViolation.forbidden_at(Level::RepeatableRead));
    }
}
