//! Reads that wait, not judged, until all that they may have seen has come.
//!
//! Nothing is told of a read before its verdict is final. So it is judged when that is so, once, and not when it comes and again
//! whenever a version comes that it may have seen. How its verdict would have changed meanwhile is counted then
//! ([`KeyState::changes`](super::key_state::KeyState::changes)).
//!
//! That is only ever a matter of speed: a read that is judged earlier goes among the readers of its key, and versions that come later
//! look for it there. So it is with reads that do not fit here, with lists, and with what has left memory.

use std::collections::VecDeque;

use isolde_history::Timestamp;

use super::key_records::Reader;
use super::slot::Slot;

/// So many batches wait at most: each is looked at whenever the source has come further.
const MOST_BATCHES: usize = 1 << 10;

/// A read, and its key.
pub(super) type HeldRead = (Slot, Reader);

/// The reads that wait.
pub(super) struct HeldBack {
    batches: VecDeque<HeldBatch>,
    /// Those of the batch that is being taken.
    coming: Vec<HeldRead>,
    bytes: usize,
    most: usize,
    /// Where reads are put in order, and batches of which nothing waits any more.
    counts: Vec<u32>,
    spare: Vec<HeldBatch>,
}

/// The reads of a batch, by when they are final.
#[derive(Default)]
struct HeldBatch {
    number: u32,
    /// In the order of keys, and which is the first to be final, the second, and so on.
    reads: Vec<HeldRead>,
    order: Vec<u32>,
    /// When the first reads are final, and where those end.
    steps: Vec<(Timestamp, u32)>,
    next_step: usize,
    next: usize,
    /// The earliest place that any of them had.
    earliest: Option<Timestamp>,
}

impl HeldBack {
    /// Nothing waits, and no more than so many bytes ever will.
    pub(super) fn new(most: usize) -> HeldBack {
        let (batches, spare) = (VecDeque::new(), Vec::new());
        HeldBack { batches, coming: Vec::new(), bytes: 0, most, counts: Vec::new(), spare }
    }

    /// A read of the batch that is being taken.
    #[inline]
    pub(super) fn add(&mut self, slot: Slot, reader: Reader) {
        self.coming.push((slot, reader));
    }

    /// The batch has been taken. `until` is when each of its transactions is final.
    pub(super) fn close(&mut self, number: u32, until: &[Timestamp]) {
        if self.coming.is_empty() {
            return;
        }
        let mut batch = self.spare.pop().unwrap_or_default();
        let mut order: Vec<u32> = (0..until.len() as u32).collect();
        order.sort_by_key(|txn| until[*txn as usize]);
        // Where the reads of each transaction begin.
        self.counts.clear();
        self.counts.resize(until.len(), 0);
        for (_, reader) in &self.coming {
            self.counts[reader.txn.txn().index()] += 1;
        }
        let mut end = 0;
        for txn in order {
            let count = &mut self.counts[txn as usize];
            let begin = end;
            end += *count;
            if *count > 0 {
                batch.steps.push((until[txn as usize], end));
            }
            *count = begin;
        }
        std::mem::swap(&mut batch.reads, &mut self.coming);
        batch.order.resize(batch.reads.len(), 0);
        for (read, (_, reader)) in batch.reads.iter().enumerate() {
            let at = &mut self.counts[reader.txn.txn().index()];
            batch.earliest = Some(batch.earliest.map_or(reader.at, |e| e.min(reader.at)));
            batch.order[*at as usize] = read as u32;
            *at += 1;
        }
        batch.number = number;
        self.bytes += batch.bytes();
        self.batches.push_back(batch);
    }

    /// Takes out what is final: all before a time, and all that came in batches before a number.
    pub(super) fn take_final(
        &mut self,
        low: Option<Timestamp>,
        before: u32,
        taken: &mut Vec<HeldRead>,
    ) {
        let mut emptied = false;
        for batch in &mut self.batches {
            batch.take(before > batch.number, low, taken);
            emptied |= batch.is_empty();
        }
        if emptied {
            self.clear_away();
        }
    }

    /// Takes out all that came in batches before a number, final or not.
    pub(super) fn take_before(&mut self, number: u32, taken: &mut Vec<HeldRead>) {
        while self.batches.front().is_some_and(|batch| batch.number < number) {
            self.take_oldest(taken);
        }
    }

    /// Takes out what is more than may wait, the oldest first.
    pub(super) fn take_surplus(&mut self, taken: &mut Vec<HeldRead>) {
        while self.bytes > self.most || self.batches.len() > MOST_BATCHES {
            self.take_oldest(taken);
        }
    }

    fn take_oldest(&mut self, taken: &mut Vec<HeldRead>) {
        let Some(mut batch) = self.batches.pop_front() else { return };
        batch.take(true, None, taken);
        self.put_away(batch);
    }

    /// The earliest place of a read that waits.
    pub(super) fn earliest(&self) -> Option<Timestamp> {
        self.batches.iter().filter_map(|batch| batch.earliest).min()
    }

    /// The bytes that it takes.
    pub(super) fn heap_bytes(&self) -> usize {
        let spare: usize = self.spare.iter().map(HeldBatch::bytes).sum();
        self.bytes + spare + self.coming.capacity() * size_of::<HeldRead>()
    }

    fn clear_away(&mut self) {
        for _ in 0..self.batches.len() {
            let Some(batch) = self.batches.pop_front() else { break };
            match batch.is_empty() {
                true => self.put_away(batch),
                false => self.batches.push_back(batch),
            }
        }
    }

    /// Its memory is used again.
    fn put_away(&mut self, mut batch: HeldBatch) {
        self.bytes -= batch.bytes();
        batch.reads.clear();
        batch.order.clear();
        batch.steps.clear();
        (batch.next, batch.next_step, batch.earliest) = (0, 0, None);
        if self.spare.len() < 4 {
            self.spare.push(batch);
        }
    }
}

impl HeldBatch {
    fn is_empty(&self) -> bool {
        self.next == self.reads.len()
    }

    fn take(&mut self, all: bool, low: Option<Timestamp>, taken: &mut Vec<HeldRead>) {
        let rest = &self.steps[self.next_step..];
        let is_final = |step: &&(Timestamp, u32)| low.is_some_and(|low| step.0 < low);
        let steps = if all { rest.len() } else { rest.iter().take_while(is_final).count() };
        let Some((_, end)) = rest[..steps].last() else { return };
        let order = &self.order[self.next..*end as usize];
        taken.extend(order.iter().map(|read| self.reads[*read as usize]));
        (self.next, self.next_step) = (*end as usize, self.next_step + steps);
    }

    fn bytes(&self) -> usize {
        self.reads.capacity() * size_of::<HeldRead>()
            + self.order.capacity() * size_of::<u32>()
            + self.steps.capacity() * size_of::<(Timestamp, u32)>()
            + size_of::<HeldBatch>()
    }
}

/// When a transaction is final that lies nowhere.
pub(super) const AT_ONCE: Timestamp = crate::bodies::BEFORE_ALL;

/// When each transaction of a batch is final.
pub(super) fn untils(
    stands: impl Iterator<Item = (Option<Timestamp>, Option<Timestamp>)>,
) -> Vec<Timestamp> {
    stands.map(|(start, commit)| start.max(commit).unwrap_or(AT_ONCE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::TxnRef;
    use crate::content::Word;
    use isolde_history::TxnId;

    fn read(batch: u32, txn: u32, at: i64) -> HeldRead {
        let at = Timestamp::plain(at);
        let txn = TxnRef::new(batch, TxnId(txn));
        (Slot(0), Reader::new((at, true), (Word(0), false), (txn, 0)))
    }

    fn places(taken: &mut Vec<HeldRead>) -> Vec<i64> {
        taken.drain(..).map(|(_, reader)| reader.at.physical).collect()
    }

    #[test]
    fn what_is_final_comes_out_once_and_nothing_else_does() {
        let mut held = HeldBack::new(1 << 20);
        let mut taken = Vec::new();
        held.add(Slot(0), read(0, 0, 30).1);
        held.add(Slot(0), read(0, 1, 10).1);
        held.add(Slot(0), read(0, 0, 31).1);
        held.close(0, &[35, 15].map(Timestamp::plain));
        held.add(Slot(0), read(1, 0, 20).1);
        held.close(1, &[Timestamp::plain(20)]);
        assert_eq!(held.earliest(), Some(Timestamp::plain(10)));
        held.take_final(Some(Timestamp::plain(15)), 0, &mut taken);
        assert_eq!(places(&mut taken), [] as [i64; 0]);
        held.take_final(Some(Timestamp::plain(21)), 0, &mut taken);
        assert_eq!(places(&mut taken), [10, 20]);
        held.take_final(Some(Timestamp::plain(21)), 1, &mut taken);
        assert_eq!(places(&mut taken), [30, 31]);
        assert_eq!((held.earliest(), held.bytes), (None, 0));
    }

    #[test]
    fn what_does_not_fit_comes_out_oldest_first() {
        let mut held = HeldBack::new(0);
        let mut taken = Vec::new();
        for batch in 0..3 {
            held.add(Slot(0), read(batch, 0, i64::from(batch)).1);
            held.close(batch, &[Timestamp::plain(100)]);
        }
        held.take_before(1, &mut taken);
        assert_eq!(places(&mut taken), [0]);
        held.take_surplus(&mut taken);
        assert_eq!(places(&mut taken), [1, 2]);
    }
}
