//! In which order transactions arrive, and when.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use isolde_history::Timestamp;
use isolde_workload::Random;

use super::args::{ArrivalOrder, StreamCase};
use super::held::Held;

/// A transaction that has arrived, and when, in nanoseconds.
pub(super) struct Arrived {
    pub(super) at: u64,
    pub(super) txn: Held,
}

/// From the order of answers to the order of commits, and from there to the order of arrival.
///
/// Only what is on its way is held, in a slab: heaps move small things around.
pub(super) struct Arrival {
    slab: Vec<Option<Held>>,
    free: Vec<u32>,
    /// Answered, by where they stand: the session's order is kept whatever the timestamps say.
    answered: BinaryHeap<Reverse<(Timestamp, u64, u32)>>,
    /// Committed, by when they arrive.
    under_way: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// Of each session: how far its answers have come, and when its last transaction arrives.
    reached: Vec<Timestamp>,
    last: Vec<u64>,
    /// Of each session: where those stand that have not been delivered, the oldest first.
    to_come: Vec<VecDeque<Timestamp>>,
    /// How many answers may be out of the order of commits.
    window: usize,
    nanoseconds: f64,
    delay: Option<(f64, f64)>,
    count: u64,
    random: Random,
}

impl Arrival {
    pub(super) fn new(case: &StreamCase) -> Arrival {
        let sessions = case.sessions as usize;
        let delay = match case.order {
            ArrivalOrder::InOrder => None,
            ArrivalOrder::Delayed { mean, deviation } => {
                Some((f64::from(mean) * 1e6, f64::from(deviation) * 1e6))
            }
        };
        Arrival {
            slab: Vec::new(),
            free: Vec::new(),
            answered: BinaryHeap::new(),
            under_way: BinaryHeap::new(),
            reached: vec![Timestamp::plain(0); sessions],
            last: vec![0; sessions],
            to_come: vec![VecDeque::new(); sessions],
            // Far more than are under way at the same time.
            window: 8 * sessions,
            nanoseconds: 1e9 / case.rate as f64,
            delay,
            count: 0,
            random: Random::stream(case.seed, u64::from(u32::MAX)),
        }
    }

    /// The database has answered.
    pub(super) fn answer(&mut self, session: usize, txn: Held) {
        let stamp = txn.stamp().unwrap_or(self.reached[session]).max(self.reached[session]);
        self.reached[session] = stamp;
        self.to_come[session].push_back(stamp);
        let place = match self.free.pop() {
            Some(place) => {
                self.slab[place as usize] = Some(txn);
                place
            }
            None => {
                self.slab.push(Some(txn));
                self.slab.len() as u32 - 1
            }
        };
        self.answered.push(Reverse((stamp, self.count, place)));
        self.count += 1;
        if self.answered.len() > self.window {
            self.commit();
        }
    }

    /// The next one in the order of commits sets off.
    fn commit(&mut self) {
        let Some(Reverse((_, number, place))) = self.answered.pop() else { return };
        let Some(Some(txn)) = self.slab.get(place as usize) else { return };
        let session = session_of(txn);
        let mut at = self.sent_at();
        if let Some((mean, deviation)) = self.delay {
            let delay = mean + deviation * normal(&mut self.random);
            // One that overtook its predecessor would change the session's order.
            at = self.last[session].max(at + delay.max(0.0) as u64);
            self.last[session] = at;
        }
        self.under_way.push(Reverse((at, number, place)));
    }

    /// When the newest of those that have committed was sent.
    fn sent_at(&self) -> u64 {
        let committed = self.count.saturating_sub(self.answered.len() as u64);
        (committed as f64 * self.nanoseconds) as u64
    }

    /// The next one that arrives before anything that is still to come can.
    pub(super) fn next(&mut self) -> Option<Arrived> {
        let Reverse((at, ..)) = self.under_way.peek()?;
        if *at > self.sent_at() {
            return None;
        }
        self.take()
    }

    /// The next one when the database has stopped.
    pub(super) fn rest(&mut self) -> Option<Arrived> {
        while !self.answered.is_empty() {
            self.commit();
        }
        self.take()
    }

    fn take(&mut self) -> Option<Arrived> {
        let Reverse((at, _, place)) = self.under_way.pop()?;
        let txn = self.slab.get_mut(place as usize)?.take()?;
        self.free.push(place);
        self.to_come[session_of(&txn)].pop_front();
        Some(Arrived { at, txn })
    }

    /// What each session can promise: nothing that has not been delivered comes before it. A session begins when its
    /// last transaction was answered, so the next one stands after it.
    pub(super) fn promises(&self) -> impl Iterator<Item = Timestamp> + '_ {
        let of = |(to_come, reached): (&VecDeque<Timestamp>, &Timestamp)| {
            to_come.front().copied().unwrap_or(*reached)
        };
        self.to_come.iter().zip(&self.reached).map(of)
    }
}

/// Sessions of simulations are called by their numbers.
pub(super) fn session_of(txn: &Held) -> usize {
    txn.session.as_int().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
}

/// The sum of twelve even numbers is as good as normal here, and the same on every machine.
fn normal(random: &mut Random) -> f64 {
    let even = |random: &mut Random| (random.bits() >> 11) as f64 / (1u64 << 53) as f64;
    (0..12).map(|_| even(random)).sum::<f64>() - 6.0
}
