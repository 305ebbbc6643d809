//! Which node leads to which, for all pairs of nodes at once.

use std::error::Error;
use std::fmt;

use crate::graph::Graph;
use crate::kinds::Kinds;
use crate::node::Node;

/// Which node leads to which over one or more edges, for a graph without cycles: a bit for every pair.
///
/// # Examples
///
/// ```
/// use isolde_graph::{EdgeList, Graph, NoReach, Reach};
///
/// let mut edges: EdgeList<u32, u8> = EdgeList::new(3);
/// edges.push(0, 1, 1);
/// edges.push(1, 2, 1);
/// let reach = Reach::new(&Graph::new(3, &[&edges])?, &|| true)?;
/// assert!(reach.leads(0u32, 2u32));
/// assert!(!reach.leads(2u32, 0u32) && !reach.leads(0u32, 0u32));
///
/// edges.push(2, 0, 1);
/// let cyclic = Reach::new(&Graph::new(3, &[&edges])?, &|| true);
/// assert_eq!(cyclic.err(), Some(NoReach::Cyclic));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reach {
    /// How many words a row has.
    words: usize,
    /// A row for each node, a bit in it for each node that it leads to.
    bits: Vec<u64>,
}

/// Why reachability was not computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoReach {
    /// The graph has a cycle.
    Cyclic,
    /// The caller did not want to go on.
    Stopped,
}

impl fmt::Display for NoReach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoReach::Cyclic => "the graph has a cycle",
            NoReach::Stopped => "stopped before everything that nodes lead to was known",
        })
    }
}

impl Error for NoReach {}

/// After how many rows the caller is asked whether to go on.
const ROWS_AT_ONCE: usize = 1024;

impl Reach {
    /// How many bytes of memory the bits of so many nodes take. A caller that cannot spare them should not
    /// call [`Reach::new`].
    pub const fn bytes_for(nodes: usize) -> usize {
        nodes.saturating_mul(nodes.div_ceil(64)).saturating_mul(size_of::<u64>())
    }

    /// Computes what each node leads to. `go_on` is asked now and then whether to go on.
    ///
    /// # Errors
    ///
    /// If the graph has a cycle, or `go_on` said no.
    pub fn new<N: Node, K: Kinds>(
        graph: &Graph<N, K>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reach, NoReach> {
        let components = graph.components();
        if !components.acyclic() {
            return Err(NoReach::Cyclic);
        }
        if !go_on() {
            return Err(NoReach::Stopped);
        }
        let nodes = graph.node_count();
        let words = nodes.div_ceil(64);
        let mut reach = Reach { words, bits: vec![0; nodes * words] };
        // What a node leads to comes before the node.
        for (row, node) in components.topological::<N>().into_iter().rev().enumerate() {
            if row > 0 && row.is_multiple_of(ROWS_AT_ONCE) && !go_on() {
                return Err(NoReach::Stopped);
            }
            for (to, _) in graph.edges(node) {
                reach.add(node.index() as usize, to.index() as usize);
            }
        }
        Ok(reach)
    }

    /// A node leads to a target, whose row is complete, and to all that the target leads to.
    #[inline]
    fn add(&mut self, node: usize, to: usize) {
        if self.bit(node, to) {
            // Over another edge; then the whole row of `to` is here too.
            return;
        }
        let row = |node: usize| node * self.words..(node + 1) * self.words;
        if let Ok([mine, theirs]) = self.bits.get_disjoint_mut([row(node), row(to)]) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine |= *theirs);
            mine[to / 64] |= 1 << (to % 64);
        }
    }

    #[inline]
    fn bit(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 == 1
    }

    /// Whether a path leads from one node to another. In a graph without cycles none leads from a node
    /// to itself.
    #[inline]
    pub fn leads(&self, from: impl Node, to: impl Node) -> bool {
        self.bit(from.index() as usize, to.index() as usize)
    }

    /// How many bytes of memory the bits hold.
    pub fn bytes(&self) -> usize {
        self.bits.capacity() * size_of::<u64>()
    }
}
