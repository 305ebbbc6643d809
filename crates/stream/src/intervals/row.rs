//! A row: its versions in the order in which they were written, and who held it locked.
//!
//! Where writers lock what they write, each holds its lock from the answer to its write at the latest until its COMMIT was
//! sent at the earliest. Of two such times that do not overlap one is earlier, and so the versions of a row are in one
//! order, even if the COMMITs overlap; if they do overlap, the server broke its promise, and that is told.

use super::content::{Content, Match, Observed};
use super::span::Span;
use super::trace::{Fate, Hold};
use crate::bodies::TxnRef;
use crate::content::{NameId, Word};

/// A transaction that has been entered, as a number.
pub(crate) type TraceNo = u32;

/// A version that was committed, or may have been.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) writer: TraceNo,
    pub(crate) txn: TxnRef,
    pub(crate) op: u32,
    pub(crate) content: Content,
    /// Where it stands among the versions of its row.
    pub(crate) rank: i64,
    pub(crate) commit: Span,
    /// The snapshot of its writer, as far as it is known once that has been decided.
    pub(crate) snapshot: Option<Span>,
    /// Whether its writer has been decided.
    pub(crate) decided: bool,
    pub(crate) is_certain: bool,
    pub(crate) inserts: bool,
    /// Those that certainly read it and have been decided, each with its first read of it.
    pub(crate) readers: Vec<Reader>,
}

/// A transaction, and its operation that read.
pub(crate) type Reader = (TraceNo, u32);

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
    pub(crate) first_readers: Vec<Reader>,
    /// In the order of their ranks.
    pub(crate) versions: Vec<Version>,
    /// Of transactions that have been decided, in the order of their ends.
    pub(crate) held: Vec<Held>,
}

/// The place of a version among those of its row: from 1 on, and 0 is what was there at first.
pub(crate) type Place = usize;

impl Row {
    pub(crate) fn new(first: Content) -> Row {
        let (versions, held, first_readers) = (Vec::new(), Vec::new(), Vec::new());
        Row { first, first_readers, versions, held }
    }

    /// A transaction wrote the row.
    pub(crate) fn insert(&mut self, version: Version) {
        let key = |version: &Version| (version.rank, version.commit, version.writer);
        let at = self.versions.partition_point(|old| key(old) < key(&version));
        self.versions.insert(at, version);
    }

    /// The version at a place; none is what was there at first.
    pub(crate) fn version(&self, place: Place) -> Option<&Version> {
        self.versions.get(place.checked_sub(1)?)
    }

    /// The place of the version of a transaction.
    pub(crate) fn place_of(&self, writer: TraceNo) -> Option<Place> {
        self.versions.iter().rposition(|version| version.writer == writer).map(|at| at + 1)
    }

    /// Those that certainly read the version at a place.
    pub(crate) fn readers(&self, place: Place) -> &[Reader] {
        self.version(place).map_or(&self.first_readers, |version| &version.readers)
    }

    /// The same, to be added to.
    pub(crate) fn readers_mut(&mut self, place: Place) -> &mut Vec<Reader> {
        match place.checked_sub(1).and_then(|at| self.versions.get_mut(at)) {
            Some(version) => &mut version.readers,
            None => &mut self.first_readers,
        }
    }

    /// The next version after a place that was certainly committed.
    pub(crate) fn next_certain(&self, place: Place) -> Option<Place> {
        let mut later = self.versions[place..].iter();
        later.position(|version| version.is_certain).map(|at| place + at + 1)
    }

    /// The last version before a place that was certainly committed, or what was there at first.
    pub(crate) fn last_certain(&self, place: Place) -> Place {
        let mut earlier = self.versions[..place.saturating_sub(1)].iter();
        earlier.rposition(|version| version.is_certain).map_or(0, |at| at + 1)
    }

    /// Whether the version at a place is what a read saw.
    pub(crate) fn matches(&self, place: Place, observed: &Observed) -> Match {
        let content = self.version(place).map_or(&self.first, |version| &version.content);
        content.matches(observed, |column| self.column_before(place, column))
    }

    /// What a column holds in the version at a place, if that is known.
    pub(crate) fn column(&self, place: Place, column: NameId) -> Option<Word> {
        self.column_before(place + 1, column)
    }

    /// What the versions before a place left in a column, if that is known.
    fn column_before(&self, place: Place, column: NameId) -> Option<Word> {
        for earlier in (0..place).rev() {
            let version = self.version(earlier);
            // What may not have been committed may not count.
            if version.is_some_and(|version| !version.is_certain) {
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

    /// The versions that a snapshot may show, the newest first: those that may have been committed by then, down to the
    /// newest that certainly had been.
    pub(crate) fn candidates(
        &self,
        snapshot: Span,
        but: TraceNo,
    ) -> impl Iterator<Item = Place> + use<'_> {
        let may_be_seen =
            move |version: &Version| version.writer != but && version.commit.may_precede(snapshot);
        let mut is_over = false;
        let places = (0..=self.versions.len()).rev();
        places
            .take_while(move |place| {
                let was_over = is_over;
                is_over = self.version(*place).is_some_and(|version| {
                    version.is_certain
                        && version.writer != but
                        && version.commit.must_precede(snapshot)
                });
                is_over |= was_over;
                !was_over
            })
            .filter(move |place| self.version(*place).is_none_or(may_be_seen))
    }

    /// The versions that a transaction may see which had the row locked from a time on: the last that is certain, and
    /// those after it that may have been committed.
    pub(crate) fn newest_when_locked(
        &self,
        from: i64,
        but: TraceNo,
    ) -> impl Iterator<Item = Place> + use<'_> {
        let end = self.versions.partition_point(|version| version.rank < from);
        let mut is_over = false;
        (0..=end)
            .rev()
            .filter(move |place| self.version(*place).is_none_or(|v| v.writer != but))
            .take_while(move |place| {
                let was_over = is_over;
                is_over |= self.version(*place).is_some_and(|version| version.is_certain);
                !was_over
            })
    }

    /// The time in which a snapshot shows the version at a place: from its commit to that of the next. Commits of unknown
    /// outcome may never have been, and what was written after the snapshot's own time does not matter.
    pub(crate) fn shown_in(&self, place: Place, snapshot: Span) -> Span {
        let sent = self.version(place).map_or(i64::MIN, |version| version.commit.sent);
        let later = self.versions[place..].iter();
        let later = later.take_while(|version| version.rank <= snapshot.answered);
        let certain = later.filter(|version| version.is_certain);
        let answered = certain.map(|version| version.commit.answered).min();
        Span { sent, answered: answered.unwrap_or(i64::MAX) }
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
            |version: &Version| version.is_certain && version.commit.answered < horizon;
        // The newest of these stays: it is what was there at first.
        if let Some(kept) = self.versions.iter().rposition(overwrites).filter(|kept| *kept > 0) {
            self.versions[kept].content = self.content_with_columns_before(kept);
            self.first = Content::Unknown;
            self.first_readers = Vec::new();
            self.versions.drain(..kept);
        }
        let readers = self.versions.iter_mut().map(|version| &mut version.readers);
        for readers in readers.chain([&mut self.first_readers]) {
            readers.retain(|(reader, _)| matters(*reader));
        }
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
