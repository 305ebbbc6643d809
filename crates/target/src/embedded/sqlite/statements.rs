//! The SQL of each access, and the ways to do it.

use isolde_history::OpKind;

use crate::path::Path;
use crate::target::{Contents, Table};

const READ: &[(Path, u32)] =
    &[(Path::PrimaryKey, 6), (Path::Index, 2), (Path::Range, 2), (Path::Scan, 1)];
const WRITE: &[(Path, u32)] = &[
    (Path::PrimaryKey, 4),
    (Path::Index, 1),
    (Path::Range, 1),
    (Path::Scan, 1),
    (Path::Upsert, 2),
    (Path::Returning, 1),
    (Path::Replace, 1),
    (Path::UpdateElseInsert, 1),
];
const APPEND: &[(Path, u32)] =
    &[(Path::Upsert, 2), (Path::UpdateElseInsert, 1), (Path::Returning, 1)];
const CAS: &[(Path, u32)] =
    &[(Path::PrimaryKey, 3), (Path::Index, 1), (Path::Scan, 1), (Path::Returning, 1)];
const INSERT: &[(Path, u32)] = &[(Path::Upsert, 2), (Path::PlainInsert, 1)];

/// The ways to do an access.
pub(super) fn ways(kind: OpKind) -> &'static [(Path, u32)] {
    match kind {
        OpKind::Read | OpKind::ListRead => READ,
        OpKind::Write => WRITE,
        OpKind::Append => APPEND,
        OpKind::Cas => CAS,
        OpKind::InsertIfAbsent => INSERT,
        _ => &[],
    }
}

/// What makes a table: `ix` has an index and `sc` has none, both hold the row's number.
pub(super) fn create(name: &str, table: &Table) -> Vec<String> {
    let of = match table.contents {
        Contents::Registers => "INTEGER",
        // A list is a text of integers with commas between: appending needs no reading first.
        Contents::Lists => "TEXT",
    };
    let columns = "id INTEGER PRIMARY KEY, ix INTEGER NOT NULL, sc INTEGER NOT NULL";
    vec![
        format!("CREATE TABLE {name} ({columns}, val {of} NOT NULL)"),
        format!("CREATE INDEX {name}_ix ON {name} (ix)"),
    ]
}

/// What tells which rows are meant.
fn rows(path: Path) -> &'static str {
    match path {
        Path::Index => "ix = :row",
        Path::Range => "id > :row - 1 AND id < :row + 1",
        Path::Scan => "sc = :row",
        _ => "id = :row",
    }
}

/// What a statement is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Its first row and column is the answer.
    Query,
    /// It did something if it changed rows.
    Change,
    /// It did something if it gave back a row.
    Returning,
    /// It did something unless the row was there.
    Insert,
}

/// The statements of an access, of which the next is only done if the one before did nothing.
pub(super) fn statements(name: &str, kind: OpKind, path: Path) -> Vec<(Step, String)> {
    let rows = rows(path);
    let insert = format!("INSERT INTO {name} (id, ix, sc, val) VALUES (:row, :row, :row, :value)");
    let set = match kind {
        OpKind::Append => "val = val || ',' || :value",
        _ => "val = :value",
    };
    let only = if kind == OpKind::Cas { " AND val = :expected" } else { "" };
    let update = format!("UPDATE {name} SET {set} WHERE {rows}{only}");
    let returning = (Step::Returning, format!("{update} RETURNING val"));
    let upsert = || {
        let set = set.replace(":value", "excluded.val");
        format!("{insert} ON CONFLICT (id) DO UPDATE SET {set}")
    };
    match (kind, path) {
        (OpKind::Read | OpKind::ListRead, _) => {
            vec![(Step::Query, format!("SELECT val FROM {name} WHERE {rows}"))]
        }
        (OpKind::InsertIfAbsent, Path::PlainInsert) => vec![(Step::Insert, insert)],
        (OpKind::InsertIfAbsent, _) => {
            vec![(Step::Change, format!("{insert} ON CONFLICT (id) DO NOTHING"))]
        }
        (OpKind::Write | OpKind::Append, Path::Upsert) => vec![(Step::Change, upsert())],
        (OpKind::Write, Path::Replace) => {
            vec![(Step::Change, insert.replacen("INSERT", "REPLACE", 1))]
        }
        // Lists are not there from the start: the first append makes the row.
        (OpKind::Append, Path::Returning) => vec![returning, (Step::Change, insert)],
        (OpKind::Append, _) | (OpKind::Write, Path::UpdateElseInsert) => {
            vec![(Step::Change, update), (Step::Change, insert)]
        }
        (_, Path::Returning) => vec![returning],
        _ => vec![(Step::Change, update)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list is a text, and an upsert makes or lengthens it without a read.
    #[test]
    fn lists_are_texts_that_an_upsert_appends_to() {
        let table = Table { number: 1, contents: Contents::Lists, rows: 5, filled: false };
        assert!(create("t", &table)[0].contains("val TEXT NOT NULL"));
        assert_eq!(APPEND[0].0, Path::Upsert, "it is the usual way");
        let upsert = "INSERT INTO t (id, ix, sc, val) VALUES (:row, :row, :row, :value) \
                      ON CONFLICT (id) DO UPDATE SET val = val || ',' || excluded.val";
        let steps = statements("t", OpKind::Append, Path::Upsert);
        assert_eq!(steps, [(Step::Change, upsert.to_owned())]);
    }
}
