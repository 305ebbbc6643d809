//! Edges that every explanation must have, though no operation shows them.
//!
//! Let a transaction r read the version of a key that w wrote, and let o be another writer of the key.
//! 1. If r must have seen o, then o came before w: otherwise o's version, or a later one, is what r
//!    would have read. This forces the edge o -ww-> w.
//! 2. If w came before o, then o overwrote what r read. This forces r -rw-> o.
//! 3. Under snapshot isolation one of two writers of a key had committed when the other took its
//!    snapshot (first committer wins). So if one came before the other, or took its snapshot before the
//!    other committed, then it also committed before the other's snapshot: a -ww-> b.
//!
//! Each new edge may force others, so this goes on until nothing changes. In a serial order, whatever
//! comes before is seen. Under snapshot isolation only what had committed before the snapshot was taken
//! is, which the two layers of [`crate::graph::visibility`] tell apart.
//!
//! *Why the nearest edges are enough.* Of the writers o that rule 1 puts before w, let o' come before
//! o in the graph. Then o' -> ... -> o -ww-> w is a path already, so the edge o' -ww-> w adds nothing to
//! what leads to what. The same holds for the later ones of rule 2, since r -rw-> o -> ... -> o' falls
//! from r's snapshot to the commit of o and goes on from there, and for rule 3. Where a key has many
//! writers, all pairs would be a table as large as their square: only the nearest are kept there.

use isolde_graph::{Graph, Half, NoReach, Reach};
use isolde_spec::Edges;

use crate::graph::edges::{TxnEdges, TxnGraph};
use crate::graph::evidence::NoGraph;
use crate::graph::node::Node;
use crate::graph::visibility::Visibility;
use crate::limits::{Ended, Limit, Limits, Pace};
use crate::unordered::inferences::{Edge, Inference, Inferences, Moment};
use crate::unordered::unordered_key::UnorderedKey;

/// How many pairs of all keys have an edge each, where it is forced; where there are more, only the
/// nearest have.
const ALL_PAIRS: usize = 1 << 19;
/// How often the edges are looked at again.
const MAX_ROUNDS: usize = 20;
/// How many bits of reachability are tested, and how many of its words are joined, in a step.
const BITS_A_STEP: usize = 4;
const WORDS_A_STEP: usize = 16;
/// How many bytes an inferred edge takes, with its reason.
const INFERENCE_BYTES: usize = 80;

/// Adds forced edges for keys without an order to those that are known. What was forced before a limit
/// was reached is forced all the same.
pub(crate) fn saturate(
    visibility: Visibility,
    nodes: usize,
    known_edges: &[&TxnEdges],
    edges: &mut TxnEdges,
    open: &[UnorderedKey],
    (limits, memory): (&Limits<'_>, usize),
) -> (Inferences, Option<Ended>) {
    let mut forcing = ForcingWork {
        visibility,
        limits,
        memory,
        steps: limits.steps(),
        nearest: open.iter().map(UnorderedKey::pairs).sum::<usize>() > ALL_PAIRS,
        inferences: Inferences::new(visibility),
        round: 0,
    };
    if open.is_empty() {
        return (forcing.inferences, None);
    }
    for round in 0..MAX_ROUNDS as u32 {
        forcing.round = round;
        let count = edges.len();
        let lists: Vec<&TxnEdges> = known_edges.iter().copied().chain([&*edges]).collect();
        let order = match forcing.precedence(nodes, &lists) {
            Ok(Some(order)) => order,
            // There is a forbidden cycle already: everything is decided.
            Ok(None) => break,
            Err(limit) => {
                let doing = format!(
                    "looking for the edges that the reads of {} keys force among {nodes} nodes \
                     (round {})",
                    open.len(),
                    round + 1
                );
                return (forcing.inferences, Some(Ended { limit, doing }));
            }
        };
        for (at, key) in open.iter().enumerate() {
            if let Err(limit) = forcing.key(key, &order, edges) {
                let doing = format!(
                    "looking for the edges that the reads of {} keys force ({at} of them in round {})",
                    open.len(),
                    round + 1
                );
                return (forcing.inferences, Some(Ended { limit, doing }));
            }
        }
        if edges.len() == count {
            break;
        }
    }
    (forcing.inferences, None)
}

/// The work of forcing edges, and what is left of its steps.
struct ForcingWork<'c, 'l> {
    visibility: Visibility,
    limits: &'c Limits<'l>,
    /// How many bytes the table of what leads to what may take.
    memory: usize,
    steps: u64,
    /// Whether only the nearest edges are kept.
    nearest: bool,
    inferences: Inferences,
    round: u32,
}

impl ForcingWork<'_, '_> {
    fn spend(&mut self, steps: usize) -> Result<(), Limit> {
        self.steps = self.steps.checked_sub(steps as u64).ok_or(Limit::Steps)?;
        Ok(())
    }

    /// What comes before what in a graph of some edges; `None` if it has a forbidden cycle.
    fn precedence(
        &mut self,
        nodes: usize,
        lists: &[&TxnEdges],
    ) -> Result<Option<Precedence>, Limit> {
        let layers = if self.visibility.snapshots() { 2 } else { 1 };
        let edges: usize = lists.iter().map(|list| list.len()).sum();
        let words = (layers * nodes).div_ceil(64);
        self.spend((layers * edges).saturating_mul(words) / WORDS_A_STEP)?;
        let bytes = Reach::bytes_for(layers * nodes);
        if bytes > self.memory {
            return Err(Limit::SearchMemory);
        }
        let _held = self.limits.hold(bytes)?;
        match Precedence::new(self.visibility, nodes, lists, self.limits) {
            Ok(order) => Ok(order),
            Err(NoGraph::Limit(limit)) => Err(limit),
            // A graph that cannot be numbered is a matter of memory, too.
            Err(NoGraph::TooLarge) => Err(Limit::Memory),
        }
    }

    fn key(
        &mut self,
        key: &UnorderedKey,
        order: &Precedence,
        edges: &mut TxnEdges,
    ) -> Result<(), Limit> {
        self.limits.go_on()?;
        self.spend(key.pairs() / BITS_A_STEP)?;
        self.limits.hold(self.inferences.of.len() * INFERENCE_BYTES)?;
        let ForcingWork { limits, inferences, round, .. } = self;
        let mut add = Adding { order, round: *round, inferences, edges };
        if self.nearest {
            add.nearest(key, &mut Pace::new(limits))
        } else {
            add.all(key);
            Ok(())
        }
    }
}

/// Adds the edges of one key after another.
struct Adding<'a> {
    order: &'a Precedence,
    round: u32,
    inferences: &'a mut Inferences,
    edges: &'a mut TxnEdges,
}

impl Adding<'_> {
    fn add(&mut self, edge: Edge, path: [(Node, Moment); 2], also: Option<Node>) {
        let (from, to, kind) = edge;
        if self.inferences.of.contains_key(&edge) || self.inferences.known.contains(&edge) {
            return;
        }
        if self.order.graph.leads(from, to, kind.into()) {
            self.inferences.known.insert(edge);
        } else {
            self.inferences.of.insert(edge, Inference { round: self.round, path, also });
            self.edges.push(from, to, kind.into());
        }
    }

    /// Rule 1: the reader must have seen another writer.
    fn seen(&mut self, other: Node, reader: Node, writer: Node) {
        let path = [(other, Moment::Commit), (reader, self.order.seeing())];
        self.add((other, writer, Edges::WW), path, Some(reader));
    }

    /// Rule 2: another writer comes after the one of what was read.
    fn overwritten(&mut self, writer: Node, other: Node, reader: Node) {
        let path = [(writer, Moment::Commit), (other, Moment::Commit)];
        self.add((reader, other, Edges::RW), path, Some(writer));
    }

    /// Rule 3: one of two writers of a key is known to come first.
    fn first_committer(&mut self, first: Node, second: Node) {
        let began = if self.order.before(first, second) { Moment::Commit } else { Moment::Start };
        let path = [(first, began), (second, Moment::Commit)];
        self.add((first, second, Edges::WW), path, None);
    }

    /// Every edge that is forced.
    fn all(&mut self, key: &UnorderedKey) {
        for &(reader, version) in &key.reads {
            // A reader of the initial state is known to come before all writers.
            let Some(writer) = key.writer(version) else { continue };
            for &other in key.writers.iter().filter(|w| **w != reader && **w != writer) {
                if self.order.seen(other, reader) {
                    self.seen(other, reader, writer);
                }
                if self.order.before(writer, other) {
                    self.overwritten(writer, other, reader);
                }
            }
        }
        if self.order.visibility == Visibility::Snapshot {
            for &first in &key.writers {
                for &second in key.writers.iter().filter(|w| **w != first) {
                    if self.order.comes_first(first, second) {
                        self.first_committer(first, second);
                    }
                }
            }
        }
    }

    /// Those that are forced and do not follow from others (see the top of this file).
    fn nearest(&mut self, key: &UnorderedKey, pace: &mut Pace<'_, '_>) -> Result<(), Limit> {
        let mut writers = key.writers.clone();
        writers.sort_by_key(|writer| self.order.times[writer.at()]);
        // The latest writers before each read come first, so that those before them are left out.
        let mut latest: Vec<Vec<Node>> = vec![Vec::new(); key.reads.len()];
        for &other in writers.iter().rev() {
            for (&(reader, version), latest) in key.reads.iter().zip(&mut latest) {
                pace.step()?;
                let Some(writer) = key.writer(version).filter(|w| *w != other) else { continue };
                let is_new = |later: &Node| !self.order.before(other, *later);
                let seen = other != reader && self.order.seen(other, reader);
                if seen && !self.order.before(other, writer) && latest.iter().all(is_new) {
                    latest.push(other);
                    self.seen(other, reader, writer);
                }
            }
        }
        // The first writers after each version, whichever transaction reads it.
        let mut by_version: Vec<(Node, Node)> =
            key.reads.iter().filter_map(|(r, v)| Some((key.writer(*v)?, *r))).collect();
        by_version.sort_unstable();
        for readers in by_version.chunk_by(|a, b| a.0 == b.0) {
            let writer = readers[0].0;
            let after = |order: &Precedence, other: Node| order.before(writer, other);
            let next = self.first_after(&writers, writer, after, pace)?;
            for &(_, reader) in readers {
                for &other in next.iter().filter(|other| **other != reader) {
                    self.overwritten(writer, other, reader);
                }
            }
        }
        if self.order.visibility == Visibility::Snapshot {
            for &first in &writers {
                let after = |order: &Precedence, other: Node| order.comes_first(first, other);
                for second in self.first_after(&writers, first, after, pace)? {
                    self.first_committer(first, second);
                }
            }
        }
        Ok(())
    }

    /// Of the writers that come after one in some sense, those that come after no other of them.
    fn first_after(
        &self,
        writers: &[Node],
        one: Node,
        after: impl Fn(&Precedence, Node) -> bool,
        pace: &mut Pace<'_, '_>,
    ) -> Result<Vec<Node>, Limit> {
        let mut first: Vec<Node> = Vec::new();
        for &other in writers.iter().filter(|w| **w != one) {
            pace.step()?;
            let is_new = |earlier: &Node| !self.order.before(*earlier, other);
            if after(self.order, other) && first.iter().all(is_new) {
                first.push(other);
            }
        }
        Ok(first)
    }
}

/// What comes before what, and what must have been seen by what.
struct Precedence {
    visibility: Visibility,
    graph: TxnGraph,
    reach: Reach,
    /// A time for each node, such that what comes before has an earlier one.
    times: Vec<u32>,
}

impl Precedence {
    /// `None` if there is a forbidden cycle already.
    fn new(
        visibility: Visibility,
        nodes: usize,
        lists: &[&TxnEdges],
        limits: &Limits<'_>,
    ) -> Result<Option<Precedence>, NoGraph> {
        let graph: TxnGraph = Graph::new(nodes, lists)?;
        let go_on = || limits.go_on().is_ok();
        let (reach, times) = if visibility.snapshots() {
            let layers = visibility.layers(&graph)?;
            let times = layers.topological_times().map(|times| {
                graph
                    .nodes()
                    .map(|n| times[isolde_graph::Node::index(Half::lower(n)) as usize])
                    .collect()
            });
            (Reach::new(&layers, &go_on), times)
        } else {
            (Reach::new(&graph, &go_on), graph.topological_times())
        };
        match (reach, times) {
            (Ok(reach), Some(times)) => Ok(Some(Precedence { visibility, graph, reach, times })),
            (Err(NoReach::Stopped), _) => {
                Err(limits.go_on().err().unwrap_or(Limit::Stopped).into())
            }
            _ => Ok(None),
        }
    }

    /// The moment at which a transaction sees what was there.
    fn seeing(&self) -> Moment {
        if self.visibility.snapshots() { Moment::Start } else { Moment::Commit }
    }

    #[inline]
    fn before(&self, a: Node, b: Node) -> bool {
        match self.visibility {
            Visibility::Serial => self.reach.leads(a, b),
            Visibility::Snapshot | Visibility::Prefix => {
                self.reach.leads(Half::lower(a), Half::lower(b))
            }
        }
    }

    /// Whether one writer came before another, or took its snapshot before the other committed.
    fn comes_first(&self, a: Node, b: Node) -> bool {
        self.before(a, b) || self.reach.leads(Half::upper(a), Half::lower(b))
    }

    #[inline]
    fn seen(&self, a: Node, by: Node) -> bool {
        match self.visibility {
            Visibility::Serial => self.reach.leads(a, by),
            Visibility::Snapshot | Visibility::Prefix => {
                self.reach.leads(Half::lower(a), Half::upper(by))
            }
        }
    }
}
