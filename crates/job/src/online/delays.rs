//! How long something took, very often: counts in classes that are a 64th part wide.

use std::time::Duration;

/// Classes of a power of two.
const FINE: u32 = 64;

/// Times, as many as there are; memory does not grow with them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Delays {
    /// How many are in each class of microseconds.
    classes: Vec<u64>,
    count: u64,
    longest: Duration,
}

impl Delays {
    pub(crate) fn add(&mut self, delay: Duration) {
        let class = class(u64::try_from(delay.as_micros()).unwrap_or(u64::MAX));
        if self.classes.len() <= class {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] += 1;
        self.count += 1;
        self.longest = self.longest.max(delay);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The longest.
    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }

    /// The time within which that share of them was, to a 64th part of it.
    pub(crate) fn within(&self, share: f64) -> Duration {
        let wanted = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut sum = 0;
        let reached = self.classes.iter().position(|count| {
            sum += count;
            sum >= wanted
        });
        reached
            .map_or(Duration::ZERO, |class| Duration::from_micros(least(class)))
            .min(self.longest)
    }
}

/// The class of a number: each below 64 has its own, and every power of two from there on has 64.
fn class(n: u64) -> usize {
    let shift = (u64::BITS - n.leading_zeros()).saturating_sub(FINE.ilog2() + 1);
    (shift * FINE) as usize + (n >> shift) as usize
}

/// The least number of a class.
fn least(class: usize) -> u64 {
    let (class, fine) = (class as u64, u64::from(FINE));
    let shift = (class / fine).saturating_sub(1);
    (class - shift * fine) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_narrow_and_in_order() {
        let mut last = 0;
        for n in (0..100_000).chain((17..63).map(|bit| (1u64 << bit) + 12_345)) {
            let class = class(n);
            assert!(class >= last && class <= last + 65, "{n}");
            assert!(least(class) <= n && n - least(class) <= n / 64, "{n}: {}", least(class));
            last = class;
        }
    }

    #[test]
    fn shares_are_found() {
        let mut delays = Delays::default();
        assert_eq!(delays.within(0.5), Duration::ZERO);
        (1..=1000).for_each(|ms| delays.add(Duration::from_millis(ms)));
        let near = |share: f64, ms: f64| {
            let found = delays.within(share).as_secs_f64() * 1e3;
            assert!((found / ms - 1.0).abs() < 0.02, "{found} is not {ms}");
        };
        near(0.5, 500.0);
        near(0.99, 990.0);
        assert_eq!((delays.count(), delays.longest()), (1000, Duration::from_secs(1)));
    }
}
