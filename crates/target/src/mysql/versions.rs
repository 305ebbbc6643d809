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
use crate::row_versions::ListVersions;
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
        Contents::Registers => by_row(conn, table, &|row, (values, unordered)| {
            RowVersions::of_register(row, values, unordered, row < filled)
        })?,
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

/// The elements of the newest version of a list, if every version goes on where the one before ends.
fn lists(row: u32, (texts, unordered): InOrder<String>) -> RowVersions {
    let mut list = ListVersions::default();
    unordered.into_iter().for_each(|why| list.doubt(why));
    texts.iter().for_each(|text| list.add(elements(text)));
    list.finish(row)
}

/// The elements of a list as the tables hold it.
fn elements(text: &str) -> Option<Vec<i64>> {
    text.split(',').map(|element| element.parse().ok()).collect()
}
