//! One pass over all transactions in the order of their timestamps, which clears the keys on which everything
//! is as it should be.
//!
//! The server is played once more: where a transaction stands, its reads are compared with the newest value
//! of each key; when it commits, its writes become the newest values. A key is cleared if every read of it is
//! right, its writers do not overlap and no two commit at the same time. That needs a cell for each key and
//! nothing else, which is why it is many times faster than looking at each key's operations by themselves.
//! Whatever is not plain makes its key suspect, and says nothing more: suspects are judged by
//! [`super::judged_key`].

use isolde_graph::parallel::{self, Work};
use isolde_history::{Effect, History, Key, Op, OpId, OpKind, Outcome, TxnId, Value, info};
use isolde_spec::By;

use crate::keys::key_facts::{what_it_read, what_it_wrote};
use crate::limits::{Limit, Limits, Pace};
use crate::timestamps::rules::Ordering;
use crate::timestamps::ticks::Tick;

/// Where transactions stand, and when they commit.
pub(crate) struct Course<'c> {
    pub(crate) history: &'c History,
    pub(crate) ordering: Ordering,
    /// Up to when each transaction sees commits.
    pub(crate) limits: &'c [Tick],
    pub(crate) starts: &'c [Tick],
    pub(crate) commits: &'c [Tick],
}

/// The committed transactions, by where they stand and by when they committed.
pub(crate) struct Sorted {
    by_place: Vec<u32>,
    by_commit: Vec<u32>,
}

/// The newest value of a key, and what the transaction under way has seen or written.
#[derive(Clone, Copy)]
struct Cell {
    newest: Value,
    committed: Tick,
    own: Value,
    /// The transaction that `own` is of.
    owner: u32,
    suspect: bool,
}

/// In commit order: the last writer that read the key, and where it stands. Another writer that commits just
/// then is tied to it.
#[derive(Clone, Copy)]
struct LastReader {
    at: Tick,
    reader: u32,
}

const NO_TXN: u32 = u32::MAX;

/// Whether a history is plain enough: what became of its transactions is known, and nothing but operations
/// says what they saw.
pub(crate) fn may_sweep(history: &History, by: By) -> bool {
    let odd = [OpKind::Savepoint, OpKind::RollbackTo, OpKind::Release, OpKind::PredicateRead];
    !odd.into_iter().any(|kind| history.has_ops(kind))
        && !history.txn_outcomes().contains(&Outcome::Unknown)
        && history.info(info::EXPLICIT_INITIAL) != Some(Value::TRUE)
        && (by == By::Snapshots || history.version_orders().is_empty())
        && history.txn_count() < OWN_COMMIT as usize
}

impl Sorted {
    pub(crate) fn new(course: &Course<'_>) -> Sorted {
        let outcomes = course.history.txn_outcomes();
        let committed = |txn: &u32| outcomes[*txn as usize] == Outcome::Committed;
        let all: Vec<u32> = (0..outcomes.len() as u32).filter(committed).collect();
        let stamped = |txn: &u32| course.commits[*txn as usize] != Tick::NEVER;
        let by_commit: Vec<u32> = all.iter().copied().filter(stamped).collect();
        let columns = [(all, course.limits), (by_commit, course.commits)];
        let sorted = parallel::map(Work::of(outcomes.len()), &columns, |(txns, ticks)| {
            let mut txns = txns.clone();
            let key = |txn: &u32| (ticks[*txn as usize], *txn);
            if !txns.is_sorted_by_key(key) {
                let mut keyed: Vec<(Tick, u32)> = txns.iter().map(key).collect();
                keyed.sort_unstable();
                txns = keyed.into_iter().map(|(_, txn)| txn).collect();
            }
            txns
        });
        let mut sorted = sorted.into_iter();
        let by_place = sorted.next().unwrap_or_default();
        Sorted { by_place, by_commit: sorted.next().unwrap_or_default() }
    }

    /// The bytes that it takes for so many transactions.
    pub(crate) fn bytes(txns: usize) -> usize {
        2 * txns * size_of::<u32>()
    }
}

/// Into how many shares the keys are cut, as a power of two: a thread for each walks over all transactions.
fn share_bits(history: &History) -> u32 {
    let large = Work::of(history.op_count()) == Work::Large;
    if large { parallel::cores().clamp(1, 8).ilog2() } else { 0 }
}

/// The bytes that the cells of all keys take.
pub(crate) fn bytes(history: &History) -> usize {
    history.key_count() * (size_of::<Cell>() + size_of::<LastReader>())
}

/// The keys that are suspect, as a mask.
pub(crate) fn suspects(
    course: &Course<'_>,
    sorted: &Sorted,
    limits: &Limits<'_>,
) -> Result<Vec<bool>, Limit> {
    let bits = share_bits(course.history);
    let shares: Vec<usize> = (0..1 << bits).collect();
    let parts = parallel::map(Work::of(course.history.op_count()), &shares, |share| {
        let mut sweep = Sweep::new(course, *share, bits);
        sweep.run(sorted, limits).map(|()| sweep.cells)
    });
    let mut suspects = vec![false; course.history.key_count()];
    for (share, cells) in parts.into_iter().enumerate() {
        for (at, cell) in cells?.iter().enumerate() {
            suspects[at << bits | share] = cell.suspect;
        }
    }
    Ok(suspects)
}

/// The pass over all transactions, for one share of the keys.
struct Sweep<'c> {
    course: &'c Course<'c>,
    share: usize,
    bits: u32,
    cells: Vec<Cell>,
    readers: Vec<LastReader>,
}

impl<'c> Sweep<'c> {
    fn new(course: &'c Course<'c>, share: usize, bits: u32) -> Sweep<'c> {
        let initial = &course.history.meta().initial;
        let first = initial.default.unwrap_or(Value::ABSENT);
        let keys = course.history.key_count();
        let own = keys.saturating_sub(share).div_ceil(1 << bits);
        let cell = Cell {
            newest: first,
            committed: Tick::NEVER,
            own: first,
            owner: NO_TXN,
            suspect: false,
        };
        let mut cells = vec![cell; own];
        for (key, value) in &initial.given {
            if key.index() & ((1 << bits) - 1) == share
                && let Some(cell) = cells.get_mut(key.index() >> bits)
            {
                cell.newest = *value;
            }
        }
        let serial = matches!(course.ordering, Ordering::Commits { .. });
        let reader = LastReader { at: Tick::NEVER, reader: NO_TXN };
        let readers = if serial { vec![reader; own] } else { Vec::new() };
        Sweep { course, share, bits, cells, readers }
    }

    /// Plays places and commits in their order. What was committed at a place is visible there.
    fn run(&mut self, sorted: &Sorted, limits: &Limits<'_>) -> Result<(), Limit> {
        let (places, commits) = (self.course.limits, self.course.commits);
        let mut pace = Pace::new(limits);
        let mut next = sorted.by_commit.iter().peekable();
        for &txn in &sorted.by_place {
            let place = places[txn as usize];
            while let Some(&committer) = next.next_if(|c| commits[**c as usize] <= place) {
                pace.step()?;
                self.commit(committer);
            }
            pace.step()?;
            self.stand(txn);
        }
        for &committer in next {
            pace.step()?;
            self.commit(committer);
        }
        Ok(())
    }

    /// The operations of a transaction on keys of this share, each with the number of its cell.
    #[inline]
    fn each(&mut self, txn: u32, mut work: impl FnMut(&mut Sweep<'c>, usize, Op<'c>)) {
        let history = self.course.history;
        let keys = history.op_keys();
        let (mask, bits, share) = ((1 << self.bits) - 1, self.bits, self.share);
        for op in history.txn(TxnId(txn)).op_range() {
            let key = keys[op];
            // Operations without a key have one beyond all.
            if key.index() & mask == share && key != Key::NONE {
                let at = key.index() >> bits;
                work(self, at, history.op_on(key, OpId(op as u32)));
            }
        }
    }

    /// A transaction reads at its place.
    fn stand(&mut self, txn: u32) {
        let at = txn as usize;
        let (place, commit) = (self.course.limits[at], self.course.commits[at]);
        // A transaction that would see its own commit has wrong timestamps.
        let odd = place == Tick::NEVER || (commit != Tick::NEVER && commit <= place);
        let exclusive = !self.readers.is_empty() && place.0 == commit.0.wrapping_sub(1);
        self.each(txn, |sweep, at, op| {
            // Nearly all are plain reads and writes, and a jump by kind costs more than they do.
            let (read, wrote) = match (op.effect() == Effect::Done, op.kind()) {
                (true, OpKind::Read) => (Some(op.value()), None),
                (true, OpKind::Write) => (None, Some(op.value())),
                _ => match other_kind(&op) {
                    Some(values) => values,
                    None => return sweep.cells[at].suspect = true,
                },
            };
            let cell = &mut sweep.cells[at];
            if let Some(value) = read.filter(|value| *value != Value::UNOBSERVED) {
                let expected = if cell.owner == txn { cell.own } else { cell.newest };
                cell.suspect |= value != expected;
                (cell.own, cell.owner) = (value, txn);
                if exclusive {
                    let last = &mut sweep.readers[at];
                    cell.suspect |= last.at == commit && last.reader != txn;
                    *last = LastReader { at: commit, reader: txn };
                }
            }
            if let Some(value) = wrote {
                cell.suspect |= odd || value == Value::UNOBSERVED;
                (cell.own, cell.owner) = (value, txn);
            }
        });
    }

    /// What a transaction wrote becomes the newest.
    fn commit(&mut self, txn: u32) {
        let at = txn as usize;
        let (start, commit) = (self.course.starts[at], self.course.commits[at]);
        let snapshots = self.course.ordering == Ordering::Snapshots;
        self.each(txn, |sweep, at, op| {
            let plain = op.kind() == OpKind::Write && op.effect() == Effect::Done;
            let value = if plain { Some(op.value()) } else { what_else_it_wrote(&op) };
            let Some(value) = value else { return };
            let cell = &mut sweep.cells[at];
            // Its own earlier write of the key, if there is one, was entered just now.
            let own = cell.committed == commit && cell.owner == txn | OWN_COMMIT;
            if !own {
                let overlaps = snapshots && start < cell.committed;
                cell.suspect |= cell.committed == commit || overlaps;
            }
            if let Some(last) = sweep.readers.get(at) {
                cell.suspect |= last.at == commit && last.reader != txn;
            }
            cell.newest = value;
            cell.committed = commit;
            cell.owner = txn | OWN_COMMIT;
        });
    }
}

/// What an operation read and wrote that is no plain read or write; nothing if that is not plain enough.
#[inline(never)]
fn other_kind(op: &Op<'_>) -> Option<(Option<Value>, Option<Value>)> {
    let plain = matches!(op.kind(), OpKind::Cas | OpKind::InsertIfAbsent | OpKind::Delete);
    let done = op.effect() == Effect::Done;
    (plain && done).then(|| (what_it_read(op), what_it_wrote(op)))
}

/// What an operation wrote that is no plain write.
#[inline]
fn what_else_it_wrote(op: &Op<'_>) -> Option<Value> {
    if op.kind() == OpKind::Read { None } else { what_it_wrote(op) }
}

/// Marks the owner of a cell that is committing: what it saw at its place does not matter any more.
const OWN_COMMIT: u32 = 1 << 31;
