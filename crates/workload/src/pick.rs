//! Which keys transactions touch: uniform or skewed, in constant time a pick.

use std::fmt;
use std::str::FromStr;

use crate::random::Random;

/// How often each key is touched. Written `uniform`, `zipf:1.0`, `hotspot:20/80`, `exponential`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Distribution {
    /// All alike.
    Uniform,
    /// Each as often as the inverse of its rank, to the power of the exponent.
    Zipf(f64),
    /// Some of the keys get most of the operations: percent of the keys, percent of the operations.
    Hotspot {
        /// How many of a hundred keys are hot.
        keys: f64,
        /// How many of a hundred operations go there.
        operations: f64,
    },
    /// As YCSB has it: 95 of 100 operations on the first six sevenths of the keys.
    Exponential,
}

impl Distribution {
    /// What is wrong with its parameters, if anything.
    pub(crate) fn validate(self) -> Result<(), String> {
        match self {
            Distribution::Uniform | Distribution::Exponential => Ok(()),
            Distribution::Zipf(exponent) if (0.0..=10.0).contains(&exponent) => Ok(()),
            Distribution::Zipf(exponent) => {
                Err(format!("the exponent of zipf lies between 0 and 10, not at {exponent}"))
            }
            Distribution::Hotspot { keys, operations } => {
                let percent = |share: f64| share > 0.0 && share <= 100.0;
                // Where every key is hot, no key is left for the other operations.
                if percent(keys) && percent(operations) && (keys < 100.0 || operations == 100.0) {
                    return Ok(());
                }
                Err(format!(
                    "hotspot:{keys}/{operations} means nothing: it needs more than 0% and less \
                     than 100% of the keys, and up to 100% of the operations"
                ))
            }
        }
    }

    /// The share of the operations that the most popular of so many keys gets.
    pub(crate) fn top_share(self, keys: u32) -> f64 {
        let weights = self.weights(keys);
        weights.iter().copied().fold(0.0, f64::max) / weights.iter().sum::<f64>()
    }

    /// The weights of so many keys, not normed.
    fn weights(self, keys: u32) -> Vec<f64> {
        let n = f64::from(keys);
        let decay = -(0.05f64.ln()) / (n * 6.0 / 7.0);
        let weight = |key: u32| match self {
            Distribution::Uniform => 1.0,
            Distribution::Zipf(exponent) => (f64::from(key) + 1.0).powf(-exponent),
            Distribution::Hotspot { keys: share, operations } => {
                let hot = ((n * share / 100.0) as u32).clamp(1, keys);
                if hot == keys {
                    1.0
                } else if key < hot {
                    operations / f64::from(hot)
                } else {
                    (100.0 - operations) / f64::from(keys - hot)
                }
            }
            Distribution::Exponential => (-decay * f64::from(key)).exp(),
        };
        (0..keys).map(weight).collect()
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Uniform => f.write_str("uniform"),
            Distribution::Zipf(exponent) => write!(f, "zipf:{exponent}"),
            Distribution::Hotspot { keys, operations } => write!(f, "hotspot:{keys}/{operations}"),
            Distribution::Exponential => f.write_str("exponential"),
        }
    }
}

impl FromStr for Distribution {
    type Err = String;

    fn from_str(text: &str) -> Result<Distribution, String> {
        let (name, parameter) = match text.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter)),
            None => (text, None),
        };
        let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
        match (name, parameter) {
            ("uniform", None) => Ok(Distribution::Uniform),
            ("exponential", None) => Ok(Distribution::Exponential),
            ("zipf" | "zipfian", None) => Ok(Distribution::Zipf(1.0)),
            ("zipf" | "zipfian", Some(exponent)) => number(exponent)
                .map(Distribution::Zipf)
                .ok_or_else(|| format!("'{exponent}' is no exponent, such as 0.99")),
            ("hotspot", None) => Ok(Distribution::Hotspot { keys: 20.0, operations: 80.0 }),
            ("hotspot", Some(shares)) => shares
                .split_once('/')
                .and_then(|(keys, operations)| Some((number(keys)?, number(operations)?)))
                .filter(|(keys, operations)| *keys <= 100.0 && *operations <= 100.0)
                .map(|(keys, operations)| Distribution::Hotspot { keys, operations })
                .ok_or_else(|| format!("'{shares}' is no pair of percentages, such as 20/80")),
            _ => Err("distributions are uniform, zipf:EXPONENT, hotspot:KEYS/OPERATIONS, \
                      exponential"
                .to_owned()),
        }
    }
}

/// An alias table: each cell is one key up to a threshold, and another one beyond it.
#[derive(Clone, Debug)]
pub struct Picker {
    /// The threshold, as a share of 2^32, and the other key.
    cells: Vec<(u32, u32)>,
}

impl Picker {
    /// The table of so many keys, at least two.
    pub fn new(distribution: Distribution, keys: u32) -> Picker {
        Picker::weighted(distribution.weights(keys))
    }

    /// The table of places with these weights; the same weights give the same picks everywhere.
    pub(crate) fn weighted(mut shares: Vec<f64>) -> Picker {
        let keys = shares.len() as u32;
        let mean = shares.iter().sum::<f64>() / f64::from(keys);
        for share in &mut shares {
            *share /= mean;
        }
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..keys).partition(|&key| shares[key as usize] < 1.0);
        let mut cells: Vec<(u32, u32)> = (0..keys).map(|key| (u32::MAX, key)).collect();
        // A cell that is not full is filled up by a key that has more than its own.
        while let (Some(poor), Some(&rich)) = (small.pop(), large.last()) {
            let share = shares[poor as usize];
            cells[poor as usize] = ((share * f64::from(u32::MAX)) as u32, rich);
            let rest = &mut shares[rich as usize];
            *rest -= 1.0 - share;
            if *rest < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        Picker { cells }
    }

    /// A key.
    #[inline]
    pub fn pick(&self, random: &mut Random) -> u32 {
        let bits = random.bits();
        let cell = ((bits >> 32) * self.cells.len() as u64) >> 32;
        let (threshold, other) = self.cells[cell as usize];
        if bits as u32 <= threshold { cell as u32 } else { other }
    }

    /// Another key than this one; there are at least two.
    pub fn pick_other(&self, than: u32, random: &mut Random) -> u32 {
        // A steep distribution may hardly ever name another key: the neighbour will do then.
        let mut tries = (0..16).map(|_| self.pick(random));
        tries.find(|&key| key != than).unwrap_or((than + 1) % self.cells.len() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(distribution: Distribution, first: u32) -> f64 {
        let picker = Picker::new(distribution, 100);
        let mut random = Random::new(3);
        let hits = (0..100_000).filter(|_| picker.pick(&mut random) < first).count();
        hits as f64 / 100_000.0
    }

    #[test]
    fn picks_follow_the_distribution() {
        let near = |a: f64, b: f64| (a - b).abs() < 0.01;
        let hotspot = |keys, operations| Distribution::Hotspot { keys, operations };
        assert!(near(share(Distribution::Uniform, 20), 0.2));
        assert!(near(share(hotspot(20.0, 80.0), 20), 0.8));
        assert!(near(share(hotspot(5.0, 50.0), 5), 0.5));
        // One over the hundredth harmonic number.
        assert!(near(share(Distribution::Zipf(1.0), 1), 1.0 / 5.187));
        assert!(near(Distribution::Zipf(1.0).top_share(100), 1.0 / 5.187));
        assert!(near(share(Distribution::Zipf(0.0), 1), 0.01));
        assert!(near(share(Distribution::Exponential, 100), 1.0));
        // What lies beyond the last key is shared out among all.
        assert!(near(share(Distribution::Exponential, 86), 0.95 / 0.97));
    }

    #[test]
    fn another_key_is_another_key() {
        // So steep that the first key is nearly all there is.
        let picker = Picker::new(Distribution::Zipf(10.0), 2);
        let mut random = Random::new(3);
        assert!((0..1_000).all(|_| picker.pick_other(0, &mut random) == 1));
    }

    #[test]
    fn distributions_are_read_as_they_are_written() {
        for text in ["uniform", "zipf:1", "zipf:0.99", "hotspot:20/80", "exponential"] {
            assert_eq!(text.parse::<Distribution>().map(|d| d.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("zipf".parse(), Ok(Distribution::Zipf(1.0)));
        for text in ["", "zipf:-1", "zipf:x", "hotspot:20", "hotspot:120/80", "uniform:3", "pareto"]
        {
            assert!(text.parse::<Distribution>().is_err(), "{text}");
        }
    }
}
