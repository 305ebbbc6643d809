//! The shortest cycle of a kind.
//!
//! One breadth-first search serves every class of the catalogue: it walks over pairs of a node and
//! what it remembers of the anti-dependencies so far, and stops when it is back at the start.

use std::collections::VecDeque;

use hashbrown::HashMap;
use isolde_spec::{Edges, Reads};

use crate::graph::Graph;
use crate::real_time::RealTime;

/// One edge of a cycle, with the kind that the search took it for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) kind: Edges,
}

/// Everything that is not an anti-dependency.
pub(crate) const DEPENDENCIES: Edges = Edges(Edges::SO.0 | Edges::RT.0 | Edges::WR.0 | Edges::WW.0);

/// Which cycles are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Those of an entry of the catalogue. They begin with an anti-dependency if they have one.
    Catalogued(Reads),
    /// Those that snapshot isolation forbids, beginning with a dependency.
    Snapshot,
    /// All.
    Any,
}

/// What a walk remembers: nothing yet, or how it stands with anti-dependencies.
const START: u8 = 0;
const AFTER_FIRST: u8 = 1;
const ONE: u8 = 2;
const AFTER_OTHER: u8 = 3;
const SEVERAL: u8 = 4;
const MEMORIES: usize = 5;

/// How a walk may go on over an edge of a kind, and what it remembers then.
fn step(class: Class, memory: u8, kind: Edges) -> Option<u8> {
    let anti = kind == Edges::RW;
    match class {
        Class::Any => Some(ONE),
        Class::Snapshot => match (anti, memory) {
            (false, _) => Some(ONE),
            (true, ONE) => Some(AFTER_OTHER),
            (true, _) => None,
        },
        Class::Catalogued(Reads::None(allowed)) => allowed.contains(kind).then_some(ONE),
        Class::Catalogued(reads) => match (reads, memory, anti) {
            (_, START, anti) => anti.then_some(AFTER_FIRST),
            (Reads::One, _, anti) => (!anti).then_some(ONE),
            (Reads::Apart, AFTER_FIRST | ONE, false) => Some(ONE),
            (Reads::Apart, ONE | SEVERAL, true) => Some(AFTER_OTHER),
            (Reads::Apart, AFTER_OTHER | SEVERAL, false) => Some(SEVERAL),
            (Reads::Apart, ..) => None,
            // Two that follow each other: the last edge and the first.
            (_, _, true) => Some(AFTER_OTHER),
            (_, _, false) => Some(ONE),
        },
    }
}

/// Whether a walk that is back at its start is a cycle of the class.
fn closes(class: Class, memory: u8) -> bool {
    match class {
        Class::Catalogued(Reads::Apart) => memory == SEVERAL,
        Class::Catalogued(Reads::Adjacent) => memory == AFTER_OTHER,
        _ => true,
    }
}

/// Where searches go, and how far.
pub(crate) struct Search<'g> {
    pub(crate) graph: &'g Graph,
    /// The component of every node; a search stays in that of its start.
    pub(crate) component: &'g [u32],
    /// How many nodes are transactions; the others are helpers of real time.
    pub(crate) txns: u32,
    pub(crate) real_time: Option<&'g RealTime<'g>>,
    /// How many more edges may be looked at, in all searches.
    pub(crate) budget: usize,
}

/// The transactions of a component, sorted by when they began.
pub(crate) type Begins = Vec<(i64, u32)>;

type CameFrom = HashMap<(u32, u8), (u32, u8, Edges)>;

impl Search<'_> {
    /// When the transactions of a component began, if real time counts.
    pub(crate) fn begins(&self, nodes: &[u32]) -> Begins {
        let Some(rt) = self.real_time else { return Vec::new() };
        let begin = |node: &u32| rt.begin(*node).map(|begin| (begin, *node));
        let txns = nodes.iter().filter(|node| **node < self.txns);
        let mut begins: Begins = txns.filter_map(begin).collect();
        begins.sort_unstable();
        begins
    }

    /// The shortest cycle of a class through a transaction, over edges of some kinds and not longer
    /// than a limit, if the search finds one before the budget is spent.
    pub(crate) fn through(
        &mut self,
        start: u32,
        class: Class,
        kinds: Edges,
        longest: usize,
        begins: &[(i64, u32)],
    ) -> Option<Vec<Hop>> {
        let mut came: CameFrom = HashMap::new();
        let mut queue = VecDeque::from([(start, START, 0)]);
        // Of the transactions sorted by their beginning, those from here on were reached already.
        let mut reached = [begins.len(); MEMORIES];
        while let Some((node, memory, len)) = queue.pop_front() {
            if len >= longest || self.budget == 0 {
                return None;
            }
            let in_time =
                if kinds.contains(Edges::RT) { step(class, memory, Edges::RT) } else { None };
            let mut next: Vec<(u32, Edges, u8)> = Vec::new();
            if let Some(memory) = in_time {
                let reached = &mut reached[memory as usize];
                next.extend(
                    self.later(node, start, begins, reached).map(|t| (t, Edges::RT, memory)),
                );
            }
            for (to, all) in self.graph.edges(node) {
                self.budget = self.budget.saturating_sub(1);
                if self.component[to as usize] != self.component[start as usize] || to >= self.txns
                {
                    continue;
                }
                for (kind, _) in (all & kinds).each() {
                    next.extend(step(class, memory, kind).map(|memory| (to, kind, memory)));
                }
            }
            for (to, kind, remembered) in next {
                if to == start {
                    if closes(class, remembered) {
                        return Some(path(&came, start, Hop { from: node, to, kind }, memory));
                    }
                } else if !came.contains_key(&(to, remembered)) {
                    came.insert((to, remembered), (node, memory, kind));
                    queue.push_back((to, remembered, len + 1));
                }
            }
        }
        None
    }

    /// Whoever began after a transaction ended and was not reached before, and the start if it did.
    fn later<'b>(
        &self,
        node: u32,
        start: u32,
        begins: &'b [(i64, u32)],
        reached: &mut usize,
    ) -> impl Iterator<Item = u32> + use<'b> {
        let end = self.real_time.and_then(|rt| rt.end(node));
        let back = self.real_time.and_then(|rt| rt.begin(start)).zip(end);
        let back = back.filter(|(begin, end)| begin > end).map(|_| start);
        let first = end.map_or(begins.len(), |end| begins.partition_point(|(b, _)| *b <= end));
        let until = std::mem::replace(reached, first.min(*reached));
        let later = begins.get(first..until).unwrap_or_default().iter().map(|(_, txn)| *txn);
        back.into_iter().chain(later.filter(move |txn| *txn != start))
    }
}

/// The way back from the last hop to the start.
fn path(came: &CameFrom, start: u32, last: Hop, memory: u8) -> Vec<Hop> {
    let mut hops = vec![last];
    let mut at = (last.from, memory);
    while at.0 != start {
        let Some(&(from, memory, kind)) = came.get(&at) else { break };
        hops.push(Hop { from, to: at.0, kind });
        at = (from, memory);
    }
    hops.reverse();
    hops
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges::EdgeList;

    fn find(edges: &[(u32, u32, Edges)], class: Class) -> Option<Vec<Edges>> {
        let mut list = EdgeList::new(5);
        edges.iter().for_each(|&(a, b, k)| list.push(a, b, k));
        let graph = Graph::new(5, &[&list]);
        let mut search =
            Search { graph: &graph, component: &[0; 5], txns: 5, real_time: None, budget: 1000 };
        let hops = search.through(0, class, Edges::ALL, 5, &[])?;
        Some(hops.iter().map(|h| h.kind).collect())
    }

    #[test]
    fn each_class_finds_its_own() {
        let [one, apart, adjacent] =
            [Reads::One, Reads::Apart, Reads::Adjacent].map(Class::Catalogued);
        let (wr, ww, rw) = (Edges::WR, Edges::WW, Edges::RW);
        let skew = [(0, 1, rw), (1, 0, rw)];
        assert_eq!(find(&skew, one), None);
        assert_eq!(find(&skew, apart), None);
        assert_eq!(find(&skew, Class::Snapshot), None);
        assert_eq!(find(&skew, adjacent), Some(vec![rw, rw]));
        let single = [(0, 1, rw), (1, 0, wr)];
        assert_eq!(find(&single, one), Some(vec![rw, wr]));
        assert_eq!(find(&single, apart), None);
        assert_eq!(find(&single, adjacent), None);
        assert_eq!(find(&single, Class::Catalogued(Reads::None(ww | wr))), None);
        let fork = [(0, 1, rw), (1, 2, wr), (2, 3, rw), (3, 0, wr)];
        assert_eq!(find(&fork, one), None);
        assert_eq!(find(&fork, apart), Some(vec![rw, wr, rw, wr]));
        assert_eq!(find(&fork, adjacent), None);
        let walk = [(0, 1, wr), (1, 2, rw), (2, 3, wr), (3, 0, rw)];
        assert_eq!(find(&walk, Class::Snapshot), Some(vec![wr, rw, wr, rw]));
    }

    #[test]
    fn the_shortest_wins() {
        let (wr, rw) = (Edges::WR, Edges::RW);
        let edges = [(0, 1, rw), (1, 2, wr), (2, 0, wr), (0, 3, rw), (3, 0, wr)];
        assert_eq!(find(&edges, Class::Catalogued(Reads::One)), Some(vec![rw, wr]));
    }
}
