//! First updater wins (or first committer): of two transactions that committed and wrote one row, one had committed before
//! the other took its snapshot.

use isolde_spec::LockScope;

use super::breach::Broken;
use super::content::Content;
use super::mirror::{Deciding, Mirror};
use super::row::{Row, Version};
use super::span::Span;
use super::trace::{DATABASE, Trace, Write};

impl Mirror {
    /// Holds the versions of a transaction against those of others that have been decided before.
    pub(super) fn only_one_updates(&mut self, txn: &Deciding) {
        let (no, trace) = (txn.no, &txn.trace);
        // A transaction that read nothing has no snapshot, and is bound by nothing.
        let Some(snapshot) = txn.snapshot else { return };
        let of_database = self.profile.locks == LockScope::Database;
        let mut broken = Vec::new();
        for write in trace.writes.iter().filter(|write| (write.row == DATABASE) == of_database) {
            let Some(row) = self.rows.get(&write.row) else { continue };
            let Some(place) = row.place_of(no) else { continue };
            let met = before(row, place, snapshot).chain(after(row, place, trace));
            let met = met.filter(|other| other.writer != no);
            broken.extend(met.filter_map(|other| both_wrote(write, trace, snapshot, other)));
        }
        for what in broken {
            self.tell(trace, what);
        }
    }
}

/// Whether each took its snapshot before the other committed, if both have been decided.
fn both_wrote(write: &Write, trace: &Trace, snapshot: Span, other: &Version) -> Option<Broken> {
    let others = other.snapshot.filter(|_| other.decided && other.is_certain)?;
    let neither_first =
        trace.commit.sent > others.answered && other.commit.sent > snapshot.answered;
    neither_first.then_some(Broken::BothWrote {
        op: write.op,
        other: other.txn,
        other_op: other.op,
        span: Span { sent: snapshot.answered, answered: trace.commit.sent },
        other_span: Span { sent: others.answered, answered: other.commit.sent },
    })
}

/// Versions before a place whose writers may have committed after a snapshot. A row that was deleted and inserted again is
/// another one: an insert is not held against what was there before.
fn before(row: &Row, place: usize, snapshot: Span) -> impl Iterator<Item = &Version> {
    let own_inserts = row.version(place).is_some_and(|version| version.inserts);
    let earlier = row.versions[..place.saturating_sub(1)].iter().rev();
    let lasts = earlier.take_while(move |version| {
        !own_inserts
            && version.content != Content::Absent
            && version.commit.sent > snapshot.answered
    });
    // What was inserted by another one is the last that counts.
    let mut is_over = false;
    lasts.take_while(move |version| {
        let was_over = is_over;
        is_over |= version.inserts;
        !was_over
    })
}

/// Versions after a place whose writers have been decided before, since their COMMIT was answered earlier.
fn after<'r>(row: &'r Row, place: usize, trace: &Trace) -> impl Iterator<Item = &'r Version> {
    let own_deletes = row.version(place).is_some_and(|version| version.content == Content::Absent);
    let ended = trace.commit.answered;
    let later = row.versions[place..].iter();
    later.take_while(move |version| {
        !own_deletes
            && !version.inserts
            && version.rank <= ended
            && version.content != Content::Absent
    })
}
