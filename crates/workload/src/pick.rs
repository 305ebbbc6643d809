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
    /// The weights of so many keys, not normed.
    fn weights(self, keys: u32) -> Vec<f64> {
        let n = f64::from(keys);
        let decay = -(0.05f64.ln()) / (n * 6.0 / 7.0);
        let weight = |key: u32| match self {
            Distribution::Uniform => 1.0,
            Distribution::Zipf(exponent) => (f64::from(key) + 1.0).powf(-exponent),
            Distribution::Hotspot { keys: share, operations } => {
                let hot = ((n * share / 100.0) as u32).clamp(1, keys);
                if key < hot {
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
        let mut shares = distribution.weights(keys);
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
