//! A serial execution, found by trying: if every transaction can be run once, in an order that the
//! graph allows, and each reads what it read, the history is serializable, whatever else is unknown.
//!
//! A transaction is run when all before it in the graph have been, and nobody still has to read what
//! it overwrites. That order is a proof; getting stuck proves nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use isolde_history::Key;

use crate::graph::Graph;
use crate::group::Groups;
use crate::provenance::{Provenance, Source};

/// How often a transaction is tried, on average, before the search gives up.
const TRIES: usize = 32;

/// Whether a serial execution was found. Nodes after the transactions are helpers without effect.
pub(crate) fn succeeds(graph: &Graph, p: &Provenance, txns: usize, unordered: &[Key]) -> bool {
    let mut run = Run::new(graph, p, txns, unordered);
    // Each transaction is tried once, and again whenever it is woken; a history that keeps waking
    // its transactions in vain is given up, so that the search stays linear.
    let tries = TRIES * graph.node_count() + 1000;
    for _ in 0..tries {
        let Some(Reverse(node)) = run.ready.pop() else { break };
        run.place(graph, node);
    }
    run.placed == graph.node_count()
}

struct Run {
    /// How many edges into each node come from nodes that have not been placed.
    waiting: Vec<u32>,
    ready: BinaryHeap<Reverse<u32>>,
    placed: usize,
    /// For each transaction, what it reads and writes of keys without an order.
    reads: Groups,
    read_slots: Vec<u32>,
    read_keys: Vec<u32>,
    writes: Groups,
    write_keys: Vec<(u32, u32)>,
    /// The version that is current for each key.
    current: Vec<u32>,
    /// How many reads of each version are still to come; by slot.
    left: Vec<u32>,
    /// Transactions that wait until nobody has to read the current version of a key.
    blocked: Vec<Vec<u32>>,
}

/// Every version of an unordered key has a slot: its write, or one for the initial state.
fn slot_of_initial(p: &Provenance, key: Key) -> u32 {
    p.writes.len() as u32 + key.0
}

impl Run {
    fn new(graph: &Graph, p: &Provenance, txns: usize, unordered: &[Key]) -> Run {
        let nodes = graph.node_count();
        let keys = unordered.iter().map(|k| k.index() + 1).max().unwrap_or(0);
        let mut open = vec![false; keys];
        unordered.iter().for_each(|k| open[k.index()] = true);
        let is_open = |key: Key| open.get(key.index()).copied().unwrap_or(false);
        let mut left = vec![0u32; p.writes.len() + keys];
        let (mut readers, mut read_slots, mut read_keys) = (Vec::new(), Vec::new(), Vec::new());
        for (read, source) in p.reads.iter().zip(&p.sources) {
            let slot = match source {
                Source::Write(w) if is_open(read.key) => *w,
                Source::Initial if is_open(read.key) => slot_of_initial(p, read.key),
                _ => continue,
            };
            left[slot as usize] += 1;
            readers.push(read.txn.index());
            read_slots.push(slot);
            read_keys.push(read.key.0);
        }
        let versions = p.writes.iter().enumerate().filter(|(_, w)| p.is_version(w));
        let write_keys: Vec<(u32, u32)> =
            versions.filter(|(_, w)| is_open(w.key)).map(|(i, w)| (w.key.0, i as u32)).collect();
        let writer = |i: usize| p.writes[write_keys[i].1 as usize].txn.index();
        let mut waiting = vec![0u32; nodes];
        for node in 0..nodes as u32 {
            graph.edges(node).for_each(|(to, _)| waiting[to as usize] += 1);
        }
        let ready = (0..nodes as u32).filter(|&n| waiting[n as usize] == 0).map(Reverse).collect();
        Run {
            waiting,
            ready,
            placed: 0,
            reads: Groups::new(readers.len(), txns.max(nodes), |i| readers[i]),
            read_slots,
            read_keys,
            writes: Groups::new(write_keys.len(), txns.max(nodes), writer),
            current: (0..keys as u32).map(|k| slot_of_initial(p, Key(k))).collect(),
            write_keys,
            left,
            blocked: vec![Vec::new(); keys],
        }
    }

    fn place(&mut self, graph: &Graph, node: u32) {
        if let Some(key) = self.blocking_key(node) {
            self.blocked[key as usize].push(node);
            return;
        }
        self.placed += 1;
        for i in self.reads.range(node as usize) {
            let slot = self.read_slots[self.reads.items[i] as usize] as usize;
            self.left[slot] -= 1;
        }
        for i in self.writes.range(node as usize) {
            let (key, version) = self.write_keys[self.writes.items[i] as usize];
            self.current[key as usize] = version;
        }
        for (to, _) in graph.edges(node) {
            self.waiting[to as usize] -= 1;
            if self.waiting[to as usize] == 0 {
                self.ready.push(Reverse(to));
            }
        }
        self.wake_others(node);
    }

    /// A key that the transaction overwrites while others still have to read it.
    fn blocking_key(&self, node: u32) -> Option<u32> {
        let mine = |slot: u32| {
            let slots = self.reads.of(node as usize).iter();
            slots.filter(|&&r| self.read_slots[r as usize] == slot).count() as u32
        };
        self.writes.of(node as usize).iter().find_map(|&w| {
            let (key, _) = self.write_keys[w as usize];
            let current = self.current[key as usize];
            (self.left[current as usize] > mine(current)).then_some(key)
        })
    }

    /// What a transaction read may be overwritten now, and what it wrote may too: those who were
    /// blocked by these keys try again.
    fn wake_others(&mut self, node: u32) {
        let read = self.reads.range(node as usize).map(|i| self.reads.items[i]);
        let read = read.map(|r| self.read_keys[r as usize]);
        let written = self.writes.range(node as usize).map(|i| self.writes.items[i]);
        let written = written.map(|w| self.write_keys[w as usize].0);
        let touched: Vec<u32> = read.chain(written).collect();
        for key in touched.into_iter().map(|key| key as usize) {
            // One reader may be left: the one who overwrites it.
            if self.left[self.current[key] as usize] <= 1 {
                self.ready.extend(self.blocked[key].drain(..).map(Reverse));
            }
        }
    }
}
