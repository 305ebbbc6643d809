//! Numbers that look random and are the same everywhere.

/// SplitMix64: small, seedable, the same everywhere.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of that seed.
    pub const fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// One of many generators of the same seed, far apart from the others.
    ///
    /// All of them walk the same circle of 2^64 numbers, so what matters is where each begins. Seed
    /// and number are both mixed first: neighbours begin at places that have nothing in common.
    pub const fn stream(seed: u64, number: u64) -> Random {
        Random(mixed(mixed(seed ^ 0x1505_1de5_eed5_0000) ^ mixed(!number)))
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        finished(self.0)
    }

    /// A number below `n`, which is not 0. (Some are likelier than others by n in 2^64, which no
    /// test could notice.)
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Yes or no.
    #[inline]
    pub fn coin(&mut self) -> bool {
        self.bits() & 1 == 1
    }

    /// Whether something happens that happens so often, from 0 (never) to 1 (always).
    #[inline]
    pub fn chance(&mut self, share: f64) -> bool {
        (self.bits() >> 11) as f64 / ((1u64 << 53) as f64) < share
    }
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

const fn mixed(bits: u64) -> u64 {
    finished(bits.wrapping_add(STEP))
}

const fn finished(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// With the seed and the number only combined by exclusive or, these would be the same streams.
    #[test]
    fn streams_of_neighbours_have_nothing_in_common() {
        let mut seen = HashSet::new();
        for seed in 0..16u64 {
            for session in 0..64u64 {
                for (seed, session) in [(seed, session), (seed ^ (session << 32), 100 + seed)] {
                    let mut random = Random::stream(seed, session);
                    seen.extend((0..16).map(|_| random.bits()));
                }
            }
        }
        // The second pair repeats where the session is 0.
        assert!(seen.len() > 16 * 16 * 64 + 16 * 16 * 63 - 16, "{}", seen.len());
    }

    #[test]
    fn numbers_stay_below_and_reach_all() {
        let mut random = Random::new(1);
        let seen: HashSet<u64> = (0..1_000).map(|_| random.below(7)).collect();
        assert_eq!(seen.len(), 7);
        assert!(seen.iter().all(|n| *n < 7));
        assert!(!(0..1_000).any(|_| random.chance(0.0)));
        assert!((0..1_000).all(|_| random.chance(1.0)));
    }
}
