//! Rows that are given up, so that memory stays bounded however many rows there are.
//!
//! Of a row that nothing has touched for long only what it holds is kept. Where even that is too much, the rows that were
//! written longest ago go. From then on nothing is known of what a row holds that is met for the first time, or again:
//! its first reads are not decided. That misses violations, and makes none up.

use super::content::Content;
use super::mirror::Mirror;
use super::row::Row;
use super::trace::DATABASE;

/// So few rows are always kept.
const LEAST: usize = 1 << 12;

impl Mirror {
    /// Gives up half of the rows that are at rest, those that were written first. Says how many that were.
    pub(super) fn give_up_rows(&mut self) -> usize {
        if self.rows.len() <= LEAST {
            return 0;
        }
        let at_rest = |row: &Row| row.is_at_rest();
        let mut ranks: Vec<i64> =
            self.rows.values().filter(|row| at_rest(row)).map(Row::last_rank).collect();
        if ranks.len() < self.rows.len() / 4 {
            return 0;
        }
        let middle = ranks.len() / 2;
        let (_, middle, _) = ranks.select_nth_unstable(middle);
        let middle = *middle;
        let before = self.rows.len();
        self.rows
            .retain(|name, row| *name == DATABASE || !at_rest(row) || row.last_rank() > middle);
        self.rows.shrink_to_fit();
        self.default = Content::Unknown;
        before - self.rows.len()
    }
}
