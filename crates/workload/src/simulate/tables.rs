//! The tables of a simulated database: one for each round that some session is still in.

use std::collections::VecDeque;

/// The tables in use.
#[derive(Debug)]
pub(crate) struct Tables<C> {
    rows: u32,
    /// The round of the first one.
    first: u32,
    tables: VecDeque<Table<C>>,
    next_key: u64,
}

#[derive(Debug)]
struct Table<C> {
    first_key: u64,
    cells: Vec<C>,
    /// How many sessions are in this round.
    sessions: u32,
}

impl<C: Clone + Default> Tables<C> {
    /// The table of the first round, with all sessions in it.
    pub(crate) fn new(rows: u32, sessions: u32) -> Tables<C> {
        let mut tables = Tables { rows, first: 0, tables: VecDeque::new(), next_key: 0 };
        tables.create();
        tables.tables[0].sessions = sessions;
        tables
    }

    fn create(&mut self) {
        let cells = vec![C::default(); self.rows as usize];
        let first_key = self.fresh_keys(u64::from(self.rows));
        self.tables.push_back(Table { first_key, cells, sessions: 0 });
    }

    /// Names of keys that were not used yet.
    pub(crate) fn fresh_keys(&mut self, count: u64) -> u64 {
        self.next_key += count;
        self.next_key - count
    }

    /// The name of a row and what is in it; `None` if no session is in that round any more.
    #[inline]
    pub(crate) fn cell(&mut self, round: u32, row: u32) -> Option<(u64, &mut C)> {
        let table = self.tables.get_mut(round.checked_sub(self.first)? as usize)?;
        Some((table.first_key + u64::from(row), table.cells.get_mut(row as usize)?))
    }

    /// A session goes on to another round. Tables that no session will touch again go, cell by cell.
    pub(crate) fn go_on(&mut self, from: u32, to: u32, mut gone: impl FnMut(u64, C)) {
        let at = |round: u32, first: u32| round.saturating_sub(first) as usize;
        while self.tables.len() <= at(to, self.first) {
            self.create();
        }
        self.tables[at(from, self.first)].sessions -= 1;
        self.tables[at(to, self.first)].sessions += 1;
        while self.tables.front().is_some_and(|table| table.sessions == 0) {
            self.drop_first(&mut gone);
        }
    }

    /// The round of the oldest table in use.
    pub(crate) fn oldest(&self) -> u32 {
        self.first
    }

    /// All tables go.
    pub(crate) fn close(&mut self, mut gone: impl FnMut(u64, C)) {
        while !self.tables.is_empty() {
            self.drop_first(&mut gone);
        }
    }

    fn drop_first(&mut self, gone: &mut impl FnMut(u64, C)) {
        let Some(table) = self.tables.pop_front() else { return };
        self.first += 1;
        for (key, cell) in (table.first_key..).zip(table.cells) {
            gone(key, cell);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_goes_when_the_last_session_has_left() {
        let mut tables: Tables<u64> = Tables::new(2, 2);
        let mut gone = Vec::new();
        *tables.cell(0, 1).unwrap().1 = 5;
        tables.go_on(0, 1, |key, cell| gone.push((key, cell)));
        assert_eq!(tables.cell(0, 1).unwrap(), (1, &mut 5));
        assert_eq!(tables.cell(1, 1).unwrap(), (3, &mut 0));
        assert!(gone.is_empty());
        tables.go_on(0, 1, |key, cell| gone.push((key, cell)));
        assert_eq!(gone, [(0, 0), (1, 5)]);
        assert!(tables.cell(0, 1).is_none() && tables.cell(2, 0).is_none());
        assert_eq!((tables.oldest(), tables.fresh_keys(3)), (1, 4));
    }
}
