//! The shortest cycle of a kind.
//!
//! One breadth-first search serves every class of the catalogue: it walks over pairs of a node and
//! what it remembers of the anti-dependencies so far, and stops when it is back at the start.

use hashbrown::HashMap;
use isolde_spec::{Edges, Reads};

use crate::graph::Graph;

/// One edge of a cycle, with the kind that the search took it for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) kind: Edges,
}

/// Where a search may go.
pub(crate) struct Region<'g> {
    pub(crate) graph: &'g Graph,
    /// The component of every node; the search stays in that of its start.
    pub(crate) component: &'g [u32],
    /// The kinds of edge that count.
    pub(crate) kinds: Edges,
}

/// Everything that is not an anti-dependency.
pub(crate) const DEPENDENCIES: Edges = Edges(Edges::SO.0 | Edges::RT.0 | Edges::WR.0 | Edges::WW.0);

/// What a walk remembers.
const FRESH: u8 = 0;
const AFTER_READ: u8 = 1;

/// How a walk may go on over an edge of a kind, and what it remembers then.
fn step(class: Reads, memory: u8, first: bool, kind: Edges) -> Option<u8> {
    let anti = kind == Edges::RW;
    match class {
        Reads::None(allowed) => allowed.contains(kind).then_some(FRESH),
        Reads::One => match (anti, memory) {
            (false, _) => Some(memory),
            (true, FRESH) => Some(AFTER_READ),
            (true, _) => None,
        },
        // Beginning with a dependency, the last edge may be an anti-dependency.
        Reads::Apart => match (anti, memory) {
            (false, _) => Some(FRESH),
            (true, FRESH) if !first => Some(AFTER_READ),
            (true, _) => None,
        },
        Reads::Adjacent => Some(FRESH),
    }
}

/// Whether a walk that is back at its start is a cycle of the class.
fn closes(class: Reads, memory: u8) -> bool {
    match class {
        Reads::One => memory == AFTER_READ,
        _ => true,
    }
}

impl Region<'_> {
    /// The shortest cycle of a class through a node, if the search finds one before it has visited
    /// `budget` pairs.
    pub(crate) fn shortest_through(
        &self,
        start: u32,
        class: Reads,
        budget: usize,
    ) -> Option<Vec<Hop>> {
        let mut came: HashMap<(u32, u8), (u32, u8, Edges)> = HashMap::new();
        let mut queue = std::collections::VecDeque::from([(start, FRESH)]);
        let mut first = true;
        while let Some((node, memory)) = queue.pop_front() {
            for (to, kinds) in self.graph.edges(node) {
                if self.component[to as usize] != self.component[start as usize] {
                    continue;
                }
                for (kind, _) in (kinds & self.kinds).each() {
                    let Some(next) = step(class, memory, first, kind) else { continue };
                    if to == start {
                        if closes(class, next) {
                            return Some(path(&came, start, Hop { from: node, to, kind }, memory));
                        }
                        continue;
                    }
                    if came.len() < budget && !came.contains_key(&(to, next)) {
                        came.insert((to, next), (node, memory, kind));
                        queue.push_back((to, next));
                    }
                }
            }
            first = false;
        }
        None
    }
}

/// The way back from the last hop to the start.
fn path(
    came: &HashMap<(u32, u8), (u32, u8, Edges)>,
    start: u32,
    last: Hop,
    memory: u8,
) -> Vec<Hop> {
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
    use crate::graph::EdgeList;

    fn find(edges: &[(u32, u32, Edges)], class: Reads) -> Option<Vec<Edges>> {
        let mut list = EdgeList::default();
        edges.iter().for_each(|&(a, b, k)| list.push(a, b, k));
        let graph = Graph::new(5, &list);
        let component = [0; 5];
        let region = Region { graph: &graph, component: &component, kinds: Edges::ALL };
        let hops = region.shortest_through(0, class, 1000)?;
        Some(hops.iter().map(|h| h.kind).collect())
    }

    #[test]
    fn each_class_finds_its_own() {
        let (wr, ww, rw) = (Edges::WR, Edges::WW, Edges::RW);
        let skew = [(0, 1, rw), (1, 0, rw)];
        assert_eq!(find(&skew, Reads::One), None);
        assert_eq!(find(&skew, Reads::Apart), None);
        assert_eq!(find(&skew, Reads::Adjacent), Some(vec![rw, rw]));
        let single = [(0, 1, wr), (1, 0, rw)];
        assert_eq!(find(&single, Reads::One), Some(vec![wr, rw]));
        assert_eq!(find(&single, Reads::None(ww | wr)), None);
        let fork = [(0, 1, wr), (1, 2, rw), (2, 3, wr), (3, 0, rw)];
        assert_eq!(find(&fork, Reads::One), None);
        assert_eq!(find(&fork, Reads::Apart), Some(vec![wr, rw, wr, rw]));
    }

    #[test]
    fn the_shortest_wins() {
        let (wr, rw) = (Edges::WR, Edges::RW);
        let edges = [(0, 1, wr), (1, 2, wr), (2, 0, rw), (0, 3, wr), (3, 0, rw)];
        assert_eq!(find(&edges, Reads::One), Some(vec![wr, rw]));
    }
}
