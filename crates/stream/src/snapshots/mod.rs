//! The rules of snapshots on a stream: transactions get places by their snapshots, and with these as timestamps they go to
//! the rules of timestamps.
//!
//! A snapshot has its place as soon as it is known ([`shape`]), but a commit only when no snapshot can come any more that
//! might be the first to show it ([`row`]): so a transaction waits until the source has promised, or the timeout says,
//! that nothing comes from before the first snapshot that shows it. SESSION, FRESH and wrong snapshots are judged
//! here; what was read and written is judged there. Small histories have the snapshots, not the places: they are asked
//! by the offline rules of snapshots.

mod feed;
mod fresh;
mod row;
mod sessions;
mod shape;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use hashbrown::HashMap;
use isolde_check::Options;
use isolde_check::timestamps::facts::wrote;
use isolde_history::{Clock, History, OpKind, Outcome, Timestamp, Txn, TxnDraft};
use isolde_spec::{Axiom, Promise};

use crate::bodies::TxnRef;
use crate::content::{NameId, name_id};
use fresh::Fresh;
use row::{Added, SnapshotRow};
use sessions::{Sessions, Step, Unseen};
pub(crate) use shape::Shape;
use shape::{Number, Rank};

/// A transaction that goes on to the rules of timestamps.
#[derive(Clone, Copy, Debug)]
struct Ready {
    txn: TxnRef,
    start: Option<Timestamp>,
    commit: Option<Timestamp>,
    /// Whether it should have a place and can have none any more.
    too_late: bool,
    /// Whether there is nothing to judge in it.
    empty: bool,
}

impl Ready {
    fn without_place(txn: TxnRef) -> Ready {
        Ready { txn, start: None, commit: None, too_late: false, empty: false }
    }
}

/// What is said of transactions as they come.
enum Notice {
    /// This rule may be broken by the first of these that breaks it, as the others show.
    Suspect { axiom: Axiom, txns: Vec<TxnRef>, involved: Vec<TxnRef> },
    /// Something stays unknown.
    Doubt(&'static str),
}

/// Why nothing is judged any more.
enum Halt {
    /// Two snapshots, each of which shows what the other does not, as far as it is known which transactions show that.
    Apart([(Arc<Shape>, TxnRef); 2]),
    Over,
}

/// The state of a stream by snapshots.
pub(crate) struct Snapshots {
    row: SnapshotRow,
    /// What binds sessions, if that is asked for.
    sessions: Option<Sessions>,
    fresh: Fresh,
    /// By how much clocks of clients may differ.
    skew: i64,
    /// Transactions that wait for their commits to get a place, with their snapshots.
    writers: HashMap<TxnRef, Rank>,
    /// Transactions without a number that wait until their snapshots are swept.
    readers: BTreeSet<(Rank, TxnRef)>,
    /// When snapshots came: the newest of each batch.
    came: VecDeque<(i64, Rank)>,
    ready: Vec<Ready>,
    /// A transaction on its way.
    draft: TxnDraft,
    notices: Vec<Notice>,
    halt: Option<Halt>,
    /// Whether rows were deleted, rows were inserted, and writers have an unknown outcome.
    again: [bool; 3],
    /// Whether transactions have timestamps: then promises speak of those.
    timed: bool,
}

/// How many snapshots that have been swept are kept, what each takes about, and which part of the memory they may take.
const KEPT: std::ops::RangeInclusive<usize> = 1 << 10..=1 << 16;
const A_SNAPSHOT: usize = 512;
const SHARE: usize = 16;

const APART: &str =
    "two snapshots each show what the other does not: nothing else is judged by them";
const SHARED: &str = "two transactions have one number: the server was started again between them, or they ran on \
                      different servers";
const AGAIN: &str = "rows are deleted and inserted, and the outcomes of some writers are unknown: which rows could be \
                     inserted again is not known";
const FORGOTTEN: &str =
    "a transaction came so late that the snapshots around its own are not kept any more";

impl Snapshots {
    /// Begins with what the first batch says of the run.
    pub(crate) fn new(promise: Promise, batch: &History, memory: usize) -> Snapshots {
        let kept = kept_of(memory);
        let events = batch.meta().clock == Clock::Events;
        Snapshots {
            row: SnapshotRow::new(kept),
            sessions: promise.session_order.then(Sessions::default),
            fresh: Fresh::new(kept),
            skew: if events { 0 } else { Options::default().clock_skew },
            writers: HashMap::new(),
            readers: BTreeSet::new(),
            came: VecDeque::new(),
            ready: Vec::new(),
            draft: TxnDraft::default(),
            notices: Vec::new(),
            halt: None,
            again: [false; 3],
            timed: false,
        }
    }

    /// From now on there is so much memory.
    pub(crate) fn limit(&mut self, memory: usize) {
        self.row.limit(kept_of(memory));
        self.fresh.limit(kept_of(memory));
    }

    /// What a promise says of places; nothing where it speaks of timestamps.
    pub(crate) fn promised(&self, mark: Timestamp) -> Option<Timestamp> {
        Rank::promised(mark).filter(|_| !self.timed).map(Rank::start)
    }

    /// The place of a transaction, for promises.
    pub(crate) fn place(txn: &Txn<'_>) -> Option<Timestamp> {
        shape_of(txn).map(|shape| shape.start())
    }

    /// The snapshots of a batch.
    pub(crate) fn shapes(batch: &History) -> Vec<Option<Shape>> {
        batch.txns().map(|txn| shape_of(&txn)).collect()
    }

    /// A batch has come, which is among the bodies already, with its snapshots.
    pub(crate) fn arrive(
        &mut self,
        batch: &History,
        shapes: Vec<Option<Shape>>,
        number: u32,
        now: i64,
    ) {
        let mut newest = Rank::FIRST;
        for (txn, shape) in batch.txns().zip(shapes) {
            self.timed |= txn.start_ts().is_some() || txn.commit_ts().is_some();
            let own = TxnRef::new(number, txn.id());
            let shape = shape.map(Arc::new);
            newest = shape.as_ref().map_or(newest, |shape| newest.max(shape.rank));
            let session = name_id(batch.pool(), batch.pool().session_name(txn.session()));
            self.arrive_one(&txn, (own, session), shape);
        }
        self.came.push_back((now, newest));
        self.inserted_again(batch);
    }

    /// Which rows could be inserted again is not known if it is not known which deletes were committed.
    fn inserted_again(&mut self, batch: &History) {
        let has = |kind: OpKind| batch.has_ops(kind);
        let unknown = |txn: Txn<'_>| txn.outcome() == Outcome::Unknown && wrote(&txn);
        let before = self.again;
        self.again[0] |= has(OpKind::Delete);
        self.again[1] |= has(OpKind::InsertIfAbsent);
        self.again[2] = self.again[2] || batch.txns().any(unknown);
        if self.again == [true; 3] && before != self.again {
            self.notices.push(Notice::Doubt(AGAIN));
        }
    }

    fn arrive_one(
        &mut self,
        txn: &Txn<'_>,
        (own, session): (TxnRef, NameId),
        shape: Option<Arc<Shape>>,
    ) {
        let unplaced = Ready::without_place(own);
        if txn.outcome() == Outcome::Aborted {
            return self.ready.push(unplaced);
        }
        let number = txn.xid().map(|number| (txn.restart(), number));
        number.into_iter().for_each(|number| self.numbered(number, own));
        let certain = txn.outcome() == Outcome::Committed;
        let Some(shape) = shape else {
            // Without operations it has seen nothing.
            return self.ready.push(Ready { empty: txn.ops().len() == 0, ..unplaced });
        };
        // What was read of it before is not judged by it any more.
        let no_place = Ready { too_late: certain, ..unplaced };
        if self.halt.is_some() {
            return self.ready.push(no_place);
        }
        let added = self.row.add(&shape, own, certain);
        match added {
            Added::Apart(other, owner) => {
                self.ready.push(no_place);
                return self.apart((other, owner), (shape, own));
            }
            _ if !certain => {
                if added == Added::TooLate {
                    self.notices.push(Notice::Doubt(FORGOTTEN));
                }
                return self.ready.push(unplaced);
            }
            Added::Placed | Added::TooLate => {}
        }
        if number.is_some_and(|number| shape.shows(number)) {
            self.suspect(Axiom::Snapshots, vec![own], Vec::new());
        }
        // A number without a write does not say that anything was committed.
        let wrote = number.filter(|_| wrote(txn));
        self.in_session(&Step { session, txn: own, shape: &shape, wrote });
        if added == Added::TooLate {
            return self.ready.push(no_place);
        }
        let commit = number.map(|number| self.row.commit(number, own, &shape));
        self.hold(own, shape.rank, commit);
    }

    /// A transaction waits for its place: that of its commit, or if it has no number, that of its snapshot.
    fn hold(&mut self, txn: TxnRef, rank: Rank, commit: Option<Result<Option<Timestamp>, ()>>) {
        match commit {
            Some(Ok(None)) => _ = self.writers.insert(txn, rank),
            Some(Ok(commit)) => self.go_on(txn, rank, commit),
            Some(Err(())) => {
                self.ready.push(Ready { too_late: true, ..Ready::without_place(txn) });
            }
            None if self.row.is_swept(rank) => self.go_on(txn, rank, None),
            None => _ = self.readers.insert((rank, txn)),
        }
    }

    /// A transaction has its place, and goes on.
    fn go_on(&mut self, txn: TxnRef, rank: Rank, commit: Option<Timestamp>) {
        let start = self.row.start(rank);
        let too_late = start.is_none();
        let commit = commit.filter(|_| !too_late);
        self.ready.push(Ready { start, commit, too_late, ..Ready::without_place(txn) });
    }

    /// SESSION.
    fn in_session(&mut self, step: &Step<'_>) {
        let Some(sessions) = &mut self.sessions else { return };
        match sessions.step(step, &self.row) {
            Unseen::Nothing => {}
            Unseen::These(involved) => self.suspect(Axiom::Session, vec![step.txn], involved),
            Unseen::Unknown => self.notices.push(Notice::Doubt(FORGOTTEN)),
        }
    }

    /// A number has become known.
    fn numbered(&mut self, number: Number, txn: TxnRef) {
        if !self.row.number(number, txn) && self.halt.is_none() {
            self.stop(Halt::Over, SHARED);
        }
        let back = self.sessions.as_mut().map(|sessions| sessions.numbered(number, txn));
        for (txn, involved) in back.into_iter().flatten() {
            self.suspect(Axiom::Session, vec![txn], involved);
        }
        self.tell_apart();
    }

    /// Two snapshots are in no row.
    fn apart(&mut self, first: (Arc<Shape>, TxnRef), second: (Arc<Shape>, TxnRef)) {
        self.stop(Halt::Apart([first, second]), APART);
        self.tell_apart();
    }

    /// From now on nothing has a place any more, nor has what waits for one.
    fn stop(&mut self, halt: Halt, why: &'static str) {
        self.halt = Some(halt);
        self.notices.push(Notice::Doubt(why));
        let readers = std::mem::take(&mut self.readers).into_iter().map(|(_, txn)| txn);
        let writers = std::mem::take(&mut self.writers).into_iter().map(|(txn, _)| txn);
        let unplaced = |txn| Ready { too_late: true, ..Ready::without_place(txn) };
        self.ready.extend(readers.chain(writers).map(unplaced));
    }

    /// Tells two snapshots that are in no row, once transactions are known that show it.
    fn tell_apart(&mut self) {
        let Some(Halt::Apart([first, second])) = &self.halt else { return };
        let between = |a: &Shape, b: &Shape| self.row.between(a, b);
        if let (Some(a), Some(b)) = (between(&first.0, &second.0), between(&second.0, &first.0)) {
            let txns = vec![first.1, second.1];
            self.suspect(Axiom::Snapshots, txns, vec![a, b]);
            self.halt = Some(Halt::Over);
        }
    }

    fn suspect(&mut self, axiom: Axiom, txns: Vec<TxnRef>, involved: Vec<TxnRef>) {
        self.notices.push(Notice::Suspect { axiom, txns, involved });
    }

    /// No snapshot comes any more from before a promised place, nor, if there is a time, from before the newest that had
    /// come by then.
    pub(crate) fn advance(&mut self, promised: Option<Timestamp>, time: Option<i64>) {
        let mut to = promised.map_or(Rank::FIRST, Rank::of_start);
        while let Some((came, newest)) = self.came.front()
            // What is promised anyway needs no time.
            && (*newest <= to || time.is_some_and(|time| *came <= time))
        {
            to = to.max(*newest);
            self.came.pop_front();
        }
        self.sweep(to);
    }

    /// Nothing comes any more.
    pub(crate) fn finish(&mut self) {
        self.sweep(Rank::LAST);
    }

    fn sweep(&mut self, to: Rank) {
        if self.halt.is_some() {
            return;
        }
        for (txn, commit) in self.row.sweep(to) {
            if let Some(rank) = self.writers.remove(&txn) {
                self.go_on(txn, rank, Some(commit));
            }
        }
        while let Some(&(rank, txn)) = self.readers.first()
            && self.row.is_swept(rank)
        {
            self.readers.pop_first();
            self.go_on(txn, rank, None);
        }
        self.row.forget();
    }

    /// Whether nothing is judged any more.
    pub(crate) fn is_halted(&self) -> bool {
        self.halt.is_some()
    }

    /// Whether that is because snapshots or numbers contradict each other. If not, no transaction that is known shows
    /// that the two snapshots in question do.
    pub(crate) fn contradict(&self) -> bool {
        matches!(self.halt, Some(Halt::Over))
    }

    /// Everything that stands before this is final.
    pub(crate) fn low(&self) -> Option<Timestamp> {
        let swept = self.row.swept();
        (swept != Rank::FIRST).then(|| Timestamp { logical: 1, ..swept.start() })
    }

    /// How many transactions wait.
    pub(crate) fn waiting(&self) -> u64 {
        (self.writers.len() + self.readers.len()) as u64
    }

    /// Whether a transaction waits for the place of its commit.
    pub(crate) fn waits(&self, txn: TxnRef) -> bool {
        self.writers.contains_key(&txn)
    }

    /// The bytes that it takes, about.
    pub(crate) fn heap_bytes(&self) -> usize {
        let sessions = self.sessions.as_ref().map_or(0, Sessions::heap_bytes);
        self.row.heap_bytes()
            + self.fresh.heap_bytes()
            + sessions
            + self.waiting() as usize * 2 * size_of::<(Rank, TxnRef)>()
    }
}

/// How many snapshots that have been swept are kept, of so much memory.
fn kept_of(memory: usize) -> usize {
    (memory / SHARE / A_SNAPSHOT).clamp(*KEPT.start(), *KEPT.end())
}

/// The snapshot of a transaction.
fn shape_of(txn: &Txn<'_>) -> Option<Shape> {
    Shape::new(txn.restart(), &txn.snapshot()?)
}
