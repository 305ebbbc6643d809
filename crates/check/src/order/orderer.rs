//! The version order of a key, as far as the history tells, and the dependencies that follow.
//!
//! A transaction that reads a version and then writes the key makes the next version: two versions
//! are adjacent, and every other reader of the first comes before the second. Where every version of a
//! key but the first is made this way, the order is known. So it is where there is one version only,
//! and where one session made them all.

use std::cell::Cell;

use hashbrown::{HashMap, HashSet};
use isolde_history::{OpId, TxnId};
use isolde_spec::Edges;

use crate::keys::accesses::Source;
use crate::keys::context::Context;
use crate::keys::findings::Findings;
use crate::keys::key_facts::KeyFacts;
use crate::keys::standing::Standing;
use crate::maybe_index::MaybeIndex;
use crate::order::dependency::{Dependencies, Dependency};
use crate::order::extended::Extended;
use crate::order::known::Known;
use crate::order::readers::Readers;
use crate::order::shown::ShownOrder;
use crate::order::{given, lists};

/// Evidence that one version came before another, besides the reads of their writers.
#[derive(Clone, Copy, Default)]
struct ShownBy {
    /// The list read.
    read: Option<OpId>,
    by_session: bool,
}

/// Two transactions that read the same version of a key and both overwrote it.
pub(crate) type Divergence = [TxnId; 2];

/// Memory for the orders of one key after another.
#[derive(Default)]
pub(crate) struct Orderer {
    /// The versions of the key.
    versions: Vec<u32>,
    /// Versions whose predecessor nothing tells.
    blind: Vec<u32>,
    /// Versions that follow the initial state.
    first: Vec<u32>,
    /// Each version that was overwritten by one that had read it, and by which.
    next: Vec<(u32, u32)>,
    /// For each read, the version that its transaction made of what it read.
    made: Vec<MaybeIndex>,
    readers: Readers,
    /// Pairs of versions that followed the same one, each with the next.
    pub(crate) divergences: Vec<Divergence>,
    /// How many such pairs there are, each with each.
    pub(crate) divergent_pairs: u64,
    /// Whether anti-dependencies were left out because others are enough to show that updates were lost.
    pub(crate) abridged: Cell<bool>,
}

/// The facts of a key whose order is wanted, and the receiver of its dependencies.
struct Site<'s, D> {
    context: &'s Context<'s>,
    facts: &'s KeyFacts,
    to: &'s mut D,
}

impl Orderer {
    /// Finds the order of a key and tells its dependencies, but for those that session order gives.
    pub(crate) fn key<D: Dependencies>(
        &mut self,
        context: &Context<'_>,
        facts: &KeyFacts,
        found: &mut Findings,
        to: &mut D,
    ) -> Known {
        self.readers.load(facts);
        self.versions.clear();
        self.divergences.clear();
        self.divergent_pairs = 0;
        self.abridged.set(false);
        let mut site = Site { context, facts, to };
        let mut known = Known::Not;
        // A key may have an order by its reads and another one by the recorder: both count.
        if facts.is_list {
            let order = lists::order(context, facts, found);
            known = self.shown(&mut site, &order, Known::List);
        }
        if let Some(&at) = context.given.get(&facts.key).filter(|_| facts.mixed.is_none()) {
            let versions = &context.history.version_orders()[at].1;
            let order = given::order(context, facts, versions, found);
            let by_recorder = self.shown(&mut site, &order, Known::Given);
            known = if by_recorder == Known::Given { by_recorder } else { known };
        }
        if !facts.is_list {
            let by_values = self.register(&mut site);
            known = if known.is_open() || by_values == Known::Single { by_values } else { known };
        }
        known
    }

    /// The order of a key whose versions one session made: they follow each other as the transactions of
    /// the session do. What was read and overwritten has its own order beside. Returns whether the key
    /// is one, and nothing else tells its order. To be called after [`Orderer::key`], of the same facts.
    pub(crate) fn order_of_session<D: Dependencies>(
        &mut self,
        context: &Context<'_>,
        facts: &KeyFacts,
        to: &mut D,
    ) -> bool {
        if self.versions.len() < 2 || self.next.len() + 1 >= self.versions.len() {
            return false;
        }
        let sessions = context.history.txn_sessions();
        let mut writers = self.versions.iter().map(|&v| facts.writes[v as usize].txn);
        let Some(first) = writers.next() else { return false };
        let committed = |txn: TxnId| context.standing(txn) == Standing::Committed;
        let own = |txn: TxnId| sessions[txn.index()] == sessions[first.index()] && committed(txn);
        if !committed(first) || !writers.all(own) {
            return false;
        }
        let mut site = Site { context, facts, to };
        self.in_order(&mut site, &self.versions, ShownBy { read: None, by_session: true });
        true
    }

    /// The order of a key that holds one value at a time.
    fn register<D: Dependencies>(&mut self, site: &mut Site<'_, D>) -> Known {
        self.links(site);
        self.write_read(site, true);
        self.adjacent(site);
        let starts = self.blind.len() + self.first.len();
        let unread = || self.versions.iter().all(|&v| !self.readers.any(v as usize));
        if self.versions.len() <= 1 {
            Known::Single
        } else if starts <= 1 && self.next.len() + starts == self.versions.len() {
            Known::Updates
        } else if unread() {
            Known::Unread
        } else {
            Known::Not
        }
    }

    /// Sorts the versions of a key by how they began.
    fn links<D>(&mut self, site: &Site<'_, D>) {
        let facts = site.facts;
        self.versions.clear();
        self.blind.clear();
        self.first.clear();
        self.next.clear();
        self.made.clear();
        self.made.resize(facts.reads.len(), MaybeIndex::NONE);
        for (v, write) in facts.writes.iter().enumerate() {
            if !write.is_version() {
                continue;
            }
            let v = v as u32;
            self.versions.push(v);
            let Some(read) = write.read_before.get() else {
                self.blind.push(v);
                continue;
            };
            match facts.sources[read] {
                Source::Initial => self.first.push(v),
                Source::Write(parent) => {
                    self.next.push((parent, v));
                    self.made[read] = MaybeIndex::of(v as usize);
                }
                // It read a value, but the writer is not known.
                Source::None => self.blind.push(v),
            }
        }
        self.diverge(facts);
        let txn = |v: u32| facts.writes[v as usize].txn;
        self.divergent_pairs += pairs(self.first.len());
        self.divergences.extend(self.first.windows(2).map(|pair| [txn(pair[0]), txn(pair[1])]));
    }

    /// Which transaction read what another one wrote; and overwrote it, where that is wanted.
    fn write_read<D: Dependencies>(&self, site: &mut Site<'_, D>, overwrote: bool) {
        for (r, source) in site.facts.sources.iter().enumerate() {
            let Source::Write(v) = *source else { continue };
            match self.made.get(r).and_then(|made| made.get()) {
                Some(made) if overwrote => site.read_and_overwrote(v, r, made as u32),
                _ => site.read(v, r),
            }
        }
    }

    /// What follows from each version that was read and overwritten by the same transaction.
    fn adjacent<D: Dependencies>(&self, site: &mut Site<'_, D>) {
        for same in self.next.chunk_by(|a, b| a.0 == b.0) {
            if let [(parent, child)] = same {
                self.overwrites(site, *parent as usize, *child, ShownBy::default());
            } else {
                let children: Vec<u32> = same.iter().map(|(_, child)| *child).collect();
                self.all_overwrite(site, same[0].0 as usize, &children, ShownBy::default());
            }
        }
        // The initial state comes before every version: its readers come before the transactions
        // that overwrote it.
        let initial = site.facts.writes.len();
        match (&self.first[..], &self.blind[..]) {
            (only, []) | ([], only) => self.all_overwrite(site, initial, only, ShownBy::default()),
            (first, blind) => {
                let all = [first, blind].concat();
                self.all_overwrite(site, initial, &all, ShownBy::default());
            }
        }
    }

    /// Every reader of a version comes before every writer that overwrote it.
    fn all_overwrite<D: Dependencies>(
        &self,
        site: &mut Site<'_, D>,
        version: usize,
        by: &[u32],
        shown: ShownBy,
    ) {
        if !self.readers.any(version) {
            return;
        }
        if let [only] = by {
            self.overwrites(site, version, *only, shown);
            return;
        }
        if site.to.wanted().is_some() {
            self.wanted_overwrites(site, version, by, shown);
            return;
        }
        let (readers, direct) = (self.readers.of(version).count(), site.context.direct_pairs);
        let pairs = readers * by.len();
        if pairs <= direct || (direct > 0 && pairs <= 4 * (readers + by.len())) {
            by.iter().for_each(|v| self.overwrites(site, version, *v, shown));
        } else {
            self.many_overwrite(site, version, by, shown);
        }
    }

    /// A version with many readers and many writers that overwrote it: a helper node stands between them,
    /// so that there is not an edge for each pair. Every reader leads to the helper, and the helper to
    /// every writer, so each path over the helper is an anti-dependency of the two at its ends.
    ///
    /// A transaction that both read and overwrote the version may not use the helper in both directions,
    /// or the path would lead from the transaction to itself, which is no cycle of the history. Such
    /// transactions get direct edges. Without a lost update there is one of them at most: it read the
    /// version and made the next one. With more, each pair of them is a lost update, and the two edges
    /// between neighbours close a cycle for every level that forbids one; so the first two are enough
    /// to connect them with the other readers and writers. Levels that allow lost updates treat the
    /// key as one without an order (`abridged`).
    fn many_overwrite<D: Dependencies>(
        &self,
        site: &mut Site<'_, D>,
        version: usize,
        by: &[u32],
        shown: ShownBy,
    ) {
        let facts = site.facts;
        let writer = |v: u32| facts.writes[v as usize].txn;
        let read: HashMap<TxnId, usize> =
            self.readers.of(version).map(|r| (facts.reads[r].txn, r)).collect();
        let (both, others): (Vec<u32>, Vec<u32>) =
            by.iter().partition(|v| read.contains_key(&writer(**v)));
        self.abridged.set(self.abridged.get() || both.len() > 2);
        for pair in both.windows(2) {
            site.overwrote_read(version, read[&writer(pair[0])], pair[1], shown);
            site.overwrote_read(version, read[&writer(pair[1])], pair[0], shown);
        }
        let two = &both[..both.len().min(2)];
        let did_both: HashSet<TxnId> = both.iter().map(|v| writer(*v)).collect();
        let readers = self.readers.of(version).filter(|r| !did_both.contains(&facts.reads[*r].txn));
        let mut only_read = Vec::new();
        for r in readers {
            two.iter().for_each(|v| site.overwrote_read(version, r, *v, shown));
            only_read.push(facts.reads[r].txn);
        }
        for v in &others {
            two.iter().for_each(|b| site.overwrote_read(version, read[&writer(*b)], *v, shown));
        }
        if !others.is_empty() {
            let only_wrote: Vec<TxnId> = others.iter().map(|v| writer(*v)).collect();
            site.to.all(facts.key, &only_read, &only_wrote);
        }
    }

    /// Those anti-dependencies that are wanted.
    fn wanted_overwrites<D: Dependencies>(
        &self,
        site: &mut Site<'_, D>,
        version: usize,
        by: &[u32],
        shown: ShownBy,
    ) {
        let facts = site.facts;
        let Some(wanted) = site.to.wanted() else { return };
        let wrote: HashMap<TxnId, u32> =
            by.iter().map(|v| (facts.writes[*v as usize].txn, *v)).collect();
        let mut pairs: Vec<(TxnId, usize, u32)> = Vec::new();
        for r in self.readers.of(version) {
            let from = facts.reads[r].txn;
            let to = wanted.get(&from).into_iter().flatten().filter(|to| **to != from);
            pairs.extend(to.filter_map(|to| wrote.get(to)).map(|v| (from, r, *v)));
        }
        // One read of each reader is enough.
        pairs.sort_unstable_by_key(|(from, r, v)| (*from, *v, std::cmp::Reverse(*r)));
        pairs.dedup_by_key(|(from, _, v)| (*from, *v));
        pairs.into_iter().for_each(|(_, r, v)| site.overwrote_read(version, r, v, shown));
    }

    /// Every reader of a version comes before the writer that overwrote it.
    fn overwrites<D: Dependencies>(
        &self,
        site: &mut Site<'_, D>,
        version: usize,
        by: u32,
        shown: ShownBy,
    ) {
        for r in self.readers.of(version) {
            site.overwrote_read(version, r, by, shown);
        }
    }

    /// An order that the history itself shows.
    fn shown<D: Dependencies>(
        &mut self,
        site: &mut Site<'_, D>,
        order: &ShownOrder,
        way: Known,
    ) -> Known {
        self.made.clear();
        let shown = ShownBy { read: order.shown_by, by_session: false };
        if site.facts.is_list {
            self.write_read(site, false);
        }
        for pair in order.elements.windows(2) {
            site.overwrote(pair[0], pair[1], shown);
        }
        self.in_order(site, &order.seen, shown);
        let initial = site.facts.writes.len();
        if order.unseen_last {
            let last = order.seen.last();
            for &v in &order.unseen {
                last.iter().for_each(|last| site.overwrote(**last, v, shown));
            }
            let last = last.map_or(initial, |last| *last as usize);
            self.all_overwrite(site, last, &order.unseen, shown);
        }
        if order.unseen_last {
            self.extensions(site, order);
        }
        let unread = || order.unseen.iter().all(|&v| !self.readers.any(v as usize));
        match order.unseen.len() {
            0 => way,
            1 if order.unseen_last => way,
            _ if order.unseen_last && unread() => Known::Unread,
            _ => Known::Not,
        }
    }

    /// Appends that no other transaction read, of transactions that had read all that was seen: each of
    /// them made the next version. Of several, all but one were lost. One alone comes before the rest.
    fn extensions<D: Dependencies>(&mut self, site: &mut Site<'_, D>, order: &ShownOrder) {
        self.next.clear();
        let facts = site.facts;
        let last = order.seen.last().map_or(Source::Initial, |last| Source::Write(*last));
        let read = Extended::of(facts, order.unseen.len());
        let extended = |v: &u32| read.by(facts, *v).filter(|read| facts.sources[*read] == last);
        let extensions = order.unseen.iter().filter_map(|v| Some((*v, extended(v)?)));
        let extensions: Vec<(u32, usize)> = extensions.collect();
        self.next.extend(extensions.iter().map(|(v, _)| (0, *v)));
        self.diverge(facts);
        if let [(first, read)] = extensions[..] {
            let shown = ShownBy { read: Some(facts.reads[read].op), by_session: false };
            for &v in order.unseen.iter().filter(|v| **v != first) {
                let version = order.seen.last().map(|last| facts.writes[*last as usize].op);
                let ww = site.overwrite(first, v, shown);
                site.to.add_of_update(Dependency { version, of_update: true, ..ww });
            }
        }
    }

    /// Versions that follow the same one.
    fn diverge(&mut self, facts: &KeyFacts) {
        self.next.sort_unstable();
        let txn = |v: u32| facts.writes[v as usize].txn;
        for same in self.next.chunk_by(|a, b| a.0 == b.0) {
            self.divergent_pairs += pairs(same.len());
            let each = same.windows(2).map(|pair| [txn(pair[0].1), txn(pair[1].1)]);
            self.divergences.extend(each);
        }
    }

    /// The dependencies of versions that follow each other.
    fn in_order<D: Dependencies>(&self, site: &mut Site<'_, D>, versions: &[u32], shown: ShownBy) {
        if let Some(&first) = versions.first() {
            self.overwrites(site, site.facts.writes.len(), first, shown);
        }
        for pair in versions.windows(2) {
            site.overwrote(pair[0], pair[1], shown);
            self.overwrites(site, pair[0] as usize, pair[1], shown);
        }
    }
}

/// How many pairs so many make.
fn pairs(count: usize) -> u64 {
    (count as u64 * (count as u64).saturating_sub(1)) / 2
}

impl<D: Dependencies> Site<'_, D> {
    fn read(&mut self, version: u32, read: usize) {
        let dependency = self.reads(version, read);
        self.to.add(dependency);
    }

    fn read_and_overwrote(&mut self, version: u32, read: usize, made: u32) {
        let (read, overwrote) =
            (self.reads(version, read), self.overwrite(version, made, ShownBy::default()));
        self.to.add_both(read, overwrote);
    }

    fn overwrote(&mut self, first: u32, second: u32, shown: ShownBy) {
        let dependency = self.overwrite(first, second, shown);
        self.to.add(dependency);
    }

    fn reads(&self, version: u32, read: usize) -> Dependency {
        let (write, read) = (&self.facts.writes[version as usize], &self.facts.reads[read]);
        Dependency {
            from: write.txn,
            to: read.txn,
            kind: Edges::WR,
            from_op: write.op,
            to_op: read.op,
            version: None,
            shown_by: None,
            by_session: false,
            of_update: false,
        }
    }

    fn overwrite(&self, first: u32, second: u32, shown: ShownBy) -> Dependency {
        let (first, second) =
            (&self.facts.writes[first as usize], &self.facts.writes[second as usize]);
        Dependency {
            from: first.txn,
            to: second.txn,
            kind: Edges::WW,
            from_op: first.op,
            to_op: second.op,
            version: None,
            shown_by: shown.read,
            by_session: shown.by_session,
            of_update: false,
        }
    }

    fn overwrote_read(&mut self, version: usize, read: usize, by: u32, shown: ShownBy) {
        let (read, write) = (&self.facts.reads[read], &self.facts.writes[by as usize]);
        self.to.add(Dependency {
            from: read.txn,
            to: write.txn,
            kind: Edges::RW,
            from_op: read.op,
            to_op: write.op,
            version: self.facts.writes.get(version).map(|w| w.op),
            shown_by: shown.read,
            by_session: shown.by_session,
            of_update: false,
        });
    }
}
