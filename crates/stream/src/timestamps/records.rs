//! What a batch says of a key, as it is entered when the batch comes and when it is read again from disk.

use isolde_check::timestamps::facts::{
    BatchFacts, BatchKey, BatchRead, BatchWrite, Saw, WriteFate, wrote,
};
use isolde_check::timestamps::rules::{Ordering, Place, Stamps};
use isolde_history::{History, Key, OpId, Outcome, Timestamp, Txn, TxnId, Value};

use super::key_records::{Other, Reader, Version};
use crate::bodies::{AFTER_ALL, Body, TxnRef};
use crate::content::{ListHash, NameId, Word, name_id, word};
use crate::places::Given;

/// Where a transaction stands.
#[derive(Clone, Copy)]
pub(super) struct Stand {
    /// `None` if it does not count, or nothing says where it stands.
    pub(super) place: Option<Place<Timestamp>>,
    pub(super) start: Option<Timestamp>,
    /// `None` if it did not commit, or nothing says when.
    pub(super) commit: Option<Timestamp>,
}

impl Stand {
    /// Where a transaction stands, by its timestamps.
    pub(super) fn of(txn: &Txn<'_>, ordering: Ordering) -> Stand {
        Stand::at(txn, (txn.start_ts(), txn.commit_ts()), ordering)
    }

    /// Where a transaction stands that started and committed then.
    fn at(
        txn: &Txn<'_>,
        (start, commit): (Option<Timestamp>, Option<Timestamp>),
        ordering: Ordering,
    ) -> Stand {
        let nowhere = Stand { place: None, start, commit: None };
        if txn.outcome() != Outcome::Committed {
            return nowhere;
        }
        let wrote = wrote(txn);
        let place = Stamps { start, commit }.place(ordering, wrote);
        if place.is_none() || (wrote && commit.is_none()) {
            return nowhere;
        }
        Stand { place, start, commit }
    }
}

/// Where the transactions of a batch are among the bodies.
#[derive(Clone, Copy)]
pub(crate) enum Kept<'a> {
    /// The batch is the one of this number.
    Batch(u32),
    /// One by one in earlier batches, in the order of arrival.
    Picked(&'a [PickedTxn]),
}

/// A transaction that was taken from an earlier batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PickedTxn {
    pub(crate) txn: TxnRef,
    /// The number of its first operation there.
    pub(crate) first_op: u32,
    /// Whether it came too late to have a place.
    pub(crate) too_late: bool,
}

/// A batch, and where its transactions stand.
pub(super) struct Standing<'b> {
    pub(super) batch: &'b History,
    kept: Kept<'b>,
    pub(super) ordering: Ordering,
    stands: Stands<'b>,
}

/// Where the transactions of a batch stand.
enum Stands<'b> {
    /// Each of them.
    Known(Vec<Stand>),
    /// Of a batch that was read again only few are asked for. By snapshots, with the places that they were given.
    Asked(Option<&'b [Given]>),
}

impl<'b> Standing<'b> {
    pub(super) fn new(batch: &'b History, kept: Kept<'b>, ordering: Ordering) -> Standing<'b> {
        let mut standing = Standing { batch, kept, ordering, stands: Stands::Asked(None) };
        let stands = batch.txns().map(|txn| standing.asked(&txn, None));
        standing.stands = Stands::Known(stands.collect());
        standing
    }

    /// A batch that was read again, with the places that its transactions were given, if they were given any.
    fn again(
        batch: &'b History,
        number: u32,
        ordering: Ordering,
        places: Option<&'b [Given]>,
    ) -> Standing<'b> {
        Standing { batch, kept: Kept::Batch(number), ordering, stands: Stands::Asked(places) }
    }

    /// Where a transaction stands.
    pub(super) fn stand(&self, txn: TxnId) -> Stand {
        match &self.stands {
            Stands::Known(stands) => stands[txn.index()],
            Stands::Asked(places) => self.asked(&self.batch.txn(txn), *places),
        }
    }

    fn asked(&self, txn: &Txn<'_>, places: Option<&[Given]>) -> Stand {
        match places {
            Some(places) => {
                let given = places.get(txn.id().index()).copied().unwrap_or_default();
                Stand::at(txn, (given.start, given.commit), self.ordering)
            }
            None if self.is_too_late(txn.id()) => {
                Stand { place: None, start: txn.start_ts(), commit: None }
            }
            None => Stand::of(txn, self.ordering),
        }
    }

    /// Where each transaction stands, in the order of the batch.
    pub(super) fn stands(&self) -> impl Iterator<Item = Stand> {
        self.batch.txns().map(|txn| self.stand(txn.id()))
    }

    pub(super) fn txn(&self, txn: TxnId) -> TxnRef {
        match self.kept {
            Kept::Batch(number) => TxnRef::new(number, txn),
            Kept::Picked(picked) => picked[txn.index()].txn,
        }
    }

    /// The place of a transaction in the batch.
    pub(super) fn id(&self, txn: TxnRef) -> TxnId {
        match self.kept {
            Kept::Batch(_) => txn.txn(),
            Kept::Picked(picked) => TxnId(picked.partition_point(|p| p.txn < txn) as u32),
        }
    }

    /// Whether a transaction came too late to have a place.
    pub(super) fn is_too_late(&self, txn: TxnId) -> bool {
        matches!(self.kept, Kept::Picked(picked) if picked[txn.index()].too_late)
    }

    /// An operation of a transaction, by its number among the bodies.
    fn op(&self, txn: TxnId, op: OpId) -> u32 {
        match self.kept {
            Kept::Batch(_) => op.0,
            Kept::Picked(picked) => {
                let first = self.batch.txn(txn).op_range().start as u32;
                op.0 - first + picked[txn.index()].first_op
            }
        }
    }
}

/// What one or several batches say of a key.
#[derive(Default)]
pub(super) struct Records {
    /// With the elements that each adds, of a list.
    pub(super) versions: Vec<(Version, Option<ListHash>)>,
    /// The first write of the key by the writer of each version.
    pub(super) first_ops: Vec<OpId>,
    pub(super) readers: Vec<Reader>,
    pub(super) others: Vec<Other>,
    /// Of a list: the elements of all versions, and where those of each end.
    elements: Vec<Word>,
    ends: Vec<usize>,
}

impl Records {
    pub(super) fn clear(&mut self) {
        self.versions.clear();
        self.first_ops.clear();
        self.readers.clear();
        self.others.clear();
        self.elements.clear();
        self.ends.clear();
    }

    /// What a version of a list adds to it.
    pub(super) fn elements(&self, version: usize) -> &[Word] {
        let end = |version: usize| self.ends.get(version).copied().unwrap_or_default();
        &self.elements[version.checked_sub(1).map_or(0, end)..end(version)]
    }

    /// All words that were written: of a list, its elements.
    pub(super) fn words(&self) -> impl Iterator<Item = Word> {
        let plain = self.versions.iter().filter(|(_, block)| block.is_none());
        let plain = plain.map(|(version, _)| version.word);
        let others = self.others.iter().map(|other| other.word);
        plain.chain(self.elements.iter().copied()).chain(others)
    }

    /// Whether they say nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.versions.is_empty() && self.readers.is_empty() && self.others.is_empty()
    }

    /// The bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        self.versions.len() * size_of::<(Version, Option<ListHash>)>()
            + self.readers.len() * size_of::<Reader>()
            + self.others.len() * size_of::<Other>()
            + self.elements.len() * size_of::<Word>()
    }

    /// The earliest time that must be known to enter them.
    pub(super) fn earliest(&self, ordering: Ordering) -> Timestamp {
        let readers = self.readers.iter().map(|reader| reader.at);
        let versions = self.versions.iter().map(|(version, _)| match ordering {
            Ordering::Snapshots => version.start.min(version.commit),
            Ordering::Commits { .. } => version.commit,
        });
        readers.chain(versions).min().unwrap_or(AFTER_ALL)
    }

    /// Adds what a batch says of a key.
    pub(super) fn add(&mut self, facts: &BatchKey<'_, '_>, standing: &Standing<'_>) {
        let pool = standing.batch.pool();
        let mut first = FirstWrite::default();
        for write in facts.writes() {
            let first = first.next(&write);
            let commit = standing.stand(write.txn).commit;
            let written = word(pool, write.value);
            match commit.filter(|_| write.fate == WriteFate::Version) {
                Some(commit) => {
                    self.version(&write, written, commit, facts.is_list(), standing);
                    self.first_ops.resize(self.versions.len(), first);
                }
                None => self.other(&write, written, standing),
            }
        }
        for read in facts.reads() {
            self.read(&read, standing);
        }
    }

    fn version(
        &mut self,
        write: &BatchWrite,
        written: Word,
        commit: Timestamp,
        is_list: bool,
        standing: &Standing<'_>,
    ) {
        if is_list {
            self.elements.push(written);
        }
        if !write.last {
            return;
        }
        let start = match standing.ordering {
            Ordering::Snapshots => standing.stand(write.txn).start.unwrap_or(commit),
            Ordering::Commits { .. } => Timestamp::plain(i64::MIN),
        };
        let version = Version { commit, start, word: written, txn: standing.txn(write.txn) };
        let from = self.ends.last().copied().unwrap_or_default();
        let block = is_list.then(|| ListHash::of(self.elements[from..].iter().copied()));
        if is_list {
            self.ends.push(self.elements.len());
        }
        self.versions.push((version, block));
    }

    fn other(&mut self, write: &BatchWrite, written: Word, standing: &Standing<'_>) {
        let outcome = standing.batch.txn(write.txn).outcome();
        let unknown = write.fate == WriteFate::Unknown
            || (write.fate == WriteFate::Version && outcome == Outcome::Committed);
        let undone = write.fate == WriteFate::Undone;
        self.others.push(Other { word: written, txn: standing.txn(write.txn), unknown, undone });
    }

    fn read(&mut self, read: &BatchRead<'_>, standing: &Standing<'_>) {
        let Some(place) = standing.stand(read.txn).place else { return };
        let pool = standing.batch.pool();
        let (word, not) = match read.saw {
            Saw::Value(value) => (word(pool, value), false),
            Saw::NotValue(value) => (word(pool, value), true),
            Saw::List(elements) => {
                (ListHash::of(elements.iter().map(|e: &Value| word(pool, *e))).word(), false)
            }
        };
        let own = (standing.txn(read.txn), standing.op(read.txn, read.op));
        self.readers.push(Reader::new((place.at, place.inclusive), (word, not), own));
    }
}

/// The first write of a key by the transaction of each write that stays.
#[derive(Default)]
struct FirstWrite(Option<(TxnId, OpId)>);

impl FirstWrite {
    /// The next write, in the order of the batch.
    fn next(&mut self, write: &BatchWrite) -> OpId {
        match self.0 {
            Some((txn, op)) if txn == write.txn => op,
            _ if write.fate == WriteFate::Undone => write.op,
            _ => {
                self.0 = Some((write.txn, write.op));
                write.op
            }
        }
    }
}

/// The key of a name in a batch.
pub(super) fn key_named(batch: &History, name: NameId) -> Option<Key> {
    /// So many names are compared at a time, without asking in between.
    const LANES: usize = 64;
    let (pool, names) = (batch.pool(), batch.pool().key_names());
    let begins = names.chunks(LANES).position(|chunk| match name.bits() {
        Some(bits) => chunk.iter().fold(false, |is_in, other| is_in | (other.to_bits() == bits)),
        None => chunk.iter().any(|other| name_id(pool, *other) == name),
    })?;
    let mut from = (begins * LANES..).zip(&names[begins * LANES..]);
    let (at, _) = from.find(|(_, other)| name_id(pool, **other) == name)?;
    Some(Key(at as u32))
}

/// What a batch that was read again says of a key; `None` if it says nothing, or says that nothing can be known. Says
/// whether the key holds a list.
pub(super) fn read_again(
    body: &Body,
    number: u32,
    of: (NameId, Ordering),
    records: &mut Records,
) -> Option<bool> {
    read_facts(body, number, of, records, BatchFacts::of_one)
}

/// The same of a register, and only of transactions that wrote a word to it.
pub(super) fn read_writers(
    body: &Body,
    number: u32,
    of: (NameId, Ordering),
    written: Word,
    records: &mut Records,
) {
    let facts = |batch, key| {
        let pool = History::pool(batch);
        BatchFacts::of_writers(batch, key, |value| word(pool, value) == written)
    };
    read_facts(body, number, of, records, facts);
}

fn read_facts<'b>(
    body: &'b Body,
    number: u32,
    (name, ordering): (NameId, Ordering),
    records: &mut Records,
    facts: impl FnOnce(&'b History, Key) -> BatchFacts<'b>,
) -> Option<bool> {
    let batch = &body.history;
    let key = key_named(batch, name)?;
    let places = body.places.as_ref().map(|places| &places[..]);
    let standing = Standing::again(batch, number, ordering, places);
    let mut facts = facts(batch, key);
    let facts = facts.of(key);
    records.add(&facts, &standing);
    Some(facts.is_list())
}
