//! The reads of a transaction, when it is decided.

use isolde_spec::LockScope;

use super::breach::Broken;
use super::consistent_read::{self, ReadsJudged};
use super::content::{Content, Match};
use super::mirror::{Deciding, Mirror};
use super::row::{Place, Row, RowVersion};
use super::span::Span;
use super::trace::{OwnWrite, Read, Sees};

/// Of more versions that a read can have seen, the newest are told.
const MOST_POSSIBLE: usize = 10;

impl Mirror {
    /// Holds the reads of a transaction against the versions that they can have seen, and notes what they saw.
    pub(super) fn judge_reads(&mut self, txn: &mut Deciding) {
        self.add_missing_rows(txn);
        let reads = std::mem::take(&mut txn.trace.reads);
        let (own, others): (Vec<Read>, Vec<Read>) =
            reads.into_iter().partition(|read| read.own.is_some());
        for read in &own {
            self.judge_own(txn, read);
        }
        for read in &others {
            self.row_mut(read.row);
        }
        let rows: Vec<&Row> = others.iter().map(|read| &self.rows[&read.row]).collect();
        let own = (txn.no, self.profile.certifier);
        let judged = consistent_read::judge(&others, txn.trace.snapshot, own, |at| rows[at]);
        self.count_reads(txn, &others, &judged);
        self.tell_reads(txn, &others, &judged);
        (txn.snapshot, txn.saw) = (judged.snapshot, judged.saw);
        // Whether what another transaction inserts there satisfies the predicate is not known: no dependency follows.
        for (saw, _) in txn.saw.iter_mut().zip(&others).filter(|(_, read)| read.is_missing) {
            *saw = None;
        }
        txn.trace.reads = others;
        self.learn_predicates(txn);
    }

    /// A transaction reads what it wrote.
    fn judge_own(&mut self, txn: &Deciding, read: &Read) {
        let Some(own) = &read.own else { return };
        if self.shows_own(txn, read, own) {
            return;
        }
        if self.profile.idle_updates_vanish && self.may_have_changed_nothing(txn, read) {
            return;
        }
        // PostgreSQL lets a key be inserted that was deleted after the snapshot, which goes on to show the old row beside it.
        if own.inserted && read.observed.is_row() && self.is_shown(txn, read) {
            return;
        }
        // Where updates that change nothing vanish, it matters what was there before, and so it does for other columns.
        let is_other = own.content.matches(&read.observed, |_| None) == Match::No;
        let alone = is_other && !self.profile.idle_updates_vanish && !own.inserted;
        self.tell(&txn.trace, Broken::Own { op: read.op, alone });
    }

    /// Whether a read shows the own write. Columns that it did not write are those of the version that it replaced, which
    /// is the newest one once the row is locked.
    fn shows_own(&mut self, txn: &Deciding, read: &Read, own: &OwnWrite) -> bool {
        let (no, snapshot) = (txn.no, txn.trace.snapshot.unwrap_or(meanwhile(txn)));
        let locks = self.profile.locks == LockScope::Rows;
        let seen = &read.observed;
        match own.content.matches(seen, |_| None) {
            Match::No => return false,
            Match::Yes => return true,
            Match::Perhaps => {}
        }
        let row = self.row_mut(read.row);
        let over = |place: Place| own.content.matches(seen, |column| row.column(place, column));
        let fits = |place: Place| over(place) != Match::No;
        match locks {
            true => row.newest_when_locked(own.locked, no).into_iter().any(fits),
            false => row.candidates(snapshot, no).into_iter().any(fits),
        }
    }

    /// Whether the transaction's snapshot may show what a read saw.
    fn is_shown(&mut self, txn: &Deciding, read: &Read) -> bool {
        let (Some(snapshot), no) = (txn.trace.snapshot, txn.no) else { return false };
        let row = self.row_mut(read.row);
        let mut seen = row.candidates(snapshot, no).into_iter();
        seen.any(|at| row.matches(at, &read.observed) != Match::No)
    }

    /// Whether the own write may have left no version, as what it wrote may have been there already: then the transaction
    /// goes on to see what it saw before.
    fn may_have_changed_nothing(&mut self, txn: &Deciding, read: &Read) -> bool {
        let no = txn.no;
        let Some(own) = read.own.as_ref().map(|own| own.content.as_observed()) else {
            return false;
        };
        let snapshot = txn.trace.snapshot.unwrap_or(meanwhile(txn));
        let row = self.row_mut(read.row);
        let holds = |at| own.as_ref().is_none_or(|own| row.matches(at, own) != Match::No);
        let mut seen = row.candidates(snapshot, no).into_iter();
        row.candidates(meanwhile(txn), no).into_iter().any(holds)
            && seen.any(|at| row.matches(at, &read.observed) != Match::No)
    }

    fn count_reads(&mut self, txn: &Deciding, reads: &[Read], judged: &ReadsJudged) {
        // What was written later may have come or not: it does not count.
        let in_time = |version: &RowVersion| version.commit.sent <= txn.trace.turn.ended;
        for (number, read) in reads.iter().enumerate() {
            let row = &self.rows[&read.row];
            let mut others = row.versions.iter().filter(|version| version.writer != txn.no);
            if !others.any(in_time) {
                continue;
            }
            // What is not known cannot be what was seen.
            let is_known = |place: &Place| *row.content(*place) != Content::Unknown;
            let saw = judged.saw[number].filter(is_known);
            let ended = txn.trace.turn.ended;
            let is_overwritten = saw.is_none_or(|place| row.is_overwritten_by(place, ended));
            self.tally.reads.count(saw.is_some());
            if is_overwritten {
                self.tally.anti.count(saw.is_some());
            }
            self.tally.overlapped += u64::from(judged.overlapped[number]);
        }
    }

    fn tell_reads(&mut self, txn: &Deciding, reads: &[Read], judged: &ReadsJudged) {
        for (wrong, places) in &judged.wrong {
            let read = &reads[*wrong];
            let snapshot = match read.sees {
                Sees::Snapshot => txn.trace.snapshot,
                Sees::At(span) | Sees::Statement(_, span) => Some(span),
                Sees::Newest(_) => None,
            };
            let row = &self.rows[&read.row];
            let write =
                |place: &Place| row.version(*place).map(|version| (version.txn, version.op));
            let possible = places.iter().take(MOST_POSSIBLE).map(write).collect();
            let what = Broken::Read { row: read.row, op: read.op, snapshot, possible };
            self.tell(&txn.trace, what);
        }
        for torn in &judged.torn {
            let Some((last, others)) = torn.split_last() else { continue };
            let Read { op, sees, .. } = reads[*last];
            let snapshot = match sees {
                Sees::Snapshot => txn.trace.snapshot,
                Sees::Statement(_, span) => Some(span),
                Sees::At(_) | Sees::Newest(_) => None,
            };
            if let Some(snapshot) = snapshot {
                // A predicate read returned several rows.
                let mut others: Vec<u32> = others.iter().map(|other| reads[*other].op).collect();
                others.retain(|other| *other != op);
                others.dedup();
                self.tell(&txn.trace, Broken::Torn { op, others, snapshot });
            }
        }
    }
}

/// While it went on: what came later does not count, since it may have come or not.
fn meanwhile(txn: &Deciding) -> Span {
    Span { sent: txn.trace.turn.began, answered: txn.trace.turn.ended }
}
