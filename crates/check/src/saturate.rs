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

use hashbrown::{HashMap, HashSet};
use isolde_history::Key;
use isolde_spec::Edges;

use crate::graph::{EdgeList, Graph};
use crate::provenance::{Provenance, Source};
use crate::snapshot;

/// The largest graph whose reachability is computed: a bit for every pair of nodes, 32 MiB.
const MAX_NODES: usize = 16 * 1024;
/// How many pairs of a reader and a writer are looked at in one round, over all keys.
const MAX_PAIRS: usize = 1 << 24;
/// How often the edges are looked at again.
const MAX_ROUNDS: usize = 20;

/// What a transaction sees.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sees {
    /// Everything before it.
    Serial,
    /// What had committed when it began.
    Snapshot,
}

/// Adds forced edges for keys without an order.
pub(crate) fn saturate(
    sees: Sees,
    nodes: usize,
    edges: &mut EdgeList,
    p: &Provenance,
    keys: &[Key],
) {
    let size = if sees == Sees::Snapshot { 2 * nodes } else { nodes };
    if size > MAX_NODES || keys.is_empty() {
        return;
    }
    let open = OpenKey::all(p, keys);
    let mut known: HashSet<(u32, u32, Edges)> = HashSet::new();
    for _ in 0..MAX_ROUNDS {
        let Some(before) = Before::new(sees, nodes, edges) else { return };
        let count = edges.from.len();
        let mut pairs = 0usize;
        for key in &open {
            pairs = pairs.saturating_add(key.writers.len().saturating_mul(key.reads.len()));
            if pairs <= MAX_PAIRS {
                key.force(&before, &mut known, edges);
            }
        }
        if edges.from.len() == count {
            return;
        }
    }
}

/// An order of the versions of open keys that the edges allow, as edges: if the graph with them has
/// no forbidden cycle, it is an explanation.
pub(crate) fn choose(
    nodes: usize,
    edges: &EdgeList,
    p: &Provenance,
    keys: &[Key],
) -> Option<EdgeList> {
    let graph = Graph::new(nodes, edges);
    let layered = snapshot::layers(&graph, nodes, Some, |_, _| true);
    let times = topological_times(&layered)?;
    let time = |txn: u32| times[snapshot::commit(txn) as usize];
    let mut chosen = edges.clone();
    for mut open in OpenKey::all(p, keys) {
        open.writers.sort_unstable_by_key(|&w| time(w));
        for pair in open.writers.windows(2) {
            chosen.push(pair[0], pair[1], Edges::WW);
        }
        let after = open.writers.iter().copied().zip(open.writers.iter().copied().skip(1));
        let after: HashMap<u32, u32> = after.collect();
        for &(reader, source) in &open.reads {
            let next = match source {
                None => open.writers.first(),
                Some(writer) => after.get(&writer),
            };
            if let Some(&next) = next {
                chosen.push(reader, next, Edges::RW);
            }
        }
    }
    Some(chosen)
}

/// A time for every node, such that edges lead forward; where there is a choice, the order of the
/// history decides. `None` if there is a cycle.
fn topological_times(graph: &Graph) -> Option<Vec<u32>> {
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

/// A key whose versions are not known to be in one order.
struct OpenKey {
    writers: Vec<u32>,
    /// Each reader, with the writer of what it read; `None` for the initial state.
    reads: Vec<(u32, Option<u32>)>,
}

impl OpenKey {
    /// The writers and readers of all open keys.
    fn all(p: &Provenance, keys: &[Key]) -> Vec<OpenKey> {
        let mut number: HashMap<Key, usize> = HashMap::with_capacity(keys.len());
        number.extend(keys.iter().enumerate().map(|(i, key)| (*key, i)));
        let writers = |key: &Key| {
            let writes = p.by_key.of(key.index()).iter().map(|&w| &p.writes[w as usize]);
            writes.filter(|w| p.is_version(w)).map(|w| w.txn.0).collect()
        };
        let mut open: Vec<OpenKey> =
            keys.iter().map(|key| OpenKey { writers: writers(key), reads: Vec::new() }).collect();
        for (read, source) in p.reads.iter().zip(&p.sources) {
            let Some(&at) = number.get(&read.key) else { continue };
            let reads = &mut open[at].reads;
            match source {
                Source::Write(w) => reads.push((read.txn.0, Some(p.writes[*w as usize].txn.0))),
                Source::Initial => reads.push((read.txn.0, None)),
                Source::None => {}
            }
        }
        open
    }

    fn force(&self, order: &Before, known: &mut HashSet<(u32, u32, Edges)>, edges: &mut EdgeList) {
        let mut add = |from: u32, to: u32, kind: Edges| {
            if known.insert((from, to, kind)) {
                edges.push(from, to, kind);
            }
        };
        for &(reader, source) in &self.reads {
            for &other in self.writers.iter().filter(|w| **w != reader && Some(**w) != source) {
                match source {
                    Some(writer) => {
                        if order.seen(other, reader) {
                            add(other, writer, Edges::WW);
                        }
                        if order.before(writer, other) {
                            add(reader, other, Edges::RW);
                        }
                    }
                    // The initial state comes before every version.
                    None => add(reader, other, Edges::RW),
                }
            }
        }
    }
}

/// Who comes before whom, and who must have been seen by whom.
struct Before {
    sees: Sees,
    reach: Reach,
}

impl Before {
    /// `None` if there is a forbidden cycle already.
    fn new(sees: Sees, nodes: usize, edges: &EdgeList) -> Option<Before> {
        let graph = Graph::new(nodes, edges);
        let reach = match sees {
            Sees::Serial => Reach::new(&graph)?,
            Sees::Snapshot => Reach::new(&snapshot::layers(&graph, nodes, Some, |_, _| true))?,
        };
        Some(Before { sees, reach })
    }

    fn before(&self, a: u32, b: u32) -> bool {
        match self.sees {
            Sees::Serial => self.reach.leads(a, b),
            Sees::Snapshot => self.reach.leads(snapshot::commit(a), snapshot::commit(b)),
        }
    }

    fn seen(&self, a: u32, by: u32) -> bool {
        match self.sees {
            Sees::Serial => self.reach.leads(a, by),
            Sees::Snapshot => self.reach.leads(snapshot::commit(a), snapshot::start(by)),
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
        let components = graph.components(Edges::ALL);
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
