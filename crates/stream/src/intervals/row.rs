//! A row: its versions in the order in which they were written, and what was locked.
//!
//! Where writers lock what they write, each holds its lock from the answer to its write at the latest until its COMMIT was
//! sent at the earliest. Of two such times that do not overlap one is earlier, and so the versions of a row are in one
//! order, even if the COMMITs overlap; if they do overlap, the server broke its promise, and that is told.
//!
//! A *loose* version has no such time: its COMMIT may have travelled with its write (a statement that is a transaction of
//! its own), or nothing is locked. Of it only this is certain: it was there at its rank at the latest, and not before its
//! COMMIT was sent. So one version certainly stands before another if its rank is earlier than the other's [line].
//!
//! [line]: RowVersion::line

use super::content::{Content, Match, Observed};
use super::span::Span;
use super::trace::{Fate, Hold};
use crate::bodies::TxnRef;
use crate::content::{NameId, Word};

/// A transaction that has been entered, as a number.
pub(crate) type TraceNo = u32;

/// A version that was committed, or may have been.
#[derive(Clone, Debug)]
pub(crate) struct RowVersion {
    pub(crate) writer: TraceNo,
    pub(crate) txn: TxnRef,
    pub(crate) op: u32,
    pub(crate) content: Content,
    /// It was written by this time at the latest: versions of a row are in this order.
    pub(crate) rank: i64,
    pub(crate) commit: Span,
    /// The snapshot of its writer, as far as it is known once that has been decided.
    pub(crate) snapshot: Option<Span>,
    /// Whether its writer has been decided.
    pub(crate) decided: bool,
    pub(crate) is_certain: bool,
    pub(crate) inserts: bool,
    /// Whether its writer locked the row: columns that it did not write are those of the version before.
    pub(crate) is_locked: bool,
    /// Those that certainly read it and have been decided, each with its first read of it.
    pub(crate) readers: Vec<ReadBy>,
}

impl RowVersion {
    /// What has an earlier rank was certainly there before it.
    pub(crate) fn line(&self) -> i64 {
        self.rank.min(self.commit.sent)
    }

    /// Whether others may stand on either side of it.
    fn is_loose(&self) -> bool {
        self.line() < self.rank
    }
}

/// The version that follows another, or that it follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Neighbour {
    pub(crate) place: Place,
    /// Whether nothing can stand between them.
    pub(crate) is_next: bool,
}

/// A transaction, and its operation that read.
pub(crate) type ReadBy = (TraceNo, u32);

/// A lock that was held.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) by: TraceNo,
    pub(crate) txn: TxnRef,
    pub(crate) hold: Hold,
}

/// All that is known of a row.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) first: Content,
    /// Those that certainly read what was there at first.
    pub(crate) first_readers: Vec<ReadBy>,
    /// In the order of their ranks.
    pub(crate) versions: Vec<RowVersion>,
    /// How many of them are loose, and how many may never have been committed.
    unsettled: u32,
    /// Of transactions that have been decided, in the order of their ends.
    pub(crate) held: Vec<Held>,
}

/// The place of a version among those of its row: from 1 on, and 0 is what was there at first.
pub(crate) type Place = usize;

impl Row {
    pub(crate) fn new(first: Content) -> Row {
        let (versions, held, first_readers) = (Vec::new(), Vec::new(), Vec::new());
        Row { first, first_readers, versions, unsettled: 0, held }
    }

    /// A transaction wrote the row.
    pub(crate) fn insert(&mut self, version: RowVersion) {
        let key = |version: &RowVersion| (version.rank, version.commit, version.writer);
        let at = self.versions.partition_point(|old| key(old) < key(&version));
        self.unsettled += u32::from(is_unsettled(&version));
        self.versions.insert(at, version);
    }

    /// The version at a place; none is what was there at first.
    pub(crate) fn version(&self, place: Place) -> Option<&RowVersion> {
        self.versions.get(place.checked_sub(1)?)
    }

    /// The place of the version of a transaction.
    pub(crate) fn place_of(&self, writer: TraceNo) -> Option<Place> {
        self.versions.iter().rposition(|version| version.writer == writer).map(|at| at + 1)
    }

    /// Those that certainly read the version at a place.
    pub(crate) fn readers(&self, place: Place) -> &[ReadBy] {
        self.version(place).map_or(&self.first_readers, |version| &version.readers)
    }

    /// The same, to be added to.
    pub(crate) fn readers_mut(&mut self, place: Place) -> &mut Vec<ReadBy> {
        match place.checked_sub(1).and_then(|at| self.versions.get_mut(at)) {
            Some(version) => &mut version.readers,
            None => &mut self.first_readers,
        }
    }

    /// The next version after a place that was certainly committed, and certainly after it.
    pub(crate) fn next_certain(&self, place: Place) -> Option<Neighbour> {
        let rank = self.version(place).map_or(i64::MIN, |version| version.rank);
        let mut later = self.versions[place..].iter();
        let after = |version: &RowVersion| version.is_certain && rank < version.line();
        let next = place + later.position(after)? + 1;
        Some(Neighbour { place: next, is_next: self.are_adjacent(place, next) })
    }

    /// Whether the version at a place was overwritten by one whose COMMIT had been sent by a time.
    pub(crate) fn is_overwritten_by(&self, place: Place, time: i64) -> bool {
        let rank = self.version(place).map_or(i64::MIN, |version| version.rank);
        let mut later = self.versions[place..].iter();
        // Others with an earlier rank may have come or not.
        later.any(|version| {
            version.is_certain && rank < version.line() && version.commit.sent <= time
        })
    }

    /// The last version before a place that was certainly committed, and certainly before it; or what was there at first.
    pub(crate) fn last_certain(&self, place: Place) -> Neighbour {
        let line = self.version(place).map_or(i64::MIN, RowVersion::line);
        let mut earlier = self.versions[..place.saturating_sub(1)].iter();
        let before = |version: &RowVersion| version.is_certain && version.rank < line;
        let last = earlier.rposition(before).map_or(0, |at| at + 1);
        Neighbour { place: last, is_next: self.are_adjacent(last, place) }
    }

    /// The certain version with the rank before that of the version at a place.
    pub(crate) fn last_but_one(&self, place: Place) -> Option<&RowVersion> {
        self.versions[..place.saturating_sub(1)].iter().rfind(|version| version.is_certain)
    }

    /// Whether a version certainly stands before the one at a place.
    pub(crate) fn are_ordered(&self, before: &RowVersion, place: Place) -> bool {
        self.version(place).is_some_and(|version| before.rank < version.line())
    }

    /// Whether no version can stand between two.
    fn are_adjacent(&self, before: Place, after: Place) -> bool {
        let rank = self.version(after).map_or(i64::MIN, |version| version.rank);
        let between = |version: &RowVersion| version.line() <= rank;
        // Where nothing is loose, only what has the same rank can.
        let most = if self.unsettled == 0 { 1 } else { usize::MAX };
        before + 1 == after && !self.versions[after..].iter().take(most).any(between)
    }

    /// What the version at a place holds, as far as its own write says.
    pub(crate) fn content(&self, place: Place) -> &Content {
        self.version(place).map_or(&self.first, |version| &version.content)
    }

    /// Whether the version at a place is what a read saw.
    pub(crate) fn matches(&self, place: Place, observed: &Observed) -> Match {
        let content = self.version(place).map_or(&self.first, |version| &version.content);
        content.matches(observed, |column| self.column_before(place, column))
    }

    /// Whether an update may have changed nothing: what it wrote may have been there.
    pub(crate) fn may_be_idle(&self, place: Place) -> bool {
        let Some(version) = self.version(place) else { return false };
        let base = self.last_certain(place);
        let was = self.version(base.place).map_or(&self.first, |base| &base.content);
        match &version.content {
            Content::Absent | Content::Element(_) => false,
            _ if version.inserts => false,
            _ if !base.is_next => true,
            Content::Columns { cells, .. } => {
                let before = |column: NameId| self.column_before(place, column);
                *was != Content::Absent
                    && cells.iter().all(|(name, word)| before(*name).is_none_or(|old| old == *word))
            }
            content => content == was || matches!((content, was), (_, Content::Unknown)),
        }
    }

    /// Whether a delete may stand between two versions though it stands elsewhere in the order of ranks.
    pub(crate) fn may_be_deleted_between(&self, one: Place, other: Place) -> bool {
        let (first, second) = (self.version(one.min(other)), self.version(one.max(other)));
        let (Some(first), Some(second)) = (first, second) else { return false };
        let mut loose = self.versions.iter().filter(|version| version.is_loose());
        self.unsettled > 0
            && loose.any(|version| {
                version.content == Content::Absent
                    && version.line() <= second.rank
                    && first.line() <= version.rank
            })
    }

    /// It is not certain any more that a version was ever there.
    pub(crate) fn doubt(&mut self, place: Place) {
        let Some(version) = place.checked_sub(1).and_then(|at| self.versions.get_mut(at)) else {
            return;
        };
        self.unsettled += u32::from(!is_unsettled(version));
        version.is_certain = false;
    }

    /// Whether what a version holds may have been in the row before, in a version that its writer's snapshot may show.
    pub(crate) fn is_old_content(&self, place: Place, snapshot: Span) -> bool {
        let Some(version) = self.version(place) else { return false };
        let shown = self.candidates(snapshot, version.writer);
        let holds = |place: Place| self.version(place).map_or(&self.first, |other| &other.content);
        let mut shown = shown.into_iter().filter(|place| *holds(*place) != Content::Absent);
        match &version.content {
            Content::Absent | Content::Element(_) => false,
            Content::Columns { cells, .. } => shown.any(|place| {
                let old = |column: NameId| self.column(place, column);
                cells.iter().any(|(column, word)| old(*column).is_none_or(|old| old == *word))
            }),
            content => {
                shown.any(|place| holds(place) == content || *holds(place) == Content::Unknown)
            }
        }
    }

    /// Whether it is not known what stands before the version at a place.
    fn is_around_loose(&self, place: Place) -> bool {
        let rank = self.version(place).map_or(i64::MIN, |version| version.rank);
        // One that all others are certainly before or after stands where it stands: those with earlier ranks are if the last
        // of them is, and those with later ranks if the earliest of their lines is.
        let mut later_line = i64::MAX;
        for (at, one) in self.versions.iter().enumerate().rev() {
            if one.is_loose() && one.line() <= rank {
                let earlier = at.checked_sub(1).map(|before| self.versions[before].rank);
                let meets =
                    later_line <= one.rank || earlier.is_some_and(|rank| one.line() <= rank);
                if meets || !one.is_locked {
                    return true;
                }
            }
            later_line = later_line.min(one.line());
        }
        false
    }

    /// What a column holds in the version at a place, if that is known.
    pub(crate) fn column(&self, place: Place, column: NameId) -> Option<Word> {
        self.column_below(place + 1, place, column)
    }

    /// What the versions before a place left in a column, if that is known.
    fn column_before(&self, place: Place, column: NameId) -> Option<Word> {
        self.column_below(place, place, column)
    }

    /// The same of the versions below a place, if none is loose around another one.
    fn column_below(&self, place: Place, around: Place, column: NameId) -> Option<Word> {
        if self.unsettled > 0 && self.is_around_loose(around) {
            return None;
        }
        for earlier in (0..place).rev() {
            let version = self.version(earlier);
            // What may not have been committed may not count; nor, where nothing is locked, what may turn out to have
            // changed nothing.
            if version.is_some_and(|v| !v.is_certain || !(v.is_locked || v.decided)) {
                return None;
            }
            match version.map_or(&self.first, |version| &version.content) {
                Content::Columns { cells, whole } => {
                    let own = cells.iter().find(|(name, _)| *name == column);
                    if let Some((_, word)) = own {
                        return Some(*word);
                    }
                    if *whole {
                        return None;
                    }
                }
                _ => return None,
            }
        }
        None
    }

    /// The versions that a snapshot may show, the newest first: those that may have been committed by then, and that no
    /// version certainly overwrote which certainly had been.
    pub(crate) fn candidates(&self, snapshot: Span, but: TraceNo) -> Vec<Place> {
        let may_show = |version: &RowVersion| version.commit.may_precede(snapshot);
        let certainly = |version: &RowVersion| version.commit.must_precede(snapshot);
        self.newest_of(snapshot.answered, but, may_show, certainly)
    }

    /// The versions that a transaction may see which certainly had the row locked at a time: none whose writer can only have
    /// had the lock later, and none that was certainly overwritten before.
    pub(crate) fn newest_when_locked(&self, at: i64, but: TraceNo) -> Vec<Place> {
        let may_see = |version: &RowVersion| version.rank < at || version.commit.sent <= at;
        let certainly = |version: &RowVersion| version.rank < at;
        self.newest_of(at, but, may_see, certainly)
    }

    /// Versions that are possible at a time, down to those that one overwrote which certainly was there by then.
    fn newest_of(
        &self,
        time: i64,
        but: TraceNo,
        is_possible: impl Fn(&RowVersion) -> bool,
        is_there: impl Fn(&RowVersion) -> bool,
    ) -> Vec<Place> {
        let (mut places, mut line) = (Vec::new(), i64::MIN);
        // Where nothing is loose, what has a later rank was committed later, too.
        let end = match self.unsettled {
            0 => self.versions.partition_point(|version| version.rank <= time),
            _ => self.versions.len(),
        };
        for (at, version) in self.versions[..end].iter().enumerate().rev() {
            if version.rank < line {
                return places;
            }
            if version.writer == but {
                continue;
            }
            if is_possible(version) {
                places.push(at + 1);
            }
            if version.is_certain && is_there(version) {
                line = line.max(version.line());
            }
        }
        if line == i64::MIN {
            places.push(0);
        }
        places
    }

    /// The time in which a snapshot shows the version at a place: from its commit to that of the next. Commits of unknown
    /// outcome may never have been, and what was written after the snapshot's own time does not matter.
    pub(crate) fn shown_in(&self, place: Place, snapshot: Span) -> Span {
        let sent = self.version(place).map_or(i64::MIN, |version| version.commit.sent);
        let later = self.certainly_after(place, snapshot);
        let answered = later.map(|version| version.commit.answered).min();
        Span { sent, answered: answered.unwrap_or(i64::MAX) }
    }

    /// The versions that were certainly committed, and certainly after the one at a place: what was written after the
    /// snapshot's own time does not matter.
    pub(crate) fn certainly_after(
        &self,
        place: Place,
        snapshot: Span,
    ) -> impl Iterator<Item = &RowVersion> {
        let rank = self.version(place).map_or(i64::MIN, |version| version.rank);
        let later = self.versions[place..].iter();
        let later = later.take_while(move |version| version.rank <= snapshot.answered);
        later.filter(move |version| version.is_certain && rank < version.line())
    }

    /// A transaction that has been decided held locks here.
    pub(crate) fn add_held(&mut self, held: Held) {
        let at = self.held.partition_point(|old| old.hold.until <= held.hold.until);
        self.held.insert(at, held);
    }

    /// Forgets what nothing that began at a time or later can need: versions that were overwritten by then, locks that had
    /// been let go of, and readers to which nothing leads any more.
    pub(crate) fn forget(&mut self, horizon: i64, matters: impl Fn(TraceNo) -> bool) {
        let gone = self.held.partition_point(|held| held.hold.until <= horizon);
        self.held.drain(..gone);
        let overwrites =
            |version: &RowVersion| version.is_certain && version.commit.answered < horizon;
        // The newest of these stays: it is what was there at first. What may stand on either side of it stays, too.
        if let Some(kept) = self.versions.iter().rposition(overwrites) {
            let line = self.versions[kept..].iter().map(RowVersion::line).min().unwrap_or(i64::MIN);
            let mut gone = self.versions.partition_point(|version| version.rank < line);
            // What is certain of other columns is not lost; around versions that may stand elsewhere nothing is.
            let has_columns = matches!(self.versions[kept].content, Content::Columns { .. });
            if has_columns && gone > 0 && !self.versions[..=kept].iter().any(RowVersion::is_loose) {
                match gone == kept {
                    true => self.versions[kept].content = self.content_with_columns_before(kept),
                    false => gone = 0,
                }
            }
            if gone > 0 {
                self.first = Content::Unknown;
                self.first_readers = Vec::new();
            }
            let unsettled = self.versions.drain(..gone).filter(is_unsettled).count();
            self.unsettled -= unsettled as u32;
        }
        let readers = self.versions.iter_mut().map(|version| &mut version.readers);
        for readers in readers.chain([&mut self.first_readers]) {
            readers.retain(|(reader, _)| matters(*reader));
        }
    }

    /// When its newest version was written at the latest.
    pub(crate) fn last_rank(&self) -> i64 {
        self.versions.last().map_or(i64::MIN, |version| version.rank)
    }

    /// Whether there is nothing that could be forgotten later.
    pub(crate) fn is_at_rest(&self) -> bool {
        let readers = self.versions.iter().all(|version| version.readers.is_empty());
        self.versions.len() <= 1 && self.held.is_empty() && readers && self.first_readers.is_empty()
    }

    /// What a version holds, with the columns that it has of those before it as far as they are known.
    fn content_with_columns_before(&self, at: usize) -> Content {
        let mut content = self.versions[at].content.clone();
        let Content::Columns { cells, whole } = &mut content else { return content };
        for place in (0..=at).rev() {
            if *whole || self.version(place).is_some_and(|version| !version.is_certain) {
                break;
            }
            let before = self.version(place).map_or(&self.first, |version| &version.content);
            let Content::Columns { cells: older, whole: is_whole } = before else { break };
            for (column, word) in older {
                if !cells.iter().any(|(name, _)| name == column) {
                    cells.push((*column, *word));
                }
            }
            *whole = *is_whole;
        }
        content
    }
}

/// How a transaction that wrote ended, as far as its versions matter.
pub(crate) fn may_have_committed(fate: Fate) -> bool {
    fate != Fate::Aborted
}

/// Whether it keeps others from being certain.
fn is_unsettled(version: &RowVersion) -> bool {
    version.is_loose() || !version.is_certain
}
