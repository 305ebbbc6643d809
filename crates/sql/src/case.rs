//! What is run: a small database, transactions, and the order of their statements. All of it is SQL that was printed for one
//! server, with what has to be known of each statement beside it.
//!
//! Whatever makes cases, a generator, a file, a person, ends here; nothing below this module reads SQL.

/// A case.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Case {
    /// The tables. Statements name them by their index.
    pub tables: Vec<CaseTable>,
    /// What makes the tables and indexes, one statement each.
    pub schema: Vec<String>,
    /// What fills the tables, one statement each.
    pub rows: Vec<String>,
    /// The transactions.
    pub transactions: Vec<CaseTransaction>,
    /// Which transaction does its next step, in the order in which steps are sent. A transaction of n statements has n + 2
    /// steps: it begins, does its statements, and ends.
    pub order: Vec<usize>,
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CaseTable {
    /// Its name.
    pub name: String,
    /// Its columns. The first is the primary key, which never changes, and the second the version key, which every statement
    /// that writes a row sets to a value of its own. Both are integers.
    pub columns: Vec<String>,
    /// The tables that its foreign keys refer to: whatever writes a row looks for the row there.
    pub parents: Vec<usize>,
    /// The tables whose foreign keys refer to it: whatever deletes a row looks for rows there.
    pub children: Vec<usize>,
}

/// A transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaseTransaction {
    /// How it begins, such as `begin` or `START TRANSACTION WITH CONSISTENT SNAPSHOT`.
    pub begin: String,
    /// What it does.
    pub statements: Vec<CaseStatement>,
    /// Whether it ends with COMMIT; else with ROLLBACK.
    pub commits: bool,
}

/// A statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaseStatement {
    /// The statement.
    pub sql: String,
    /// What it does.
    pub does: Does,
    /// All tables that it looks at, each once: in FROM, in subqueries, the target of UPDATE and DELETE. The target of INSERT
    /// is among them only if it also reads it. Foreign keys are not followed.
    pub looks_at: Vec<usize>,
    /// Whether it has queries inside. What a statement locks is not locked by those, and they may see other versions.
    pub nested: bool,
    /// Whether it locks the rows that it reads.
    pub locks: ReadLock,
    /// Whether the order of its rows is determined.
    pub ordered: bool,
}

/// What a statement does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Does {
    /// It reads.
    Select {
        /// If it is `SELECT * FROM t WHERE condition` of one table, that table and the condition.
        plain: Option<(usize, Option<String>)>,
    },
    /// It inserts rows.
    Insert {
        /// Into which table.
        table: usize,
        /// The version key of the rows.
        version: i64,
    },
    /// It updates rows.
    Update {
        /// Of which table.
        table: usize,
        /// The version key that they get.
        version: i64,
        /// The condition, as it stands behind WHERE.
        condition: Option<String>,
    },
    /// It deletes rows.
    Delete {
        /// Of which table.
        table: usize,
        /// The condition, as it stands behind WHERE.
        condition: Option<String>,
    },
    /// It sets a savepoint.
    Savepoint(String),
    /// It undoes what came after a savepoint.
    RollbackTo(String),
    /// It forgets a savepoint.
    Release(String),
}

/// Which locks a SELECT takes on rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReadLock {
    /// None.
    #[default]
    None,
    /// Others may read them: `FOR SHARE`, `LOCK IN SHARE MODE`.
    Share,
    /// Others may not: `FOR UPDATE`.
    Update,
    /// It leaves out what is locked, or fails: `SKIP LOCKED`, `NOWAIT`. What it returns depends on locks.
    IfFree,
}

impl Does {
    /// The table that it writes, if it writes.
    pub fn target(&self) -> Option<usize> {
        match self {
            Does::Insert { table, .. }
            | Does::Update { table, .. }
            | Does::Delete { table, .. } => Some(*table),
            Does::Select { .. } | Does::Savepoint(_) | Does::RollbackTo(_) | Does::Release(_) => {
                None
            }
        }
    }

    /// Whether it only says something of the transaction, and nothing of rows.
    pub fn is_control(&self) -> bool {
        matches!(self, Does::Savepoint(_) | Does::RollbackTo(_) | Does::Release(_))
    }
}
