//! A serial execution, found by trying.
//!
//! **Claim.** If every transaction can be run once, in an order that the graph allows, and each reads
//! what it read, then the history is serializable, whatever else is unknown. *Argument:* the order is
//! the serial execution that serializability asks for. All edges of the graph lead forward in it, so
//! it respects sessions and real time where the graph has them. A transaction is run only when the
//! version that it read is the current one of its key: nothing overwrites a version that a transaction
//! still has to read, and a read of a value that several versions have waits until one of them is
//! current. Serializability implies snapshot isolation and prefix consistency, so that the order
//! proves those, too.
//!
//! The order in which transactions completed is tried first: a server that executes one transaction
//! after the other is explained by it. Then the order of the file. Where a transaction cannot come next,
//! others come before it. Getting stuck proves nothing, since no choice is taken back; of a few
//! transactions all orders are tried then ([`serial_search`]).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use isolde_graph::{Groups, Node as _};

use crate::graph::edges::TxnGraph;
use crate::graph::node::Node;
use crate::keys::context::Context;
use crate::limits::{Limit, Limits, Pace};
use crate::maybe_index::MaybeIndex;
use crate::unordered::unordered_key::{UnorderedKey, Version};
use crate::unordered::{completion, serial_search};

/// How often a transaction is tried, on average, before the search gives up.
const TRIES: usize = 32;

/// Whether a serial execution was found. Nodes after the transactions are helpers without effect.
pub(crate) fn succeeds(
    context: &Context<'_>,
    graph: &TxnGraph,
    open: &[UnorderedKey],
    limits: &Limits<'_>,
) -> Result<bool, Limit> {
    Ok(found(context, graph, open, limits)?.is_some())
}

/// Says how a serial execution was found, if one was.
pub(crate) fn found(
    context: &Context<'_>,
    graph: &TxnGraph,
    open: &[UnorderedKey],
    limits: &Limits<'_>,
) -> Result<Option<&'static str>, Limit> {
    let by_completion = completion::ranks(context.history);
    if let Some(ranks) = &by_completion
        && in_order(graph, open, limits, ranks)?
    {
        return Ok(Some("a serial execution in order of completion explains every read"));
    }
    if in_order(graph, open, limits, &[])? {
        return Ok(Some("a serial execution in order of the history explains every read"));
    }
    let some = serial_search::succeeds(graph, open, limits)?;
    Ok(some.then_some("a serial execution explains every read"))
}

/// Tries one order: the ranks of transactions, or their numbers where there are none.
fn in_order(
    graph: &TxnGraph,
    open: &[UnorderedKey],
    limits: &Limits<'_>,
    ranks: &[u32],
) -> Result<bool, Limit> {
    let mut run = SerialTry::new(graph, open, ranks);
    let mut pace = Pace::new(limits);
    // Each transaction is tried once, and again whenever it is woken; a history that keeps waking
    // its transactions in vain is given up, so that the search stays linear.
    let tries = TRIES * graph.node_count() + 1000;
    for _ in 0..tries {
        let Some(Reverse((_, node))) = run.ready.pop() else { break };
        pace.steps(16)?;
        run.place(graph, node);
    }
    Ok(run.placed == graph.node_count())
}

struct SerialTry<'r> {
    /// The rank of each transaction; nothing if numbers are ranks.
    ranks: &'r [u32],
    /// How many edges into each node come from nodes that have not been placed.
    waiting: Vec<u32>,
    ready: BinaryHeap<Reverse<(u32, Node)>>,
    placed: usize,
    /// For each transaction, the versions that it reads and makes, with their keys.
    reads: Groups,
    read: Vec<PlacedVersion>,
    writes: Groups,
    written: Vec<PlacedVersion>,
    /// For each transaction, the keys of which it read a value that several versions have, with the
    /// class of those versions.
    wants: Groups,
    wanted: Vec<(u32, u32)>,
    /// The version that is current for each key.
    current: Vec<u32>,
    /// The class of each version, over all keys, if an ambiguous read may have returned it.
    classes: Vec<MaybeIndex>,
    /// How many reads of each version are still to come, and by which transactions: all of them,
    /// folded by exclusive or, so that the last one is known when it is alone.
    left: Vec<u32>,
    left_by: Vec<u32>,
    /// Transactions that wait until the current version of a key has no read to come. One that is
    /// awake again may still stand there.
    blocked: Vec<VecDeque<Node>>,
    /// The write of each transaction that is blocked.
    blocked_at: Vec<MaybeIndex>,
    /// Transactions that wait for a version of a class to become current.
    waiting_for_class: Vec<Vec<Node>>,
}

/// A version of an unordered key, numbered over all keys.
#[derive(Clone, Copy)]
struct PlacedVersion {
    key: u32,
    number: u32,
}

/// What transactions do to unordered keys, with versions and classes numbered over all keys.
#[derive(Default)]
struct Deeds {
    readers: Vec<usize>,
    read: Vec<PlacedVersion>,
    writers: Vec<usize>,
    written: Vec<PlacedVersion>,
    wanters: Vec<usize>,
    wanted: Vec<(u32, u32)>,
    current: Vec<u32>,
    classes: Vec<MaybeIndex>,
    class_count: usize,
    left: Vec<u32>,
    left_by: Vec<u32>,
}

impl Deeds {
    fn of(open: &[UnorderedKey]) -> Deeds {
        let mut deeds = Deeds::default();
        for (k, key) in open.iter().enumerate() {
            deeds.add(k as u32, key);
        }
        deeds
    }

    fn add(&mut self, k: u32, key: &UnorderedKey) {
        let base = self.left.len();
        let versions = key.writers.len() + 1;
        self.current.push(base as u32);
        self.left.resize(base + versions, 0);
        self.left_by.resize(base + versions, 0);
        let numbered = |v: Version| PlacedVersion { key: k, number: (base + v.number()) as u32 };
        for &(reader, version) in &key.reads {
            let version = numbered(version);
            self.left[version.number as usize] += 1;
            self.left_by[version.number as usize] ^= reader.index();
            self.readers.push(reader.at());
            self.read.push(version);
        }
        for &(reader, class) in &key.ambiguous {
            self.wanters.push(reader.at());
            self.wanted.push((k, self.class_count as u32 + class));
        }
        for (at, writer) in key.writers.iter().enumerate() {
            self.writers.push(writer.at());
            self.written.push(numbered(Version::of_writer(at)));
        }
        let class = |class: MaybeIndex| class.get().map(|c| MaybeIndex::of(self.class_count + c));
        self.classes.extend(key.classes.iter().map(|c| class(*c).unwrap_or_default()));
        self.classes.resize(base + versions, MaybeIndex::NONE);
        self.class_count += key.class_count;
    }
}

impl<'r> SerialTry<'r> {
    fn new(graph: &TxnGraph, open: &[UnorderedKey], ranks: &'r [u32]) -> SerialTry<'r> {
        let nodes = graph.node_count();
        let deeds = Deeds::of(open);
        let mut waiting = vec![0u32; nodes];
        for node in graph.nodes() {
            graph.edges(node).for_each(|(to, _)| waiting[to.at()] += 1);
        }
        let free = graph.nodes().filter(|n| waiting[n.at()] == 0);
        let ready = free.map(|node| Reverse((rank(ranks, node), node))).collect();
        let by = |txns: &[usize]| Groups::new(txns.len(), nodes, |i| txns[i]);
        SerialTry {
            ranks,
            waiting,
            ready,
            placed: 0,
            reads: by(&deeds.readers),
            read: deeds.read,
            writes: by(&deeds.writers),
            written: deeds.written,
            wants: by(&deeds.wanters),
            wanted: deeds.wanted,
            current: deeds.current,
            classes: deeds.classes,
            left: deeds.left,
            left_by: deeds.left_by,
            blocked: vec![VecDeque::new(); open.len()],
            blocked_at: vec![MaybeIndex::NONE; nodes],
            waiting_for_class: vec![Vec::new(); deeds.class_count],
        }
    }

    /// Puts a transaction among those that may come next.
    fn may_come(&mut self, node: Node) {
        self.ready.push(Reverse((rank(self.ranks, node), node)));
    }

    fn place(&mut self, graph: &TxnGraph, node: Node) {
        if let Some(class) = self.missing_class(node) {
            self.waiting_for_class[class as usize].push(node);
            return;
        }
        if let Some(write) = self.blocking_write(node) {
            self.block(node, write);
            return;
        }
        self.placed += 1;
        for &r in self.reads.of(node.at()) {
            let number = self.read[r as usize].number as usize;
            self.left[number] -= 1;
            self.left_by[number] ^= node.index();
        }
        for &w in self.writes.of(node.at()) {
            let version = self.written[w as usize];
            self.current[version.key as usize] = version.number;
            if let Some(class) = self.classes[version.number as usize].get() {
                let woken = self.waiting_for_class[class].drain(..);
                self.ready.extend(woken.map(|node| Reverse((rank(self.ranks, node), node))));
            }
        }
        for (to, _) in graph.edges(node) {
            self.waiting[to.at()] -= 1;
            if self.waiting[to.at()] == 0 {
                self.may_come(to);
            }
        }
        self.wake_others(node);
    }

    /// A class of which no version is current, though the transaction read one.
    fn missing_class(&self, node: Node) -> Option<u32> {
        let wanted = self.wants.of(node.at()).iter().map(|&w| self.wanted[w as usize]);
        let missing = |(key, class): &(u32, u32)| {
            let current = self.current[*key as usize] as usize;
            self.classes[current].get() != Some(*class as usize)
        };
        wanted.into_iter().find(missing).map(|(_, class)| class)
    }

    /// A write of a key whose current version others still have to read. The search goes on where it
    /// was blocked before: what was free then is looked at last.
    fn blocking_write(&self, node: Node) -> Option<u32> {
        // The reads of a transaction lie in the order of keys.
        let reads = self.reads.of(node.at());
        let mine = |key: u32, number: u32| {
            let first = reads.partition_point(|&r| self.read[r as usize].key < key);
            let same = reads[first..].iter().map(|&r| self.read[r as usize]);
            same.take_while(|v| v.key == key).filter(|v| v.number == number).count() as u32
        };
        let writes = self.writes.of(node.at());
        let from = match self.blocked_at[node.at()].get() {
            None => 0,
            Some(write) => writes.partition_point(|w| (*w as usize) < write),
        };
        writes[from..].iter().chain(&writes[..from]).copied().find(|&w| {
            let key = self.written[w as usize].key;
            let current = self.current[key as usize];
            self.left[current as usize] > mine(key, current)
        })
    }

    /// A transaction waits for a key; others may have those that it cannot use yet.
    fn block(&mut self, node: Node, write: u32) {
        let key = self.written[write as usize].key;
        self.blocked_at[node.at()] = MaybeIndex::of(write as usize);
        self.blocked[key as usize].push_back(node);
        for i in self.writes.range(node.at()) {
            let other = self.written[self.writes.items()[i] as usize].key;
            if other != key {
                self.wake(other as usize);
            }
        }
    }

    /// What a transaction read may be overwritten now, and what it wrote may too: the transactions that
    /// were blocked by these keys try again.
    fn wake_others(&mut self, node: Node) {
        for i in self.reads.range(node.at()) {
            self.wake(self.read[self.reads.items()[i] as usize].key as usize);
        }
        for i in self.writes.range(node.at()) {
            self.wake(self.written[self.writes.items()[i] as usize].key as usize);
        }
    }

    /// Wakes a transaction that waits to overwrite the current version of a key. If no read of that
    /// version is to come, the first one in the queue goes on. If one read is to come, and the reader
    /// itself waits to overwrite the version, then the reader goes on.
    fn wake(&mut self, key: usize) {
        let current = self.current[key] as usize;
        let waits = |run: &SerialTry<'_>, node: Node| {
            let write = run.blocked_at[node.at()].get();
            write.is_some_and(|write| run.written[write].key as usize == key)
        };
        let woken = match self.left[current] {
            0 => loop {
                match self.blocked[key].pop_front() {
                    Some(node) if !waits(self, node) => {}
                    next => break next,
                }
            },
            1 => Some(Node::from_index(self.left_by[current])).filter(|node| waits(self, *node)),
            _ => None,
        };
        if let Some(node) = woken {
            self.blocked_at[node.at()] = MaybeIndex::NONE;
            self.may_come(node);
        }
    }
}

/// The rank of a node. Helpers, which have none, come as soon as they may.
fn rank(ranks: &[u32], node: Node) -> u32 {
    if ranks.is_empty() { node.index() } else { ranks.get(node.at()).copied().unwrap_or(0) }
}
