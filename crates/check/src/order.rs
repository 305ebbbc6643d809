//! The order of versions of each key, as far as the history tells, and the dependencies that follow.
//!
//! A transaction that reads a version and then writes the key makes the next version: two versions
//! are adjacent, and whoever else read the first comes before the second. Where every version of a
//! key but the first is made this way, the order is known. So it is where there is one version only,
//! and where one session made them all.

use isolde_history::{History, Key, SessionId, TxnId};
use isolde_spec::Edges;

use crate::graph::EdgeList;
use crate::group::Groups;
use crate::play::Play;
use crate::provenance::{Provenance, Source};

/// Two transactions that read the same version of a key and both overwrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Divergence {
    pub(crate) key: Key,
    /// The writes, as indices of [`Provenance::writes`].
    pub(crate) writes: [u32; 2],
}

/// What is known of the order of versions.
#[derive(Default)]
pub(crate) struct Orders {
    /// wr, ww and rw.
    pub(crate) edges: EdgeList,
    pub(crate) divergences: Vec<Divergence>,
    /// Keys whose versions are not known to be in one order.
    pub(crate) unordered: Vec<Key>,
}

/// Finds the order of every key.
pub(crate) fn find(
    p: &Provenance,
    keys: usize,
    lists: &[ListOrder],
    sessions: Option<&[SessionId]>,
) -> Orders {
    let mut orders = Orders::default();
    let readers = Readers::new(p, keys);
    let mut scratch = Scratch::default();
    let mut lists = lists.iter().peekable();
    for key in 0..keys {
        // A key may have an order by its reads and another one by the recorder: both count.
        let before = orders.unordered.len();
        let (mut is_list, mut complete) = (false, false);
        while let Some(list) = lists.next_if(|list| list.key.index() == key) {
            orders.list(p, list, &readers);
            is_list |= list.unseen_last;
            complete |= list.unseen.len() <= usize::from(list.unseen_last);
        }
        if !is_list {
            orders.key(p, key, &readers, sessions, &mut scratch);
        }
        if complete {
            orders.unordered.truncate(before);
        }
    }
    orders
}

/// The order of versions of a key that the history itself shows: by the reads of a list, or as the
/// recorder gave it.
pub(crate) struct ListOrder {
    pub(crate) key: Key,
    /// The versions in order.
    pub(crate) seen: Vec<u32>,
    /// Who appended each element of a list, in its order: the elements of two transactions may not
    /// alternate.
    pub(crate) elements: Vec<TxnId>,
    /// The versions that the order does not tell.
    pub(crate) unseen: Vec<u32>,
    /// Whether those come after the others, as the unread elements of a list do.
    pub(crate) unseen_last: bool,
}

/// Who read each version.
struct Readers {
    by_write: Groups,
    initial: Groups,
}

impl Readers {
    fn new(p: &Provenance, keys: usize) -> Readers {
        // A read without a source goes to a group that nobody asks for.
        let writes = p.writes.len();
        let by_write = Groups::new(p.reads.len(), writes + 1, |i| match p.sources[i] {
            Source::Write(w) => w as usize,
            _ => writes,
        });
        let initial = Groups::new(p.reads.len(), keys + 1, |i| match p.sources[i] {
            Source::Initial => p.reads[i].key.index(),
            _ => keys,
        });
        Readers { by_write, initial }
    }
}

#[derive(Default)]
struct Scratch {
    /// The versions of the key.
    versions: Vec<u32>,
    /// Versions whose predecessor nothing tells.
    blind: Vec<u32>,
    /// Versions that follow the initial state.
    first: Vec<u32>,
    /// Each version that was overwritten by one that had read it, and by which.
    next: Vec<(u32, u32)>,
}

impl Orders {
    fn key(
        &mut self,
        p: &Provenance,
        key: usize,
        readers: &Readers,
        sessions: Option<&[SessionId]>,
        s: &mut Scratch,
    ) {
        s.versions.clear();
        let visible = |&&w: &&u32| {
            let write = &p.writes[w as usize];
            p.is_version(write)
        };
        s.versions.extend(p.by_key.of(key).iter().filter(visible));
        self.links(p, s);
        self.write_read(p, readers, s);
        let one_session = sessions.is_some_and(|of| {
            let writers = || s.versions.iter().map(|&v| p.writes[v as usize].txn.index());
            let first = writers().next().map(|t| of[t]);
            writers().all(|t| Some(of[t]) == first && p.play[t] == Play::In)
        });
        if one_session && s.versions.len() > 1 && s.next.len() + 1 < s.versions.len() {
            self.in_session_order(p, key, readers, s);
            return;
        }
        self.adjacent(p, key, readers, s);
        let starts = s.blind.len() + s.first.len();
        let known = starts <= 1 && s.next.len() + starts == s.versions.len();
        if !known {
            self.unordered.push(Key(key as u32));
        }
    }

    /// Sorts the versions of a key by how they began.
    fn links(&mut self, p: &Provenance, s: &mut Scratch) {
        s.blind.clear();
        s.first.clear();
        s.next.clear();
        for &v in &s.versions {
            let write = &p.writes[v as usize];
            match write.after.checked_sub(1).map(|read| p.sources[read as usize]) {
                Some(Source::Initial) => s.first.push(v),
                Some(Source::Write(parent)) => s.next.push((parent, v)),
                // It read something, but from nobody that we know.
                Some(Source::None) | None => s.blind.push(v),
            }
        }
        s.next.sort_unstable();
        for pair in s.next.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            let writes = [pair[0].1, pair[1].1];
            self.divergences.push(Divergence { key: p.key(pair[0].1), writes });
        }
        for pair in s.first.windows(2) {
            let writes = [pair[0], pair[1]];
            self.divergences.push(Divergence { key: p.key(pair[0]), writes });
        }
    }

    fn write_read(&mut self, p: &Provenance, readers: &Readers, s: &Scratch) {
        for &v in &s.versions {
            let writer = p.writes[v as usize].txn.0;
            for &read in readers.by_write.of(v as usize) {
                self.edges.push(writer, p.reads[read as usize].txn.0, Edges::WR);
            }
        }
    }

    /// What follows from each version that was read and overwritten by the same transaction.
    fn adjacent(&mut self, p: &Provenance, key: usize, readers: &Readers, s: &Scratch) {
        for &(parent, child) in &s.next {
            let (from, to) = (p.writes[parent as usize].txn.0, p.writes[child as usize].txn.0);
            self.edges.push(from, to, Edges::WW);
            self.overwrites(p, readers.by_write.of(parent as usize), to);
        }
        // The initial state comes before every version: whoever read it comes before those who
        // overwrote it. With many of both, the ones that read it themselves must do.
        let initial = readers.initial.of(key);
        let few = initial.len() * s.blind.len() <= 4 * (initial.len() + s.blind.len()) + 64;
        for &v in s.first.iter().chain(if few { &s.blind[..] } else { &[] }) {
            self.overwrites(p, initial, p.writes[v as usize].txn.0);
        }
    }

    fn overwrites(&mut self, p: &Provenance, readers: &[u32], by: u32) {
        for &read in readers {
            self.edges.push(p.reads[read as usize].txn.0, by, Edges::RW);
        }
    }

    /// A list, in the order that its reads show. What nobody read comes last.
    fn list(&mut self, p: &Provenance, list: &ListOrder, readers: &Readers) {
        for &v in list.seen.iter().chain(&list.unseen) {
            let writer = p.writes[v as usize].txn.0;
            for &read in readers.by_write.of(v as usize) {
                self.edges.push(writer, p.reads[read as usize].txn.0, Edges::WR);
            }
        }
        for pair in list.elements.windows(2) {
            self.edges.push(pair[0].0, pair[1].0, Edges::WW);
        }
        self.in_order(p, list.key.index(), readers, &list.seen);
        for &v in list.unseen.iter().filter(|_| list.unseen_last) {
            let writer = p.writes[v as usize].txn.0;
            match list.seen.last() {
                None => self.overwrites(p, readers.initial.of(list.key.index()), writer),
                Some(&last) => {
                    self.edges.push(p.writes[last as usize].txn.0, writer, Edges::WW);
                    self.overwrites(p, readers.by_write.of(last as usize), writer);
                }
            }
        }
        if list.unseen.len() > usize::from(list.unseen_last) {
            self.unordered.push(list.key);
        }
    }

    /// All versions are of one session, so they follow each other as its transactions do.
    fn in_session_order(&mut self, p: &Provenance, key: usize, readers: &Readers, s: &mut Scratch) {
        s.versions.sort_unstable_by_key(|&v| p.writes[v as usize].txn);
        self.in_order(p, key, readers, &s.versions);
    }

    /// The dependencies of versions that follow each other.
    fn in_order(&mut self, p: &Provenance, key: usize, readers: &Readers, versions: &[u32]) {
        let mut before: Option<u32> = None;
        for &v in versions {
            let writer = p.writes[v as usize].txn.0;
            match before {
                None => self.overwrites(p, readers.initial.of(key), writer),
                Some(parent) => {
                    self.edges.push(p.writes[parent as usize].txn.0, writer, Edges::WW);
                    self.overwrites(p, readers.by_write.of(parent as usize), writer);
                }
            }
            before = Some(v);
        }
    }
}

/// Session order: each transaction that counts before the next one of its session. One of unknown
/// outcome may have committed later than anything that its session did next, so nothing leaves it.
pub(crate) fn session_edges(history: &History, p: &Provenance, edges: &mut EdgeList) {
    for session in 0..history.session_count() as u32 {
        let mut before: Option<TxnId> = None;
        for &txn in history.session(SessionId(session)) {
            if !p.counts(txn) {
                continue;
            }
            if let Some(before) = before {
                edges.push(before.0, txn.0, Edges::SO);
            }
            if p.play[txn.index()] == Play::In {
                before = Some(txn);
            }
        }
    }
}
