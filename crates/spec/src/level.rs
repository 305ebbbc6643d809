//! Isolation levels and which of two is stronger.
//!
//! The definitions are those of Biswas and Enea's axioms where they exist; Adya's names (`pl-2`,
//! `cursor-stability`, `repeatable-read`) are levels of their own, on item dependencies.

use std::fmt;

/// What a database may promise about its transactions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Level {
    /// No write cycles, and the rules inside a transaction.
    ReadUncommitted,
    /// Adya's read committed: no dirty, aborted or intermediate reads, no cycle of wr and ww.
    Pl2,
    /// The axiom: what an earlier statement read from a transaction makes the rest of its writes
    /// binding. Also called monotonic atomic view.
    ReadCommitted,
    /// `pl-2`, and no lost update of a single key.
    CursorStability,
    /// All of a transaction's writes are seen, or none.
    ReadAtomic,
    /// What a transaction sees, and all that led to it, is seen.
    Causal,
    /// All transactions see a prefix of one order.
    Prefix,
    /// Adya's PL-2.99: `pl-2`, and no cycle with an item anti-dependency.
    RepeatableRead,
    /// A prefix, and no concurrent writers of the same key.
    SnapshotIsolation,
    /// Snapshot isolation whose snapshots respect real time.
    StrongSnapshotIsolation,
    /// As if one after another.
    Serializable,
    /// As if one after another, in an order that respects real time.
    StrictSerializable,
    /// Serializability of single operations: one order explains them all, in which those of a session
    /// keep theirs. (Sequential consistency, paper 000, definition 11.)
    Sequential,
    /// Strict serializability of single operations on single objects.
    Linearizable,
}

impl Level {
    /// Every level, weakest first as far as they compare.
    pub const ALL: [Level; 14] = [
        Level::ReadUncommitted,
        Level::Pl2,
        Level::ReadCommitted,
        Level::CursorStability,
        Level::ReadAtomic,
        Level::Causal,
        Level::Prefix,
        Level::RepeatableRead,
        Level::SnapshotIsolation,
        Level::StrongSnapshotIsolation,
        Level::Serializable,
        Level::StrictSerializable,
        Level::Sequential,
        Level::Linearizable,
    ];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "read-uncommitted",
            Level::Pl2 => "pl-2",
            Level::ReadCommitted => "read-committed",
            Level::CursorStability => "cursor-stability",
            Level::ReadAtomic => "read-atomic",
            Level::Causal => "causal",
            Level::Prefix => "prefix",
            Level::RepeatableRead => "repeatable-read",
            Level::SnapshotIsolation => "snapshot-isolation",
            Level::StrongSnapshotIsolation => "strong-snapshot-isolation",
            Level::Serializable => "serializable",
            Level::StrictSerializable => "strict-serializable",
            Level::Sequential => "sequential",
            Level::Linearizable => "linearizable",
        }
    }

    /// The usual short form, if there is one.
    pub const fn short(self) -> Option<&'static str> {
        Some(match self {
            Level::ReadUncommitted => "ru",
            Level::ReadCommitted => "rc",
            Level::CursorStability => "cs",
            Level::ReadAtomic => "ra",
            Level::Causal => "cc",
            Level::Prefix => "pc",
            Level::RepeatableRead => "rr",
            Level::SnapshotIsolation => "si",
            Level::StrongSnapshotIsolation => "strong-si",
            Level::Serializable => "ser",
            Level::StrictSerializable => "sser",
            Level::Sequential => "sc",
            Level::Linearizable => "lin",
            Level::Pl2 => return None,
        })
    }

    /// The level of that name or short form.
    ///
    /// ```
    /// use isolde_spec::Level;
    /// assert_eq!(Level::named("si"), Some(Level::SnapshotIsolation));
    /// assert_eq!(Level::named("snapshot-isolation"), Some(Level::SnapshotIsolation));
    /// assert_eq!(Level::named("acid"), None);
    /// ```
    pub fn named(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|l| l.name() == name || l.short() == Some(name))
    }

    /// The levels that this one implies directly.
    pub const fn next_weaker(self) -> &'static [Level] {
        match self {
            Level::ReadUncommitted => &[],
            Level::Pl2 => &[Level::ReadUncommitted],
            Level::ReadCommitted | Level::CursorStability => &[Level::Pl2],
            Level::ReadAtomic => &[Level::ReadCommitted],
            Level::Causal => &[Level::ReadAtomic],
            Level::Prefix => &[Level::Causal],
            Level::RepeatableRead => &[Level::CursorStability],
            Level::SnapshotIsolation => &[Level::Prefix, Level::CursorStability],
            Level::StrongSnapshotIsolation => &[Level::SnapshotIsolation],
            Level::Serializable => &[Level::SnapshotIsolation, Level::RepeatableRead],
            Level::StrictSerializable => &[Level::Serializable, Level::StrongSnapshotIsolation],
            Level::Sequential => &[Level::Serializable],
            Level::Linearizable => &[Level::StrictSerializable, Level::Sequential],
        }
    }

    /// Whether every history of this level is one of the other.
    ///
    /// ```
    /// use isolde_spec::Level;
    /// assert!(Level::Serializable.implies(Level::ReadAtomic));
    /// assert!(!Level::Serializable.implies(Level::StrongSnapshotIsolation));
    /// ```
    pub fn implies(self, other: Level) -> bool {
        // The lattice has fourteen levels: a walk over what is still to be asked.
        let mut todo = vec![self];
        while let Some(level) = todo.pop() {
            if level == other {
                return true;
            }
            todo.extend(level.next_weaker());
        }
        false
    }

    /// Whether the level is one of Adya's on items, which stand beside those of the axioms.
    pub const fn is_adya(self) -> bool {
        matches!(self, Level::Pl2 | Level::CursorStability | Level::RepeatableRead)
    }

    /// Whether the transactions of a session are bound to their order at this level: they are from
    /// read committed up, and not at Adya's levels on items.
    pub const fn counts_session_order(self) -> bool {
        !self.is_adya() && !matches!(self, Level::ReadUncommitted)
    }

    /// Whether the level speaks of single operations rather than of transactions.
    pub const fn of_operations(self) -> bool {
        matches!(self, Level::Sequential | Level::Linearizable)
    }

    /// Whether the level speaks of real time.
    pub const fn needs_real_time(self) -> bool {
        matches!(
            self,
            Level::StrongSnapshotIsolation | Level::StrictSerializable | Level::Linearizable
        )
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a promise is judged by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub enum By {
    /// What was written and read: some order of the transactions has to explain it.
    #[default]
    Values,
    /// The server's own timestamps: they say what each transaction sees, and it has to see exactly that.
    Timestamps,
    /// The server's own snapshots: they say which transactions each one sees, and it has to see exactly
    /// those.
    Snapshots,
    /// When clients sent each statement and had its answer: what the mechanisms of the server can have made of that is all
    /// that may be seen.
    Intervals,
}

impl By {
    /// Everything that a promise can be judged by.
    pub const ALL: [By; 4] = [By::Values, By::Timestamps, By::Snapshots, By::Intervals];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            By::Values => "values",
            By::Timestamps => "timestamps",
            By::Snapshots => "snapshots",
            By::Intervals => "intervals",
        }
    }

    /// Whether there are rules for a level.
    pub const fn judges(self, level: Level) -> bool {
        match self {
            // By intervals, a profile says what the mechanisms of a server amount to.
            By::Values | By::Intervals => true,
            By::Timestamps => matches!(level, Level::SnapshotIsolation | Level::Serializable),
            By::Snapshots => matches!(level, Level::ReadCommitted | Level::SnapshotIsolation),
        }
    }
}

/// A level, whether it binds the transactions of a session to their order, and what it is judged by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Promise {
    /// The level.
    pub level: Level,
    /// Whether session order counts (it does unless the database promises nothing across the
    /// transactions of a session).
    pub session_order: bool,
    /// What it is judged by.
    pub by: By,
}

impl Promise {
    /// The level with session order, by values.
    pub const fn of(level: Level) -> Promise {
        Promise { level, session_order: true, by: By::Values }
    }

    /// The level with session order, by the server's timestamps.
    pub const fn by_timestamps(level: Level) -> Promise {
        Promise { level, session_order: true, by: By::Timestamps }
    }

    /// The level with session order, by the server's snapshots.
    pub const fn by_snapshots(level: Level) -> Promise {
        Promise { level, session_order: true, by: By::Snapshots }
    }

    /// The same without session order.
    #[must_use]
    pub const fn without_session_order(self) -> Promise {
        Promise { session_order: false, ..self }
    }

    /// The name without spaces, of which the names of witnesses are made.
    ///
    /// ```
    /// use isolde_spec::{Level, Promise};
    /// let timed = Promise::by_timestamps(Level::SnapshotIsolation);
    /// assert_eq!(timed.word(), "snapshot-isolation-by-timestamps");
    /// ```
    pub fn word(self) -> String {
        match self.by {
            By::Values => self.level.name().to_owned(),
            by => format!("{}-by-{}", self.level.name(), by.name()),
        }
    }

    /// Every promise by values: each level with session order and without.
    pub fn all() -> impl Iterator<Item = Promise> {
        let both = |level| [Promise::of(level), Promise::of(level).without_session_order()];
        Level::ALL.into_iter().flat_map(both)
    }

    /// Whether every history that keeps this promise keeps the other one.
    ///
    /// What is right by timestamps has one order of the transactions that explains it, so it is right
    /// by values; by timestamps, no promise follows from another one. By snapshots nothing follows at
    /// all: a row that was deleted and inserted again is fine by snapshots and an update that was lost
    /// by values.
    ///
    /// ```
    /// use isolde_spec::{Level, Promise};
    /// let loose = Promise::of(Level::Serializable).without_session_order();
    /// assert!(Promise::of(Level::Serializable).implies(loose));
    /// assert!(!loose.implies(Promise::of(Level::Causal)));
    /// // Session order does not count at repeatable read.
    /// assert!(loose.implies(Promise::of(Level::RepeatableRead)));
    /// let timed = Promise::by_timestamps(Level::SnapshotIsolation);
    /// assert!(timed.implies(Promise::of(Level::Prefix)));
    /// assert!(!Promise::of(Level::StrictSerializable).implies(timed));
    /// ```
    pub fn implies(self, other: Promise) -> bool {
        let in_order = self.session_order || !other.session_order;
        match (self.by, other.by) {
            (By::Values | By::Timestamps, By::Values) => {
                self.level.implies(other.level) && (in_order || !other.level.counts_session_order())
            }
            (a, b) if a == b => self.level == other.level && in_order,
            _ => false,
        }
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.level.name())?;
        if self.by != By::Values {
            write!(f, " by {}", self.by.name())?;
        }
        if !self.session_order {
            f.write_str(" without session order")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lattice_is_one() {
        for a in Level::ALL {
            assert!(a.implies(a) && a.implies(Level::ReadUncommitted), "{a}");
            for b in Level::ALL {
                assert!(a == b || !(a.implies(b) && b.implies(a)), "{a} and {b}");
                for c in Level::ALL.into_iter().filter(|c| a.implies(b) && b.implies(*c)) {
                    assert!(a.implies(c), "{a}, {b}, {c}");
                }
            }
        }
    }

    #[test]
    fn names_are_different() {
        let mut names: Vec<&str> = Level::ALL.iter().map(|l| l.name()).collect();
        names.extend(Level::ALL.iter().filter_map(|l| l.short()));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for level in Level::ALL {
            assert_eq!(Level::named(level.name()), Some(level));
        }
    }
}
