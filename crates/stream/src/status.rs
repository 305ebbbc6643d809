//! How a stream is doing, as figures.

/// What a stream says of its promise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamAnswer {
    /// Nothing was found, and nothing is open.
    Holds,
    /// By client intervals: nothing was found among what could be decided.
    NoViolation {
        /// Whether that is as large a share as was asked for.
        enough: bool,
    },
    /// A violation stands.
    Violated,
    /// Something stays unknown.
    Unknown,
}

/// By client intervals: how much could be decided.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct DecidedShare {
    /// How many dependencies could be decided.
    pub decided: u64,
    /// Of how many.
    pub of: u64,
    /// Whether that is as large a share as was asked for.
    pub enough: bool,
    /// Whether anything says when it was sent and answered.
    pub timed: bool,
}

/// How a stream is doing.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Status {
    /// Transactions so far.
    pub txns: u64,
    /// How many of them committed.
    pub committed: u64,
    /// Operations so far.
    pub ops: u64,
    /// Transactions on which the verdict is not final.
    pub open: u64,
    /// Violations that stand: told, and not withdrawn.
    pub violations: u64,
    /// Violations by the name of the anomaly, as the catalogue has it.
    pub by_anomaly: Vec<(&'static str, u64)>,
    /// Final verdicts that were added or withdrawn later.
    pub corrections: u64,
    /// Transactions that came later than promised; by client intervals, when others had been decided that they may have to do
    /// with.
    pub late: u64,
    /// Transactions that needed what is not kept any more.
    pub too_late: u64,
    /// Reads and conflicts of which it stays unknown whether they are right.
    pub doubts: u64,
    /// Committed transactions without the timestamps or snapshots that are needed.
    pub unstamped: u64,
    /// Transactions that came twice and were left out.
    pub repeated: u64,
    /// Transactions that were left out though they may not have come before: another one had the number, or it is not
    /// remembered which.
    pub left_out: u64,
    /// How often the verdict on a read changed.
    pub flips: u64,
    /// Pairs of a transaction and a key of which the verdict changed.
    pub flipped: u64,
    /// Transactions of which a verdict changed.
    pub flipped_txns: u64,
    /// How long it took until a verdict that was wrong at first was right, in milliseconds: counts of less than 1, 2, 4,
    /// 8 and so on.
    pub rectified: Vec<u64>,
    /// The longest time in milliseconds by which an arrival changed a verdict after the transaction it was about had
    /// come: a timeout longer than this would have been enough.
    pub longest_change: i64,
    /// The bytes that are held in memory, counted.
    pub memory: usize,
    /// The bytes that are held on disk.
    pub disk: u64,
    /// Keys that are held in memory.
    pub keys: usize,
    /// How often what had left memory had to be read again.
    pub reloads: u64,
    /// By client intervals: how much could be decided.
    pub by_intervals: Option<DecidedShare>,
    /// Whether sessions promise, so that no timeout is needed.
    pub promised: bool,
    /// Whether every line could be read, and no sequence number is missing.
    pub complete: bool,
}

impl Status {
    /// What the end of the stream says.
    ///
    /// As for a whole history, one that is incomplete may hold: whatever a transaction that is missing could explain is
    /// a doubt, and where there is none, all that came is right. But a transaction that came and was left out is judged
    /// by nobody, and by client intervals one that came late is not judged by all that it has to do with.
    pub fn answer(&self) -> StreamAnswer {
        let late = if self.by_intervals.is_some() { self.late } else { 0 };
        let unjudged = self.too_late + self.unstamped + self.left_out + self.open + late;
        let unknown = self.doubts + unjudged > 0 || self.committed == 0;
        match self.by_intervals {
            _ if self.violations > 0 => StreamAnswer::Violated,
            _ if unknown => StreamAnswer::Unknown,
            None => StreamAnswer::Holds,
            Some(share) if share.timed => StreamAnswer::NoViolation { enough: share.enough },
            Some(_) => StreamAnswer::Unknown,
        }
    }

    /// Whether the promise was kept: `None` if that is not known, and by client intervals it never is.
    pub fn holds(&self) -> Option<bool> {
        match self.answer() {
            StreamAnswer::Holds => Some(true),
            StreamAnswer::Violated => Some(false),
            StreamAnswer::NoViolation { .. } | StreamAnswer::Unknown => None,
        }
    }
}
