//! Large directed graphs over dense nodes, each edge with a set of kinds.
//!
//! The crate knows nothing of what nodes and kinds mean: both are types of the caller ([`Node`],
//! [`Kinds`]). Edges are collected in [`EdgeList`]s, on several threads if there are many, and sorted
//! once into a [`Graph`], which never changes. From there: strongly connected components
//! ([`Components`]), walks that must not take two edges of a sort in a row ([`two_layers`]), which node
//! leads to which ([`Reach`]), and shortest paths and cycles ([`Bfs`]). Besides, there are the two tools
//! that all of this is made of: a counting sort ([`Groups`], [`Rows`]) and work on all cores
//! ([`parallel`]).
//!
//! Nothing here recurses over data, and no result depends on how many cores there are.
//!
//! # Examples
//!
//! ```
//! use isolde_graph::{EdgeList, Graph, Kinds, Node};
//!
//! #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
//! struct Town(u32);
//!
//! impl Node for Town {
//!     fn from_index(index: u32) -> Town {
//!         Town(index)
//!     }
//!     fn index(self) -> u32 {
//!         self.0
//!     }
//! }
//!
//! #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
//! struct Ways(u8);
//!
//! impl Kinds for Ways {
//!     const NONE: Ways = Ways(0);
//!     fn bits(self) -> u8 {
//!         self.0
//!     }
//!     fn from_bits(bits: u8) -> Ways {
//!         Ways(bits)
//!     }
//! }
//!
//! const ROAD: Ways = Ways(1);
//! const RAIL: Ways = Ways(2);
//! const BOTH: Ways = Ways(3);
//!
//! let mut edges = EdgeList::new(3);
//! edges.push(Town(0), Town(1), ROAD);
//! edges.push(Town(1), Town(2), BOTH);
//! edges.push(Town(1), Town(0), RAIL);
//! let graph = Graph::new(3, &[&edges])?;
//!
//! assert!(graph.leads(Town(1), Town(2), RAIL));
//! let components = graph.components();
//! assert_eq!(components.cyclic::<Town>(), [vec![Town(0), Town(1)]]);
//! # Ok::<(), isolde_graph::TooLarge>(())
//! ```

mod components;
mod counting_sort;
mod edges;
mod graph;
mod kinds;
mod layers;
mod node;
pub mod parallel;
mod partitioned;
mod paths;
mod reach;

pub use components::Components;
pub use counting_sort::{Groups, Rows};
pub use edges::EdgeList;
pub use graph::{Graph, TooLarge};
pub use kinds::Kinds;
pub use layers::{Half, Halves, cyclic_in_layers, two_layers};
pub use node::Node;
pub use partitioned::Partitioned;
pub use paths::{Bfs, Steps};
pub use reach::{NoReach, Reach};
