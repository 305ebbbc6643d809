//! An order of transactions that is kept while dependencies come one by one (Pearce and Kelly).
//!
//! Each transaction has a number such that every dependency goes from a smaller to a greater one. A dependency that does
//! not is put right by renumbering what lies between its two ends; if its end leads back to its beginning, it closes a
//! cycle, and is left out, so that what is there is always an order.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};
use isolde_spec::Edges;

use super::row::TraceNo;
use super::span::Span;
use crate::bodies::TxnRef;
use crate::content::NameId;

/// Why one transaction comes before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Link {
    pub(crate) kind: Edges,
    pub(crate) row: NameId,
    /// The operations of the first and of the second transaction.
    pub(crate) ops: (u32, u32),
}

/// One dependency of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CycleStep {
    pub(crate) from: TraceNo,
    pub(crate) to: TraceNo,
    pub(crate) link: Link,
}

/// What has to be known of a transaction as long as anything may lead to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    pub(crate) txn: TxnRef,
    pub(crate) began: i64,
    pub(crate) ended: i64,
    pub(crate) commit: Span,
    pub(crate) snapshot: Option<Span>,
    pub(crate) read_only: bool,
}

/// Transactions in an order that fits all dependencies so far.
#[derive(Default, Debug)]
pub(crate) struct Topology {
    nodes: HashMap<TraceNo, Node>,
    /// The next number.
    next: u64,
    edges: usize,
}

#[derive(Debug)]
struct Node {
    member: Member,
    number: u64,
    out: Vec<(TraceNo, Link)>,
    into: Vec<TraceNo>,
}

impl Topology {
    /// A transaction, if it is not there yet.
    pub(crate) fn add(&mut self, node: TraceNo, member: Member) {
        let next = &mut self.next;
        self.nodes.entry(node).or_insert_with(|| {
            *next += 1;
            Node { member, number: *next, out: Vec::new(), into: Vec::new() }
        });
    }

    /// A transaction, if it is there.
    pub(crate) fn member(&self, node: TraceNo) -> Option<&Member> {
        self.nodes.get(&node).map(|node| &node.member)
    }

    /// How many transactions and dependencies there are.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.nodes.len(), self.edges)
    }

    /// A dependency between two transactions. If it closes a cycle, the cycle is handed back, as short as there is one
    /// through it, and the dependency is left out.
    pub(crate) fn link(
        &mut self,
        from: TraceNo,
        to: TraceNo,
        link: Link,
    ) -> Option<Vec<CycleStep>> {
        if from == to || !self.nodes.contains_key(&from) || !self.nodes.contains_key(&to) {
            return None;
        }
        if self.nodes[&from].out.iter().any(|(old, kind)| *old == to && kind.kind == link.kind) {
            return None;
        }
        let (low, high) = (self.nodes[&to].number, self.nodes[&from].number);
        if low < high {
            if let Some(back) = self.path(to, from, high) {
                let closing = CycleStep { from, to, link };
                return Some([closing].into_iter().chain(back).collect());
            }
            self.renumber(from, to, low, high);
        }
        if let Some(node) = self.nodes.get_mut(&from) {
            node.out.push((to, link));
            self.edges += 1;
        }
        if let Some(node) = self.nodes.get_mut(&to) {
            node.into.push(from);
        }
        None
    }

    /// A shortest way from one transaction to another, over those whose numbers are not greater than the other's.
    fn path(&self, from: TraceNo, to: TraceNo, most: u64) -> Option<Vec<CycleStep>> {
        let mut came: HashMap<TraceNo, CycleStep> = HashMap::new();
        let mut todo = VecDeque::from([from]);
        while let Some(at) = todo.pop_front() {
            for (next, link) in &self.nodes.get(&at)?.out {
                let is_new = *next != from && !came.contains_key(next);
                if is_new && self.nodes.get(next).is_some_and(|node| node.number <= most) {
                    came.insert(*next, CycleStep { from: at, to: *next, link: *link });
                    todo.push_back(*next);
                }
            }
            if came.contains_key(&to) {
                break;
            }
        }
        let mut steps = vec![*came.get(&to)?];
        while let Some(first) = steps.last()
            && first.from != from
        {
            steps.push(*came.get(&first.from)?);
        }
        steps.reverse();
        Some(steps)
    }

    /// Makes room: what leads to the first goes before what the second leads to, each in its order. They share the
    /// numbers that they have.
    fn renumber(&mut self, from: TraceNo, to: TraceNo, low: u64, high: u64) {
        let after =
            |node: &Node, to: &mut Vec<TraceNo>| to.extend(node.out.iter().map(|(to, _)| *to));
        let before = |node: &Node, from: &mut Vec<TraceNo>| from.extend(&node.into);
        let forward = self.reached(to, after, |number| number < high);
        let backward = self.reached(from, before, |number| number > low);
        let mut numbers: Vec<u64> =
            backward.iter().chain(&forward).map(|node| self.nodes[node].number).collect();
        numbers.sort_unstable();
        for (node, number) in backward.iter().chain(&forward).zip(numbers) {
            if let Some(node) = self.nodes.get_mut(node) {
                node.number = number;
            }
        }
    }

    /// What a transaction leads to, or what leads to it, within some numbers and in their order.
    fn reached(
        &self,
        start: TraceNo,
        next: impl Fn(&Node, &mut Vec<TraceNo>),
        within: impl Fn(u64) -> bool,
    ) -> Vec<TraceNo> {
        let (mut found, mut near) = (vec![start], Vec::new());
        let mut seen: HashSet<TraceNo> = found.iter().copied().collect();
        let mut at = 0;
        while let Some(node) = found.get(at).and_then(|node| self.nodes.get(node)) {
            at += 1;
            next(node, &mut near);
            for to in near.drain(..) {
                if self.nodes.get(&to).is_some_and(|node| within(node.number)) && seen.insert(to) {
                    found.push(to);
                }
            }
        }
        found.sort_unstable_by_key(|node| self.nodes[node].number);
        found
    }

    /// When the first of those began that had not ended by a time.
    pub(crate) fn oldest_beginning(&self, time: i64) -> i64 {
        let open = self.nodes.values().filter(|node| node.member.ended >= time);
        open.map(|node| node.member.began).min().unwrap_or(i64::MAX)
    }

    /// Forgets transactions to which nothing leads and of which the caller says that nothing can lead to them any more; then
    /// perhaps nothing leads to those after them.
    pub(crate) fn forget(&mut self, is_over: impl Fn(&Member) -> bool) {
        let free = |node: &Node| node.into.is_empty() && is_over(&node.member);
        let free = self.nodes.iter().filter(|(_, node)| free(node));
        let mut todo: Vec<TraceNo> = free.map(|(no, _)| *no).collect();
        while let Some(gone) = todo.pop() {
            let Some(node) = self.nodes.remove(&gone) else { continue };
            self.edges -= node.out.len();
            for (to, _) in node.out {
                let Some(next) = self.nodes.get_mut(&to) else { continue };
                if let Some(at) = next.into.iter().position(|from| *from == gone) {
                    next.into.swap_remove(at);
                }
                if next.into.is_empty() && is_over(&next.member) {
                    todo.push(to);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(kind: Edges) -> Link {
        Link { kind, row: NameId(0, 0), ops: (0, 0) }
    }

    fn member() -> Member {
        let txn = TxnRef(0);
        Member { txn, began: 0, ended: 0, commit: Span::ANY, snapshot: None, read_only: false }
    }

    /// Random numbers that are the same everywhere.
    fn random(state: &mut u64, below: u64) -> u64 {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % below
    }

    /// Whether one node leads to another, by walking all edges.
    fn leads(edges: &[(u32, u32)], from: u32, to: u32) -> bool {
        let (mut seen, mut todo) = (vec![from], vec![from]);
        while let Some(at) = todo.pop() {
            for (_, next) in edges.iter().filter(|(from, _)| *from == at) {
                if !seen.contains(next) {
                    seen.push(*next);
                    todo.push(*next);
                }
            }
        }
        seen.contains(&to)
    }

    #[test]
    fn a_cycle_is_found_exactly_when_an_edge_closes_one() {
        for seed in 0..400 {
            let mut state = seed;
            let nodes = 2 + random(&mut state, 9);
            let mut topology = Topology::default();
            (0..nodes).for_each(|node| topology.add(node as u32, member()));
            let mut edges: Vec<(u32, u32)> = Vec::new();
            for _ in 0..30 {
                let (from, to) =
                    (random(&mut state, nodes) as u32, random(&mut state, nodes) as u32);
                if from == to || edges.contains(&(from, to)) {
                    continue;
                }
                let cycle = topology.link(from, to, link(Edges::WW));
                assert_eq!(cycle.is_some(), leads(&edges, to, from), "seed {seed}");
                match cycle {
                    None => edges.push((from, to)),
                    Some(steps) => {
                        let ends = steps.iter().map(|step| step.to);
                        let begins = steps.iter().skip(1).chain(&steps[..1]).map(|step| step.from);
                        assert!(ends.eq(begins), "{steps:?}");
                    }
                }
            }
            topology.forget(|_| true);
            assert_eq!(topology.size(), (0, 0));
        }
    }
}
