//! When batches came, as long as that may matter to what is final.

use std::collections::VecDeque;

use crate::pack::packed;

/// When batches came.
#[derive(Default)]
pub(crate) struct Arriving {
    /// From the first on that is not settled.
    times: VecDeque<i64>,
    first: u32,
    /// When the last one came that is settled: those before it came no later.
    settled: Option<i64>,
}

packed!(Arriving { times, first, settled });

impl Arriving {
    /// The next batch has come, not earlier than any before it.
    pub(crate) fn add(&mut self, now: i64) {
        self.times.push_back(now);
    }

    /// All batches before a number are final, by promise or by time: when they came is forgotten.
    pub(crate) fn settle(&mut self, number: u32) {
        while self.first < number
            && let Some(came) = self.times.pop_front()
        {
            self.first += 1;
            self.settled = Some(came);
        }
    }

    /// All batches before the number that it says had come by a time. It may say a smaller one than it could, since of what
    /// was settled by promise only the last is remembered: whatever was, is final anyway.
    pub(crate) fn over(&mut self, time: i64) -> u32 {
        while let Some(came) = self.times.pop_front_if(|came| *came <= time) {
            self.first += 1;
            self.settled = Some(came);
        }
        if self.settled.is_none_or(|came| came <= time) { self.first } else { 0 }
    }

    /// The bytes that it takes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.times.capacity() * size_of::<i64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_settled_by_promise_takes_no_memory_and_its_time_comes_nevertheless() {
        let mut arriving = Arriving::default();
        for batch in 0..100_000 {
            arriving.add(i64::from(batch));
            arriving.settle(batch);
        }
        assert!(arriving.heap_bytes() < 1_000);
        // The last but one was settled by promise: that its time is over cannot be said of it before it is.
        assert_eq!(arriving.over(99_997), 0);
        assert_eq!(arriving.over(99_998), 99_999);
        assert_eq!(arriving.over(99_999), 100_000);
    }

    #[test]
    fn time_alone_settles_one_after_another() {
        let mut arriving = Arriving::default();
        [0, 10, 10, 30].iter().for_each(|time| arriving.add(*time));
        assert_eq!([-1, 0, 9, 10, 29, 30].map(|time| arriving.over(time)), [0, 1, 1, 3, 3, 4]);
    }
}
