//! What a batch says of a key, as it is entered when the batch comes and when it is read again from disk.

use isolde_check::timestamps::facts::{
    BatchFacts, BatchKey, BatchRead, BatchWrite, Saw, WriteFate, wrote,
};
use isolde_check::timestamps::rules::{Ordering, Place, Stamps};
use isolde_history::{History, Key, Outcome, Timestamp, Txn, TxnId, Value};

use super::key_records::{Other, Reader, Version};
use crate::bodies::{AFTER_ALL, TxnRef};
use crate::content::{ListHash, NameId, Word, name_id, word};

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
        let (start, commit) = (txn.start_ts(), txn.commit_ts());
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

/// A batch, and where its transactions stand.
pub(super) struct Standing<'b> {
    pub(super) batch: &'b History,
    pub(super) number: u32,
    pub(super) ordering: Ordering,
    pub(super) stands: Vec<Stand>,
}

impl<'b> Standing<'b> {
    pub(super) fn new(batch: &'b History, number: u32, ordering: Ordering) -> Standing<'b> {
        let stands = batch.txns().map(|txn| Stand::of(&txn, ordering)).collect();
        Standing { batch, number, ordering, stands }
    }

    pub(super) fn txn(&self, txn: TxnId) -> TxnRef {
        TxnRef::new(self.number, txn)
    }
}

/// What one or several batches say of a key.
#[derive(Default)]
pub(super) struct Records {
    /// With the elements that each adds, of a list.
    pub(super) versions: Vec<(Version, Option<ListHash>)>,
    pub(super) readers: Vec<Reader>,
    pub(super) others: Vec<Other>,
    /// The elements of the version under way.
    block: Vec<Word>,
}

impl Records {
    pub(super) fn clear(&mut self) {
        self.versions.clear();
        self.readers.clear();
        self.others.clear();
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
        for write in facts.writes() {
            let commit = standing.stands[write.txn.index()].commit;
            let written = word(pool, write.value);
            match commit.filter(|_| write.fate == WriteFate::Version) {
                Some(commit) => self.version(&write, written, commit, facts.is_list(), standing),
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
            self.block.push(written);
        }
        if !write.last {
            return;
        }
        let start = match standing.ordering {
            Ordering::Snapshots => standing.stands[write.txn.index()].start.unwrap_or(commit),
            Ordering::Commits { .. } => Timestamp::plain(i64::MIN),
        };
        let version = Version { commit, start, word: written, txn: standing.txn(write.txn) };
        let block = is_list.then(|| ListHash::of(self.block.drain(..)));
        self.versions.push((version, block));
    }

    fn other(&mut self, write: &BatchWrite, written: Word, standing: &Standing<'_>) {
        let outcome = standing.batch.txn(write.txn).outcome();
        let unknown = write.fate == WriteFate::Unknown
            || (write.fate == WriteFate::Version && outcome == Outcome::Committed);
        self.others.push(Other { word: written, txn: standing.txn(write.txn), unknown });
    }

    fn read(&mut self, read: &BatchRead<'_>, standing: &Standing<'_>) {
        let Some(place) = standing.stands[read.txn.index()].place else { return };
        let pool = standing.batch.pool();
        let (word, not) = match read.saw {
            Saw::Value(value) => (word(pool, value), false),
            Saw::NotValue(value) => (word(pool, value), true),
            Saw::List(elements) => {
                (ListHash::of(elements.iter().map(|e: &Value| word(pool, *e))).word(), false)
            }
        };
        self.readers.push(Reader {
            at: place.at,
            inclusive: place.inclusive,
            not,
            wrong: false,
            is_final: false,
            flipped: false,
            doubt: false,
            told: None,
            word,
            txn: standing.txn(read.txn),
            op: read.op.0,
        });
    }
}

/// The key of a name in a batch.
pub(super) fn key_named(batch: &History, name: NameId) -> Option<Key> {
    let pool = batch.pool();
    let at = pool.key_names().iter().position(|other| name_id(pool, *other) == name)?;
    Some(Key(at as u32))
}

/// What a batch that was read again says of a key; `None` if it says nothing, or says that nothing can be known. Says
/// whether the key holds a list.
pub(super) fn read_again(
    batch: &History,
    number: u32,
    (name, ordering): (NameId, Ordering),
    records: &mut Records,
) -> Option<bool> {
    let key = key_named(batch, name)?;
    let standing = Standing::new(batch, number, ordering);
    let mut facts = BatchFacts::of_one(batch, key);
    let facts = facts.of(key);
    records.add(&facts, &standing);
    Some(facts.is_list())
}
