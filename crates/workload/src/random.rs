//! Numbers that look random and are the same everywhere.

/// SplitMix64: small, seedable, the same everywhere.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of that seed.
    pub const fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0. (The bias of the remainder is far below what any
    /// test could notice.)
    pub fn below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }

    /// Yes or no.
    pub fn coin(&mut self) -> bool {
        self.bits() & 1 == 1
    }

    /// Whether something happens that happens so often, from 0 (never) to 1 (always).
    pub fn chance(&mut self, share: f64) -> bool {
        (self.bits() >> 11) as f64 / ((1u64 << 53) as f64) < share
    }
}
