//! The order of the versions of each key, as snapshots tell it.
//!
//! Where a transaction reads from one snapshot and may only overwrite what that shows (REPEATABLE READ and
//! SERIALIZABLE), the snapshot of each writer of a key shows the writer before it. So the writers of a key are
//! in a total order, and what they wrote is, too.

use isolde_history::{SinkError, Snapshot};
use isolde_target::ServerTxn;

/// What committed writers wrote, and what each of them saw. A few dozen bytes a write, since it is kept until the
/// end of the run.
#[derive(Default)]
pub(crate) struct Writers {
    writers: Vec<Writer>,
    writes: Vec<KeyWrite>,
    /// The transactions that were in progress, of all snapshots one after another.
    in_progress: Vec<i64>,
}

struct Writer {
    txn: ServerTxn,
    /// Nothing if each of its statements had another snapshot.
    saw: Option<Saw>,
}

/// A snapshot.
struct Saw {
    xmin: i64,
    xmax: i64,
    /// Where its transactions in progress begin and end.
    running: (usize, usize),
}

/// The last value that a transaction wrote to a key, or an element that it appended.
struct KeyWrite {
    key: u64,
    value: i64,
    writer: u32,
}

/// What else is known of the writers when the run is over.
#[derive(Clone, Copy, Default)]
pub(crate) struct AtTheEnd<'e> {
    /// Those that the server has lost, sorted; `None` if it could not say.
    pub(crate) lost: Option<&'e [ServerTxn]>,
    /// When each was committed by the server's clock, in the order of [`Writers::txns`].
    pub(crate) times: Option<&'e [Option<i64>]>,
}

/// Why a key has no order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NoOrder {
    /// Its writers do not show each other, or cannot tell.
    NotShown,
    /// The server's clock says otherwise. It may have jumped, so that is no violation; but it is no evidence for
    /// the order either.
    Times,
}

impl Writers {
    /// Adds a transaction that has committed. Of writes to a register the last one counts; `appends` says of
    /// each write whether it adds to a list instead.
    pub(crate) fn add(
        &mut self,
        txn: ServerTxn,
        snapshot: Option<&Snapshot>,
        writes: impl Iterator<Item = (u64, i64, bool)>,
    ) {
        let writer = self.writers.len() as u32;
        let saw = snapshot.map(|snapshot| {
            let from = self.in_progress.len();
            self.in_progress.extend(&snapshot.in_progress);
            let running = (from, self.in_progress.len());
            Saw { xmin: snapshot.xmin, xmax: snapshot.xmax, running }
        });
        // Without a snapshot there will be no order.
        let ordered = saw.is_some();
        self.writers.push(Writer { txn, saw });
        let first = self.writes.len();
        for (key, value, append) in writes.filter(|_| ordered) {
            let own = self.writes.get_mut(first..).unwrap_or_default();
            match own.iter_mut().find(|write| write.key == key && !append) {
                Some(write) => write.value = value,
                None => self.writes.push(KeyWrite { key, value, writer }),
            }
        }
    }

    /// The transactions, in the order in which they were added.
    pub(crate) fn txns(&self) -> Vec<ServerTxn> {
        self.writers.iter().map(|writer| writer.txn).collect()
    }

    /// Tells the order of each key on which every writer shows the one before it; on how many keys the
    /// server's clock contradicts it.
    ///
    /// Transactions whose outcome is unknown are in no order. That is sound: the order of the others stays the
    /// same, and a checker that finds such a write to be a version (somebody read it) finds that the order does
    /// not say where it comes.
    pub(crate) fn orders(
        &mut self,
        known: AtTheEnd<'_>,
        mut each: impl FnMut(u64, &[i64]) -> Result<(), SinkError>,
    ) -> Result<usize, SinkError> {
        let mut writes = std::mem::take(&mut self.writes);
        // What a transaction appends stays in its order.
        writes.sort_by_cached_key(|write| (write.key, self.rank(write.writer)));
        let (mut values, mut contradicted) = (Vec::new(), 0);
        for of_key in writes.chunk_by(|a, b| a.key == b.key) {
            match self.check(of_key, known) {
                Ok(()) => {
                    values.clear();
                    values.extend(of_key.iter().map(|write| write.value));
                    each(of_key[0].key, &values)?;
                }
                Err(NoOrder::Times) => contradicted += 1,
                Err(NoOrder::NotShown) => {}
            }
        }
        Ok(contradicted)
    }

    fn writer(&self, number: u32) -> &Writer {
        &self.writers[number as usize]
    }

    /// A number that grows from each writer of a key to the next one. Of two snapshots, one shows all that the
    /// other one shows. That of the later writer shows the earlier writer, which its own did not: so it shows
    /// more transactions that have ended.
    fn rank(&self, writer: u32) -> (u32, i64) {
        let writer = self.writer(writer);
        let ended = |saw: &Saw| saw.xmax - (saw.running.1 - saw.running.0) as i64;
        (writer.txn.restart, writer.saw.as_ref().map_or(0, ended))
    }

    /// Whether the writes of a key are in the order in which their writers show each other.
    fn check(&self, writes: &[KeyWrite], known: AtTheEnd<'_>) -> Result<(), NoOrder> {
        // What was lost was no version any more when others wrote.
        let lost = |write: &KeyWrite| {
            let txn = self.writer(write.writer).txn;
            known.lost.is_some_and(|lost| lost.binary_search(&txn).is_ok())
        };
        if writes.iter().any(lost) {
            return Err(NoOrder::NotShown);
        }
        for pair in writes.windows(2).filter(|pair| pair[0].writer != pair[1].writer) {
            let [earlier, later] = [pair[0].writer, pair[1].writer];
            if !self.shows(later, earlier, known.lost.is_some()) {
                return Err(NoOrder::NotShown);
            }
            let time = |writer: u32| *known.times?.get(writer as usize)?;
            if time(earlier).zip(time(later)).is_some_and(|(earlier, later)| earlier > later) {
                return Err(NoOrder::Times);
            }
        }
        Ok(())
    }

    /// Whether the snapshot of one writer shows another. What was committed before a restart is shown after it,
    /// if it is known not to be lost.
    fn shows(&self, later: u32, earlier: u32, losses_known: bool) -> bool {
        let (later, earlier) = (self.writer(later), self.writer(earlier).txn);
        let Some(saw) = &later.saw else { return false };
        if earlier.restart != later.txn.restart {
            return losses_known && earlier.restart < later.txn.restart;
        }
        let (from, to) = saw.running;
        let running = self.in_progress.get(from..to).unwrap_or_default();
        let xid = earlier.id;
        xid < saw.xmin || (xid < saw.xmax && !running.contains(&xid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer as `(restart, xid)`, `(xmin, xmax, xip)`, and its writes of registers.
    type Told<'t> = ((u32, i64), (i64, i64, &'t [i64]), &'t [(u64, i64)]);

    fn writers(all: &[Told<'_>]) -> Writers {
        let mut writers = Writers::default();
        for ((restart, id), (xmin, xmax, running), writes) in all {
            let snapshot = Snapshot { xmin: *xmin, xmax: *xmax, in_progress: running.to_vec() };
            let txn = ServerTxn { restart: *restart, id: *id };
            let writes = writes.iter().map(|(key, value)| (*key, *value, false));
            writers.add(txn, Some(&snapshot), writes);
        }
        writers
    }

    fn told(mut writers: Writers, known: AtTheEnd<'_>) -> (Vec<(u64, Vec<i64>)>, usize) {
        let mut all = Vec::new();
        let contradicted = writers.orders(known, |key, values| {
            all.push((key, values.to_vec()));
            Ok(())
        });
        (all, contradicted.unwrap())
    }

    const NOTHING_LOST: AtTheEnd<'_> = AtTheEnd { lost: Some(&[]), times: None };

    #[test]
    fn writers_are_in_the_order_in_which_they_show_each_other() {
        // The one with the lowest number committed last: it had its number before it wrote.
        let all = writers(&[
            ((0, 12), (11, 13, &[11]), &[(1, 120), (2, 121)]),
            ((0, 11), (13, 13, &[]), &[(1, 110)]),
            ((0, 10), (10, 10, &[]), &[(1, 100), (1, 101)]),
        ]);
        let expected = vec![(1, vec![101, 120, 110]), (2, vec![121])];
        assert_eq!(told(all, NOTHING_LOST), (expected, 0));
    }

    #[test]
    fn two_that_do_not_show_each_other_are_in_no_order() {
        let all = writers(&[
            ((0, 10), (10, 10, &[]), &[(1, 100), (2, 200)]),
            ((0, 11), (10, 11, &[10]), &[(1, 110)]),
            ((0, 12), (12, 12, &[]), &[(2, 201)]),
        ]);
        assert_eq!(told(all, NOTHING_LOST).0, [(2, vec![200, 201])]);
    }

    #[test]
    fn numbers_begin_again_with_a_restart() {
        let all = || {
            writers(&[
                ((1, 10), (10, 10, &[]), &[(1, 5), (2, 6)]),
                ((0, 12), (11, 11, &[]), &[(1, 4)]),
            ])
        };
        assert_eq!(told(all(), NOTHING_LOST).0, [(1, vec![4, 5]), (2, vec![6])]);
        // If it is not known what a crash took, nothing is known across it.
        assert_eq!(told(all(), AtTheEnd::default()).0, [(2, vec![6])]);
        let lost = [ServerTxn { restart: 0, id: 12 }];
        let known = AtTheEnd { lost: Some(&lost), times: None };
        assert_eq!(told(all(), known).0, [(2, vec![6])]);
    }

    #[test]
    fn a_clock_that_contradicts_leaves_no_order() {
        let all = || {
            writers(&[
                ((0, 10), (10, 10, &[]), &[(1, 100), (2, 100)]),
                ((0, 11), (11, 11, &[]), &[(1, 110)]),
                ((0, 12), (12, 12, &[]), &[(2, 120)]),
            ])
        };
        let times = |times: [Option<i64>; 3]| {
            told(all(), AtTheEnd { lost: Some(&[]), times: Some(&times) })
        };
        assert_eq!(times([Some(9), Some(8), Some(9)]), (vec![(2, vec![100, 120])], 1));
        // Between different keys they may differ.
        assert_eq!(times([Some(7), Some(9), Some(8)]).1, 0);
        assert_eq!(times([Some(9), None, None]).1, 0);
    }

    #[test]
    fn lists_keep_every_element_and_snapshots_of_statements_no_order() {
        let mut all = Writers::default();
        let snapshot = Snapshot { xmin: 10, xmax: 10, in_progress: Vec::new() };
        let txn = ServerTxn { restart: 0, id: 10 };
        let appends = [(1, 7, true), (2, 8, true), (1, 9, true)];
        all.add(txn, Some(&snapshot), appends.into_iter());
        let other = ServerTxn { restart: 0, id: 11 };
        all.add(other, None, [(3, 1, false)].into_iter());
        assert_eq!(all.txns(), [txn, other]);
        assert_eq!(told(all, NOTHING_LOST).0, [(1, vec![7, 9]), (2, vec![8])]);
    }
}
