//! The search for a commit order: all of them are tried, one transaction after another.

/// What makes a write binding for a read: the table of levels.md, without the demands on `co`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Binding {
    /// Nothing (read uncommitted, `pl-2`).
    Nothing,
    /// "A read in an earlier statement of t3 (any key) is from t2."
    EarlierStatements,
    /// Every earlier write of a key that the reader itself overwrites (cursor stability).
    Overwritten,
    /// "`wr` or `so` from t2 to t3."
    Linked,
    /// "A path of `wr` and `so` from t2 to t3."
    Path,
    /// "`co* ; (wr or so)`."
    Prefix,
    /// "Prefix, and conflict: t3 writes some y, some t4 writes y, `co*(t2, t4)`, `co(t4, t3)`."
    PrefixAndConflicts,
    /// "`co(t2, t3)`."
    Everything,
}

/// A read with its source, as nodes. Node 0 is the initial transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dependency {
    pub(crate) key: usize,
    pub(crate) from: usize,
    pub(crate) statement: usize,
    /// Whether the reader goes on to overwrite what it read here.
    pub(crate) overwritten: bool,
    /// Whether something may be binding for it. A row that a predicate read did not return shows which
    /// transaction was seen (wrp); that it was overwritten (rwp) counts "at read atomic and above".
    pub(crate) bound: bool,
}

/// The most nodes, the initial transaction included.
pub(crate) const MAX_NODES: usize = 9;

/// Sets of nodes are bits.
pub(crate) type Nodes = u16;

/// A question: is there such a commit order?
pub(crate) struct Problem {
    pub(crate) binding: Binding,
    /// What `co` must put before each node.
    pub(crate) before: Vec<Nodes>,
    /// `wr`, `so` and, for strong snapshot isolation, `rt` into each node.
    pub(crate) links: Vec<Nodes>,
    pub(crate) reads: Vec<Vec<Dependency>>,
    /// Who writes each key; the initial transaction writes all.
    pub(crate) writers: Vec<Nodes>,
}

/// A commit order that is not complete yet.
struct Partial<'p> {
    problem: &'p Problem,
    paths: Vec<Nodes>,
    order: Vec<usize>,
    placed: Nodes,
}

impl Problem {
    /// Whether there is a total order that satisfies the axiom for every read.
    pub(crate) fn solvable(&self) -> bool {
        let paths = closure(&self.links);
        Partial { problem: self, paths, order: Vec::new(), placed: 0 }.extend()
    }
}

fn closure(links: &[Nodes]) -> Vec<Nodes> {
    let mut paths = links.to_vec();
    for _ in 0..links.len() {
        for node in 0..links.len() {
            let through = (0..links.len()).filter(|m| paths[node] >> m & 1 == 1);
            paths[node] |= through.fold(0, |all, m| all | paths[m]);
        }
    }
    paths
}

impl Partial<'_> {
    /// Tries every node that may come next. All that VIS speaks of precedes the reader in `co`, so
    /// the axiom for its reads is decided at the moment when it is placed.
    fn extend(&mut self) -> bool {
        let count = self.problem.before.len();
        if self.order.len() == count {
            return true;
        }
        // "The initial transaction stays first."
        let choices = if self.order.is_empty() { 0..1 } else { 1..count };
        for node in choices {
            let free = self.placed >> node & 1 == 0;
            let ready = self.problem.before[node] & !self.placed == 0;
            if !free || !ready || !self.axiom_holds(node) {
                continue;
            }
            self.order.push(node);
            self.placed |= 1 << node;
            if self.extend() {
                return true;
            }
            self.order.pop();
            self.placed &= !(1 << node);
        }
        false
    }

    /// "If VIS(t2, t3) then co(t2, t1)", for every read of the node t3.
    fn axiom_holds(&self, node: usize) -> bool {
        self.problem.reads[node].iter().filter(|read| read.bound).all(|read| {
            let after_source = self.placed & !self.up_to(1 << read.from);
            self.visible(node, read) & self.problem.writers[read.key] & after_source == 0
        })
    }

    fn visible(&self, node: usize, read: &Dependency) -> Nodes {
        let links = self.problem.links[node];
        match self.problem.binding {
            Binding::Nothing => 0,
            Binding::EarlierStatements => {
                let reads = self.problem.reads[node].iter();
                let earlier = reads.filter(|r| r.statement < read.statement);
                earlier.fold(0, |all, r| all | 1 << r.from)
            }
            Binding::Overwritten => {
                if read.overwritten {
                    self.placed
                } else {
                    0
                }
            }
            Binding::Linked => links,
            Binding::Path => self.paths[node],
            Binding::Prefix => self.up_to(links),
            Binding::PrefixAndConflicts => self.up_to(links | self.conflicts(node)),
            Binding::Everything => self.placed,
        }
    }

    /// The earlier writers of what the node writes.
    fn conflicts(&self, node: usize) -> Nodes {
        let shared = self.problem.writers.iter().filter(|w| *w >> node & 1 == 1);
        shared.fold(0, |all, w| all | w & self.placed)
    }

    /// `co*` into the set: all that is placed, up to the last of its members.
    fn up_to(&self, nodes: Nodes) -> Nodes {
        let last = self.order.iter().rposition(|n| nodes >> n & 1 == 1);
        let upto = last.map_or(&[][..], |last| &self.order[..=last]);
        upto.iter().fold(0, |all, n| all | 1 << n)
    }
}
