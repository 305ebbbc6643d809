//! How large cases are.

use isolde_workload::Random;

/// How large cases are: from, to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Tables.
    pub tables: (u32, u32),
    /// Free columns of a table.
    pub columns: (u32, u32),
    /// Rows of a table.
    pub rows: (u32, u32),
    /// Transactions, where no pattern says how many.
    pub transactions: (u32, u32),
    /// Statements of a transaction.
    pub statements: (u32, u32),
    /// How deep expressions are at most.
    pub depth: u32,
    /// How deep queries are in queries at most.
    pub subqueries: u32,
    /// How many combinations of rows a query looks at, at most, if a server tries all.
    pub combinations: u64,
}

/// Most bugs that are known need no more than this.
impl Default for Sizes {
    fn default() -> Sizes {
        Sizes {
            tables: (1, 3),
            columns: (2, 5),
            rows: (3, 10),
            transactions: (2, 4),
            statements: (2, 4),
            depth: 2,
            subqueries: 2,
            combinations: 30_000,
        }
    }
}

impl Sizes {
    /// More of everything.
    pub fn large() -> Sizes {
        Sizes {
            tables: (2, 5),
            columns: (3, 9),
            rows: (20, 120),
            transactions: (3, 8),
            statements: (3, 10),
            depth: 3,
            subqueries: 3,
            combinations: 200_000,
        }
    }
}

/// A number of a range.
pub(super) fn within(random: &mut Random, (from, to): (u32, u32)) -> u32 {
    let more = random.below(u64::from(to.saturating_sub(from)) + 1);
    from.saturating_add(u32::try_from(more).unwrap_or(0))
}
