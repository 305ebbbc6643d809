//! Strongly connected components: which nodes reach each other.

use hashbrown::HashMap;

use crate::counting_sort;
use crate::node::Node;

/// Which nodes of a graph reach each other.
///
/// # Examples
///
/// ```
/// use isolde_graph::{EdgeList, Graph};
///
/// let mut edges: EdgeList<u32, u8> = EdgeList::new(4);
/// for (from, to) in [(3, 1), (1, 3), (0, 3), (1, 2)] {
///     edges.push(from, to, 1);
/// }
/// let components = Graph::new(4, &[&edges])?.components();
/// assert_eq!(components.count(), 3);
/// assert_eq!(components.of(1u32), components.of(3u32));
/// // Numbered against the direction of the edges.
/// assert!(components.of(0u32) > components.of(1u32));
/// assert_eq!(components.cyclic::<u32>(), [[1, 3]]);
/// # Ok::<(), isolde_graph::TooLarge>(())
/// ```
#[derive(Clone, Debug)]
pub struct Components {
    /// The component of every node.
    of: Vec<u32>,
    count: usize,
}

impl Components {
    /// The component of a node. Components have the numbers from 0 on, against the direction of the
    /// edges: an edge leads to a smaller number, or stays in its component.
    #[inline]
    pub fn of<N: Node>(&self, node: N) -> u32 {
        self.of[node.index() as usize]
    }

    /// How many components there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether every node is alone: the graph has no cycle.
    #[inline]
    pub fn acyclic(&self) -> bool {
        self.count == self.of.len()
    }

    /// How many bytes of memory the components hold.
    pub fn bytes(&self) -> usize {
        self.of.capacity() * size_of::<u32>()
    }

    /// The nodes that are not alone, by component: each component in the order of indices, and
    /// components in the order of their first nodes.
    pub fn cyclic<N: Node>(&self) -> Vec<Vec<N>> {
        if self.acyclic() {
            return Vec::new();
        }
        let mut sizes = vec![0u32; self.count];
        self.of.iter().for_each(|c| sizes[*c as usize] += 1);
        let mut places: HashMap<u32, usize> = HashMap::new();
        let mut cyclic: Vec<Vec<N>> = Vec::new();
        for (node, &c) in self.of.iter().enumerate().filter(|(_, c)| sizes[**c as usize] > 1) {
            let place = *places.entry(c).or_insert_with(|| {
                cyclic.push(Vec::with_capacity(sizes[c as usize] as usize));
                cyclic.len() - 1
            });
            cyclic[place].push(N::from_index(node as u32));
        }
        cyclic
    }

    /// The nodes of a graph without cycles, each before those that it leads to. To be asked only of
    /// [`Components::acyclic`] ones.
    pub fn topological<N: Node>(&self) -> Vec<N> {
        debug_assert!(self.acyclic());
        let mut order = vec![N::from_index(0); self.of.len()];
        for (node, component) in self.of.iter().enumerate() {
            order[self.of.len() - 1 - *component as usize] = N::from_index(node as u32);
        }
        order
    }
}

/// The components of a graph that is given by the ends of its rows and by where its edges lead.
pub(crate) fn search(ends: &[u32], targets: &[u32]) -> Components {
    Search::new(EdgeRows { ends, targets }).run()
}

#[derive(Clone, Copy)]
struct EdgeRows<'g> {
    ends: &'g [u32],
    targets: &'g [u32],
}

/// Tarjan's algorithm in Pearce's form, which keeps one number a node: 0 before it is reached, then
/// the earliest node on the path that it leads back to, and at last its component, counted down
/// from the top so that it is larger than every number of a node that is still open.
struct Search<'g> {
    graph: EdgeRows<'g>,
    of: Vec<u32>,
    /// Nodes that lead back to an earlier one, and wait for it.
    open: Vec<u32>,
    /// The nodes that the walk is in, whether each leads back, and its next edge.
    path: Vec<(u32, u32)>,
    next: u32,
    component: u32,
}

/// In a node on the path: it leads back to an earlier one. Nodes are fewer than 2^30.
const LEADS_BACK: u32 = 1 << 31;

impl<'g> Search<'g> {
    fn new(graph: EdgeRows<'g>) -> Search<'g> {
        let (open, path) = (Vec::new(), Vec::new());
        let of = vec![0; graph.ends.len()];
        Search { graph, of, open, path, next: 1, component: u32::MAX }
    }

    fn run(mut self) -> Components {
        for root in 0..self.graph.ends.len() as u32 {
            if self.of[root as usize] == 0 {
                self.enter(root);
                self.walk();
            }
        }
        debug_assert!(self.open.is_empty() && self.next == 1);
        self.of.iter_mut().for_each(|of| *of = u32::MAX - *of);
        Components { count: (u32::MAX - self.component) as usize, of: self.of }
    }

    #[inline]
    fn enter(&mut self, node: u32) {
        self.of[node as usize] = self.next;
        self.next += 1;
        self.path.push((node, 0));
    }

    fn walk(&mut self) {
        let EdgeRows { ends, targets } = self.graph;
        while let Some(top) = self.path.last_mut() {
            let (node, edge) = (top.0 & !LEADS_BACK, top.1);
            let range = counting_sort::range(ends, node as usize);
            if let Some(&target) = targets[range].get(edge as usize) {
                let theirs = self.of[target as usize];
                if theirs == 0 {
                    // The edge is looked at again when the walk is back.
                    self.enter(target);
                    continue;
                }
                top.1 += 1;
                if theirs < self.of[node as usize] {
                    self.of[node as usize] = theirs;
                    top.0 |= LEADS_BACK;
                }
                continue;
            }
            let leads_back = top.0 & LEADS_BACK != 0;
            self.path.pop();
            if leads_back {
                self.open.push(node);
            } else {
                self.close(node);
            }
        }
    }

    /// The node leads back to nothing before it: it and what waits for it are a component.
    fn close(&mut self, root: u32) {
        self.next -= 1;
        let order = self.of[root as usize];
        while let Some(&node) = self.open.last() {
            if self.of[node as usize] < order {
                break;
            }
            self.open.pop();
            self.of[node as usize] = self.component;
            self.next -= 1;
        }
        self.of[root as usize] = self.component;
        self.component -= 1;
    }
}
