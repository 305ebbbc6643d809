//! All versions of the rows of MariaDB's tables: system versioning by transaction id.
//!
//! Each version has the number of the transaction that began it (`rs`) and of the one that ended it
//! (`re`). InnoDB gives a transaction its number at its first write, so a number says nothing of the order in
//! which versions came; but the one that ends a version begins the next, and that chain is the order. A
//! transaction that writes a row several times leaves only its last version.

use std::collections::HashMap;

use mysql::prelude::{FromValue, Queryable};
use mysql::{Conn, Error, Row};

use super::chain::{self, RowVersion};
use crate::shown::{RowVersions, TableVersions};
use crate::target::Contents;

/// The end of the version that is there now.
const NOW: u64 = u64::MAX;
/// How many transactions are looked up at once.
const CHUNK: usize = 500;

/// What makes a table keep its versions: columns, and words behind the brackets. The index has the end of the
/// version in it, as the primary key gets by itself: a read by index would otherwise go through all old ones.
pub(super) const COLUMNS: &str = "rs BIGINT UNSIGNED GENERATED ALWAYS AS ROW START INVISIBLE, \
     re BIGINT UNSIGNED GENERATED ALWAYS AS ROW END INVISIBLE, PERIOD FOR SYSTEM_TIME (rs, re), KEY s (s, re)";
pub(super) const VERSIONED: &str = " WITH SYSTEM VERSIONING";

/// All versions of a table; of registers, so many rows were there from the start.
pub(super) fn read(
    conn: &mut Conn,
    table: &str,
    contents: Contents,
    filled: u32,
) -> Result<TableVersions, Error> {
    // An uncommitted version is no version.
    conn.query_drop("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")?;
    let rows = match contents {
        Contents::Registers => {
            by_row(conn, table, &|row, order| registers(row, order, row < filled))?
        }
        Contents::Lists => by_row(conn, table, &lists)?,
    };
    Ok(TableVersions { rows })
}

/// The versions of a row, oldest first; or as they came, and why there is no order.
type InOrder<V> = (Vec<V>, Option<String>);

/// What the versions of each row come to. They arrive row by row, and each row is done with when the next one
/// begins: all versions of all lists would be a lot of text. Only rows that were deleted and came back have
/// to wait until the registry can be asked.
fn by_row<V: FromValue>(
    conn: &mut Conn,
    table: &str,
    done: &dyn Fn(u32, InOrder<V>) -> RowVersions,
) -> Result<Vec<RowVersions>, Error> {
    let query = format!("SELECT k, v, rs, re FROM {table} FOR SYSTEM_TIME ALL ORDER BY k");
    let (mut rows, mut open) = (Vec::new(), Vec::new());
    let mut settle = |row: u32, versions: Vec<RowVersion<V>>| match chain::pieces(&versions) {
        Ok(pieces) if pieces.len() > 1 => open.push((row, versions, pieces)),
        Ok(pieces) => {
            let order: Vec<usize> = pieces.into_iter().flatten().collect();
            rows.push(done(row, (chain::sorted(versions, &order), None)));
        }
        Err(why) => rows.push(done(row, (values(versions), Some(why)))),
    };
    let (mut at, mut versions) = (0, Vec::new());
    for found in conn.exec_iter(query, ())? {
        let (row, version) = version(found?)?;
        if row != at {
            settle(at, std::mem::take(&mut versions));
            at = row;
        }
        versions.push(version);
    }
    settle(at, versions);
    for (row, versions, pieces) in open {
        let committed = commits(conn, &chain::undecided(&versions, &pieces))?;
        let order = match chain::joined(&versions, pieces, &committed) {
            Ok(order) => (chain::sorted(versions, &order), None),
            Err(why) => (values(versions), Some(why)),
        };
        rows.push(done(row, order));
    }
    rows.retain(|row| !row.values.is_empty());
    Ok(rows)
}

/// A row of the answer.
fn version<V: FromValue>(mut row: Row) -> Result<(u32, RowVersion<V>), Error> {
    let number = cell(&mut row, 0)?;
    let (value, begun_by) = (cell(&mut row, 1)?, cell(&mut row, 2)?);
    let ended_by = Some(cell(&mut row, 3)?).filter(|end| *end != NOW);
    Ok((number, RowVersion { value, begun_by, ended_by }))
}

fn cell<T: FromValue>(row: &mut Row, column: usize) -> Result<T, Error> {
    let odd = || std::io::Error::other("a version of a row is not what was asked for");
    Ok(row.take_opt(column).and_then(Result::ok).ok_or_else(odd)?)
}

fn values<V>(versions: Vec<RowVersion<V>>) -> Vec<V> {
    versions.into_iter().map(|version| version.value).collect()
}

/// When these transactions were committed, as numbers of the same clock. The registry lacks some: those that
/// had rolled back to a savepoint. A user who may not read it is told that there is no order.
fn commits(conn: &mut Conn, asked: &[u64]) -> Result<HashMap<u64, u64>, Error> {
    let mut found = HashMap::new();
    for chunk in asked.chunks(CHUNK) {
        let list = chunk.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let query = format!(
            "SELECT transaction_id, commit_id FROM mysql.transaction_registry \
             WHERE transaction_id IN ({list})"
        );
        match conn.query::<(u64, u64), _>(query) {
            Ok(pairs) => found.extend(pairs),
            Err(Error::MySqlError(_)) => return Ok(HashMap::new()),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// What a register held. The 0 with which we filled the table is nobody's version.
fn registers(row: u32, (values, mut unordered): InOrder<i64>, filled: bool) -> RowVersions {
    if filled && unordered.is_none() && values.first() != Some(&0) {
        unordered = Some("the chain of versions does not begin with the first one".to_owned());
    }
    let values = values.into_iter().filter(|value| !filled || *value != 0).collect();
    RowVersions { row, values, unordered }
}

/// The elements of the newest version of a list, if every version goes on where the one before ends.
fn lists(row: u32, (texts, unordered): InOrder<String>) -> RowVersions {
    let parsed: Option<Vec<Vec<i64>>> = texts.iter().map(|text| elements(text)).collect();
    let versions = parsed.unwrap_or_default();
    let why = || {
        if unordered.is_some() {
            return unordered;
        }
        if versions.len() < texts.len() {
            return Some("a version is no list of integers".to_owned());
        }
        let step = versions.windows(2).find(|pair| !pair[1].starts_with(&pair[0]))?;
        Some(format!("a list of {} elements was not lengthened but replaced", step[0].len()))
    };
    match why() {
        None => {
            let values = versions.into_iter().next_back().unwrap_or_default();
            RowVersions { row, values, unordered: None }
        }
        Some(why) => {
            let mut values: Vec<i64> = versions.into_iter().flatten().collect();
            values.sort_unstable();
            values.dedup();
            RowVersions { row, values, unordered: Some(why) }
        }
    }
}

/// The elements of a list as the tables hold it.
fn elements(text: &str) -> Option<Vec<i64>> {
    text.split(',').map(|element| element.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(texts: &[&str]) -> RowVersions {
        lists(1, (texts.iter().map(|text| (*text).to_owned()).collect(), None))
    }

    #[test]
    fn the_first_fill_is_nobodys_version() {
        let full = registers(7, (vec![0, 5, 3], None), true);
        assert_eq!((full.row, full.values, full.unordered), (7, vec![5, 3], None));
        let empty = registers(7, (vec![5, 3], None), false);
        assert_eq!((empty.values, empty.unordered), (vec![5, 3], None));
        let odd = registers(7, (vec![5, 0, 3], None), true);
        assert_eq!(odd.values, [5, 3]);
        assert!(odd.unordered.unwrap().contains("does not begin"));
    }

    #[test]
    fn a_list_is_its_newest_version_if_all_others_are_its_beginnings() {
        let whole = list(&["1", "1,2,3", "1,2,3,4"]);
        assert_eq!((whole.values, whole.unordered), (vec![1, 2, 3, 4], None));
        let torn = list(&["1", "1,2", "1,3"]);
        assert_eq!(torn.values, [1, 2, 3]);
        assert!(torn.unordered.unwrap().contains("2 elements was not lengthened"));
        assert!(list(&["1", "1,x"]).unordered.unwrap().contains("no list"));
    }
}
