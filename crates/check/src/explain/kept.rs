//! The cycles that a hunt has found so far.

use hashbrown::HashMap;
use isolde_history::{Key, TxnId};

use crate::explain::cycle::Hop;

/// Which transactions overwrote the same version. What is wrong among them is a lost update, also beyond
/// those that are kept, and does not come back under another name.
#[derive(Default)]
pub(crate) struct Rivals {
    /// The versions that each transaction overwrote as others did.
    of: HashMap<TxnId, Vec<u32>>,
}

impl Rivals {
    /// Divergences of one version follow each other as a chain: each pair begins where the last ended.
    pub(crate) fn new(divergences: &[(Key, [TxnId; 2])]) -> Rivals {
        let mut rivals = Rivals::default();
        let (mut version, mut last) = (0, None);
        for &(key, [a, b]) in divergences {
            if last != Some((key, a)) {
                version += 1;
                rivals.of.entry(a).or_default().push(version);
            }
            rivals.of.entry(b).or_default().push(version);
            last = Some((key, b));
        }
        rivals
    }

    /// Whether two transactions of a cycle overwrote the same version.
    pub(crate) fn are_in(&self, cycle: &[Hop]) -> bool {
        let of = |hop: &Hop| self.of.get(&hop.from).into_iter().flatten().copied();
        let mut versions: Vec<u32> = cycle.iter().flat_map(of).collect();
        versions.sort_unstable();
        versions.windows(2).any(|pair| pair[0] == pair[1])
    }
}

/// The cycles that were found, with those of each node at hand: only cycles that share all nodes of one
/// of them can make each other superfluous, and there may be ten thousand.
#[derive(Default)]
pub(crate) struct Kept {
    /// What turned out to be superfluous leaves a gap.
    pub(crate) cycles: Vec<Option<Vec<Hop>>>,
    at_node: HashMap<TxnId, Vec<usize>>,
    pub(crate) count: usize,
}

impl Kept {
    pub(crate) fn push(&mut self, cycle: Vec<Hop>) {
        for hop in &cycle {
            self.at_node.entry(hop.from).or_default().push(self.cycles.len());
        }
        self.cycles.push(Some(cycle));
        self.count += 1;
    }

    pub(crate) fn remove(&mut self, at: usize) {
        self.count -= usize::from(self.cycles[at].take().is_some());
    }

    /// The cycles that go through a node of this one, in the order in which they were found.
    pub(crate) fn beside(&self, cycle: &[Hop]) -> Vec<usize> {
        let of = |hop: &Hop| self.at_node.get(&hop.from).into_iter().flatten().copied();
        let mut all: Vec<usize> = cycle.iter().flat_map(of).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
