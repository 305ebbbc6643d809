//! Which keys transactions touch: uniform or skewed, in constant time a pick.

use clap::ValueEnum;

use super::random::Random;

/// How often each key is touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Distribution {
    /// All alike
    Uniform,
    /// Each as often as the inverse of its rank, to the power of `--exponent`
    Zipfian,
    /// A fifth of the keys gets four fifths of the operations
    Hotspot,
    /// As YCSB has it: 95 of 100 operations on the first six sevenths of the keys
    Exponential,
}

impl Distribution {
    pub(crate) const ALL: [Distribution; 4] = [
        Distribution::Uniform,
        Distribution::Zipfian,
        Distribution::Hotspot,
        Distribution::Exponential,
    ];

    /// The weights of so many keys, not normed.
    fn weights(self, keys: u32, exponent: f64) -> Vec<f64> {
        let n = f64::from(keys);
        let hot = (keys / 5).max(1);
        let decay = -(0.05f64.ln()) / (n * 6.0 / 7.0);
        let weight = |key: u32| match self {
            Distribution::Uniform => 1.0,
            Distribution::Zipfian => (f64::from(key) + 1.0).powf(-exponent),
            Distribution::Hotspot if key < hot => 0.8 / f64::from(hot),
            Distribution::Hotspot => 0.2 / f64::from(keys - hot),
            Distribution::Exponential => (-decay * f64::from(key)).exp(),
        };
        (0..keys).map(weight).collect()
    }
}

/// An alias table: each cell is one key up to a threshold, and another one beyond it.
pub(crate) struct Picker {
    /// The threshold, as a share of 2^32, and the other key.
    cells: Vec<(u32, u32)>,
}

impl Picker {
    pub(crate) fn new(distribution: Distribution, keys: u32, exponent: f64) -> Picker {
        let mut shares = distribution.weights(keys, exponent);
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

    pub(crate) fn pick(&self, random: &mut Random) -> u32 {
        let bits = random.next();
        let cell = ((bits >> 32) * self.cells.len() as u64) >> 32;
        let (threshold, other) = self.cells[cell as usize];
        if bits as u32 <= threshold { cell as u32 } else { other }
    }

    /// Another key than this one; there are at least two.
    pub(crate) fn pick_other(&self, than: u32, random: &mut Random) -> u32 {
        // A steep distribution may hardly ever name another key: the neighbour will do then.
        let mut tries = (0..16).map(|_| self.pick(random));
        tries.find(|&key| key != than).unwrap_or((than + 1) % self.cells.len() as u32)
    }
}
