//! Random numbers, and how often a random history has which feature.

/// SplitMix64.
pub struct Rng(u64);

impl Rng {
    /// A generator; the same seed gives the same numbers.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high + 1 - low)
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }
}

/// How a transaction chooses what it sees of those that committed before.
#[derive(Clone, Copy, Debug)]
pub enum View {
    /// All of it.
    Serial,
    /// A prefix.
    Snapshot,
    /// A prefix for each statement, never an older one.
    Statement,
    /// Any prefix for each read.
    Any,
    /// Any of the transactions, whatever the others are.
    Scattered,
    /// Any of the transactions, with all that they saw and that their sessions did before.
    Causal,
}

/// Chances, in percent, of the features of a history.
#[derive(Clone, Debug)]
pub struct Weights {
    pub view: View,
    /// Whether a transaction aborts if it writes a key that somebody wrote whom it does not see.
    pub conflicts: bool,
    pub txns: usize,
    pub sessions: usize,
    pub keys: usize,
    pub ops: usize,
    /// Transactions that read and then overwrite one key.
    pub mini: usize,
    /// Transactions that read every key and then perhaps write one.
    pub scans: usize,
    pub lists: usize,
    /// Transactions that begin with a predicate read, and reads that are one.
    pub predicates: usize,
    pub writes: usize,
    pub deletes: usize,
    pub cas: usize,
    pub inserts: usize,
    pub unsure: usize,
    pub savepoints: usize,
    pub aborted: usize,
    pub unknown: usize,
    pub leak: usize,
    pub statements: usize,
    pub duplicates: usize,
    pub mutations: usize,
    pub intervals: usize,
    pub missing_sides: usize,
    pub initial: usize,
    pub incomplete: usize,
    pub orders: usize,
    pub shuffle: usize,
}

impl Weights {
    /// The weights that a seed picks for itself.
    pub fn swarm(seed: u64) -> Weights {
        let rng = &mut Rng::new(seed ^ 0x5eed);
        let views = [
            View::Serial,
            View::Snapshot,
            View::Statement,
            View::Any,
            View::Scattered,
            View::Causal,
        ];
        let view = views[rng.below(views.len())];
        let conflicts = rng.percent(50);
        let mut chance = |high: usize| if rng.percent(50) { 0 } else { rng.between(1, high) };
        let weights = Weights {
            view,
            conflicts,
            mini: chance(100),
            scans: chance(90),
            lists: chance(100),
            deletes: chance(25),
            cas: chance(40),
            inserts: chance(40),
            unsure: chance(8),
            savepoints: chance(25),
            aborted: chance(40),
            unknown: chance(50),
            leak: chance(50),
            statements: chance(60),
            duplicates: chance(15),
            mutations: chance(25),
            intervals: chance(200),
            missing_sides: chance(40),
            initial: chance(120),
            incomplete: chance(40),
            orders: chance(40),
            shuffle: chance(60),
            predicates: 0,
            txns: 0,
            sessions: 0,
            keys: 0,
            ops: 0,
            writes: 0,
        };
        let weights = Weights {
            txns: rng.between(1, 6).max(rng.between(2, 6)),
            sessions: rng.between(1, 4),
            keys: rng.between(1, 3),
            ops: rng.between(1, 4).max(rng.between(1, 4)),
            writes: rng.between(20, 80),
            ..weights
        };
        let weights = if rng.percent(40) { weights.subtle(rng) } else { weights };
        // From numbers of their own: all other histories are what they were without predicates.
        let rng = &mut Rng::new(seed ^ 0x9ced);
        if rng.percent(20) { weights.with_predicates(rng) } else { weights }
    }

    /// Predicate reads, no lists, and rows that come and go.
    fn with_predicates(self, rng: &mut Rng) -> Weights {
        Weights {
            predicates: rng.between(20, 90),
            lists: 0,
            deletes: rng.between(5, 30),
            inserts: rng.between(10, 60),
            unsure: self.unsure / 3,
            savepoints: self.savepoints / 3,
            ..self
        }
    }

    /// Little noise and much concurrency: what tells the stronger levels apart is rare, and any
    /// breach of the weaker ones hides it.
    fn subtle(self, rng: &mut Rng) -> Weights {
        Weights {
            view: [View::Snapshot, View::Scattered, View::Causal, View::Causal][rng.below(4)],
            txns: rng.between(4, 6),
            sessions: rng.between(3, 4),
            keys: rng.between(2, 3),
            ops: rng.between(1, 3),
            writes: rng.between(40, 80),
            scans: rng.between(30, 70),
            mini: 0,
            mutations: 0,
            leak: 0,
            deletes: self.deletes / 3,
            duplicates: 0,
            shuffle: self.shuffle / 3,
            ..self
        }
    }
}
