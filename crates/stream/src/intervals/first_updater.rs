//! First updater wins (or first committer): of two transactions that committed and wrote one row, one had committed before
//! the other took its snapshot.

use isolde_spec::LockScope;

use super::breach::Broken;
use super::content::Content;
use super::mirror::{Deciding, Mirror};
use super::row::{Place, Row, RowVersion};
use super::span::Span;
use super::trace::{DATABASE, Trace, Write};

impl Mirror {
    /// Holds the versions of a transaction against those of others that have been decided before.
    pub(super) fn only_one_updates(&mut self, txn: &Deciding) {
        let (no, trace) = (txn.no, &txn.trace);
        // A transaction that has read nothing has no snapshot; then its lock counts. If neither has one, it is for their locks
        // alone to keep them apart.
        let least = if self.profile.locks == LockScope::None { 2 } else { 1 };
        let of_database = self.profile.locks == LockScope::Database;
        let mut broken = Vec::new();
        for write in trace.writes.iter().filter(|write| (write.row == DATABASE) == of_database) {
            let Some(row) = self.rows.get(&write.row) else { continue };
            let Some(place) = row.place_of(no) else { continue };
            let since = txn.snapshot.map_or(write.locked, |snapshot| snapshot.answered);
            // Where an update that changes nothing leaves no version, it is in no other's way. Under a lock, the later
            // writer is refused even if it would change nothing itself.
            let changes = |place: Place| match self.profile.locks {
                _ if !self.profile.idle_updates_vanish => true,
                // Such versions are in doubt by now.
                LockScope::None => row.version(place).is_some_and(|version| version.is_certain),
                _ => !row.may_be_idle(place),
            };
            let both = |place: Place| self.profile.locks != LockScope::None || changes(place);
            let earlier = before(row, place, since).filter(|at| changes(*at) && both(place));
            let later = after(row, place, trace).filter(|at| changes(place) && both(*at));
            // Whatever is written after a delete may be a new row.
            let met = earlier.chain(later).filter(|at| !row.may_be_deleted_between(*at, place));
            let met = met.filter_map(|at| row.version(at));
            let bound = |other: &&RowVersion| {
                let snapshots = [txn.snapshot, other.snapshot].into_iter().flatten().count();
                other.writer != no && snapshots >= least
            };
            let met = met.filter(bound);
            broken.extend(met.filter_map(|other| both_wrote(write, trace, since, other)));
        }
        for what in broken {
            self.tell(trace, what);
        }
    }
}

/// Whether each took its snapshot before the other committed, if both have been decided. One that has read nothing has no
/// snapshot, but it had to have its lock on the row after the other had committed.
fn both_wrote(write: &Write, trace: &Trace, since: i64, other: &RowVersion) -> Option<Broken> {
    if !(other.decided && other.is_certain) {
        return None;
    }
    let others = other.snapshot.map_or(other.rank, |snapshot| snapshot.answered);
    let neither_first = trace.commit.sent > others && other.commit.sent > since;
    neither_first.then_some(Broken::BothWrote {
        op: write.op,
        other: other.txn,
        other_op: other.op,
        span: Span { sent: since, answered: trace.commit.sent },
        other_span: Span { sent: others, answered: other.commit.sent },
    })
}

/// The places of versions before a place whose writers may have committed after a snapshot. A row that was deleted and
/// inserted again is another one: an insert is not held against what was there before.
fn before(row: &Row, place: Place, since: i64) -> impl Iterator<Item = Place> {
    let own_inserts = row.version(place).is_some_and(|version| version.inserts);
    let places = (1..place).rev();
    let lasts = places.take_while(move |at| {
        row.version(*at).is_some_and(|version| {
            !own_inserts && version.content != Content::Absent && version.commit.sent > since
        })
    });
    // What was inserted by another one is the last that counts.
    let mut is_over = false;
    lasts.take_while(move |at| {
        let was_over = is_over;
        is_over |= row.version(*at).is_some_and(|version| version.inserts);
        !was_over
    })
}

/// The places of versions after a place whose writers have been decided before, since their COMMIT was answered earlier.
fn after(row: &Row, place: Place, trace: &Trace) -> impl Iterator<Item = Place> {
    let own_deletes = row.version(place).is_some_and(|version| version.content == Content::Absent);
    let ended = trace.commit.answered;
    let later = place + 1..=row.versions.len();
    later.take_while(move |at| {
        row.version(*at).is_some_and(|version: &RowVersion| {
            !own_deletes
                && !version.inserts
                && version.rank <= ended
                && version.content != Content::Absent
        })
    })
}
