//! A serial execution of a few transactions, found by trying all orders.
//!
//! What happens next depends on which transactions have been executed, and on the version that each key
//! has then. A situation from which nothing was found is not tried again.

use hashbrown::HashSet;

use crate::graph::edges::TxnGraph;
use crate::limits::{Limit, Limits, Pace};
use crate::unordered::unordered_key::{UnorderedKey, Version};

/// The most nodes: a set of them is a word.
const MAX_NODES: usize = 64;
/// The most situations that are tried.
const MAX_SITUATIONS: usize = 20_000;

/// Which nodes have been placed, and the version that is current for each key.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Situation {
    placed: u64,
    current: Vec<u32>,
}

/// What a node needs and does.
#[derive(Clone, Default)]
struct NodeDeed {
    /// The nodes that come before it.
    after: u64,
    /// The versions of keys that it read.
    reads: Vec<(usize, u32)>,
    /// The classes of versions of keys of which it read one.
    wants: Vec<(usize, u32)>,
    writes: Vec<(usize, u32)>,
}

/// Whether some order of the nodes explains every read. Too many nodes or situations are no answer.
pub(crate) fn succeeds(
    graph: &TxnGraph,
    open: &[UnorderedKey],
    limits: &Limits<'_>,
) -> Result<bool, Limit> {
    if graph.node_count() > MAX_NODES {
        return Ok(false);
    }
    let deeds = deeds(graph, open);
    let all = if deeds.len() == MAX_NODES { u64::MAX } else { (1 << deeds.len()) - 1 };
    let first =
        Situation { placed: 0, current: vec![Version::INITIAL.number() as u32; open.len()] };
    let mut seen = HashSet::new();
    let mut todo = vec![first];
    let mut pace = Pace::new(limits);
    while let Some(situation) = todo.pop() {
        if situation.placed == all {
            return Ok(true);
        }
        if seen.len() > MAX_SITUATIONS {
            return Ok(false);
        }
        pace.steps(16)?;
        for (node, deed) in deeds.iter().enumerate().rev() {
            if let Some(next) = situation.with(node, deed, open)
                && seen.insert(next.clone())
            {
                todo.push(next);
            }
        }
    }
    Ok(false)
}

impl Situation {
    /// What is so when a node comes next, if it can.
    fn with(&self, node: usize, deed: &NodeDeed, open: &[UnorderedKey]) -> Option<Situation> {
        let (free, ready) = (self.placed >> node & 1 == 0, deed.after & !self.placed == 0);
        let is = |key: usize, version: u32| self.current[key] == version;
        let has_class = |key: usize, class: u32| {
            open[key].classes[self.current[key] as usize].get() == Some(class as usize)
        };
        let explained = deed.reads.iter().all(|(key, version)| is(*key, *version))
            && deed.wants.iter().all(|(key, class)| has_class(*key, *class));
        if !(free && ready && explained) {
            return None;
        }
        let mut next = self.clone();
        next.placed |= 1 << node;
        deed.writes.iter().for_each(|(key, version)| next.current[*key] = *version);
        Some(next)
    }
}

fn deeds(graph: &TxnGraph, open: &[UnorderedKey]) -> Vec<NodeDeed> {
    let mut deeds = vec![NodeDeed::default(); graph.node_count()];
    for node in graph.nodes() {
        graph.edges(node).for_each(|(to, _)| deeds[to.at()].after |= 1 << node.at());
    }
    for (k, key) in open.iter().enumerate() {
        for (at, writer) in key.writers.iter().enumerate() {
            deeds[writer.at()].writes.push((k, Version::of_writer(at).number() as u32));
        }
        for (reader, version) in &key.reads {
            deeds[reader.at()].reads.push((k, version.number() as u32));
        }
        for (reader, class) in &key.ambiguous {
            deeds[reader.at()].wants.push((k, *class));
        }
    }
    deeds
}
