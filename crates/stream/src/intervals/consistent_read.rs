//! Consistent read: what a read returned was there when its snapshot was taken.
//!
//! Each read has candidates: the versions that its snapshot can have shown. One that returned something else breaks the
//! promise. A transaction with one snapshot for all of its reads needs more: one instant at which all that it read was
//! there (specification C.2.6). Each read narrows the time in which its snapshot can have been taken to those times in which
//! a version is shown that it can have seen; if nothing is left, no snapshot explains the reads together, though one may
//! explain each of them alone (read skew).
//!
//! That is done in two rounds: the first narrows the time, the second asks each read again by what is left of it, so that
//! more reads have one candidate only.

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
    /// The first read that no snapshot explains together with those before it.
    pub(crate) torn: Option<usize>,
    /// For each read the version that it certainly saw, if that is known.
    pub(crate) saw: Vec<Option<Place>>,
    /// Whether each read had more than one candidate by its interval alone.
    pub(crate) overlapped: Vec<bool>,
    /// When the snapshot was taken, as far as it is known after all reads.
    pub(crate) snapshot: Option<Span>,
}

/// Asks the reads of a transaction. Rows are looked up by the number of the read.
pub(crate) fn judge<'r>(
    reads: &[Read],
    snapshot: Option<Span>,
    own: TraceNo,
    row_of: impl Fn(usize) -> &'r Row,
) -> ReadsJudged {
    let mut judged = ReadsJudged { snapshot, ..ReadsJudged::default() };
    let mut windows: Vec<Span> = snapshot.into_iter().collect();
    for (number, read) in reads.iter().enumerate() {
        let candidates = Candidates::of(read, snapshot, own, row_of(number));
        judged.overlapped.push(candidates.places.len() > 1);
        judged.saw.push(candidates.only_match());
        if candidates.is_refuted() {
            let places = candidates.places.iter().map(|(place, _)| *place);
            judged.wrong.push((number, places.collect()));
        } else if read.sees == Sees::Snapshot && judged.torn.is_none() {
            let left = candidates.narrow(&windows);
            match left.is_empty() {
                true => judged.torn = Some(number),
                false => windows = left,
            }
        }
    }
    if let Some(narrowed) =
        windows.iter().copied().reduce(Span::hull).filter(|_| judged.torn.is_none())
    {
        judged.snapshot = Some(narrowed);
        ask_again(reads, narrowed, own, &row_of, &mut judged);
    }
    judged
}

/// The second round: what each read saw, by what is known of the snapshot now.
fn ask_again<'r>(
    reads: &[Read],
    snapshot: Span,
    own: TraceNo,
    row_of: &impl Fn(usize) -> &'r Row,
    judged: &mut ReadsJudged,
) {
    for (number, read) in reads.iter().enumerate() {
        if read.sees == Sees::Snapshot && judged.saw[number].is_none() {
            let candidates = Candidates::of(read, Some(snapshot), own, row_of(number));
            judged.saw[number] = candidates.only_match();
        }
    }
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
            Sees::At(span) => span,
            Sees::Newest(_) => Span::ANY,
        };
        let places: Vec<Place> = match read.sees {
            Sees::Newest(from) => row.newest_when_locked(from, own),
            Sees::Snapshot | Sees::At(_) => row.candidates(snapshot, own),
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
