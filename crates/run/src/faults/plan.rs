//! When each fault happens, from a seed: the same on every machine.

use std::time::Duration;

use isolde_workload::Random;

use super::fault::{Fault, When};

/// The times of several faults, one after another.
pub(crate) struct Plan {
    streams: Vec<Stream>,
}

/// The times of one fault.
struct Stream {
    when: When,
    random: Random,
    /// When it happens next, if it does.
    next: Option<Duration>,
}

impl Stream {
    fn new(fault: &Fault, random: Random) -> Stream {
        let mut stream = Stream { when: fault.when, random, next: None };
        stream.next = match fault.when {
            When::At(time) | When::Every(time) => Some(time),
            When::About(mean) => Some(stream.around(mean)),
        };
        stream
    }

    /// From half to one and a half times as long.
    fn around(&mut self, mean: Duration) -> Duration {
        let share = self.random.below(1 << 20) as f64 / f64::from(1u32 << 20);
        mean.mul_f64(0.5 + share)
    }

    /// It happened, and was over at that time.
    fn advance(&mut self, over: Duration) {
        self.next = match (self.when, self.next) {
            (When::At(_), _) | (_, None) => None,
            (When::About(mean), Some(_)) => Some(over + self.around(mean)),
            // What was missed because another one took too long is not made up for.
            (When::Every(every), Some(last)) => {
                let mut next = last + every;
                while next < over {
                    next += every;
                }
                Some(next)
            }
        };
    }
}

impl Plan {
    /// The times of these faults.
    pub(crate) fn new(faults: &[Fault], seed: u64) -> Plan {
        let stream = |(fault, number)| Stream::new(fault, Random::stream(seed, number));
        // Far away from the numbers of sessions, whose scripts follow from the same seed.
        let streams = faults.iter().zip(1u64 << 40..).map(stream).collect();
        Plan { streams }
    }

    /// The fault that is next, by its number, and when.
    pub(crate) fn next(&self) -> Option<(usize, Duration)> {
        let times = self.streams.iter().enumerate().filter_map(|(at, s)| Some((at, s.next?)));
        times.min_by_key(|(_, time)| *time)
    }

    /// It happened, and was over at that time.
    pub(crate) fn happened(&mut self, number: usize, over: Duration) {
        if let Some(stream) = self.streams.get_mut(number) {
            stream.advance(over);
        }
    }

    /// Random bits for the choices of a fault: which node, which session.
    pub(crate) fn below(&mut self, number: usize, n: usize) -> usize {
        let stream = self.streams.get_mut(number);
        stream.map_or(0, |stream| stream.random.below(n.max(1) as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(text: &str, seed: u64, count: usize) -> Vec<u128> {
        let faults: Vec<Fault> = text.split(' ').map(|t| t.parse().unwrap()).collect();
        let mut plan = Plan::new(&faults, seed);
        let mut all = Vec::new();
        while let Some((number, time)) = plan.next().filter(|_| all.len() < count) {
            all.push(time.as_millis());
            plan.happened(number, time + faults[number].lasts);
        }
        all
    }

    #[test]
    fn fixed_times_are_kept() {
        assert_eq!(times("kill:every=2s", 1, 3), [2000, 4000, 6000]);
        assert_eq!(times("kill:at=3s", 1, 3), [3000]);
        assert_eq!(times("kill:every=2s drop:at=3s", 1, 4), [2000, 3000, 4000, 6000]);
        // One that lasts longer than until the next one skips it.
        assert_eq!(times("pause:every=2s:for=3s", 1, 3), [2000, 6000, 10000]);
    }

    #[test]
    fn random_times_follow_from_the_seed() {
        let some = times("kill:about=1s:for=0s", 7, 50);
        assert_eq!(some, times("kill:about=1s:for=0s", 7, 50));
        assert_ne!(some, times("kill:about=1s:for=0s", 8, 50));
        assert!((40_000..60_000).contains(some.last().unwrap()), "{some:?}");
    }
}
