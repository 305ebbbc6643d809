//! Shortest paths and cycles, by a breadth-first search over whatever the caller walks on.
//!
//! A search goes over states, which may be nodes or nodes with a memory of the way that led there.
//! States are visited in the order in which they are first reached, and each is entered once, so the
//! way by which a state was first reached is a shortest one. Only the start may be reached again: that
//! closes a cycle, and nothing goes on from there.

use std::collections::VecDeque;
use std::hash::Hash;
use std::ops::ControlFlow;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// What a breadth-first search has reached from a start, and by which steps, each with a label.
///
/// # Examples
///
/// A shortest path:
///
/// ```
/// use std::ops::ControlFlow;
///
/// use isolde_graph::{Bfs, EdgeList, Graph};
///
/// let mut edges: EdgeList<u32, u8> = EdgeList::new(4);
/// for (from, to, kinds) in [(0, 1, 1), (1, 2, 1), (2, 3, 1), (1, 3, 2)] {
///     edges.push(from, to, kinds);
/// }
/// let graph = Graph::new(4, &[&edges])?;
/// let search = Bfs::search(0, usize::MAX, |node, steps| {
///     for (to, kinds) in graph.edges(node) {
///         steps.push(to, kinds);
///         if to == 3 {
///             return ControlFlow::Break(());
///         }
///     }
///     ControlFlow::Continue(())
/// });
/// assert_eq!(search.path(3), [(0, 1, 1), (1, 3, 2)]);
/// # Ok::<(), isolde_graph::TooLarge>(())
/// ```
///
/// A shortest cycle of at most three steps, with a budget of edges that may be looked at:
///
/// ```
/// use std::ops::ControlFlow;
///
/// use isolde_graph::{Bfs, EdgeList, Graph};
///
/// let mut edges: EdgeList<u32, u8> = EdgeList::new(4);
/// for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 0), (2, 0)] {
///     edges.push(from, to, 1);
/// }
/// let graph = Graph::new(4, &[&edges])?;
/// let (start, mut budget) = (0, 1000);
/// let search = Bfs::search(start, 3, |node, steps| {
///     for (to, kinds) in graph.edges(node) {
///         if budget == 0 {
///             return ControlFlow::Break(());
///         }
///         budget -= 1;
///         if steps.push(to, kinds) && to == start {
///             return ControlFlow::Break(());
///         }
///     }
///     ControlFlow::Continue(())
/// });
/// assert_eq!(search.path(start), [(0, 1, 1), (1, 2, 1), (2, 0, 1)]);
/// # Ok::<(), isolde_graph::TooLarge>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bfs<S, L> {
    start: S,
    /// From where each state was first reached, and by which step.
    came: HashMap<S, (S, L)>,
}

/// The steps from one state, as the caller of [`Bfs::search`] finds them.
#[derive(Debug)]
pub struct Steps<'b, S, L> {
    bfs: &'b mut Bfs<S, L>,
    queue: &'b mut VecDeque<S>,
    from: S,
    len: usize,
}

impl<S: Copy + Eq + Hash, L: Copy> Bfs<S, L> {
    /// Searches from a state. `expand` is called with one state after another, the nearest first, and
    /// pushes where a step leads from there, in the order in which states are to be visited. The search
    /// ends when `expand` breaks, when nothing new can be reached, or when the next state is so many
    /// steps away as paths may be long.
    pub fn search(
        start: S,
        longest: usize,
        mut expand: impl FnMut(S, &mut Steps<'_, S, L>) -> ControlFlow<()>,
    ) -> Bfs<S, L> {
        let mut bfs = Bfs { start, came: HashMap::new() };
        let mut queue = VecDeque::from([start]);
        let mut len = 0;
        // How many states of the queue are `len` steps away; the others are one step further.
        let mut same_len = 1;
        while len < longest
            && let Some(from) = queue.pop_front()
        {
            let mut steps = Steps { bfs: &mut bfs, queue: &mut queue, from, len };
            if expand(from, &mut steps).is_break() {
                break;
            }
            same_len -= 1;
            if same_len == 0 {
                same_len = queue.len();
                len += 1;
            }
        }
        bfs
    }

    /// Whether a state was reached; the start only if a cycle leads back to it.
    #[inline]
    pub fn reached(&self, state: S) -> bool {
        self.came.contains_key(&state)
    }

    /// The steps from the start to a state, each with its label: a shortest path, or from the start to
    /// itself a shortest cycle. Empty if the state was not reached.
    pub fn path(&self, to: S) -> Vec<(S, S, L)> {
        let mut path = Vec::new();
        let mut at = to;
        while let Some(&(before, label)) = self.came.get(&at) {
            path.push((before, at, label));
            at = before;
            if at == self.start {
                break;
            }
        }
        path.reverse();
        path
    }
}

impl<S: Copy + Eq + Hash, L: Copy> Steps<'_, S, L> {
    /// A step leads to a state. Returns whether the state was not reached before; only then the step
    /// is kept, and the state will be visited, unless it is the start.
    #[inline]
    pub fn push(&mut self, to: S, label: L) -> bool {
        let Entry::Vacant(entry) = self.bfs.came.entry(to) else { return false };
        entry.insert((self.from, label));
        if to != self.bfs.start {
            self.queue.push_back(to);
        }
        true
    }

    /// The state that the steps lead from.
    #[inline]
    pub fn from(&self) -> S {
        self.from
    }

    /// How many steps lead from the start to the state that these steps lead from.
    #[inline]
    pub fn distance(&self) -> usize {
        self.len
    }
}
