//! Edges that every explanation must have, though nobody saw them.
//!
//! Let a transaction read a version of a key that another one wrote too. If the reader must have seen
//! the other, that came before the writer of what was read; if the other came after that writer, it
//! overwrote what was read. Each new edge may force others, so this goes on until nothing changes.
//!
//! In a serial order, whoever comes before is seen. Under snapshot isolation only who had committed
//! before the snapshot was taken is, which the two layers of [`crate::snapshot`] tell apart.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use isolde_spec::Edges;

use crate::explain::cycle::DEPENDENCIES;
use crate::graph::edges::EdgeList;
use crate::graph::csr::Graph;
use crate::unordered::unordered_key::UnorderedKey;
use crate::unordered::inferences::{Edge, Inference, Moment, Inferences};
use crate::graph::layers;

/// The largest graph whose reachability is computed: a bit for every pair of nodes, 32 MiB.
const MAX_NODES: usize = 16 * 1024;
/// How many pairs of a reader and a writer are looked at, over all keys and rounds.
const MAX_PAIRS: usize = 1 << 26;
/// How often the edges are looked at again.
const MAX_ROUNDS: usize = 20;

/// What a transaction sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Visibility {
    /// Everything before it.
    Serial,
    /// What had committed when it began, and of two writers of a key one began after the other.
    Snapshot,
    /// What had committed when it began; writers of a key may be concurrent.
    Prefix,
}

impl Visibility {
    /// Whether a transaction may miss what commits before it does.
    pub(crate) const fn snapshots(self) -> bool {
        matches!(self, Visibility::Snapshot | Visibility::Prefix)
    }

    /// The dependencies by which one transaction must have seen another.
    pub(crate) const fn seen(self) -> Edges {
        match self {
            Visibility::Serial | Visibility::Snapshot => DEPENDENCIES,
            Visibility::Prefix => Edges(DEPENDENCIES.0 & !Edges::WW.0),
        }
    }
}

/// Adds forced edges for keys without an order to those that are known.
pub(crate) fn saturate(
    sees: Visibility,
    nodes: usize,
    known_edges: &[&EdgeList],
    edges: &mut EdgeList,
    open: &[UnorderedKey],
) -> Inferences {
    let mut reasons = Inferences::new(sees);
    let size = if sees.snapshots() { 2 * nodes } else { nodes };
    if size > MAX_NODES || open.is_empty() {
        return reasons;
    }
    let mut pairs = 0usize;
    for round in 0..MAX_ROUNDS as u32 {
        let lists: Vec<&EdgeList> = known_edges.iter().copied().chain([&*edges]).collect();
        let Some(before) = Precedence::new(sees, Graph::new(nodes, &lists)) else { return reasons };
        let count = edges.len();
        for key in open {
            let others = key.writers.len() + key.reads.len();
            pairs = pairs.saturating_add(key.writers.len().saturating_mul(others));
            if pairs <= MAX_PAIRS {
                key.force(&before, round, &mut reasons, edges);
            }
        }
        if edges.len() == count {
            break;
        }
    }
    reasons
}

/// An order of the versions of open keys that the graph allows, as edges: if the graph with them has
/// no forbidden cycle, it is an explanation. `None` if the graph has a forbidden cycle already.
pub(crate) fn choose(
    sees: Visibility,
    graph: &Graph,
    open: &[UnorderedKey],
    mut chosen: EdgeList,
) -> Option<EdgeList> {
    let layered = layers::layers(graph, sees, Some, |_, _| true);
    let times = topological_times(&layered)?;
    for key in open {
        let mut order: Vec<u32> = (0..key.writers.len() as u32).collect();
        let writer = |at: u32| key.writers[at as usize];
        order.sort_unstable_by_key(|&at| times[layers::commit(writer(at)) as usize]);
        for pair in order.windows(2) {
            chosen.push(writer(pair[0]), writer(pair[1]), Edges::WW);
        }
        // What follows each version; the initial state is version 0.
        let mut next = vec![None; key.writers.len() + 1];
        let before = std::iter::once(0).chain(order.iter().map(|at| at + 1));
        before.zip(&order).for_each(|(version, at)| next[version as usize] = Some(writer(*at)));
        for &(reader, version) in &key.reads {
            if let Some(next) = next[version as usize] {
                chosen.push(reader, next, Edges::RW);
            }
        }
    }
    Some(chosen)
}

/// Whether edges have no cycle that snapshots forbid.
pub(crate) fn explains(sees: Visibility, nodes: usize, edges: &[&EdgeList]) -> bool {
    let graph = Graph::new(nodes, edges);
    let components = graph.components();
    layers::cyclic(&graph, &components, sees).is_empty()
}

/// A time for every node, such that edges lead forward; where there is a choice, the order of the
/// history decides. `None` if there is a cycle.
pub(crate) fn topological_times(graph: &Graph) -> Option<Vec<u32>> {
    let nodes = graph.node_count();
    let mut waiting = vec![0u32; nodes];
    for node in 0..nodes as u32 {
        graph.edges(node).for_each(|(to, _)| waiting[to as usize] += 1);
    }
    let free = (0..nodes as u32).filter(|&n| waiting[n as usize] == 0).map(Reverse);
    let mut ready: BinaryHeap<Reverse<u32>> = free.collect();
    let mut times = vec![0; nodes];
    let mut now = 0;
    while let Some(Reverse(node)) = ready.pop() {
        times[node as usize] = now;
        now += 1;
        for (to, _) in graph.edges(node) {
            waiting[to as usize] -= 1;
            if waiting[to as usize] == 0 {
                ready.push(Reverse(to));
            }
        }
    }
    (now as usize == nodes).then_some(times)
}

impl UnorderedKey {
    fn force(&self, order: &Precedence, round: u32, reasons: &mut Inferences, edges: &mut EdgeList) {
        let mut add = |edge: Edge, path, also| {
            let (from, to, kind) = edge;
            if reasons.of.contains_key(&edge) || reasons.known.contains(&edge) {
                return;
            }
            if order.graph.leads(from, to, kind) {
                reasons.known.insert(edge);
            } else {
                reasons.of.insert(edge, Inference { round, path, also });
                edges.push(from, to, kind);
            }
        };
        let commits = Moment::Commit;
        let sees = if order.sees.snapshots() { Moment::Start } else { Moment::Commit };
        for &(reader, version) in &self.reads {
            // Whoever read the initial state is known to come before all who wrote.
            let Some(writer) = self.writer(version) else { continue };
            for &other in self.writers.iter().filter(|w| **w != reader && **w != writer) {
                if order.seen(other, reader) {
                    let path = [(other, commits), (reader, sees)];
                    add((other, writer, Edges::WW), path, Some(reader));
                }
                if order.before(writer, other) {
                    let path = [(writer, commits), (other, commits)];
                    add((reader, other, Edges::RW), path, Some(writer));
                }
            }
        }
        // Of two writers, one had committed when the other took its snapshot.
        let writers = || self.writers.iter().filter(|_| order.sees == Visibility::Snapshot);
        for &first in writers() {
            for &second in writers().filter(|w| **w != first) {
                if order.before(first, second) {
                    let path = [(first, commits), (second, commits)];
                    add((first, second, Edges::WW), path, None);
                } else if order.began_before(first, second) {
                    let path = [(first, sees), (second, commits)];
                    add((first, second, Edges::WW), path, None);
                }
            }
        }
    }
}

/// Who comes before whom, and who must have been seen by whom.
struct Precedence {
    sees: Visibility,
    graph: Graph,
    reach: Reach,
}

impl Precedence {
    /// `None` if there is a forbidden cycle already.
    fn new(sees: Visibility, graph: Graph) -> Option<Precedence> {
        let reach = match sees {
            Visibility::Serial => Reach::new(&graph)?,
            Visibility::Snapshot | Visibility::Prefix => {
                Reach::new(&layers::layers(&graph, sees, Some, |_, _| true))?
            }
        };
        Some(Precedence { sees, graph, reach })
    }

    fn before(&self, a: u32, b: u32) -> bool {
        match self.sees {
            Visibility::Serial => self.reach.leads(a, b),
            Visibility::Snapshot | Visibility::Prefix => {
                self.reach.leads(layers::commit(a), layers::commit(b))
            }
        }
    }

    /// Whether one took its snapshot before the other committed.
    fn began_before(&self, a: u32, b: u32) -> bool {
        self.reach.leads(layers::start(a), layers::commit(b))
    }

    fn seen(&self, a: u32, by: u32) -> bool {
        match self.sees {
            Visibility::Serial => self.reach.leads(a, by),
            Visibility::Snapshot | Visibility::Prefix => {
                self.reach.leads(layers::commit(a), layers::start(by))
            }
        }
    }
}

/// Which node leads to which, for graphs without cycles.
struct Reach {
    words: usize,
    bits: Vec<u64>,
}

impl Reach {
    /// `None` if the graph has a cycle: then everything is decided anyway.
    fn new(graph: &Graph) -> Option<Reach> {
        let nodes = graph.node_count();
        let components = graph.components();
        if !components.acyclic() {
            return None;
        }
        // Components are numbered against the edges, so what a node leads to comes before it.
        let mut order = vec![0u32; nodes];
        for (node, component) in components.of.iter().enumerate() {
            order[*component as usize] = node as u32;
        }
        let words = nodes.div_ceil(64);
        let mut reach = Reach { words, bits: vec![0; nodes * words] };
        for &node in &order {
            for (to, _) in graph.edges(node) {
                reach.add(node, to);
            }
        }
        Some(reach)
    }

    fn add(&mut self, node: u32, to: u32) {
        let (node, to) = (node as usize, to as usize);
        for word in 0..self.words {
            let theirs = self.bits[to * self.words + word];
            self.bits[node * self.words + word] |= theirs;
        }
        self.bits[node * self.words + to / 64] |= 1 << (to % 64);
    }

    fn leads(&self, from: u32, to: u32) -> bool {
        let (from, to) = (from as usize, to as usize);
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 == 1
    }
}
