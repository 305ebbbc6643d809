//! Consistent read: what a read returned was there when its snapshot was taken.
//!
//! Each read has candidates: the versions that its snapshot can have shown. One that returned something else breaks the
//! promise. A transaction with one snapshot for all of its reads needs more: one instant at which all that it read was
//! there (specification C.2.6); and where each statement has a snapshot, one instant for all that a statement returned.
//! Each read narrows the time in which its snapshot can have been taken to those times in which a version is shown that it
//! can have seen; if nothing is left, no snapshot explains the reads together, though one may explain each of them alone
//! (read skew).
//!
//! That is done in two rounds: the first narrows the time, the second asks each read again by what is left of it, so that
//! more reads have one candidate only. What is certain then must not be half of what a transaction wrote.

use hashbrown::HashMap;
use isolde_spec::Certifier;

use super::content::Match;
use super::row::{Place, Row, TraceNo};
use super::span::Span;
use super::trace::{Read, Sees};

/// More times than this in which a snapshot may lie are taken together as one: that rules out less, and nothing wrongly.
const MOST_WINDOWS: usize = 16;

/// What the reads of a transaction show.
#[derive(Default, Debug)]
pub(crate) struct ReadsJudged {
    /// Reads that saw none of their candidates, by number, with these.
    pub(crate) wrong: Vec<(usize, Vec<Place>)>,
    /// Reads that share a snapshot, and that none explains together: the last one does not fit those before it.
    pub(crate) torn: Vec<Vec<usize>>,
    /// For each read the version that it certainly saw, if that is known.
    pub(crate) saw: Vec<Option<Place>>,
    /// Whether each read had more than one candidate by its interval alone.
    pub(crate) overlapped: Vec<bool>,
    /// When the snapshot was taken, as far as it is known after all reads.
    pub(crate) snapshot: Option<Span>,
}

/// Asks the reads of a transaction. Rows are looked up by the number of the read. Where a certifier looks for cycles, it finds
/// the halves of commits, too, and gives them better names.
pub(crate) fn judge<'r>(
    reads: &[Read],
    snapshot: Option<Span>,
    (own, certifier): (TraceNo, Certifier),
    row_of: impl Fn(usize) -> &'r Row,
) -> ReadsJudged {
    let mut judged = ReadsJudged { snapshot, ..ReadsJudged::default() };
    let mut shared = SharedSnapshots::default();
    for (number, read) in reads.iter().enumerate() {
        let candidates = Candidates::of(read, snapshot, own, row_of(number));
        judged.overlapped.push(candidates.places.len() > 1);
        judged.saw.push(candidates.only_match());
        if candidates.is_refuted() {
            let places = candidates.places.iter().map(|(place, _)| *place);
            judged.wrong.push((number, places.collect()));
        } else if let Some(shared) = shared.of(read.sees, snapshot) {
            shared.narrow(number, &candidates);
        }
    }
    for SharedSnapshot { of, windows, reads: of_it, is_torn } in shared.all {
        if is_torn {
            judged.torn.push(of_it);
        } else if let Some(narrowed) = windows.into_iter().reduce(Span::hull) {
            if of == Sees::Snapshot {
                judged.snapshot = Some(narrowed);
            }
            ask_again(reads, (&of_it, narrowed), own, &row_of, &mut judged);
            if certifier == Certifier::None {
                judged.torn.extend(half_seen((&of_it, narrowed), &judged.saw, &row_of));
            }
        }
    }
    judged
}

/// A snapshot that several reads share: that of the transaction, or of a statement.
struct SharedSnapshot {
    of: Sees,
    /// The times in which it can have been taken.
    windows: Vec<Span>,
    /// Its reads, by number; if no time is left for one of them, that is the last one.
    reads: Vec<usize>,
    is_torn: bool,
}

impl SharedSnapshot {
    /// A read leaves only those times in which a version is shown that it can have seen.
    fn narrow(&mut self, number: usize, candidates: &Candidates<'_>) {
        if self.is_torn {
            return;
        }
        self.reads.push(number);
        let left = candidates.narrow(&self.windows);
        match left.is_empty() {
            true => self.is_torn = true,
            false => self.windows = left,
        }
    }
}

/// All that the reads of a transaction share.
#[derive(Default)]
struct SharedSnapshots {
    all: Vec<SharedSnapshot>,
    of_statements: HashMap<u32, usize>,
}

impl SharedSnapshots {
    /// That of a read, if it shares one. Reads of a statement mostly follow each other, and a transaction has one snapshot.
    fn of(&mut self, sees: Sees, snapshot: Option<Span>) -> Option<&mut SharedSnapshot> {
        let (taken, statement) = match sees {
            Sees::Snapshot => (snapshot?, None),
            Sees::Statement(number, span) => (span, Some(number)),
            Sees::At(_) | Sees::Newest(_) => return None,
        };
        let last = self.all.len().checked_sub(1).filter(|last| self.all[*last].of == sees);
        let known = || self.of_statements.get(&statement?).copied();
        let at = last.or_else(known).unwrap_or_else(|| {
            let (windows, reads) = (vec![taken], Vec::new());
            self.all.push(SharedSnapshot { of: sees, windows, reads, is_torn: false });
            self.all.len() - 1
        });
        self.of_statements.extend(statement.map(|number| (number, at)));
        self.all.get_mut(at)
    }
}

/// The second round: what each read of a snapshot saw, by what is known of the snapshot now.
fn ask_again<'r>(
    reads: &[Read],
    (of_it, snapshot): (&[usize], Span),
    own: TraceNo,
    row_of: &impl Fn(usize) -> &'r Row,
    judged: &mut ReadsJudged,
) {
    for number in of_it.iter().copied() {
        if judged.saw[number].is_none() {
            let candidates = Candidates::in_time(&reads[number], snapshot, own, row_of(number));
            judged.saw[number] = candidates.only_match();
        }
    }
}

/// A commit takes effect at one instant, for all rows. So a snapshot that shows one version of a transaction hides no other one:
/// two reads of which one certainly saw what a transaction wrote, and the other one what it certainly overwrote.
fn half_seen<'r>(
    (of_it, snapshot): (&[usize], Span),
    saw: &[Option<Place>],
    row_of: &impl Fn(usize) -> &'r Row,
) -> Option<Vec<usize>> {
    if of_it.len() < 2 {
        return None;
    }
    let seen = |number: usize| saw[number].map(|place| (row_of(number), place));
    let writer = |number: usize| Some((seen(number)?.0.version(seen(number)?.1)?.writer, number));
    let mut shown: Vec<(TraceNo, usize)> = of_it.iter().filter_map(|at| writer(*at)).collect();
    shown.sort_unstable();
    shown.dedup_by_key(|(writer, _)| *writer);
    of_it.iter().find_map(|number| {
        let (row, place) = seen(*number)?;
        let mut hidden = row.certainly_after(place, snapshot).map(|version| version.writer);
        let at =
            hidden.find_map(|no| shown.binary_search_by_key(&no, |(writer, _)| *writer).ok())?;
        let other = shown[at].1;
        Some(vec![other.min(*number), other.max(*number)])
    })
}

/// The versions that a read can have seen.
struct Candidates<'r> {
    row: &'r Row,
    snapshot: Span,
    /// Each with whether it is what was read.
    places: Vec<(Place, Match)>,
}

impl<'r> Candidates<'r> {
    fn of(read: &Read, snapshot: Option<Span>, own: TraceNo, row: &'r Row) -> Candidates<'r> {
        let snapshot = match read.sees {
            Sees::Snapshot => snapshot.unwrap_or(Span::ANY),
            Sees::At(span) | Sees::Statement(_, span) => span,
            Sees::Newest(_) => Span::ANY,
        };
        Candidates::in_time(read, snapshot, own, row)
    }

    /// The same of a snapshot that was taken in that time.
    fn in_time(read: &Read, snapshot: Span, own: TraceNo, row: &'r Row) -> Candidates<'r> {
        let places: Vec<Place> = match read.sees {
            Sees::Newest(from) => row.newest_when_locked(from, own),
            Sees::Snapshot | Sees::At(_) | Sees::Statement(..) => row.candidates(snapshot, own),
        };
        let places = places.into_iter().map(|place| (place, row.matches(place, &read.observed)));
        Candidates { row, snapshot, places: places.collect() }
    }

    /// Whether none of them is what was read.
    fn is_refuted(&self) -> bool {
        self.places.iter().all(|(_, matches)| *matches == Match::No)
    }

    /// The version that it certainly saw: the only one that can be what was read.
    fn only_match(&self) -> Option<Place> {
        let mut possible = self.places.iter().filter(|(_, matches)| *matches != Match::No);
        let (place, _) = possible.next()?;
        possible.next().is_none().then_some(*place)
    }

    /// What is left of the times in which a snapshot can have been taken.
    fn narrow(&self, windows: &[Span]) -> Vec<Span> {
        let possible = self.places.iter().filter(|(_, matches)| *matches != Match::No);
        let shown = possible.map(|(place, _)| self.row.shown_in(*place, self.snapshot));
        let mut left: Vec<Span> = Vec::new();
        for shown in shown {
            for window in windows {
                let sent = window.sent.max(shown.sent);
                let answered = window.answered.min(shown.answered);
                if sent <= answered {
                    left.push(Span { sent, answered });
                }
            }
        }
        if left.len() > MOST_WINDOWS {
            left = left.into_iter().reduce(Span::hull).into_iter().collect();
        }
        left
    }
}
