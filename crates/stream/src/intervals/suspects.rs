//! What must not be believed any more, since transactions came too late: rows that they wrote, of which others had been
//! decided by then, and what was learned of transactions that had been decided.

use hashbrown::HashSet;

use super::breach::{Breach, Broken};
use crate::content::NameId;

/// So many rows are told apart.
const MOST: usize = 1 << 14;

/// What late transactions may explain.
#[derive(Default)]
pub(super) struct Suspects {
    rows: HashSet<NameId>,
    /// There are too many to tell them apart.
    all: bool,
    /// What ended by then was decided without all that it had to do with.
    until: Option<i64>,
}

impl Suspects {
    /// A late transaction wrote rows; others had been decided that ended by a time.
    pub(super) fn add(&mut self, rows: &[NameId], until: i64) {
        self.until = self.until.max(Some(until));
        if !self.all {
            self.rows.extend(rows);
        }
        if self.rows.len() > MOST {
            (self.all, self.rows) = (true, HashSet::new());
        }
    }

    /// Whether a late transaction may explain a breach of some rows, the first of whose transactions ended at a time.
    pub(super) fn may_explain(&self, breach: &Breach, rows: &[NameId], first_end: i64) -> bool {
        let Some(until) = self.until else { return false };
        // What a read saw is asked anew; dependencies and snapshots have been learned before.
        let is_asked =
            matches!(breach.what, Broken::Read { .. } | Broken::Torn { .. } | Broken::Own { .. });
        self.all
            || rows.iter().any(|row| self.rows.contains(row))
            || (!is_asked && first_end <= until)
    }

    /// The bytes that it takes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.rows.capacity() * (size_of::<NameId>() + 1)
    }
}
