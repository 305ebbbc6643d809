//! How a stream is doing, as figures.

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
    /// Transactions that came later than promised.
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
    /// Whether sessions promise, so that no timeout is needed.
    pub promised: bool,
    /// Whether every line could be read, and no sequence number is missing.
    pub complete: bool,
}

impl Status {
    /// What the end of the stream says: `Some(true)` nothing was found and nothing is open, `Some(false)` a violation
    /// stands, `None` something stays unknown.
    ///
    /// As for a whole history, one that is incomplete may hold: whatever a transaction that is missing could explain is
    /// a doubt, and where there is none, all that came is right. But a transaction that came and was left out is judged
    /// by nobody.
    pub fn holds(&self) -> Option<bool> {
        let unjudged = self.too_late + self.unstamped + self.left_out + self.open;
        let unknown = self.doubts + unjudged > 0 || self.committed == 0;
        match (self.violations > 0, unknown) {
            (true, _) => Some(false),
            (false, true) => None,
            (false, false) => Some(true),
        }
    }
}
