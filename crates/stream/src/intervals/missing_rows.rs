//! Rows that a predicate read did not return.
//!
//! A predicate is a function of the row alone, and an unknown one. That a read returned a row shows that the row, as it was
//! then, satisfies the predicate. So where another read of the same predicate does not return that row, and the row was
//! either not there or in such a state, whatever its snapshot was, the read saw that it was not there: a read like any
//! other. Rows of which only some columns are known show nothing.
//!
//! What is learned from a transaction when it is decided is used for those that are decided later, and never
//! forgotten: otherwise it would matter when something is forgotten. So there is a limit.

use hashbrown::HashSet;

use super::content::{Content, Observed};
use super::mirror::{Deciding, Mirror};
use super::span::Span;
use super::trace::{Looked, Read, Sees};
use crate::content::NameId;

impl Mirror {
    /// Adds to the reads of a transaction those of rows that its predicate reads must have seen absent.
    pub(super) fn add_missing_rows(&mut self, txn: &mut Deciding) {
        let looks = std::mem::take(&mut txn.trace.looks);
        for looked in &looks {
            self.missing_rows(txn, looked);
        }
        txn.trace.looks = looks;
    }

    /// Notes what the predicate reads of a transaction show of predicates.
    pub(super) fn learn_predicates(&mut self, txn: &Deciding) {
        txn.trace.looks.iter().for_each(|looked| self.predicates.learn(looked));
    }

    fn missing_rows(&mut self, txn: &mut Deciding, looked: &Looked) {
        let snapshot = match looked.sees {
            Sees::Snapshot => txn.trace.snapshot.unwrap_or(Span::ANY),
            Sees::At(span) | Sees::Statement(_, span) => span,
            Sees::Newest(_) => return,
        };
        let Some(known) = self.predicates.known.get(&looked.predicate) else { return };
        let returned = looked.rows.iter().map(|(row, _)| *row);
        let own = txn.trace.writes.iter().map(|write| write.row);
        let seen: HashSet<NameId> = returned.chain(own).collect();
        let mut missing: Vec<NameId> = Vec::new();
        for (row, states) in known.rows.iter().filter(|(row, _)| !seen.contains(*row)) {
            let Some(kept) = self.rows.get(row) else { continue };
            let places = kept.candidates(snapshot, txn.no).into_iter();
            let mut contents = places.map(|place| kept.content(place));
            if contents.all(|content| *content == Content::Absent || states.contains(content)) {
                missing.push(*row);
            }
        }
        // The order of a map is no order.
        missing.sort_unstable();
        let absent = |row| Read {
            row,
            op: looked.op,
            sees: looked.sees,
            observed: Observed::Absent,
            is_missing: true,
            own: None,
        };
        txn.trace.reads.extend(missing.into_iter().map(absent));
    }
}
