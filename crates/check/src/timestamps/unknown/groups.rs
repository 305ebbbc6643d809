//! Which transactions of unknown outcome matter to each other, and have to be tried together.
//!
//! Two that touched a register do not if the one has committed, for certain, before the other one could: then
//! their order is known, whatever points they get. And a read of the one's value is right or wrong without
//! the other, since a version more never makes it right. That needs values that nobody else wrote, and reads
//! that return one value: a list shows several of them at once, and what was refused saw anything. With a
//! value that two transactions wrote, a read that the one cannot explain might be the other's, and
//! the point of a third one that hides the first would be found too late.

use hashbrown::HashMap;

use super::candidates::{Candidate, Candidates};
use super::points::LATEST;
use crate::timestamps::case::TimedCase;
use crate::timestamps::ticks::Tick;

/// The groups of candidates, by their numbers; in each, the one that was read first first.
pub(super) fn of(candidates: &Candidates, case: &TimedCase<'_>) -> Vec<Vec<usize>> {
    let all = &candidates.all;
    let mut groups = Groups::new(all.len());
    let mut on_key: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, candidate) in all.iter().enumerate() {
        candidate.keys.iter().for_each(|key| on_key.entry(*key).or_default().push(at));
    }
    for (key, here) in on_key {
        let certain = &candidates.certain[&key];
        let mut spans: Vec<(Span, usize)> =
            here.into_iter().map(|at| (Span::of(&all[at], case), at)).collect();
        spans.sort_unstable();
        join_overlapping(&mut groups, &spans, certain.mixes);
    }
    let mut groups = groups.all();
    for group in &mut groups {
        group.sort_by_key(|at| (all[*at].until, *at));
    }
    groups
}

/// Joins candidates of one key whose spans overlap, or all of them.
fn join_overlapping(groups: &mut Groups, spans: &[(Span, usize)], all: bool) {
    let mut last: Option<(usize, Tick)> = None;
    for &(span, at) in spans {
        last = match last {
            Some((other, end)) if all || span.after < end => {
                groups.join(at, other);
                Some((at, end.max(span.until)))
            }
            _ => Some((at, span.until)),
        };
    }
}

/// When a candidate may have committed: after the one tick, and not after the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    after: Tick,
    until: Tick,
}

impl Span {
    fn of(candidate: &Candidate, case: &TimedCase<'_>) -> Span {
        let after = candidate.after.unwrap_or(Tick::NEVER);
        let until = candidate.until.unwrap_or(LATEST);
        match case.ticks.commit_of(candidate.txn).known() {
            // A timestamp may lie anywhere.
            Some(commit) => Span { after: after.min(Tick(commit.0 - 1)), until: until.max(commit) },
            None => Span { after, until },
        }
    }
}

/// Numbers in groups that grow together: each knows one of its group with a number that is not greater.
struct Groups(Vec<usize>);

impl Groups {
    fn new(count: usize) -> Groups {
        Groups((0..count).collect())
    }

    /// The least number of the group.
    fn find(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            // The path is halved on the way, so that no path stays long.
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (a, b) = (self.find(one), self.find(other));
        self.0[a.max(b)] = a.min(b);
    }

    /// All groups, by their least numbers.
    fn all(mut self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = vec![Vec::new(); self.0.len()];
        for at in 0..self.0.len() {
            let least = self.find(at);
            groups[least].push(at);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(spans: &[(i64, i64)], all: bool, expected: &[&[usize]]) {
        let mut groups = Groups::new(spans.len());
        let tick = |at: &usize| Span { after: Tick(spans[*at].0), until: Tick(spans[*at].1) };
        let mut spans: Vec<(Span, usize)> = (0..spans.len()).map(|at| (tick(&at), at)).collect();
        spans.sort_unstable();
        join_overlapping(&mut groups, &spans, all);
        assert_eq!(groups.all(), expected);
    }

    #[test]
    fn candidates_are_joined_where_they_may_commit_in_either_order() {
        check(&[(1, 3), (3, 5)], false, &[&[0], &[1]]);
        check(&[(1, 4), (3, 5)], false, &[&[0, 1]]);
        check(&[(1, 3), (3, 5)], true, &[&[0, 1]]);
        // One that may have committed late meets all that follow, and they do not end it.
        check(&[(1, 9), (2, 3), (4, 5), (9, 10)], false, &[&[0, 1, 2], &[3]]);
    }
}
