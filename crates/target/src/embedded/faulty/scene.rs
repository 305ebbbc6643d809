//! Anomalies between transactions: a scene, in which a few of them play parts.
//!
//! A scene begins when a transaction commits, in the ordinary way, that fits the first part. A
//! transaction that begins from then on plays: its reads are answered as the next part wants it, and if
//! it turns out at commit that it did what the part asks for, it commits. All others are told of a
//! conflict, so between the first and the last commit of a scene there is nothing but the scene. Those
//! that have played wait until it is over: so all parts are in sessions of their own, and overlap in
//! time.
//!
//! Nothing of it is wrong but what the last part reads. A scene that is abandoned leaves no trace.
//!
//! Which of two updates was lost cannot be seen; a checker that wants to know whether some order of the
//! two explains the rest tries the one in which they were recorded first. So that this is the right one
//! every time, the first of a lost update waits, and no other transaction commits, until the session of
//! the second begins something new: what it did is recorded by then.

use isolde_spec::Anomaly;

use super::store::{Key, RowValue, Store};
use super::txn::{Did, FaultyTxn, Part};

/// After so many transactions that did not fit, a scene is abandoned.
const PATIENCE: u32 = 500;

/// A scene on its way.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) number: u64,
    anomaly: Anomaly,
    /// The snapshot from before it.
    pub(super) before: u64,
    /// How many parts have been played.
    played: usize,
    /// What the first wrote.
    first: Vec<Key>,
    /// What the second wrote, if it wrote.
    second: Vec<Key>,
    /// What no transaction should see: a value that was rolled back, or overwritten by its own writer.
    hidden: i64,
    /// The only session that plays, if it is one.
    pub(super) only: Option<u64>,
    /// The session of the last part, once that has been played, if it has to leave before the others.
    leaving: Option<u64>,
    misfits: u32,
}

/// How many parts the scene of an anomaly has; none if it has no scene.
pub(super) fn parts(anomaly: Anomaly) -> usize {
    match anomaly {
        Anomaly::LongFork => 4,
        Anomaly::CausalityViolation => 3,
        Anomaly::AbortedRead
        | Anomaly::IntermediateRead
        | Anomaly::NonRepeatableReads
        | Anomaly::SessionGuaranteeViolation
        | Anomaly::NonMonotonicRead
        | Anomaly::FracturedRead
        | Anomaly::LostUpdate
        | Anomaly::WriteSkew => 2,
        _ => 0,
    }
}

impl Scene {
    /// A scene that begins with the commit of a transaction, if it fits.
    pub(super) fn begin(
        number: u64,
        anomaly: Anomaly,
        txn: &FaultyTxn,
        store: &Store,
    ) -> Option<Scene> {
        let (read, wrote) = (txn.read_keys()?, txn.written_keys());
        let updates = |keys: usize| wrote.len() == keys && read == wrote;
        let fits = match anomaly {
            Anomaly::WriteSkew => wrote.len() == 1 && read.len() == 2 && read.contains(&wrote[0]),
            Anomaly::NonMonotonicRead | Anomaly::FracturedRead => updates(2),
            Anomaly::IntermediateRead => updates(1) && values(txn).count() == 2,
            _ => updates(1),
        };
        let hidden = match anomaly {
            Anomaly::AbortedRead => values(txn).last(),
            _ => values(txn).next(),
        }?;
        let only = anomaly == Anomaly::SessionGuaranteeViolation;
        fits.then(|| Scene {
            number,
            anomaly,
            before: store.now(),
            played: 1,
            // Of a write skew, both rows count, and the one that was written comes first.
            first: match anomaly {
                Anomaly::WriteSkew => {
                    let other = read.into_iter().filter(|key| *key != wrote[0]);
                    wrote.iter().copied().chain(other).collect()
                }
                _ => wrote,
            },
            second: Vec::new(),
            hidden,
            only: only.then_some(txn.session),
            leaving: None,
            misfits: 0,
        })
    }

    /// The part of a transaction that begins now.
    pub(super) fn part(&self) -> Part {
        Part { scene: self.number, number: self.played }
    }

    /// The snapshot that the part of a transaction that begins now reads from, if that is the one from
    /// before the scene: such a part overlaps with the first, and should not have been allowed to commit.
    /// What other parts read is in no snapshot at all.
    pub(super) fn old_snapshot(&self) -> Option<u64> {
        let old = match self.anomaly {
            Anomaly::LostUpdate | Anomaly::WriteSkew | Anomaly::SessionGuaranteeViolation => true,
            // The second branch of the fork knows nothing of the first.
            Anomaly::LongFork => self.played == 1,
            _ => false,
        };
        old.then_some(self.before)
    }

    /// What a transaction of this scene reads.
    pub(super) fn show(&self, txn: &FaultyTxn, key: Key, store: &Store) -> RowValue {
        let reads = || txn.log.iter().filter(|did| matches!(did, Did::Read(_)));
        let came_first = reads().next().is_none_or(|did| *did == Did::Read(key));
        let new = match self.anomaly {
            Anomaly::AbortedRead | Anomaly::IntermediateRead if self.first.contains(&key) => {
                return Some(vec![self.hidden]);
            }
            // The first row that it reads is new, and the other one old.
            Anomaly::NonMonotonicRead => came_first,
            // The other way round.
            Anomaly::FracturedRead => !came_first,
            // Old, and from then on new.
            Anomaly::NonRepeatableReads => reads().next().is_some(),
            // The second part sees the first; the third sees the second alone.
            Anomaly::CausalityViolation => self.played == 1 || self.second.contains(&key),
            // The third part sees the first alone, the fourth the second.
            Anomaly::LongFork => match self.played {
                1 => false,
                2 => self.first.contains(&key),
                _ => self.second.contains(&key),
            },
            // Nothing of what happened.
            _ => false,
        };
        store.read(key, if new { store.now() } else { self.before })
    }

    /// Whether a transaction did what its part asks for, now that it wants to commit.
    pub(super) fn fits(&self, txn: &FaultyTxn) -> bool {
        let Some(read) = txn.read_keys() else { return false };
        let wrote = txn.written_keys();
        if self.leaving.is_some()
            || txn.part != Some(self.part())
            || self.only.is_some_and(|only| only != txn.session)
        {
            return false;
        }
        let both = || {
            let mut both: Vec<Key> = self.first.iter().chain(&self.second).copied().collect();
            both.sort_unstable();
            both
        };
        let reads_both = || wrote.is_empty() && read == both();
        match (self.anomaly, self.played) {
            (Anomaly::AbortedRead | Anomaly::IntermediateRead, _) => {
                wrote.is_empty() && read == self.first
            }
            (Anomaly::NonRepeatableReads, _) => txn.log == [Did::Read(self.first[0]); 2],
            (Anomaly::SessionGuaranteeViolation, _) => {
                wrote.is_empty() && read.contains(&self.first[0])
            }
            (Anomaly::LostUpdate, _) => wrote == self.first && read == self.first,
            (Anomaly::WriteSkew, _) => read == both() && wrote == self.first[1..],
            (Anomaly::CausalityViolation, 1) => {
                read.len() == 2
                    && wrote.len() == 1
                    && wrote != self.first
                    && read.contains(&self.first[0])
                    && read.contains(&wrote[0])
            }
            (Anomaly::LongFork, 1) => wrote.len() == 1 && read == wrote && wrote != self.first,
            _ => reads_both(),
        }
    }

    /// Notes that a part was played by a transaction that commits. Whether it was the last.
    pub(super) fn advance(&mut self, txn: &FaultyTxn) -> bool {
        if self.played == 1 {
            self.second = txn.written_keys();
        }
        self.played += 1;
        self.played == parts(self.anomaly)
    }

    /// Notes that a transaction did not fit. Whether the scene goes on.
    pub(super) fn endure(&mut self) -> bool {
        self.misfits += 1;
        self.misfits < PATIENCE
    }

    /// Whether the first part is refused rather than committed.
    pub(super) fn refuses_first(&self) -> bool {
        self.anomaly == Anomaly::AbortedRead
    }

    /// Lets the session of the last part leave before the others, if that matters. Whether it does.
    pub(super) fn close(&mut self, session: u64) -> bool {
        self.leaving = (self.anomaly == Anomaly::LostUpdate).then_some(session);
        self.leaving.is_some()
    }

    /// Whether a session is the one that leaves before the others.
    pub(super) fn leaves(&self, session: u64) -> bool {
        self.leaving == Some(session)
    }

    /// Whether a session that has played waits.
    pub(super) fn keeps(&self, session: u64) -> bool {
        self.only.is_none() && !self.leaves(session)
    }
}

/// The values that a transaction wrote, in its order.
fn values(txn: &FaultyTxn) -> impl Iterator<Item = i64> {
    txn.log.iter().filter_map(|did| match did {
        Did::Write(_, value) => Some(*value),
        _ => None,
    })
}
