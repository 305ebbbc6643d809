//! The calls that are still to come, by beginning and by end, as lists that forget and remember.
//!
//! What was taken last is put back first, so a call that was taken still knows its neighbours.

use super::model::Timed;

/// No call.
pub(crate) const NONE: u32 = u32::MAX;

/// Two lists of the same calls.
pub(crate) struct Links {
    begins: LinkedCalls,
    ends: LinkedCalls,
    end: Vec<i64>,
    held: Vec<bool>,
}

/// A list in both directions; the last entry is both its ends.
struct LinkedCalls {
    before: Vec<u32>,
    after: Vec<u32>,
}

impl LinkedCalls {
    fn new(size: usize, order: &[u32]) -> LinkedCalls {
        let root = size as u32;
        let mut list = LinkedCalls { before: vec![root; size + 1], after: vec![root; size + 1] };
        let mut last = root;
        for &call in order {
            list.after[last as usize] = call;
            list.before[call as usize] = last;
            last = call;
        }
        list.after[last as usize] = root;
        list.before[root as usize] = last;
        list
    }

    fn following(&self, at: usize) -> u32 {
        let next = self.after[at];
        if next as usize == self.after.len() - 1 { NONE } else { next }
    }

    fn take(&mut self, call: usize) {
        let (before, after) = (self.before[call], self.after[call]);
        self.after[before as usize] = after;
        self.before[after as usize] = before;
    }

    fn put_back(&mut self, call: usize) {
        let (before, after) = (self.before[call], self.after[call]);
        self.after[before as usize] = call as u32;
        self.before[after as usize] = call as u32;
    }
}

impl Links {
    /// Links some of the calls.
    pub(crate) fn new<C>(calls: &[Timed<C>], mut linked: Vec<u32>) -> Links {
        let mut held = vec![false; calls.len()];
        linked.iter().for_each(|call| held[*call as usize] = true);
        linked.sort_by_key(|call| calls[*call as usize].begin);
        let begins = LinkedCalls::new(calls.len(), &linked);
        linked.sort_by_key(|call| calls[*call as usize].end);
        let ends = LinkedCalls::new(calls.len(), &linked);
        Links { begins, ends, end: calls.iter().map(|c| c.end).collect(), held }
    }

    /// The call that began first.
    pub(crate) fn first(&self) -> u32 {
        self.begins.following(self.held.len())
    }

    /// The call that began next after another one.
    pub(crate) fn after(&self, call: u32) -> u32 {
        self.begins.following(call as usize)
    }

    /// The call that ended first.
    pub(crate) fn ends_first(&self) -> u32 {
        self.ends.following(self.held.len())
    }

    /// When it ended: nothing that began later may come before it.
    pub(crate) fn deadline(&self) -> i64 {
        self.end.get(self.ends_first() as usize).copied().unwrap_or(i64::MAX)
    }

    /// Whether a call is still to come.
    pub(crate) fn holds(&self, call: u32) -> bool {
        self.held.get(call as usize).copied().unwrap_or(false)
    }

    pub(crate) fn take(&mut self, call: u32) {
        self.begins.take(call as usize);
        self.ends.take(call as usize);
        self.held[call as usize] = false;
    }

    pub(crate) fn put_back(&mut self, call: u32) {
        self.begins.put_back(call as usize);
        self.ends.put_back(call as usize);
        self.held[call as usize] = true;
    }
}
