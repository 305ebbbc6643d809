//! Two layers of a graph, in which walks cannot take what they must not take twice in a row.
//!
//! Some cycles count only if edges of one sort never follow each other. Instead of composing edges, of
//! which there would be many more, every node is taken twice. In the lower layer a walk may take an
//! edge that stays in it or one that rises to the upper layer; from the upper layer it must take an
//! edge that falls back to the lower one. A cycle of the layers is a cycle of the graph in which no
//! two edges that fall follow each other. Only the strongly connected components of a graph
//! that have cycles need the search.

use crate::components::Components;
use crate::edges::EdgeList;
use crate::graph::{Graph, TooLarge};
use crate::kinds::Kinds;
use crate::node::Node;

/// A node of one of the layers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Half(u32);

impl Half {
    /// The node in the lower layer.
    #[inline]
    pub fn lower(node: impl Node) -> Half {
        debug_assert!(node.index() < 1 << 31);
        Half(2 * node.index())
    }

    /// The node in the upper layer.
    #[inline]
    pub fn upper(node: impl Node) -> Half {
        debug_assert!(node.index() < 1 << 31);
        Half(2 * node.index() + 1)
    }

    /// Whether it is in the lower layer.
    #[inline]
    pub fn is_lower(self) -> bool {
        self.0.is_multiple_of(2)
    }

    /// The node itself.
    #[inline]
    pub fn node<N: Node>(self) -> N {
        N::from_index(self.0 / 2)
    }
}

impl Node for Half {
    #[inline]
    fn from_index(index: u32) -> Half {
        Half(index)
    }

    #[inline]
    fn index(self) -> u32 {
        self.0
    }
}

/// Where in the layers an edge is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Halves {
    /// From the lower layer to the lower one.
    pub stay: bool,
    /// From the lower layer to the upper one.
    pub rise: bool,
    /// From the upper layer to the lower one.
    pub fall: bool,
}

/// The kinds of all edges of the layers: what they were made of is known from the graph.
const EDGE: u8 = 1;

/// The two layers of a graph. `number` says which nodes are in them, and under which number (by which
/// [`Half::node`] then calls them); `together`, which pairs of nodes keep their edges; `rule`, where
/// edges of some kinds are.
///
/// # Examples
///
/// ```
/// use isolde_graph::{EdgeList, Graph, Half, Halves, two_layers};
///
/// const STEP: u8 = 1;
/// const JUMP: u8 = 2;
/// // Steps in any number, and after each a jump: no two jumps in a row.
/// let rule = |kinds: u8| Halves {
///     stay: kinds & STEP != 0,
///     rise: kinds & STEP != 0,
///     fall: kinds & JUMP != 0,
/// };
///
/// let layers = |second| {
///     let mut edges: EdgeList<u32, u8> = EdgeList::new(2);
///     edges.push(0, 1, JUMP);
///     edges.push(1, 0, second);
///     two_layers(&Graph::new(2, &[&edges])?, Some, |_, _| true, rule)
/// };
/// assert!(layers(JUMP)?.components().acyclic());
/// let cycle = [Half::upper(0), Half::lower(1)];
/// assert_eq!(layers(STEP)?.components().cyclic::<Half>(), [cycle]);
/// # Ok::<(), isolde_graph::TooLarge>(())
/// ```
///
/// # Errors
///
/// If the layers have more nodes or edges than a graph may have.
pub fn two_layers<N: Node, K: Kinds>(
    graph: &Graph<N, K>,
    number: impl Fn(N) -> Option<u32>,
    together: impl Fn(N, N) -> bool,
    rule: impl Fn(K) -> Halves,
) -> Result<Graph<Half, u8>, TooLarge> {
    let last = graph.nodes().filter_map(&number).max();
    let nodes = 2 * last.map_or(0, |number| number as usize + 1);
    TooLarge::check(nodes, 0)?;
    let mut layered = EdgeList::new(nodes);
    for node in graph.nodes() {
        let Some(from) = number(node) else { continue };
        for (to, kinds) in graph.edges(node).filter(|(to, _)| together(node, *to)) {
            let Some(to) = number(to) else { continue };
            let Halves { stay, rise, fall } = rule(kinds);
            if stay {
                layered.push(Half::lower(from), Half::lower(to), EDGE);
            }
            if rise {
                layered.push(Half::lower(from), Half::upper(to), EDGE);
            }
            if fall {
                layered.push(Half::upper(from), Half::lower(to), EDGE);
            }
        }
    }
    Graph::new(nodes, &[&layered])
}

/// The nodes on cycles of the two layers, grouped by strongly connected component of the layers,
/// each part with one of its nodes from which a walk that begins in the lower layer comes back.
/// `components` are those of the graph. A node may be in two parts, once for each of its halves.
///
/// # Errors
///
/// If the layers of the strongly connected components have more nodes or edges than a graph may have.
pub fn cyclic_in_layers<N: Node, K: Kinds>(
    graph: &Graph<N, K>,
    components: &Components,
    rule: impl Fn(K) -> Halves,
) -> Result<Vec<(N, Vec<N>)>, TooLarge> {
    let nodes: Vec<N> = components.cyclic().into_iter().flatten().collect();
    if nodes.is_empty() {
        return Ok(Vec::new());
    }
    let mut numbers = vec![None; graph.node_count()];
    for (number, node) in nodes.iter().enumerate() {
        numbers[node.index() as usize] = Some(number as u32);
    }
    let number = |node: N| numbers[node.index() as usize];
    let together = |a: N, b: N| components.of(a) == components.of(b);
    let layered = two_layers(graph, number, together, rule)?;
    let node = |half: Half| nodes[half.node::<u32>() as usize];
    let both_layers = |part: Vec<Half>| {
        let lower = part.iter().copied().find(|half| half.is_lower()).or(part.first().copied())?;
        let mut part: Vec<N> = part.into_iter().map(node).collect();
        // The two halves of a node are next to each other.
        part.dedup();
        Some((node(lower), part))
    };
    let parts: Vec<Vec<Half>> = layered.components().cyclic();
    Ok(parts.into_iter().filter_map(both_layers).collect())
}
