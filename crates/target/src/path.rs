//! Access paths: several ways to write the same access, since bugs hide in them.

use isolde_history::LockMode;

/// How an access reaches its row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Path {
    /// By primary key; the only one that every target has.
    PrimaryKey,
    /// By a secondary index.
    Index,
    /// By a range of the primary key.
    Range,
    /// By a column without an index: the whole table is read.
    Scan,
    /// `SELECT ... FOR UPDATE`.
    ForUpdate,
    /// `SELECT ... FOR SHARE`.
    ForShare,
    /// `INSERT ... ON CONFLICT DO UPDATE`, `ON DUPLICATE KEY UPDATE`.
    Upsert,
    /// `UPDATE ... RETURNING`.
    Returning,
    /// `DELETE`, then `INSERT`; or `REPLACE`.
    Replace,
    /// `UPDATE`, and `INSERT` if there was no such row.
    UpdateElseInsert,
    /// A plain `INSERT` whose failure tells that the row was there.
    PlainInsert,
}

impl Path {
    /// Every path.
    pub const ALL: [Path; 11] = [
        Path::PrimaryKey,
        Path::Index,
        Path::Range,
        Path::Scan,
        Path::ForUpdate,
        Path::ForShare,
        Path::Upsert,
        Path::Returning,
        Path::Replace,
        Path::UpdateElseInsert,
        Path::PlainInsert,
    ];

    /// The name on the command line and in histories.
    pub const fn name(self) -> &'static str {
        match self {
            Path::PrimaryKey => "primary-key",
            Path::Index => "index",
            Path::Range => "range",
            Path::Scan => "scan",
            Path::ForUpdate => "for-update",
            Path::ForShare => "for-share",
            Path::Upsert => "upsert",
            Path::Returning => "returning",
            Path::Replace => "replace",
            Path::UpdateElseInsert => "update-else-insert",
            Path::PlainInsert => "plain-insert",
        }
    }

    /// The lock that it asks for by name. What a plain read or write locks depends on the database.
    pub const fn lock(self) -> Option<LockMode> {
        match self {
            Path::ForUpdate => Some(LockMode::Exclusive),
            Path::ForShare => Some(LockMode::Share),
            _ => None,
        }
    }

    /// The path of that name.
    pub fn named(name: &str) -> Option<Path> {
        Path::ALL.into_iter().find(|p| p.name() == name)
    }
}
