//! Anomalies as interleavings, as data.

/// An interleaving of a few transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// The anomaly.
    pub name: &'static str,
    /// The steps: what is done, by which transaction, to which row. A transaction begins with its first step.
    ///
    /// | letter | what |
    /// |---|---|
    /// | `r`, `l` | reads a row; and locks it |
    /// | `w`, `d` | updates a row; deletes it |
    /// | `p`, `u`, `e` | reads all rows of the predicate, which is true of row x; updates them; deletes them |
    /// | `i` | inserts a row like row x, of which the predicate is true too |
    /// | `b`, `c`, `a` | begins; commits; rolls back |
    /// | `s`, `k` | sets a savepoint; rolls back to it |
    pub steps: &'static str,
}

const fn pattern(name: &'static str, steps: &'static str) -> Pattern {
    Pattern { name, steps }
}

/// The patterns that are built in.
pub const PATTERNS: &[Pattern] = &[
    pattern("dirty write", "w1x w2x w2y w1y c1 c2"),
    pattern("dirty write, undone", "w1x w2x a1 c2"),
    pattern("aborted read", "w1x r2x a1 c2"),
    pattern("intermediate read", "w1x r2x w1x c1 c2"),
    pattern("circular information flow", "w1x w2y r1y r2x c1 c2"),
    pattern("lost update", "r1x r2x w1x w2x c1 c2"),
    pattern("lost update, one at a time", "r1x w2x c2 w1x c1"),
    pattern("lost update by a predicate", "p1 u2 c2 u1 p1 c1"),
    pattern("non-repeatable read", "r1x w2x c2 r1x c1"),
    pattern("read skew", "r1x w2x w2y c2 r1y c1"),
    pattern("read skew, then a write", "r1x w2x w2y c2 w1y c1"),
    pattern("write skew", "r1x r1y r2x r2y w1x w2y c1 c2"),
    pattern("write skew, locked", "l1x r1y r2x l2y w1x w2y c1 c2"),
    pattern("phantom", "p1 i2 c2 p1 c1"),
    pattern("phantom that is deleted", "p1 d2x c2 p1 c1"),
    pattern("phantom that is updated", "p1 w2x c2 p1 c1"),
    pattern("predicate write skew", "p1 p2 i1 i2 c1 c2"),
    pattern("predicate preventer", "p1 i2 c2 u1 p1 c1"),
    pattern("predicate, deleted by both", "p1 w2x c2 e1 p1 c1"),
    pattern("observed transaction vanishes", "w1x w1y w2x c1 r3x w2y r3y c2 r3y c3"),
    pattern("long fork", "r3y r4x w1x c1 w2y c2 r3x r4y c3 c4"),
    pattern("read-only transaction", "r2x r2y r1y w1y c1 r3x r3y c3 w2x c2"),
    pattern("three of a circle", "r1x r2y r3z w1y w2z w3x c1 c2 c3"),
    pattern("insert, then deleted by another", "i1 e2 c1 p3 c2 c3"),
    pattern("delete and update", "d1x w2x c1 c2"),
    pattern("update and delete", "w1x e2 c1 c2"),
    pattern("savepoint", "s1 w1x r2x k1 r2x w1y c1 c2"),
    pattern("savepoint, and another writes", "s1 w1x k1 w2x r1x c2 c1"),
    pattern("own writes", "b2 w1x p1 w2x p1 c1 c2"),
    pattern("rolled back, then read", "i1 w1x a1 p2 w2x c2"),
];

/// A step of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PatternStep {
    /// The letter.
    pub(super) act: u8,
    /// The transaction, from 0.
    pub(super) transaction: usize,
    /// The row, from 0.
    pub(super) row: usize,
}

impl Pattern {
    /// The steps. A word that is none is left out.
    pub(super) fn parsed(&self) -> Vec<PatternStep> {
        self.steps.split(' ').filter_map(step).collect()
    }
}

fn step(word: &str) -> Option<PatternStep> {
    let (act, transaction, row) = match *word.as_bytes() {
        [act, transaction] => (act, transaction, b'x'),
        [act, transaction, row] => (act, transaction, row),
        _ => return None,
    };
    let transaction = usize::from(transaction.checked_sub(b'1')?);
    Some(PatternStep { act, transaction, row: usize::from(row.checked_sub(b'x')?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_whole() {
        for pattern in PATTERNS {
            let steps = pattern.parsed();
            assert_eq!(steps.len(), pattern.steps.split(' ').count(), "{}", pattern.name);
            let last = steps.iter().map(|step| step.transaction).max().unwrap();
            for transaction in 0..=last {
                let own: Vec<_> = steps.iter().filter(|s| s.transaction == transaction).collect();
                let ends = own.iter().filter(|step| b"ca".contains(&step.act)).count();
                let known =
                    own.iter().all(|step| b"rlwdpueibcask".contains(&step.act) && step.row < 3);
                let ended = own.last().is_some_and(|step| b"ca".contains(&step.act));
                assert!(own.len() > 1 && ends == 1 && ended && known, "{}", pattern.name);
            }
        }
    }
}
