//! A transaction before it has run.

use isolde_history::OpKind;

/// One access to one key. Values are not part of it: the client writes a fresh one each time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// What to do: `Read`, `Write`, `Append`, `ListRead`, `Cas` or `InsertIfAbsent`.
    ///
    /// A compare-and-set expects what its session saw last under the key; if it never saw
    /// anything, it expects that the key is absent.
    pub kind: OpKind,
    /// Which row of the round's table, from 0.
    pub row: u32,
    /// Random bits, for choices that only the client can make, such as the access path.
    pub choice: u32,
}

/// One transaction before it has run; a scratch buffer that scripts fill again and again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TxnPlan {
    /// What to do, in order.
    pub steps: Vec<Step>,
    /// Which table: a new round works on a fresh one. Rounds of a script never go back.
    pub round: u32,
    /// The client gives up at the end: ROLLBACK instead of COMMIT.
    pub rolls_back: bool,
}

impl TxnPlan {
    /// The name of a row across all rounds, for a table of so many rows.
    pub fn key(&self, step: &Step, rows: u32) -> u64 {
        u64::from(self.round) * u64::from(rows) + u64::from(step.row)
    }
}
