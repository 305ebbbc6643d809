//! How to decide.

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
    /// How many pairs of a reader of a version and a transaction that overwrote it may have an edge
    /// each; where there are more than that and than they are themselves, a helper stands between them.
    pub direct_pairs: usize,
    /// How strong levels are to be decided; `None` leaves it to the evidence.
    pub procedure: Option<Method>,
    /// How many bytes one search may use: for an order of the operations on one object, or for the edges
    /// that reads force. It is a part of the bytes of [`crate::Limits`].
    pub order_memory: usize,
    /// In how many groups keys are looked at by timestamps: what is known of one group is given back before
    /// the next. More groups take less memory, and each takes a look at the whole history.
    pub key_groups: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            clock_skew: 0,
            witnesses: 10,
            search_budget: 2_000_000,
            direct_pairs: 64,
            procedure: None,
            order_memory: 512 << 20,
            key_groups: 1,
        }
    }
}

/// A way to decide a strong level from values that can be asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// The dependency graph of what is known, and nothing else: "unknown" where the order of some
    /// versions is not.
    Graph,
    /// The graph, the edges that every explanation must have, and a try at a serial execution.
    Saturation,
}

impl Method {
    /// Every method.
    pub const ALL: [Method; 2] = [Method::Graph, Method::Saturation];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Graph => "graph",
            Method::Saturation => "saturation",
        }
    }
}
