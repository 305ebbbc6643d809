//! A history that can be asked about several promises: what they share is worked out once.

use std::cell::{Cell, OnceCell, RefCell};
use std::time::Instant;

use isolde_history::{Clock, History};
use isolde_spec::{Answer, Level, Promise, Verdict};

use crate::keys::context::Context;
use crate::strong::decide::Case;
use crate::graph::edges::EdgeList;
use crate::graph::csr::{Components, Graph};
use crate::graph::real_time::{self, RealTime};
use crate::graph::key_walk::{self, Walk};
use crate::weak;

/// How to decide.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How far the clocks of clients may be apart: one transaction precedes another in real time
    /// only if it ended more than this before the other began. Positions in an event log are exact.
    pub clock_skew: i64,
    /// How many witnesses of each anomaly to keep.
    pub witnesses: usize,
    /// How many edges the searches for shortest cycles may look at.
    pub search_budget: usize,
    /// How many pairs of a reader of a version and one who overwrote it may have an edge each; where
    /// there are more than that and than they are themselves, a helper stands between them.
    pub direct_pairs: usize,
    /// How the verdict is to be found; `None` leaves it to the evidence.
    pub procedure: Option<Road>,
    /// How many steps the search for an order of single operations may take, for one object.
    pub order_steps: u64,
    /// How many bytes it may remember states in, for one object.
    pub order_memory: usize,
    /// When that search has to end: the answer is then unknown.
    pub deadline: Option<Instant>,
}

/// A way to decide a strong level from values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Road {
    /// The dependency graph of what is known, and nothing else: "unknown" where the order of some
    /// versions is not.
    Graph,
    /// The graph, the edges that every explanation must have, and a try at a serial execution.
    Saturation,
}

impl Road {
    /// Every procedure.
    pub const ALL: [Road; 2] = [Road::Graph, Road::Saturation];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Road::Graph => "graph",
            Road::Saturation => "saturation",
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            clock_skew: 0,
            witnesses: 10,
            search_budget: 2_000_000,
            direct_pairs: 64,
            procedure: None,
            order_steps: 50_000_000,
            order_memory: 512 << 20,
            deadline: None,
        }
    }
}

/// Decides whether a history keeps a promise.
pub fn check(history: &History, promise: Promise, options: &Options) -> Verdict {
    Checker::new(history, *options).check(promise)
}

/// A history under examination.
pub struct Checker<'h> {
    pub(crate) context: Context<'h>,
    pub(crate) options: Options,
    walks: [OnceCell<Walk>; 2],
    weak: OnceCell<weak::Base>,
    real_time: OnceCell<RealTime<'h>>,
    graphs: [[OnceCell<Sorted>; 2]; 2],
    /// What was decided already.
    decided: RefCell<Vec<(Promise, Option<bool>)>>,
    /// Whether single operations are being asked about, on behalf of another promise.
    asking: Cell<bool>,
}

/// A graph and its strongly connected components.
pub(crate) struct Sorted {
    pub(crate) graph: Graph,
    pub(crate) components: Components,
}

impl Sorted {
    pub(crate) fn new(nodes: usize, edges: &[&EdgeList]) -> Sorted {
        let graph = Graph::new(nodes, edges);
        let components = graph.components();
        Sorted { graph, components }
    }
}

impl<'h> Checker<'h> {
    /// Sorts a history by keys and finds out which of its transactions count.
    pub fn new(history: &'h History, options: Options) -> Checker<'h> {
        // A violation without any witness would be a bare no.
        let options = Options { witnesses: options.witnesses.max(1), ..options };
        let mut context = Context::new(history);
        context.direct_pairs = options.direct_pairs;
        Checker::of(context, options)
    }

    pub(crate) fn of(context: Context<'h>, options: Options) -> Checker<'h> {
        Checker {
            context,
            options,
            walks: Default::default(),
            weak: OnceCell::new(),
            real_time: OnceCell::new(),
            graphs: Default::default(),
            decided: RefCell::default(),
            asking: Cell::new(false),
        }
    }

    /// Decides whether the history keeps a promise.
    pub fn check(&self, promise: Promise) -> Verdict {
        let mut verdict = self.decide(promise);
        if verdict.holds().is_none() && self.holds_as_operations(promise) {
            verdict.answer = Answer::Holds;
        }
        self.decided.borrow_mut().push((promise, verdict.holds()));
        verdict
    }

    /// Whether a promise about transactions holds because single operations keep a stronger one: those
    /// can be put in order though their values repeat.
    fn holds_as_operations(&self, promise: Promise) -> bool {
        let history = self.context.history;
        let mut txns = history.txns();
        // What the recorder says of versions, and what predicates miss, is no matter of operations.
        let more = !history.version_orders().is_empty() || !self.context.predicates.is_empty();
        if promise.level.of_operations()
            || !promise.session_order
            || self.asking.get()
            || more
            || !history.meta().complete
            || txns.any(|t| t.ops().len() > 1)
        {
            return false;
        }
        self.asking.set(true);
        let levels = [Level::Sequential, Level::Linearizable].into_iter();
        let mut stronger = levels.filter(|level| level.implies(promise.level));
        let holds = stronger.any(|level| self.holds(Promise { level, ..promise }) == Some(true));
        self.asking.set(false);
        holds
    }

    fn decide(&self, promise: Promise) -> Verdict {
        if weak::decides(promise.level) {
            weak::decide(self, promise)
        } else {
            Case::new(self, promise).decide()
        }
    }

    /// Whether the history keeps a promise, without the reasons.
    pub(crate) fn holds(&self, promise: Promise) -> Option<bool> {
        let known = self.decided.borrow().iter().find(|(p, _)| *p == promise).map(|(_, h)| *h);
        known.unwrap_or_else(|| self.check(promise).holds())
    }

    /// Whether a level holds that implies the one of a promise, and is decided by a graph.
    pub(crate) fn stronger_holds(&self, promise: Promise) -> bool {
        let stronger = [Level::Serializable, Level::SnapshotIsolation].into_iter();
        let mut stronger = stronger.filter(|level| level.implies(promise.level));
        stronger.any(|level| self.holds(Promise { level, ..promise }) == Some(true))
    }

    /// What the weak levels need.
    pub(crate) fn weak(&self) -> &weak::Base {
        self.weak.get_or_init(|| weak::Base::new(&self.context))
    }

    pub(crate) fn walk(&self, session_order: bool) -> &Walk {
        let walk = || key_walk::walk(&self.context, session_order);
        self.walks[usize::from(session_order)].get_or_init(walk)
    }

    pub(crate) fn real_time(&self) -> &RealTime<'h> {
        let events = self.context.history.meta().clock == Clock::Events;
        let skew = if events { 0 } else { self.options.clock_skew };
        self.real_time.get_or_init(|| real_time::find(&self.context, skew))
    }

    /// All edges that are known, and how many nodes they are between.
    pub(crate) fn known(&self, session_order: bool, real_time: bool) -> (usize, Vec<&EdgeList>) {
        let mut edges: Vec<&EdgeList> = self.walk(session_order).edges.iter().collect();
        let mut nodes = self.context.standings.len();
        if real_time {
            let instants = self.real_time().instants(&self.context);
            edges.push(&instants.edges);
            nodes += instants.helpers;
        }
        if edges.iter().any(|list| list.has_helpers) {
            nodes = self.context.all_nodes();
        }
        (nodes, edges)
    }

    /// The graph of the edges that are known.
    pub(crate) fn sorted(&self, session_order: bool, real_time: bool) -> &Sorted {
        self.graphs[usize::from(session_order)][usize::from(real_time)].get_or_init(|| {
            let (nodes, edges) = self.known(session_order, real_time);
            Sorted::new(nodes, &edges)
        })
    }
}
