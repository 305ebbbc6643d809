//! What is in memory of one key: its versions in the order of commits, and what read it, in the order of places.
//!
//! A late version changes what is right for the readers between it and the next version, and for no others. Of a list,
//! it changes every later version, too.
//!
//! What came in batches that are on disk may leave memory. Then [`floor`](KeyState::floor) says from where on the rest is
//! complete: every version and every reader after the floor is here, and so is the version that is the newest at the
//! floor. Below it there may be some, and they say nothing.

use std::ops::Range;

use hashbrown::HashSet;
use isolde_check::timestamps::rules::Place;
use isolde_history::{Timestamp, Value};

use super::key_records::{Other, Reader, Version};
use super::marks::Marks;
use super::once::Uniqueness;
use super::records::Records;
use super::word_index::WordIndex;
use crate::bodies::{AFTER_ALL, BEFORE_ALL, TxnRef};
use crate::content::{ListHash, Word};

/// What is in memory of one key.
#[derive(Debug)]
pub(crate) struct KeyState {
    /// By commit, then by arrival.
    pub(crate) versions: Vec<Version>,
    /// Of a list: the elements that each version adds, and all up to and with them.
    blocks: Vec<(ListHash, ListHash)>,
    /// By place, then by arrival.
    pub(crate) readers: Vec<Reader>,
    /// No reader is later than this. It is asked first, since the readers themselves are in no cache.
    pub(crate) latest: Timestamp,
    pub(crate) others: Vec<Other>,
    /// How many of these are of unknown outcome.
    pub(super) unknown: usize,
    /// What was there before the first version.
    pub(crate) first: Word,
    /// What has left memory is not later than this. `None`: nothing has.
    pub(crate) floor: Option<Timestamp>,
    /// Whether the version that is the newest at the floor is not kept any more.
    pub(crate) base_missing: bool,
    pub(crate) is_list: Option<bool>,
    /// Nothing is judged any more, because it is not known which versions the key had.
    pub(crate) doubtful: bool,
    /// How many readers are wrong.
    pub(crate) wrong: u32,
    /// How many more readers it has that wait until they are judged.
    pub(crate) held: u32,
    /// Of a list: whether the timestamps of a writer contradict each other, so that it may see itself.
    bad: bool,
    /// Whether a version was ever a delete. By snapshots such a key stays in memory.
    pub(crate) deleted: bool,
    /// Whether all writers of its versions have timestamps that make sense, and none overlaps the next one.
    pub(super) apart: bool,
    /// No writer of a version that is or was here took longer than this from its start to its commit.
    pub(super) longest: i64,
    /// Whether something was read again for what came late since it was trimmed last.
    pub(crate) reloaded: bool,
    /// Whether the verdict on an operation that was refused, wrongly, is final and may still be called otherwise.
    pub(crate) refused: bool,
    /// Of a list: whether it is not known any more what reads showed whose verdict is final.
    pub(crate) unnoted: bool,
    /// Whether every word was written once, if something is missing in the stream.
    pub(crate) once: Uniqueness,
    /// Where to look for the writer of a word.
    pub(super) marks: Marks,
    /// Who wrote which word, once that was asked often.
    pub(super) words: Option<Box<WordIndex>>,
    /// How many writes were looked through for that since it was trimmed last.
    pub(super) steps: usize,
}

impl KeyState {
    pub(crate) fn new(first: Word) -> KeyState {
        KeyState {
            versions: Vec::new(),
            blocks: Vec::new(),
            readers: Vec::new(),
            latest: BEFORE_ALL,
            others: Vec::new(),
            unknown: 0,
            first,
            floor: None,
            base_missing: false,
            is_list: None,
            doubtful: false,
            wrong: 0,
            held: 0,
            bad: false,
            deleted: false,
            apart: true,
            longest: 0,
            reloaded: false,
            refused: false,
            unnoted: false,
            once: Uniqueness::default(),
            marks: Marks::default(),
            words: None,
            steps: 0,
        }
    }

    /// The bytes that it takes beside itself.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.versions.capacity() * size_of::<Version>()
            + self.blocks.capacity() * size_of::<(ListHash, ListHash)>()
            + self.readers.capacity() * size_of::<Reader>()
            + self.others.capacity() * size_of::<Other>()
            + self.marks.heap_bytes()
            + self.words.as_ref().map_or(0, |words| words.heap_bytes())
            + self.once.heap_bytes()
    }

    /// The bytes of what is in it.
    pub(crate) fn needed_bytes(&self) -> usize {
        self.versions.len() * size_of::<Version>()
            + self.blocks.len() * size_of::<(ListHash, ListHash)>()
            + self.readers.len() * size_of::<Reader>()
            + self.others.len() * size_of::<Other>()
    }

    /// Enters a version of a register, and says where.
    pub(crate) fn add_version(&mut self, version: Version) -> usize {
        let at = self.place_of(&version);
        self.put_version(at, version);
        at
    }

    /// Enters a write that left no version.
    pub(crate) fn add_other(&mut self, other: Other) {
        if let Some(words) = &mut self.words {
            words.add_other(&other);
        }
        self.unknown += usize::from(other.unknown);
        self.others.push(other);
    }

    fn count_unknown(&mut self) {
        self.unknown = self.others.iter().filter(|other| other.unknown).count();
    }

    fn put_version(&mut self, at: usize, version: Version) {
        if let Some(words) = &mut self.words {
            words.add_version(&version);
        }
        self.marks.forget_from(at);
        self.versions.insert(at, version);
        let around = &self.versions[at.saturating_sub(1)..(at + 2).min(self.versions.len())];
        self.apart = self.apart && are_apart(around);
        self.longest = self.longest.max(duration(&version));
    }

    /// Enters a version of a list, and says where. All later versions have its elements, too.
    pub(crate) fn add_block(&mut self, version: Version, block: ListHash) -> usize {
        let at = self.place_of(&version);
        self.bad |= version.start >= version.commit;
        self.put_version(at, version);
        let mut list = at.checked_sub(1).map_or(ListHash::EMPTY, |before| self.blocks[before].1);
        self.blocks.insert(at, (block, list));
        for (version, (block, all)) in self.versions[at..].iter_mut().zip(&mut self.blocks[at..]) {
            list = list.then(*block);
            *all = list;
            version.word = list.word();
        }
        at
    }

    /// Where a version belongs.
    pub(super) fn place_of(&self, version: &Version) -> usize {
        let order = |v: &Version| (v.commit, v.txn);
        from_the_end(&self.versions, |v| order(v) < order(version))
    }

    /// Enters readers, each judged by what is there, and hands over each with the versions that it sees. They are left in
    /// their order.
    ///
    /// Together, because a reader that comes late makes room among all that stand after it: one by one, that would be
    /// work for each of them.
    pub(crate) fn add_readers(
        &mut self,
        new: &mut [Reader],
        mut each: impl FnMut(&mut Reader, &[Version]),
    ) {
        new.sort_unstable_by_key(Reader::order);
        let mut count = self.versions.len();
        for reader in new.iter_mut().rev() {
            // An earlier place sees no more; many of them at once see nearly the same.
            count = from_the_end(&self.versions[..count], |v| reader.place().sees(v.commit));
            reader.wrong = !self.is_right_at(count, reader);
            self.wrong += u32::from(reader.wrong);
            self.latest = self.latest.max(reader.at);
            each(reader, &self.versions[..count]);
        }
        self.merge_readers(new);
    }

    /// Puts readers that are in their order among those that are here.
    fn merge_readers(&mut self, new: &[Reader]) {
        let Some(first) = new.first() else { return };
        let mut old = self.readers.len();
        self.readers.extend_from_slice(new);
        if old == 0 || self.readers[old - 1].order() <= first.order() {
            return;
        }
        // From the last place down, the later of the two.
        let mut left = new.len();
        while left > 0 {
            let later = match old.checked_sub(1) {
                Some(last) if self.readers[last].order() > new[left - 1].order() => {
                    old = last;
                    self.readers[last]
                }
                _ => {
                    left -= 1;
                    new[left]
                }
            };
            self.readers[old + left] = later;
        }
    }

    /// How many versions a place sees.
    pub(crate) fn count(&self, place: Place<Timestamp>) -> usize {
        from_the_end(&self.versions, |v| place.sees(v.commit))
    }

    /// The newest versions among the first so many of which not all are the reader's own: several if they have one commit
    /// timestamp, none if the initial state is visible.
    pub(crate) fn newest(&self, count: usize, reader: TxnRef) -> &[Version] {
        let mut end = count;
        while let Some(last) = end.checked_sub(1) {
            let commit = self.versions[last].commit;
            // Nearly always it is alone, and then the version before it is not looked for.
            let alone = last == 0 || self.versions[last - 1].commit < commit;
            let same = match alone {
                true => 1,
                false => end - from_the_end(&self.versions[..end], |v| v.commit < commit),
            };
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
        if place.inclusive || after.first().is_none_or(|first| first.commit != place.at) {
            return &[];
        }
        &after[..from_the_end(after, |v| v.commit <= place.at)]
    }

    /// Whether a reader saw what it should have seen, at first sight: one that did not is looked at again by the rules
    /// for whole histories.
    pub(crate) fn is_right(&self, reader: &Reader) -> bool {
        self.is_right_at(self.count(reader.place()), reader)
    }

    /// The same, of a reader that sees so many versions.
    fn is_right_at(&self, count: usize, reader: &Reader) -> bool {
        // What cannot be known alarms nobody; it is counted as too late.
        if self.sees_nothing_known(reader.place(), reader.txn) {
            return true;
        }
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
    pub(crate) fn affected(&self, at: usize) -> Range<usize> {
        let commit = self.versions[at].commit;
        if commit > self.latest {
            return 0..0;
        }
        let sees = |commit: Timestamp| {
            from_the_end(&self.readers, |r| (r.at, r.inclusive) < (commit, true))
        };
        // A reader that wrote may be tied to it.
        let from = from_the_end(&self.readers, |r| r.at < commit);
        // A writer whose timestamps are wrong does not see its own version, but the one before.
        let later = self.versions[at..].iter().find(|v| v.commit > commit && v.start < v.commit);
        match later {
            Some(next) if self.is_list != Some(true) => from..sees(next.commit).max(from),
            _ => from..self.readers.len(),
        }
    }

    /// The versions with one commit timestamp.
    pub(crate) fn committed_at(&self, commit: Timestamp) -> Range<usize> {
        let end = from_the_end(&self.versions, |v| v.commit <= commit);
        from_the_end(&self.versions[..end], |v| v.commit < commit)..end
    }

    /// The writers of versions that are deletes, the last one first.
    pub(crate) fn last_deletes(&self) -> impl Iterator<Item = TxnRef> {
        let absent = Word(Value::ABSENT.to_bits());
        let deletes = self.versions.iter().rev().filter(move |v| v.word == absent);
        deletes.map(|version| version.txn)
    }

    /// The first writer that commits after the one at an index and overlaps it: `None` if there is none, or if its own
    /// timestamps are wrong.
    pub(crate) fn opponent(&self, at: usize) -> Option<usize> {
        let own = self.versions[at];
        if self.apart || own.start >= own.commit {
            // If all are apart, all later ones began after the next one, which began after this.
            return None;
        }
        let mut later = at + 1..self.versions.len();
        later.by_ref().take_while(|j| self.may_reach(*j, own.commit)).find(|j| {
            let other = &self.versions[*j];
            other.start < other.commit && other.start < own.commit
        })
    }

    /// Whether a writer may have started before a time, or a later one may: none takes longer than the longest.
    fn may_reach(&self, at: usize, time: Timestamp) -> bool {
        let earliest = self.versions[at].commit.physical.saturating_sub(self.longest);
        earliest <= time.physical || self.longest == i64::MAX
    }

    /// The writers that commit before the one at an index and overlap it, and no other one that commits before it: each
    /// with the first that commits after it and overlaps it, too.
    pub(crate) fn new_opponent_of(&self, at: usize) -> Vec<(usize, Option<usize>)> {
        let new = self.versions[at];
        let mut found = Vec::new();
        if new.start >= new.commit {
            return found;
        }
        // The earliest start between.
        let mut between: Option<Timestamp> = None;
        // The earliest start of those that commit later, up to each of them.
        let mut later: Vec<Timestamp> = Vec::new();
        for u in (0..at).rev().take_while(|u| self.versions[*u].commit > new.start) {
            let own = self.versions[u];
            if own.start >= own.commit {
                continue;
            }
            if between.is_none_or(|start| start >= own.commit) {
                if found.is_empty() {
                    later = self.earliest_starts_after(at);
                }
                let next = later.partition_point(|start| *start >= own.commit);
                found.push((u, (next < later.len()).then_some(at + 1 + next)));
            }
            between = Some(between.map_or(own.start, |start| start.min(own.start)));
        }
        found
    }

    fn earliest_starts_after(&self, at: usize) -> Vec<Timestamp> {
        let mut earliest = AFTER_ALL;
        let later = (at + 1..self.versions.len())
            .take_while(|j| self.may_reach(*j, self.versions[at].commit));
        let starts = later.map(|j| {
            let version = &self.versions[j];
            if version.start < version.commit {
                earliest = earliest.min(version.start);
            }
            earliest
        });
        starts.collect()
    }

    /// Whether what a transaction sees from a place has left memory, and could not be read again. Its own version, which it has
    /// before itself if its timestamps are wrong, is not what it sees.
    pub(crate) fn sees_nothing_known(&self, place: Place<Timestamp>, own: TxnRef) -> bool {
        let before = || self.versions[..self.count(place)].iter().rev();
        let newest = || before().find(|version| version.txn != own).map(|version| version.commit);
        self.base_missing && newest() <= self.floor
    }

    /// Lets go of what came in batches before a number, but for the newest version of them and for wrong reads. What readers
    /// from a time on see stays, and so does what lies far beyond all others, after `near`.
    pub(crate) fn trim(&mut self, end: u32, from: Timestamp, near: Timestamp) {
        let gone = |txn: TxnRef| txn.batch() < end;
        let before = (self.readers.len(), self.versions.len(), self.others.len());
        let mut floor = self.floor;
        self.readers.retain(|reader| {
            let late = reader.at >= from || reader.at > near;
            let stays = !gone(reader.txn) || reader.wrong || late;
            if !stays {
                floor = floor.max(Some(reader.at));
            }
            stays
        });
        if self.others.iter().any(|other| gone(other.txn)) {
            self.others.retain(|other| !gone(other.txn));
            self.count_unknown();
            floor = floor.or(Some(BEFORE_ALL));
        }
        if let Some((kept, newest)) = self.oldest_needed(gone, (from, near)) {
            let stays = |version: &Version| !gone(version.txn) || version.commit >= kept;
            if !self.versions.iter().all(stays) {
                floor = floor.max(Some(newest));
                let mut of_block = self.versions.iter().map(stays);
                self.blocks.retain(|_| of_block.next() != Some(false));
                self.versions.retain(stays);
            }
        }
        self.floor = floor;
        (self.words, self.steps, self.reloaded) = (None, 0, false);
        match before.1 > LONG {
            true => self.marks.forget_from(0),
            false => self.marks.clear(),
        }
        self.apart = are_apart(&self.versions);
        shrink(&mut self.readers, before.0);
        shrink(&mut self.versions, before.1);
        shrink(&mut self.blocks, before.1);
        shrink(&mut self.others, before.2);
    }

    /// From which commit on versions have to stay, if what is gone may leave, and the floor then: the newest of them
    /// stays. A writer whose timestamps are wrong does not see its own version, but the one before, which stays, too.
    /// Of too many with one commit timestamp none does.
    fn oldest_needed(
        &self,
        gone: impl Fn(TxnRef) -> bool,
        (from, near): (Timestamp, Timestamp),
    ) -> Option<(Timestamp, Timestamp)> {
        const MANY: usize = 1 << 10;
        let mut may_go = (0..self.versions.len()).rev().filter(|at| {
            let version = &self.versions[*at];
            gone(version.txn) && version.commit < from && version.commit <= near
        });
        let newest = &self.versions[may_go.next()?];
        let kept = match newest.start < newest.commit {
            true => newest.commit,
            false => self.versions[may_go.next()?].commit,
        };
        let tied = [kept, newest.commit].map(|commit| self.committed_at(commit).len());
        if tied.into_iter().any(|tied| tied > MANY) && self.is_list == Some(false) {
            return Some((AFTER_ALL, AFTER_ALL));
        }
        Some((kept, newest.commit))
    }

    /// Whether nothing is here that a batch on disk does not tell, up to this one.
    pub(crate) fn is_idle(&self, end: u32) -> bool {
        let gone = |version: &Version| version.txn.batch() < end;
        self.readers.is_empty()
            && self.others.is_empty()
            && self.wrong == 0
            && self.held == 0
            && !self.deleted
            && !self.doubtful
            && self.versions.iter().all(gone)
    }

    /// Enters what was read again from disk, from a new floor on, and hands over the wrong reads among it that were not
    /// here.
    pub(crate) fn restore(&mut self, loaded: &Records, floor: Option<Timestamp>) -> Vec<Reader> {
        self.floor = floor;
        // The versions that were here have their lists; the last of them knows all elements.
        let order = |v: &Version| (v.commit, v.txn);
        for (version, block) in &loaded.versions {
            let at = self.versions.partition_point(|v| order(v) < order(version));
            if self.versions.get(at).is_some_and(|v| order(v) == order(version)) {
                continue;
            }
            self.versions.insert(at, *version);
            if let Some(block) = block {
                self.bad |= version.start >= version.commit;
                let all = match at == self.blocks.len() {
                    true => at.checked_sub(1).map_or(ListHash::EMPTY, |b| self.blocks[b].1),
                    false => ListHash::EMPTY,
                };
                self.blocks.insert(at, (*block, all.then(*block)));
            }
        }
        self.apart = are_apart(&self.versions);
        self.lists_again();
        self.words = None;
        self.marks.clear();
        let longest = self.versions.iter().map(duration).max();
        self.longest = self.longest.max(longest.unwrap_or_default());
        let here: HashSet<Other> = self.others.iter().copied().collect();
        self.others.extend(loaded.others.iter().filter(|other| !here.contains(*other)));
        self.count_unknown();
        let is_new =
            |r: &&Reader| self.readers.binary_search_by_key(&r.order(), Reader::order).is_err();
        let mut new: Vec<Reader> = loaded.readers.iter().filter(is_new).copied().collect();
        let mut wrong = Vec::new();
        self.add_readers(&mut new, |reader, _| wrong.extend(reader.wrong.then_some(*reader)));
        wrong
    }

    /// The lists of all versions, from the elements that each adds: each is that of the next one without what the next one
    /// adds.
    fn lists_again(&mut self) {
        if self.floor.is_none_or(|floor| floor == BEFORE_ALL) {
            let mut list = ListHash::EMPTY;
            for (version, (block, all)) in self.versions.iter_mut().zip(&mut self.blocks) {
                list = list.then(*block);
                *all = list;
                version.word = list.word();
            }
            return;
        }
        for later in (1..self.blocks.len()).rev() {
            let (block, all) = self.blocks[later];
            self.blocks[later - 1].1 = all.without(block);
            self.versions[later - 1].word = self.blocks[later - 1].1.word();
        }
    }
}

/// The first index of which something does not hold any more. Most of what comes stands near the end, where the search
/// begins: what lies far back is in no cache.
pub(crate) fn from_the_end<T>(list: &[T], holds: impl Fn(&T) -> bool) -> usize {
    let (mut end, mut step) = (list.len(), 1);
    while end > 0 {
        let at = end.saturating_sub(step);
        if holds(&list[at]) {
            return at + 1 + list[at + 1..end].partition_point(holds);
        }
        (end, step) = (at, 2 * step);
    }
    0
}

/// Whether all of these writers have timestamps that make sense, and none overlaps another.
fn are_apart(versions: &[Version]) -> bool {
    versions.iter().all(|version| version.start < version.commit)
        && versions.windows(2).all(|pair| pair[0].commit <= pair[1].start)
}

/// How long a writer took, if its timestamps make sense.
pub(super) fn duration(version: &Version) -> i64 {
    version.commit.physical.saturating_sub(version.start.physical).max(0)
}

/// A list that was longer than this is going to be as long again.
const LONG: usize = 64;

/// Gives back what a list that became shorter does not need. A long one keeps it: growing would mean copying it, into memory
/// that the system has to clear first.
fn shrink<T>(list: &mut Vec<T>, before: usize) {
    let needed = if before > LONG { before } else { list.len() };
    if list.capacity() > 2 * needed + 4 {
        list.shrink_to(needed + needed / 4);
    }
}
