//! What a history shows, worked out when it is first needed and kept for all questions: the walk over
//! its keys, real time, and the graphs of what is known.

use std::cell::OnceCell;
use std::sync::Arc;

use isolde_graph::{Partitioned, TooLarge};
use isolde_history::{Clock, History};

use crate::graph::edges::{TxnEdges, TxnParts};
use crate::graph::key_walk::KeyWalk;
use crate::graph::node::Numbering;
use crate::graph::real_time::{self, RealTime};
use crate::keys::context::Context;
use crate::keys::index::Touch;
use crate::keys::origin::Choices;
use crate::limits::{Ended, Held, Limit, Limits};
use crate::options::Options;

/// What a history shows.
pub(crate) struct Evidence<'h> {
    pub(crate) context: Context<'h>,
    pub(crate) options: Options,
    pub(crate) limits: Arc<Limits<'h>>,
    walk: OnceCell<Result<KeyWalk, Limit>>,
    real_time: OnceCell<RealTime<'h>>,
    /// By what counts.
    graphs: [[[MadeGraph; 2]; 2]; 2],
    /// The bytes of the history and of its keys, or why there is no room for them.
    room: Result<Held, Limit>,
}

/// Evidence besides reads and version orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Counts {
    pub(crate) session_order: bool,
    pub(crate) real_time: bool,
    /// Whether an update makes the version that follows the one its transaction read.
    pub(crate) adjacent: bool,
}

/// The graph of what is known.
struct KnownGraph {
    parts: TxnParts,
    _held: Held,
}

/// A graph that is made when it is first needed.
type MadeGraph = OnceCell<Result<KnownGraph, NoGraph>>;

/// Why there is no graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoGraph {
    /// Nodes or edges cannot be numbered by 32 bits.
    TooLarge,
    Limit(Limit),
}

impl From<TooLarge> for NoGraph {
    fn from(_: TooLarge) -> NoGraph {
        NoGraph::TooLarge
    }
}

impl From<Limit> for NoGraph {
    fn from(limit: Limit) -> NoGraph {
        NoGraph::Limit(limit)
    }
}

/// How many bytes a key takes, where its operations lie.
const KEY_BYTES: usize = 8;
/// How many bytes an edge of a graph takes, and a node with its component.
const EDGE_BYTES: usize = 5;
const NODE_BYTES: usize = 12;

impl<'h> Evidence<'h> {
    pub(crate) fn new(
        history: &'h History,
        options: Options,
        limits: Arc<Limits<'h>>,
    ) -> Evidence<'h> {
        Evidence::of(Context::new(history, options.direct_pairs), options, limits)
    }

    /// What the history shows if some ambiguous reads are taken to be from certain writes.
    pub(crate) fn with_choices(&self, choices: Choices) -> Evidence<'h> {
        Evidence::of(self.context.with_choices(choices), self.options, self.limits.clone())
    }

    /// What the history shows if rows that predicate reads did not return bind nothing.
    pub(crate) fn of_items(&self) -> Evidence<'h> {
        Evidence::of(self.context.of_items(), self.options, self.limits.clone())
    }

    fn of(context: Context<'h>, options: Options, limits: Arc<Limits<'h>>) -> Evidence<'h> {
        let history = context.history;
        let keys = history.op_count() * size_of::<Touch>() + history.key_count() * KEY_BYTES;
        // What is known for other choices, or of items only, shares the history and its keys.
        let bytes = if context.choices.is_empty() && context.missing_binds {
            history.heap_bytes() + keys
        } else {
            0
        };
        Evidence {
            room: limits.hold(bytes),
            context,
            options,
            limits,
            walk: OnceCell::new(),
            real_time: OnceCell::new(),
            graphs: Default::default(),
        }
    }

    /// Whether there is room for the history itself.
    pub(crate) fn has_room(&self) -> Result<(), Limit> {
        self.room.as_ref().map(|_| ()).map_err(|limit| *limit)
    }

    /// What to say of a limit that was reached before the keys were known.
    pub(crate) fn ended_walk(&self, limit: Limit) -> Ended {
        let history = self.history();
        let (ops, keys) = (history.op_count(), history.key_count());
        let walking = || format!("walking over {keys} keys with {ops} operations");
        let room = || format!("the history itself, which has {ops} operations");
        let doing = if self.has_room().is_ok() { walking() } else { room() };
        Ended { limit, doing }
    }

    pub(crate) fn history(&self) -> &'h History {
        self.context.history
    }

    /// The walk over all keys.
    pub(crate) fn walk(&self) -> Result<&KeyWalk, Limit> {
        self.has_room()?;
        let walk = || KeyWalk::over(&self.context, &self.limits);
        self.walk.get_or_init(walk).as_ref().map_err(|limit| *limit)
    }

    pub(crate) fn real_time(&self) -> &RealTime<'h> {
        let events = self.history().meta().clock == Clock::Events;
        let skew = if events { 0 } else { self.options.clock_skew };
        self.real_time.get_or_init(|| real_time::find(&self.context, skew))
    }

    /// All edges that are known, and how many nodes they are between.
    pub(crate) fn known_edges(&self, counts: Counts) -> Result<(usize, Vec<&TxnEdges>), Limit> {
        let Counts { session_order, real_time, adjacent } = counts;
        let walk = self.walk()?;
        let of_sessions = walk.of_sessions.iter().filter(|_| session_order);
        let of_updates = walk.of_updates.iter().filter(|_| adjacent);
        let mut edges: Vec<&TxnEdges> = of_sessions.chain(&walk.edges).chain(of_updates).collect();
        let numbering = Numbering::of(&self.context);
        let mut nodes = numbering.txn_count();
        if real_time {
            let instants = self.real_time().instants(&self.context);
            edges.push(&instants.edges);
            nodes += instants.helpers;
        }
        if walk.has_helpers {
            nodes = numbering.all();
        }
        Ok((nodes, edges))
    }

    /// The graph of the edges that are known.
    pub(crate) fn known_graph(&self, counts: Counts) -> Result<&TxnParts, NoGraph> {
        let Counts { session_order, real_time, adjacent } = counts;
        let adjacent = adjacent && !self.walk()?.of_updates.is_empty();
        let graph = &self.graphs[usize::from(session_order)][usize::from(real_time)];
        let made = graph[usize::from(adjacent)].get_or_init(|| {
            let (nodes, edges) = self.known_edges(counts)?;
            let (parts, held) = self.graph(nodes, &edges)?;
            Ok(KnownGraph { parts, _held: held })
        });
        made.as_ref().map(|graph| &graph.parts).map_err(|why| *why)
    }

    /// A graph of some edges, counted against the memory of the check.
    pub(crate) fn graph(
        &self,
        nodes: usize,
        edges: &[&TxnEdges],
    ) -> Result<(TxnParts, Held), NoGraph> {
        self.limits.go_on()?;
        let count: usize = edges.iter().map(|list| list.len()).sum();
        let bytes =
            nodes.saturating_mul(NODE_BYTES).saturating_add(count.saturating_mul(EDGE_BYTES));
        let held = self.limits.hold(bytes)?;
        Ok((Partitioned::new(nodes, edges)?, held))
    }
}
