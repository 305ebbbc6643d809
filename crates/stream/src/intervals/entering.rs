//! Transactions that have come, on their way to the mirror: in the order in which they began, whatever the order in which
//! they came.
//!
//! Those of a batch are one run in that order, and runs are in a heap by what is next in each, so that the heap is asked
//! once a run and not once a transaction. What waits here is a few words; the transactions themselves stay where all
//! batches are, which may be on the disk.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use isolde_history::{History, TxnId};

use crate::bodies::TxnRef;
use crate::content::{NameId, name_id};

/// When a transaction began. The rest only decides between those that began at one time, in a way that does not depend on
/// the order of arrival; transactions of a session come in its order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Beginning {
    began: i64,
    ended: i64,
    session: NameId,
    txn: TxnRef,
}

/// Transactions that have come and are not entered yet.
#[derive(Default)]
pub(super) struct Entering {
    runs: BinaryHeap<Reverse<BatchRun>>,
    waiting: usize,
}

/// Those of one batch, the first one last.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct BatchRun {
    next: Beginning,
    rest: Vec<Beginning>,
}

/// Transactions of one batch that may be entered one after another.
pub(super) struct Entered {
    pub(super) batch: u32,
    pub(super) txns: Vec<TxnId>,
}

impl Entering {
    /// The transactions of a batch have come.
    pub(super) fn add(&mut self, batch: &History, number: u32) {
        let mut run: Vec<Beginning> = beginnings(batch, number).collect();
        self.waiting += run.len();
        run.sort_unstable_by(|a, b| b.cmp(a));
        if let Some(next) = run.pop() {
            self.runs.push(Reverse(BatchRun { next, rest: run }));
        }
    }

    /// The next ones that began before a time.
    pub(super) fn next_before(&mut self, time: i64) -> Option<Entered> {
        let Reverse(mut run) = self.runs.pop()?;
        let other = self.runs.peek().map(|Reverse(other)| other.next);
        let batch = run.next.txn.batch();
        let mut txns = Vec::new();
        while run.next.began < time && other.is_none_or(|other| run.next < other) {
            txns.push(run.next.txn.txn());
            self.waiting -= 1;
            let Some(next) = run.rest.pop() else { return Some(Entered { batch, txns }) };
            run.next = next;
        }
        self.runs.push(Reverse(run));
        (!txns.is_empty()).then_some(Entered { batch, txns })
    }

    /// When the next one began.
    pub(super) fn next_begins(&self) -> Option<i64> {
        self.runs.peek().map(|Reverse(run)| run.next.began)
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// The bytes that it takes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.waiting * size_of::<Beginning>() + self.runs.len() * size_of::<BatchRun>()
    }
}

fn beginnings(batch: &History, number: u32) -> impl Iterator<Item = Beginning> + '_ {
    let pool = batch.pool();
    let sessions: Vec<NameId> =
        pool.session_names().iter().map(|name| name_id(pool, *name)).collect();
    batch.txns().map(move |txn| {
        let interval = txn.interval();
        Beginning {
            // The latest time of all is that by which everything has begun.
            began: interval.begin.unwrap_or(i64::MIN).min(i64::MAX - 1),
            ended: interval.end.unwrap_or(i64::MAX),
            session: sessions[txn.session().index()],
            txn: TxnRef::new(number, txn.id()),
        }
    })
}

/// The transactions of a whole history, in the same order.
pub(super) fn in_order(history: &History) -> Vec<TxnId> {
    let mut all: Vec<Beginning> = beginnings(history, 0).collect();
    all.sort_unstable();
    all.into_iter().map(|beginning| beginning.txn.txn()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use isolde_history::notation::parse;

    #[test]
    fn what_began_earlier_is_entered_earlier_whatever_came_first() {
        let mut entering = Entering::default();
        let batches =
            ["a: w(x,1) @[5,9]\nb: w(x,2) @[1,2]", "c: w(x,3) @[3,4]\na: w(x,4) @[12,13]"];
        for (number, text) in batches.iter().enumerate() {
            entering.add(&parse(text).unwrap(), number as u32);
        }
        let mut entered = Vec::new();
        while let Some(Entered { batch, txns }) = entering.next_before(12) {
            entered.extend(txns.into_iter().map(|txn| (batch, txn.0)));
        }
        assert_eq!(entered, [(0, 1), (1, 0), (0, 0)]);
        assert_eq!(entering.waiting(), 1);
        assert!(entering.next_before(13).is_some() && entering.next_before(i64::MAX).is_none());
    }
}
