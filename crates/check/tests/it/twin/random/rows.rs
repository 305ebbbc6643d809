//! Predicate reads of random histories.

use super::{Cell, KEYS, Made, MadeTxn, Maker, Rng, Running, View, other_value};

/// A predicate read. Predicates are functions of the value, so that results look real.
pub(super) struct Rows {
    predicate: Predicate,
    /// `!` or `?`, or neither.
    mark: &'static str,
    learned: bool,
    rows: Vec<(usize, i64)>,
}

#[derive(Clone, Copy)]
enum Predicate {
    All,
    Even,
}

impl Predicate {
    fn name(self) -> &'static str {
        match self {
            Predicate::All => "all",
            Predicate::Even => "even",
        }
    }

    fn matches(self, value: i64) -> bool {
        match self {
            Predicate::All => true,
            Predicate::Even => value % 2 == 0,
        }
    }
}

impl Maker<'_> {
    /// A predicate read, perhaps a change, perhaps another look.
    pub(super) fn look_and_change(&mut self, run: &mut Running) {
        self.predicate_read(run);
        if self.rng.percent(self.weights.writes) {
            let key = self.rng.below(self.weights.keys);
            self.change(run, key);
        }
        if self.rng.percent(15) {
            self.predicate_read(run);
        }
    }

    /// One statement has one view, unless any read has its own.
    pub(super) fn predicate_read(&mut self, run: &mut Running) {
        let predicate = if self.rng.percent(75) { Predicate::All } else { Predicate::Even };
        self.look_again(run);
        let mut rows = Vec::new();
        for key in 0..self.weights.keys {
            if let View::Any = self.weights.view {
                self.look_again(run);
            }
            if let Cell::Value(value) = self.content(run, key)
                && predicate.matches(value)
            {
                rows.push((key, value));
            }
        }
        let mark = match self.rng.below(40) {
            0 => "!",
            1 => "?",
            _ => "",
        };
        let learned = !self.rng.percent(4);
        run.made.push(Made::Rows(Rows { predicate, mark, learned, rows }));
    }

    /// One that aborts and has seen every row that ever was, or nearly: then it is known what
    /// matches the predicates, and nothing else is said.
    pub(super) fn witness(&mut self) {
        let mut left: Vec<(usize, i64)> = self.written.clone();
        for (key, cell) in self.initial.iter().enumerate() {
            if let Cell::Value(value) = cell {
                left.push((key, *value));
            }
        }
        left.sort_unstable();
        left.dedup();
        left.retain(|_| !self.rng.percent(3));
        let mut ops = Vec::new();
        for predicate in [Predicate::All, Predicate::Even] {
            let mut left = left.clone();
            left.retain(|(_, value)| predicate.matches(*value));
            while !left.is_empty() {
                let mut rows: Vec<(usize, i64)> = Vec::new();
                left.retain(|row| {
                    let taken = rows.iter().any(|r| r.0 == row.0);
                    rows.extend(Some(*row).filter(|_| !taken));
                    taken
                });
                ops.push(Made::Rows(Rows { predicate, mark: "", learned: true, rows }));
            }
        }
        let (session, interval) = (self.rng.below(self.weights.sessions), self.interval());
        self.txns.push(MadeTxn { session, ops, joined: Vec::new(), outcome: "abort", interval });
    }
}

impl Rows {
    /// Leaves out a row, or puts in one that was there once, or never.
    pub(super) fn spoil(&mut self, rng: &mut Rng, values: usize, initial: &[Cell]) {
        if !self.rows.is_empty() && rng.percent(50) {
            let at = rng.below(self.rows.len());
            self.rows.remove(at);
            return;
        }
        let key = rng.below(initial.len());
        if let Cell::Value(value) = other_value(rng, values, &initial[key], &None) {
            self.rows.retain(|(k, _)| *k != key);
            self.rows.push((key, value));
        }
    }

    pub(super) fn show(&self) -> String {
        let rows: Vec<String> =
            self.rows.iter().map(|(key, value)| format!(",{}={value}", KEYS[*key])).collect();
        let rows = if self.learned { rows.concat() } else { ",_".to_owned() };
        format!("pred{}({}{rows})", self.mark, self.predicate.name())
    }
}
