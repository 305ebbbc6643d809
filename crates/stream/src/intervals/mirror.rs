//! The mirror: what is known of all rows and transactions, and the order in which they are decided.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::{HashMap, HashSet};
use isolde_spec::{Certifier, LockScope, Profile};

use super::breach::{Breach, Broken, Tally};
use super::conflicts::Conflicts;
use super::content::Content;
use super::predicates::Predicates;
use super::ranges::Ranges;
use super::row::{Place, Row, RowVersion, TraceNo, may_have_committed};
use super::span::Span;
use super::topology::Topology;
use super::trace::{DATABASE, Fate, Trace, Turn, Write};
use crate::content::NameId;

/// Of so many transactions that were decided, what is over is forgotten at once.
pub(super) const FORGET_EVERY: u32 = 1 << 12;

/// A transaction while it is decided.
pub(super) struct Deciding {
    pub(super) no: TraceNo,
    pub(super) trace: Trace,
    /// Its snapshot, as far as its reads tell.
    pub(super) snapshot: Option<Span>,
    /// What each read certainly saw.
    pub(super) saw: Vec<Option<Place>>,
}

/// The mechanisms of a server, mirrored.
pub(crate) struct Mirror {
    pub(super) profile: Profile,
    pub(super) rows: HashMap<NameId, Row>,
    /// Those that are not decided yet.
    entered: HashMap<TraceNo, Trace>,
    /// Rows of which something may be forgotten later.
    touched: HashSet<NameId>,
    waiting: BinaryHeap<Reverse<(Turn, TraceNo)>>,
    next: TraceNo,
    pub(super) topology: Topology,
    pub(super) conflicts: Conflicts,
    pub(super) ranges: Ranges,
    pub(super) predicates: Predicates,
    pub(super) tally: Tally,
    pub(super) found: Vec<Breach>,
    /// What rows hold at first, if nothing is said of one.
    pub(super) default: Content,
    since_forgotten: u32,
    pub(super) forget_every: u32,
    /// When the last of those that are decided had ended.
    decided_until: Option<i64>,
}

impl Mirror {
    pub(crate) fn new(profile: Profile, default: Content) -> Mirror {
        Mirror {
            profile,
            rows: HashMap::new(),
            entered: HashMap::new(),
            touched: HashSet::new(),
            waiting: BinaryHeap::new(),
            next: 0,
            topology: Topology::default(),
            conflicts: Conflicts::default(),
            ranges: Ranges::default(),
            predicates: Predicates::default(),
            tally: Tally::default(),
            found: Vec::new(),
            default,
            since_forgotten: 0,
            forget_every: FORGET_EVERY,
            decided_until: None,
        }
    }

    /// What a row holds at first.
    pub(crate) fn begin_row(&mut self, row: NameId, content: Content) {
        self.rows.insert(row, Row::new(content));
    }

    /// What has been found since the last time.
    pub(crate) fn take_found(&mut self) -> Vec<Breach> {
        std::mem::take(&mut self.found)
    }

    /// How much could be decided so far.
    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    /// When the last transaction that was decided had ended: what began by then comes too late.
    pub(crate) fn decided_until(&self) -> Option<i64> {
        self.decided_until
    }

    /// Those that wait.
    pub(super) fn waiting_traces(&self) -> impl Iterator<Item = &Trace> {
        self.entered.values()
    }

    /// How many transactions wait, how many rows and versions are kept, and how many dependencies.
    pub(crate) fn kept(&self) -> [usize; 4] {
        let versions = self.rows.values().map(|row| row.versions.len()).sum();
        [self.entered.len(), self.rows.len(), versions, self.topology.size().1]
    }

    /// A transaction has come.
    pub(crate) fn enter(&mut self, mut trace: Trace) {
        let no = self.next;
        self.next += 1;
        self.write_database(&mut trace);
        self.ranges.are_said |= !trace.ranges.is_empty();
        if may_have_committed(trace.fate) {
            for write in &trace.writes {
                let version = RowVersion {
                    writer: no,
                    txn: trace.txn,
                    op: write.op,
                    content: write.content.clone(),
                    rank: rank(&self.profile, &trace, write),
                    commit: trace.commit,
                    snapshot: trace.snapshot,
                    decided: false,
                    is_certain: trace.fate == Fate::Committed,
                    inserts: write.inserts,
                    is_locked: self.profile.locks != LockScope::None,
                    readers: Vec::new(),
                };
                self.row_mut(write.row).insert(version);
            }
        }
        self.waiting.push(Reverse((trace.turn, no)));
        self.entered.insert(no, trace);
    }

    /// Where only one transaction writes at a time, all of them write the database.
    fn write_database(&self, trace: &mut Trace) {
        let whole = self.profile.locks == LockScope::Database && self.profile.first_updater_wins;
        let first = trace.writes.iter().min_by_key(|write| write.locked).cloned();
        if let Some(first) = first.filter(|_| whole) {
            let content = Content::Unknown;
            trace.writes.push(Write { row: DATABASE, content, inserts: false, ..first });
        }
    }

    /// What is known of a row.
    pub(super) fn row(&self, row: NameId) -> Option<&Row> {
        self.rows.get(&row)
    }

    /// A row to which something is added.
    pub(super) fn row_mut(&mut self, row: NameId) -> &mut Row {
        self.touched.insert(row);
        self.rows.entry(row).or_insert_with(|| Row::new(self.default.clone()))
    }

    /// Everything has come that began before a time: what ended before is decided.
    pub(crate) fn decide_before(&mut self, time: i64) {
        while let Some(Reverse((turn, no))) = self.waiting.peek().copied()
            && turn.ended < time
        {
            self.waiting.pop();
            self.decide(no);
            self.since_forgotten += 1;
            if self.since_forgotten >= self.forget_every {
                self.since_forgotten = 0;
                self.forget(time);
            }
        }
    }

    /// Nothing more will come.
    pub(crate) fn finish(&mut self) {
        while let Some(Reverse((_, no))) = self.waiting.pop() {
            self.decide(no);
        }
    }

    fn decide(&mut self, no: TraceNo) {
        let Some(trace) = self.entered.remove(&no) else { return };
        let mut txn = Deciding { no, trace, snapshot: None, saw: Vec::new() };
        let committed = txn.trace.fate == Fate::Committed;
        self.decided_until = self.decided_until.max(Some(txn.trace.turn.ended));
        self.tally.txns += 1;
        self.tally.committed += u64::from(committed);
        self.judge_reads(&mut txn);
        if self.profile.locks != LockScope::None {
            self.exclude(&txn);
            self.exclude_inserts(&txn);
        }
        self.note_decided(&txn);
        if committed && self.profile.first_updater_wins {
            self.only_one_updates(&txn);
        }
        if committed {
            self.count_pairs(&txn);
        }
        if committed && self.profile.certifier != Certifier::None {
            self.certify(&txn);
        }
    }

    /// From now on its versions are those of a transaction that has been decided.
    fn note_decided(&mut self, txn: &Deciding) {
        let unlocked = self.profile.locks == LockScope::None && self.profile.idle_updates_vanish;
        let turn = txn.trace.turn;
        let meanwhile = Span { sent: turn.began, answered: turn.ended };
        let snapshot = txn.trace.snapshot.unwrap_or(meanwhile);
        for write in &txn.trace.writes {
            let Some(row) = self.rows.get_mut(&write.row) else { continue };
            let place = row.place_of(txn.no);
            if let Some(place) = place.filter(|at| unlocked && row.is_old_content(*at, snapshot)) {
                // It may have written nothing, as its snapshot had that already; others wrote meanwhile.
                row.doubt(place);
            }
            let own = row.versions.iter_mut().rev().find(|version| version.writer == txn.no);
            if let Some(own) = own {
                (own.decided, own.snapshot) = (true, txn.snapshot);
            }
        }
    }

    /// Versions that follow each other: whether they have one order by their commits alone, and at all.
    fn count_pairs(&mut self, txn: &Deciding) {
        let (no, trace) = (txn.no, &txn.trace);
        for write in trace.writes.iter().filter(|write| write.row != DATABASE) {
            let Some(row) = self.rows.get(&write.row) else { continue };
            let Some(place) = row.place_of(no) else { continue };
            let Some(before) = row.last_but_one(place) else { continue };
            let apart = before.commit.must_precede(trace.commit);
            self.tally.overlapped += u64::from(!apart);
            self.tally.pairs.count(apart || row.are_ordered(before, place));
        }
    }

    /// Forgets what nothing needs that is still to be decided. Everything that began before a time has come.
    fn forget(&mut self, time: i64) {
        let open = self.waiting.iter().map(|Reverse((turn, _))| turn.began).min();
        let horizon = open.map_or(time, |open| open.min(time));
        self.ranges.forget(horizon);
        // Of two anti-dependencies in a row the first may come when the last has long committed.
        let since = match self.profile.certifier {
            Certifier::Ssi => self.topology.oldest_beginning(horizon).min(horizon),
            _ => horizon,
        };
        self.topology.forget(|member| member.ended < since);
        let Mirror { rows, topology, touched, conflicts, .. } = self;
        conflicts.forget(|no| topology.member(no).is_some());
        touched.retain(|name| {
            let Some(row) = rows.get_mut(name) else { return false };
            row.forget(horizon, |reader| topology.member(reader).is_some());
            !row.is_at_rest()
        });
    }

    pub(super) fn tell(&mut self, trace: &Trace, what: Broken) {
        self.found.push(Breach { txn: trace.txn, what });
    }
}

/// When a version was there at the latest: its writer had its lock then. Where nothing is locked and the first committer
/// wins, of two writers one had committed before the other took its snapshot, so that a snapshot is as good as a lock.
fn rank(profile: &Profile, trace: &Trace, write: &Write) -> i64 {
    match profile.locks {
        LockScope::None => {
            let snapshot = trace.snapshot.filter(|_| profile.first_updater_wins);
            snapshot.map_or(trace.commit.answered, |snapshot| snapshot.answered)
        }
        _ => write.locked,
    }
}
