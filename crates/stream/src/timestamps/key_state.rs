//! What is in memory of one key: its versions in the order of commits, and what read it, in the order of places.
//!
//! A late version changes what is right for the readers between it and the next version, and for no others. Of a list,
//! it changes every later version, too.

use isolde_check::timestamps::rules::Place;
use isolde_history::Timestamp;
use isolde_spec::Anomaly;

use crate::bodies::TxnRef;
use crate::content::{ListHash, Word};
use crate::divider;

/// A version of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version {
    pub(crate) commit: Timestamp,
    /// The start of its writer; in commit order it does not matter, and is before all.
    pub(crate) start: Timestamp,
    /// The value; of a list, all elements up to and with this version's.
    pub(crate) word: Word,
    pub(crate) txn: TxnRef,
}

/// A read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    pub(crate) at: Timestamp,
    pub(crate) inclusive: bool,
    /// Whether it saw anything but the word.
    pub(crate) not: bool,
    pub(crate) wrong: bool,
    /// Whether its verdict is final.
    pub(crate) is_final: bool,
    /// Whether its verdict has changed before.
    pub(crate) flipped: bool,
    /// Whether it stays unknown if it is right.
    pub(crate) doubt: bool,
    /// What it was told to be.
    pub(crate) told: Option<Anomaly>,
    pub(crate) word: Word,
    pub(crate) txn: TxnRef,
    /// The operation, in its batch.
    pub(crate) op: u32,
}

/// A write that left no version: overwritten, rolled back, or of unknown outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Other {
    pub(crate) word: Word,
    pub(crate) txn: TxnRef,
    pub(crate) unknown: bool,
}

/// What is in memory of one key.
#[derive(Debug)]
pub(crate) struct KeyState {
    /// By commit, then by arrival.
    pub(crate) versions: Vec<Version>,
    /// Of a list: the elements that each version adds, and all up to and with them.
    blocks: Vec<(ListHash, ListHash)>,
    /// By place, then by arrival.
    pub(crate) readers: Vec<Reader>,
    pub(crate) others: Vec<Other>,
    /// What was there before the first version.
    pub(crate) first: Word,
    /// Of a list: what was there before the first version that is in memory.
    before: ListHash,
    pub(crate) is_list: Option<bool>,
    /// Nothing is judged any more, because it is not known which versions the key had.
    pub(crate) doubtful: bool,
    /// How many readers are wrong.
    pub(crate) wrong: u32,
    /// Of a list: whether the timestamps of a writer contradict each other, so that it may see itself.
    bad: bool,
    /// Whether an operation on it was ever refused: what that saw may be any version.
    pub(crate) refused: bool,
}

impl Reader {
    pub(crate) fn place(&self) -> Place<Timestamp> {
        Place { at: self.at, inclusive: self.inclusive }
    }

    fn order(&self) -> (Timestamp, bool, TxnRef, u32) {
        (self.at, self.inclusive, self.txn, self.op)
    }

    fn accepts(&self, word: Word) -> bool {
        (word == self.word) != self.not
    }
}

impl KeyState {
    pub(crate) fn new(first: Word) -> KeyState {
        KeyState {
            versions: Vec::new(),
            blocks: Vec::new(),
            readers: Vec::new(),
            others: Vec::new(),
            first,
            before: ListHash::EMPTY,
            is_list: None,
            doubtful: false,
            wrong: 0,
            bad: false,
            refused: false,
        }
    }

    /// The bytes that it takes beside itself.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.versions.capacity() * size_of::<Version>()
            + self.blocks.capacity() * size_of::<(ListHash, ListHash)>()
            + self.readers.capacity() * size_of::<Reader>()
            + self.others.capacity() * size_of::<Other>()
    }

    /// Enters a version of a register, and says where.
    pub(crate) fn add_version(&mut self, version: Version) -> usize {
        let at = self.place_of(&version);
        self.versions.insert(at, version);
        at
    }

    /// Enters a version of a list, and says where. All later versions have its elements, too.
    pub(crate) fn add_block(&mut self, version: Version, block: ListHash) -> usize {
        let at = self.place_of(&version);
        self.bad |= version.start >= version.commit;
        self.versions.insert(at, version);
        let mut list = at.checked_sub(1).map_or(self.before, |before| self.blocks[before].1);
        self.blocks.insert(at, (block, list));
        for (version, (block, all)) in self.versions[at..].iter_mut().zip(&mut self.blocks[at..]) {
            list = list.then(*block);
            *all = list;
            version.word = list.word();
        }
        at
    }

    fn place_of(&self, version: &Version) -> usize {
        let order = |v: &Version| (v.commit, v.txn);
        match self.versions.last() {
            Some(last) if order(last) > order(version) => {
                self.versions.partition_point(|v| order(v) < order(version))
            }
            _ => self.versions.len(),
        }
    }

    /// Enters a reader, which is judged by what is there.
    pub(crate) fn add_reader(&mut self, mut reader: Reader) -> bool {
        reader.wrong = !self.is_right(&reader);
        self.wrong += u32::from(reader.wrong);
        self.refused |= reader.not;
        let at = match self.readers.last() {
            Some(last) if last.order() > reader.order() => {
                self.readers.partition_point(|r| r.order() < reader.order())
            }
            _ => self.readers.len(),
        };
        self.readers.insert(at, reader);
        reader.wrong
    }

    /// How many versions a place sees.
    pub(crate) fn count(&self, place: Place<Timestamp>) -> usize {
        match self.versions.last() {
            Some(last) if !place.sees(last.commit) => {
                // Most readers stand near the end.
                let near = self.versions.len().saturating_sub(8);
                match place.sees(self.versions[near].commit) {
                    true => near + self.versions[near..].partition_point(|v| place.sees(v.commit)),
                    false => self.versions[..near].partition_point(|v| place.sees(v.commit)),
                }
            }
            _ => self.versions.len(),
        }
    }

    /// The newest versions among the first so many of which not all are the reader's own: several if they have one commit
    /// timestamp, none if the initial state is visible.
    pub(crate) fn newest(&self, count: usize, reader: TxnRef) -> &[Version] {
        let mut end = count;
        while let Some(last) = end.checked_sub(1) {
            let commit = self.versions[last].commit;
            let same = self.versions[..end].iter().rev().take_while(|v| v.commit == commit).count();
            if same > 1 || self.versions[last].txn != reader {
                return &self.versions[end - same..end];
            }
            end -= same;
        }
        &[]
    }

    /// In commit order: the versions that were committed when a reader that wrote was.
    pub(crate) fn tied(&self, count: usize, place: Place<Timestamp>) -> &[Version] {
        let after = &self.versions[count..];
        if place.inclusive {
            return &[];
        }
        &after[..after.iter().take_while(|v| v.commit == place.at).count()]
    }

    /// Whether a reader saw what it should have seen, at first sight: one that did not is looked at again by the rules
    /// for whole histories.
    pub(crate) fn is_right(&self, reader: &Reader) -> bool {
        let count = self.count(reader.place());
        if self.is_list == Some(true) {
            return self.shows_list(count, reader);
        }
        let newest = self.newest(count, reader.txn);
        let others = |v: &&Version| v.txn != reader.txn;
        let tied = self.tied(count, reader.place());
        if tied.iter().filter(others).any(|v| reader.accepts(v.word)) {
            return true;
        }
        match newest {
            [] => reader.accepts(self.first),
            versions => versions.iter().filter(others).any(|v| reader.accepts(v.word)),
        }
    }

    /// The same of a list. Versions with one commit timestamp may be in any order, which takes a closer look.
    fn shows_list(&self, count: usize, reader: &Reader) -> bool {
        match self.versions[..count].last() {
            None => reader.accepts(self.first),
            Some(last) => {
                let own = |v: &Version| v.txn == reader.txn;
                let shows_itself = self.bad && self.versions[..count].iter().any(own);
                last.txn != reader.txn && !shows_itself && reader.accepts(last.word)
            }
        }
    }

    /// The readers for which a new version matters, as a range.
    pub(crate) fn affected(&self, at: usize) -> std::ops::Range<usize> {
        let commit = self.versions[at].commit;
        let sees = |commit: Timestamp| {
            self.readers.partition_point(|r| (r.at, r.inclusive) < (commit, true))
        };
        // A reader that wrote may be tied to it.
        let from = self.readers.partition_point(|r| r.at < commit);
        // A writer whose timestamps are wrong does not see its own version, but the one before.
        let later = self.versions[at..].iter().find(|v| v.commit > commit && v.start < v.commit);
        match later {
            Some(next) if self.is_list != Some(true) => from..sees(next.commit).max(from),
            _ => from..self.readers.len(),
        }
    }

    /// Whether a value was written twice: then a transaction that is missing may have written any.
    /// One transaction is left out.
    pub(crate) fn repeats(&self, but: Option<TxnRef>) -> bool {
        let versions = self.versions.iter().map(|version| (version.txn, version.word));
        let written = versions.chain(self.others.iter().map(|o| (o.txn, o.word)));
        let written = written.filter(|(txn, _)| Some(*txn) != but);
        let mut words: Vec<Word> = written.map(|(_, word)| word).collect();
        words.sort_unstable();
        words.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// By snapshots: transactions that show in which order some others wrote the key.
    pub(crate) fn dividers(&self, writers: &[TxnRef]) -> Vec<TxnRef> {
        let versions = self.versions.iter().filter(|version| writers.contains(&version.txn));
        versions.filter_map(|version| divider::of(version.commit)).collect()
    }

    /// The first writer that commits after the one at an index and overlaps it: `None` if there is none, or if its own
    /// timestamps are wrong.
    pub(crate) fn opponent(&self, at: usize, skip: Option<usize>) -> Option<usize> {
        let own = self.versions[at];
        let good = |v: &Version| v.start < v.commit;
        if !good(&own) {
            return None;
        }
        let later = (at + 1..self.versions.len()).filter(|j| Some(*j) != skip);
        later.into_iter().find(|j| good(&self.versions[*j]) && self.versions[*j].start < own.commit)
    }
}
