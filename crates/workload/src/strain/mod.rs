//! Histories that are hard on a checker: small or plain to look at, and made so that an algorithm with
//! a careless limit takes forever or all memory. Benchmarks make them large, tests make them small.
//!
//! What is right to say of each is known, because each was made by running its transactions one after
//! another, or spoiled in one place.
//!
//! ```
//! use isolde_workload::strain::Strain;
//! let history = Strain::SameValue { writers: 50 }.history()?;
//! assert_eq!(history.txn_count(), 55);
//! # Ok::<(), isolde_history::SinkError>(())
//! ```

mod maker;
mod registers;
mod rings;
mod sessions;
#[cfg(test)]
mod tests;

use isolde_history::{History, SinkError};

use maker::StrainMaker;
pub use registers::Hot;
pub use rings::Ring;

/// One kind of history, and how large it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strain {
    /// A read of a value that so many unknown transactions wrote, each of which read one that so many
    /// others wrote, so many deep: choosing a writer brings new reads to choose for.
    NestedGuesses {
        /// How many transactions wrote each value.
        width: u32,
        /// How many keys are chained.
        depth: u32,
    },
    /// A register that holds one of few values: every read could be from a great many writes.
    FewValues {
        /// How many operations there are, each a transaction.
        ops: u32,
        /// How many different values there are.
        values: u32,
    },
    /// So many writes of one and the same value to three keys, then as many reads of it.
    OneValue {
        /// How many writes, and how many reads.
        writes: u32,
    },
    /// A key that so many transactions write without reading it, each its own value, and as many read.
    HotKey {
        /// How many write it, and how many read it.
        writers: u32,
        /// How they come about.
        how: Hot,
    },
    /// A list to which so many transactions appended the same element, and a few reads of it.
    EqualElements {
        /// How many elements.
        appends: u32,
    },
    /// A list to which transactions append the same element and read it at once; the first one appends
    /// half of all elements.
    OwnEqualElements {
        /// How many elements.
        appends: u32,
    },
    /// So many sessions with one read-modify-write each, on a tenth as many keys.
    Sessions {
        /// How many sessions.
        sessions: u32,
        /// Whether an answer is seen without its question, on keys of their own.
        violating: bool,
    },
    /// A cycle of so many transactions, and none that is shorter.
    Ring {
        /// How many transactions.
        txns: u32,
        /// What connects them.
        by: Ring,
    },
    /// So many writers of one value, one read of it, and four transactions beside them whose order of
    /// versions is open.
    SameValue {
        /// How many wrote it.
        writers: u32,
    },
    /// Transactions that do not overlap: each reads three current values and writes one key, mostly
    /// one that it did not read.
    BlindWrites {
        /// How many transactions.
        txns: u32,
        /// What all choices follow from: whether a try at a serial execution gets stuck is luck.
        seed: u64,
    },
}

impl Strain {
    /// Makes it.
    pub fn history(self) -> Result<History, SinkError> {
        let mut maker = StrainMaker::new();
        match self {
            Strain::NestedGuesses { width, depth } => {
                registers::nested_guesses(&mut maker, width, depth)?;
            }
            Strain::FewValues { ops, values } => registers::few_values(&mut maker, ops, values)?,
            Strain::OneValue { writes } => registers::one_value(&mut maker, writes)?,
            Strain::HotKey { writers, how } => registers::hot_key(&mut maker, writers, how)?,
            Strain::EqualElements { appends } => sessions::equal_elements(&mut maker, appends)?,
            Strain::OwnEqualElements { appends } => {
                sessions::own_equal_elements(&mut maker, appends)?;
            }
            Strain::Sessions { sessions, violating } => {
                sessions::updates(&mut maker, sessions, violating)?;
            }
            Strain::Ring { txns, by } => rings::ring(&mut maker, txns, by)?,
            Strain::SameValue { writers } => registers::same_value(&mut maker, writers)?,
            Strain::BlindWrites { txns, seed } => {
                sessions::blind_writes(&mut maker, txns, seed)?;
            }
        }
        Ok(maker.finish())
    }

    /// What it is called, without its size.
    pub const fn name(self) -> &'static str {
        match self {
            Strain::NestedGuesses { .. } => "nested-guesses",
            Strain::FewValues { .. } => "few-values",
            Strain::OneValue { .. } => "one-value",
            Strain::HotKey { how: Hot::Serial, .. } => "hot-key-serial",
            Strain::HotKey { how: Hot::Concurrent, .. } => "hot-key-concurrent",
            Strain::HotKey { how: Hot::Violating, .. } => "hot-key-violating",
            Strain::EqualElements { .. } => "equal-elements",
            Strain::OwnEqualElements { .. } => "own-equal-elements",
            Strain::Sessions { violating: false, .. } => "sessions",
            Strain::Sessions { violating: true, .. } => "sessions-violating",
            Strain::Ring { by: Ring::Antidependencies, .. } => "ring-antidependencies",
            Strain::Ring { by: Ring::Reads, .. } => "ring-reads",
            Strain::Ring { by: Ring::Updates, .. } => "ring-updates",
            Strain::Ring { by: Ring::Mixed, .. } => "ring-mixed",
            Strain::SameValue { .. } => "same-value",
            Strain::BlindWrites { .. } => "blind-writes",
        }
    }

    /// How large it is, as its makers count.
    pub fn size(self) -> String {
        match self {
            Strain::NestedGuesses { width, depth } => format!("{width}x{depth}"),
            Strain::FewValues { ops, values } => format!("{ops}x{values}"),
            Strain::OneValue { writes: size }
            | Strain::HotKey { writers: size, .. }
            | Strain::EqualElements { appends: size }
            | Strain::OwnEqualElements { appends: size }
            | Strain::Sessions { sessions: size, .. }
            | Strain::Ring { txns: size, .. }
            | Strain::SameValue { writers: size } => size.to_string(),
            Strain::BlindWrites { txns, seed } => format!("{txns}, seed {seed}"),
        }
    }
}
