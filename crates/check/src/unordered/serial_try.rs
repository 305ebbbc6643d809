//! A serial execution, found by trying: if every transaction can be run once, in an order that the
//! graph allows, and each reads what it read, the history is serializable, whatever else is unknown.
//!
//! A transaction is run when all before it in the graph have been, nobody still has to read what it
//! overwrites, and the values that it read and several wrote are there. That order is a proof;
//! getting stuck proves nothing.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::graph::csr::Graph;
use crate::counting_sort::Groups;
use crate::unordered::unordered_key::UnorderedKey;

/// How often a transaction is tried, on average, before the search gives up.
const TRIES: usize = 32;

/// Whether a serial execution was found. Nodes after the transactions are helpers without effect.
pub(crate) fn succeeds(graph: &Graph, open: &[UnorderedKey]) -> bool {
    let mut run = SerialTry::new(graph, open);
    // Each transaction is tried once, and again whenever it is woken; a history that keeps waking
    // its transactions in vain is given up, so that the search stays linear.
    let tries = TRIES * graph.node_count() + 1000;
    for _ in 0..tries {
        let Some(Reverse(node)) = run.ready.pop() else { break };
        run.place(graph, node);
    }
    run.placed == graph.node_count()
}

struct SerialTry {
    /// How many edges into each node come from nodes that have not been placed.
    waiting: Vec<u32>,
    ready: BinaryHeap<Reverse<u32>>,
    placed: usize,
    /// For each transaction, the versions that it reads and makes, with their keys.
    reads: Groups,
    read: Vec<Version>,
    writes: Groups,
    written: Vec<Version>,
    /// For each transaction, the keys of which it read a value that several versions have, with
    /// those versions.
    wants: Groups,
    wanted: Vec<(u32, Vec<u32>)>,
    /// The version that is current for each key.
    current: Vec<u32>,
    /// How many reads of each version are still to come, and by whom: all of them, folded by
    /// exclusive or, so that the last one is known when it is alone.
    left: Vec<u32>,
    left_by: Vec<u32>,
    /// Transactions that wait until nobody has to read the current version of a key. Who is awake
    /// again may still stand there.
    blocked: Vec<VecDeque<u32>>,
    /// The write of each transaction that is blocked, or [`AWAKE`].
    blocked_at: Vec<u32>,
    /// Transactions that wait for another version of a key.
    waiting_for_version: Vec<Vec<u32>>,
}

/// Stands for no write.
const AWAKE: u32 = u32::MAX;

/// A version of an open key, numbered over all keys.
#[derive(Clone, Copy)]
struct Version {
    key: u32,
    number: u32,
}

impl SerialTry {
    fn new(graph: &Graph, open: &[UnorderedKey]) -> SerialTry {
        let nodes = graph.node_count();
        let (mut readers, mut read) = (Vec::new(), Vec::new());
        let (mut writers, mut written) = (Vec::new(), Vec::new());
        let (mut wanters, mut wanted) = (Vec::new(), Vec::new());
        let (mut left, mut left_by, mut current) = (Vec::new(), Vec::new(), Vec::new());
        for (k, key) in open.iter().enumerate() {
            let base = left.len() as u32;
            current.push(base);
            left.resize(left.len() + key.writers.len() + 1, 0);
            left_by.resize(left.len(), 0);
            for &(reader, at) in &key.reads {
                let number = base + at;
                left[number as usize] += 1;
                left_by[number as usize] ^= reader;
                readers.push(reader as usize);
                read.push(Version { key: k as u32, number });
            }
            for (reader, versions) in &key.ambiguous {
                wanters.push(*reader as usize);
                wanted.push((k as u32, versions.iter().map(|at| base + at).collect()));
            }
            for (at, &writer) in key.writers.iter().enumerate() {
                writers.push(writer as usize);
                written.push(Version { key: k as u32, number: base + at as u32 + 1 });
            }
        }
        let mut waiting = vec![0u32; nodes];
        for node in 0..nodes as u32 {
            graph.edges(node).for_each(|(to, _)| waiting[to as usize] += 1);
        }
        let ready = (0..nodes as u32).filter(|&n| waiting[n as usize] == 0).map(Reverse).collect();
        SerialTry {
            waiting,
            ready,
            placed: 0,
            reads: Groups::new(readers.len(), nodes, |i| readers[i]),
            read,
            writes: Groups::new(writers.len(), nodes, |i| writers[i]),
            written,
            wants: Groups::new(wanters.len(), nodes, |i| wanters[i]),
            wanted,
            current,
            left,
            left_by,
            blocked: vec![VecDeque::new(); open.len()],
            blocked_at: vec![AWAKE; nodes],
            waiting_for_version: vec![Vec::new(); open.len()],
        }
    }

    fn place(&mut self, graph: &Graph, node: u32) {
        if let Some(key) = self.other_version(node) {
            self.waiting_for_version[key as usize].push(node);
            return;
        }
        if let Some(write) = self.blocking_write(node) {
            self.block(node, write);
            return;
        }
        self.placed += 1;
        for &r in self.reads.of(node as usize) {
            let number = self.read[r as usize].number as usize;
            self.left[number] -= 1;
            self.left_by[number] ^= node;
        }
        for &w in self.writes.of(node as usize) {
            let version = self.written[w as usize];
            self.current[version.key as usize] = version.number;
            let woken = self.waiting_for_version[version.key as usize].drain(..);
            self.ready.extend(woken.map(Reverse));
        }
        for (to, _) in graph.edges(node) {
            self.waiting[to as usize] -= 1;
            if self.waiting[to as usize] == 0 {
                self.ready.push(Reverse(to));
            }
        }
        self.wake_others(node);
    }

    /// A key of which the transaction read another version than the current one.
    fn other_version(&self, node: u32) -> Option<u32> {
        let wanted = self.wants.of(node as usize).iter().map(|&w| &self.wanted[w as usize]);
        let mut others =
            wanted.filter(|(key, versions)| !versions.contains(&self.current[*key as usize]));
        others.next().map(|(key, _)| *key)
    }

    /// A write of a key whose current version others still have to read. The search goes on where it
    /// was blocked before: what was free then is looked at last.
    fn blocking_write(&self, node: u32) -> Option<u32> {
        // The reads of a transaction lie in the order of keys.
        let reads = self.reads.of(node as usize);
        let mine = |key: u32, number: u32| {
            let first = reads.partition_point(|&r| self.read[r as usize].key < key);
            let same = reads[first..].iter().map(|&r| self.read[r as usize]);
            same.take_while(|v| v.key == key).filter(|v| v.number == number).count() as u32
        };
        let writes = self.writes.of(node as usize);
        let from = match self.blocked_at[node as usize] {
            AWAKE => 0,
            write => writes.partition_point(|w| *w < write),
        };
        writes[from..].iter().chain(&writes[..from]).copied().find(|&w| {
            let key = self.written[w as usize].key;
            let current = self.current[key as usize];
            self.left[current as usize] > mine(key, current)
        })
    }

    /// A transaction waits for a key; others may have those that it cannot use yet.
    fn block(&mut self, node: u32, write: u32) {
        let key = self.written[write as usize].key;
        self.blocked_at[node as usize] = write;
        self.blocked[key as usize].push_back(node);
        for i in self.writes.range(node as usize) {
            let other = self.written[self.writes.items[i] as usize].key;
            if other != key {
                self.wake(other as usize);
            }
        }
    }

    /// What a transaction read may be overwritten now, and what it wrote may too: those who were
    /// blocked by these keys try again.
    fn wake_others(&mut self, node: u32) {
        for i in self.reads.range(node as usize) {
            self.wake(self.read[self.reads.items[i] as usize].key as usize);
        }
        for i in self.writes.range(node as usize) {
            self.wake(self.written[self.writes.items[i] as usize].key as usize);
        }
    }

    /// If nobody has to read the current version of a key any more, one who waits for that may go on;
    /// if one has, and waits to overwrite it itself, that one.
    fn wake(&mut self, key: usize) {
        let current = self.current[key] as usize;
        let waits = |run: &SerialTry, node: u32| {
            let write = run.blocked_at[node as usize];
            write != AWAKE && run.written[write as usize].key as usize == key
        };
        let woken = match self.left[current] {
            0 => loop {
                match self.blocked[key].pop_front() {
                    Some(node) if !waits(self, node) => {}
                    next => break next,
                }
            },
            1 => Some(self.left_by[current]).filter(|node| waits(self, *node)),
            _ => None,
        };
        if let Some(node) = woken {
            self.blocked_at[node as usize] = AWAKE;
            self.ready.push(Reverse(node));
        }
    }
}
